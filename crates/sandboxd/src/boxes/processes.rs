//! Processes that outlive the call that started them. Callers choose their ids, and can attach to them again.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use prl_sandbox_guest::wire::{Event, Order, Terminal};
use prl_sandbox_proto::{Output, Process as Info, Pty, RunOnceResult, StartRequest};
use tokio::sync::watch;

use super::exec::{Among, failed};
use super::input::Input;
use super::log::Log;
use super::repl::Repl;
use super::sandbox_box::{SandboxBox, Seat};
use super::standby::provide;
use super::stream::Stream;
use crate::cgroup::Observed;
use crate::error::SandboxError;
use crate::plan::Plan;
use crate::runs::{self, Flood, Watched, follow, judge};
use crate::sandbox::pipes;
use crate::warm::Python;

/// The number for each box, including ended ones as long as there is room.
const MAX_PROCESSES: usize = 64;
/// The limit when none was asked for: longer than any box lives.
const FOREVER: Duration = Duration::from_secs(10 * 365 * 24 * 3600);
const READ_BYTES: usize = 64 << 10;
/// The largest pipe that a program can make (`fs.pipe-max-size`, by default).
const LARGEST_PIPE_BYTES: usize = 1 << 20;

/// One started process.
#[derive(Debug)]
pub(crate) struct Process {
    id: String,
    mark: u64,
    command: Vec<String>,
    /// Its pid in the box; 0 before it was executed.
    pid: AtomicU32,
    /// Changes when `pid` changes.
    begun: watch::Sender<bool>,
    /// The id of the order that started it.
    order: u64,
    /// The runtime whose zygote runs it.
    warm: Option<String>,
    pub(super) stdout: Log,
    pub(super) stderr: Log,
    pub(crate) input: Input,
    terminal: Option<Stream>,
    repl: Option<Repl>,
    result: watch::Sender<Option<Arc<RunOnceResult>>>,
}

/// All started processes of a box.
#[derive(Debug, Default)]
pub(crate) struct Processes {
    all: Mutex<BTreeMap<String, Arc<Process>>>,
    /// Locked while a process is started, so that an id is taken once.
    starting: tokio::sync::Mutex<()>,
}

impl Processes {
    pub(crate) fn find(&self, id: &str) -> Result<Arc<Process>, SandboxError> {
        let found = self.lock().get(id).cloned();
        found.ok_or_else(|| SandboxError::NotFound(format!("process {id}")))
    }

    pub(crate) fn list(&self) -> Vec<Arc<Process>> {
        self.lock().values().cloned().collect()
    }

    /// Finishes all logs when the box has ended, so that no writer waits for room any more.
    pub(crate) fn finish(&self) {
        self.list().iter().for_each(|process| process.finish());
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Process>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, process: &Arc<Process>) {
        self.lock().insert(process.id.clone(), Arc::clone(process));
    }

    /// Makes room for one more by forgetting a process that has ended, if possible one whose output is complete.
    fn make_room(&self) -> Result<(), SandboxError> {
        let mut all = self.lock();
        if all.len() < MAX_PROCESSES {
            return Ok(());
        }
        let ended = || all.values().filter(|process| process.result().is_some());
        let complete = ended().find(|process| process.stdout.is_finished() && process.stderr.is_finished());
        let Some(forgotten) = complete.or_else(|| ended().next()).cloned() else {
            return Err(SandboxError::Overloaded {
                message: format!("{MAX_PROCESSES} started processes run in this box"),
                retry_after_ms: 1000,
            });
        };
        all.remove(&forgotten.id);
        forgotten.finish();
        Ok(())
    }
}

impl Process {
    /// Finishes its logs: no writer waits for a reader any more.
    fn finish(&self) {
        self.stdout.finish();
        self.stderr.finish();
    }

    pub(crate) fn describe(&self, of: &str) -> Info {
        Info {
            r#box: of.to_owned(),
            process: self.id.clone(),
            pid: self.pid.load(Ordering::Relaxed),
            command: self.command.clone(),
            running: self.result().is_none(),
        }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// The runtime on which it was started.
    pub(super) fn runtime(&self) -> &str {
        self.warm.as_deref().unwrap_or("exec")
    }

    /// Its interpreter, when it was started with `repl`.
    pub(super) fn repl(&self) -> Result<&Repl, SandboxError> {
        let repl = self.repl.as_ref();
        repl.ok_or_else(|| SandboxError::Invalid(format!("process {} was not started with `repl`", self.id)))
    }

    /// Its result, when it has ended.
    pub(super) fn result(&self) -> Option<Arc<RunOnceResult>> {
        self.result.borrow().clone()
    }

    pub(super) fn watch_result(&self) -> watch::Receiver<Option<Arc<RunOnceResult>>> {
        self.result.subscribe()
    }

    /// Sends a signal to its main process. SIGKILL also ends every process that it started.
    pub(crate) async fn signal(&self, held: &SandboxBox, number: i32) -> Result<(), SandboxError> {
        if !(1..=64).contains(&number) {
            return Err(SandboxError::Invalid(format!("signal {number} is not one of 1 to 64")));
        }
        if self.result().is_some() {
            return Ok(());
        }
        let order = if number == libc::SIGKILL {
            Order::KillTree(true)
        } else {
            Order::Signal(number)
        };
        held.mux.send_order(self.order, order).await
    }

    pub(crate) fn resize(&self, pty: Pty) -> Result<(), SandboxError> {
        let terminal = self.terminal.as_ref();
        let terminal = terminal.ok_or_else(|| SandboxError::Invalid("this process has no terminal".to_owned()))?;
        let size = size(&pty)?;
        terminal.resize(size.0, size.1).map_err(|source| SandboxError::Setup {
            step: "resize a terminal".to_owned(),
            source,
        })
    }

    pub(super) fn begin(&self, pid: i32) {
        self.pid.store(u32::try_from(pid).unwrap_or(0), Ordering::Relaxed);
        self.begun.send_replace(true);
    }
}

/// Starts a process, or finds the one that an equal request started.
pub(crate) async fn start(
    held: &Arc<SandboxBox>,
    request: &StartRequest,
    mark: u64,
    mut plan: Plan,
    python: Option<Arc<Python>>,
) -> Result<Arc<Process>, SandboxError> {
    let processes = &held.processes;
    let starting = processes.starting.lock().await;
    if let Ok(known) = processes.find(&request.process) {
        if known.mark != mark {
            return Err(SandboxError::Exists(format!("process {}", request.process)));
        }
        return Ok(known);
    }
    processes.make_room()?;
    let asked = request.exec.as_ref().and_then(|exec| exec.limits).unwrap_or_default();
    if asked.wall_ms.is_none() {
        plan.limits.wall = FOREVER;
    }
    if asked.cpu_ms.is_none() {
        plan.limits.cpu = FOREVER;
        plan.start.program.cpu_seconds = 0;
    }
    if asked.output_kill_bytes.is_none() {
        plan.limits.output_kill_bytes = u64::MAX;
    }
    if request.pty.is_some() && plan.start.zygote > 0 {
        if plan.insists {
            return Err(SandboxError::Runtime {
                wanted: plan.runtime,
                reason: "it has a terminal".to_owned(),
            });
        }
        plan.start.zygote = 0;
    }
    let began = Began {
        at: Instant::now(),
        seat: held.seat()?,
        before: held.count(),
    };
    let zygote = provide(held, &mut plan, python).await?;
    let (process, among, streams) = launch(held, request, mark, &plan).await?;
    processes.add(&process);
    drop(starting);
    let stdin = std::mem::take(&mut plan.stdin);
    if !request.keep_stdin {
        let process = Arc::clone(&process);
        tokio::spawn(async move {
            if let Err(error) = process.input.append(0, stdin, true).await {
                tracing::error!(error = %error.chain(), "cannot feed a process");
            }
        });
    }
    let mut begun = process.begun.subscribe();
    tokio::spawn(drive(Arc::clone(&process), among, plan, streams, began));
    // From here on the zygote's events are those of the process.
    drop(zygote);
    let _ended = begun.wait_for(|begun| *begun).await.is_err();
    Ok(process)
}

struct Began {
    at: Instant,
    seat: Seat,
    before: Observed,
}

async fn launch(
    held: &Arc<SandboxBox>,
    request: &StartRequest,
    mark: u64,
    plan: &Plan,
) -> Result<(Arc<Process>, Among, Vec<Stream>), SandboxError> {
    let failed = |source| SandboxError::Setup {
        step: "pipes".to_owned(),
        source,
    };
    let mut start = plan.start.clone();
    let mut early = None;
    let mut repl = None;
    let (exchange, input, streams, terminal) = if let Some(pty) = &request.pty {
        let (rows, columns) = size(pty)?;
        start.terminal = Some(Terminal {
            rows: rows.into(),
            columns: columns.into(),
        });
        let mut exchange = held.mux.call(Order::Start(start), Vec::new()).await?;
        let (event, mut fds) = exchange.answer().await?;
        let terminal: OwnedFd = match (event, fds.pop()) {
            (Event::Terminal(_), Some(fd)) => fd,
            // The course handles this event once more. Until then the process has pipes that stay silent.
            (other, _) => {
                early = Some(other);
                let ([_, stdout, _], _) = pipes().map_err(failed)?;
                stdout
            }
        };
        let terminal = Stream::new(terminal).map_err(failed)?;
        (exchange, terminal.clone(), vec![terminal.clone()], Some(terminal))
    } else {
        let ([stdin, stdout, stderr], guests) = pipes().map_err(failed)?;
        let mut descriptors: Vec<OwnedFd> = guests.into();
        let mut outputs = [stdout, stderr];
        if !request.repl.is_empty() {
            let (ours, theirs) = Repl::new(&request.repl, &outputs).map_err(failed)?;
            descriptors.push(theirs);
            repl = Some(ours);
        }
        let exchange = held.mux.call(Order::Start(start), descriptors).await?;
        if repl.as_ref().is_some_and(Repl::listens) {
            // The interpreter alone reads these streams, so the process gets pipes that stay silent.
            let ([_, stdout, stderr], _) = pipes().map_err(failed)?;
            outputs = [stdout, stderr];
        }
        let [stdout, stderr] = outputs;
        let streams = vec![
            Stream::new(stdout).map_err(failed)?,
            Stream::new(stderr).map_err(failed)?,
        ];
        (exchange, Stream::new(stdin).map_err(failed)?, streams, None)
    };
    let process = Arc::new(Process {
        id: request.process.clone(),
        mark,
        command: match request.repl.as_str() {
            "" => plan.start.program.command.clone(),
            repl => vec![repl.to_owned()],
        },
        pid: AtomicU32::new(0),
        begun: watch::Sender::new(false),
        order: exchange.id,
        warm: plan.warm(),
        stdout: Log::new(request.lossless),
        stderr: Log::new(request.lossless),
        input: Input::new(input, terminal.is_some()),
        terminal,
        repl,
        result: watch::Sender::new(None),
    });
    if request.pty.is_some() {
        process.stderr.finish();
    }
    let among = Among {
        held: Arc::clone(held),
        exchange,
        early,
        process: Some(Arc::clone(&process)),
    };
    Ok((process, among, streams))
}

/// Watches a process to its end, and publishes its result.
async fn drive(process: Arc<Process>, mut among: Among, plan: Plan, streams: Vec<Stream>, began: Began) {
    let held = Arc::clone(&among.held);
    let flood = Flood::new(plan.limits.output_kill_bytes);
    let (over, ended) = watch::channel(false);
    for (index, stream) in streams.into_iter().enumerate() {
        tokio::spawn(copy(
            stream,
            Arc::clone(&process),
            index,
            Arc::clone(&flood),
            ended.clone(),
        ));
    }
    // Apart from a limit, only a signal ends it early.
    let (_never, cancel) = watch::channel(false);
    let watched = Watched {
        group: &held.group,
        before: began.before,
        limits: &plan.limits,
        flood: &flood,
    };
    let course = follow(&mut among, watched, cancel).await;
    over.send_replace(true);
    let judged = course.and_then(|course| {
        let runtime = course.runtime(process.warm.clone());
        let timings = course.timings(began.at, Duration::ZERO);
        let none = || (Output::default(), false);
        let mut result = judge(course, &plan.limits, none(), none(), timings)?;
        result.runtime = runtime;
        Ok(result)
    });
    let mut result = judged.unwrap_or_else(|error| failed(&held, &error));
    result.isolation = held.isolation.into();
    process.result.send_replace(Some(Arc::new(result)));
    process.begun.send_replace(true);
    drop(began.seat);
}

/// Copies a stream into its log until the process has ended, and then the bytes that are in it at that moment. Later
/// bytes are thrown away.
async fn copy(
    stream: Stream,
    process: Arc<Process>,
    index: usize,
    flood: Arc<Flood>,
    mut ended: watch::Receiver<bool>,
) {
    let log = if index == 0 { &process.stdout } else { &process.stderr };
    let mut buffer = vec![0; READ_BYTES];
    let mut open = true;
    while open {
        let length = tokio::select! {
            length = stream.read(&mut buffer) => length,
            () = runs::raised(&mut ended) => break,
        };
        open = length > 0;
        flood.note(length);
        log.push(buffer.get(..length).unwrap_or_default()).await;
    }
    // One read empties a pipe of the usual size, but neither a larger one nor a terminal. Other processes may write on.
    let mut left = if open { LARGEST_PIPE_BYTES } else { 0 };
    while left > 0 {
        let length = stream.read_now(&mut buffer);
        if length == 0 {
            break;
        }
        left = left.saturating_sub(length);
        log.push(buffer.get(..length).unwrap_or_default()).await;
    }
    log.finish();
    while open && stream.read(&mut buffer).await > 0 {}
}

/// Checks the rows and columns of a terminal.
fn size(pty: &Pty) -> Result<(u16, u16), SandboxError> {
    let part = |name: &str, value: u32| {
        let value = u16::try_from(value).ok().filter(|value| *value > 0);
        value.ok_or_else(|| SandboxError::Invalid(format!("pty.{name} must be between 1 and {}", u16::MAX)))
    };
    Ok((part("rows", pty.rows)?, part("columns", pty.columns)?))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsRawFd;

    use prl_sandbox_guest::sys;

    use super::*;
    use crate::boxes::log::Piece;

    const SOON: Duration = Duration::from_secs(5);

    fn process(id: &str, lossless: bool) -> Arc<Process> {
        let (_, input) = sys::pipe().expect("a pipe");
        Arc::new(Process {
            id: id.to_owned(),
            mark: 0,
            command: Vec::new(),
            pid: AtomicU32::new(0),
            begun: watch::Sender::new(false),
            order: 0,
            warm: None,
            stdout: Log::new(lossless),
            stderr: Log::new(lossless),
            input: Input::new(Stream::new(input).expect("a stream"), false),
            terminal: None,
            repl: None,
            result: watch::Sender::new(None),
        })
    }

    #[tokio::test]
    async fn no_writer_waits_for_a_reader_of_a_forgotten_process() {
        let processes = Processes::default();
        let all: Vec<_> = (0..MAX_PROCESSES).map(|id| process(&id.to_string(), true)).collect();
        all.iter().for_each(|process| processes.add(process));
        processes.make_room().expect_err("all run");
        for ended in &all[3..5] {
            ended.result.send_replace(Some(Arc::default()));
        }
        let unread = Arc::clone(&all[3]);
        let writing = tokio::spawn(async move {
            for _ in 0..64 {
                unread.stdout.push(&[7; READ_BYTES]).await;
            }
        });
        while all[3].stdout.read(1 << 19) == Piece::Later {
            tokio::task::yield_now().await;
        }
        all[4].finish();
        processes.make_room().expect("the output of one is complete");
        assert!(processes.find("3").is_ok() && processes.find("4").is_err());
        processes.add(&all[4]);
        all[4].result.send_replace(None);
        processes.make_room().expect("one has ended");
        assert!(processes.find("3").is_err());
        tokio::time::timeout(SOON, writing)
            .await
            .expect("it does not wait")
            .expect("no panic");
    }

    #[tokio::test]
    async fn the_end_of_a_large_pipe_is_copied() {
        const BYTES: usize = 700_000;
        let (ours, theirs) = sys::pipe().expect("a pipe");
        let size = libc::c_int::try_from(LARGEST_PIPE_BYTES).expect("small");
        // SAFETY: a live descriptor and a number.
        let enlarged = unsafe { libc::fcntl(theirs.as_raw_fd(), libc::F_SETPIPE_SZ, size) };
        assert_eq!(enlarged, size, "a user may have such a pipe");
        std::fs::File::from(theirs)
            .write_all(&[7; BYTES])
            .expect("there is room");
        let (_over, ended) = watch::channel(true);
        let one = process("one", false);
        let stream = Stream::new(ours).expect("a stream");
        copy(stream, Arc::clone(&one), 0, Flood::new(u64::MAX), ended).await;
        let mut copied = 0;
        while let Piece::Data(at, data) = one.stdout.read(copied) {
            copied = at + data.len() as u64;
        }
        assert_eq!(copied, BYTES as u64);
    }
}
