//! Records which files of a directory this machine has digested, so that the second reader need not do it again.
//!
//! A mark connects the digest of a file with its device, inode, length, time of writing and time of change, and with this
//! machine since it was started. Any write, rename or new link moves the time of change, which no call
//! can set; another machine, a copy or a restart has other values. Then every byte is digested again.
//!
//! A mark cannot see damage below the file system while the machine runs, nor a write within the same tick of the
//! system's clock (some milliseconds) as the one before it. It is stored beside the manifest; a process that can write one
//! can write the other. A lost or unreadable mark costs only time.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;
use std::process;
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::Manifest;
use crate::WeightsError;
use crate::files::Shard;
use crate::files::written::{self, Stamp};

const MARK_FILE: &str = ".verified.json";
const TURN_FILE: &str = ".verifying";
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
const MAX_MARK_BYTES: u64 = 16 << 20;
/// Another reader that digests for longer than this has hung.
const TURN_DEADLINE: Duration = Duration::from_secs(600);
const TURN_POLL: Duration = Duration::from_millis(2);

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Mark {
    /// The boot id: identifies this machine since it was started.
    boot: String,
    files: Vec<Marked>,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Marked {
    file: String,
    digest: String,
    stamp: Stamp,
}

impl Mark {
    /// The mark for the present files of `shards`; `None` when one is missing or the machine has no boot id.
    fn now(directory: &Path, shards: &[Shard]) -> Option<Self> {
        let files = shards.iter().map(|shard| {
            Some(Marked {
                file: shard.file.clone(),
                digest: shard.digest.clone(),
                stamp: Stamp::of(&directory.join(&shard.file)).ok()?,
            })
        });
        Some(Self {
            boot: boot()?,
            files: files.collect::<Option<_>>()?,
        })
    }

    fn read(directory: &Path) -> Option<Self> {
        let path = directory.join(MARK_FILE);
        let found = fs::metadata(&path).ok()?;
        if found.len() > MAX_MARK_BYTES {
            return None;
        }
        serde_json::from_slice(&fs::read(path).ok()?).ok()
    }

    fn leave(&self, directory: &Path) {
        if let Err(error) = self.write(directory) {
            tracing::debug!(directory = %directory.display(), %error, "verified weights are not marked");
        }
    }

    fn write(&self, directory: &Path) -> io::Result<()> {
        let unfinished = directory.join(format!("{MARK_FILE}.{}", process::id()));
        fs::write(&unfinished, serde_json::to_vec(self)?)?;
        fs::rename(unfinished, directory.join(MARK_FILE))
    }
}

/// Marks files whose bytes this process has just digested while it wrote them into `directory`.
pub fn mark_verified(directory: &Path, shards: &[Shard]) {
    if let Some(mark) = Mark::now(directory, shards) {
        mark.leave(directory);
    }
}

/// Marks files of `directory` when this process has written them all, with the digests that `shards` says.
pub(crate) fn mark_written(directory: &Path, shards: &[Shard]) {
    let Some(mark) = Mark::now(directory, shards) else {
        return;
    };
    if written::knows_all(mark.files.iter().map(|file| (&file.stamp, &*file.digest))) {
        mark.leave(directory);
    }
}

impl Manifest {
    /// [`Manifest::verify_shards`], unless this machine has digested the same files since it was started. When several
    /// readers come together, one digests and the others wait for it.
    ///
    /// # Errors
    /// As there.
    pub fn verify_shards_once(&self, directory: &Path) -> Result<(), WeightsError> {
        self.once(directory, || self.verify_shards(directory))
    }

    /// Runs `verify` and marks the shards when it succeeds, unless they are marked already.
    pub(crate) fn once(
        &self,
        directory: &Path,
        verify: impl FnOnce() -> Result<(), WeightsError>,
    ) -> Result<(), WeightsError> {
        if self.is_marked(directory) {
            return Ok(());
        }
        let _turn = take_turn(directory);
        if self.is_marked(directory) {
            return Ok(());
        }
        // The mark is made before the bytes are read, so that a write in the meantime makes it void.
        let mark = Mark::now(directory, &self.shards);
        verify()?;
        if let Some(mark) = mark {
            mark.leave(directory);
        }
        Ok(())
    }

    fn is_marked(&self, directory: &Path) -> bool {
        let mark = Mark::now(directory, &self.shards);
        let lengths = || self.shards.iter().map(|shard| shard.bytes);
        mark.is_some_and(|mark| {
            mark.files.iter().map(|file| file.stamp.bytes).eq(lengths()) && Mark::read(directory) == Some(mark)
        })
    }
}

fn boot() -> Option<String> {
    Some(fs::read_to_string(BOOT_ID).ok()?.trim().to_owned())
}

/// Waits until no other reader digests `directory`. If it cannot be written to, every reader digests it.
fn take_turn(directory: &Path) -> Option<File> {
    let path = directory.join(TURN_FILE);
    let turn = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .ok()?;
    let started = Instant::now();
    loop {
        match turn.try_lock() {
            Ok(()) => return Some(turn),
            Err(TryLockError::WouldBlock) if started.elapsed() < TURN_DEADLINE => thread::sleep(TURN_POLL),
            Err(_) => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::written::note_written;
    use crate::manifest::Encoding;
    use crate::{MANIFEST_FORMAT, digest};

    fn version(directory: &Path) -> Manifest {
        let shards = ["a", "b"].map(|file| {
            fs::write(directory.join(file), file.repeat(1000)).unwrap();
            Shard {
                file: file.to_owned(),
                bytes: 1000,
                digest: digest(file.repeat(1000).as_bytes()),
            }
        });
        Manifest {
            format: MANIFEST_FORMAT.to_owned(),
            version: 1,
            digest: digest(b"weights"),
            base: None,
            encoding: Encoding::Full,
            shards: shards.to_vec(),
            files: None,
            canary: None,
        }
    }

    /// Waits until the tick of the clock is over in which a file was written.
    fn let_the_clock_tick() {
        thread::sleep(Duration::from_millis(25));
    }

    #[test]
    fn the_second_reader_finds_the_mark_of_the_first() {
        let directory = tempfile::tempdir().unwrap();
        let manifest = version(directory.path());
        assert!(!manifest.is_marked(directory.path()));
        manifest.verify_shards_once(directory.path()).unwrap();
        assert!(manifest.is_marked(directory.path()));
        manifest.verify_shards_once(directory.path()).unwrap();
    }

    #[test]
    fn a_write_a_link_or_another_file_makes_the_mark_void() {
        let directory = tempfile::tempdir().unwrap();
        let manifest = version(directory.path());
        let shard = directory.path().join("a");
        let changes: [(&str, &dyn Fn()); 4] = [
            ("written in place", &|| {
                let mut file = OpenOptions::new().write(true).open(&shard).unwrap();
                io::Write::write_all(&mut file, b"x").unwrap();
            }),
            ("written in place, with the time of writing set back", &|| {
                let before = fs::metadata(&shard).unwrap().modified().unwrap();
                let mut file = OpenOptions::new().write(true).open(&shard).unwrap();
                io::Write::write_all(&mut file, b"x").unwrap();
                file.set_modified(before).unwrap();
            }),
            ("replaced", &|| {
                let other = directory.path().join("other");
                fs::write(&other, "x".repeat(1000)).unwrap();
                fs::rename(&other, &shard).unwrap();
            }),
            ("cut", &|| {
                OpenOptions::new()
                    .write(true)
                    .open(&shard)
                    .unwrap()
                    .set_len(10)
                    .unwrap()
            }),
        ];
        for (what, change) in changes {
            version(directory.path());
            manifest.verify_shards_once(directory.path()).unwrap();
            let_the_clock_tick();
            change();
            assert!(!manifest.is_marked(directory.path()), "{what}");
            manifest.verify_shards_once(directory.path()).expect_err(what);
            assert!(!manifest.is_marked(directory.path()), "{what}, after it was refused");
        }
    }

    #[test]
    fn a_mark_of_another_manifest_or_another_start_is_no_mark() {
        let directory = tempfile::tempdir().unwrap();
        let manifest = version(directory.path());
        manifest.verify_shards_once(directory.path()).unwrap();
        let mut other = manifest.clone();
        other.shards[1].digest = digest(b"other");
        assert!(!other.is_marked(directory.path()));
        other.verify_shards_once(directory.path()).expect_err("other bytes");
        let mut mark = Mark::read(directory.path()).unwrap();
        mark.boot.push('0');
        mark.write(directory.path()).unwrap();
        assert!(!manifest.is_marked(directory.path()));
        fs::write(directory.path().join(MARK_FILE), "{").unwrap();
        assert!(!manifest.is_marked(directory.path()));
        manifest.verify_shards_once(directory.path()).unwrap();
        assert!(manifest.is_marked(directory.path()));
    }

    #[test]
    fn a_manifest_that_says_another_length_is_not_marked() {
        let directory = tempfile::tempdir().unwrap();
        let mut manifest = version(directory.path());
        mark_verified(directory.path(), &manifest.shards);
        assert!(manifest.is_marked(directory.path()));
        manifest.shards[0].bytes += 1;
        assert!(!manifest.is_marked(directory.path()));
        assert_eq!(
            manifest.verify_shards_once(directory.path()).unwrap_err().code(),
            "PRL_WEIGHTS_MANIFEST"
        );
    }

    #[test]
    fn a_writer_marks_the_files_it_digested_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let manifest = version(directory.path());
        mark_written(directory.path(), &manifest.shards);
        assert!(
            !manifest.is_marked(directory.path()),
            "no reader is recorded to have digested them"
        );
        note_written(&directory.path().join("a"), &manifest.shards[0].digest);
        note_written(&directory.path().join("b"), &digest(b"other"));
        mark_written(directory.path(), &manifest.shards);
        assert!(!manifest.is_marked(directory.path()), "one has another digest");
        note_written(&directory.path().join("b"), &manifest.shards[1].digest);
        mark_written(directory.path(), &manifest.shards);
        assert!(manifest.is_marked(directory.path()));
    }

    #[test]
    fn of_many_readers_one_digests() {
        let directory = tempfile::tempdir().unwrap();
        let manifest = version(directory.path());
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| manifest.verify_shards_once(directory.path()).unwrap());
            }
        });
        assert!(manifest.is_marked(directory.path()));
        let names: Vec<_> = fs::read_dir(directory.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        assert_eq!(names.len(), 4, "{names:?}");
    }
}
