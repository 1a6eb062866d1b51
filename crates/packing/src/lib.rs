//! Sequence packing: which samples share a micro-batch, and the columns that a trainer rank reads.
//!
//! [`pack_sequences`] makes a plan from lengths alone; [`build_batch`] turns samples and a plan into one [`Batch`] per
//! rank; [`batch_to_file`] and [`BatchFile`] carry a batch between processes. [`Rollout`] keeps the samples of an episode
//! from its arrival on, and [`SampleSet`] packs a step's choice of them. Everything is deterministic, and no sample is
//! ever divided, dropped or repeated.
//!
//! This crate knows tokens and weights of tokens. What a reward or an advantage is, which samples belong to a step and
//! when a batch ships belong to its callers.

mod balance;
mod batch;
mod build;
mod check;
mod columns;
mod cost;
mod error;
mod file;
mod fill;
mod first_fit;
mod flops;
mod metadata;
mod plan;
mod rollout;
mod room;
mod sample;
mod sample_set;
mod scan;
mod split;

pub use batch::{Batch, BatchView, Counts, UNSAMPLED};
pub use build::{BuildOptions, build_batch};
pub use cost::Cost;
pub use error::PackError;
pub use file::{BatchFile, WrittenBatch, batch_from_bytes, batch_to_bytes, batch_to_file};
pub use flops::FlopModel;
pub use metadata::{BATCH_FORMAT, BatchMetadata};
pub use plan::{MAX_RANKS, PackOptions, pack_sequences};
pub use rollout::{Rollout, RolloutSample};
pub use sample::{Advantages, SampleRef};
pub use sample_set::{SampleSet, Worth, pack_batches};
