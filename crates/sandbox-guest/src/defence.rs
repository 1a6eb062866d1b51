//! The defences by name, and the switch with which tests prove that each of them is needed.
//!
//! A daemon that is built for use has no switch: only the feature `switch-off`, with which the tests are built, reads
//! the argument `--without NAME`. A defence that is switched off stays off for the process and everything it clones or
//! starts. The pid namespace cannot be switched off: without it, ending a sandbox would end the machine.

/// One thing that stands between a program and what it must not do. `NAMES` has a note on each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defence {
    Processes,
    PidsVerdict,
    Memory,
    OomVerdict,
    OomScore,
    OpenFiles,
    LockedMemory,
    PendingSignals,
    CoreSize,
    LayerBytes,
    LayerInodes,
    CollectBytes,
    WalkDepth,
    Links,
    RegularFiles,
    Cpu,
    Wall,
    Output,
    OutputWindow,
    EverybodyDies,
    Privileges,
    Capabilities,
    NoNewPrivileges,
    Filter,
    Session,
    DefaultSignals,
    OtherProcesses,
    MaskedProc,
    ReadOnly,
    NoSetUserId,
    NoDevices,
    NetworkNamespace,
    IpcNamespace,
    HostName,
    CgroupNamespace,
    OwnEnvironment,
    FileUser,
    SocketBuffers,
    Terminals,
}

#[cfg(not(feature = "switch-off"))]
mod switch {
    impl super::Defence {
        /// Whether the defence is on: always.
        pub const fn stands(self) -> bool {
            true
        }
    }

    /// Returns the arguments, which contain no switch.
    pub fn take(arguments: &[String]) -> Result<Vec<String>, String> {
        Ok(arguments.to_vec())
    }

    /// Names of the defences that are off.
    pub fn off() -> Vec<&'static str> {
        Vec::new()
    }
}

#[cfg(feature = "switch-off")]
mod switch {
    use super::Defence::{self, *};
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Bit n: the n-th of `NAMES` is off.
    static OFF: AtomicU64 = AtomicU64::new(0);

    const NAMES: [(Defence, &str); 39] = [
        (Processes, "processes"),               // limit of processes and threads
        (PidsVerdict, "pids-verdict"),          // forks that keep being refused end the run
        (Memory, "memory"),                     // limit of memory
        (OomVerdict, "oom-verdict"),            // one process killed for memory ends the run
        (OomScore, "oom-score"),                // the kernel kills guests first
        (OpenFiles, "open-files"),              // RLIMIT_NOFILE
        (LockedMemory, "locked-memory"),        // RLIMIT_MEMLOCK
        (PendingSignals, "pending-signals"),    // RLIMIT_SIGPENDING
        (CoreSize, "core-size"),                // RLIMIT_CORE
        (LayerBytes, "layer-bytes"),            // size of the writable layer
        (LayerInodes, "layer-inodes"),          // inodes of the writable layer
        (CollectBytes, "collect-bytes"),        // bytes of collected files
        (WalkDepth, "walk-depth"),              // depth of collected directories
        (Links, "links"),                       // links are not followed out
        (RegularFiles, "regular-files"),        // nothing else is collected
        (Cpu, "cpu"),                           // CPU time of the tree
        (Wall, "wall"),                         // wall time
        (Output, "output"),                     // output that ends the run
        (OutputWindow, "output-window"),        // head and tail only
        (EverybodyDies, "everybody-dies"),      // before files are collected
        (Privileges, "privileges"),             // own user without capabilities
        (Capabilities, "capabilities"),         // empty bounding set, locked secure bits
        (NoNewPrivileges, "no-new-privileges"), // and with it the filter, which needs it
        (Filter, "filter"),                     // system calls
        (Session, "session"),                   // a new session
        (DefaultSignals, "default-signals"),    // nothing ignored, nothing blocked
        (OtherProcesses, "other-processes"),    // proc shows only the own user's
        (MaskedProc, "masked-proc"),            // files of proc about the machine
        (ReadOnly, "read-only"),                // the system's directories
        (NoSetUserId, "no-set-user-id"),        // mount flag of the layer
        (NoDevices, "no-devices"),              // mount flag of the layer
        (NetworkNamespace, "network-namespace"),
        (IpcNamespace, "ipc-namespace"),
        (HostName, "host-name"), // UTS namespace
        (CgroupNamespace, "cgroup-namespace"),
        (FileUser, "file-user"),             // file operations have the rights of the guest
        (SocketBuffers, "socket-buffers"),   // limit of them where memory is without them
        (Terminals, "terminals"),            // limit of terminals
        (OwnEnvironment, "own-environment"), // nothing of the daemon's
    ];

    impl Defence {
        /// Whether the defence is on.
        pub fn stands(self) -> bool {
            let index = NAMES.iter().position(|(defence, _)| *defence == self);
            index.is_none_or(|index| OFF.load(Ordering::Relaxed) & 1 << index == 0)
        }
    }

    /// Obeys every `--without NAME`. Returns the other arguments.
    pub fn take(arguments: &[String]) -> Result<Vec<String>, String> {
        let mut remaining = Vec::new();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            if argument != "--without" {
                remaining.push(argument.clone());
                continue;
            }
            let name = rest.next().map_or("", String::as_str);
            let known = || NAMES.map(|(_, name)| name).join(" ");
            let index = NAMES.iter().position(|(_, known)| *known == name);
            let index = index.ok_or_else(|| format!("unknown defence {name:?}; known: {}", known()))?;
            OFF.fetch_or(1 << index, Ordering::Relaxed);
        }
        Ok(remaining)
    }

    /// Names of the defences that are off.
    pub fn off() -> Vec<&'static str> {
        let off = NAMES.iter().filter(|(defence, _)| !defence.stands());
        off.map(|(_, name)| *name).collect()
    }
}

pub use switch::{off, take};

/// Arguments that switch off the same defences in a child process.
pub fn pass_on() -> Vec<String> {
    let arguments = |name: &str| ["--without".to_owned(), name.to_owned()];
    off().into_iter().flat_map(arguments).collect()
}
