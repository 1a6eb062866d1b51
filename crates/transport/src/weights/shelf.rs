//! The versions of one root: those in its `step_<v>` directories, and the one that is being received.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use prl_weights::{MANIFEST_FILE, Manifest, published_versions, version_directory};

use crate::TransportError;
use crate::weights::description::{Description, manifest_text};
use crate::weights::node::LOCK_FILE;
use crate::weights::replica::Replica;

/// The version to look for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Lookup<'a> {
    /// The version with this number and, if given, this digest.
    Exactly(u64, Option<&'a str>),
    /// The newest, or the newest above this number.
    Newest(Option<u64>),
}

/// A root and its known versions.
#[derive(Debug)]
pub(crate) struct Shelf {
    root: PathBuf,
    /// Versions that were asked for, by number. Each time they are compared with their directory.
    shelved: Mutex<BTreeMap<u64, Arc<Replica>>>,
    /// The version that is being received.
    arriving: Mutex<Option<Arc<Replica>>>,
}

impl Shelf {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self {
            root,
            shelved: Mutex::default(),
            arriving: Mutex::default(),
        }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The newest version that was published into this root, if it is newer than `version`; none for a root that receives.
    pub(crate) fn published_after(&self, version: u64) -> Result<Option<u64>, TransportError> {
        if self.root.join(LOCK_FILE).exists() {
            return Ok(None);
        }
        let newest = published_versions(&self.root)?.pop();
        Ok(newest.filter(|&newest| newest > version))
    }

    /// The directory of a version.
    pub(crate) fn directory(&self, version: u64) -> PathBuf {
        version_directory(&self.root, version)
    }

    /// Lets others read a version while it is received; `None` ends that.
    pub(crate) fn set_arriving(&self, replica: Option<Arc<Replica>>) {
        *self.arriving.lock().unwrap_or_else(PoisonError::into_inner) = replica;
    }

    /// Adds a version that has arrived whole.
    pub(crate) fn shelve(&self, replica: &Arc<Replica>) {
        let mut shelved = self.shelved.lock().unwrap_or_else(PoisonError::into_inner);
        shelved.insert(replica.description.manifest.version, Arc::clone(replica));
    }

    /// Lets go of versions whose directories are removed, because files keep their disk as long as they are mapped.
    pub(crate) fn forget_removed(&self) {
        let mut shelved = self.shelved.lock().unwrap_or_else(PoisonError::into_inner);
        shelved.retain(|version, _| self.directory(*version).exists());
    }

    /// The wanted version, if it is in the root or being received. When it is asked for the first time, its check begins in
    /// the background.
    pub(crate) fn find(self: &Arc<Self>, lookup: Lookup<'_>) -> Result<Option<Arc<Replica>>, TransportError> {
        match lookup {
            Lookup::Exactly(version, digest) => self.exactly(version, digest),
            Lookup::Newest(after) => {
                let arriving = self.arriving().map(|replica| replica.description.manifest.version);
                let mut versions: BTreeSet<u64> = published_versions(&self.root)?.into_iter().collect();
                versions.extend(arriving);
                for &version in versions
                    .iter()
                    .rev()
                    .filter(|&&version| after.is_none_or(|after| version > after))
                {
                    if let Some(replica) = self.exactly(version, None)? {
                        return Ok(Some(replica));
                    }
                }
                Ok(None)
            }
        }
    }

    /// The manifest of a version whose directory is whole.
    pub(crate) fn manifest(&self, version: u64) -> Result<Option<Manifest>, TransportError> {
        let directory = self.directory(version);
        let Some(text) = manifest_text(&directory)? else {
            return Ok(None);
        };
        Ok(Some(Manifest::from_json(&text, &directory.join(MANIFEST_FILE))?))
    }

    fn arriving(&self) -> Option<Arc<Replica>> {
        self.arriving.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn exactly(self: &Arc<Self>, version: u64, digest: Option<&str>) -> Result<Option<Arc<Replica>>, TransportError> {
        let is_wanted = |description: &Description| {
            description.manifest.version == version && digest.is_none_or(|digest| description.manifest.digest == digest)
        };
        if let Some(replica) = self.arriving().filter(|replica| is_wanted(&replica.description)) {
            return Ok(Some(replica));
        }
        let directory = self.directory(version);
        let text = manifest_text(&directory)?;
        self.forget_removed();
        let mut shelved = self.shelved.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(text) = text else {
            shelved.remove(&version);
            return Ok(None);
        };
        if let Some(replica) = shelved
            .get(&version)
            .filter(|replica| replica.description.wire.manifest == text)
        {
            return Ok(Some(Arc::clone(replica)).filter(|replica| is_wanted(&replica.description)));
        }
        let Some(description) = Description::of_directory(&directory)?.filter(is_wanted) else {
            return Ok(None);
        };
        let replica = Arc::new(Replica::of_directory(description, &directory)?);
        shelved.insert(version, Arc::clone(&replica));
        drop(shelved);
        let (shelf, checked) = (Arc::clone(self), Arc::clone(&replica));
        std::thread::Builder::new()
            .name("prl-weights-check".to_owned())
            .spawn(move || {
                if let Err(error) = checked.check() {
                    tracing::error!(%error, "a version is not served");
                    // The next request has it checked again, because it may have been replaced.
                    shelf.forget(&checked);
                }
            })
            .map_err(TransportError::io("start the check of", &directory))?;
        Ok(Some(replica))
    }

    fn forget(&self, replica: &Arc<Replica>) {
        let mut shelved = self.shelved.lock().unwrap_or_else(PoisonError::into_inner);
        shelved.retain(|_, other| !Arc::ptr_eq(other, replica));
    }
}
