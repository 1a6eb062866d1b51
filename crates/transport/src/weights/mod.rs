//! Weight versions, pulled: directories with a manifest, served by whoever has them or is just getting them.

mod description;
mod landing;
mod mapped;
mod node;
mod own_thread;
mod pull;
mod replica;
mod service;
mod shelf;
mod sources;
mod stream;
mod wire;

pub use node::{Pulled, Wanted, WeightNode};
