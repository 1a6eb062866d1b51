//! Weight versions, which are pulled: directories with a manifest, served by every node that has or is receiving them.

#[cfg(test)]
mod contradictions;
mod description;
#[cfg(test)]
mod fuzz;
mod landing;
mod mapped;
mod node;
#[cfg(test)]
#[path = "../../tests/support/one_shard.rs"]
mod one_shard;
mod pull;
mod replica;
mod separate_thread;
mod service;
mod shelf;
mod sources;
mod stream;
mod wire;

pub use node::{Pulled, Wanted, WeightNode};
