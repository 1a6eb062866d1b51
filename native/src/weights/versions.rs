//! Publishing, receiving, checking and comparing weight versions.

#![expect(
    clippy::too_many_arguments,
    reason = "JavaScript passes the arguments of an export one by one"
)]

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use napi::bindgen_prelude::{Env, PromiseRaw};
use napi_derive::napi;
use prl_weights::{
    Canary, Change, LayoutRules, Lease, Manifest, Published, PublisherOptions, Shard, Staged, WeightPublisher,
    WeightReceiver, rank_directory, reshard_folders,
};

use crate::error::NativeError;
use crate::numbers::{size, whole};
use crate::runtime::blocking;

use super::malformed;

/// A weights file in the staging folder.
#[napi(object, use_nullable = true)]
pub struct NativeStagedShard {
    /// Its name in the folder.
    pub file: String,
    pub bytes: f64,
    /// XXH3-64 of its bytes.
    pub digest: String,
}

/// A version that was published.
#[napi(object, use_nullable = true)]
pub struct NativePublished {
    pub dir: String,
    /// JSON.
    pub manifest: String,
}

impl NativePublished {
    fn new(published: &Published) -> Result<Self, NativeError> {
        Ok(Self {
            dir: text(&published.directory),
            manifest: serde_json::to_string(&published.manifest).map_err(malformed)?,
        })
    }
}

fn scored(canary: Option<String>) -> Result<Option<Canary>, NativeError> {
    canary
        .map(|canary| serde_json::from_str(&canary).map_err(malformed))
        .transpose()
}

fn staged(digest: String, shards: Vec<NativeStagedShard>) -> Result<Staged, NativeError> {
    let shards = shards.into_iter().map(|shard| {
        Ok(Shard {
            bytes: whole("bytes", shard.bytes)?,
            file: shard.file,
            digest: shard.digest,
        })
    });
    Ok(Staged {
        digest,
        shards: shards.collect::<Result<_, NativeError>>()?,
    })
}

/// Publishes versions into a root folder.
#[napi]
pub struct NativeWeightPublisher {
    publisher: Arc<Mutex<Option<WeightPublisher>>>,
}

#[napi]
impl NativeWeightPublisher {
    /// Locks the root against other publishers. `keep` versions stay in it.
    #[napi(catch_unwind)]
    pub fn open(
        env: &Env,
        root: String,
        keep: f64,
        sparse: bool,
    ) -> napi::Result<PromiseRaw<'_, NativeWeightPublisher>> {
        let keep = size("keep", keep)?;
        blocking(env, move || {
            let options = PublisherOptions {
                keep,
                sparse,
                threads: 0,
            };
            let publisher = WeightPublisher::open(Path::new(&root), options)?;
            Ok(Self {
                publisher: Arc::new(Mutex::new(Some(publisher))),
            })
        })
    }

    fn run<'env, T>(
        &self,
        env: &'env Env,
        work: impl FnOnce(&mut WeightPublisher) -> Result<T, NativeError> + Send + 'static,
    ) -> napi::Result<PromiseRaw<'env, T>>
    where
        T: napi::bindgen_prelude::ToNapiValue + Send + 'static,
    {
        let publisher = Arc::clone(&self.publisher);
        blocking(env, move || {
            let mut publisher = publisher.lock().map_err(|_| closed("publisher"))?;
            work(publisher.as_mut().ok_or_else(|| closed("publisher"))?)
        })
    }

    /// Makes an empty folder for a version's files.
    #[napi(catch_unwind)]
    pub fn stage<'env>(&self, env: &'env Env, version: f64) -> napi::Result<PromiseRaw<'env, String>> {
        let version = whole("version", version)?;
        self.run(env, move |publisher| Ok(text(&publisher.stage(version)?)))
    }

    /// Publishes the staged version. `canary` is JSON or null.
    #[napi(catch_unwind)]
    pub fn publish<'env>(
        &self,
        env: &'env Env,
        version: f64,
        digest: String,
        shards: Vec<NativeStagedShard>,
        canary: Option<String>,
        full: bool,
    ) -> napi::Result<PromiseRaw<'env, NativePublished>> {
        let version = whole("version", version)?;
        let staged = staged(digest, shards)?;
        self.run(env, move |publisher| {
            let canary = scored(canary)?;
            NativePublished::new(&publisher.publish(version, staged, canary, full)?)
        })
    }

    /// Makes an empty folder for the files of a version that an earlier publisher has published.
    #[napi(catch_unwind)]
    pub fn stage_again<'env>(&self, env: &'env Env, version: f64) -> napi::Result<PromiseRaw<'env, String>> {
        let version = whole("version", version)?;
        self.run(env, move |publisher| Ok(text(&publisher.stage_again(version)?)))
    }

    /// Takes that folder for the newest version; returns false when it is of no use.
    #[napi(catch_unwind)]
    pub fn take_over<'env>(
        &self,
        env: &'env Env,
        version: f64,
        digest: String,
        shards: Vec<NativeStagedShard>,
    ) -> napi::Result<PromiseRaw<'env, bool>> {
        let version = whole("version", version)?;
        let staged = staged(digest, shards)?;
        self.run(env, move |publisher| Ok(publisher.take_over(version, staged)?))
    }

    /// Publishes a copy of a folder. `canary` is JSON or null.
    #[napi(catch_unwind)]
    pub fn publish_folder<'env>(
        &self,
        env: &'env Env,
        version: f64,
        folder: String,
        canary: Option<String>,
        full: bool,
    ) -> napi::Result<PromiseRaw<'env, NativePublished>> {
        let version = whole("version", version)?;
        self.run(env, move |publisher| {
            let canary = scored(canary)?;
            NativePublished::new(&publisher.publish_folder(version, Path::new(&folder), canary, full)?)
        })
    }

    /// Makes the newest version full; returns false when it already is.
    #[napi(catch_unwind)]
    pub fn make_newest_full<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, bool>> {
        self.run(env, |publisher| Ok(publisher.make_newest_full()?.is_some()))
    }

    /// Does the same when a receiver has asked for it; returns false when there was nothing to do.
    #[napi(catch_unwind)]
    pub fn serve_full_request<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, bool>> {
        self.run(env, |publisher| Ok(publisher.serve_full_request()?.is_some()))
    }

    /// Gives up the lock on the root.
    #[napi(catch_unwind)]
    pub fn close<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, ()>> {
        let publisher = Arc::clone(&self.publisher);
        blocking(env, move || {
            drop(publisher.lock().map_err(|_| closed("publisher"))?.take());
            Ok(())
        })
    }
}

/// A received version, kept until it is released.
#[napi]
pub struct NativeReceivedWeights {
    dir: String,
    manifest: String,
    lease: Option<Lease>,
}

#[napi]
impl NativeReceivedWeights {
    /// The folder, which is complete even for a sparse version.
    #[napi(catch_unwind)]
    pub fn dir(&self) -> String {
        self.dir.clone()
    }

    /// JSON.
    #[napi(catch_unwind)]
    pub fn manifest(&self) -> String {
        self.manifest.clone()
    }

    /// Allows the folder to be removed.
    #[napi(catch_unwind)]
    pub fn release(&mut self) {
        self.lease = None;
    }
}

/// Receives the versions of a root folder.
#[napi]
pub struct NativeWeightReceiver {
    receiver: Arc<Mutex<WeightReceiver>>,
}

#[napi]
impl NativeWeightReceiver {
    /// Complete folders that are made from sparse versions go to `state`.
    #[napi(catch_unwind)]
    pub fn open(env: &Env, root: String, state: String) -> napi::Result<PromiseRaw<'_, NativeWeightReceiver>> {
        blocking(env, move || {
            let receiver = WeightReceiver::open(Path::new(&root), Path::new(&state), 0)?;
            Ok(Self {
                receiver: Arc::new(Mutex::new(receiver)),
            })
        })
    }

    /// Returns a version as a complete folder.
    #[napi(catch_unwind)]
    pub fn receive<'env>(&self, env: &'env Env, version: f64) -> napi::Result<PromiseRaw<'env, NativeReceivedWeights>> {
        let version = whole("version", version)?;
        let receiver = Arc::clone(&self.receiver);
        blocking(env, move || {
            let received = receiver.lock().map_err(|_| closed("receiver"))?.receive(version)?;
            Ok(NativeReceivedWeights {
                dir: text(&received.directory),
                manifest: serde_json::to_string(&received.manifest).map_err(malformed)?,
                lease: Some(received.lease),
            })
        })
    }

    /// Asks the publisher to make its newest version full.
    #[napi(catch_unwind)]
    pub fn request_full<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, ()>> {
        let receiver = Arc::clone(&self.receiver);
        blocking(env, move || {
            Ok(receiver.lock().map_err(|_| closed("receiver"))?.request_full()?)
        })
    }
}

/// Checks a version's files against its manifest, and its tensors against its version digest. Returns the manifest as JSON.
#[napi(catch_unwind)]
pub fn verify_weights(env: &Env, dir: String) -> napi::Result<PromiseRaw<'_, String>> {
    blocking(env, move || {
        let dir = PathBuf::from(dir);
        let manifest: Manifest = prl_weights::read_manifest(&dir)?;
        manifest.verify_shards(&dir)?;
        manifest.verify_version(&dir)?;
        manifest.verify_files(&dir)?;
        manifest.refuse_unlisted(&dir)?;
        serde_json::to_string(&manifest).map_err(malformed)
    })
}

/// How a tensor differs between two folders.
#[napi(object, use_nullable = true)]
pub struct NativeTensorDiff {
    pub name: String,
    /// As the header names it.
    pub dtype: String,
    pub shape: Vec<f64>,
    /// same | values | layout | removed | added.
    pub change: String,
    /// Number of elements that differ.
    pub changed: f64,
    /// Number of all elements.
    pub elements: f64,
    /// Bytes that a sparse version needs for it.
    pub sparse_bytes: f64,
}

/// Compares the weights of two complete folders, of models or adapters.
#[napi(catch_unwind)]
pub fn diff_weights(env: &Env, base_dir: String, dir: String) -> napi::Result<PromiseRaw<'_, Vec<NativeTensorDiff>>> {
    blocking(env, move || {
        let tensors = prl_weights::diff_folders(Path::new(&base_dir), Path::new(&dir), 0)?;
        Ok(tensors.into_iter().map(NativeTensorDiff::from).collect())
    })
}

impl From<prl_weights::TensorDiff> for NativeTensorDiff {
    fn from(tensor: prl_weights::TensorDiff) -> Self {
        let change = match tensor.change {
            Change::Same => "same",
            Change::Values => "values",
            Change::Layout => "layout",
            Change::Removed => "removed",
            Change::Added => "added",
        };
        Self {
            name: tensor.name,
            dtype: tensor.dtype.name().to_owned(),
            shape: tensor.shape.into_iter().map(|dim| dim as f64).collect(),
            change: change.to_owned(),
            changed: tensor.changed as f64,
            elements: tensor.elements as f64,
            sparse_bytes: tensor.sparse_bytes as f64,
        }
    }
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

fn closed(what: &str) -> NativeError {
    NativeError::new("PRL_WEIGHTS_IO", format!("the weight {what} is closed"))
}

#[napi(object, use_nullable = true)]
pub struct NativeResharded {
    /// The folders that were written, by target rank.
    pub dirs: Vec<String>,
    /// Number of tensors.
    pub tensors: f64,
    /// Bytes that leave the source ranks, each counted once.
    pub sent_bytes: f64,
    /// Bytes of all target ranks together.
    pub written_bytes: f64,
}

/// Rewrites the folders of one set of ranks for another. A layout is `whole`, `fsdp:<n>`, `tp:<n>` or rules as JSON.
#[napi(catch_unwind)]
pub fn reshard_weights(
    env: &Env,
    from: String,
    source: String,
    to: String,
    target: String,
    max_shard_bytes: f64,
) -> napi::Result<PromiseRaw<'_, NativeResharded>> {
    let max_shard_bytes = whole("maxShardBytes", max_shard_bytes)?;
    blocking(env, move || {
        let (source, target) = (source.parse::<LayoutRules>()?, target.parse::<LayoutRules>()?);
        let to = PathBuf::from(to);
        let done = reshard_folders(Path::new(&from), &source, &to, &target, max_shard_bytes)?;
        let dirs = (0..done.ranks.len()).map(|rank| text(&rank_directory(&to, &target, rank)));
        Ok(NativeResharded {
            dirs: dirs.collect(),
            tensors: done.tensors as f64,
            sent_bytes: done.sent_bytes as f64,
            written_bytes: done.written_bytes as f64,
        })
    })
}
