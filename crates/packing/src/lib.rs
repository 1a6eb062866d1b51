//! Sequence packing: which samples share a micro-batch, and the columns that a trainer rank reads.
//!
//! [`pack_sequences`] makes a plan from lengths alone; [`build_batch`] turns samples and a plan into one [`Batch`] per
//! rank; [`batch_to_file`] and [`BatchFile`] carry a batch between processes. [`Rollout`] keeps the samples of an episode
//! from its arrival on, and [`SampleSet`] packs a step's choice of them. Everything is deterministic, and no sample is
//! ever divided, dropped or repeated.
//!
//! ```
//! use prl_packing::{
//!     Advantages, BatchFile, BatchMetadata, BuildOptions, Cost, SampleRef, UNSAMPLED, batch_to_file, pack_batches,
//! };
//!
//! // Two prompt tokens, then two that version 7 of the policy sampled.
//! let sample = SampleRef {
//!     token_ids: &[11, 12, 13, 14],
//!     mask: &[0, 0, 1, 1],
//!     logprobs: &[0.0, 0.0, -0.5, -0.25],
//!     advantages: Advantages::Uniform(1.0),
//!     temperature: 1.0,
//!     env_id: 0,
//!     version_spans: &[[0, UNSAMPLED], [2, 7]],
//!     unbroken: &[],
//!     rl_weights: None,
//!     ce_weights: None,
//!     ref_kl_weights: None,
//!     reference_logprobs: None,
//!     routed_experts: None,
//! };
//! let options = BuildOptions { ranks: 2, seq_len: 8, pad_to_multiple_of: 4, pad_token_id: 0 };
//! let batches = pack_batches(&[sample; 4], options, Cost::Tokens, &[])?;
//! assert_eq!(batches.len(), 2);
//! assert_eq!(batches[0].cu_seqlens, [0, 4, 8]);
//!
//! let directory = tempfile::tempdir()?;
//! let path = directory.path().join("rank_1.safetensors");
//! let metadata = BatchMetadata { rank: 1, env_names: vec!["math".to_owned()], ..BatchMetadata::default() };
//! batch_to_file(&path, &batches[1].view(), &metadata)?;
//! assert_eq!(BatchFile::open(&path)?.view(), batches[1].view());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! This crate knows tokens and weights of tokens. Its callers know how rewards become advantages, which samples belong to a
//! step and when a batch is shipped.

mod batch;
mod build;
mod error;
mod experts;
mod plan;
mod samples;
mod scan;

pub use batch::file::{BatchFile, WrittenBatch, batch_from_bytes, batch_to_bytes, batch_to_file};
pub use batch::metadata::{BATCH_FORMAT, BatchMetadata};
pub use batch::{Batch, BatchView, Counts, UNSAMPLED};
pub use build::sample::{Advantages, SampleRef};
pub use build::spare::SpareBatches;
pub use build::{BuildOptions, build_batch, build_batch_reusing};
pub use error::PackError;
pub use experts::{ExpertShape, ExpertWidth, NO_EXPERT_BYTE, RoutedExperts, RoutedExpertsBuf};
pub use plan::cost::Cost;
pub use plan::flops::FlopModel;
pub use plan::{MAX_RANKS, PackOptions, pack_sequences};
pub use samples::rollout::{Rollout, RolloutSample};
pub use samples::trace_streams::TraceStreams;
pub use samples::{SampleSet, Worth, pack_batches};
