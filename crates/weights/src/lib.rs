//! Weights on disk: safetensors files, Hugging Face folders, digests and version manifests.
//!
//! A file is accepted only when its header and its length agree in every respect. The verdicts are those of the
//! reference `safetensors` crate, but stricter in the points that `header` lists. A write either replaces the old file
//! whole or leaves it untouched. This crate's README specifies the byte layouts that prl defines.
//!
//! ```
//! use prl_weights::{
//!     Checkpoint, Dtype, Encoding, PublisherOptions, Staged, TensorToWrite, WeightPublisher, WeightReceiver,
//!     write_checkpoint,
//! };
//!
//! let root = tempfile::tempdir()?;
//! let options = PublisherOptions { keep: 2, sparse: true, threads: 0 };
//! let mut publisher = WeightPublisher::open(root.path(), options)?;
//! let mut weights = vec![0_u8; 2 * 10_000];
//! for version in 0..2_u8 {
//!     // One element of bf16 changes from version to version.
//!     weights[0] = version;
//!     let folder = publisher.stage(version.into())?;
//!     let tensor = TensorToWrite { name: "w", dtype: Dtype::BF16, shape: &[100, 100], data: &weights };
//!     let written = write_checkpoint(&folder, &[tensor], 1 << 30)?;
//!     let staged = Staged { digest: written.digest, shards: written.shards };
//!     let published = publisher.publish(version.into(), staged, None, false)?;
//!     assert_eq!(published.manifest.encoding, if version == 0 { Encoding::Full } else { Encoding::Sparse });
//! }
//!
//! let state = tempfile::tempdir()?;
//! let received = WeightReceiver::open(root.path(), state.path(), 0)?.receive(1)?;
//! received.manifest.verify_shards_once(&received.directory)?;
//! let folder = Checkpoint::open(&received.directory)?;
//! assert_eq!(folder.tensor("w")?.data, weights);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! This crate knows bytes, not models. Its callers decide which tensors a model needs, how dtypes are converted, and who may
//! read a version when.

mod checkpoints;
mod diff;
mod digest;
mod dtype;
mod error;
mod files;
mod manifest;
mod parallel;
mod reshard;
mod sparse;
mod versions;

pub use checkpoints::Checkpoint;
pub use checkpoints::adapter::{ADAPTER_CONFIG_FILE, ADAPTER_WEIGHTS_FILE, Adapter};
pub use checkpoints::load::{ALIGN_BYTES, LoadedWeights};
pub use checkpoints::shards::{INDEX_FILE, SINGLE_FILE, WrittenCheckpoint, write_checkpoint};
pub use diff::{Change, TensorDiff, diff, diff_folders};
pub use digest::{Hasher, VersionHasher, digest, digest_file, is_digest, version_digest};
pub use dtype::Dtype;
pub use error::WeightsError;
pub use files::durable::{create_directory, replace_file, sync_directory};
pub use files::header::{Header, MAX_HEADER_BYTES, TensorInfo, parse};
pub use files::write::{
    TensorToWrite, WriteOptions, WrittenFile, data_digest, encode_header, to_bytes, write_safetensors,
};
pub use files::writeback::Writeback;
pub use files::{SafetensorsFile, Shard, TensorView};
pub use manifest::companions::{companion_files, version_files};
pub use manifest::verified::mark_verified;
pub use manifest::{
    BaseVersion, Canary, Encoding, MANIFEST_FILE, MANIFEST_FORMAT, Manifest, read_manifest, write_manifest,
};
pub use reshard::{
    Cut, Layout, LayoutRules, Part, Region, ReshardPlan, Resharded, Rule, TensorShape, Transfer, rank_directory,
    reshard_folders,
};
pub use sparse::{
    Coding, SparseOptions, SparseRecord, SparseVersion, apply_sparse, decode_tensor, encode_tensor, write_sparse,
};
pub use versions::{
    Lease, Published, PublisherOptions, Received, Staged, WeightPublisher, WeightReceiver, published_versions,
    remove_version, request_full, retain_versions, version_directory,
};
