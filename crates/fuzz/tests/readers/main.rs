//! What the crates read that others wrote. The daemon's images are fuzzed beside their reader, which is not public.

use prl_fuzz::{Heap, heap};

mod batches;
mod configs;
mod formats;
mod messages;
mod tokenizers;
mod weights;

#[global_allocator]
static HEAP: Heap = heap();

/// The answer of a reader: `ok` with what it found, or its error.
fn answer<T, E: std::fmt::Display>(result: Result<T, E>, found: impl FnOnce(T) -> String) -> String {
    match result {
        Ok(value) => format!("ok {}", found(value)),
        Err(error) => error.to_string(),
    }
}
