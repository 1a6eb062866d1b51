//! One held sandbox: it keeps what its programs leave, until its lease ends, it is closed, or it dies.
//!
//! The first reason for its end wins, and every call that still waits for the box gets it. A separate task waits for
//! the end and takes the box apart; `gone` returns when that is done.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use prl_sandbox_guest::wire::{Event, Failure, Furnish, Order};
use prl_sandbox_proto::{CreateRequest, Isolation};
use tokio::sync::watch;

use super::lease::{Due, Lease};
use super::processes::Processes;
use super::registry::Labelled;
use super::snapshots::Snapshot;
use super::standby::Standby;
use crate::cgroup::{Group, Observed};
use crate::counts::BoxEnd;
use crate::egress::{Egress, Handover, NetworkPlan};
use crate::error::SandboxError;
use crate::error::Unwritten;
use crate::plan::{LimitsOfGroup, Plan};
use crate::sandbox::Mux;
use crate::sandbox::{Init, Sandbox, Uid};

/// How many execs and file operations there may be at a time.
const MAX_SEATS: u64 = 256;

/// Why a box has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Closed,
    LeaseOver,
    LifetimeOver,
    /// Its init is dead, or could not carry out an order. It is not the caller's fault.
    Broken(&'static str),
}

impl End {
    /// The reason as the counters have it.
    pub(crate) fn counted(&self) -> BoxEnd {
        match self {
            Self::Closed => BoxEnd::Closed,
            Self::LeaseOver => BoxEnd::LeaseOver,
            Self::LifetimeOver => BoxEnd::LifetimeOver,
            Self::Broken(_) => BoxEnd::Broken,
        }
    }

    pub(crate) fn reason(&self) -> String {
        match self {
            Self::Closed => "it was closed".to_owned(),
            Self::LeaseOver => "no call named it for the length of its lease".to_owned(),
            Self::LifetimeOver => "its lifetime is over".to_owned(),
            Self::Broken(what) => (*what).to_owned(),
        }
    }
}

/// See the module.
#[derive(Debug)]
pub(crate) struct SandboxBox {
    pub(crate) request: CreateRequest,
    pub(crate) created_at: u64,
    pub(crate) isolation: Isolation,
    pub(crate) mux: Mux,
    pub(crate) group: Group,
    pub(crate) processes: Processes,
    /// The zygote that waits for the box's next exec.
    pub(crate) standby: Standby,
    init: Init,
    uid: Uid,
    ways_out: Mutex<WaysOut>,
    /// The connections of its programs that wait for its caller.
    pub(crate) handover: Option<Arc<Handover>>,
    /// Whether the box has another network than the one in which `ways_out` were opened.
    moved: AtomicBool,
    processes_limit: AtomicU64,
    /// Whether a leader and a future guest wait for the next exec.
    paired: AtomicBool,
    /// Whether its execs have no leader.
    nursed: AtomicBool,
    lease: Mutex<Lease>,
    lease_changed: tokio::sync::Notify,
    seats: Mutex<u64>,
    end: watch::Sender<Option<End>>,
    gone: watch::Sender<bool>,
}

/// The parts that make a box of a new sandbox.
pub(crate) struct Contents {
    pub(crate) request: CreateRequest,
    /// The request, checked.
    pub(crate) plan: Plan,
    /// The files that it begins with.
    pub(crate) snapshot: Option<Arc<Snapshot>>,
    pub(crate) standby: Standby,
}

/// The ways out of its network, and the variables that programs need to use them.
type WaysOut = (Egress, Vec<(&'static str, String)>);

/// A call that names the box. The lease does not run out during the call.
#[derive(Debug)]
pub(crate) struct Call(Arc<SandboxBox>);

/// The place of one process of ours in the box, for an exec or a file operation. It is not counted in the box's number
/// of processes.
#[derive(Debug)]
pub(crate) struct Seat(Arc<SandboxBox>);

impl SandboxBox {
    /// Makes a box of a new sandbox, with its sizes and files. The sandbox is destroyed when that fails.
    pub(crate) async fn make(
        mut sandbox: Sandbox,
        contents: Contents,
        isolation: Isolation,
    ) -> Result<Arc<Self>, SandboxError> {
        let Contents {
            request,
            mut plan,
            snapshot,
            standby,
        } = contents;
        let sockets = sandbox.open(plan.network.sockets()).await;
        let ways_out = match sockets.and_then(|sockets| serve(&plan.network, sockets)) {
            Ok(ways_out) => Mutex::new(ways_out),
            Err(error) => {
                sandbox.destroy().await;
                return Err(error);
            }
        };
        let Sandbox {
            orders,
            events,
            group,
            init,
            uid,
            // No program was executed in it in advance.
            streams: _,
        } = sandbox;
        let now = Instant::now();
        let lease = Lease::new(
            now,
            Duration::from_millis(request.lease_ms.unwrap_or(super::DEFAULT_LEASE_MS)),
            request.lifetime_ms.map(Duration::from_millis),
        );
        let held = Arc::new(Self {
            created_at: since_1970(),
            isolation,
            mux: Mux::new(orders, events),
            processes: Processes::default(),
            standby,
            init,
            uid,
            ways_out,
            handover: plan.network.handover(),
            moved: AtomicBool::new(false),
            paired: AtomicBool::new(false),
            nursed: AtomicBool::new(false),
            processes_limit: AtomicU64::new(plan.limits.group.processes),
            lease: Mutex::new(lease),
            lease_changed: tokio::sync::Notify::new(),
            seats: Mutex::new(0),
            end: watch::Sender::new(None),
            gone: watch::Sender::new(false),
            group,
            request,
        });
        let limited = match plan.unwritten.take() {
            Some(unwritten) => Err(SandboxError::Unwritten(unwritten)),
            None => held.limit(plan.limits.group),
        };
        tokio::spawn(Arc::clone(&held).keep());
        let furnished = match limited {
            Ok(()) => {
                let furnish = plan.start.furnish.take().unwrap_or_default();
                held.fill(furnish, snapshot).await
            }
            Err(error) => Err(error),
        };
        if let Err(error) = furnished {
            held.end_with(End::Closed);
            held.gone().await;
            return Err(error);
        }
        held.standby.prepare(&held);
        Ok(held)
    }

    /// Sets the sizes, then restores a snapshot, then writes the request's files.
    async fn fill(self: &Arc<Self>, mut wanted: Furnish, snapshot: Option<Arc<Snapshot>>) -> Result<(), SandboxError> {
        if let Some(snapshot) = snapshot {
            let files = std::mem::take(&mut wanted.files);
            self.furnish(wanted.clone()).await?;
            snapshot.restore(self).await?;
            wanted.files = files;
        }
        self.furnish(wanted).await
    }

    /// Refuses an operation that the process tier lacks.
    pub(crate) fn needs_namespaces(&self, what: &'static str) -> Result<(), SandboxError> {
        if self.isolation == Isolation::Process {
            return Err(SandboxError::Unsupported(what));
        }
        Ok(())
    }

    /// The variables that its network adds to the environment of its programs.
    pub(crate) fn network_variables(&self) -> Vec<(&'static str, String)> {
        lock(&self.ways_out).1.clone()
    }

    /// Notes that the box has a new network.
    pub(crate) fn moved(&self) {
        self.moved.store(true, Ordering::Release);
    }

    /// Opens the ways out again when the box has a new network. Connections through the old one end.
    pub(crate) async fn follow_network(&self, plan: &NetworkPlan) -> Result<(), SandboxError> {
        if !self.moved.swap(false, Ordering::AcqRel) || plan.is_none() {
            return Ok(());
        }
        let mut sockets = Vec::new();
        for wanted in plan.sockets() {
            let mut exchange = self.mux.call(Order::Open(wanted), Vec::new()).await?;
            match exchange.answer().await? {
                (Event::Socket(_), fds) => sockets.extend(fds),
                (Event::Failed(Failure { step, errno }), _) => {
                    let source = std::io::Error::from_raw_os_error(errno);
                    return Err(SandboxError::Setup { step, source });
                }
                (other, _) => return Err(SandboxError::Protocol(format!("{other:?} for a socket"))),
            }
        }
        *lock(&self.ways_out) = serve(plan, sockets)?;
        Ok(())
    }

    async fn furnish(&self, wanted: Furnish) -> Result<(), SandboxError> {
        let mut exchange = self.mux.call(Order::Furnish(wanted), Vec::new()).await?;
        match exchange.answer().await? {
            (Event::Furnished(_), _) => Ok(()),
            (Event::NotFurnished(report), _) => Err(SandboxError::Unwritten(Unwritten::met(&report))),
            (Event::Failed(Failure { step, errno }), _) => Err(SandboxError::Setup {
                step,
                source: std::io::Error::from_raw_os_error(errno),
            }),
            (other, _) => Err(SandboxError::Protocol(format!("{other:?} after Furnish"))),
        }
    }

    /// Waits for the box's end and takes it apart.
    async fn keep(self: Arc<Self>) {
        let mut end = self.end.subscribe();
        loop {
            let due = lock(&self.lease).due(Instant::now());
            let timer = async {
                match due {
                    Due::At(at) => tokio::time::sleep_until(at.into()).await,
                    _ => std::future::pending().await,
                }
            };
            match due {
                Due::LeaseOver => break self.end_with(End::LeaseOver),
                Due::LifetimeOver => break self.end_with(End::LifetimeOver),
                Due::At(_) | Due::Never => {}
            }
            tokio::select! {
                () = timer => {}
                () = self.lease_changed.notified() => {}
                ended = self.init.ended() => {
                    if let Err(error) = ended {
                        tracing::error!(%error, "cannot watch a box's init");
                    }
                    break self.end_with(End::Broken("its init died"));
                }
                () = said(&mut end) => break,
            }
        }
        self.init.kill();
        if let Err(error) = self.init.ended().await {
            tracing::error!(%error, "cannot wait for a box's init");
        }
        self.processes.finish();
        // No connection outlives the box, although calls may still hold this object.
        lock(&self.ways_out).0 = Egress::default();
        if let Err(error) = self.group.remove().await {
            tracing::error!(%error, "cannot remove a box's cgroup");
        }
        self.gone.send_replace(true);
    }

    /// Sets the reason for its end, unless there is one already.
    pub(crate) fn end_with(&self, reason: End) {
        self.end.send_if_modified(|end| {
            let first = end.is_none();
            if first {
                *end = Some(reason);
            }
            first
        });
    }

    /// The reason for its end; `None` while it has not ended.
    pub(crate) fn ended(&self) -> Option<End> {
        self.end.borrow().clone()
    }

    /// Returns when the box was taken apart.
    pub(crate) async fn gone(&self) {
        let mut gone = self.gone.subscribe();
        let _never = gone.wait_for(|gone| *gone).await.is_err();
    }

    pub(crate) fn error_of(&self, end: &End) -> SandboxError {
        SandboxError::BoxEnded {
            id: self.request.id.clone(),
            reason: end.reason(),
        }
    }

    /// Begins a call that names the box.
    pub(crate) fn call(self: &Arc<Self>) -> Result<Call, SandboxError> {
        if let Some(end) = self.ended() {
            return Err(self.error_of(&end));
        }
        lock(&self.lease).begin();
        Ok(Call(Arc::clone(self)))
    }

    pub(crate) fn lease(&self) -> Lease {
        *lock(&self.lease)
    }

    pub(crate) fn renew(&self) {
        lock(&self.lease).renew(Instant::now());
    }

    pub(crate) fn set_lifetime(&self, lifetime: Option<Duration>) {
        lock(&self.lease).set_lifetime(Instant::now(), lifetime);
        self.lease_changed.notify_one();
    }

    /// Takes a place for one more process of ours.
    pub(crate) fn seat(self: &Arc<Self>) -> Result<Seat, SandboxError> {
        let mut seats = lock(&self.seats);
        if *seats >= MAX_SEATS {
            return Err(SandboxError::Overloaded {
                message: format!("{MAX_SEATS} execs and file operations go on in this box"),
                retry_after_ms: 100,
            });
        }
        self.allow(*seats, *seats + 1)?;
        *seats += 1;
        Ok(Seat(Arc::clone(self)))
    }

    /// Called for a command that is executed: from then on init keeps processes ready for the next one.
    pub(super) fn expect_pair(&self) -> Result<(), SandboxError> {
        if self.paired.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        self.limit_processes(*lock(&self.seats))
    }

    /// From now on its execs are children of a nursery, which is in none of its groups, and run one after the other.
    pub(crate) fn expect_nursed(&self) -> Result<(), SandboxError> {
        self.nursed.store(true, Ordering::Relaxed);
        self.limit_processes(*lock(&self.seats))
    }

    /// One seat is always included, since mostly no more than one exec goes on.
    fn limit_processes(&self, seats: u64) -> Result<(), SandboxError> {
        let init = self.group.inits();
        // A leader is in init's groups, and the future guest in those of programs.
        let pair = if self.paired.load(Ordering::Relaxed) {
            init + 1
        } else {
            0
        };
        let processes = self.processes_limit.load(Ordering::Relaxed);
        let leaders = seats.max(1) - u64::from(self.nursed.load(Ordering::Relaxed));
        let limited = self.group.limit_processes(processes, init + pair + leaders);
        limited.map_err(|source| SandboxError::Setup {
            step: "limit of processes".to_owned(),
            source,
        })
    }

    fn allow(&self, before: u64, seats: u64) -> Result<(), SandboxError> {
        if before.max(seats) <= 1 {
            return Ok(());
        }
        self.limit_processes(seats)
    }

    /// Whether its second user differs from its first. Without root there is one user for all.
    pub(crate) fn has_two_users(&self) -> bool {
        self.uid.number != 0
    }

    /// Changes the limits of the whole box. Call it only while no program runs in it.
    pub(crate) fn limit(&self, limits: LimitsOfGroup) -> Result<(), SandboxError> {
        self.processes_limit.store(limits.processes, Ordering::Relaxed);
        let limited = self.group.limit(limits.into());
        limited.map_err(|source| SandboxError::Setup {
            step: "limits".to_owned(),
            source,
        })?;
        let seats = *lock(&self.seats);
        self.limit_processes(seats)
    }

    /// The user of its programs.
    pub(crate) fn user(&self) -> u32 {
        self.uid.number
    }

    /// The groups' counters now.
    pub(crate) fn count(&self) -> Observed {
        self.group.count()
    }
}

impl Labelled for SandboxBox {
    fn labels(&self) -> &HashMap<String, String> {
        &self.request.labels
    }
}

impl std::ops::Deref for Call {
    type Target = Arc<SandboxBox>;

    fn deref(&self) -> &Arc<SandboxBox> {
        &self.0
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        lock(&self.0.lease).end(Instant::now());
        self.0.lease_changed.notify_one();
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut seats = lock(&self.0.seats);
        *seats -= 1;
        if self.0.ended().is_none()
            && let Err(error) = self.0.allow(*seats + 1, *seats)
        {
            // Its group may be gone by now. Otherwise the box may have one process more than it should.
            tracing::debug!(error = %error.chain(), "cannot lower a limit");
        }
    }
}

fn serve(plan: &NetworkPlan, sockets: Vec<OwnedFd>) -> Result<WaysOut, SandboxError> {
    plan.serve(sockets).map_err(|source| SandboxError::Setup {
        step: "network".to_owned(),
        source,
    })
}

/// Milliseconds since 1970.
pub(crate) fn since_1970() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

async fn said(end: &mut watch::Receiver<Option<End>>) {
    let _gone = end.wait_for(Option::is_some).await.is_err();
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
