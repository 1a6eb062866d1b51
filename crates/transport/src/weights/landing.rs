//! A version that is being received: `.incoming-<version>-<description>` below the root. It is renamed to `step_<version>` when every
//! file is whole, checked and synced; the manifest is written last. After a cut the next pull continues with these files.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prl_weights::{MANIFEST_FILE, create_directory, mark_verified, remove_version, replace_file, sync_directory};

use crate::TransportError;
use crate::chunk::hex;
use crate::incoming::{Incoming, Refused};
use crate::weights::description::Description;
use crate::weights::mapped::MappedFile;
use crate::weights::replica::Replica;
use crate::weights::shelf::Shelf;
use crate::weights::wire::Arrived;

const PREFIX: &str = ".incoming-";
/// Prefix of a version that was replaced while a reader held it; it is removed when no reader holds it any more.
const REPLACED: &str = ".replaced-";

/// The result of taking a chunk.
pub(crate) enum Landed {
    Taken,
    /// It was not taken, with the reason. The source may send it right the next time.
    Refused(String),
    /// It does not continue the bytes that came before it: they may be wrong, or the chunk.
    Contradicts(String),
    /// The received file differs from its description, so every byte of the version is in doubt.
    Wrong(String),
}

/// A version being received.
pub(crate) struct Landing {
    shelf: Arc<Shelf>,
    directory: PathBuf,
    files: Vec<Incoming>,
    replica: Arc<Replica>,
    is_finished: bool,
}

impl Landing {
    /// Begins a version, or continues it, and lets others read its chunks. Other versions that were begun below this root
    /// are removed.
    pub(crate) fn begin(shelf: Arc<Shelf>, description: Description) -> Result<Self, TransportError> {
        let name = format!("{PREFIX}{}-{}", description.manifest.version, hex(description.id));
        remove_others(shelf.root(), &name)?;
        let directory = shelf.root().join(name);
        fs::create_dir_all(&directory).map_err(TransportError::io("create", &directory))?;
        let mut files = Vec::new();
        let mut shared = Vec::new();
        for file in description.files() {
            let path = directory.join(&file.name);
            let mut incoming = Incoming::open(&path, file.bytes)?;
            if incoming.is_complete() && !incoming.confirm(file.digest) {
                incoming.restart()?;
            }
            shared.push(MappedFile::new(incoming.file(), file.bytes).map_err(TransportError::io("map", &path))?);
            files.push(incoming);
        }
        let replica = Arc::new(Replica::new(description, shared));
        for (index, incoming) in files.iter().enumerate() {
            replica.publish(index, incoming.checked_digests());
        }
        shelf.set_arriving(Some(Arc::clone(&replica)));
        Ok(Self {
            shelf,
            directory,
            files,
            replica,
            is_finished: false,
        })
    }

    pub(crate) fn description(&self) -> &Description {
        &self.replica.description
    }

    /// The number of received bytes.
    pub(crate) fn received(&self) -> u64 {
        self.files.iter().map(Incoming::length).sum()
    }

    /// For each file, the first byte that is missing.
    pub(crate) fn offsets(&self) -> Vec<u64> {
        self.files.iter().map(Incoming::length).collect()
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.files.iter().all(Incoming::is_complete)
    }

    /// Takes one chunk.
    pub(crate) fn take(&mut self, chunk: Arrived) -> Result<Landed, TransportError> {
        let Arrived {
            file: index,
            offset,
            data,
            prefix_digest,
        } = chunk;
        let (Some(incoming), Some(described)) =
            (self.files.get_mut(index), self.replica.description.files().get(index))
        else {
            return Ok(Landed::Refused(format!("there is no file {index}")));
        };
        match incoming.append(offset, &data, prefix_digest) {
            Ok(()) => {}
            Err(Refused::Io(error)) => return Err(error),
            Err(refused @ Refused::Beginning(_)) => return Ok(Landed::Wrong(format!("{}: {refused}", described.name))),
            Err(refused @ Refused::Digest(_)) if offset > 0 => {
                return Ok(Landed::Contradicts(format!("{}: {refused}", described.name)));
            }
            Err(refused) => return Ok(Landed::Refused(format!("{}: {refused}", described.name))),
        }
        if incoming.is_complete() && incoming.digest() != described.digest {
            return Ok(Landed::Wrong(format!(
                "{} has digest {}, expected {}",
                described.name,
                hex(incoming.digest()),
                hex(described.digest)
            )));
        }
        self.replica.publish(index, incoming.checked_digests());
        Ok(Landed::Taken)
    }

    /// Puts the complete version in its place and returns its directory.
    pub(crate) fn finish(mut self) -> Result<PathBuf, TransportError> {
        for incoming in &self.files {
            incoming.sync()?;
        }
        let manifest = self.directory.join(MANIFEST_FILE);
        replace_file(&manifest, |writer| writer.write_all(&self.description().wire.manifest))?;
        // Every byte was digested before it was written.
        mark_verified(&self.directory, &self.description().manifest.shards);
        let place = self.shelf.directory(self.description().manifest.version);
        make_room(&place, self.shelf.root())?;
        fs::rename(&self.directory, &place).map_err(TransportError::io("rename a received version to", &place))?;
        sync_directory(self.shelf.root())?;
        self.shelf.shelve(&self.replica);
        self.is_finished = true;
        Ok(place)
    }

    /// Throws everything away.
    pub(crate) fn discard(self) -> Result<(), TransportError> {
        fs::remove_dir_all(&self.directory).map_err(TransportError::io("remove", &self.directory))
    }
}

impl Drop for Landing {
    fn drop(&mut self) {
        if !self.is_finished {
            self.replica.fail("the node it came through stopped receiving it");
        }
        self.shelf.set_arriving(None);
    }
}

/// Removes a version with this number from an earlier attempt, or moves it aside while a process of this machine reads it.
fn make_room(place: &Path, root: &Path) -> Result<(), TransportError> {
    if remove_version(place)? || !place.exists() {
        return Ok(());
    }
    let name = place.file_name().unwrap_or_default().display();
    let aside = (0..=u32::MAX)
        .map(|number| root.join(format!("{REPLACED}{name}-{number}")))
        .find(|path| !path.exists())
        .expect("a number is free");
    fs::rename(place, &aside).map_err(TransportError::io("move aside", place))
}

fn remove_others(root: &Path, name: &str) -> Result<(), TransportError> {
    create_directory(root)?;
    for entry in fs::read_dir(root).map_err(TransportError::io("list", root))? {
        let entry = entry.map_err(TransportError::io("list", root))?;
        let other = entry.file_name();
        let other = other.to_string_lossy();
        if (other != name && other.starts_with(PREFIX)) || other.starts_with(REPLACED) {
            remove_version(&entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use prl_weights::Lease;

    use super::*;

    #[test]
    fn every_version_that_is_still_read_makes_room_for_the_next_attempts() {
        let root = tempfile::tempdir().expect("a folder");
        let place = root.path().join("step_1");
        let mut readers = Vec::new();
        for _attempt in 0..3 {
            fs::create_dir(&place).expect("a folder");
            fs::write(place.join(MANIFEST_FILE), "{}").expect("a manifest");
            readers.push(Lease::take(&place).expect("a lease"));
            make_room(&place, root.path()).expect("room");
            assert!(!place.exists());
        }
        drop(readers);
        remove_others(root.path(), "none").expect("removed");
        assert_eq!(fs::read_dir(root.path()).expect("a root").count(), 0);
    }
}
