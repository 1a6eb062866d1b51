//! The state of an optimizer between steps: the moments of the flat parameters, in f32 or in bfloat16.
//!
//! The noise that rounds a moment to bfloat16 is a function of the step, the parameter's name and the element alone, so it is the same in
//! every run, for any number of threads, and in a run that goes on from a checkpoint.

use super::CHUNK;
use crate::config::WeightDtype;
use crate::counter::{key_of, mix};
use crate::kernels::element::{Bf16, Moment};
use crate::kernels::noise::bits_at;
use crate::model::layout::Slot;

/// Both moments, in the format of [`super::OptimConfig::state_dtype`].
pub(in crate::train) enum Moments {
    F32(Pair<f32>),
    Bf16(Pair<Bf16>),
}

/// First and second moments of the flat parameters.
pub(in crate::train) struct Pair<M> {
    pub(in crate::train) first: Vec<M>,
    /// Empty for SGD, which has no second moment.
    pub(in crate::train) second: Vec<M>,
}

impl<M: Moment> Pair<M> {
    pub(in crate::train) fn zeros(first: usize, second: usize) -> Self {
        Self {
            first: vec![M::default(); first],
            second: vec![M::default(); second],
        }
    }
}

impl Moments {
    pub(super) fn zeros(dtype: WeightDtype, first: usize, second: usize) -> Self {
        match dtype {
            WeightDtype::F32 => Self::F32(Pair::zeros(first, second)),
            WeightDtype::Bf16 => Self::Bf16(Pair::zeros(first, second)),
        }
    }
}

/// The noise of one parameter in one step. Elements are counted from the parameter's first, in chunks.
#[derive(Clone, Copy)]
pub(super) struct Noise(u64);

impl Noise {
    pub(super) fn new(slot: &Slot, step: i32) -> Self {
        Self(key_of(&slot.name, u64::from(step.unsigned_abs())))
    }

    /// The key of the elements of a chunk.
    pub(super) fn key(self, chunk: usize) -> u64 {
        mix(self.0 ^ mix(chunk as u64))
    }

    /// Sixteen bits for element `index`, those of a first moment.
    pub(super) fn at(self, index: usize) -> u32 {
        bits_at(self.key(index / CHUNK), (index % CHUNK) as u32) & 0xffff
    }
}
