//! Backward pass of one decoder layer, as explicit code instead of an autograd tape.
//!
//! Legend: N rows, M rows put out, H hidden, W q, k and v side by side, F feed-forward.

use super::attention::{Around, attention_backward};
use super::experts::{ExpertsLayer, ExpertsWorkspace, experts_backward};
use super::gradients::Gradients;
use super::head::HEAD_TOKENS;
use super::lora::LoraGradientWorkspace;
use super::weights::{Matrix, bias_gradient, norm_backward, reduce_rows, weight_gradient};
use crate::compute::Compute;
use crate::config::{ModelConfig, WeightDtype, WeightFormat};
use crate::kernels::buffer::{Buffer, Shared};
use crate::kernels::gemm::{Left, gemm};
use crate::kernels::pack::Packed;
use crate::kernels::rotary::{Turn, apply_rope_backward};
use crate::kernels::swiglu::swiglu_backward;
use crate::model::layer::{Activations, Pass, Passing, for_rows, norm_into};
use crate::model::layout::{LayerRanges, Layout, Part};
use crate::model::lora::Site;
use crate::model::weights::{LayerWeights, Network};

/// A layer's matrices packed for `dy . W`.
pub(crate) struct LayerPacks {
    qkv: Packed,
    o: Packed,
    /// Empty in a layer with one network.
    pub(in crate::train) router: Packed,
    pub(in crate::train) networks: Vec<Network>,
}

/// All matrices packed for `dy . W`.
pub(crate) struct BackwardPacks {
    pub(crate) layers: Vec<LayerPacks>,
    /// The head, [`HEAD_TOKENS`] tokens of the vocabulary in each operand.
    pub(crate) head: Vec<Packed>,
    dtype: WeightDtype,
}

impl LayerPacks {
    fn kept_as(format: WeightFormat) -> Self {
        Self {
            qkv: Packed::projection(format),
            o: Packed::projection(format),
            router: Packed::widened(format.dtype),
            networks: Vec::new(),
        }
    }

    /// Lays out the layer's matrices again. `part` has all of them.
    fn pack(&mut self, compute: &Compute, config: &ModelConfig, at: &LayerRanges, part: Part<'_>) {
        let hidden = config.hidden_size;
        self.qkv.pack(compute, part.values(&at.qkv), config.qkv_width(), hidden);
        self.o.pack(compute, part.values(&at.o), hidden, config.q_width());
        let experts = at.router.len() / hidden;
        self.router.pack(compute, part.values(&at.router), experts, hidden);
        self.networks
            .resize_with(at.networks.len(), || Network::kept_as(config.format()));
        for (to, at) in self.networks.iter_mut().zip(&at.networks) {
            to.gate_up.pack(compute, part.values(&at.gate_up), 2 * at.width, hidden);
            to.down.pack(compute, part.values(&at.down), hidden, at.width);
        }
    }
}

impl BackwardPacks {
    /// Room for the weights as the forward pass has them, so that gradients are those of its function.
    pub(crate) fn kept_as(dtype: WeightDtype) -> Self {
        Self {
            layers: Vec::new(),
            head: Vec::new(),
            dtype,
        }
    }

    /// Lays out the parameters of `part` again.
    pub(crate) fn pack(&mut self, compute: &Compute, config: &ModelConfig, layout: &Layout, part: Part<'_>) {
        let hidden = config.hidden_size;
        self.layers
            .resize_with(layout.layers.len(), || LayerPacks::kept_as(config.format()));
        for (to, at) in self.layers.iter_mut().zip(&layout.layers) {
            if part.has(&at.input_norm) {
                to.pack(compute, config, at, part);
            }
        }
        if part.has(&layout.head) {
            let head = part.values(&layout.head).chunks(HEAD_TOKENS * hidden);
            self.head.resize_with(head.len(), || Packed::kept_as(self.dtype));
            for (to, rows) in self.head.iter_mut().zip(head) {
                to.pack(compute, rows, rows.len() / hidden, hidden);
            }
        }
    }
}

/// Buffers that all layers use in turn.
#[derive(Default)]
pub(crate) struct Workspace {
    pub(crate) passing: Passing,
    pub(crate) experts: ExpertsWorkspace,
    grad_activated: Buffer,
    pub(in crate::train) grad_normed: Buffer,
    grad_attended: Buffer,
    grad_qkv: Buffer,
    grad_inherited: Buffer,
    expanded: Buffer,
    /// The right-hand operand of a weight's gradient.
    pub(crate) packed: Packed,
    partial: Buffer,
    lora: LoraGradientWorkspace,
}

impl Workspace {
    /// Empty buffers for a model whose weights are kept as `dtype`.
    pub(in crate::train) fn new(dtype: WeightDtype) -> Self {
        Self {
            packed: Packed::activations(dtype),
            ..Self::default()
        }
    }
}

/// One layer's parameters in all their forms.
#[derive(Clone, Copy)]
pub(crate) struct Layer<'a> {
    /// Laid out for the forward pass.
    pub(crate) weights: &'a LayerWeights,
    /// Packed for `dy . W`.
    pub(crate) packs: &'a LayerPacks,
    /// Where their gradients go; None when they are frozen.
    pub(crate) ranges: Option<&'a LayerRanges>,
    /// The router's weights get no gradient.
    pub(crate) is_router_frozen: bool,
}

/// Replaces the gradient `[M, H]` of the layer's output by the gradient `[N, H]` of its input, and adds the gradients of the layer's
/// parameters. `acts.gate_up` is overwritten.
pub(crate) fn backward(
    pass: Pass<'_>,
    layer: Layer<'_>,
    acts: &mut Activations,
    grads: &mut Gradients<'_>,
    work: &mut Workspace,
) {
    feed_forward_half(pass, layer, acts, grads, work);
    output_projection(pass, layer, acts, grads, work);
    work.grad_qkv.resize(pass.rows.len() * pass.config.qkv_width());
    let around = Around {
        turned: &acts.turned,
        qkv: &acts.qkv,
        grad_attended: &work.grad_attended,
    };
    attention_backward(pass, around, &mut work.grad_qkv, &mut work.grad_inherited);
    rope_and_bias(pass, layer, acts, grads, work);
    input_projection(pass, layer, acts, grads, work);
}

/// The feed-forward network and its norm: the gradient then is that of `acts.middle`.
fn feed_forward_half(
    pass: Pass<'_>,
    layer: Layer<'_>,
    acts: &mut Activations,
    grads: &mut Gradients<'_>,
    work: &mut Workspace,
) {
    let Pass { compute, config, .. } = pass;
    match pass.moe {
        Some(moe) => experts_backward(ExpertsLayer { pass, moe, layer }, acts, grads, work),
        None => network_backward(pass, layer, acts, grads, work),
    }
    norm_backward(
        compute,
        &acts.middle,
        &layer.weights.post_norm,
        config.rms_norm_eps,
        &work.grad_normed,
        grads.passing,
        grads.parameters.weight(layer.ranges.map(|ranges| &ranges.post_norm)),
        &mut work.partial,
    );
}

/// Fills `work.grad_normed [M, H]`, the gradient of the network's input, and adds the gradients of its matrices.
fn network_backward(
    pass: Pass<'_>,
    layer: Layer<'_>,
    acts: &mut Activations,
    grads: &mut Gradients<'_>,
    work: &mut Workspace,
) {
    let Pass { compute, config, .. } = pass;
    let Layer {
        weights, packs, ranges, ..
    } = layer;
    let (packs, ranges) = (&packs.networks[0], ranges.map(|ranges| &ranges.networks[0]));
    let (n, hidden, ffn) = (pass.output_rows(), config.hidden_size, config.intermediate_size);
    let eps = config.rms_norm_eps;

    work.grad_activated.resize(n * ffn);
    gemm(
        compute,
        n,
        Left::rows(&*grads.passing, hidden),
        &packs.down,
        &mut work.grad_activated,
        false,
    );
    let along = (&**grads.passing, &mut *work.grad_activated);
    grads.parameters.adapted_input(pass, Site::Down, along, &mut work.lora);
    work.passing.activated.resize(n * ffn);
    {
        let (gate_up, activated) = (Shared::new(&mut acts.gate_up), Shared::new(&mut work.passing.activated));
        let grad_activated: &[f32] = &work.grad_activated;
        for_rows(compute, n, |first, count| {
            // SAFETY: stretches are disjoint.
            let (gate_up, activated) = unsafe {
                (
                    gate_up.slice(first * 2 * ffn, count * 2 * ffn),
                    activated.slice(first * ffn, count * ffn),
                )
            };
            let grad = &grad_activated[first * ffn..][..count * ffn];
            swiglu_backward(compute.tier(), gate_up, grad, activated, ffn);
        });
    }
    let operands = (&*work.passing.activated, &**grads.passing);
    grads
        .parameters
        .adapted_matrices(pass, Site::Down, operands, &mut work.lora);
    let bias = grads.parameters.weight(ranges.map(|ranges| &ranges.down_bias));
    bias_gradient(compute, grads.passing, bias, &mut work.partial);
    let bias = grads.parameters.weight(ranges.map(|ranges| &ranges.gate_up_bias));
    bias_gradient(compute, &acts.gate_up, bias, &mut work.partial);
    weight_gradient(
        compute,
        Matrix::new(grads.passing, hidden),
        Matrix::new(&work.passing.activated, ffn),
        grads.parameters.weight(ranges.map(|ranges| &ranges.down)),
        &mut work.packed,
    );
    work.grad_normed.resize(n * hidden);
    gemm(
        compute,
        n,
        Left::rows(&acts.gate_up, 2 * ffn),
        &packs.gate_up,
        &mut work.grad_normed,
        false,
    );
    let along = (&*acts.gate_up, &mut *work.grad_normed);
    grads
        .parameters
        .adapted_input(pass, Site::GateUp, along, &mut work.lora);
    norm_into(compute, &acts.middle, &weights.post_norm, eps, &mut work.passing.normed);
    let operands = (&*work.passing.normed, &*acts.gate_up);
    grads
        .parameters
        .adapted_matrices(pass, Site::GateUp, operands, &mut work.lora);
    weight_gradient(
        compute,
        Matrix::new(&acts.gate_up, 2 * ffn),
        Matrix::new(&work.passing.normed, hidden),
        grads.parameters.weight(ranges.map(|ranges| &ranges.gate_up)),
        &mut work.packed,
    );
}

/// The projection behind attention. Rows that were not put out have a gradient of 0 then.
fn output_projection(
    pass: Pass<'_>,
    layer: Layer<'_>,
    acts: &Activations,
    grads: &mut Gradients<'_>,
    work: &mut Workspace,
) {
    let Pass { compute, config, .. } = pass;
    let Layer { packs, ranges, .. } = layer;
    let (n, hidden, q) = (pass.output_rows(), config.hidden_size, config.q_width());
    work.grad_attended.resize(n * q);
    gemm(
        compute,
        n,
        Left::rows(&*grads.passing, hidden),
        &packs.o,
        &mut work.grad_attended,
        false,
    );
    let along = (&**grads.passing, &mut *work.grad_attended);
    grads.parameters.adapted_input(pass, Site::O, along, &mut work.lora);
    let operands = (&*acts.attended, &**grads.passing);
    grads
        .parameters
        .adapted_matrices(pass, Site::O, operands, &mut work.lora);
    let bias = grads.parameters.weight(ranges.map(|ranges| &ranges.o_bias));
    bias_gradient(compute, grads.passing, bias, &mut work.partial);
    weight_gradient(
        compute,
        Matrix::new(grads.passing, hidden),
        Matrix::new(&acts.attended, q),
        grads.parameters.weight(ranges.map(|ranges| &ranges.o)),
        &mut work.packed,
    );
    if let Some(outputs) = pass.outputs {
        let n = pass.rows.len();
        expand(outputs, n, &mut work.grad_attended, q, &mut work.expanded);
        expand(outputs, n, grads.passing, hidden, &mut work.expanded);
    }
}

/// Rotation, the norms of q and k, and the bias of q, k and v: `work.grad_qkv` then is the gradient of the projection's output.
fn rope_and_bias(
    pass: Pass<'_>,
    layer: Layer<'_>,
    acts: &Activations,
    grads: &mut Gradients<'_>,
    work: &mut Workspace,
) {
    let Pass {
        compute,
        config,
        rope,
        rows,
        ..
    } = pass;
    let Layer { weights, ranges, .. } = layer;
    let (n, q, kv, all) = (rows.len(), config.q_width(), config.kv_width(), config.qkv_width());
    let eps = config.rms_norm_eps;
    let dim = config.head_dim;
    let norms = if weights.q_norm.is_empty() { 0 } else { 2 * dim };
    let grad_qkv = Shared::new(&mut work.grad_qkv);
    reduce_rows(compute, n, norms, &mut work.partial, |first, count, partial| {
        let (grad_q_norm, grad_k_norm) = partial.split_at_mut(norms / 2);
        let mut scratch = vec![0f32; dim];
        for row in first..first + count {
            let (cos, sin) = rope.at(rows.positions[row] as usize);
            let raw = &acts.qkv[row * all..][..q + kv];
            // SAFETY: stretches of rows are disjoint.
            let (grad_q, grad_k) = unsafe { grad_qkv.slice(row * all, q + kv) }.split_at_mut(q);
            let tier = compute.tier();
            let turn = |norm| Turn { norm, eps, cos, sin };
            apply_rope_backward(
                tier,
                turn(&weights.q_norm),
                &raw[..q],
                grad_q,
                grad_q_norm,
                &mut scratch,
            );
            apply_rope_backward(
                tier,
                turn(&weights.k_norm),
                &raw[q..],
                grad_k,
                grad_k_norm,
                &mut scratch,
            );
        }
    })
    .enumerate_into(|at, value| {
        let range = ranges.map(|ranges| if at < dim { &ranges.q_norm } else { &ranges.k_norm });
        if let Some(norm) = grads.parameters.weight(range) {
            norm[at % dim] += value;
        }
    });
    let bias = grads.parameters.weight(ranges.map(|ranges| &ranges.qkv_bias));
    bias_gradient(compute, &work.grad_qkv, bias, &mut work.partial);
}

/// The projection to q, k and v, and the layer's first norm.
fn input_projection(
    pass: Pass<'_>,
    layer: Layer<'_>,
    acts: &Activations,
    grads: &mut Gradients<'_>,
    work: &mut Workspace,
) {
    let Pass { compute, config, .. } = pass;
    let Layer {
        weights, packs, ranges, ..
    } = layer;
    let (n, hidden, all) = (pass.rows.len(), config.hidden_size, config.qkv_width());
    let eps = config.rms_norm_eps;
    work.grad_normed.resize(n * hidden);
    gemm(
        compute,
        n,
        Left::rows(&work.grad_qkv, all),
        &packs.qkv,
        &mut work.grad_normed,
        false,
    );
    let along = (&*work.grad_qkv, &mut *work.grad_normed);
    grads.parameters.adapted_input(pass, Site::Qkv, along, &mut work.lora);
    norm_into(compute, &acts.x, &weights.input_norm, eps, &mut work.passing.normed);
    let operands = (&*work.passing.normed, &*work.grad_qkv);
    grads
        .parameters
        .adapted_matrices(pass, Site::Qkv, operands, &mut work.lora);
    weight_gradient(
        compute,
        Matrix::new(&work.grad_qkv, all),
        Matrix::new(&work.passing.normed, hidden),
        grads.parameters.weight(ranges.map(|ranges| &ranges.qkv)),
        &mut work.packed,
    );
    norm_backward(
        compute,
        &acts.x,
        &weights.input_norm,
        eps,
        &work.grad_normed,
        grads.passing,
        grads.parameters.weight(ranges.map(|ranges| &ranges.input_norm)),
        &mut work.partial,
    );
}

/// Spreads the rows of `compact` to the rows `outputs` of `n`, zeros elsewhere; `spare` is swapped in.
fn expand(outputs: &[usize], n: usize, compact: &mut Buffer, width: usize, spare: &mut Buffer) {
    spare.resize(n * width);
    spare.fill(0.0);
    for (row, &to) in compact.chunks_exact(width).zip(outputs) {
        spare[to * width..][..width].copy_from_slice(row);
    }
    std::mem::swap(compact, spare);
}
