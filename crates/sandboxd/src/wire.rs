//! Messages between the daemon, the spawner and the init of a sandbox, and their framing on the control socket.
//!
//! A frame is a length (u32, little endian) and that many bytes of one protobuf message. Both ends are ours and the
//! guest never holds the socket, so a frame that cannot be read is an error of the daemon, never of the program.

use std::io::{self, Read, Write};

use prost::Message;

/// Largest frame, in bytes: the largest request and its envelope.
const MAX_FRAME_BYTES: usize = (160 << 20) + (1 << 20);

/// The first message to a new spawner.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct SpawnerConfig {
    /// Without root: everything happens inside a user namespace of the spawner's own.
    #[prost(bool, tag = "1")]
    pub(crate) rootless: bool,
    /// Directories of the machine that sandboxes may read besides the system's own.
    #[prost(string, repeated, tag = "2")]
    pub(crate) readable: Vec<String>,
    /// This daemon's cgroup directories, for the spawner to remove when the daemon was killed.
    #[prost(string, repeated, tag = "3")]
    pub(crate) cgroups: Vec<String>,
}

/// The spawner's answer to its configuration.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct SpawnerReady {
    /// Empty when all is well.
    #[prost(string, tag = "1")]
    pub(crate) error: String,
    /// The errno behind `error`.
    #[prost(int32, tag = "2")]
    pub(crate) errno: i32,
    /// Always true, so that the message is never empty: an empty one is end of file.
    #[prost(bool, tag = "3")]
    pub(crate) answered: bool,
}

/// Daemon to spawner: start an init with the attached control socket and stdio.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Spawn {
    /// The user the program will run as.
    #[prost(uint32, tag = "1")]
    pub(crate) uid: u32,
    /// Always true, so that the message is never empty: an empty one is end of file.
    #[prost(bool, tag = "2")]
    pub(crate) wanted: bool,
}

/// Spawner to daemon, with a pidfd attached when `pid` is positive.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Spawned {
    /// Of the init, in the daemon's view; or a negative errno.
    #[prost(int32, tag = "1")]
    pub(crate) pid: i32,
}

/// Daemon to init.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ToInit {
    #[prost(oneof = "Order", tags = "1, 2, 3")]
    pub(crate) order: Option<Order>,
}

/// What init is told to do.
#[derive(Clone, PartialEq, prost::Oneof)]
pub(crate) enum Order {
    /// You are in your cgroups now: set up and park.
    #[prost(bool, tag = "1")]
    Prepare(bool),
    /// Run this.
    #[prost(message, tag = "2")]
    Run(RunSpec),
    /// End the run now.
    #[prost(bool, tag = "3")]
    Kill(bool),
}

/// One program to run, validated by the daemon.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct RunSpec {
    #[prost(string, repeated, tag = "1")]
    pub(crate) command: Vec<String>,
    /// `NAME=value`.
    #[prost(string, repeated, tag = "2")]
    pub(crate) env: Vec<String>,
    /// Absolute.
    #[prost(string, tag = "3")]
    pub(crate) cwd: String,
    #[prost(message, repeated, tag = "4")]
    pub(crate) files: Vec<FileSpec>,
    #[prost(string, repeated, tag = "5")]
    pub(crate) collect: Vec<String>,
    #[prost(uint64, tag = "6")]
    pub(crate) collect_bytes: u64,
    #[prost(uint64, tag = "7")]
    pub(crate) disk_bytes: u64,
    #[prost(uint64, tag = "8")]
    pub(crate) inodes: u64,
    #[prost(uint64, tag = "9")]
    pub(crate) open_files: u64,
    /// Per process, seconds; 0: unlimited because the cgroup counts.
    #[prost(uint64, tag = "10")]
    pub(crate) cpu_seconds: u64,
}

/// A file in or out.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct FileSpec {
    #[prost(string, tag = "1")]
    pub(crate) path: String,
    #[prost(bytes = "bytes", tag = "2")]
    pub(crate) content: bytes::Bytes,
    #[prost(uint32, tag = "3")]
    pub(crate) mode: u32,
}

/// Init to daemon.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct FromInit {
    #[prost(oneof = "Event", tags = "1, 2, 3, 4, 5, 6")]
    pub(crate) event: Option<Event>,
}

/// What init has to say.
#[derive(Clone, PartialEq, prost::Oneof)]
pub(crate) enum Event {
    /// Set up, waiting for a run.
    #[prost(bool, tag = "1")]
    Parked(bool),
    /// Set-up failed.
    #[prost(message, tag = "2")]
    Failed(Failure),
    /// The command was executed.
    #[prost(bool, tag = "3")]
    Started(bool),
    /// The command could not be executed: the program's fault.
    #[prost(message, tag = "4")]
    NotExecuted(Failure),
    /// The files did not fit.
    #[prost(message, tag = "5")]
    DiskFull(Failure),
    /// The command ended, every other process is dead, files are collected.
    #[prost(message, tag = "6")]
    Finished(Finished),
}

/// A step and the errno it met.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Failure {
    #[prost(string, tag = "1")]
    pub(crate) step: String,
    #[prost(int32, tag = "2")]
    pub(crate) errno: i32,
}

/// How a run ended, seen by init.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Finished {
    /// As wait(2) gives it.
    #[prost(int32, tag = "1")]
    pub(crate) status: i32,
    #[prost(uint64, tag = "2")]
    pub(crate) run_us: u64,
    /// No block of the writable layer was free at the end.
    #[prost(bool, tag = "3")]
    pub(crate) blocks_full: bool,
    #[prost(bool, tag = "4")]
    pub(crate) inodes_full: bool,
    #[prost(message, repeated, tag = "5")]
    pub(crate) files: Vec<FileSpec>,
    /// Matching paths that were not collected; `step` holds the reason.
    #[prost(message, repeated, tag = "6")]
    pub(crate) uncollected: Vec<Uncollected>,
    /// User and system time of the waited-for processes.
    #[prost(uint64, tag = "7")]
    pub(crate) cpu_us: u64,
    #[prost(bool, tag = "8")]
    pub(crate) collect_limit: bool,
}

/// A path that matched and is not among the files.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Uncollected {
    #[prost(string, tag = "1")]
    pub(crate) path: String,
    #[prost(string, tag = "2")]
    pub(crate) reason: String,
}

/// One message as a frame.
pub(crate) fn frame(message: &impl Message) -> Vec<u8> {
    let body = message.encoded_len();
    let mut bytes = Vec::with_capacity(4 + body);
    bytes.extend_from_slice(&u32::try_from(body).unwrap_or(u32::MAX).to_le_bytes());
    bytes.extend_from_slice(&message.encode_to_vec());
    bytes
}

/// The length a frame's first four bytes announce.
pub(crate) fn body_length(prefix: [u8; 4]) -> io::Result<usize> {
    usize::try_from(u32::from_le_bytes(prefix))
        .ok()
        .filter(|length| *length <= MAX_FRAME_BYTES)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "frame too long"))
}

/// Writes one frame, blocking.
pub(crate) fn write_message(to: &mut impl Write, message: &impl Message) -> io::Result<()> {
    to.write_all(&frame(message))
}

/// Reads one frame, blocking.
pub(crate) fn read_message<M: Message + Default>(from: &mut impl Read) -> io::Result<M> {
    let mut prefix = [0; 4];
    from.read_exact(&mut prefix)?;
    let mut body = vec![0; body_length(prefix)?];
    from.read_exact(&mut body)?;
    M::decode(bytes::Bytes::from(body)).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}
