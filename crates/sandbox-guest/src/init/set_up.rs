//! The set-up by init before any guest runs: mounts, host name, loopback, then the sandbox's sizes and files.

use std::fs::Permissions;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::below::Directory;
use crate::defence::Defence;
use crate::process::place;
use crate::sys::{check, give_open, make_directory, mount, prctl};
use crate::template::{Step, at};
use crate::wire::{FileSpec, Furnish};

/// How many terminals a sandbox may have. The machine has some thousands for all sandboxes together.
pub(super) const MOST_TERMINALS: usize = 32;
/// The writable layer before its limits are known.
const PARKED_LAYER: &str = "size=1m,nr_inodes=64,mode=755";
/// Each of these is hidden behind an empty file or directory: they show the machine, not the sandbox.
const MASKED: [&str; 6] = [
    "/proc/kcore",
    "/proc/keys",
    "/proc/kallsyms",
    "/proc/sysrq-trigger",
    "/proc/timer_list",
    "/proc/kpagecount",
];

/// Settings of the machine, which only permission bits protect. Read-only where the guest's user is the daemon's.
const SEALED: [&str; 4] = ["/proc/sys", "/proc/irq", "/proc/bus", "/proc/fs"];

/// Makes the sandbox what its guest will see.
pub(super) fn set_up(uid: u32) -> Result<(), Step> {
    let safe = layer_flags();
    let layer = Path::new("/box");
    at("writable layer", mount("box", layer, "tmpfs", safe, PARKED_LAYER))?;
    for (name, target, mode) in [
        ("work", "/work", 0o755),
        ("tmp", "/tmp", 0o1777),
        ("shm", "/dev/shm", 0o1777),
        ("run", "/run", 0o755),
    ] {
        let owner = if mode == 0o755 { uid } else { 0 };
        at("writable layer", make_directory(&layer.join(name), mode, owner))?;
        at(
            "writable layer",
            mount(&format!("/box/{name}"), Path::new(target), "", libc::MS_BIND, ""),
        )?;
    }
    at(
        "writable layer",
        // SAFETY: a NUL-terminated path.
        check(unsafe { libc::umount2(c"/box".as_ptr(), libc::MNT_DETACH) }),
    )?;
    let proc = if Defence::OtherProcesses.stands() {
        "hidepid=2"
    } else {
        ""
    };
    at(
        "proc",
        mount("proc", Path::new("/proc"), "proc", safe | libc::MS_NOEXEC, proc),
    )?;
    for path in MASKED {
        if Defence::MaskedProc.stands() {
            let masked = match mount("/dev/null", Path::new(path), "", libc::MS_BIND, "") {
                // This kernel has no such file.
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                masked => masked,
            };
            at("masked proc", masked)?;
        }
    }
    // A check that compares only the number of the user may take the guest for the machine's root.
    for path in SEALED.iter().filter(|path| uid == 0 && Path::new(path).exists()) {
        let flags = safe | libc::MS_NOEXEC | libc::MS_BIND | libc::MS_REMOUNT | libc::MS_RDONLY;
        let sealed = mount(path, Path::new(path), "", libc::MS_BIND | libc::MS_REC, "");
        let sealed = sealed.and_then(|()| mount("none", Path::new(path), "", flags, ""));
        at("read-only proc", sealed)?;
    }
    let mut pts = "newinstance,ptmxmode=0666,mode=0620".to_owned();
    if Defence::Terminals.stands() {
        pts += &format!(",max={MOST_TERMINALS}");
    }
    at(
        "pts",
        mount(
            "devpts",
            Path::new("/dev/pts"),
            "devpts",
            libc::MS_NOSUID | libc::MS_NOEXEC,
            &pts,
        ),
    )?;
    // The mount does more than show the queues: Landlock allows named queues only where it knows their file system.
    let queues = safe | libc::MS_NOEXEC;
    at(
        "message queues",
        mount("mqueue", Path::new("/dev/mqueue"), "mqueue", queues, ""),
    )?;
    if Defence::HostName.stands() {
        // SAFETY: a live byte string and its length.
        at("host name", check(unsafe { libc::sethostname(c"sandbox".as_ptr(), 7) }))?;
    }
    if Defence::NetworkNamespace.stands() {
        at("loopback", loopback_up())?;
    }
    at("not dumpable", prctl(libc::PR_SET_DUMPABLE, 0))
}

/// Files of the writable layer never give rights.
fn layer_flags() -> libc::c_ulong {
    let flag = |defence: Defence, flag| if defence.stands() { flag } else { 0 };
    flag(Defence::NoSetUserId, libc::MS_NOSUID) | flag(Defence::NoDevices, libc::MS_NODEV)
}

pub(super) fn loopback_up() -> io::Result<()> {
    // SAFETY: plain numbers.
    let socket = check(unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) })?;
    // SAFETY: new and ours.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    // SAFETY: ifreq is plain data; all-zero is a valid value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(*b"lo\0") {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: a live request of the kind this ioctl reads.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) })?;
    Ok(())
}

/// Sets the size of the writable layer.
pub(super) fn size_layer(wanted: &Furnish) -> Result<(), (String, io::Error)> {
    let options = format!("size={},nr_inodes={}", wanted.disk_bytes, wanted.inodes);
    let flags = libc::MS_REMOUNT | layer_flags();
    mount("box", Path::new("/work"), "tmpfs", flags, &options).map_err(|error| ("size of the layer".into(), error))
}

/// Makes the working directory and writes files below it, with init's rights: only while no guest runs, and only in the
/// writable layer. A snapshot may have left links there: no link is followed, and a link with the name of a file is
/// replaced.
pub(super) fn furnish(wanted: &Furnish, uid: u32) -> Result<(), (String, io::Error)> {
    let Some((layer, below)) = place::in_layer(Path::new(&wanted.cwd)) else {
        // A directory of the system exists or does not.
        return match wanted.files.first() {
            None => Ok(()),
            Some(file) => Err((
                format!("write {} to {}", file.path, wanted.cwd),
                io::Error::from_raw_os_error(libc::EROFS),
            )),
        };
    };
    let cwd = Directory::trusted(&layer).and_then(|layer| make(&layer, &below, uid));
    let cwd = cwd.map_err(|error| (format!("make {}", wanted.cwd), error))?;
    for file in &wanted.files {
        write(&cwd, file, uid).map_err(|error| (format!("write {}", file.path), error))?;
    }
    Ok(())
}

/// Makes a directory and those above it; new ones belong to the guest.
fn make(directory: &Directory, path: &Path, uid: u32) -> io::Result<Directory> {
    directory.make(path, |made| give_open(made.as_fd(), uid))
}

/// Writes one file of the request. Its path was checked by the daemon and is checked again here.
fn write(cwd: &Directory, file: &FileSpec, uid: u32) -> io::Result<()> {
    let path = Path::new(&file.path);
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    };
    let parent = make(cwd, parent, uid)?;
    parent.clear(name)?;
    let mut target = parent.open(name, libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL, 0o600)?;
    target.write_all(&file.content)?;
    let mode = if file.mode == 0 { 0o644 } else { file.mode & 0o777 };
    target.set_permissions(Permissions::from_mode(mode))?;
    give_open(target.as_fd(), uid)
}
