//! File operations in a sandbox: the order, the helper's answers on the socket that came with the order, and the data
//! that the daemon sends there. The framing is the same as everywhere.

use prost::Message;

use super::Envelope;

/// One operation. Paths are absolute or relative to the work directory.
#[derive(Clone, PartialEq, Message)]
pub struct FileOrder {
    #[prost(oneof = "FileOperation", tags = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12")]
    pub operation: Option<FileOperation>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub enum FileOperation {
    /// Answered by `Data` ... `Done`.
    #[prost(message, tag = "1")]
    Read(ReadSpec),
    /// Takes `Data` ... `End`. Answered by `Entry`.
    #[prost(message, tag = "2")]
    Write(WriteSpec),
    /// Answered by `Entry`.
    #[prost(string, tag = "3")]
    Stat(String),
    /// Answered by `Entry` ... `Done`, or `Truncated`.
    #[prost(message, tag = "4")]
    List(ListSpec),
    /// Answered by `Entry`.
    #[prost(string, tag = "5")]
    MakeDirectory(String),
    /// Answered by `Entry`.
    #[prost(message, tag = "6")]
    Move(MoveSpec),
    /// Answered by `Done`.
    #[prost(message, tag = "7")]
    Remove(TreeSpec),
    /// Answered by `Changed` ... until the socket is closed.
    #[prost(message, tag = "8")]
    Watch(TreeSpec),
    /// Answered by `Data` ... `Done`.
    #[prost(string, tag = "9")]
    Pack(String),
    /// Takes `Data` ... `End`. Answered by `Unpacked`.
    #[prost(string, tag = "10")]
    Unpack(String),
    /// The whole writable layer, with init's rights. Answered by `Data` ... `Done`.
    #[prost(bool, tag = "11")]
    Save(bool),
    /// Writes the saved layer back, into a sandbox where no program has run. Takes `Data` ... `End`. Answered by
    /// `Unpacked`.
    #[prost(bool, tag = "12")]
    Restore(bool),
}

#[derive(Clone, PartialEq, Message)]
pub struct ReadSpec {
    #[prost(string, tag = "1")]
    pub path: String,
    #[prost(uint64, tag = "2")]
    pub offset: u64,
    #[prost(uint64, tag = "3")]
    pub max_bytes: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct WriteSpec {
    #[prost(string, tag = "1")]
    pub path: String,
    #[prost(uint32, tag = "2")]
    pub mode: u32,
}

#[derive(Clone, PartialEq, Message)]
pub struct ListSpec {
    #[prost(string, tag = "1")]
    pub path: String,
    #[prost(uint32, tag = "2")]
    pub depth: u32,
    #[prost(uint32, tag = "3")]
    pub max_entries: u32,
}

#[derive(Clone, PartialEq, Message)]
pub struct MoveSpec {
    #[prost(string, tag = "1")]
    pub from: String,
    #[prost(string, tag = "2")]
    pub to: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct TreeSpec {
    #[prost(string, tag = "1")]
    pub path: String,
    #[prost(bool, tag = "2")]
    pub recursive: bool,
}

/// Daemon to helper.
#[derive(Clone, PartialEq, Message)]
pub struct ToHelper {
    #[prost(bytes = "bytes", tag = "1")]
    pub data: bytes::Bytes,
    /// No data follows.
    #[prost(bool, tag = "2")]
    pub end: bool,
}

/// Helper to daemon.
#[derive(Clone, PartialEq, Message)]
pub struct FromHelper {
    #[prost(oneof = "Answer", tags = "1, 2, 3, 4, 5, 6, 7, 8")]
    pub answer: Option<Answer>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub enum Answer {
    #[prost(bool, tag = "1")]
    Done(bool),
    #[prost(bytes = "bytes", tag = "2")]
    Data(bytes::Bytes),
    #[prost(message, tag = "3")]
    Entry(prl_sandbox_proto::FileInfo),
    /// There are more entries.
    #[prost(bool, tag = "4")]
    Truncated(bool),
    #[prost(message, tag = "5")]
    Changed(prl_sandbox_proto::WatchEvent),
    #[prost(message, tag = "6")]
    Unpacked(prl_sandbox_proto::ArchiveReply),
    #[prost(message, tag = "7")]
    Refused(Refusal),
    /// The file has more bytes than the request accepts.
    #[prost(string, tag = "8")]
    TooLarge(String),
}

/// Why an operation was not done.
#[derive(Clone, PartialEq, Message)]
pub struct Refusal {
    #[prost(string, tag = "1")]
    pub path: String,
    #[prost(string, tag = "2")]
    pub reason: String,
    /// No file has this path.
    #[prost(bool, tag = "3")]
    pub missing: bool,
}

impl Envelope for ToHelper {
    fn descriptors(&self) -> u32 {
        0
    }
}

impl Envelope for FromHelper {
    fn descriptors(&self) -> u32 {
        0
    }
}
