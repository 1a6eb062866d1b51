//! The folder of a target: its corpus, the inputs that failed, and the one that is under way.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The input that is being parsed. It stays when the process dies, and is the first input of the next run.
const UNDER_WAY: &str = ".under-way";

pub(crate) struct Folder {
    path: PathBuf,
    under_way: File,
}

impl Folder {
    /// Makes the folder of the target where it is missing, and reads its files, sorted by name.
    pub(crate) fn open(target: &str) -> io::Result<(Self, Vec<Vec<u8>>)> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
        fs::create_dir_all(&path)?;
        let mut files: Vec<PathBuf> = fs::read_dir(&path)?
            .map(|entry| Ok(entry?.path()))
            .collect::<io::Result<_>>()?;
        // The dot puts the input that a process died of before all others.
        files.sort();
        let inputs = files.iter().map(fs::read).collect::<io::Result<_>>()?;
        let under_way = File::create(path.join(UNDER_WAY))?;
        Ok((Self { path, under_way }, inputs))
    }

    pub(crate) fn begin(&self, input: &[u8]) -> io::Result<()> {
        self.under_way.set_len(input.len() as u64)?;
        self.under_way.write_all_at(input, 0)
    }

    pub(crate) fn under_way(&self) -> PathBuf {
        self.path.join(UNDER_WAY)
    }

    /// Writes `input` under a name that follows from its content.
    pub(crate) fn keep(&self, kind: &str, input: &[u8]) -> io::Result<PathBuf> {
        let path = self.path.join(format!("{kind}{:016x}", hash(input)));
        fs::write(&path, input)?;
        Ok(path)
    }

    pub(crate) fn finish(self) -> io::Result<()> {
        fs::remove_file(self.under_way())
    }
}

/// FNV-1a, which is the same in every version of Rust: names and seeds must not change.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
