//! The contents of a version: its manifest byte for byte, and length and digest of every other file.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::Path;

use prl_weights::{Encoding, INDEX_FILE, MANIFEST_FILE, Manifest, Shard, digest_file, version_files};
use prost::Message;
use twox_hash::XxHash3_64;

use crate::TransportError;
use crate::chunk::{from_hex, hex};
use crate::pb;

/// Most files of one version; a folder with more is no version.
const MAX_FILES: usize = 100_000;

/// Longest name of a file on any system that we know.
const MAX_NAME_BYTES: usize = 255;
/// Most bytes of one version. Its files are mapped, and an address has 47 bits.
const MAX_BYTES: u64 = 1 << 46;

/// A described version.
#[derive(Debug, Clone)]
pub(crate) struct Description {
    pub(crate) wire: pb::Version,
    pub(crate) manifest: Manifest,
    /// Digest of the encoded `wire`: nodes with equal digests mean the same bytes.
    pub(crate) id: u64,
}

impl Description {
    /// Describes the version in a directory; `None` when there is none, or it is being replaced.
    ///
    /// Digests come from the manifest. Files of the version that it does not list are small and are digested here.
    pub(crate) fn of_directory(directory: &Path) -> Result<Option<Self>, TransportError> {
        let Some(text) = manifest_text(directory)? else {
            return Ok(None);
        };
        let manifest = Manifest::from_json(&text, &directory.join(MANIFEST_FILE))?;
        let files = described_files(directory, &manifest);
        // A version that was replaced meanwhile has another manifest, or none for a moment. Its files may be missing then.
        if manifest_text(directory)?.as_ref() != Some(&text) {
            return Ok(None);
        }
        let wire = pb::Version {
            version: manifest.version,
            manifest: text.into(),
            files: files?,
        };
        Self::from_wire(wire).map(Some)
    }

    /// Checks the description from another node.
    ///
    /// # Errors
    /// [`TransportError::Version`] when it contradicts itself or names files that must not be written.
    pub(crate) fn from_wire(wire: pb::Version) -> Result<Self, TransportError> {
        let wrong =
            |reason: String| TransportError::Version(format!("description of version {}: {reason}", wire.version));
        let manifest =
            Manifest::from_json(&wire.manifest, Path::new(MANIFEST_FILE)).map_err(|error| wrong(error.to_string()))?;
        if manifest.version != wire.version {
            return Err(wrong(format!("its manifest is of version {}", manifest.version)));
        }
        if let Some(base) = manifest.base.as_ref().filter(|base| base.version >= wire.version) {
            return Err(wrong(format!("its base, version {}, is not older", base.version)));
        }
        if wire.files.len() > MAX_FILES {
            return Err(wrong(format!("it has {} files", wire.files.len())));
        }
        let bytes = wire
            .files
            .iter()
            .fold(0_u64, |sum, file| sum.saturating_add(file.bytes));
        if bytes > MAX_BYTES {
            return Err(wrong(format!("it has {bytes} bytes")));
        }
        let mut described = HashMap::new();
        for file in &wire.files {
            if !is_shipped(&file.name) || described.insert(file.name.as_str(), file).is_some() {
                return Err(wrong(format!("file {:?} is no plain name, or occurs twice", file.name)));
            }
        }
        for listed in listed_files(&manifest) {
            let file = described.get(listed.file.as_str());
            if !file.is_some_and(|file| file.bytes == listed.bytes && hex(file.digest) == listed.digest) {
                return Err(wrong(format!("file {} is not as its manifest says", listed.file)));
            }
        }
        let id = XxHash3_64::oneshot(&wire.encode_to_vec());
        Ok(Self { wire, manifest, id })
    }

    pub(crate) fn files(&self) -> &[pb::File] {
        &self.wire.files
    }

    pub(crate) fn is_sparse(&self) -> bool {
        self.manifest.encoding == Encoding::Sparse
    }

    /// The version's name in messages.
    pub(crate) fn name(&self) -> String {
        format!("weight version {} ({})", self.manifest.version, self.manifest.digest)
    }
}

/// Length and digest of every file of the version.
fn described_files(directory: &Path, manifest: &Manifest) -> Result<Vec<pb::File>, TransportError> {
    let mut files = Vec::new();
    for name in version_files(directory)? {
        if !is_of_version(manifest, &name) {
            continue;
        }
        let listed = listed_files(manifest).find(|file| file.file == name);
        let (digest, bytes) = match listed {
            Some(file) => (file.digest.clone(), file.bytes),
            None => digest_file(&directory.join(&name))?,
        };
        let digest = from_hex(&digest).unwrap_or_default();
        files.push(pb::File { name, bytes, digest });
    }
    Ok(files)
}

/// The files of the version's directory whose digests its manifest has. For a sparse version these are the shards only: its other files
/// are in the directory of its base.
fn listed_files(manifest: &Manifest) -> impl Iterator<Item = &Shard> {
    let beside = match manifest.encoding {
        Encoding::Sparse => None,
        Encoding::Full | Encoding::Peft => manifest.files.as_ref(),
    };
    manifest.shards.iter().chain(beside.into_iter().flatten())
}

/// Whether a file of the directory is part of the version. A manifest that lists the files beside the shards lists everything but their index. Any
/// other file belongs to the version's other encoding, in which a publisher that makes a sparse version full keeps the delta and adds the weights
/// before the new manifest, or was put there later.
fn is_of_version(manifest: &Manifest, name: &str) -> bool {
    let is_index = name == INDEX_FILE && manifest.encoding != Encoding::Sparse;
    manifest.files.is_none() || is_index || listed_files(manifest).any(|file| file.file == name)
}

/// `manifest.json` of a directory; `None` when there is none.
pub(crate) fn manifest_text(directory: &Path) -> Result<Option<Vec<u8>>, TransportError> {
    let path = directory.join(MANIFEST_FILE);
    match fs::read(&path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(TransportError::io("read", &path)(error)),
    }
}

/// Whether a file is sent as a file of the version. The manifest is not, because it comes last; hidden and temporary files are not either.
fn is_shipped(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= MAX_NAME_BYTES
        && !name.starts_with('.')
        && name != MANIFEST_FILE
        && !name.contains(['/', '\\', '\0', ':'])
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use prl_weights::{
        Dtype, PublisherOptions, SINGLE_FILE, Staged, TensorToWrite, WeightPublisher, version_directory,
        write_checkpoint,
    };

    use super::*;
    use crate::weights::one_shard;

    fn publish(publisher: &mut WeightPublisher, version: u64) -> Encoding {
        let directory = publisher.stage(version).expect("staged");
        let mut data = [1; 20_000];
        data[0] = u8::try_from(version).expect("few");
        let tensor = TensorToWrite {
            name: "w",
            dtype: Dtype::BF16,
            shape: &[10_000],
            data: &data,
        };
        let written = write_checkpoint(&directory, &[tensor], u64::MAX).expect("weights");
        fs::write(directory.join("config.json"), "{}").expect("a config");
        let staged = Staged {
            digest: written.digest,
            shards: written.shards,
        };
        let published = publisher.publish(version, staged, None, false).expect("published");
        published.manifest.encoding
    }

    #[test]
    fn a_version_is_described_without_the_files_of_its_other_encoding() {
        let root = tempfile::tempdir().expect("a folder");
        let options = PublisherOptions {
            keep: 2,
            sparse: true,
            threads: 1,
        };
        let mut publisher = WeightPublisher::open(root.path(), options).expect("a root");
        assert_eq!(publish(&mut publisher, 0), Encoding::Full);
        assert_eq!(publish(&mut publisher, 1), Encoding::Sparse);
        let names = || -> Vec<String> {
            let directory = version_directory(root.path(), 1);
            let described = Description::of_directory(&directory).expect("read").expect("a version");
            described.files().iter().map(|file| file.name.clone()).collect()
        };
        assert_eq!(names(), ["delta.safetensors"]);
        // This is how far a publisher is that adds the full weights.
        let full = version_directory(root.path(), 0).join(SINGLE_FILE);
        let early = version_directory(root.path(), 1).join(SINGLE_FILE);
        fs::copy(full, &early).expect("copied");
        assert_eq!(names(), ["delta.safetensors"]);
        fs::remove_file(early).expect("removed");
        publisher.make_newest_full().expect("made").expect("full");
        assert_eq!(names(), ["config.json", SINGLE_FILE]);
    }

    /// A version that cannot be received is the source's mistake, so that the next source is asked. An error of the system would end the pull.
    #[test]
    fn a_description_that_no_disk_can_hold_is_refused() {
        let directory = tempfile::tempdir().expect("a folder");
        one_shard::publish(directory.path(), b"weights");
        let described = Description::of_directory(directory.path())
            .expect("read")
            .expect("a version");
        for (name, bytes) in [
            ("a".repeat(256), 1),
            ("a".to_owned(), u64::MAX),
            ("a".to_owned(), MAX_BYTES),
        ] {
            let mut wire = described.wire.clone();
            wire.files.push(pb::File { name, bytes, digest: 1 });
            let error = Description::from_wire(wire).expect_err("too much");
            assert_eq!(error.code(), "PRL_TRANSPORT_VERSION");
        }
    }

    #[test]
    fn a_version_that_is_replaced_meanwhile_is_none_and_no_error() {
        const ATTEMPTS: usize = 300;
        let root = tempfile::tempdir().expect("a folder");
        let path = |name: String| root.path().join(name);
        for attempt in 0..ATTEMPTS {
            let directory = path(format!("attempt_{attempt}"));
            fs::create_dir(&directory).expect("a folder");
            let weights = attempt.to_string();
            fs::write(directory.join(SINGLE_FILE), &weights).expect("a shard");
            for number in 0..8 {
                fs::write(directory.join(format!("{attempt}_{number}.json")), "{}").expect("a file");
            }
            let manifest = one_shard::manifest(weights.as_bytes());
            let text = serde_json::to_vec(&manifest).expect("text");
            fs::write(directory.join(MANIFEST_FILE), text).expect("a manifest");
        }
        let place = path("step_1".to_owned());
        thread::scope(|scope| {
            let replacing = scope.spawn(|| {
                for attempt in 0..ATTEMPTS {
                    if attempt > 0 {
                        fs::rename(&place, path(format!("old_{attempt}"))).expect("retired");
                    }
                    fs::rename(path(format!("attempt_{attempt}")), &place).expect("in place");
                    thread::sleep(Duration::from_micros(200));
                }
            });
            while !replacing.is_finished() {
                Description::of_directory(&place).expect("no error");
            }
        });
    }
}
