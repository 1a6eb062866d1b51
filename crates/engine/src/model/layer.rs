//! One decoder layer over the rows of a pass: the same code for training, scoring, prefill and decode.
//!
//! Legend: N rows, M rows put out, H hidden, W q, k and v side by side, F feed-forward.

use super::attend::attend_rows;
use super::cache::LayerStore;
use super::experts::{self, Routing};
use super::rope::RopeTable;
use super::routes::Replay;
use super::rows::{Inherited, Rows};
use super::weights::LayerWeights;
use crate::compute::Compute;
use crate::config::{ModelConfig, Moe};
use crate::kernels::buffer::{Buffer, Shared};
use crate::kernels::gemm::{Left, gemm};
use crate::kernels::norm::{add, rms_norm};
use crate::kernels::rotary::{Turn, apply_rope};
use crate::kernels::swiglu::swiglu;
use crate::model::lora::{Adapted, LoraWorkspace, Product, Site};

/// The operands that all layers of a pass share.
#[derive(Clone, Copy)]
pub(crate) struct Pass<'a> {
    pub(crate) compute: &'a Compute,
    pub(crate) config: &'a ModelConfig,
    pub(crate) rope: &'a RopeTable,
    pub(crate) rows: &'a Rows,
    /// How many keys a query of the layer sees, up to its own.
    pub(crate) window: usize,
    /// The networks of the layer, when it has several.
    pub(crate) moe: Option<&'a Moe>,
    /// The choices that its router replays, by row of the pass; None: it makes its own.
    pub(crate) replay: Option<Replay<'a>>,
    /// In a backward pass with a loss that balances the experts: its gradient by the probabilities of each row.
    pub(crate) balance: Option<&'a [f32]>,
    /// The rows whose output is needed, ascending; None for all. Attention's inputs are computed for every row. The rest of the layer is
    /// computed for these rows alone, and its arrays hold as many rows.
    pub(crate) outputs: Option<&'a [usize]>,
    /// The rows that have an adapter.
    pub(crate) adapted: Adapted<'a>,
}

impl<'a> Pass<'a> {
    /// A pass in which a query sees all keys up to its own, and every row is put out: no experts, no adapters.
    pub(crate) fn plain(compute: &'a Compute, config: &'a ModelConfig, rope: &'a RopeTable, rows: &'a Rows) -> Self {
        Self {
            compute,
            config,
            rope,
            rows,
            window: usize::MAX,
            moe: None,
            replay: None,
            balance: None,
            outputs: None,
            adapted: Adapted {
                segments: &[],
                layer: 0,
                dropout: None,
            },
        }
    }

    /// The number of rows that the layer puts out.
    pub(crate) fn output_rows(&self) -> usize {
        self.outputs.map_or(self.rows.len(), <[usize]>::len)
    }
}

/// A layer's intermediate results; kept for the backward pass in training, overwritten by the next layer otherwise.
#[derive(Default)]
pub(crate) struct Activations {
    /// `[N, H]`: the residual stream that enters.
    pub(crate) x: Buffer,
    /// `[N, W]`: q, k, v before norm and rotation.
    pub(crate) qkv: Buffer,
    /// `[N, q + k]`: q and k after norm and rotation.
    pub(crate) turned: Buffer,
    /// `[M, q]`: attention's output.
    pub(crate) attended: Buffer,
    /// `[M, H]`: the residual stream after attention.
    pub(crate) middle: Buffer,
    /// `[M, 2F]`: gate and up; of the pairs of a row and an expert in a layer with experts.
    pub(crate) gate_up: Buffer,
    /// Which experts each row uses, in a layer with experts.
    pub(crate) routing: Routing,
}

/// A layer's intermediate results that are cheaper to compute again than to keep. The next layer overwrites them.
#[derive(Default)]
pub(crate) struct Passing {
    /// `[N, H]` or `[M, H]`: normalised `x`, then normalised `middle`.
    pub(crate) normed: Buffer,
    /// `[M, F]`: silu(gate) * up.
    pub(crate) activated: Buffer,
    /// In a layer with experts, of each pair of a row and an expert: the expert's input, then its output.
    pub(crate) pair_rows: Buffer,
    pub(crate) lora: LoraWorkspace,
}

impl Activations {
    /// Elements of all arrays but `x`, per row, in the layer where they are most.
    pub(crate) fn width(config: &ModelConfig) -> usize {
        let one = 2 * config.intermediate_size;
        let feed_forward = match &config.moe {
            None => one,
            Some(moe) => one.max(2 * moe.experts_per_token * moe.intermediate_size + Routing::width(moe)),
        };
        config.hidden_size + config.qkv_width() + config.q_width() + config.kv_width() + config.q_width() + feed_forward
    }
}

/// Calls `task(first, count)` for stretches of `0..rows` in parallel.
pub(crate) fn for_rows(compute: &Compute, rows: usize, task: impl Fn(usize, usize) + Sync) {
    const LEAST_ROWS: usize = 16;
    let stretches = rows.div_ceil(LEAST_ROWS).min(compute.threads() * 4).max(1);
    compute.run(stretches, |index| {
        let first = rows * index / stretches;
        task(first, rows * (index + 1) / stretches - first);
    });
}

/// RMSNorm of `[N, weight.len()]` rows in parallel.
pub(crate) fn norm_rows(compute: &Compute, x: &[f32], weight: &[f32], eps: f32, out: &mut [f32]) {
    let width = weight.len();
    let out = Shared::new(out);
    for_rows(compute, x.len() / width, |first, count| {
        // SAFETY: stretches are disjoint.
        let out = unsafe { out.slice(first * width, count * width) };
        rms_norm(compute.tier(), &x[first * width..][..count * width], weight, eps, out);
    });
}

/// Copies rows of `width` elements in parallel.
fn copy_rows(compute: &Compute, from: &[f32], width: usize, to: &mut [f32]) {
    let to = Shared::new(to);
    for_rows(compute, from.len() / width, |first, count| {
        // SAFETY: stretches are disjoint.
        let to = unsafe { to.slice(first * width, count * width) };
        to.copy_from_slice(&from[first * width..][..count * width]);
    });
}

/// Fills the rows with the bias, if there is one: the first term of a product's chains.
fn begin_with(bias: &[f32], rows: &mut [f32]) -> bool {
    if bias.is_empty() {
        return false;
    }
    rows.chunks_exact_mut(bias.len())
        .for_each(|row| row.copy_from_slice(bias));
    true
}

/// Adds the bias, if there is one, to every row.
fn add_bias(compute: &Compute, bias: &[f32], rows: &mut [f32]) {
    if !bias.is_empty() {
        rows.chunks_exact_mut(bias.len())
            .for_each(|row| add(compute.tier(), row, bias));
    }
}

/// Makes `normed` the RMSNorm of the rows `x [N, weight.len()]`.
pub(crate) fn norm_into(compute: &Compute, x: &[f32], weight: &[f32], eps: f32, normed: &mut Buffer) {
    normed.resize(x.len());
    norm_rows(compute, x, weight, eps, normed);
}

/// Makes `activated [N, F]` the silu(gate) * up of `gate_up [N, 2F]`.
fn activate(compute: &Compute, gate_up: &[f32], ffn: usize, activated: &mut Buffer) {
    activated.resize(gate_up.len() / 2);
    let activated = Shared::new(activated);
    for_rows(compute, gate_up.len() / (2 * ffn), |first, count| {
        // SAFETY: stretches are disjoint.
        let out = unsafe { activated.slice(first * ffn, count * ffn) };
        swiglu(compute.tier(), &gate_up[first * 2 * ffn..][..count * 2 * ffn], out, ffn);
    });
}

/// Runs one layer: reads `acts.x`, fills the other activations and the layer's keys and values, writes `out [M, H]` (M rows put out).
#[expect(
    clippy::too_many_arguments,
    reason = "each caller keeps the three buffers in another struct"
)]
pub(crate) fn forward(
    pass: Pass<'_>,
    weights: &LayerWeights,
    store: &mut LayerStore,
    acts: &mut Activations,
    passing: &mut Passing,
    out: &mut Buffer,
) {
    attention_half(pass, weights, store, acts, passing);
    feed_forward_half(pass, weights, acts, passing, out);
}

fn attention_half(
    pass: Pass<'_>,
    weights: &LayerWeights,
    store: &mut LayerStore,
    acts: &mut Activations,
    passing: &mut Passing,
) {
    let (compute, config, rope, rows) = (pass.compute, pass.config, pass.rope, pass.rows);
    let (n, hidden) = (rows.len(), config.hidden_size);
    let (q, kv, eps) = (config.q_width(), config.kv_width(), config.rms_norm_eps);
    let width = config.qkv_width();

    norm_into(compute, &acts.x, &weights.input_norm, eps, &mut passing.normed);

    acts.qkv.resize(n * width);
    let biased = begin_with(&weights.qkv_bias, &mut acts.qkv);
    gemm(
        compute,
        n,
        Left::rows(&passing.normed, hidden),
        &weights.qkv,
        &mut acts.qkv,
        biased,
    );
    let product = Product {
        x: &passing.normed,
        out: &mut acts.qkv,
        outputs: None,
    };
    pass.adapted.add(compute, Site::Qkv, product, &mut passing.lora);

    acts.turned.resize(n * (q + kv));
    {
        let turned = Shared::new(&mut acts.turned);
        let qkv: &[f32] = &acts.qkv;
        let writer = store.writer();
        for_rows(compute, n, |first, count| {
            for row in first..first + count {
                let (cos, sin) = rope.at(rows.positions[row] as usize);
                let raw = &qkv[row * width..][..width];
                // SAFETY: stretches are disjoint.
                let turned = unsafe { turned.slice(row * (q + kv), q + kv) };
                let turn = |norm| Turn { norm, eps, cos, sin };
                apply_rope(compute.tier(), turn(&weights.q_norm), &raw[..q], &mut turned[..q]);
                apply_rope(compute.tier(), turn(&weights.k_norm), &raw[q..q + kv], &mut turned[q..]);
                // SAFETY: no two rows have the same slot: packed blocks are consecutive, cached ones were checked.
                unsafe { writer.write(rows.slots[row], &turned[q..], &raw[q + kv..]) };
            }
        });
        let turned: &[f32] = &acts.turned;
        for_rows(compute, rows.inherited.len(), |first, count| {
            for &Inherited { row, slot } in &rows.inherited[first..first + count] {
                let (keys, values) = (&turned[row * (q + kv) + q..][..kv], &qkv[row * width + q + kv..][..kv]);
                // SAFETY: a slot in the blocks of this sequence that none of its rows has.
                unsafe { writer.write(slot, keys, values) };
            }
        });
    }

    acts.attended.resize(n * q);
    attend_rows(pass, store, &acts.turned, &mut acts.attended);

    let count = pass.output_rows();
    acts.middle.resize(count * hidden);
    match pass.outputs {
        None => copy_rows(compute, &acts.x, hidden, &mut acts.middle),
        Some(outputs) => {
            for (to, &from) in outputs.iter().enumerate() {
                acts.middle[to * hidden..][..hidden].copy_from_slice(&acts.x[from * hidden..][..hidden]);
                acts.attended.copy_within(from * q..(from + 1) * q, to * q);
            }
            acts.attended.resize(count * q);
        }
    }
    add_bias(compute, &weights.o_bias, &mut acts.middle);
    gemm(
        compute,
        count,
        Left::rows(&acts.attended, q),
        &weights.o,
        &mut acts.middle,
        true,
    );
    let product = Product {
        x: &acts.attended,
        out: &mut acts.middle,
        outputs: pass.outputs,
    };
    pass.adapted.add(compute, Site::O, product, &mut passing.lora);
}

fn feed_forward_half(
    pass: Pass<'_>,
    weights: &LayerWeights,
    acts: &mut Activations,
    passing: &mut Passing,
    out: &mut Buffer,
) {
    let Pass { compute, config, .. } = pass;
    let (n, hidden, ffn) = (pass.output_rows(), config.hidden_size, config.intermediate_size);

    let eps = config.rms_norm_eps;
    norm_into(compute, &acts.middle, &weights.post_norm, eps, &mut passing.normed);
    if let Some(moe) = pass.moe {
        return experts::forward(pass, moe, weights, acts, passing, out);
    }

    let network = &weights.networks[0];
    acts.gate_up.resize(n * 2 * ffn);
    let biased = begin_with(&network.gate_up_bias, &mut acts.gate_up);
    gemm(
        compute,
        n,
        Left::rows(&passing.normed, hidden),
        &network.gate_up,
        &mut acts.gate_up,
        biased,
    );
    let product = Product {
        x: &passing.normed,
        out: &mut acts.gate_up,
        outputs: pass.outputs,
    };
    pass.adapted.add(compute, Site::GateUp, product, &mut passing.lora);

    activate(compute, &acts.gate_up, ffn, &mut passing.activated);

    out.resize(n * hidden);
    copy_rows(compute, &acts.middle, hidden, out);
    add_bias(compute, &network.down_bias, out);
    gemm(
        compute,
        n,
        Left::rows(&passing.activated, ffn),
        &network.down,
        out,
        true,
    );
    let product = Product {
        x: &passing.activated,
        out,
        outputs: pass.outputs,
    };
    pass.adapted.add(compute, Site::Down, product, &mut passing.lora);
}
