//! Fuzzing for the tests of this workspace, on stable Rust and without a tool beside cargo.
//!
//! A [`Target`] feeds mutated inputs to a parser. An input fails when the parser panics, when its heap grows beyond a bound that depends on
//! the input's length, when it takes longer than a minute, or when it ends the process. A failing input is a file of the target's folder
//! afterwards, and every file there is tried first in the next run.
//!
//! This crate knows bytes. It does not know what they mean, and it measures no coverage: an input counts as new when the parser's answer
//! has a shape that no answer before had.

mod death;
mod folder;
mod heap;
mod mutator;
mod shape;
mod target;

pub use heap::{heap, peak_of};
pub use mutator::Mutator;
pub use prl_test_heap::Heap;
pub use shape::shape;
pub use target::Target;
