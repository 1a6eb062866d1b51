//! Messages between the daemon, the spawner and the init of a sandbox. Their framing is in `frames`.

pub mod files;
mod frames;

use prost::Message;

pub use frames::{Envelope, Inbox, frame};

/// The first message to a new spawner.
#[derive(Clone, PartialEq, Message)]
pub struct SpawnerConfig {
    /// Without root: everything happens inside a user namespace of the spawner.
    #[prost(bool, tag = "1")]
    pub rootless: bool,
    /// Directories of the machine that sandboxes may read besides those of the system.
    #[prost(string, repeated, tag = "2")]
    pub readable: Vec<String>,
    /// This daemon's cgroup directories, which the spawner removes when the daemon was killed.
    #[prost(string, repeated, tag = "3")]
    pub cgroups: Vec<String>,
    /// Roots of images.
    #[prost(string, repeated, tag = "4")]
    pub images: Vec<String>,
    /// Without namespaces: the directory for homes of boxes. Empty: with namespaces.
    #[prost(string, tag = "5")]
    pub homes: String,
    /// Its code stays in small pages.
    #[prost(bool, tag = "6")]
    pub small_pages: bool,
}

/// The spawner's answer to its configuration.
#[derive(Clone, PartialEq, Message)]
pub struct SpawnerReady {
    /// Empty when all is well.
    #[prost(string, tag = "1")]
    pub error: String,
    /// The errno behind `error`.
    #[prost(int32, tag = "2")]
    pub errno: i32,
    /// Always true, so that the message is never empty: an empty one is end of file.
    #[prost(bool, tag = "3")]
    pub answered: bool,
}

/// Daemon to spawner: start an init with the attached control socket, or an interpreter.
#[derive(Clone, PartialEq, Message)]
pub struct Spawn {
    /// The user the program will run as.
    #[prost(uint32, tag = "1")]
    pub uid: u32,
    /// Always true, so that the message is never empty: an empty one is end of file.
    #[prost(bool, tag = "2")]
    pub wanted: bool,
    /// Number of the image, counted from 1; 0: the machine's system directories.
    #[prost(uint32, tag = "3")]
    pub image: u32,
    /// Execute this program outside every sandbox instead. Its standard streams and descriptor 3 are attached.
    #[prost(message, optional, tag = "30")]
    pub interpreter: Option<Program>,
    /// The number of this box alone.
    #[prost(uint64, tag = "4")]
    pub number: u64,
}

/// Spawner to daemon, with a pidfd attached when `pid` is positive.
#[derive(Clone, PartialEq, Message)]
pub struct Spawned {
    /// The pid of the new process, in the daemon's view, or a negative errno.
    #[prost(int32, tag = "1")]
    pub pid: i32,
}

/// Daemon to init: one order with an id that its events carry back.
#[derive(Clone, PartialEq, Message)]
pub struct ToInit {
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// How many descriptors came with it.
    #[prost(uint32, tag = "2")]
    pub descriptors: u32,
    #[prost(oneof = "Order", tags = "3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 30, 31")]
    pub order: Option<Order>,
}

/// An order to init.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum Order {
    /// Enter your cgroups by the attached files, set up and park. The number says how many of the files belong to
    /// groups that contain programs too (see `cgroup::Ways`). Answered by `Parked` or `Failed`.
    #[prost(uint32, tag = "3")]
    Prepare(u32),
    /// Set the sizes and write the files. Answered by `Furnished`, `NotFurnished` or `Failed`.
    #[prost(message, tag = "4")]
    Furnish(Furnish),
    /// Run this program. The three attached descriptors are its standard streams, a fourth becomes its 3; or it gets a
    /// new terminal. Answered by `NotFurnished`, `Failed`, `NotExecuted`, or `Started` and later `Ended`, and then
    /// `Gone` or `Finished`.
    #[prost(message, tag = "5")]
    Start(Start),
    /// Send a signal to the main process of the exec with this envelope's id.
    #[prost(int32, tag = "6")]
    Signal(i32),
    /// End every process of the exec with this envelope's id. `Gone` says when none is left.
    #[prost(bool, tag = "7")]
    KillTree(bool),
    /// End every process.
    #[prost(bool, tag = "8")]
    KillAll(bool),
    /// End every process and collect files. Answered by `Finished`.
    #[prost(message, tag = "9")]
    Finish(Finish),
    /// Measure the CPU time of the exec with this envelope's id. Answered by `Measured`.
    #[prost(bool, tag = "10")]
    Measure(bool),
    /// Open a TCP socket on the sandbox's loopback. Answered by `Socket` with a descriptor, or `Failed`.
    #[prost(message, tag = "11")]
    Open(OpenSocket),
    /// Run this operation in a helper that uses the attached socket. `Gone` says that the helper has ended.
    #[prost(message, tag = "12")]
    Files(files::FileOrder),
    /// Prepare for a zygote with this envelope's id. Answered by `Nest`, unless a nursery forks it, and by `Hatched` or
    /// `Failed` when the zygote has reported.
    #[prost(message, tag = "30")]
    Hatch(Hatch),
    /// Execute this interpreter in advance, with the attached descriptors as its standard streams. It is the zygote
    /// with this envelope's id and becomes the sandbox's only program. Answered by `Hatched`, `NotExecuted` or
    /// `Failed`.
    #[prost(message, tag = "31")]
    Advance(Program),
}

/// Where a zygote comes from.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct Hatch {
    /// The zygote of this earlier `Hatch` forks it, and from then on does nothing else. The forked one becomes a
    /// program that is alone in the sandbox, and at its end all processes except zygotes end. 0: a template forks it.
    #[prost(uint64, tag = "1")]
    pub nursery: u64,
    /// The layer of its program, made in advance.
    #[prost(message, optional, tag = "2")]
    pub layer: Option<Sizes>,
    /// It becomes the only program of the sandbox.
    #[prost(bool, tag = "3")]
    pub sole: bool,
    /// Layers of these sizes are made in advance: one for a program, and one for the zygote that is forked meanwhile.
    #[prost(message, optional, tag = "4")]
    pub ahead: Option<Sizes>,
}

/// The working directory and files that a program needs before it starts.
#[derive(Clone, PartialEq, Message)]
pub struct Furnish {
    #[prost(uint64, tag = "1")]
    pub disk_bytes: u64,
    #[prost(uint64, tag = "2")]
    pub inodes: u64,
    /// Absolute; made when missing. The files are below it.
    #[prost(string, tag = "3")]
    pub cwd: String,
    #[prost(message, repeated, tag = "4")]
    pub files: Vec<FileSpec>,
}

/// One exec.
#[derive(Clone, PartialEq, Message)]
pub struct Start {
    #[prost(message, required, tag = "1")]
    pub program: Program,
    /// Done first.
    #[prost(message, optional, tag = "2")]
    pub furnish: Option<Furnish>,
    /// Done when the main process has ended: this exec is the sandbox's only one.
    #[prost(message, optional, tag = "3")]
    pub finish: Option<Finish>,
    /// Instead of three descriptors: a terminal, whose other end comes with an event.
    #[prost(message, optional, tag = "4")]
    pub terminal: Option<Terminal>,
    /// The exec ends with everything that it started, even when others run beside it; then `Finished` comes before
    /// `Gone`.
    #[prost(message, optional, boxed, tag = "31")]
    pub enclosed: Option<Box<Enclosed>>,
    /// The zygote of this `Hatch` becomes the program, or leads it when there is no `finish`. 0: the program is
    /// executed.
    #[prost(uint64, tag = "30")]
    pub zygote: u64,
}

/// A program to execute, checked by the daemon.
#[derive(Clone, PartialEq, Message)]
pub struct Program {
    #[prost(string, repeated, tag = "1")]
    pub command: Vec<String>,
    /// `NAME=value`.
    #[prost(string, repeated, tag = "2")]
    pub env: Vec<String>,
    /// Absolute.
    #[prost(string, tag = "3")]
    pub cwd: String,
    #[prost(uint64, tag = "4")]
    pub open_files: u64,
    /// Seconds for each process; 0: unlimited, because the cgroup counts.
    #[prost(uint64, tag = "5")]
    pub cpu_seconds: u64,
    /// Run as the second user, who does not own the work directory.
    #[prost(bool, tag = "6")]
    pub nobody: bool,
    /// Limits that the kernel keeps per process or user, where nothing counts for the whole tree.
    #[prost(message, optional, boxed, tag = "7")]
    pub alone: Option<Box<PerProcess>>,
}

/// Limits where there are no better ones; 0: none.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct PerProcess {
    /// Private memory of each process.
    #[prost(uint64, tag = "1")]
    pub memory_bytes: u64,
    /// Processes and threads of the box's user.
    #[prost(uint64, tag = "2")]
    pub processes: u64,
    /// Size of each file.
    #[prost(uint64, tag = "3")]
    pub file_bytes: u64,
}

/// The program that a future guest becomes, with three descriptors as its standard streams, or one more.
#[derive(Clone, PartialEq, Message)]
pub struct Launching {
    #[prost(message, required, tag = "1")]
    pub program: Program,
    #[prost(uint32, tag = "2")]
    pub uid: u32,
    /// The streams are a terminal of the guest.
    #[prost(bool, tag = "3")]
    pub terminal: bool,
    /// A fourth descriptor becomes its 3.
    #[prost(bool, tag = "4")]
    pub controlled: bool,
    /// It answers that it has taken this order, or it begins nothing.
    #[prost(bool, tag = "5")]
    pub answered: bool,
}

/// The files to collect when a sandbox ends.
#[derive(Clone, PartialEq, Message)]
pub struct Finish {
    /// The directory in which `collect` begins; absolute.
    #[prost(string, tag = "1")]
    pub cwd: String,
    #[prost(string, repeated, tag = "2")]
    pub collect: Vec<String>,
    #[prost(uint64, tag = "3")]
    pub collect_bytes: u64,
}

/// An exec that leaves nothing behind.
#[derive(Clone, PartialEq, Message)]
pub struct Enclosed {
    /// Done when the exec is dead.
    #[prost(message, required, tag = "1")]
    pub finish: Finish,
    /// The exec gets a writable layer of these sizes over the sandbox's layer, which it then cannot change.
    #[prost(message, optional, tag = "2")]
    pub layer: Option<Sizes>,
}

/// The sizes of a writable layer.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct Sizes {
    #[prost(uint64, tag = "1")]
    pub disk_bytes: u64,
    #[prost(uint64, tag = "2")]
    pub inodes: u64,
}

/// Size of a terminal in characters.
#[derive(Clone, PartialEq, Message)]
pub struct Terminal {
    #[prost(uint32, tag = "1")]
    pub rows: u32,
    #[prost(uint32, tag = "2")]
    pub columns: u32,
}

/// A socket on the sandbox's loopback, for the daemon, which is in another network.
#[derive(Clone, PartialEq, Message)]
pub struct OpenSocket {
    #[prost(uint32, tag = "1")]
    pub port: u32,
    /// Listening; else connecting, and not yet connected.
    #[prost(bool, tag = "2")]
    pub listen: bool,
}

/// A file that goes in or comes out.
#[derive(Clone, PartialEq, Message)]
pub struct FileSpec {
    #[prost(string, tag = "1")]
    pub path: String,
    #[prost(bytes = "bytes", tag = "2")]
    pub content: bytes::Bytes,
    #[prost(uint32, tag = "3")]
    pub mode: u32,
}

/// Init to daemon.
#[derive(Clone, PartialEq, Message)]
pub struct FromInit {
    /// The id of the order to which this event belongs.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// How many descriptors came with it.
    #[prost(uint32, tag = "2")]
    pub descriptors: u32,
    #[prost(oneof = "Event", tags = "3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 30, 31, 32, 33")]
    pub event: Option<Event>,
}

/// An event of init.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum Event {
    /// Init is set up and waits for orders.
    #[prost(bool, tag = "3")]
    Parked(bool),
    /// An order could not be carried out.
    #[prost(message, tag = "4")]
    Failed(Failure),
    #[prost(bool, tag = "5")]
    Furnished(bool),
    /// The working directory could not be made, or a file could not be written.
    #[prost(message, tag = "6")]
    NotFurnished(Unwritten),
    /// The command was executed; its pid in the sandbox.
    #[prost(int32, tag = "7")]
    Started(i32),
    /// The command could not be executed, through the program's fault.
    #[prost(message, tag = "8")]
    NotExecuted(Failure),
    /// The main process has ended.
    #[prost(message, tag = "9")]
    Ended(Ended),
    /// Comes after `Ended` or `NotExecuted`: processes that are left, unless the tree was killed, belong to no exec
    /// now.
    #[prost(bool, tag = "10")]
    Gone(bool),
    /// Every process is dead, files are collected.
    #[prost(message, tag = "11")]
    Finished(Finished),
    /// Microseconds of CPU time so far.
    #[prost(uint64, tag = "12")]
    Measured(u64),
    /// Comes with a socket.
    #[prost(bool, tag = "13")]
    Socket(bool),
    /// Comes with the other end of a started exec's terminal.
    #[prost(bool, tag = "14")]
    Terminal(bool),
    /// Comes with the descriptors that a zygote needs: its end of the link, init's pidfd, and the files by which it
    /// enters the cgroups.
    #[prost(bool, tag = "30")]
    Nest(bool),
    /// The zygote waits for a program.
    #[prost(bool, tag = "31")]
    Hatched(bool),
    /// Comes before `Started`: the zygote had to execute the command after all, and why.
    #[prost(string, tag = "32")]
    Executing(String),
    /// Comes before `Finished`: the sandbox has a new network, and sockets must be opened in it again.
    #[prost(bool, tag = "33")]
    Moved(bool),
}

/// The end of an exec's main process, as the process that waited for it saw it.
#[derive(Clone, PartialEq, Message)]
pub struct Ended {
    /// The status, as wait(2) gives it.
    #[prost(int32, tag = "1")]
    pub status: i32,
    #[prost(uint64, tag = "2")]
    pub run_us: u64,
    /// User and system time of the processes that were waited for.
    #[prost(uint64, tag = "3")]
    pub cpu_us: u64,
    /// The process that watched the exec was killed, and `status` is that process's.
    #[prost(bool, tag = "4")]
    pub unwatched: bool,
    /// No block of the writable layer was free.
    #[prost(bool, tag = "5")]
    pub blocks_full: bool,
    #[prost(bool, tag = "6")]
    pub inodes_full: bool,
}

/// A step and its errno.
#[derive(Clone, PartialEq, Message)]
pub struct Failure {
    #[prost(string, tag = "1")]
    pub step: String,
    #[prost(int32, tag = "2")]
    pub errno: i32,
}

/// The part of a `Furnish` that could not be done because of the request's names or limits.
#[derive(Clone, PartialEq, Message)]
pub struct Unwritten {
    #[prost(string, tag = "1")]
    pub step: String,
    #[prost(int32, tag = "2")]
    pub errno: i32,
    /// No inode of the writable layer was free.
    #[prost(bool, tag = "3")]
    pub inodes_full: bool,
}

/// The files of a sandbox when all its processes were dead.
#[derive(Clone, PartialEq, Message)]
pub struct Finished {
    #[prost(message, repeated, tag = "1")]
    pub files: Vec<FileSpec>,
    /// Matching paths that were not collected.
    #[prost(message, repeated, tag = "2")]
    pub uncollected: Vec<Uncollected>,
    #[prost(bool, tag = "3")]
    pub collect_limit: bool,
}

/// A path that matched and is not among the files.
#[derive(Clone, PartialEq, Message)]
pub struct Uncollected {
    #[prost(string, tag = "1")]
    pub path: String,
    #[prost(string, tag = "2")]
    pub reason: String,
}

impl Envelope for ToInit {
    fn descriptors(&self) -> u32 {
        self.descriptors
    }
}

impl Envelope for Launching {
    fn descriptors(&self) -> u32 {
        3 + u32::from(self.controlled)
    }
}

impl Envelope for FromInit {
    fn descriptors(&self) -> u32 {
        self.descriptors
    }
}
