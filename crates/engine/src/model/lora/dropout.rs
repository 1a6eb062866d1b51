//! Dropout of an adapter's inputs, in training only.
//!
//! Whether an element is dropped is a function of the pass's seed and of its layer, site, row and column. So the backward pass, and a forward
//! pass that is run again, drop the same elements, with any number of threads.

use super::layout::Site;
use crate::compute::Compute;
use crate::counter::mix;
use crate::kernels::buffer::Shared;
use crate::model::layer::for_rows;

/// The dropout of one forward and backward pass.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dropout {
    /// Share of the elements that are zeroed; the others are scaled by 1 / (1 - share).
    pub(crate) share: f64,
    pub(crate) seed: u64,
}

impl Dropout {
    /// Drops elements of `rows [N, width]`, the inputs of a site or their gradients.
    pub(crate) fn apply(self, compute: &Compute, (layer, site): (usize, Site), rows: &mut [f32], width: usize) {
        let least = (self.share * f64::from(u32::MAX)) as u32;
        let factor = (1.0 / (1.0 - self.share)) as f32;
        let key = mix(self.seed ^ mix((layer * 4 + site as usize) as u64));
        let count = rows.len() / width;
        let rows = Shared::new(rows);
        for_rows(compute, count, |first, count| {
            // SAFETY: stretches are disjoint.
            let stretch = unsafe { rows.slice(first * width, count * width) };
            for (row, values) in (first..).zip(stretch.chunks_exact_mut(width)) {
                let key = mix(key ^ row as u64);
                for (column, value) in values.iter_mut().enumerate() {
                    let drawn = (mix(key.wrapping_add(column as u64)) >> 32) as u32;
                    *value = if drawn < least { 0.0 } else { *value * factor };
                }
            }
        });
    }
}
