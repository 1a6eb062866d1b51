//! Weight versions, pulled: directories with a manifest, served by whoever has them or is just getting them.

mod description;
mod landing;
mod node;
mod pull;
mod replica;
mod service;
mod shelf;
mod sources;
mod stream;
mod wire;
mod writer;

pub use node::{Pulled, Wanted, WeightNode};
