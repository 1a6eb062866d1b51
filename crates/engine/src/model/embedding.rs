//! The embedding: one row of weights for each token id.

use crate::compute::Compute;
use crate::config::WeightDtype;
use crate::kernels::buffer::{Buffer, Shared};
use crate::kernels::element::{Bf16, Number, narrow};

/// Row-major `[vocab, width]`.
#[derive(Clone, Default)]
pub(crate) struct Embedding {
    values: Values,
    width: usize,
}

#[derive(Clone)]
enum Values {
    F32(Buffer),
    Bf16(Buffer<Bf16>),
}

impl Default for Values {
    fn default() -> Self {
        Self::F32(Buffer::default())
    }
}

impl Embedding {
    /// An empty embedding whose values will be kept as `dtype`.
    pub(crate) fn kept_as(dtype: WeightDtype) -> Self {
        let values = match dtype {
            WeightDtype::F32 => Values::default(),
            WeightDtype::Bf16 => Values::Bf16(Buffer::default()),
        };
        Self { values, width: 0 }
    }

    /// Takes the values `flat [vocab, width]`.
    pub(crate) fn fill(&mut self, compute: &Compute, flat: &[f32], width: usize) {
        self.width = width;
        match &mut self.values {
            Values::F32(values) => {
                values.resize(flat.len());
                values.copy_from_slice(flat);
            }
            Values::Bf16(values) => {
                values.resize(flat.len());
                let shared = Shared::new(values);
                compute.run(flat.len() / width, |row| {
                    // SAFETY: each task takes its own row.
                    let to = unsafe { shared.slice(row * width, width) };
                    narrow(compute.tier(), &flat[row * width..][..width], to);
                });
            }
        }
    }

    /// Writes the row of `token` to `out`.
    pub(crate) fn row(&self, token: usize, out: &mut [f32]) {
        let range = token * self.width..(token + 1) * self.width;
        match &self.values {
            Values::F32(values) => out.copy_from_slice(&values[range]),
            Values::Bf16(values) => {
                for (out, value) in out.iter_mut().zip(&values[range]) {
                    *out = value.widen();
                }
            }
        }
    }
}
