//! The system calls that the standard library lacks, with `io::Error` for errno.
//!
//! Everything here only translates; the callers know what the calls are for.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::defence::Defence;

/// At most this many file descriptors travel in one message.
const MAX_FDS: usize = 16;

/// -1 becomes the errno.
pub fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// Does the same for the long that `syscall` returns.
pub fn check_long(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// A name that cannot be guessed, in hexadecimal.
pub fn random_name() -> io::Result<String> {
    let mut random = [0_u8; 16];
    // SAFETY: a live buffer of the stated length, which the kernel fills at once: it never gives fewer of so few bytes.
    check_long(unsafe { libc::getrandom(random.as_mut_ptr().cast(), random.len(), 0) } as libc::c_long)?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Forks by clone3, without sharing memory. Returns 0 in the child.
pub(crate) fn clone_process(args: &mut libc::clone_args) -> io::Result<libc::pid_t> {
    // SAFETY: without CLONE_VM this is a fork. The callers have one thread, so the child may go on as it is.
    let pid = check_long(unsafe { libc::syscall(libc::SYS_clone3, &raw mut *args, size_of::<libc::clone_args>()) })?;
    libc::pid_t::try_from(pid).map_err(io::Error::other)
}

/// A path for the kernel.
pub fn c_path(path: &Path) -> io::Result<CString> {
    Ok(CString::new(path.as_os_str().as_bytes())?)
}

/// mount(2).
pub(crate) fn mount(source: &str, target: &Path, kind: &str, flags: libc::c_ulong, data: &str) -> io::Result<()> {
    let (source, target, kind, data) = (
        CString::new(source)?,
        c_path(target)?,
        CString::new(kind)?,
        CString::new(data)?,
    );
    // SAFETY: four NUL-terminated strings that outlive the call.
    check(unsafe {
        libc::mount(
            source.as_ptr(),
            target.as_ptr(),
            kind.as_ptr(),
            flags,
            data.as_ptr().cast(),
        )
    })?;
    Ok(())
}

/// Makes a mount and everything below it read-only, without set-user-id programs and, unless `devices`, device nodes.
pub(crate) fn seal_mount(target: &Path, devices: bool) -> io::Result<()> {
    let read_only = if Defence::ReadOnly.stands() {
        libc::MOUNT_ATTR_RDONLY
    } else {
        0
    };
    let mut attr = libc::mount_attr {
        attr_set: read_only | libc::MOUNT_ATTR_NOSUID | if devices { 0 } else { libc::MOUNT_ATTR_NODEV },
        attr_clr: 0,
        propagation: 0,
        userns_fd: 0,
    };
    let target = c_path(target)?;
    // SAFETY: the path is NUL-terminated and `attr` is a live struct of the given size.
    check_long(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            target.as_ptr(),
            libc::AT_RECURSIVE,
            &raw mut attr,
            size_of::<libc::mount_attr>(),
        )
    })?;
    Ok(())
}

/// Sends bytes and file descriptors. Returns how many bytes were sent: all of them on a socket of messages. The
/// descriptors go with the first byte.
pub fn send_with_fds(socket: RawFd, bytes: &[u8], fds: &[RawFd]) -> io::Result<usize> {
    assert!(fds.len() <= MAX_FDS);
    let mut iov = libc::iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    };
    let mut control = [0_u64; 8 + MAX_FDS];
    // SAFETY: msghdr is plain data; all-zero is a valid value.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = &raw mut iov;
    header.msg_iovlen = 1;
    if !fds.is_empty() {
        let payload = u32::try_from(size_of_val(fds)).unwrap_or(0);
        header.msg_control = control.as_mut_ptr().cast();
        // SAFETY: pure arithmetic on the payload's length.
        header.msg_controllen = unsafe { libc::CMSG_SPACE(payload) } as _;
        // SAFETY: `control` is aligned, zeroed and larger than CMSG_SPACE of MAX_FDS descriptors.
        unsafe {
            let cmsg = libc::CMSG_FIRSTHDR(&raw const header);
            (*cmsg).cmsg_level = libc::SOL_SOCKET;
            (*cmsg).cmsg_type = libc::SCM_RIGHTS;
            (*cmsg).cmsg_len = libc::CMSG_LEN(payload) as _;
            std::ptr::copy_nonoverlapping(fds.as_ptr().cast::<u8>(), libc::CMSG_DATA(cmsg), payload as usize);
        }
    }
    loop {
        // SAFETY: every pointer in `header` is to a live local of the stated length.
        let sent = unsafe { libc::sendmsg(socket, &raw const header, libc::MSG_NOSIGNAL) };
        if let Ok(sent) = usize::try_from(sent) {
            return Ok(sent);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Like `receive_with_fds`, from a peer that others may kill. It ignores that the peer has not read its messages, and
/// receives the messages that the peer sent before.
pub(crate) fn receive_from_mortal(socket: RawFd, buffer: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
    match receive_with_fds(socket, buffer) {
        // The kernel reports this once, before everything else.
        Err(error) if error.kind() == io::ErrorKind::ConnectionReset => receive_with_fds(socket, buffer),
        received => received,
    }
}

/// Receives one message of at most `buffer.len()` bytes and its descriptors, close-on-exec. Zero bytes mean end of
/// file. The error is `EMFILE` when this process may open no more files: then the descriptors are lost, and the message
/// with them.
pub fn receive_with_fds(socket: RawFd, buffer: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut iov = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    let mut control = [0_u64; 8 + MAX_FDS];
    // SAFETY: msghdr is plain data; all-zero is a valid value.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = &raw mut iov;
    header.msg_iovlen = 1;
    header.msg_control = control.as_mut_ptr().cast();
    header.msg_controllen = size_of_val(&control) as _;
    let received = loop {
        // SAFETY: every pointer in `header` is to a live local of the stated length.
        let received = unsafe { libc::recvmsg(socket, &raw mut header, libc::MSG_CMSG_CLOEXEC) };
        match usize::try_from(received) {
            Ok(received) => break received,
            Err(_) => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    };
    let mut fds = Vec::new();
    // SAFETY: the kernel filled `control`; the macros stay within msg_controllen, and each descriptor is new and ours.
    unsafe {
        let mut cmsg = libc::CMSG_FIRSTHDR(&raw const header);
        while !cmsg.is_null() {
            if (*cmsg).cmsg_level == libc::SOL_SOCKET && (*cmsg).cmsg_type == libc::SCM_RIGHTS {
                let bytes = (*cmsg).cmsg_len as usize - libc::CMSG_LEN(0) as usize;
                for index in 0..bytes / size_of::<RawFd>() {
                    let fd = libc::CMSG_DATA(cmsg).cast::<RawFd>().add(index).read_unaligned();
                    fds.push(OwnedFd::from_raw_fd(fd));
                }
            }
            cmsg = libc::CMSG_NXTHDR(&raw const header, cmsg);
        }
    }
    let lost = header.msg_flags & libc::MSG_CTRUNC != 0;
    if lost && fds.len() < MAX_FDS {
        // The buffer had room for them.
        return Err(io::Error::from_raw_os_error(libc::EMFILE));
    }
    if lost || header.msg_flags & libc::MSG_TRUNC != 0 {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "truncated message"));
    }
    Ok((received, fds))
}

/// A connected pair of Unix sockets of one kind, close-on-exec.
pub fn socket_pair(kind: libc::c_int) -> io::Result<(OwnedFd, OwnedFd)> {
    let mut fds = [0; 2];
    // SAFETY: `fds` has room for two descriptors.
    check(unsafe { libc::socketpair(libc::AF_UNIX, kind | libc::SOCK_CLOEXEC, 0, fds.as_mut_ptr()) })?;
    // SAFETY: both are new and ours.
    Ok(unsafe { (OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1])) })
}

/// A pipe (read end, write end), close-on-exec.
pub fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut fds = [0; 2];
    // SAFETY: `fds` has room for two descriptors.
    check(unsafe { libc::pipe2(fds.as_mut_ptr(), libc::O_CLOEXEC) })?;
    // SAFETY: both are new and ours.
    Ok(unsafe { (OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1])) })
}

/// Makes reads and writes return at once. This changes only this end's open file description.
pub fn set_nonblocking(fd: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: flags of a live descriptor.
    let flags = check(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETFL) })?;
    // SAFETY: as above.
    check(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, flags | libc::O_NONBLOCK) })?;
    Ok(())
}

/// Sends a signal to the process behind a pidfd, even when its number was used again.
pub fn pidfd_signal(pidfd: BorrowedFd<'_>, signal: libc::c_int) -> io::Result<()> {
    // SAFETY: a live pidfd, no siginfo.
    check_long(unsafe {
        libc::syscall(
            libc::SYS_pidfd_send_signal,
            pidfd.as_raw_fd(),
            signal,
            std::ptr::null::<()>(),
            0,
        )
    })?;
    Ok(())
}

/// Whether the process behind a pidfd has ended.
pub fn has_ended(pidfd: BorrowedFd<'_>) -> bool {
    let mut poll = libc::pollfd {
        fd: pidfd.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one live pollfd; returns at once.
    unsafe { libc::poll(&raw mut poll, 1, 0) > 0 }
}

/// Makes this process the first of a new session, which a terminal's Ctrl-C does not reach. Where the kernel shares
/// processors by session (autogroup), the session then has a separate share.
pub fn own_session() -> io::Result<()> {
    // SAFETY: no arguments.
    check(unsafe { libc::setsid() }).map(|_| ())
}

/// prctl(2) with one argument.
pub(crate) fn prctl(option: libc::c_int, argument: libc::c_ulong) -> io::Result<()> {
    // SAFETY: the options used here take numbers.
    check(unsafe { libc::prctl(option, argument, 0, 0, 0) })?;
    Ok(())
}

/// Closes every descriptor from `first` on.
pub(crate) fn close_from(first: libc::c_uint, flags: libc::c_uint) -> io::Result<()> {
    // SAFETY: the callers own nothing that they use after it.
    check_long(unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, flags) })?;
    Ok(())
}

/// Makes a directory with exact permissions and owner.
pub(crate) fn make_directory(path: &Path, mode: libc::mode_t, uid: u32) -> io::Result<()> {
    let path = c_path(path)?;
    // SAFETY: a NUL-terminated path.
    check(unsafe { libc::mkdir(path.as_ptr(), mode) })?;
    // SAFETY: as above; the umask may have taken bits off.
    check(unsafe { libc::chmod(path.as_ptr(), mode) })?;
    // SAFETY: as above.
    check(unsafe { libc::lchown(path.as_ptr(), uid, uid) })?;
    Ok(())
}

/// Changes the user and group of a file, unless they are those of this process.
pub(crate) fn give(path: &Path, uid: u32) -> io::Result<()> {
    // SAFETY: reads an attribute of this process.
    if unsafe { libc::geteuid() } == uid {
        return Ok(());
    }
    std::os::unix::fs::lchown(path, Some(uid), Some(uid))
}

/// Does the same for an open file.
pub(crate) fn give_open(file: BorrowedFd<'_>, uid: u32) -> io::Result<()> {
    // SAFETY: reads an attribute of this process.
    if unsafe { libc::geteuid() } == uid {
        return Ok(());
    }
    std::os::unix::fs::fchown(file, Some(uid), Some(uid))
}

/// Whether a path, given as a C string, can be read.
pub fn readable(path: &CStr) -> bool {
    // SAFETY: a NUL-terminated path.
    unsafe { libc::access(path.as_ptr(), libc::R_OK) == 0 }
}

/// Raises the limit of open files as far as allowed. The usual limit (1024) is enough for fewer than a hundred boxes.
pub fn open_all_files_allowed() -> io::Result<()> {
    // SAFETY: rlimit is plain data filled by the first call and read by the second.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        check(libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit))?;
        limit.rlim_cur = limit.rlim_max;
        check(libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit)).map(|_| ())
    }
}

/// Makes the allocator return blocks of at least 256 KiB to the machine when they are freed. By default it keeps larger
/// and larger ones, so that the daemon would keep the memory of requests and results of some megabytes.
pub fn return_large_blocks() {
    // SAFETY: plain numbers; called before there are threads.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 256 << 10);
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Runs in a separate process, since the limit applies to all its threads.
    #[test]
    fn descriptors_of_a_message_that_had_too_little_room_are_closed() {
        let mut role = Command::new(std::env::current_exe().unwrap());
        let role = role.args(["--ignored", "--exact", "sys::tests::with_little_room"]);
        let output = role.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
    }

    #[test]
    #[ignore = "a role, not a test"]
    fn with_little_room() {
        let (ours, theirs) = socket_pair(libc::SOCK_SEQPACKET).unwrap();
        let many = [theirs.as_raw_fd(); 4];
        let next_number = || ours.try_clone().unwrap().as_raw_fd();
        let (first, mut buffer) = (next_number(), [0; 8]);
        for (sent, arrives) in [(4, false), (2, true), (4, false), (3, false), (1, true)] {
            send_with_fds(theirs.as_raw_fd(), b"x", &many[..sent]).unwrap();
            let room = libc::rlim_t::try_from(first + 2).unwrap();
            let limit = libc::rlimit {
                rlim_cur: room,
                rlim_max: room,
            };
            // SAFETY: a live structure.
            check(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) }).unwrap();
            match receive_with_fds(ours.as_raw_fd(), &mut buffer) {
                Ok((_, fds)) => assert!(arrives && fds.len() == sent, "{sent}"),
                Err(error) => assert!(
                    !arrives && error.raw_os_error() == Some(libc::EMFILE),
                    "{sent}: {error}"
                ),
            }
            assert_eq!(next_number(), first, "{sent}: something stays open");
        }
    }
}
