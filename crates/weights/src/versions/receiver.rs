//! The receiver, which needs versions as complete folders.
//!
//! A full version or an adapter is used in its place. A sparse one is applied to a folder that this machine already has, or to the
//! newest full version before it and every version in between. Such folders are made in a state directory, which several
//! receivers of one machine may share: one makes the folder, the others find it.

use std::collections::HashSet;
use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::retention::{REMOVED, remove_version};
use super::{Lease, free_path, published_versions, request_full, version_directory};
use crate::WeightsError;
use crate::checkpoints::Checkpoint;
use crate::manifest::companions::version_files;
use crate::manifest::verified::mark_verified;
use crate::manifest::{BaseVersion, Encoding, MANIFEST_FILE, Manifest, at, read_manifest};
use crate::sparse::{SPARSE_SHARD, SparseVersion, apply_sparse};

/// So many folders stay in the state directory: the newest, and the one before it for engines that still load it.
const KEPT_FOLDERS: usize = 2;
/// Another receiver that makes a folder for longer than this has hung.
const LOCK_DEADLINE: Duration = Duration::from_secs(600);
const LOCK_POLL: Duration = Duration::from_millis(10);
/// Prefix of a folder that is being made.
const UNFINISHED: &str = ".step_";
/// Prefix of a folder that was replaced while a reader held it.
const REPLACED: &str = ".replaced-";

/// A version as a complete folder, held in place until this is dropped.
#[derive(Debug)]
pub struct Received {
    /// The folder.
    pub directory: PathBuf,
    /// The manifest of the folder's weights; never sparse.
    pub manifest: Manifest,
    /// Keeps the folder from being removed.
    pub lease: Lease,
}

/// Gives the versions of a root as complete folders.
#[derive(Debug)]
pub struct WeightReceiver {
    root: PathBuf,
    state: PathBuf,
    threads: usize,
    /// Folders in the state directory whose bytes this receiver has made or checked.
    trusted: HashSet<BaseVersion>,
}

impl WeightReceiver {
    /// Receives the versions in `root`. Folders that are made of sparse ones go to `state`, which should be on a fast local disk or in
    /// memory. `threads` 0 takes the cores this process may run on, up to 8.
    ///
    /// # Errors
    /// [`WeightsError::Io`] when `state` cannot be made.
    pub fn open(root: &Path, state: &Path, threads: usize) -> Result<Self, WeightsError> {
        fs::create_dir_all(state).map_err(WeightsError::io("create", state))?;
        Ok(Self {
            root: root.to_path_buf(),
            state: state.to_path_buf(),
            threads,
            trusted: HashSet::new(),
        })
    }

    /// The version as a complete folder. The digests of a folder made here have been checked; a full version
    /// or an adapter is given as it is ([`Manifest::verify_shards`] checks it).
    ///
    /// # Errors
    /// [`WeightsError::Manifest`] when it is not published, [`WeightsError::Base`] when it is sparse and its base is neither in `state`
    /// nor in `root`, or has a damaged folder, [`WeightsError::Digest`] and [`WeightsError::TensorDigest`] for damage. After the last three,
    /// [`WeightReceiver::request_full`] gets the version in full as long as it is the newest; once there is a newer one,
    /// only that is made full.
    pub fn receive(&mut self, version: u64) -> Result<Received, WeightsError> {
        let (lease, manifest) = self.published(version)?;
        if manifest.encoding != Encoding::Sparse {
            return Ok(Received {
                directory: lease.directory().to_path_buf(),
                manifest,
                lease,
            });
        }
        let _lock = self.lock()?;
        let wanted = BaseVersion {
            version,
            digest: manifest.digest.clone(),
        };
        if let Some(received) = self.have(&wanted)? {
            return Ok(received);
        }
        let target = SparseVersion::open(lease.directory(), manifest)?;
        self.remove_leftovers()?;
        let made = self.make(lease, target).inspect_err(|_| {
            // A version that was begun would keep its disk or memory until the next sparse version comes.
            if let Err(error) = self.remove_leftovers() {
                tracing::warn!(%error, "an unfinished folder stays");
            }
        })?;
        self.drop_old_folders(version)?;
        Ok(made)
    }

    /// Asks the publisher to publish its newest version in full.
    ///
    /// # Errors
    /// [`WeightsError::Io`] when the root cannot be written to.
    pub fn request_full(&self) -> Result<(), WeightsError> {
        request_full(&self.root)
    }

    fn published(&self, version: u64) -> Result<(Lease, Manifest), WeightsError> {
        let directory = version_directory(&self.root, version);
        let missing = || {
            at(
                &directory,
                "there is none, so there is no finished version here".to_owned(),
            )
        };
        let mut lease = Lease::take(&directory)?.ok_or_else(missing)?;
        let mut manifest = read_manifest(&directory)?;
        while !lease.is_current()? {
            lease = Lease::take(&directory)?.ok_or_else(missing)?;
            manifest = read_manifest(&directory)?;
        }
        if manifest.version != version {
            return Err(at(
                &directory,
                format!("it is of version {}, not {version}", manifest.version),
            ));
        }
        Ok((lease, manifest))
    }

    fn lock(&self) -> Result<File, WeightsError> {
        let failed = WeightsError::io("lock", &self.state);
        let lock = File::open(&self.state).map_err(WeightsError::io("open", &self.state))?;
        let started = Instant::now();
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(lock),
                Err(TryLockError::WouldBlock) if started.elapsed() < LOCK_DEADLINE => thread::sleep(LOCK_POLL),
                Err(TryLockError::WouldBlock) => return Err(failed(ErrorKind::TimedOut.into())),
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
        }
    }

    /// The folder of `wanted` in the state directory. A folder that another process left is checked first, and removed when
    /// it is damaged.
    fn have(&mut self, wanted: &BaseVersion) -> Result<Option<Received>, WeightsError> {
        let directory = version_directory(&self.state, wanted.version);
        if !directory.join(MANIFEST_FILE).exists() {
            return Ok(None);
        }
        let Some(lease) = Lease::take(&directory)? else {
            return Ok(None);
        };
        let sound = || -> Result<Manifest, WeightsError> {
            let manifest = read_manifest(&directory)?;
            if !self.trusted.contains(wanted) && manifest.digest == wanted.digest {
                manifest.once(&directory, || {
                    manifest.verify_shards(&directory)?;
                    manifest.verify_version(&directory)
                })?;
                manifest.verify_files(&directory)?;
            }
            Ok(manifest)
        };
        match sound() {
            Ok(manifest) if manifest.digest == wanted.digest => {
                self.trusted.insert(wanted.clone());
                return Ok(Some(Received {
                    directory,
                    manifest,
                    lease,
                }));
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(directory = %directory.display(), %error, "a received version is damaged"),
        }
        drop(lease);
        remove_version(&directory)?;
        Ok(None)
    }

    fn make(&mut self, lease: Lease, target: SparseVersion) -> Result<Received, WeightsError> {
        let mut leases = vec![lease];
        let mut chain = vec![target];
        let base = loop {
            let newest = chain.last().expect("it begins with the target");
            let wanted = newest.base().clone();
            if let Some(received) = self.have(&wanted)? {
                break received;
            }
            let missing = |reason: String| WeightsError::Base {
                path: newest.directory().to_path_buf(),
                version: wanted.version,
                digest: wanted.digest.clone(),
                reason,
            };
            let (lease, manifest) = self
                .published(wanted.version)
                .map_err(|error| missing(format!("that is neither here nor published: {error}")))?;
            if manifest.digest != wanted.digest {
                return Err(missing(format!("the one published has digest {}", manifest.digest)));
            }
            let directory = lease.directory().to_path_buf();
            match manifest.encoding {
                Encoding::Full => {
                    break Received {
                        directory,
                        manifest,
                        lease,
                    };
                }
                Encoding::Peft => return Err(missing("the one published is a PEFT adapter".to_owned())),
                Encoding::Sparse => {
                    chain.push(SparseVersion::open(&directory, manifest)?);
                    leases.push(lease);
                }
            }
        };
        chain.reverse();
        self.apply(&base, &chain)
    }

    fn apply(&mut self, base: &Received, chain: &[SparseVersion]) -> Result<Received, WeightsError> {
        let target = chain.last().expect("it ends with the target").manifest();
        let directory = version_directory(&self.state, target.version);
        let unfinished = self.state.join(format!("{UNFINISHED}{}", target.version));
        fs::create_dir(&unfinished).map_err(WeightsError::io("create", &unfinished))?;
        let of_base = |error| damage_of_base(error, &chain[0]);
        let weights = Checkpoint::open(&base.directory).map_err(of_base)?;
        let written = apply_sparse(&weights, chain, &unfinished, self.threads).map_err(of_base)?;
        for name in version_files(&base.directory)? {
            let copy = unfinished.join(&name);
            let belongs = match &target.files {
                Some(files) => files.iter().any(|file| file.file == name),
                None => !name.ends_with(".safetensors"),
            };
            if belongs && !copy.exists() {
                fs::copy(base.directory.join(&name), &copy).map_err(WeightsError::io("copy to", &copy))?;
            }
        }
        let manifest = Manifest {
            base: None,
            encoding: Encoding::Full,
            shards: written.shards,
            ..target.clone()
        };
        manifest.verify_files(&unfinished).map_err(of_base)?;
        manifest.write_unsynced(&unfinished)?;
        mark_verified(&unfinished, &manifest.shards);
        self.make_room(&directory)?;
        fs::rename(&unfinished, &directory).map_err(WeightsError::io("rename a finished version to", &directory))?;
        let lease = Lease::take(&directory)?.ok_or_else(|| at(&directory, "it was removed at once".to_owned()))?;
        self.trusted.insert(BaseVersion {
            version: manifest.version,
            digest: manifest.digest.clone(),
        });
        Ok(Received {
            directory,
            manifest,
            lease,
        })
    }

    /// Frees the place of a folder. A folder of an earlier attempt that a reader still holds is moved aside, as a publisher does in its root.
    fn make_room(&self, directory: &Path) -> Result<(), WeightsError> {
        if remove_version(directory)? || !directory.exists() {
            return Ok(());
        }
        let name = directory.file_name().unwrap_or_default().display();
        let aside = free_path(&self.state, &format!("{REPLACED}{name}"));
        fs::rename(directory, &aside).map_err(WeightsError::io("move aside", directory))
    }

    /// Removes what is no folder of a version: replaced ones that no reader holds any more, and those that a killed receiver did not finish or was
    /// removing. The lock is held, so no other receiver is making a folder.
    fn remove_leftovers(&self) -> Result<(), WeightsError> {
        for entry in fs::read_dir(&self.state).map_err(WeightsError::io("list", &self.state))? {
            let path = entry.map_err(WeightsError::io("list", &self.state))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let is_leftover = [UNFINISHED, REPLACED, REMOVED]
                .iter()
                .any(|prefix| name.starts_with(prefix))
                || (name.starts_with("step_") && !path.join(MANIFEST_FILE).exists());
            if is_leftover && path.is_dir() {
                remove_version(&path)?;
            }
        }
        Ok(())
    }

    fn drop_old_folders(&mut self, newest: u64) -> Result<(), WeightsError> {
        let folders = published_versions(&self.state)?;
        for &version in folders
            .iter()
            .rev()
            .filter(|&&version| version <= newest)
            .skip(KEPT_FOLDERS)
        {
            if remove_version(&version_directory(&self.state, version))? {
                self.trusted.retain(|folder| folder.version != version);
            }
        }
        Ok(())
    }
}

/// Names what keeps a chain from being applied as damage to the folder that it applies to: a lost or shortened file, other tensors. The digests of the
/// sparse versions were compared when they were opened, so their changes are as they were published, which may be malformed.
fn damage_of_base(error: WeightsError, first: &SparseVersion) -> WeightsError {
    let is_of_changes = matches!(&error, WeightsError::Format { kind, .. } if *kind == SPARSE_SHARD);
    match &error {
        WeightsError::Manifest { .. } | WeightsError::Format { .. } | WeightsError::Tensor { .. } => {}
        WeightsError::Io { source, .. } if source.kind() == ErrorKind::NotFound => {}
        _ => return error,
    }
    let BaseVersion { version, digest } = first.base().clone();
    WeightsError::Base {
        path: first.directory().to_path_buf(),
        version,
        digest,
        reason: match is_of_changes {
            true => format!("its changes cannot be applied: {error}"),
            false => format!("its folder is damaged: {error}"),
        },
    }
}
