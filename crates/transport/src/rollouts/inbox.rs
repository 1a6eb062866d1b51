//! The folder in which batches arrive. A batch is `step_<s>/rank_<r>.safetensors` below the root; it exists only when it is whole,
//! durable and checked against its key. A batch that is being received is beside it as `.rank_<r>-<attempt>-<digest>.part`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use prl_weights::{WeightsError, create_directory, digest_file, sync_directory};

use crate::TransportError;
use crate::chunk::hex;
use crate::incoming::Incoming;
use crate::rollouts::BatchKey;

/// Largest batch in bytes; a larger offer is a mistake.
const MAX_BATCH_BYTES: u64 = 1 << 40;

/// The folder of one receiver.
#[derive(Debug)]
pub struct Inbox {
    root: PathBuf,
    run_id: String,
}

/// A batch that a sender offers.
#[derive(Debug, Clone)]
pub(crate) struct Offered {
    pub(crate) key: BatchKey,
    pub(crate) bytes: u64,
    pub(crate) digest: u64,
}

impl Inbox {
    /// Takes batches of `run_id` into `root`.
    pub fn new(root: impl Into<PathBuf>, run_id: impl Into<String>) -> Self {
        Self {
            root: root.into(),
            run_id: run_id.into(),
        }
    }

    /// Compares an offer with the inbox. Returns `None` when the batch is there, else its file, whose further bytes are needed.
    ///
    /// # Errors
    /// [`TransportError::Key`] for a batch of another run, [`TransportError::Conflict`] when another batch has its key,
    /// [`TransportError::Superseded`] when a batch of a newer attempt is there.
    pub(crate) fn admit(&self, offered: &Offered) -> Result<Option<Incoming>, TransportError> {
        let Offered { key, bytes, digest } = offered;
        if key.run_id != self.run_id {
            return Err(TransportError::Key(format!(
                "{key}: this receiver is of run {}",
                self.run_id
            )));
        }
        if *bytes == 0 || *bytes > MAX_BATCH_BYTES {
            return Err(TransportError::Key(format!(
                "{key}: a batch of {bytes} bytes cannot be"
            )));
        }
        let place = self.root.join(BatchKey::path(key.step, key.rank));
        let directory = place.parent().unwrap_or(&self.root);
        if self.holds(&place, key, *digest)? {
            // The call that put it there may have failed, or its process ended, before the name was durable.
            self.sync_names(directory)?;
            return Ok(None);
        }
        create_directory(directory)?;
        let part = directory.join(format!(".rank_{}-{}-{}.part", key.rank, key.attempt, hex(*digest)));
        let mut incoming = Incoming::open(&part, *bytes)?;
        if incoming.is_complete() && incoming.digest() != *digest {
            incoming.restart()?;
        }
        Ok(Some(incoming))
    }

    /// Puts a complete batch in its place and makes it durable.
    ///
    /// # Errors
    /// [`TransportError::Corrupt`] when the bytes are not those of the offer, [`TransportError::Key`] when the file has
    /// another key. The received file is removed then.
    pub(crate) fn store(&self, offered: &Offered, incoming: &Incoming) -> Result<(), TransportError> {
        let part = incoming.path();
        let remove = || fs::remove_file(part).map_err(TransportError::io("remove", part));
        if incoming.digest() != offered.digest {
            remove()?;
            return Err(TransportError::Corrupt {
                what: offered.key.to_string(),
                expected: hex(offered.digest),
                found: hex(incoming.digest()),
            });
        }
        incoming.sync()?;
        match BatchKey::of_file(part) {
            Ok(said) if said == offered.key => {}
            Ok(said) => {
                remove()?;
                return Err(TransportError::Key(format!(
                    "{} was offered, the file says {said}",
                    offered.key
                )));
            }
            Err(error) if is_no_batch(&error) => {
                remove()?;
                return Err(TransportError::Key(format!("{}: {error}", offered.key)));
            }
            // The system refused to read it, which may pass: the sender offers it again.
            Err(error) => return Err(error),
        }
        let place = self.root.join(BatchKey::path(offered.key.step, offered.key.rank));
        fs::rename(part, &place).map_err(TransportError::io("rename a received batch to", &place))?;
        let directory = place.parent().unwrap_or(&self.root);
        self.sync_names(directory)?;
        remove_parts(directory, offered.key.rank)
    }

    /// Makes the names of the batches of a step survive a power cut.
    fn sync_names(&self, directory: &Path) -> Result<(), TransportError> {
        sync_directory(directory)?;
        Ok(sync_directory(&self.root)?)
    }

    /// Whether the batch at `place` is the one of `key` and `digest`.
    fn holds(&self, place: &Path, key: &BatchKey, digest: u64) -> Result<bool, TransportError> {
        match fs::metadata(place) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(TransportError::io("look at", place)(error)),
        }
        let here = match BatchKey::of_file(place) {
            Ok(here) => here,
            Err(error) if is_no_batch(&error) => {
                tracing::warn!(%error, "it is no batch, so the one that is offered takes its place");
                return Ok(false);
            }
            Err(error) => return Err(error),
        };
        if here.run_id != key.run_id || here.attempt < key.attempt {
            return Ok(false);
        }
        if here.attempt > key.attempt {
            return Err(TransportError::Superseded(format!(
                "{key}: attempt {} has replaced it",
                here.attempt
            )));
        }
        let (found, _) = digest_file(place)?;
        if found == hex(digest) {
            return Ok(true);
        }
        Err(TransportError::Conflict(format!(
            "{key}: another batch with this key is here, of digest {found}, this one has {}",
            hex(digest)
        )))
    }
}

/// Whether the error is about the contents of a file, which are those of no batch.
fn is_no_batch(error: &TransportError) -> bool {
    matches!(
        error,
        TransportError::Key(_) | TransportError::Weights(WeightsError::Format { .. })
    )
}

/// Removes the parts of other batches for the same place.
fn remove_parts(directory: &Path, rank: u32) -> Result<(), TransportError> {
    let prefix = format!(".rank_{rank}-");
    for entry in fs::read_dir(directory).map_err(TransportError::io("list", directory))? {
        let entry = entry.map_err(TransportError::io("list", directory))?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(&prefix) && name.ends_with(".part") {
            fs::remove_file(entry.path()).map_err(TransportError::io("remove", &entry.path()))?;
        }
    }
    Ok(())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use prl_weights::{Dtype, TensorToWrite, WriteOptions, write_safetensors};

    use super::*;
    use crate::rollouts::refused_call::without;

    /// Writes a batch into its place below `root`.
    fn write(root: &Path) -> Offered {
        let place = root.join(BatchKey::path(1, 0));
        fs::create_dir_all(place.parent().expect("a folder")).expect("a folder");
        let metadata = [("run_id", "run"), ("attempt", "1"), ("step", "1"), ("rank", "0")];
        let tensor = TensorToWrite {
            name: "loss_mask",
            dtype: Dtype::U8,
            shape: &[3],
            data: &[1, 0, 1],
        };
        let metadata = metadata.map(|(key, value)| (key.to_owned(), value.to_owned()));
        write_safetensors(&place, &[tensor], &metadata, WriteOptions::default()).expect("a batch");
        let (digest, bytes) = digest_file(&place).expect("a digest");
        Offered {
            key: BatchKey::of_file(&place).expect("a key"),
            bytes,
            digest: u64::from_str_radix(&digest, 16).expect("digits"),
        }
    }

    #[test]
    fn a_batch_is_acknowledged_again_only_when_its_name_is_durable() {
        let root = tempfile::tempdir().expect("a folder");
        let offered = write(root.path());
        let inbox = Inbox::new(root.path(), "run");
        assert!(inbox.admit(&offered).expect("admitted").is_none(), "it is there");
        let refused = without(libc::SYS_fsync, || {
            inbox.admit(&offered).map(|incoming| incoming.is_none())
        });
        assert_eq!(refused.expect_err("it is not durable").code(), "PRL_WEIGHTS_IO");
    }

    #[test]
    fn a_batch_is_admitted_only_when_its_new_folders_are_durable() {
        let root = tempfile::tempdir().expect("a folder");
        let offered = write(&root.path().join("spool"));
        let inbox = Inbox::new(root.path().join("inbox"), "run");
        let refused = without(libc::SYS_fsync, || inbox.admit(&offered).map(drop));
        assert_eq!(refused.expect_err("they are not durable").code(), "PRL_WEIGHTS_IO");
    }

    #[test]
    fn a_batch_that_cannot_be_read_for_the_moment_is_stored_later() {
        let root = tempfile::tempdir().expect("a folder");
        let offered = write(root.path());
        let inbox = Inbox::new(root.path(), "run");
        let place = root.path().join(BatchKey::path(1, 0));
        let part = place.with_file_name(format!(".rank_0-1-{}.part", hex(offered.digest)));
        fs::rename(&place, &part).expect("a part");
        let incoming = inbox.admit(&offered).expect("admitted").expect("not stored yet");
        let refused = without(libc::SYS_openat, || inbox.store(&offered, &incoming));
        // A refusal of the batch would make its sender give it up.
        assert_eq!(refused.expect_err("it is not read").code(), "PRL_WEIGHTS_IO");
        inbox.store(&offered, &incoming).expect("stored");
        assert!(inbox.admit(&offered).expect("admitted").is_none(), "it is there");
    }
}
