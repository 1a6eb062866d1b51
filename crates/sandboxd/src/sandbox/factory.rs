//! Makes sandboxes: orders inits from the spawner and brings each to the point where it is parked.

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream as BlockingStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use prl_sandbox_guest::defence;
use prl_sandbox_guest::process;
use prl_sandbox_guest::spawner;
use prl_sandbox_guest::sys::{receive_with_fds, send_with_fds, set_nonblocking, socket_pair};
use prl_sandbox_guest::users;
use prl_sandbox_guest::wire::{Event, Order, Spawn, SpawnerConfig, SpawnerReady};
use prost::Message;
use tokio::net::UnixStream;

use crate::cgroup::{Groups, Layout};
use crate::counts::{Birth, Kind};
use crate::error::SandboxError;
use crate::sandbox::{self, Init, Sandbox, SpawnerLink, Uid};

/// A set-up that takes longer than this hangs.
const SETUP_DEADLINE: Duration = Duration::from_secs(20);

/// Settings of the spawner.
#[derive(Clone, Debug)]
pub(crate) struct FactoryOptions {
    pub(crate) rootless: bool,
    pub(crate) readable: Vec<PathBuf>,
    /// Roots of images.
    pub(crate) images: Vec<PathBuf>,
    /// The directory for homes, in the process tier.
    pub(crate) homes: Option<PathBuf>,
}

/// The spawner process and what is needed to make sandboxes with it.
#[derive(Debug)]
pub(crate) struct Factory {
    spawner: SpawnerLink,
    groups: Arc<Groups>,
    /// How many sandboxes can be alive at a time, where each has a separate user.
    users: usize,
    free_uids: Option<Arc<Mutex<Vec<u32>>>>,
    /// How inits are ended: `true` in the process tier.
    gently: bool,
    next: AtomicU64,
    /// Kept to reap the spawner, which ends by itself when the socket closes.
    child: Mutex<Child>,
}

impl Factory {
    /// Starts the spawner and waits until its template is made.
    pub(crate) fn start(options: &FactoryOptions, layout: &Arc<Layout>) -> Result<Self, SandboxError> {
        match Self::start_once(options, Arc::clone(layout), false) {
            // See `huge` of the spawner: only that step can end it without a message.
            Err(SandboxError::Spawner(reason)) => {
                tracing::warn!(reason, "a spawner died; one with its code in small pages is started");
                Self::start_once(options, Arc::clone(layout), true)
            }
            started => started,
        }
    }

    fn start_once(options: &FactoryOptions, layout: Arc<Layout>, small_pages: bool) -> Result<Self, SandboxError> {
        let setup = |step: &str| {
            let step = step.to_owned();
            move |source| SandboxError::Setup { step, source }
        };
        let (ours, theirs) = socket_pair(libc::SOCK_SEQPACKET).map_err(setup("spawner socket"))?;
        let mut child = Command::new("/proc/self/exe")
            .arg0(spawner::ROLE)
            .arg(spawner::ROLE)
            .args(defence::pass_on())
            .env_clear()
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::null())
            .current_dir("/")
            .spawn()
            .map_err(setup("start the spawner"))?;
        let texts = |paths: &[PathBuf]| paths.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        let config = SpawnerConfig {
            rootless: options.rootless,
            readable: texts(&options.readable),
            cgroups: texts(&layout.directories()),
            images: texts(&options.images),
            homes: options
                .homes
                .iter()
                .map(|path| path.to_string_lossy().into_owned())
                .collect(),
            small_pages,
        };
        send_with_fds(ours.as_raw_fd(), &config.encode_to_vec(), &[]).map_err(setup("configure the spawner"))?;
        let mut buffer = vec![0; 4096];
        let (length, _) = receive_with_fds(ours.as_raw_fd(), &mut buffer).map_err(setup("wait for the spawner"))?;
        if length == 0 {
            let status = child.wait().map_err(setup("end the spawner"))?;
            return Err(SandboxError::Spawner(format!("it ended before it was ready: {status}")));
        }
        let ready = SpawnerReady::decode(buffer.get(..length).unwrap_or_default())
            .map_err(|error| SandboxError::Protocol(error.to_string()))?;
        if !ready.error.is_empty() {
            // The spawner ends by itself.
            child.wait().map_err(setup("end the spawner"))?;
            return Err(setup(&ready.error)(io::Error::from_raw_os_error(ready.errno)));
        }
        let gently = options.homes.is_some();
        let own_users = if gently {
            process::may_change_users()
        } else {
            !options.rootless
        };
        let users = if own_users {
            users::free().map_err(setup("find users for sandboxes"))?
        } else {
            Vec::new()
        };
        Ok(Self {
            spawner: SpawnerLink::new(ours, SETUP_DEADLINE).map_err(setup("spawner socket"))?,
            groups: Groups::new(layout),
            users: users.len(),
            free_uids: own_users.then(|| Arc::new(Mutex::new(users))),
            gently,
            next: AtomicU64::new(0),
            child: Mutex::new(child),
        })
    }

    /// Whether programs run as other users than this process.
    pub(crate) fn has_separate_users(&self) -> bool {
        self.free_uids.is_some()
    }

    /// Ends a spawner that is not needed.
    pub(crate) fn stop(self) {
        let Self { spawner, child, .. } = self;
        drop(spawner);
        if let Err(error) = child.into_inner().unwrap_or_else(PoisonError::into_inner).wait() {
            tracing::error!(%error, "cannot wait for a spawner");
        }
    }

    /// Makes one sandbox with this image's root and waits until it is parked.
    pub(crate) async fn make(&self, image: u32) -> Result<Sandbox, SandboxError> {
        self.make_with(image, None).await
    }

    /// Like `make`, with one more order for init before it is parked, so that it continues at once.
    pub(crate) async fn make_with(&self, image: u32, next: Option<(u64, Order)>) -> Result<Sandbox, SandboxError> {
        let birth = Birth::begin(Kind::Sandbox);
        let mut sandbox = self.begin(image).await?;
        let parked = tokio::time::timeout(SETUP_DEADLINE, async {
            let shared = u32::try_from(sandbox.group.shared().count()).map_err(io::Error::other)?;
            let entrances = sandbox.group.entrances()?.iter().map(AsFd::as_fd);
            let entrances: Vec<_> = entrances.chain(self.groups.entrance_of_inits()).collect();
            sandbox.orders.send(0, Order::Prepare(shared), &entrances).await?;
            if let Some((id, order)) = next {
                sandbox.orders.send(id, order, &[]).await?;
            }
            sandbox.events.receive().await
        });
        let failure = match parked.await {
            Ok(Ok(Some((_, Event::Parked(_), _)))) => {
                birth.done();
                return Ok(sandbox);
            }
            Ok(Ok(Some((_, Event::Failed(failure), _)))) => SandboxError::Setup {
                step: failure.step,
                source: io::Error::from_raw_os_error(failure.errno),
            },
            Ok(Ok(Some(_))) => SandboxError::Protocol("an event before the run".to_owned()),
            Ok(Ok(None)) => SandboxError::InitDied,
            Ok(Err(source)) => SandboxError::Setup {
                step: "talk to init".to_owned(),
                source,
            },
            Err(_) => SandboxError::Setup {
                step: format!("wait {} s for init", SETUP_DEADLINE.as_secs()),
                source: io::ErrorKind::TimedOut.into(),
            },
        };
        sandbox.destroy().await;
        Err(failure)
    }

    /// Makes the groups, the control socket and the process, which enters its groups first.
    async fn begin(&self, image: u32) -> Result<Sandbox, SandboxError> {
        let setup = |step: &'static str| {
            move |source| SandboxError::Setup {
                step: step.to_owned(),
                source,
            }
        };
        let uid = self.uid()?;
        let (control, control_init) = socket_pair(libc::SOCK_STREAM).map_err(setup("control socket"))?;
        set_nonblocking(control.as_fd()).map_err(setup("control socket"))?;
        let control = UnixStream::from_std(BlockingStream::from(control)).map_err(setup("control socket"))?;
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let group = self.groups.take().map_err(setup("cgroup"))?;
        let order = Spawn {
            uid: uid.number,
            wanted: true,
            image,
            interpreter: None,
            number,
        };
        let (_, pidfd) = match self.order(order, vec![control_init]).await {
            Ok(spawned) => spawned,
            Err(error) => {
                group.discard();
                return Err(error);
            }
        };
        let init = Init::new(pidfd, self.gently).map_err(setup("pidfd"))?;
        let (orders, events) = sandbox::control(control);
        Ok(Sandbox {
            orders,
            events,
            group,
            init,
            uid,
            streams: None,
        })
    }

    fn uid(&self) -> Result<Uid, SandboxError> {
        let Some(free) = &self.free_uids else {
            // Inside the spawner's user namespace the daemon's user is 0.
            // SAFETY: reads an attribute of this process.
            let own = if self.gently { unsafe { libc::geteuid() } } else { 0 };
            return Ok(Uid {
                number: own,
                free: std::sync::Weak::new(),
            });
        };
        let number = free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let number = number.ok_or_else(|| SandboxError::Overloaded {
            message: format!("{} sandboxes are alive", self.users),
            retry_after_ms: 1000,
        })?;
        Ok(Uid {
            number,
            free: Arc::downgrade(free),
        })
    }

    /// See `SpawnerLink::order`. A spawner whose link is broken is killed, because one that hangs does not see its socket
    /// close; the daemon ends then (`watch`).
    pub(crate) async fn order(&self, spawn: Spawn, descriptors: Vec<OwnedFd>) -> Result<(i32, OwnedFd), SandboxError> {
        let answer = self.spawner.order(spawn, descriptors).await;
        if let Err(SandboxError::Spawner(reason)) = &answer {
            let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
            if let Err(error) = child.kill() {
                tracing::error!(%error, reason, "cannot kill a lost spawner");
            }
        }
        answer
    }

    /// Removes groups that wait for a sandbox: no sandbox will be made any more.
    pub(crate) async fn close(&self) {
        self.groups.close().await;
    }

    /// Waits for the spawner to end. It ends when the daemon stops, or when something is wrong.
    pub(crate) fn watch(&self) -> io::Result<tokio::task::JoinHandle<()>> {
        let child = self.child.lock().unwrap_or_else(PoisonError::into_inner).id();
        // SAFETY: the child is ours and not reaped yet, so the number is its own.
        let pidfd = unsafe { libc::syscall(libc::SYS_pidfd_open, child, 0) };
        let pidfd = prl_sandbox_guest::sys::check_long(pidfd)?;
        // SAFETY: new and ours.
        let init = Init::new(
            unsafe { OwnedFd::from_raw_fd(i32::try_from(pidfd).map_err(io::Error::other)?) },
            false,
        )?;
        Ok(tokio::spawn(async move {
            if let Err(error) = init.ended().await {
                tracing::error!(%error, "cannot watch the spawner");
                std::future::pending::<()>().await;
            }
        }))
    }
}
