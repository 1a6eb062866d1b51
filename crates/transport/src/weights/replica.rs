//! The present part of a version: others can read each chunk as soon as it was checked.

use std::collections::VecDeque;
use std::fs::File;
use std::hash::Hasher;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use tokio::sync::{OnceCell, watch};
use tokio_util::sync::CancellationToken;
use twox_hash::XxHash3_64;

use crate::TransportError;
use crate::chunk::{CHUNK_BYTES, chunk_count, hex};
use crate::pb::Chunk;
use crate::weights::description::Description;
use crate::weights::mapped::MappedFile;
use crate::weights::node::blocking;

/// Readers that are at most this many chunks apart share the work of bringing a chunk into memory.
const RECENT_CHUNKS: usize = 16;

/// A version that is in the root or being received. It keeps its files mapped, so that a version can be removed while it is served.
#[derive(Debug)]
pub(crate) struct Replica {
    pub(crate) description: Description,
    slots: Vec<Slot>,
    /// The chunks that were read last, oldest first: readers at the same place share them.
    recent: Mutex<VecDeque<Recent>>,
    failed: CancellationToken,
    why_failed: OnceLock<String>,
}

#[derive(Debug)]
struct Slot {
    file: MappedFile,
    /// The digest up to the end of each chunk that can be read.
    digests: RwLock<Vec<u64>>,
    /// How many chunks can be read.
    ready: watch::Sender<usize>,
}

/// A chunk (file, number) that is being read or was read.
type Recent = ((usize, usize), Arc<OnceCell<Chunk>>);

impl Replica {
    /// A version of which no chunk can be read yet; `files` are in the order of the description.
    pub(crate) fn new(description: Description, files: Vec<MappedFile>) -> Self {
        let slots = files
            .into_iter()
            .map(|file| Slot {
                file,
                digests: RwLock::default(),
                ready: watch::Sender::new(0),
            })
            .collect();
        Self {
            description,
            slots,
            recent: Mutex::default(),
            failed: CancellationToken::new(),
            why_failed: OnceLock::new(),
        }
    }

    /// The version in a directory; [`Replica::check`] makes its chunks readable.
    pub(crate) fn of_directory(description: Description, directory: &Path) -> Result<Self, TransportError> {
        let files = description
            .files()
            .iter()
            .map(|file| map_whole(&directory.join(&file.name), file.bytes))
            .collect::<Result<_, _>>()?;
        Ok(Self::new(description, files))
    }

    /// Reads every file once; others can read the chunks that are checked. A file that differs from the description fails the replica.
    pub(crate) fn check(&self) -> Result<(), TransportError> {
        self.check_files().inspect_err(|error| self.fail(&error.to_string()))
    }

    fn check_files(&self) -> Result<(), TransportError> {
        for (index, (slot, described)) in self.slots.iter().zip(self.description.files()).enumerate() {
            let path = Path::new(&described.name);
            let chunks = chunk_count(described.bytes);
            let mut hasher = XxHash3_64::default();
            let mut digests = Vec::with_capacity(chunks as usize);
            for chunk in 0..chunks {
                let bytes = slot.file.read(chunk * CHUNK_BYTES);
                hasher.write(&bytes.map_err(TransportError::io("read", path))?);
                digests.push(hasher.finish());
                // The last chunk can be read only after the digest of the whole file was compared.
                if chunk + 1 < chunks {
                    self.publish(index, &digests);
                }
            }
            let found = hasher.finish();
            if found != described.digest {
                return Err(TransportError::Corrupt {
                    what: format!("{} of {}", described.name, self.description.name()),
                    expected: hex(described.digest),
                    found: hex(found),
                });
            }
            self.publish(index, &digests);
        }
        Ok(())
    }

    /// Makes the first `digests.len()` chunks of a file readable.
    pub(crate) fn publish(&self, file: usize, digests: &[u64]) {
        let slot = &self.slots[file];
        {
            let mut known = slot.digests.write().unwrap_or_else(PoisonError::into_inner);
            let have = known.len();
            if digests.len() <= have {
                return;
            }
            known.extend_from_slice(&digests[have..]);
        }
        slot.ready.send_replace(digests.len());
    }

    /// Ends the waits of all readers, because the rest will not come, for this reason.
    pub(crate) fn fail(&self, reason: &str) {
        self.why_failed.get_or_init(|| reason.to_owned());
        self.failed.cancel();
    }

    /// Why the rest will not come; empty while it may come.
    pub(crate) fn why_failed(&self) -> &str {
        self.why_failed.get().map_or("", String::as_str)
    }

    /// Waits until a chunk can be read; false when it will not come.
    pub(crate) async fn wait(&self, file: usize, chunk: usize) -> bool {
        let mut ready = self.slots[file].ready.subscribe();
        tokio::select! {
            came = ready.wait_for(|&ready| ready > chunk) => came.is_ok(),
            () = self.failed.cancelled() => false,
        }
    }

    /// A chunk that can be read. It is brought into memory once for all readers that want it at the time.
    pub(crate) async fn read(self: &Arc<Self>, file: usize, chunk: usize) -> Result<Chunk, TransportError> {
        let cell = self.recent(file, chunk);
        let read = cell.get_or_try_init(|| {
            let replica = Arc::clone(self);
            blocking(move || replica.read_now(file, chunk))
        });
        read.await.cloned()
    }

    fn recent(&self, file: usize, chunk: usize) -> Arc<OnceCell<Chunk>> {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, cell)) = recent.iter().find(|(of, _)| *of == (file, chunk)) {
            return Arc::clone(cell);
        }
        if recent.len() == RECENT_CHUNKS {
            recent.pop_front();
        }
        let cell = Arc::default();
        recent.push_back(((file, chunk), Arc::clone(&cell)));
        cell
    }

    fn read_now(&self, file: usize, chunk: usize) -> Result<Chunk, TransportError> {
        let name = Path::new(&self.description.files()[file].name);
        let slot = &self.slots[file];
        let offset = chunk as u64 * CHUNK_BYTES;
        let data = slot.file.read(offset).map_err(TransportError::io("read", name))?;
        let prefix_digest = slot.digests.read().unwrap_or_else(PoisonError::into_inner)[chunk];
        Ok(Chunk {
            file: file as u32,
            offset,
            data,
            prefix_digest,
        })
    }
}

/// Maps a file that must have all of its bytes.
fn map_whole(path: &Path, bytes: u64) -> Result<MappedFile, TransportError> {
    let file = File::open(path).map_err(TransportError::io("open", path))?;
    let found = file.metadata().map_err(TransportError::io("look at", path))?.len();
    if found != bytes {
        return Err(TransportError::Corrupt {
            what: path.display().to_string(),
            expected: format!("of {bytes} bytes"),
            found: format!("of {found} bytes"),
        });
    }
    MappedFile::new(&file, bytes).map_err(TransportError::io("map", path))
}
