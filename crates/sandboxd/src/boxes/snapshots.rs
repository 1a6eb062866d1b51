//! Copies of writable layers, kept until they are deleted or the daemon ends.
//!
//! Each is an archive in a file without a name, so that it disappears with the daemon. Their total size has a limit.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use prl_sandbox_guest::wire::files::{Answer, FileOperation};
use prl_sandbox_proto::SnapshotInfo;
use tokio::sync::mpsc;

use super::files::Helper;
use super::registry::has;
use super::sandbox_box::{SandboxBox, since_1970};
use crate::error::SandboxError;

const CHUNK_BYTES: usize = 256 << 10;
const WAITING_CHUNKS: usize = 4;
/// How many snapshots there may be. Each holds an open file, and that of an empty layer has hardly any bytes.
const MOST: usize = 10_000;

/// One snapshot. When it is deleted, those that hold it can still read it.
#[derive(Debug)]
pub(crate) struct Snapshot {
    info: SnapshotInfo,
    of: String,
    file: File,
}

/// See the module. The names are the tenants' ids, made distinct from those of other tenants.
#[derive(Debug)]
pub(crate) struct Snapshots {
    max_bytes: u64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// `None`: the snapshot is being made.
    all: HashMap<String, Option<Arc<Snapshot>>>,
    bytes: u64,
}

impl State {
    /// Takes a new name for a snapshot that is being made.
    fn begin(&mut self, name: &str) -> Result<(), SandboxError> {
        if self.all.len() >= MOST {
            return Err(SandboxError::TooLarge(format!(
                "there are {MOST} snapshots, and there may be no more: delete some"
            )));
        }
        self.all.insert(name.to_owned(), None);
        Ok(())
    }
}

/// Frees the name and the bytes of an unfinished snapshot.
struct Making<'a> {
    of: &'a Snapshots,
    name: &'a str,
    bytes: u64,
    done: bool,
}

impl Drop for Making<'_> {
    fn drop(&mut self) {
        if !self.done {
            let mut state = self.of.lock();
            state.all.remove(self.name);
            state.bytes -= self.bytes;
        }
    }
}

impl Making<'_> {
    fn grow(&mut self, by: usize) -> Result<(), SandboxError> {
        let mut state = self.of.lock();
        if state.bytes + by as u64 > self.of.max_bytes {
            return Err(SandboxError::TooLarge(format!(
                "all snapshots together may have {} bytes (--snapshot-bytes)",
                self.of.max_bytes
            )));
        }
        state.bytes += by as u64;
        self.bytes += by as u64;
        Ok(())
    }
}

impl Snapshots {
    pub(crate) fn new(max_bytes: u64) -> Self {
        Self {
            max_bytes,
            state: Mutex::default(),
        }
    }

    /// Copies a box's layer. A second call with the same id, box and labels gets the same snapshot.
    pub(crate) async fn take(
        &self,
        held: &Arc<SandboxBox>,
        name: &str,
        mut info: SnapshotInfo,
    ) -> Result<SnapshotInfo, SandboxError> {
        {
            let mut state = self.lock();
            match state.all.get(name) {
                None => {}
                Some(Some(known)) if known.of == held.request.id && known.info.labels == info.labels => {
                    return Ok(known.info.clone());
                }
                Some(_) => return Err(SandboxError::Exists(format!("snapshot {}", info.id))),
            }
            state.begin(name)?;
        }
        let mut making = Making {
            of: self,
            name,
            bytes: 0,
            done: false,
        };
        let failed = |source| SandboxError::Setup {
            step: "a snapshot's file".to_owned(),
            source,
        };
        let mut file = tempfile::tempfile().map_err(failed)?;
        let (chunks, mut waiting) = mpsc::channel::<Bytes>(WAITING_CHUNKS);
        let writing = tokio::task::spawn_blocking(move || -> io::Result<File> {
            while let Some(chunk) = waiting.blocking_recv() {
                file.write_all(&chunk)?;
            }
            Ok(file)
        });
        let mut helper = Helper::begin(held, FileOperation::Save(true)).await?;
        loop {
            match helper.answer().await? {
                Answer::Data(data) => {
                    making.grow(data.len())?;
                    if chunks.send(data).await.is_err() {
                        break;
                    }
                }
                Answer::Done(_) => break,
                other => return Err(SandboxError::Protocol(format!("{other:?} of a helper"))),
            }
        }
        drop(chunks);
        let written = writing
            .await
            .map_err(|error| SandboxError::Protocol(error.to_string()))?;
        info.bytes = making.bytes;
        info.created_at = since_1970();
        let snapshot = Snapshot {
            info: info.clone(),
            of: held.request.id.clone(),
            file: written.map_err(failed)?,
        };
        self.lock().all.insert(name.to_owned(), Some(Arc::new(snapshot)));
        making.done = true;
        Ok(info)
    }

    pub(crate) fn find(&self, name: &str, id: &str) -> Result<Arc<Snapshot>, SandboxError> {
        let found = self.lock().all.get(name).cloned().flatten();
        found.ok_or_else(|| SandboxError::NotFound(format!("snapshot {id}")))
    }

    pub(crate) fn list(&self, prefix: &str, labels: &HashMap<String, String>) -> Vec<SnapshotInfo> {
        let state = self.lock();
        let own = state.all.iter().filter(|(name, _)| name.starts_with(prefix));
        let mut found: Vec<_> = own
            .filter_map(|(_, snapshot)| snapshot.as_ref())
            .filter(|snapshot| has(&snapshot.info.labels, labels))
            .map(|snapshot| snapshot.info.clone())
            .collect();
        found.sort_by(|a, b| a.id.cmp(&b.id));
        found
    }

    pub(crate) fn delete(&self, name: &str, id: &str) -> Result<(), SandboxError> {
        let mut state = self.lock();
        let found = state.all.get(name).cloned().flatten();
        let snapshot = found.ok_or_else(|| SandboxError::NotFound(format!("snapshot {id}")))?;
        state.all.remove(name);
        state.bytes -= snapshot.info.bytes;
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Snapshot {
    /// Fills the layer of a box in which no program has run.
    pub(super) async fn restore(self: &Arc<Self>, held: &Arc<SandboxBox>) -> Result<(), SandboxError> {
        let snapshot = Arc::clone(self);
        let (chunks, mut waiting) = mpsc::channel::<io::Result<Bytes>>(WAITING_CHUNKS);
        tokio::task::spawn_blocking(move || {
            let mut offset = 0;
            loop {
                let mut chunk = vec![0; CHUNK_BYTES];
                let read = snapshot.file.read_at(&mut chunk, offset);
                let over = !matches!(read, Ok(length) if length > 0);
                let part = read.map(|length| {
                    offset += length as u64;
                    chunk.truncate(length);
                    Bytes::from(chunk)
                });
                // The receiver knows why it stopped reading.
                if chunks.blocking_send(part).is_err() || over {
                    return;
                }
            }
        });
        let mut helper = Helper::begin(held, FileOperation::Restore(true)).await?;
        while let Some(part) = waiting.recv().await {
            let part = part.map_err(|source| SandboxError::Setup {
                step: "read a snapshot".to_owned(),
                source,
            })?;
            let end = part.is_empty();
            if !helper.send(part, end).await? {
                break;
            }
        }
        match helper.answer().await? {
            Answer::Unpacked(_) => Ok(()),
            other => Err(SandboxError::Protocol(format!("{other:?} of a helper"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_only_so_many() {
        let mut state = State::default();
        for number in 0..MOST {
            state.begin(&number.to_string()).expect("there is room");
        }
        state.begin("one more").expect_err("each holds a file");
        state.all.remove("0");
        state.begin("one more").expect("there is room again");
    }
}
