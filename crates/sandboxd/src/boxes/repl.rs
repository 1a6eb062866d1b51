//! An interpreter that keeps its state between evaluations: a process of the box with a separate socket to the daemon.
//!
//! Each evaluation of Python comes with the streams for its output, so that its output is known exactly. Node cannot
//! change its streams: output between two evaluations is thrown away when the next one begins, and a program that
//! writes more than a pipe holds waits until then. An evaluation that must be ended ends the interpreter.
//!
//! An answer carries the evaluation's name, which is new and cannot be guessed, and the interpreter's pid. Anything
//! else on the socket is ignored: a fork of the interpreter, or a program that writes there, cannot put its words into
//! the answer of another evaluation. The content of an answer comes from the program, which can lie only about itself.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::fchown;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use prl_sandbox_guest::sys::random_name;
use prl_sandbox_guest::wire::{Ended, Event};
use prl_sandbox_guest::zygotes::{node, python};
use prl_sandbox_proto::{EvaluateReply, Limits, RunOnceResult};
use tokio::sync::{Mutex, watch};

use super::processes::Process;
use super::sandbox_box::{End, SandboxBox};
use crate::error::SandboxError;
use crate::plan::{self, RunLimits};
use crate::runs::{Exec, Flood, Watched, follow, judge, record, record_part};
use crate::sandbox::{Packets, pipes};

/// The code of one evaluation, which travels as one message.
const MAX_CODE_BYTES: usize = 128 << 10;
const REPLY_BYTES: usize = 256 << 10;
/// The size of an ordinary pipe.
const PIPE_BYTES: usize = 64 << 10;

/// The command of an interpreter by its name.
pub(crate) fn command(name: &str) -> Result<Vec<String>, SandboxError> {
    // The interpreter runs this script, which receives the code to evaluate.
    let command = match name {
        "python" => ["python3", "-c", python::REPL],
        "node" => ["node", "-e", node::REPL],
        other => return Err(SandboxError::Invalid(format!("repl {other:?} is not known"))),
    };
    Ok(command.map(str::to_owned).into())
}

/// The daemon's end of an interpreter.
#[derive(Debug)]
pub(super) struct Repl {
    /// Locked during an evaluation: evaluations run one at a time, in order.
    socket: Mutex<Packets>,
    /// The pid of the process that answers, known since its first answer.
    pid: OnceLock<String>,
    /// Standard output and error of an interpreter that cannot change them.
    own: Option<[OwnedFd; 2]>,
}

impl Repl {
    /// Returns the daemon's end and the interpreter's end. `streams`: our ends of its standard output and error.
    pub(super) fn new(name: &str, streams: &[OwnedFd; 2]) -> io::Result<(Self, OwnedFd)> {
        let (socket, theirs) = Packets::pair()?;
        let [output, errors] = streams;
        let own = match name {
            "node" => Some([output.try_clone()?, errors.try_clone()?]),
            _ => None,
        };
        let socket = Mutex::new(socket);
        let pid = OnceLock::new();
        Ok((Self { socket, pid, own }, theirs))
    }

    /// Whether it alone reads the interpreter's standard output and error.
    pub(super) fn listens(&self) -> bool {
        self.own.is_some()
    }
}

/// Throws away the content of a pipe, which one read empties.
fn discard(pipe: &OwnedFd) -> io::Result<()> {
    match File::from(pipe.try_clone()?).read(&mut vec![0; PIPE_BYTES]) {
        Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
        _ => Ok(()),
    }
}

/// One evaluation.
struct Evaluation<'a> {
    held: &'a SandboxBox,
    process: &'a Process,
    repl: &'a Repl,
    socket: &'a Packets,
    name: &'a str,
    ended: watch::Receiver<Option<Arc<RunOnceResult>>>,
    /// Value and error.
    said: Option<(String, String)>,
    began: Instant,
    started: bool,
    ended_told: bool,
}

impl Exec for Evaluation<'_> {
    const ALONE: bool = false;
    const FIRST: bool = false;

    async fn event(&mut self) -> io::Result<Option<Event>> {
        if !self.started {
            self.started = true;
            return Ok(Some(Event::Started(0)));
        }
        if self.ended_told {
            return Ok(Some(Event::Gone(true)));
        }
        let said = tokio::select! {
            biased;
            said = answer(self.socket, self.repl, self.name) => said?,
            _ = self.ended.wait_for(Option::is_some) => None,
        };
        let Some([how, value, error]) = said else {
            // The interpreter is gone: its process reports how it ended.
            let mut ended = self.ended.clone();
            let result = ended.wait_for(Option::is_some).await.map_err(io::Error::other)?;
            let (code, signal) = result.as_ref().map_or((None, None), |one| (one.exit_code, one.signal));
            self.ended_told = true;
            return Ok(code.map(|code| code << 8).or(signal).map(|status| self.end(status)));
        };
        self.said = Some((value, error));
        self.ended_told = true;
        Ok(Some(self.end(i32::from(how == "raised") << 8)))
    }

    async fn kill(&mut self) {
        if let Err(error) = self.process.signal(self.held, libc::SIGKILL).await {
            tracing::debug!(error = %error.chain(), "a box takes no more orders");
        }
    }

    async fn measure(&mut self) {
        // `drive` gets the answer. The CPU limit of the process covers all its evaluations.
    }

    fn destroy(&mut self) {
        self.held.end_with(End::Broken("processes in it could not be ended"));
    }
}

impl Evaluation<'_> {
    fn end(&self, status: i32) -> Event {
        Event::Ended(Ended {
            status,
            run_us: u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX),
            ..Ended::default()
        })
    }
}

/// How the evaluation with this name ended, its value and its error; `None` when the interpreter is gone. May be
/// dropped and called again without loss.
async fn answer(socket: &Packets, repl: &Repl, evaluation: &str) -> io::Result<Option<[String; 3]>> {
    loop {
        let said = match socket.receive(REPLY_BYTES).await {
            Ok(Some((said, _))) => said,
            Ok(None) => return Ok(None),
            // It is too long, or has too many descriptors: the program has sent it. It is gone from the socket.
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                tracing::debug!(%error, "an interpreter's socket says what is no answer");
                continue;
            }
            Err(error) => return Err(error),
        };
        let text = String::from_utf8_lossy(&said);
        if let [name, pid, how, value, error] = *text.split('\0').collect::<Vec<_>>()
            && name == evaluation
            && pid == repl.pid.get_or_init(|| pid.to_owned())
        {
            return Ok(Some([how, value, error].map(str::to_owned)));
        }
        tracing::debug!("an interpreter's socket says what is no answer");
    }
}

/// The limits of an evaluation that the box allows.
fn check(code: &str, asked: Limits, held: &SandboxBox) -> Result<RunLimits, SandboxError> {
    if code.len() > MAX_CODE_BYTES {
        return Err(SandboxError::TooLarge(format!(
            "code of {} bytes; at most {MAX_CODE_BYTES}",
            code.len()
        )));
    }
    if asked.cpu_ms.is_some() {
        return Err(SandboxError::Unsupported("a limit of CPU time of one evaluation"));
    }
    plan::limits_of_evaluation(asked, held.request.limits)
}

/// Ends the interpreter when nothing watches its evaluation any more: its caller has left, or its course is unknown. The
/// code would have no limits from then on.
struct EndUnwatched<'a> {
    held: &'a Arc<SandboxBox>,
    process: &'a Arc<Process>,
    watched: bool,
}

impl Drop for EndUnwatched<'_> {
    fn drop(&mut self) {
        if self.watched {
            return;
        }
        let (held, process) = (Arc::clone(self.held), Arc::clone(self.process));
        tokio::spawn(async move {
            if let Err(error) = process.signal(&held, libc::SIGKILL).await {
                tracing::debug!(error = %error.chain(), "a box takes no more orders");
            }
        });
    }
}

fn still_there(process: &Process) -> Result<(), SandboxError> {
    if process.result().is_none() {
        return Ok(());
    }
    let text = format!("interpreter {}: it has ended", process.id());
    Err(SandboxError::NotFound(text))
}

/// Runs code in a process that was started with `repl`.
pub(crate) async fn evaluate(
    held: &Arc<SandboxBox>,
    process: &Arc<Process>,
    code: &str,
    limits: Option<Limits>,
) -> Result<EvaluateReply, SandboxError> {
    let repl = process.repl()?;
    let limits = check(code, limits.unwrap_or_default(), held)?;
    let setup = |source| SandboxError::Setup {
        step: "streams of an evaluation".to_owned(),
        source,
    };
    let socket = repl.socket.lock().await;
    still_there(process)?;
    let before = held.count();
    let flood = Flood::new(limits.output_kill_bytes);
    let (over, ended) = watch::channel(false);
    let part = |pipe: &OwnedFd| {
        discard(pipe)?;
        record_part(pipe.try_clone()?, limits.output_bytes, &flood, ended.clone())
    };
    let mut sent = Vec::new();
    let (stdout, stderr) = if let Some([output, errors]) = &repl.own {
        (part(output).map_err(setup)?, part(errors).map_err(setup)?)
    } else {
        let ([_, stdout, stderr], [_, output, errors]) = pipes().map_err(setup)?;
        sent.extend([output, errors]);
        // The guest owns the streams, so that it may open its own /dev/stdout. User 0 means the rootless tier: the
        // daemon's user owns the streams already and may be unable to give them away.
        for fd in sent.iter().filter(|_| held.user() != 0) {
            fchown(fd, Some(held.user()), Some(held.user())).map_err(setup)?;
        }
        let whole = |pipe| record(pipe, limits.output_bytes, &flood, ended.clone()).map_err(setup);
        (whole(stdout)?, whole(stderr)?)
    };
    let began = Instant::now();
    // When the interpreter is gone, its end says so.
    let ends: Vec<_> = sent.iter().map(AsRawFd::as_raw_fd).collect();
    let name = random_name().map_err(setup)?;
    let mut end = EndUnwatched {
        held,
        process,
        watched: false,
    };
    let _gone = socket.send(format!("{name}\0{code}").as_bytes(), &ends).await.is_err();
    drop(sent);
    let mut evaluation = Evaluation {
        held,
        process,
        repl,
        socket: &socket,
        name: &name,
        ended: process.watch_result(),
        said: None,
        began,
        started: false,
        ended_told: false,
    };
    // Only its limits end it early.
    let (_never, cancel) = watch::channel(false);
    let watched = Watched {
        group: &held.group,
        before,
        limits: &limits,
        flood: &flood,
    };
    let course = follow(&mut evaluation, watched, cancel).await;
    end.watched = course.is_ok();
    let said = evaluation.said.take();
    over.send_replace(true);
    let (stdout, stderr) = (stdout.result().await?, stderr.result().await?);
    let course = course?;
    let timings = course.timings(began, Duration::ZERO);
    let mut result = judge(course, &limits, stdout, stderr, timings)?;
    result.isolation = held.isolation.into();
    result.runtime = process.runtime().to_owned();
    let alive = said.is_some() && process.result().is_none();
    let (value, error) = said.unwrap_or_default();
    Ok(EvaluateReply {
        result: Some(result),
        value,
        error,
        alive,
    })
}
