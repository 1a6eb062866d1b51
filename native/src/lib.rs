//! The border between JavaScript and the crates: convert, call, convert. No logic and no defaults live here; both belong to
//! `ts/native` on one side and to the crates on the other.

#![expect(unreachable_pub, reason = "napi exports what is pub; nothing else links this crate")]

mod engine;
mod error;
mod losses;
mod numbers;
mod own_loss;
mod packing;
mod rollouts;
mod runtime;
mod sandbox;
mod system;
mod tokenizer;
mod trainer;
mod transport;
mod weights;
