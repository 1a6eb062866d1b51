//! File operations: a helper in the box does them with the rights of the box's user. This is the daemon's side.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use prl_sandbox_guest::sys;
use prl_sandbox_guest::wire::files::{
    Answer, FileOperation, FileOrder, FromHelper, ListSpec, MoveSpec, ReadSpec, ToHelper, TreeSpec, WriteSpec,
};
use prl_sandbox_guest::wire::{Event, Inbox, Order, frame};
use prl_sandbox_proto::{
    ArchiveReply, Chunk, Directory, FileInfo, ListDirectoryRequest, MoveRequest, PathRequest, ReadFileRequest,
    RemoveRequest, WatchEvent, WatchRequest, WriteFileRequest,
};
use prost::Message;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tonic::{Status, Streaming};

use super::sandbox_box::{Call, SandboxBox, Seat};
use crate::error::SandboxError;
use crate::sandbox::Exchange;

/// How long a helper may take for one step, and a caller for its next message.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a helper may take to die.
const KILL_PATIENCE: Duration = Duration::from_secs(5);
const READ_BYTES: usize = 64 << 10;
const DEFAULT_READ_BYTES: u64 = 64 << 20;
const DEFAULT_ENTRIES: u32 = 10_000;
const MAX_ENTRIES: u32 = 100_000;
/// The bytes of all entries of one list. A program can give each entry a path and a target of some kilobytes.
const MAX_LIST_BYTES: usize = 16 << 20;
const MAX_PATH_BYTES: usize = 4096;

/// One operation that goes on.
#[derive(Debug)]
pub(super) struct Helper {
    stream: UnixStream,
    inbox: Inbox,
    held: Arc<SandboxBox>,
    standing: Option<(Exchange, Seat)>,
}

impl Helper {
    pub(super) async fn begin(held: &Arc<SandboxBox>, operation: FileOperation) -> Result<Self, SandboxError> {
        let failed = |source| SandboxError::Setup {
            step: "a helper's socket".to_owned(),
            source,
        };
        let seat = held.seat()?;
        let (ours, theirs) = sys::socket_pair(libc::SOCK_STREAM).map_err(failed)?;
        sys::set_nonblocking(std::os::fd::AsFd::as_fd(&ours)).map_err(failed)?;
        let stream = UnixStream::from_std(ours.into()).map_err(failed)?;
        let operation = Some(operation);
        let exchange = held
            .mux
            .call(Order::Files(FileOrder { operation }), vec![theirs])
            .await?;
        Ok(Self {
            stream,
            inbox: Inbox::default(),
            held: Arc::clone(held),
            standing: Some((exchange, seat)),
        })
    }

    /// Sends a part. False when the helper takes no more: then its answer says why.
    pub(super) async fn send(&mut self, data: Bytes, end: bool) -> Result<bool, SandboxError> {
        let bytes = frame(&ToHelper { data, end });
        let sent = timeout(PATIENCE, self.stream.write_all(&bytes)).await;
        Ok(sent.map_err(|_| self.late())?.is_ok())
    }

    /// The next answer, or an error when it takes too long.
    pub(super) async fn answer(&mut self) -> Result<Answer, SandboxError> {
        let answer = timeout(PATIENCE, self.wait()).await;
        answer.unwrap_or_else(|_| Err(self.late()))
    }

    /// The next answer, without a limit of time. May be dropped and called again without loss.
    async fn wait(&mut self) -> Result<Answer, SandboxError> {
        let mut buffer = vec![0; READ_BYTES];
        loop {
            let taken = self.inbox.take::<FromHelper>();
            if let Some((message, _)) = taken.map_err(|error| SandboxError::Protocol(error.to_string()))? {
                return match message.answer {
                    Some(Answer::Refused(refusal)) if refusal.missing => Err(SandboxError::NoFile(refusal.path)),
                    Some(Answer::Refused(refusal)) => Err(SandboxError::File {
                        path: refusal.path,
                        reason: refusal.reason,
                    }),
                    Some(Answer::TooLarge(what)) => Err(SandboxError::TooLarge(what)),
                    Some(answer) => Ok(answer),
                    None => Err(SandboxError::Protocol("an empty answer of a helper".to_owned())),
                };
            }
            match self.stream.read(&mut buffer).await {
                Ok(length) if length > 0 => self.inbox.put(buffer.get(..length).unwrap_or_default(), Vec::new()),
                _ => return Err(self.lost().await),
            }
        }
    }

    fn late(&self) -> SandboxError {
        SandboxError::File {
            path: "/".to_owned(),
            reason: format!("nothing happened for {} s", PATIENCE.as_secs()),
        }
    }

    /// The reason why it ended without an answer.
    async fn lost(&mut self) -> SandboxError {
        if let Some((exchange, _)) = &mut self.standing
            && let Some((Event::Failed(failure), _)) = exchange.event().await
        {
            let reason = std::io::Error::from_raw_os_error(failure.errno);
            return SandboxError::File {
                path: "/".to_owned(),
                reason: format!("no process for it: {reason}"),
            };
        }
        match self.held.ended() {
            Some(end) => self.held.error_of(&end),
            None => SandboxError::File {
                path: "/".to_owned(),
                reason: "the process that did it was killed".to_owned(),
            },
        }
    }
}

impl Drop for Helper {
    /// A helper ends when its socket closes. When it does not, it is killed. Its seat is free when it is gone.
    fn drop(&mut self) {
        let Some((mut exchange, seat)) = self.standing.take() else {
            return;
        };
        let held = Arc::clone(&self.held);
        tokio::spawn(async move {
            let gone = async { while !matches!(exchange.event().await, Some((Event::Gone(_), _)) | None) {} };
            if timeout(KILL_PATIENCE, gone).await.is_err() {
                tracing::warn!("a helper did not end by itself");
                let killed = held.mux.send_order(exchange.id, Order::KillTree(true)).await;
                if killed.is_ok() {
                    exchange.event().await;
                }
            }
            drop(seat);
        });
    }
}

fn unexpected(answer: &Answer) -> SandboxError {
    SandboxError::Protocol(format!("{answer:?} of a helper"))
}

/// Checks that a path can be asked for at all.
fn checked(path: String) -> Result<String, SandboxError> {
    if path.len() > MAX_PATH_BYTES || path.contains('\0') {
        return Err(SandboxError::Invalid(format!(
            "a path is at most {MAX_PATH_BYTES} bytes without NUL"
        )));
    }
    Ok(path)
}

/// Runs an operation whose answer is one entry.
async fn entry(held: &Arc<SandboxBox>, operation: FileOperation) -> Result<FileInfo, SandboxError> {
    match Helper::begin(held, operation).await?.answer().await? {
        Answer::Entry(entry) => Ok(entry),
        other => Err(unexpected(&other)),
    }
}

pub(crate) async fn stat(held: &Arc<SandboxBox>, request: PathRequest) -> Result<FileInfo, SandboxError> {
    entry(held, FileOperation::Stat(checked(request.path)?)).await
}

pub(crate) async fn make_directory(held: &Arc<SandboxBox>, request: PathRequest) -> Result<FileInfo, SandboxError> {
    entry(held, FileOperation::MakeDirectory(checked(request.path)?)).await
}

pub(crate) async fn move_to(held: &Arc<SandboxBox>, request: MoveRequest) -> Result<FileInfo, SandboxError> {
    let (from, to) = (checked(request.from)?, checked(request.to)?);
    entry(held, FileOperation::Move(MoveSpec { from, to })).await
}

pub(crate) async fn remove(held: &Arc<SandboxBox>, request: RemoveRequest) -> Result<(), SandboxError> {
    let spec = TreeSpec {
        path: checked(request.path)?,
        recursive: request.recursive,
    };
    match Helper::begin(held, FileOperation::Remove(spec)).await?.answer().await? {
        Answer::Done(_) => Ok(()),
        other => Err(unexpected(&other)),
    }
}

pub(crate) async fn list(held: &Arc<SandboxBox>, request: ListDirectoryRequest) -> Result<Directory, SandboxError> {
    let max_entries = request.max_entries.unwrap_or(DEFAULT_ENTRIES);
    if max_entries > MAX_ENTRIES {
        return Err(SandboxError::Invalid(format!(
            "max_entries is {max_entries}; at most {MAX_ENTRIES}"
        )));
    }
    let spec = ListSpec {
        path: checked(request.path)?,
        depth: request.depth,
        max_entries,
    };
    let mut helper = Helper::begin(held, FileOperation::List(spec)).await?;
    let mut found = Directory::default();
    let mut left = MAX_LIST_BYTES;
    loop {
        match helper.answer().await? {
            Answer::Entry(entry) => match left.checked_sub(entry.encoded_len()) {
                Some(rest) => {
                    left = rest;
                    found.entries.push(entry);
                }
                None => {
                    found.truncated = true;
                    return Ok(found);
                }
            },
            Answer::Done(_) => return Ok(found),
            Answer::Truncated(_) => {
                found.truncated = true;
                return Ok(found);
            }
            other => return Err(unexpected(&other)),
        }
    }
}

type Sender<T> = mpsc::Sender<Result<T, Status>>;

/// Begins to read a file. A refusal at the beginning is the call's error.
pub(crate) async fn read(call: Call, request: ReadFileRequest, to: Sender<Chunk>) -> Result<(), SandboxError> {
    let spec = ReadSpec {
        path: checked(request.path)?,
        offset: request.offset,
        max_bytes: request.max_bytes.unwrap_or(DEFAULT_READ_BYTES),
    };
    send_data(call, FileOperation::Read(spec), to).await
}

/// Begins to read a directory as an archive.
pub(crate) async fn read_archive(call: Call, request: PathRequest, to: Sender<Chunk>) -> Result<(), SandboxError> {
    send_data(call, FileOperation::Pack(checked(request.path)?), to).await
}

async fn send_data(call: Call, operation: FileOperation, to: Sender<Chunk>) -> Result<(), SandboxError> {
    let mut helper = Helper::begin(&call, operation).await?;
    let mut answer = helper.answer().await?;
    tokio::spawn(async move {
        let _held = call;
        loop {
            match answer {
                Answer::Data(data) => {
                    if to.send(Ok(Chunk { data })).await.is_err() {
                        return;
                    }
                }
                Answer::Done(_) => return,
                other => {
                    let _unheard = to.send(Err(unexpected(&other).into())).await;
                    return;
                }
            }
            answer = match helper.answer().await {
                Ok(answer) => answer,
                Err(error) => {
                    let _unheard = to.send(Err(error.into())).await;
                    return;
                }
            };
        }
    });
    Ok(())
}

/// Takes the first message of a stream, which names the box.
pub(crate) async fn first(stream: &mut Streaming<WriteFileRequest>) -> Result<WriteFileRequest, Status> {
    next(stream)
        .await?
        .ok_or_else(|| SandboxError::Invalid("the stream is empty".to_owned()).into())
}

async fn next(stream: &mut Streaming<WriteFileRequest>) -> Result<Option<WriteFileRequest>, Status> {
    let late = |_| SandboxError::Invalid(format!("no message for {} s", PATIENCE.as_secs()));
    timeout(PATIENCE, stream.message()).await.map_err(late)?
}

pub(crate) async fn write(
    held: &Arc<SandboxBox>,
    mut first: WriteFileRequest,
    stream: Streaming<WriteFileRequest>,
) -> Result<FileInfo, Status> {
    let spec = WriteSpec {
        path: checked(std::mem::take(&mut first.path))?,
        mode: first.mode,
    };
    match receive_data(held, FileOperation::Write(spec), first, stream).await? {
        Answer::Entry(entry) => Ok(entry),
        other => Err(unexpected(&other).into()),
    }
}

pub(crate) async fn write_archive(
    held: &Arc<SandboxBox>,
    mut first: WriteFileRequest,
    stream: Streaming<WriteFileRequest>,
) -> Result<ArchiveReply, Status> {
    let path = checked(std::mem::take(&mut first.path))?;
    match receive_data(held, FileOperation::Unpack(path), first, stream).await? {
        Answer::Unpacked(reply) => Ok(reply),
        other => Err(unexpected(&other).into()),
    }
}

async fn receive_data(
    held: &Arc<SandboxBox>,
    operation: FileOperation,
    first: WriteFileRequest,
    mut stream: Streaming<WriteFileRequest>,
) -> Result<Answer, Status> {
    let mut helper = Helper::begin(held, operation).await?;
    let mut message = first;
    loop {
        let end = message.end;
        if !helper.send(message.data, end).await? || end {
            return Ok(helper.answer().await?);
        }
        let more = next(&mut stream).await?;
        message =
            more.ok_or_else(|| SandboxError::Invalid("the stream ended without `end`: nothing is kept".to_owned()))?;
    }
}

/// Begins to watch a path; returns when changes are being reported.
pub(crate) async fn watch(call: Call, request: WatchRequest, to: Sender<WatchEvent>) -> Result<(), SandboxError> {
    let spec = TreeSpec {
        path: checked(request.path)?,
        recursive: request.recursive,
    };
    let mut helper = Helper::begin(&call, FileOperation::Watch(spec)).await?;
    let mut answer = helper.answer().await?;
    tokio::spawn(async move {
        let _held = call;
        loop {
            let event = match answer {
                Answer::Changed(event) => Ok(event),
                other => Err(unexpected(&other).into()),
            };
            let failed = event.is_err();
            if to.send(event).await.is_err() || failed {
                return;
            }
            let next = tokio::select! {
                next = helper.wait() => next,
                () = to.closed() => return,
            };
            answer = match next {
                Ok(answer) => answer,
                Err(error) => {
                    let _unheard = to.send(Err(error.into())).await;
                    return;
                }
            };
        }
    });
    Ok(())
}
