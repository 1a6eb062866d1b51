//! Publishing, receiving, checking and comparing weight versions.

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

/// A file of staged weights.
#[napi(object, use_nullable = true)]
pub struct NativeStagedShard {
    /// Its name in the staged folder.
    pub file: String,
    /// Its length.
    pub bytes: f64,
    /// Of its bytes.
    pub digest: String,
}

/// A version as it stands on disk.
#[napi(object, use_nullable = true)]
pub struct NativePublished {
    /// Its directory.
    pub dir: String,
    /// Its manifest, JSON.
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

/// Publishes versions into a root.
#[napi]
pub struct NativeWeightPublisher {
    publisher: Arc<Mutex<Option<WeightPublisher>>>,
}

#[napi]
impl NativeWeightPublisher {
    /// Takes the root for itself.
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

    /// An empty folder for a version's files.
    #[napi(catch_unwind)]
    pub fn stage<'env>(&self, env: &'env Env, version: f64) -> napi::Result<PromiseRaw<'env, String>> {
        let version = whole("version", version)?;
        self.run(env, move |publisher| Ok(text(&publisher.stage(version)?)))
    }

    /// Publishes what was staged; `canary` is JSON or null.
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
        let shards = shards
            .into_iter()
            .map(|shard| {
                Ok(Shard {
                    bytes: whole("bytes", shard.bytes)?,
                    file: shard.file,
                    digest: shard.digest,
                })
            })
            .collect::<Result<_, NativeError>>()?;
        self.run(env, move |publisher| {
            let canary = scored(canary)?;
            let staged = Staged { digest, shards };
            NativePublished::new(&publisher.publish(version, staged, canary, full)?)
        })
    }

    /// Publishes a copy of a folder; `canary` is JSON or null.
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

    /// Makes the newest version full; false when it is.
    #[napi(catch_unwind)]
    pub fn make_newest_full<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, bool>> {
        self.run(env, |publisher| Ok(publisher.make_newest_full()?.is_some()))
    }

    /// The same when a receiver has asked for it.
    #[napi(catch_unwind)]
    pub fn serve_full_request<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, bool>> {
        self.run(env, |publisher| Ok(publisher.serve_full_request()?.is_some()))
    }

    /// Lets another publisher have the root.
    #[napi(catch_unwind)]
    pub fn close<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, ()>> {
        let publisher = Arc::clone(&self.publisher);
        blocking(env, move || {
            drop(publisher.lock().map_err(|_| closed("publisher"))?.take());
            Ok(())
        })
    }
}

/// A received version, held until it is released.
#[napi]
pub struct NativeReceivedWeights {
    dir: String,
    manifest: String,
    lease: Option<Lease>,
}

#[napi]
impl NativeReceivedWeights {
    /// The complete folder.
    #[napi(catch_unwind)]
    pub fn dir(&self) -> String {
        self.dir.clone()
    }

    /// Its manifest, JSON.
    #[napi(catch_unwind)]
    pub fn manifest(&self) -> String {
        self.manifest.clone()
    }

    /// Lets retention remove it.
    #[napi(catch_unwind)]
    pub fn release(&mut self) {
        self.lease = None;
    }
}

/// Receives the versions of a root.
#[napi]
pub struct NativeWeightReceiver {
    receiver: Arc<Mutex<WeightReceiver>>,
}

#[napi]
impl NativeWeightReceiver {
    /// Folders made of sparse versions go to `state`.
    #[napi(catch_unwind)]
    pub fn open(env: &Env, root: String, state: String) -> napi::Result<PromiseRaw<'_, NativeWeightReceiver>> {
        blocking(env, move || {
            let receiver = WeightReceiver::open(Path::new(&root), Path::new(&state), 0)?;
            Ok(Self {
                receiver: Arc::new(Mutex::new(receiver)),
            })
        })
    }

    /// A version as a complete folder.
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

    /// Asks the publisher for its newest version in full.
    #[napi(catch_unwind)]
    pub fn request_full<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, ()>> {
        let receiver = Arc::clone(&self.receiver);
        blocking(env, move || {
            Ok(receiver.lock().map_err(|_| closed("receiver"))?.request_full()?)
        })
    }
}

/// Checks a version's files against its manifest, and its tensors against its version digest; the manifest as JSON.
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
    /// Its name.
    pub name: String,
    /// As in a header.
    pub dtype: String,
    /// Row-major.
    pub shape: Vec<f64>,
    /// same, values, layout, removed or added.
    pub change: String,
    /// Elements that differ.
    pub changed: f64,
    /// Elements that there are.
    pub elements: f64,
    /// What a sparse version spends on it.
    pub sparse_bytes: f64,
}

/// Compares the weights of two complete folders, models or adapters.
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

/// What resharding did.
#[napi(object, use_nullable = true)]
pub struct NativeResharded {
    /// Folders that were written, by target rank.
    pub dirs: Vec<String>,
    /// Tensors there are.
    pub tensors: f64,
    /// Bytes that leave the source ranks, each once.
    pub sent_bytes: f64,
    /// Bytes that the target ranks have together.
    pub written_bytes: f64,
}

/// Rewrites the folders of ranks for other ranks; layouts are `whole`, `fsdp:<n>`, `tp:<n>` or rules as JSON.
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
