//! Versions that hold only the changes since an earlier one, without loss.
//!
//! [`write_sparse`] compares weights with their base and writes sparse shards; [`apply_sparse`] turns a base and the
//! sparse versions after it into a complete folder again, with every tensor checked against its digest. The layout of
//! a sparse shard is specified in this crate's README.
//!
//! Tensors of 16-bit elements are coded by position and difference ([`blocks`]); others are stored whole when they
//! changed. [`crate::WeightPublisher`] decides when a version should be sparse.

mod apply;
mod blocks;
mod encode;
mod shard;
mod tensor;

pub(crate) use shard::SPARSE_SHARD;

pub use apply::apply_sparse;
pub use encode::{SparseOptions, write_sparse};
pub use shard::{Coding, SparseRecord, SparseVersion};
pub use tensor::{decode_tensor, encode_tensor};
