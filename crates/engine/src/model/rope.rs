//! Tables of rotary cosines and sines, grown on demand and shared by all versions of a model.

use std::sync::{Arc, PoisonError, RwLock};

use crate::config::ModelConfig;

/// Positions that the first table holds.
const FIRST_POSITIONS: usize = 512;

/// `cos` and `sin` of position * frequency, times the attention factor, for positions `0..positions`.
pub(crate) struct RopeTable {
    half: usize,
    positions: usize,
    cos: Vec<f32>,
    sin: Vec<f32>,
}

impl RopeTable {
    /// The `head_dim / 2` cosines and sines of a position.
    pub(crate) fn at(&self, position: usize) -> (&[f32], &[f32]) {
        let range = position * self.half..(position + 1) * self.half;
        (&self.cos[range.clone()], &self.sin[range])
    }
}

/// The growing table of a model. Entries are a function of the position alone.
pub(crate) struct Rope {
    frequencies: Vec<f32>,
    factor: f32,
    table: RwLock<Arc<RopeTable>>,
}

impl Rope {
    pub(crate) fn new(config: &ModelConfig) -> Self {
        let frequencies = config.inverse_frequencies();
        let factor = config.rope_attention_factor();
        let table = RwLock::new(Arc::new(build(&frequencies, factor, FIRST_POSITIONS)));
        Self {
            frequencies,
            factor,
            table,
        }
    }

    /// A table of at least `positions` positions.
    pub(crate) fn up_to(&self, positions: usize) -> Arc<RopeTable> {
        {
            let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
            if table.positions >= positions {
                return Arc::clone(&table);
            }
        }
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        if table.positions < positions {
            *table = Arc::new(build(&self.frequencies, self.factor, positions.next_power_of_two()));
        }
        Arc::clone(&table)
    }
}

/// Angles are products in f32, as in transformers; their cosines and sines are taken in f64 and rounded once, then multiplied.
fn build(frequencies: &[f32], factor: f32, positions: usize) -> RopeTable {
    let half = frequencies.len();
    let mut cos = Vec::with_capacity(positions * half);
    let mut sin = Vec::with_capacity(positions * half);
    for position in 0..positions {
        for frequency in frequencies {
            let angle = f64::from(position as f32 * frequency);
            cos.push(angle.cos() as f32 * factor);
            sin.push(angle.sin() as f32 * factor);
        }
    }
    RopeTable {
        half,
        positions,
        cos,
        sin,
    }
}
