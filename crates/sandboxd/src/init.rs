//! Pid 1 of a sandbox: sets it up, parks, runs one command, reaps, ends everything and collects files.
//!
//! It is a clone of the spawner that never executes another program, so it needs no file in any root file system. It
//! obeys only its control socket, whose other end the daemon holds: end of file there, like the death of the spawner,
//! ends it and with it, since it is pid 1, every process of the sandbox. The guest runs as another user, cannot
//! signal, trace or read it, and holds none of its descriptors. Files are looked at only when every guest is dead.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::time::Instant;

use crate::child::{self, Launch};
use crate::collect;
use crate::filter::Program;
use crate::sys::{check, close_from, make_directory, mount, prctl};
use crate::template::{Step, at};
use crate::wire::{Event, Failure, Finished, FromInit, Order, RunSpec, ToInit, read_message, write_message};

/// Where the descriptors of a Spawn are put.
const CONTROL: RawFd = 3;
const GUEST_STDIO: [RawFd; 3] = [4, 5, 6];
const FIRST_FREE: libc::c_uint = 7;
/// The writable layer before the run names its own limits.
const PARKED_LAYER: &str = "size=1m,nr_inodes=64,mode=755";
/// Hides each of these behind an empty file or directory: they tell about the machine, not about the sandbox.
const MASKED: [&str; 6] = [
    "/proc/kcore",
    "/proc/keys",
    "/proc/kallsyms",
    "/proc/sysrq-trigger",
    "/proc/timer_list",
    "/proc/kpagecount",
];

/// Runs as pid 1 until the sandbox is done.
pub(crate) fn main(uid: u32, fds: Vec<OwnedFd>, program: &Program) -> ! {
    let status = match arrange(fds) {
        Ok(()) => serve(uid, program),
        Err(_) => 1,
    };
    // SAFETY: ends this process, and by that the whole pid namespace. No destructor matters.
    unsafe { libc::_exit(status) }
}

/// Puts the descriptors at their numbers and closes all others.
fn arrange(fds: Vec<OwnedFd>) -> io::Result<()> {
    prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong)?;
    prctl(libc::PR_SET_NAME, c"init".as_ptr() as libc::c_ulong)?;
    let mut high = Vec::new();
    for fd in fds {
        // SAFETY: a live descriptor, copied out of the way of the numbers assigned below.
        high.push(check(unsafe {
            libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 64)
        })?);
        std::mem::forget(fd);
    }
    for (target, fd) in (CONTROL..).zip(high) {
        // SAFETY: numbers below FIRST_FREE belong to this layout only.
        check(unsafe { libc::dup3(fd, target, libc::O_CLOEXEC) })?;
    }
    close_from(FIRST_FREE, 0)?;
    // SAFETY: standard input was the spawner's socket, which must not stay open here.
    let null = check(unsafe { libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC) })?;
    for target in [0, 1] {
        // SAFETY: two live descriptors.
        check(unsafe { libc::dup2(null, target) })?;
    }
    // SAFETY: this process has one thread; children are waited for from now on.
    unsafe {
        libc::close(null);
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
    }
    Ok(())
}

fn serve(uid: u32, program: &Program) -> i32 {
    // SAFETY: `arrange` put the control socket there, and nothing else owns it.
    let mut control = unsafe { File::from_raw_fd(CONTROL) };
    let ended = converse(&mut control, uid, program);
    i32::from(ended.is_err())
}

/// The whole conversation. An error means that the daemon is gone: nothing is left to tell anyone.
fn converse(control: &mut File, uid: u32, program: &Program) -> io::Result<()> {
    let Some(Order::Prepare(_)) = read_message::<ToInit>(control)?.order else {
        return Err(unexpected());
    };
    if let Err(step) = set_up(uid) {
        return tell(control, Event::Failed(failure(step)));
    }
    tell(control, Event::Parked(true))?;
    let Some(Order::Run(spec)) = read_message::<ToInit>(control)?.order else {
        return Err(unexpected());
    };
    if let Err((step, error)) = furnish(&spec, uid) {
        let failure = failure((step, error));
        let full = matches!(failure.errno, libc::ENOSPC | libc::EDQUOT);
        return tell(
            control,
            if full {
                Event::DiskFull(failure)
            } else {
                Event::NotExecuted(failure)
            },
        );
    }
    let stdio = GUEST_STDIO;
    let launch = Launch {
        spec: &spec,
        uid,
        stdio,
        program,
    };
    let pid = match child::launch(&launch) {
        Ok(pid) => pid,
        Err(step) => return tell(control, Event::NotExecuted(failure(step))),
    };
    for fd in stdio {
        // SAFETY: ours since `arrange`; the guest has its copies.
        unsafe { libc::close(fd) };
    }
    let started = Instant::now();
    child::keep_only_init_capabilities()?;
    tell(control, Event::Started(true))?;
    let (status, cpu_us) = wait_for_end(control, pid)?;
    let run_us = micros(started);
    end_everybody();
    let (blocks_full, inodes_full) = collect::fullness(Path::new("/work"));
    let collected = collect::collect(Path::new(&spec.cwd), &spec.collect, spec.collect_bytes);
    tell(
        control,
        Event::Finished(Finished {
            status,
            run_us,
            blocks_full,
            inodes_full,
            files: collected.files,
            uncollected: collected.uncollected,
            cpu_us,
            collect_limit: collected.limit_hit,
        }),
    )
}

fn unexpected() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "unexpected order")
}

fn tell(control: &mut File, event: Event) -> io::Result<()> {
    write_message(control, &FromInit { event: Some(event) })
}

fn failure((step, error): (impl Into<String>, io::Error)) -> Failure {
    Failure {
        step: step.into(),
        errno: error.raw_os_error().unwrap_or(libc::EIO),
    }
}

fn micros(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX)
}

// ---- set-up ----

fn set_up(uid: u32) -> Result<(), Step> {
    // After the daemon moved us into our cgroups, so that they are the roots of what can be seen.
    at(
        "cgroup namespace",
        // SAFETY: one thread.
        check(unsafe { libc::unshare(libc::CLONE_NEWCGROUP) }),
    )?;
    let safe = libc::MS_NOSUID | libc::MS_NODEV;
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
    at(
        "proc",
        mount("proc", Path::new("/proc"), "proc", safe | libc::MS_NOEXEC, "hidepid=2"),
    )?;
    for path in MASKED {
        if Path::new(path).exists() {
            at(
                "masked proc",
                mount("/dev/null", Path::new(path), "", libc::MS_BIND, ""),
            )?;
        }
    }
    let pts = "newinstance,ptmxmode=0666,mode=0620";
    at(
        "pts",
        mount(
            "devpts",
            Path::new("/dev/pts"),
            "devpts",
            libc::MS_NOSUID | libc::MS_NOEXEC,
            pts,
        ),
    )?;
    // SAFETY: a live byte string and its length.
    at("host name", check(unsafe { libc::sethostname(c"sandbox".as_ptr(), 7) }))?;
    at("loopback", loopback_up())?;
    for fd in GUEST_STDIO {
        // Owned by the guest, so that it may open its own /dev/stdout.
        // SAFETY: live descriptors of pipes.
        at("stdio owner", check(unsafe { libc::fchown(fd, uid, uid) }))?;
    }
    at("not dumpable", prctl(libc::PR_SET_DUMPABLE, 0))
}

fn loopback_up() -> io::Result<()> {
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

/// Applies the run's own size limits, and writes its files.
fn furnish(spec: &RunSpec, uid: u32) -> Result<(), (String, io::Error)> {
    let options = format!("size={},nr_inodes={}", spec.disk_bytes, spec.inodes);
    let flags = libc::MS_REMOUNT | libc::MS_NOSUID | libc::MS_NODEV;
    mount("box", Path::new("/work"), "tmpfs", flags, &options).map_err(|error| ("size of the layer".into(), error))?;
    let cwd = Path::new(&spec.cwd);
    collect::make_parents(cwd, uid).map_err(|error| (format!("make {}", spec.cwd), error))?;
    for file in &spec.files {
        collect::write_input(cwd, file, uid).map_err(|error| (format!("write {}", file.path), error))?;
    }
    Ok(())
}

// ---- the run ----

/// Reaps whatever ends until the command does or the daemon says so. Returns the command's wait status and the CPU
/// time of all that were reaped.
fn wait_for_end(control: &mut File, pid: libc::pid_t) -> io::Result<(i32, u64)> {
    // SAFETY: sigset_t is plain data, filled by sigemptyset; SIGCHLD stays blocked in this process.
    let signals = unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        check(libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()))?;
        OwnedFd::from_raw_fd(check(libc::signalfd(
            -1,
            &raw const set,
            libc::SFD_CLOEXEC | libc::SFD_NONBLOCK,
        ))?)
    };
    let mut command = None;
    loop {
        // Children that ended before the signal was blocked are found here first.
        loop {
            let mut status = 0;
            // SAFETY: a live status word.
            let ended = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) };
            if ended <= 0 {
                break;
            }
            if ended == pid {
                command = Some(status);
            }
        }
        if let Some(status) = command {
            return Ok((status, cpu_of_children()));
        }
        let mut polls = [
            libc::pollfd {
                fd: control.as_raw_fd(),
                events: libc::POLLIN,
                revents: 0,
            },
            libc::pollfd {
                fd: signals.as_raw_fd(),
                events: libc::POLLIN,
                revents: 0,
            },
        ];
        // SAFETY: two live pollfds.
        if unsafe { libc::poll(polls.as_mut_ptr(), 2, -1) } < 0 {
            continue;
        }
        if polls[1].revents != 0 {
            let mut info = [0_u8; size_of::<libc::signalfd_siginfo>()];
            // SAFETY: a live buffer of the size of one record; only emptied.
            unsafe { libc::read(signals.as_raw_fd(), info.as_mut_ptr().cast(), info.len()) };
        }
        if polls[0].revents != 0 {
            let Some(Order::Kill(_)) = read_message::<ToInit>(control)?.order else {
                return Err(unexpected());
            };
            // SAFETY: every process of this namespace but ourselves.
            unsafe { libc::kill(-1, libc::SIGKILL) };
        }
    }
}

fn cpu_of_children() -> u64 {
    // SAFETY: rusage is plain data, filled by the call.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage);
        usage
    };
    let micros = |time: libc::timeval| time.tv_sec * 1_000_000 + time.tv_usec;
    u64::try_from(micros(usage.ru_utime) + micros(usage.ru_stime)).unwrap_or(0)
}

/// Kills and reaps until this process is alone in its namespace.
fn end_everybody() {
    loop {
        // SAFETY: every process of this namespace but ourselves; then waits for any of them.
        let waited = unsafe {
            libc::kill(-1, libc::SIGKILL);
            libc::waitpid(-1, std::ptr::null_mut(), 0)
        };
        if waited < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::ECHILD) {
            return;
        }
    }
}
