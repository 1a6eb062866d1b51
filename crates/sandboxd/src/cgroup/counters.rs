//! The files of a sandbox's groups in which the kernel counts.
//!
//! A one-shot run reads most of them before, during and after its program. So they stay open, until `let_go` closes
//! them for sandboxes where speed matters less.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::Version;

/// Longest file of counters.
const COUNTER_BYTES: usize = 4096;

/// One number in a file.
#[derive(Debug)]
pub(super) struct Counter {
    path: PathBuf,
    /// The name of the line, in a file with lines of `name number`.
    line: Option<&'static str>,
    /// Whether the counter can be reset by a write.
    resets: bool,
    open: OnceLock<File>,
    /// Whether the file is opened again for each read.
    closed: bool,
}

impl Counter {
    fn number(directory: &Path, file: &str) -> Self {
        Self {
            path: directory.join(file),
            line: None,
            resets: false,
            open: OnceLock::new(),
            closed: false,
        }
    }

    fn line(directory: &Path, file: &str, name: &'static str) -> Self {
        Self {
            line: Some(name),
            ..Self::number(directory, file)
        }
    }

    fn peak(directory: &Path, file: &str) -> Self {
        Self {
            resets: true,
            ..Self::number(directory, file)
        }
    }

    /// The number; `None` where the kernel lacks the counter.
    pub(super) fn read(&self) -> Option<u64> {
        let mut buffer = [0; COUNTER_BYTES];
        let length = self.with(|file| file.read_at(&mut buffer, 0)).ok()?;
        let text = std::str::from_utf8(buffer.get(..length)?).ok()?;
        match self.line {
            None => text.trim().parse().ok(),
            Some(name) => text
                .lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok()),
        }
    }

    /// Resets a peak: for every reader, or (v2) for this file only, which therefore stays open.
    pub(super) fn reset(&self) -> io::Result<()> {
        self.with(|file| file.write_at(b"0", 0)).map(|_| ())
    }

    fn let_go(&mut self) {
        self.open.take();
        self.closed = true;
    }

    fn with<T>(&self, act: impl FnOnce(&File) -> io::Result<T>) -> io::Result<T> {
        match self.open.get() {
            Some(file) => act(file),
            None if self.closed => act(&self.open_file()?),
            None => {
                let file = self.open_file()?;
                act(self.open.get_or_init(|| file))
            }
        }
    }

    fn open_file(&self) -> io::Result<File> {
        let both = OpenOptions::new().read(true).write(self.resets).open(&self.path);
        match both {
            // Before Linux 6.12, v2 cannot reset the peak.
            Err(error) if self.resets && error.kind() != io::ErrorKind::NotFound => File::open(&self.path),
            opened => opened,
        }
    }
}

/// The counters of one sandbox, as far as there are controllers.
#[derive(Debug)]
pub(super) struct Counters {
    pub(super) cpu: Option<Counter>,
    /// The unit of `cpu`: v2 counts microseconds.
    pub(super) cpu_unit_ns: u64,
    pub(super) oom_kills: Option<Counter>,
    pub(super) memory: Option<Counter>,
    pub(super) peak_memory: Option<Counter>,
    pub(super) refused_forks: Option<Counter>,
    pub(super) processes: Option<Counter>,
    pub(super) peak_processes: Option<Counter>,
}

type Place = Option<(Version, PathBuf)>;

impl Counters {
    pub(super) fn of(memory: &Place, pids: &Place, cpu: &Place) -> Self {
        let of_memory =
            |make: fn(Version, &Path) -> Counter| memory.as_ref().map(|(version, directory)| make(*version, directory));
        let of_pids = |make: fn(&Path) -> Counter| pids.as_ref().map(|(_, directory)| make(directory));
        Self {
            cpu: cpu.as_ref().map(|(version, directory)| match version {
                Version::V1 => Counter::number(directory, "cpuacct.usage"),
                Version::V2 => Counter::line(directory, "cpu.stat", "usage_usec"),
            }),
            cpu_unit_ns: match cpu {
                Some((Version::V2, _)) => 1000,
                _ => 1,
            },
            oom_kills: of_memory(|version, directory| match version {
                Version::V1 => Counter::line(directory, "memory.oom_control", "oom_kill"),
                Version::V2 => Counter::line(directory, "memory.events", "oom_kill"),
            }),
            memory: of_memory(|version, directory| match version {
                Version::V1 => Counter::number(directory, "memory.usage_in_bytes"),
                Version::V2 => Counter::number(directory, "memory.current"),
            }),
            peak_memory: of_memory(|version, directory| match version {
                Version::V1 => Counter::peak(directory, "memory.max_usage_in_bytes"),
                Version::V2 => Counter::peak(directory, "memory.peak"),
            }),
            refused_forks: of_pids(|directory| Counter::line(directory, "pids.events", "max")),
            processes: of_pids(|directory| Counter::number(directory, "pids.current")),
            peak_processes: of_pids(|directory| Counter::number(directory, "pids.peak")),
        }
    }

    /// Opens the files that exist.
    pub(super) fn open(&mut self) {
        for counter in self.all() {
            // A counter that this kernel lacks is looked for again at each read.
            let _missing = counter.with(|_| Ok(()));
        }
    }

    pub(super) fn let_go(&mut self) {
        self.all().for_each(Counter::let_go);
    }

    fn all(&mut self) -> impl Iterator<Item = &mut Counter> {
        let all = [
            &mut self.cpu,
            &mut self.oom_kills,
            &mut self.memory,
            &mut self.peak_memory,
            &mut self.refused_forks,
            &mut self.processes,
            &mut self.peak_processes,
        ];
        all.into_iter().flatten()
    }
}
