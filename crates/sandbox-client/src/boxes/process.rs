//! Processes that outlive the call that started them.

use std::sync::Arc;
use std::time::Duration;

use prl_sandbox_proto::process_event::Event;
use prl_sandbox_proto::{
    AttachRequest, BoxRequest, EvaluateReply, EvaluateRequest, InputRequest, Limits, Process as ProcessInfo, Pty,
    ResizeRequest, SignalRequest, StartRequest,
};
use tokio::time::{sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tonic::Streaming;

use super::sandbox_box::SandboxBox;
use crate::ClientError;
use crate::call::{MAX_ATTEMPTS, QUERY_DEADLINE, Repeat, TRANSFER_DEADLINE};
use crate::connection::Connection;
use crate::outcome::{Infra, RunOutcome};
use crate::run::{CANCEL_DEADLINE, deadline};

/// Longest silence of an attached stream: the daemon sends a sign of life when it has nothing else to send.
const SILENCE: Duration = Duration::from_secs(60);
/// Pause before a broken stream is attached again.
const REATTACH_PAUSE: Duration = Duration::from_millis(50);
/// The signal that ends an interpreter whose evaluation is cancelled.
const SIGKILL: u32 = 9;

/// A process in a held sandbox, whether it runs or has ended.
#[derive(Debug, Clone)]
pub struct Process {
    in_box: SandboxBox,
    info: ProcessInfo,
}

/// An event of a process whose output is read.
#[derive(Debug)]
pub enum ProcessEvent {
    /// Output, and the position of its first byte: greater than expected when bytes were dropped.
    Stdout {
        /// Position in bytes from the start of the stream.
        offset: u64,
        /// Never empty.
        data: bytes::Bytes,
    },
    /// The same for stderr; never with a pty.
    Stderr {
        /// Position in bytes from the start of the stream.
        offset: u64,
        /// Never empty.
        data: bytes::Bytes,
    },
    /// The process has ended; this is the last event. INFRA means that it cannot be known whether and how it ended.
    Ended(Box<RunOutcome>),
}

/// The outcome of code that ran in an interpreter.
#[derive(Debug)]
pub struct Evaluation {
    /// EXITED with code 0 when the code ended, with 1 when it raised an exception.
    pub outcome: RunOutcome,
    /// The repr of the last expression; empty without one.
    pub value: String,
    /// The last line of the exception.
    pub error: String,
    /// Whether the interpreter takes more code.
    pub alive: bool,
}

impl SandboxBox {
    /// Starts a process. The caller chooses its id, `request.process`; a second start with the same id gives the same process.
    ///
    /// # Errors
    /// As of [`SandboxBox::stat`]; [`ClientError::Request`].
    pub async fn start(&self, mut request: StartRequest) -> Result<Process, ClientError> {
        if request.process.is_empty() {
            return Err(ClientError::Request("the process has no id".to_owned()));
        }
        self.id().clone_into(&mut request.exec.get_or_insert_default().r#box);
        let asked = self.held.ask(Repeat::Safe, TRANSFER_DEADLINE, |mut boxes| {
            let request = request.clone();
            async move { boxes.start(request).await }
        });
        Ok(Process {
            in_box: self.clone(),
            info: asked.await?,
        })
    }

    /// Every process that was started in it and is still known.
    ///
    /// # Errors
    /// As of [`SandboxBox::stat`].
    pub async fn processes(&self) -> Result<Vec<Process>, ClientError> {
        let asked = self.held.ask(Repeat::Safe, QUERY_DEADLINE, |mut boxes| {
            let request = BoxRequest {
                r#box: self.id().to_owned(),
            };
            async move { boxes.list_processes(request).await }
        });
        let of = |info| Process {
            in_box: self.clone(),
            info,
        };
        Ok(asked.await?.processes.into_iter().map(of).collect())
    }

    /// A process by its id. The first call shows whether it exists.
    pub fn process(&self, id: &str) -> Process {
        Process {
            in_box: self.clone(),
            info: ProcessInfo {
                r#box: self.id().to_owned(),
                process: id.to_owned(),
                ..ProcessInfo::default()
            },
        }
    }
}

impl Process {
    /// The id that the caller chose when it was started.
    pub fn id(&self) -> &str {
        &self.info.process
    }

    /// The description from when the process was started or found.
    pub fn info(&self) -> &ProcessInfo {
        &self.info
    }

    /// Its output from these positions on, then its end. After a lost connection the output continues without a gap.
    pub fn output(&self, stdout_from: u64, stderr_from: u64) -> ProcessOutput {
        ProcessOutput {
            process: self.clone(),
            stdout: stdout_from,
            stderr: stderr_from,
            stream: None,
            is_over: false,
        }
    }

    /// Appends to its input at `offset` and returns how many bytes were accepted so far. `end` closes the input after that.
    ///
    /// # Errors
    /// As of [`SandboxBox::stat`].
    pub async fn input(&self, offset: u64, data: bytes::Bytes, end: bool) -> Result<u64, ClientError> {
        let request = InputRequest {
            r#box: self.in_box.id().to_owned(),
            process: self.id().to_owned(),
            offset,
            data,
            end,
        };
        let asked = self.in_box.held.ask(Repeat::Safe, TRANSFER_DEADLINE, |mut boxes| {
            let request = request.clone();
            async move { boxes.input(request).await }
        });
        Ok(asked.await?.accepted)
    }

    /// Sends a signal to it and everything that it started.
    ///
    /// # Errors
    /// As of [`SandboxBox::stat`].
    pub async fn signal(&self, signal: u32) -> Result<(), ClientError> {
        let request = SignalRequest {
            r#box: self.in_box.id().to_owned(),
            process: self.id().to_owned(),
            signal,
        };
        let asked = self.in_box.held.ask(Repeat::Once, QUERY_DEADLINE, |mut boxes| {
            let request = request.clone();
            async move { boxes.signal_process(request).await }
        });
        asked.await.map(drop)
    }

    /// Changes the size of its terminal.
    ///
    /// # Errors
    /// As of [`SandboxBox::stat`].
    pub async fn resize(&self, rows: u32, columns: u32) -> Result<(), ClientError> {
        let request = ResizeRequest {
            r#box: self.in_box.id().to_owned(),
            process: self.id().to_owned(),
            pty: Some(Pty { rows, columns }),
        };
        let asked = self.in_box.held.ask(Repeat::Safe, QUERY_DEADLINE, |mut boxes| {
            let request = request.clone();
            async move { boxes.resize_pty(request).await }
        });
        asked.await.map(drop)
    }

    /// Runs code in an interpreter that was started with `repl`. `cancel` ends the interpreter.
    ///
    /// The code is never sent twice: a lost reply is INFRA, and the interpreter's state is then not known.
    ///
    /// # Errors
    /// Only mistakes of the caller, as of [`SandboxBox::exec`].
    pub async fn evaluate(
        &self,
        code: &str,
        limits: Limits,
        cancel: &CancellationToken,
    ) -> Result<Evaluation, ClientError> {
        let held = &self.in_box.held;
        let _running = held.shared.enter()?;
        if let Some(outcome) = held.ending()? {
            return Ok(Evaluation::without_reply(outcome));
        }
        let until = deadline(0, Some(limits.wall_ms.unwrap_or(held.wall_ms)));
        let request = EvaluateRequest {
            r#box: self.in_box.id().to_owned(),
            process: self.id().to_owned(),
            code: code.to_owned(),
            limits: Some(limits),
        };
        let limit = until.saturating_duration_since(tokio::time::Instant::now());
        let mut asked = std::pin::pin!(held.ask(Repeat::Once, limit + CANCEL_DEADLINE, |mut boxes| {
            let request = request.clone();
            async move { boxes.evaluate(request).await }
        }));
        let called_off = tokio::select! {
            reply = &mut asked => return Evaluation::from_reply(reply),
            () = cancel.cancelled() => true,
            () = self.in_box.closing().cancelled() => true,
            () = sleep_until(until) => false,
        };
        let end = async {
            // An interpreter that has ended by itself needs no signal.
            let _ = self.signal(SIGKILL).await;
            asked.await
        };
        match timeout(CANCEL_DEADLINE, end).await {
            Ok(reply) if called_off => Evaluation::from_reply(reply),
            _ => Ok(Evaluation::without_reply(RunOutcome::infra(
                Infra::Deadline,
                "no result within the evaluation's own limits and the grace on top",
            ))),
        }
    }
}

impl Evaluation {
    fn from_reply(reply: Result<EvaluateReply, ClientError>) -> Result<Self, ClientError> {
        match reply {
            Ok(reply) => Ok(Self {
                outcome: RunOutcome::finished(reply.result.unwrap_or_default()),
                value: reply.value,
                error: reply.error,
                alive: reply.alive,
            }),
            Err(error) => Ok(Self::without_reply(RunOutcome::of_infrastructure(error)?)),
        }
    }

    fn without_reply(outcome: RunOutcome) -> Self {
        Self {
            outcome,
            value: String::new(),
            error: String::new(),
            alive: false,
        }
    }
}

/// The output of a process, until its end.
#[derive(Debug)]
pub struct ProcessOutput {
    process: Process,
    stdout: u64,
    stderr: u64,
    stream: Option<(Arc<Connection>, Streaming<prl_sandbox_proto::ProcessEvent>)>,
    is_over: bool,
}

impl ProcessOutput {
    /// The next event; `None` after [`ProcessEvent::Ended`] or an error.
    ///
    /// # Errors
    /// Mistakes of the caller: no such process, a closed box.
    pub async fn next(&mut self) -> Result<Option<ProcessEvent>, ClientError> {
        if self.is_over {
            return Ok(None);
        }
        let event = match self.attached_event().await {
            Ok(event) => event,
            Err(error) => {
                self.is_over = true;
                ProcessEvent::Ended(Box::new(RunOutcome::of_infrastructure(error)?))
            }
        };
        self.is_over |= matches!(event, ProcessEvent::Ended(_));
        Ok(Some(event))
    }

    async fn attached_event(&mut self) -> Result<ProcessEvent, ClientError> {
        let mut lost = String::new();
        for attempt in 0..MAX_ATTEMPTS {
            if attempt > 0 {
                sleep(REATTACH_PAUSE).await;
            }
            let held = &self.process.in_box.held;
            let (connection, stream) = match &mut self.stream {
                Some(attached) => attached,
                None => {
                    let connection = held.connection().await?;
                    let request = AttachRequest {
                        r#box: held.id().to_owned(),
                        process: self.process.id().to_owned(),
                        stdout_from: self.stdout,
                        stderr_from: self.stderr,
                    };
                    match timeout(QUERY_DEADLINE, connection.boxes().attach(request)).await {
                        Ok(Ok(reply)) => self.stream.insert((connection, reply.into_inner())),
                        Ok(Err(status)) => {
                            if let Some(error) = held.broken(&connection, &status) {
                                return Err(error);
                            }
                            lost = status.message().to_owned();
                            continue;
                        }
                        Err(_) => {
                            "no answer in time".clone_into(&mut lost);
                            continue;
                        }
                    }
                }
            };
            lost.clear();
            while lost.is_empty() {
                match timeout(SILENCE, stream.message()).await {
                    Ok(Ok(Some(message))) => match message.event {
                        Some(Event::Stdout(chunk)) if !chunk.data.is_empty() => {
                            let (offset, data) = (chunk.offset, chunk.data);
                            self.stdout = offset + data.len() as u64;
                            return Ok(ProcessEvent::Stdout { offset, data });
                        }
                        Some(Event::Stderr(chunk)) if !chunk.data.is_empty() => {
                            let (offset, data) = (chunk.offset, chunk.data);
                            self.stderr = offset + data.len() as u64;
                            return Ok(ProcessEvent::Stderr { offset, data });
                        }
                        Some(Event::Ended(result)) => {
                            return Ok(ProcessEvent::Ended(Box::new(RunOutcome::finished(result))));
                        }
                        Some(Event::Alive(_) | Event::Stdout(_) | Event::Stderr(_)) | None => {}
                    },
                    Ok(Ok(None)) => "the stream ended without the process's end".clone_into(&mut lost),
                    Ok(Err(status)) => {
                        if let Some(error) = held.broken(connection, &status) {
                            return Err(error);
                        }
                        lost = status.message().to_owned();
                    }
                    Err(_) => {
                        connection.mark_lost();
                        lost = format!("silence for {} s", SILENCE.as_secs());
                    }
                }
            }
            self.stream = None;
        }
        Err(RunOutcome::infra(Infra::ConnectionLost, lost).into())
    }
}
