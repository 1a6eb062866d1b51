//! The versions of one root: those in its `step_<v>` directories, and the one that is being received.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use prl_weights::{MANIFEST_FILE, Manifest};

use crate::TransportError;
use crate::weights::description::{Description, manifest_text};
use crate::weights::replica::Replica;

/// Which version is looked for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Lookup<'a> {
    /// This one, of these weights if there is a digest.
    Exactly(u64, Option<&'a str>),
    /// The newest, or the newest above.
    Newest(Option<u64>),
}

/// A root and what is known of it.
#[derive(Debug)]
pub(crate) struct Shelf {
    root: PathBuf,
    /// Those that were asked for, by version; checked against the directory each time.
    shelved: Mutex<BTreeMap<u64, Arc<Replica>>>,
    /// The one on its way here.
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

    /// Where a version lies.
    pub(crate) fn directory(&self, version: u64) -> PathBuf {
        self.root.join(format!("step_{version}"))
    }

    /// Lets others read a version while it comes; `None` ends that.
    pub(crate) fn set_arriving(&self, replica: Option<Arc<Replica>>) {
        *self.arriving.lock().unwrap_or_else(PoisonError::into_inner) = replica;
    }

    /// Takes up a version that has arrived whole.
    pub(crate) fn shelve(&self, replica: &Arc<Replica>) {
        let mut shelved = self.shelved.lock().unwrap_or_else(PoisonError::into_inner);
        shelved.insert(replica.description.manifest.version, Arc::clone(replica));
    }

    /// The version that is looked for, if it is here or arriving. The check of one that nobody asked for before begins in
    /// the background.
    pub(crate) fn find(self: &Arc<Self>, lookup: Lookup<'_>) -> Result<Option<Arc<Replica>>, TransportError> {
        match lookup {
            Lookup::Exactly(version, digest) => self.exactly(version, digest),
            Lookup::Newest(after) => {
                let arriving = self.arriving().map(|replica| replica.description.manifest.version);
                let mut versions = self.versions()?;
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

    /// Numbers of the versions whose directories are whole.
    pub(crate) fn versions(&self) -> Result<BTreeSet<u64>, TransportError> {
        let entries = match fs::read_dir(&self.root) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
            Err(error) => return Err(TransportError::io("list", &self.root)(error)),
        };
        let mut versions = BTreeSet::new();
        for entry in entries {
            let entry = entry.map_err(TransportError::io("list", &self.root))?;
            let name = entry.file_name();
            let version = name
                .to_str()
                .and_then(|name| name.strip_prefix("step_"))
                .and_then(|version| version.parse::<u64>().ok());
            versions.extend(version.filter(|_| entry.path().join(MANIFEST_FILE).exists()));
        }
        Ok(versions)
    }

    /// Removes all versions but the newest `keep` and those that they build on.
    pub(crate) fn prune(&self, keep: usize) -> Result<(), TransportError> {
        let versions = self.versions()?;
        let mut kept = BTreeSet::new();
        for &version in versions.iter().rev().take(keep) {
            let mut needed = Some(version);
            while let Some(version) = needed.filter(|version| kept.insert(*version)) {
                needed = self
                    .manifest(version)?
                    .and_then(|manifest| manifest.base)
                    .map(|base| base.version);
            }
        }
        for &version in versions.difference(&kept) {
            remove_version(&self.directory(version))?;
        }
        Ok(())
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
        let mut shelved = self.shelved.lock().unwrap_or_else(PoisonError::into_inner);
        shelved.retain(|version, _| self.directory(*version).exists());
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
                    // Whoever asks again has it checked again: it may have been replaced.
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

/// The manifest goes first: from then on there is no such version.
pub(crate) fn remove_version(directory: &Path) -> Result<(), TransportError> {
    let manifest = directory.join(MANIFEST_FILE);
    for result in [fs::remove_file(&manifest), fs::remove_dir_all(directory)] {
        match result {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(TransportError::io("remove", directory)(error));
            }
            _ => {}
        }
    }
    Ok(())
}
