//! From init to the guest's program: the rights that the forked child gives up before it executes the command.
//!
//! The order matters: steps that need rights come first, the filter comes last. A step that fails ends the child and is
//! reported through a pipe that a successful exec closes, so no program ever runs with less isolation than all steps
//! give.

use std::ffi::{CStr, CString, OsStr};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::cgroup::Door;
use crate::defence::Defence;
use crate::filter;
use crate::landlock;
use crate::process::Home;
use crate::sys::{c_path, check, check_long, close_from, pipe, prctl};
use crate::wire::{Failure, Program};

/// Highest capability number that is tried; the kernel refuses unknown numbers.
const LAST_CAPABILITY: libc::c_ulong = 63;
const CAP_DAC_OVERRIDE: u32 = 1;
const CAP_DAC_READ_SEARCH: u32 = 2;
const CAP_KILL: u32 = 5;
/// CHOWN, FOWNER, SETGID, SETUID, SETPCAP, NET_BIND_SERVICE, NET_ADMIN, SYS_CHROOT, SYS_PTRACE, SYS_ADMIN. Init starts
/// guests with them, finds their processes, and makes and enters layers and networks.
const CAPS_OF_STARTING: u32 =
    1 << 0 | 1 << 3 | 1 << 6 | 1 << 7 | 1 << 8 | 1 << 10 | 1 << 12 | 1 << 18 | 1 << 19 | 1 << 21;
/// SECBIT_NOROOT, SECBIT_NO_SETUID_FIXUP, SECBIT_NO_CAP_AMBIENT_RAISE, each with its lock.
const SECURE_BITS: libc::c_ulong = 0x1 | 0x2 | 0x4 | 0x8 | 0x40 | 0x80;

/// Steps that fail because of the program. A zygote has the second one too.
const COMMAND: &str = "command";
pub const DIRECTORY: &str = "working directory";
const EXEC: &str = "exec";
/// The sandbox has as many terminals as it may have.
pub(crate) const OWN_TERMINALS: &str = "terminals of the sandbox";

/// The input of the child.
pub(crate) struct Launch<'a> {
    pub(crate) program: &'a Program,
    /// The guest's user and group.
    pub(crate) uid: u32,
    /// Descriptors that become the guest's 0, 1 and 2.
    pub(crate) stdio: [RawFd; 3],
    /// Whether these are a terminal, which becomes the guest's controlling terminal.
    pub(crate) terminal: bool,
    /// One more descriptor, and the number that it gets.
    pub(crate) control: Option<(RawFd, RawFd)>,
    pub(crate) confinement: Confinement<'a>,
    /// No other program runs in the box. Programs that Landlock separates cannot see each other in proc.
    pub(crate) sole: bool,
}

/// The restrictions of a guest that remain after it has given up its rights.
#[derive(Clone, Copy)]
pub(crate) struct Confinement<'a> {
    /// Installed last.
    pub(crate) filter: &'a filter::Program,
    /// Set in the process tier.
    pub(crate) home: Option<&'a Home>,
    /// How it enters the group that limits its memory.
    pub(crate) door: Door,
}

/// Forks and executes the command. Returns once the exec has succeeded or failed.
pub(crate) fn launch(launch: &Launch<'_>) -> Result<libc::pid_t, (String, io::Error)> {
    let forked = fork(launch.confinement.door, || become_guest(launch));
    let (pid, report) = forked.map_err(|error| ("fork".to_owned(), error))?;
    executed(report)?;
    Ok(pid)
}

/// Forks a child that executes a program or reports why it could not.
pub(crate) fn fork(
    door: Door,
    become_program: impl FnOnce() -> (String, io::Error),
) -> io::Result<(libc::pid_t, File)> {
    let (report, reporter) = pipe()?;
    let pid = door.fork()?;
    if pid == 0 {
        drop(report);
        let (step, error) = match door.arrive() {
            Ok(()) => become_program(),
            Err(error) => ("cgroup".to_owned(), error),
        };
        let mut bytes = error.raw_os_error().unwrap_or(libc::EIO).to_le_bytes().to_vec();
        bytes.extend_from_slice(step.as_bytes());
        // SAFETY: a live descriptor and buffer; then the end of this process.
        unsafe {
            libc::write(reporter.as_raw_fd(), bytes.as_ptr().cast(), bytes.len());
            libc::_exit(127);
        }
    }
    Ok((pid, File::from(report)))
}

/// Whether the program itself is the reason that it could not be executed. Otherwise the sandbox or the machine is at
/// fault.
pub fn is_of_program(failure: &Failure) -> bool {
    // The limit of processes was reached.
    failure.errno == libc::EAGAIN || [COMMAND, DIRECTORY, EXEC, OWN_TERMINALS].contains(&failure.step.as_str())
}

/// Returns when the child has executed its program, or with the reason why it has not.
pub(crate) fn executed(mut report: File) -> Result<(), (String, io::Error)> {
    let mut bytes = Vec::new();
    report
        .read_to_end(&mut bytes)
        .map_err(|error| ("pipe".to_owned(), error))?;
    let Some((errno, step)) = bytes.split_first_chunk() else {
        return Ok(());
    };
    let error = io::Error::from_raw_os_error(i32::from_le_bytes(*errno));
    Err((String::from_utf8_lossy(step).into_owned(), error))
}

pub(crate) fn strings(values: &[String]) -> io::Result<Vec<CString>> {
    values
        .iter()
        .map(|value| CString::new(value.as_str()).map_err(io::Error::from))
        .collect()
}

/// The paths to try for the command, in order.
pub(crate) fn candidates(program: &Program) -> io::Result<Vec<CString>> {
    let name = program.command.first().map_or("", String::as_str);
    if name.contains('/') {
        return strings(&[name.to_owned()]);
    }
    let path = program
        .env
        .iter()
        .rev()
        .find_map(|entry| entry.strip_prefix("PATH="))
        .unwrap_or("/usr/bin:/bin");
    let paths: Vec<String> = path
        .split(':')
        .map(|directory| {
            if directory.is_empty() {
                format!("./{name}")
            } else {
                format!("{directory}/{name}")
            }
        })
        .collect();
    strings(&paths)
}

/// Gives up all rights and executes the program. Returns only when a step failed.
pub(crate) fn become_guest(launch: &Launch<'_>) -> (String, io::Error) {
    let program = launch.program;
    let prepared = strings(&program.command).and_then(|command| {
        let cwd = c_path(program.cwd.as_ref())?;
        Ok((command, strings(&program.env)?, candidates(program)?, cwd))
    });
    let (command, env, candidates, cwd) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => return (COMMAND.to_owned(), error),
    };
    match give_up(launch, &cwd) {
        Ok(()) => (EXEC.to_owned(), execute(&command, &env, &candidates)),
        Err((step, error)) => (step.to_owned(), error),
    }
}

fn give_up(launch: &Launch<'_>, cwd: &CStr) -> Result<(), (&'static str, io::Error)> {
    use crate::template::at;
    if Defence::Session.stands() {
        // SAFETY: plain calls on this process.
        at("session", check(unsafe { libc::setsid() }))?;
    }
    for (target, fd) in launch.stdio.into_iter().enumerate() {
        at(
            "stdio",
            // SAFETY: live descriptors; 0, 1 and 2 belong to the guest now.
            check(unsafe { libc::dup2(fd, i32::try_from(target).unwrap_or(0)) }),
        )?;
    }
    if launch.terminal {
        // SAFETY: a terminal that no session has.
        at("terminal", check(unsafe { libc::ioctl(0, libc::TIOCSCTTY, 0) }))?;
    }
    at("descriptors", close_from(3, libc::CLOSE_RANGE_CLOEXEC))?;
    if launch.confinement.home.is_none() && Defence::CgroupNamespace.stands() {
        // The process is now in the sandbox's groups, so that these are the roots of the visible groups.
        // SAFETY: the process has one thread.
        let unshared = unsafe { libc::unshare(libc::CLONE_NEWCGROUP) };
        at("cgroup namespace", check(unshared))?;
    }
    if let Some((control, number)) = launch.control {
        // SAFETY: a live descriptor; the exec would close the previous descriptor of this number anyway.
        at("control", check(unsafe { libc::dup2(control, number) }))?;
    }
    // When memory is short the kernel should kill the guest before init. A process owns its proc files only while it is
    // dumpable. Its capabilities still keep other guests of the same user from inspecting it.
    at("oom score", prctl(libc::PR_SET_DUMPABLE, 1))?;
    if Defence::OomScore.stands() {
        at("oom score", std::fs::write("/proc/self/oom_score_adj", "1000"))?;
    }
    // Without capabilities and before the filter it still holds descriptors of ours. The exec makes it dumpable again.
    at("not dumpable", prctl(libc::PR_SET_DUMPABLE, 0))?;
    at("limits", limits(launch.program))?;
    if Defence::DefaultSignals.stands() {
        at("signals", default_signals())?;
    }
    // SAFETY: a NUL-terminated path; a number.
    unsafe { libc::umask(0o022) };
    if Defence::Privileges.stands() {
        give_up_rights(launch.uid, launch.confinement)?;
    }
    restrict(launch, cwd)
}

/// The guest restricts itself with its own rights, and enters its working directory.
fn restrict(launch: &Launch<'_>, cwd: &CStr) -> Result<(), (&'static str, io::Error)> {
    use crate::template::at;
    let restricted = Defence::NoNewPrivileges.stands();
    if restricted {
        // SAFETY: numbers.
        let done = check(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) });
        at("no new privileges", done)?;
        if Defence::ReadOnly.stands() {
            at("landlock", confine(launch))?;
        }
    }
    // It comes behind Landlock, so that the guest makes only directories that it may.
    at(DIRECTORY, enter(cwd))?;
    if restricted && Defence::Filter.stands() {
        for program in launch.confinement.filter {
            at("filter", seccompiler::apply_filter(program).map_err(io::Error::other))?;
        }
    }
    Ok(())
}

/// Restricts access to files. A kernel that lacks Landlock is an error only in the tier that depends on it.
fn confine(launch: &Launch<'_>) -> io::Result<()> {
    match launch.confinement.home {
        Some(home) => home.confine_guest(),
        None if launch.sole && landlock::abi() > 0 => landlock::of_box()?.restrict_self(),
        None => Ok(()),
    }
}

/// Becomes the guest's user permanently, without capabilities.
fn give_up_rights(uid: u32, confinement: Confinement<'_>) -> Result<(), (&'static str, io::Error)> {
    use crate::template::at;
    // SAFETY: reads an attribute of this process.
    if confinement.home.is_some() && uid == unsafe { libc::geteuid() } {
        // A process that cannot change users and groups has only its capabilities to give up.
        return at("capabilities", set_capabilities(0));
    }
    if Defence::Capabilities.stands() {
        for capability in 0..=LAST_CAPABILITY {
            // The kernel refuses unknown capabilities. capset below checks the result.
            let _unknown = prctl(libc::PR_CAPBSET_DROP, capability);
        }
        at("secure bits", prctl(libc::PR_SET_SECUREBITS, SECURE_BITS))?;
    }
    // SAFETY: an empty list; denied where a user namespace has no groups to set, and then there are none to drop.
    let groups = unsafe { libc::setgroups(0, std::ptr::null()) };
    if groups < 0 && uid != 0 {
        return Err(("groups", io::Error::last_os_error()));
    }
    at(
        "group",
        // SAFETY: numbers.
        check(unsafe { libc::setresgid(uid, uid, uid) }),
    )?;
    at(
        "user",
        // SAFETY: numbers.
        check(unsafe { libc::setresuid(uid, uid, uid) }),
    )?;
    at("capabilities", set_capabilities(0))
}

/// Takes a guest's user and restrictions, for work that a guest could do itself.
pub(crate) fn become_user(uid: u32, confinement: Confinement<'_>) -> io::Result<()> {
    give_up_rights(uid, confinement).map_err(|(_, error)| error)?;
    // SAFETY: numbers.
    check(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) })?;
    if let Some(home) = confinement.home {
        home.confine_guest()?;
    }
    confinement
        .filter
        .iter()
        .try_for_each(|program| seccompiler::apply_filter(program).map_err(io::Error::other))
}

/// Changes to a directory, which is made when it is missing.
fn enter(cwd: &CStr) -> io::Result<()> {
    // SAFETY: a NUL-terminated path.
    let entered = check(unsafe { libc::chdir(cwd.as_ptr()) });
    match entered {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            std::fs::create_dir_all(Path::new(OsStr::from_bytes(cwd.to_bytes())))?;
            // SAFETY: as above.
            check(unsafe { libc::chdir(cwd.as_ptr()) })?;
            Ok(())
        }
        other => other.map(|_| ()),
    }
}

pub(crate) fn execute(command: &[CString], env: &[CString], candidates: &[CString]) -> io::Error {
    let pointers = |values: &[CString]| {
        values
            .iter()
            .map(|value| value.as_ptr())
            .chain([std::ptr::null()])
            .collect::<Vec<_>>()
    };
    let (argv, envp) = (pointers(command), pointers(env));
    let mut verdict = io::Error::from_raw_os_error(libc::ENOENT);
    for path in candidates {
        // SAFETY: NUL-terminated strings in NULL-terminated arrays, all alive.
        unsafe { libc::execve(path.as_ptr(), argv.as_ptr(), envp.as_ptr()) };
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::ENOENT | libc::ENOTDIR) => {}
            Some(libc::EACCES) => verdict = error,
            _ => return error,
        }
    }
    verdict
}

fn limits(program: &Program) -> io::Result<()> {
    let mut table = vec![
        (libc::RLIMIT_NOFILE, program.open_files),
        (libc::RLIMIT_MSGQUEUE, 819_200),
        (libc::RLIMIT_NICE, 0),
        (libc::RLIMIT_RTPRIO, 0),
    ];
    for (defence, resource, limit) in [
        (Defence::CoreSize, libc::RLIMIT_CORE, 0),
        (Defence::LockedMemory, libc::RLIMIT_MEMLOCK, 64 << 10),
        (Defence::PendingSignals, libc::RLIMIT_SIGPENDING, 1024),
    ] {
        if defence.stands() {
            table.push((resource, limit));
        }
    }
    let alone = program.alone.as_deref().copied().unwrap_or_default();
    for (resource, limit) in [
        (libc::RLIMIT_DATA, alone.memory_bytes),
        (libc::RLIMIT_NPROC, alone.processes),
        (libc::RLIMIT_FSIZE, alone.file_bytes),
    ] {
        if limit > 0 {
            table.push((resource, limit));
        }
    }
    let mut table: Vec<_> = table
        .into_iter()
        .map(|(resource, limit)| (resource, limit, limit))
        .collect();
    if program.cpu_seconds > 0 {
        // SIGXCPU shows that the limit was the reason. A program that ignores it is killed a second later.
        table.push((libc::RLIMIT_CPU, program.cpu_seconds, program.cpu_seconds + 1));
    }
    for (resource, soft, hard) in table {
        // SAFETY: rlimit is plain data filled by the first call and read by the second.
        unsafe {
            let mut now: libc::rlimit = std::mem::zeroed();
            check(libc::getrlimit(resource, &raw mut now))?;
            let limit = libc::rlimit {
                rlim_cur: soft.min(now.rlim_max),
                rlim_max: hard.min(now.rlim_max),
            };
            check(libc::setrlimit(resource, &raw const limit))?;
        }
    }
    Ok(())
}

/// A program expects default actions and an empty mask. Otherwise ours would survive the exec.
pub(crate) fn default_signals() -> io::Result<()> {
    // SAFETY: SIG_DFL for each number; the kernel refuses SIGKILL, SIGSTOP and gaps. sigset_t is plain data.
    unsafe {
        for signal in 1..=64 {
            libc::signal(signal, libc::SIG_DFL);
        }
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        check(libc::sigprocmask(
            libc::SIG_SETMASK,
            &raw const none,
            std::ptr::null_mut(),
        ))?;
    }
    Ok(())
}

/// The capabilities that init needs after the last start of a guest: for ending it and reading its files.
const CAPS_OF_ENDING: u32 = 1 << CAP_KILL | 1 << CAP_DAC_OVERRIDE | 1 << CAP_DAC_READ_SEARCH;

/// Reduces init's capabilities to those for starting guests and ending them.
pub(crate) fn keep_capabilities_of_starting() -> io::Result<()> {
    set_capabilities(CAPS_OF_ENDING | CAPS_OF_STARTING)
}

/// Reduces init's capabilities when it starts no more guests.
pub(crate) fn keep_capabilities_of_ending() -> io::Result<()> {
    set_capabilities(CAPS_OF_ENDING)
}

/// Drops all capabilities, for a process that only waits.
pub(crate) fn keep_no_capabilities() -> io::Result<()> {
    set_capabilities(0)
}

/// Makes these capabilities, all below 32, the only permitted and effective ones.
fn set_capabilities(mask: u32) -> io::Result<()> {
    if !Defence::Privileges.stands() {
        return Ok(());
    }
    #[repr(C)]
    struct Header {
        version: u32,
        pid: i32,
    }
    #[repr(C)]
    struct Data {
        effective: u32,
        permitted: u32,
        inheritable: u32,
    }
    const VERSION_3: u32 = 0x2008_0522;
    let header = Header {
        version: VERSION_3,
        pid: 0,
    };
    let none = || Data {
        effective: 0,
        permitted: 0,
        inheritable: 0,
    };
    let mut data = [none(), none()];
    // SAFETY: a header and two data records, as version 3 wants them.
    check_long(unsafe { libc::syscall(libc::SYS_capget, &raw const header, data.as_mut_ptr()) })?;
    // A process cannot keep a capability that it never had.
    let kept = mask & data[0].permitted;
    data = [none(), none()];
    data[0].effective = kept;
    data[0].permitted = kept;
    // SAFETY: a header and two data records, as version 3 wants them.
    check_long(unsafe { libc::syscall(libc::SYS_capset, &raw const header, data.as_ptr()) })?;
    Ok(())
}
