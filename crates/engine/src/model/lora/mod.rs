//! Low-rank adapters (LoRA, Hu et al. 2021): a projection `y = x W^T` becomes `y = x W^T + s (x A^T) B^T`.
//!
//! A is `[rank, inputs]`, B `[outputs, rank]`, s is alpha / rank, or alpha / sqrt(rank) with rank-stabilised scaling (Kalajdzievski 2023).
//! Adapters are kept in f32, whatever the format of the model's weights. Training and sampling run the same products, row by row, so
//! that their log-probabilities agree bit for bit; the rows of one batch may have different adapters.
//!
//! Folders have the format of Python's `peft`.

mod adapter;
mod apply;
mod base;
mod config;
mod dropout;
mod layout;
mod peft;

pub use adapter::Adapter;
pub(crate) use adapter::scale_rows;
pub(crate) use apply::{Adapted, LoraWorkspace, Product, Segment, push};
pub use config::{LoraConfig, LoraTarget};
pub(crate) use dropout::Dropout;
pub(crate) use layout::{AdapterLayout, Site};
pub(crate) use peft::{read_adapter, to_json};
