//! The spawner: a process with one thread that clones the init of every sandbox.
//!
//! It is this executable, started again before anything else, with a SEQPACKET socket to the daemon as its stdin. It
//! holds no secret, has given up the machine's root file system (see `template`), and is the parent of every init, so
//! its death ends them all. End of file on the socket means that the daemon is gone: the spawner then kills every
//! sandbox, removes the daemon's cgroup directories and exits.

mod huge;
mod interpreter;

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use prost::Message;

use crate::defence::Defence;
use crate::filter::{self, Program};
use crate::process::{self, Home};
use crate::sys::{
    check, check_long, clone_process, has_ended, own_session, pidfd_signal, prctl, receive_with_fds, send_with_fds,
};
use crate::template::{self, Step};
use crate::wire::{Spawn, Spawned, SpawnerConfig, SpawnerReady};
use crate::{cgroup, init};

/// How long inits may take to end their processes when the daemon is gone.
const PATIENCE: Duration = Duration::from_secs(10);
/// Rounds of killing stray processes, which may have children each time.
const SWEEPS: u32 = 100;
/// Two ended inits are forgotten for each new one, so none is kept for long.
const FORGOTTEN_PER_SPAWN: usize = 2;

/// An init: its pid and pidfd.
type Child = (libc::pid_t, OwnedFd);

/// argv[0] and first argument that select this role.
pub const ROLE: &str = "prl-sandbox-spawner";
const SOCKET: RawFd = libc::STDIN_FILENO;
/// Messages on this socket are small; content travels on the control sockets.
const MAX_MESSAGE_BYTES: usize = 64 << 10;

/// Runs until the daemon's end of the socket is closed. Returns the exit status.
pub fn run() -> u8 {
    match serve() {
        Ok(()) => 0,
        Err(error) => {
            tracing::error!(%error, "spawner failed");
            1
        }
    }
}

fn serve() -> io::Result<()> {
    // With a separate session, sandboxes being made take no processor time from the daemon.
    own_session()?;
    let mut buffer = vec![0; MAX_MESSAGE_BYTES];
    let (length, _) = receive_with_fds(SOCKET, &mut buffer)?;
    let config = SpawnerConfig::decode(buffer.get(..length).unwrap_or_default()).map_err(io::Error::other)?;
    // Opened before the machine's file system becomes invisible.
    let cgroups: Vec<OwnedFd> = config
        .cgroups
        .iter()
        .map(|path| fs::File::open(path).map(OwnedFd::from))
        .collect::<io::Result<_>>()?;
    if !config.small_pages
        && let Err(error) = huge::settle()
    {
        tracing::debug!(%error, "the spawner's code stays in small pages");
    }
    // SAFETY: children are reaped by the kernel; nothing here waits for one except to see all of them end.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
    // This also adopts children of a killed interpreter: a sandbox is gone only when all its processes are reaped.
    prctl(libc::PR_SET_CHILD_SUBREAPER, 1)?;
    let Some(mut spawner) = Spawner::confined(&config)? else {
        return Ok(());
    };
    spawner.carry_out_orders(&mut buffer)?;
    spawner.end_all();
    for (directory, path) in cgroups.iter().zip(&config.cgroups) {
        cgroup::remove_tree_at(directory.as_fd(), Path::new(path));
    }
    Ok(())
}

/// The filter of every init, after this process gave up the machine's root file system, or its signals were confined.
fn confine(config: &SpawnerConfig, readable: &[PathBuf], images: &[PathBuf]) -> Result<Program, Step> {
    if config.homes.is_empty() {
        template::enter(config.rootless, readable, images)?;
        return template::at("seccomp filter", filter::build());
    }
    template::at("confine signals", Home::confine_init())?;
    let shared = !process::may_change_users();
    template::at("seccomp filter", filter::build_without_namespaces(shared))
}

/// The state with which this process carries out orders.
struct Spawner {
    program: Program,
    readable: Vec<PathBuf>,
    /// The number of images that the template contains.
    images: usize,
    /// Without namespaces: the directory with the files of all boxes.
    homes: Option<PathBuf>,
    children: VecDeque<Child>,
}

impl Spawner {
    /// Confines this process and reports to the daemon how that went. Returns `None` when it failed.
    fn confined(config: &SpawnerConfig) -> io::Result<Option<Self>> {
        let readable: Vec<PathBuf> = config.readable.iter().map(PathBuf::from).collect();
        let images: Vec<PathBuf> = config.images.iter().map(PathBuf::from).collect();
        let built = confine(config, &readable, &images);
        // Not earlier: the maps of a user namespace can be written only by a process that owns its proc files.
        prctl(libc::PR_SET_DUMPABLE, 0)?;
        let mut ready = SpawnerReady {
            error: String::new(),
            errno: 0,
            answered: true,
        };
        if let Err((step, error)) = &built {
            ready.errno = error.raw_os_error().unwrap_or(libc::EIO);
            ready.error = if error.raw_os_error().is_some() {
                (*step).to_owned()
            } else {
                format!("{step}: {error}")
            };
        }
        send_with_fds(SOCKET, &encode(&ready), &[])?;
        Ok(built.ok().map(|program| Self {
            program,
            readable,
            images: images.len(),
            homes: (!config.homes.is_empty()).then(|| PathBuf::from(&config.homes)),
            children: VecDeque::new(),
        }))
    }

    /// Carries out orders until the daemon is gone.
    fn carry_out_orders(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        loop {
            let spawned = match receive_with_fds(SOCKET, buffer) {
                Ok((0, _)) => return Ok(()),
                // A daemon that was killed before it read our last answer looks like this.
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(()),
                // The descriptors of an order had no room, and the order is lost with them.
                Err(error) if is_full(&error) => Err(error),
                received => {
                    let (length, fds) = received?;
                    let order = Spawn::decode(buffer.get(..length).unwrap_or_default()).map_err(io::Error::other)?;
                    self.spawn(&order, fds)
                }
            };
            // The daemon may have ended between its order and our answer: the next receive says so.
            if let Err(error) = self.answer(spawned) {
                tracing::debug!(%error, "daemon does not listen");
            }
        }
    }

    /// Starts an init in new namespaces or in none, or an interpreter. The child never returns from here.
    fn spawn(&self, order: &Spawn, mut fds: Vec<OwnedFd>) -> io::Result<Child> {
        if let Some(interpreter) = &order.interpreter {
            let (pid, pidfd) = clone(0)?;
            if pid == 0 {
                interpreter::execute(interpreter, &fds);
            }
            return Ok((pid, pidfd.ok_or(io::ErrorKind::Other)?));
        }
        let (Some(control), true) = (fds.pop(), fds.is_empty()) else {
            return Err(io::Error::from_raw_os_error(libc::EBADMSG));
        };
        let home = self
            .homes
            .as_ref()
            .map(|homes| Home::new(homes.join(order.number.to_string()), self.readable.clone()));
        let (pid, pidfd) = if home.is_some() { fork()? } else { clone(namespaces())? };
        if pid == 0 {
            init::main(
                control,
                order.uid,
                &self.program,
                || template::choose(order.image, self.images),
                home,
            );
        }
        Ok((pid, pidfd.ok_or(io::ErrorKind::Other)?))
    }

    /// Tells the daemon the pid of a new child or the error, and forgets children that have ended.
    fn answer(&mut self, spawned: io::Result<Child>) -> io::Result<()> {
        let sent = match spawned {
            Ok((pid, pidfd)) => {
                let sent = send_with_fds(SOCKET, &encode(&Spawned { pid }), &[pidfd.as_raw_fd()]);
                forget_dead(&mut self.children, FORGOTTEN_PER_SPAWN);
                self.children.push_back((pid, pidfd));
                if self.homes.is_some() {
                    sweep(&self.children);
                }
                sent
            }
            Err(error) => {
                if is_full(&error) {
                    let all = self.children.len();
                    forget_dead(&mut self.children, all);
                }
                let errno = error.raw_os_error().unwrap_or(libc::EIO);
                send_with_fds(SOCKET, &encode(&Spawned { pid: -errno }), &[])
            }
        };
        sent.map(drop)
    }

    /// Ends every sandbox, and waits until all are gone.
    fn end_all(&self) {
        if self.homes.is_some() {
            end_gently(&self.children);
        } else {
            for (_, child) in &self.children {
                // Some may be gone already.
                let _gone = pidfd_signal(child.as_fd(), libc::SIGKILL);
            }
        }
        // SAFETY: with SIGCHLD ignored this returns (ECHILD) when every child has ended.
        while unsafe { libc::waitpid(-1, std::ptr::null_mut(), 0) } > 0 {}
        if let Some(homes) = &self.homes {
            process::remove(homes);
        }
    }
}

/// The new namespaces of an init.
fn namespaces() -> libc::c_int {
    let mut flags = libc::CLONE_NEWPID | libc::CLONE_NEWNS;
    for (defence, flag) in [
        (Defence::NetworkNamespace, libc::CLONE_NEWNET),
        (Defence::IpcNamespace, libc::CLONE_NEWIPC),
        (Defence::HostName, libc::CLONE_NEWUTS),
    ] {
        if defence.stands() {
            flags |= flag;
        }
    }
    flags
}

/// Without pid namespaces: kills the processes that a killed init left, which are now children of this process.
fn sweep(inits: &VecDeque<Child>) {
    for _ in 0..SWEEPS {
        let mut strays = init::children(std::process::id().cast_signed());
        strays.retain(|pid| inits.iter().all(|(init, _)| init != pid));
        if strays.is_empty() {
            return;
        }
        for pid in strays {
            // SAFETY: a child of ours; when it has ended meanwhile, the signal still cannot leave this process's
            // confines.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Without pid namespaces: lets every init end its processes, and then ends the rest.
fn end_gently(inits: &VecDeque<Child>) {
    for (_, init) in inits {
        // Some may be gone already.
        let _gone = pidfd_signal(init.as_fd(), libc::SIGTERM);
    }
    let deadline = Instant::now() + PATIENCE;
    for (_, init) in inits {
        let mut poll = libc::pollfd {
            fd: init.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        let left = deadline.saturating_duration_since(Instant::now()).as_millis();
        // SAFETY: one live pollfd.
        unsafe { libc::poll(&raw mut poll, 1, libc::c_int::try_from(left).unwrap_or(0)) };
    }
    // SAFETY: everything below this process, whose signals are confined to that.
    unsafe { libc::kill(-1, libc::SIGKILL) };
}

/// Whether this process may open no more files.
fn is_full(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EMFILE)
}

/// Drops the pidfds of the ended inits among the next `looked_at`.
fn forget_dead(children: &mut VecDeque<Child>, looked_at: usize) {
    for _ in 0..looked_at {
        let Some(child) = children.pop_front() else { return };
        if !has_ended(child.1.as_fd()) {
            children.push_back(child);
        }
    }
}

fn encode(message: &impl Message) -> Vec<u8> {
    message.encode_to_vec()
}

/// Forks without clone3, which may be forbidden here. Returns 0 and `None` in the child.
fn fork() -> io::Result<(libc::pid_t, Option<OwnedFd>)> {
    // SAFETY: this process has one thread, so the child may go on as it is.
    let pid = check(unsafe { libc::fork() })?;
    if pid == 0 {
        return Ok((0, None));
    }
    // SAFETY: numbers. It fails when the child has ended already.
    let pidfd = check_long(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) })?;
    // SAFETY: new and ours.
    let pidfd = unsafe { OwnedFd::from_raw_fd(RawFd::try_from(pidfd).map_err(io::Error::other)?) };
    Ok((pid, Some(pidfd)))
}

/// Forks into these new namespaces. Returns 0 and `None` in the child.
fn clone(flags: libc::c_int) -> io::Result<(i32, Option<OwnedFd>)> {
    let mut pidfd: RawFd = -1;
    // SAFETY: clone_args is plain data; all-zero is a valid value.
    let mut args: libc::clone_args = unsafe { std::mem::zeroed() };
    args.flags = (flags | libc::CLONE_PIDFD) as u64;
    args.pidfd = (&raw mut pidfd) as u64;
    args.exit_signal = libc::SIGCHLD as u64;
    let pid = clone_process(&mut args)?;
    if pid == 0 {
        return Ok((0, None));
    }
    // SAFETY: the kernel wrote a new descriptor that is ours.
    let pidfd = unsafe { OwnedFd::from_raw_fd(check(pidfd)?) };
    Ok((pid, Some(pidfd)))
}
