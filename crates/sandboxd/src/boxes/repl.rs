//! An interpreter that keeps its state between evaluations: a process of the box with a socket of its own to the daemon.
//!
//! Each evaluation of Python brings the streams that its output goes to, so that what it printed is known exactly. Node
//! cannot change its streams: what is written between two evaluations is thrown away when the next begins, and whoever
//! writes more than a pipe holds waits until then. An evaluation that must be ended ends the interpreter.
//!
//! An answer carries the evaluation's name, which is new and not to be guessed, and the interpreter's pid. Whatever else comes
//! through the socket is ignored: a fork of the interpreter or a program that writes there cannot put its words into
//! another evaluation's answer. What an evaluation says of itself is said by the program: it can lie about itself only.

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
use crate::plan;
use crate::runs::{Exec, Flood, follow, judge, record, record_part};
use crate::sandbox::{Packets, pipes};

/// Of one evaluation: it travels as one message.
const MAX_CODE_BYTES: usize = 128 << 10;
const REPLY_BYTES: usize = 256 << 10;
/// What a pipe of the usual size holds.
const PIPE_BYTES: usize = 64 << 10;

/// The command of an interpreter by its name.
pub(crate) fn command(name: &str) -> Result<Vec<String>, SandboxError> {
    // Run by the interpreter; its own program is what it is sent.
    let command = match name {
        "python" => ["python3", "-c", python::REPL],
        "node" => ["node", "-e", node::REPL],
        other => return Err(SandboxError::Invalid(format!("repl {other:?} is not known"))),
    };
    Ok(command.map(str::to_owned).into())
}

/// The daemon's end of one.
#[derive(Debug)]
pub(super) struct Repl {
    /// Held while an evaluation goes on: they are done one at a time, in order.
    socket: Mutex<Packets>,
    /// Of the process that answers, since its first answer.
    pid: OnceLock<String>,
    /// Standard output and error of an interpreter that cannot change them.
    own: Option<[OwnedFd; 2]>,
}

impl Repl {
    /// Returns it with the interpreter's end. `streams`: our ends of its standard output and error.
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

    /// Whether nobody else reads its standard output and error.
    pub(super) fn listens(&self) -> bool {
        self.own.is_some()
    }
}

/// Throws away what is in a pipe, which is not more than it holds at a time.
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
            // It does not say any more: its process tells how it ended.
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
        // Answered to whoever follows the process: its own limit of CPU time is that of all its evaluations.
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

/// How the evaluation of this name ended, its value and its error; `None` when nobody is left who could say so. May be dropped
/// and called again without loss.
async fn answer(socket: &Packets, repl: &Repl, evaluation: &str) -> io::Result<Option<[String; 3]>> {
    loop {
        let Some((said, _)) = socket.receive(REPLY_BYTES).await? else {
            return Ok(None);
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

/// Runs code in a process that was started with `repl`.
pub(crate) async fn evaluate(
    held: &Arc<SandboxBox>,
    process: &Process,
    code: &str,
    limits: Option<Limits>,
) -> Result<EvaluateReply, SandboxError> {
    let repl = process.repl()?;
    if code.len() > MAX_CODE_BYTES {
        return Err(SandboxError::TooLarge(format!(
            "code of {} bytes; at most {MAX_CODE_BYTES}",
            code.len()
        )));
    }
    let asked = limits.unwrap_or_default();
    if asked.cpu_ms.is_some() {
        return Err(SandboxError::Unsupported("a limit of CPU time of one evaluation"));
    }
    let limits = plan::limits_of_evaluation(asked, held.request.limits)?;
    let setup = |source| SandboxError::Setup {
        step: "streams of an evaluation".to_owned(),
        source,
    };
    let socket = repl.socket.lock().await;
    if process.result().is_some() {
        return Err(SandboxError::NotFound(format!(
            "interpreter {}: it has ended",
            process.id()
        )));
    }
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
        // Its own, so that it may open its own /dev/stdout. User 0 is the rootless tier's: the daemon's own user, whose they are already, and
        // who may not be able to give anything away.
        for fd in sent.iter().filter(|_| held.user() != 0) {
            fchown(fd, Some(held.user()), Some(held.user())).map_err(setup)?;
        }
        let whole = |pipe| record(pipe, limits.output_bytes, &flood, ended.clone()).map_err(setup);
        (whole(stdout)?, whole(stderr)?)
    };
    let began = Instant::now();
    // When it is gone, its end says so.
    let ends: Vec<_> = sent.iter().map(AsRawFd::as_raw_fd).collect();
    let name = random_name().map_err(setup)?;
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
    // Nobody but its limits ends it before its time.
    let (_never, cancel) = watch::channel(false);
    let course = follow(&mut evaluation, &held.group, before, &limits, &flood, cancel).await;
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
