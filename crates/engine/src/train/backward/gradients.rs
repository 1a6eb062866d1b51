//! Where the gradients of a backward pass go: to all weights, or to the matrices of an adapter of frozen weights.

use std::ops::Range;

use super::lora::{AdapterGradients, LoraGradientWorkspace};
use crate::kernels::buffer::Buffer;
use crate::model::layer::Pass;
use crate::model::lora::Site;

/// Where the gradients of a backward pass are.
pub(crate) struct Gradients<'a> {
    /// `[M, H]` of a layer's output, then `[N, H]` of its input.
    pub(crate) passing: &'a mut Buffer,
    pub(crate) parameters: ParameterGradients<'a>,
}

/// The gradients of the flat parameters, to which each layer adds.
pub(crate) enum ParameterGradients<'a> {
    /// Those of all weights.
    Weights(&'a mut [f32]),
    /// Those of an adapter; the weights are frozen.
    Adapter(AdapterGradients<'a>),
}

impl ParameterGradients<'_> {
    /// The gradient of a weight; None when it is frozen.
    pub(in crate::train) fn weight(&mut self, range: Option<&Range<usize>>) -> Option<&mut [f32]> {
        match (self, range) {
            (Self::Weights(flat), Some(range)) => Some(&mut flat[range.clone()]),
            _ => None,
        }
    }

    /// The addition of an adapter to the gradient of a site's input; see [`AdapterGradients::input`].
    pub(in crate::train) fn adapted_input(
        &self,
        pass: Pass<'_>,
        site: Site,
        grads: (&[f32], &mut [f32]),
        work: &mut LoraGradientWorkspace,
    ) {
        if let Self::Adapter(adapter) = self {
            adapter.input(pass, site, grads, work);
        }
    }

    /// The gradients of an adapter's matrices at a site; see [`AdapterGradients::matrices`].
    pub(in crate::train) fn adapted_matrices(
        &mut self,
        pass: Pass<'_>,
        site: Site,
        operands: (&[f32], &[f32]),
        work: &mut LoraGradientWorkspace,
    ) {
        if let Self::Adapter(adapter) = self {
            adapter.matrices(pass, site, operands, work);
        }
    }
}
