//! A model for inference: weights packed for the kernels, forward passes over packed or cached sequences.

pub(crate) mod attend;
pub(crate) mod cache;
pub(crate) mod embedding;
pub(crate) mod experts;
pub(crate) mod layer;
pub(crate) mod layout;
pub(crate) mod lora;
pub(crate) mod rope;
pub(crate) mod routes;
pub(crate) mod rows;
pub(crate) mod stored;
pub(crate) mod weights;

use std::path::Path;
use std::sync::Arc;

pub use cache::{CachedSequence, KvCache};

use crate::compute::Compute;
use crate::config::{ModelConfig, WeightDtype, WeightFormat};
use crate::error::EngineError;
use crate::head;
use crate::isa::Tier;
use crate::kernels::buffer::{Buffer, Shared};
use crate::kernels::gemm::{Left, gemm};
use cache::{LayerStore, Scratch};
use layer::{Pass, for_rows, norm_rows};
use layout::Layout;
use lora::{Adapted, Adapter, Segment};
use rope::Rope;
use rows::{Packing, Rows, check_packed};
use stored::Stored;
use weights::Weights;

/// So many rows of packed sequences are computed at a time, unless one sequence is longer.
const GROUP_ROWS: usize = 1024;
/// So many tokens belong to these rows at most: every token has a separate place for keys and values, even where several share a row.
const GROUP_TOKENS: usize = 8 * GROUP_ROWS;

/// Immutable weights, laid out for the tier of the [`Compute`] that loaded them.
///
/// A model may have an adapter, which then belongs to everything that it computes; models with different adapters share their weights.
pub struct Model {
    pub(crate) config: Arc<ModelConfig>,
    pub(crate) weights: Arc<Weights>,
    pub(crate) rope: Arc<Rope>,
    pub(crate) adapter: Option<Arc<Adapter>>,
    tier: Tier,
}

impl Model {
    /// Reads a Hugging Face folder: config.json and model.safetensors, single or sharded; F32, BF16 or F16 widened to f32.
    ///
    /// # Errors
    /// As [`ModelConfig::from_dir`]; [`EngineError::WeightsFile`] when a file is malformed or a tensor missing;
    /// [`EngineError::Weights`] when a tensor's shape or dtype does not fit.
    pub fn load(dir: &Path, compute: &Arc<Compute>) -> Result<Self, EngineError> {
        Self::load_as(dir, WeightDtype::F32, compute)
    }

    /// [`Model::load`] with the weights kept, and rounded where they are not of it already, in another format.
    ///
    /// # Errors
    /// As [`Model::load`].
    pub fn load_as(dir: &Path, format: impl Into<WeightFormat>, compute: &Arc<Compute>) -> Result<Self, EngineError> {
        let config = ModelConfig::from_dir(dir)?.kept_as(format);
        let layout = Layout::new(&config);
        let mut weights = Weights::kept_as(config.dtype);
        Stored::open(dir, &layout)?.each_part(|part| weights.pack(compute, &config, &layout, part))?;
        Ok(Self::new(config, weights, compute))
    }

    /// A model of weights that are laid out.
    pub(crate) fn new(config: ModelConfig, weights: Weights, compute: &Compute) -> Self {
        let rope = Arc::new(Rope::new(&config));
        let config = Arc::new(config);
        Self {
            config,
            weights: Arc::new(weights),
            rope,
            adapter: None,
            tier: compute.tier(),
        }
    }

    /// The model with another adapter, or without one. The weights are shared.
    ///
    /// # Panics
    /// When the adapter was loaded for another tier.
    pub fn with_adapter(&self, adapter: Option<Arc<Adapter>>) -> Self {
        if let Some(adapter) = &adapter {
            assert_eq!(
                adapter.tier(),
                self.tier,
                "an adapter is laid out for the tier of its model"
            );
        }
        Self {
            config: Arc::clone(&self.config),
            weights: Arc::clone(&self.weights),
            rope: Arc::clone(&self.rope),
            adapter,
            tier: self.tier,
        }
    }

    /// The model's architecture.
    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// The tier that the weights are laid out for.
    pub fn tier(&self) -> Tier {
        self.tier
    }

    /// An empty cache of `num_blocks` blocks for this model. Memory is touched only as blocks are written.
    pub fn kv_cache(&self, num_blocks: usize) -> KvCache {
        KvCache::new(&self.config, self.tier, num_blocks)
    }

    /// Logits `[T, vocab]`, row t predicting the token after t, for sequences packed at `cu_seqlens`.
    ///
    /// # Errors
    /// [`EngineError::Input`] when ids or offsets do not fit.
    pub fn logits(&self, compute: &Compute, input_ids: &[u32], cu_seqlens: &[u32]) -> Result<Vec<f32>, EngineError> {
        let hidden = self.forward_packed(compute, input_ids, cu_seqlens)?;
        Ok(self.head_logits(compute, &hidden))
    }

    /// Log-probability of each token given its predecessors in its segment, 0 at segment starts.
    ///
    /// `temperatures` divides the logits and holds one number, or one per token (that of the token predicted).
    ///
    /// # Errors
    /// [`EngineError::Input`] when lengths, ids, offsets or temperatures do not fit.
    pub fn logprobs(
        &self,
        compute: &Compute,
        input_ids: &[u32],
        cu_seqlens: &[u32],
        temperatures: &[f32],
    ) -> Result<Vec<f32>, EngineError> {
        head::check_temperatures(temperatures, input_ids.len())?;
        let hidden = self.forward_packed(compute, input_ids, cu_seqlens)?;
        let targets = head::all_targets(input_ids, cu_seqlens, temperatures);
        let scored = head::score(compute, &self.weights.head, &hidden, &targets, false);
        let mut logprobs = vec![0f32; input_ids.len()];
        for (target, logprob) in targets.iter().zip(&scored.logprobs) {
            logprobs[target.token_at] = *logprob;
        }
        Ok(logprobs)
    }

    /// Runs new tokens of several sequences, appending their keys and values, and the experts that they go to, to the cache. Returns the hidden states after the final norm,
    /// rows of all sequences concatenated: `[R, hidden]`.
    ///
    /// # Errors
    /// [`EngineError::Input`] when an id or a block does not fit, or two sequences would write one block.
    pub fn forward_cached(
        &self,
        compute: &Compute,
        sequences: &[CachedSequence<'_>],
        kv: &mut KvCache,
    ) -> Result<Vec<f32>, EngineError> {
        kv.check(&self.config, self.tier, sequences)?;
        let rows = Rows::cached(sequences, self.config.vocab_size)?;
        self.config.check_length(rows.longest)?;
        let mut segments = Vec::new();
        for (span, sequence) in rows.spans.iter().zip(sequences) {
            if let Some(adapter) = sequence.adapter.or(self.adapter.as_deref()) {
                lora::push(&mut segments, span.row..span.row + span.len, adapter);
            }
        }
        let (stores, scratch) = kv.parts_mut();
        let hidden = self.forward_rows(compute, (&rows, &segments), stores, scratch);
        kv.keep_choices(&rows.slots);
        Ok(hidden)
    }

    /// Logits `[R, vocab]` of hidden states `[R, hidden]`.
    ///
    /// # Panics
    /// When `hidden` is no whole number of rows.
    pub fn head_logits(&self, compute: &Compute, hidden: &[f32]) -> Vec<f32> {
        self.check_tier(compute);
        let width = self.config.hidden_size;
        assert!(
            hidden.len().is_multiple_of(width),
            "hidden states come in rows of {width}"
        );
        let rows = hidden.len() / width;
        let mut logits = vec![0f32; rows * self.config.vocab_size];
        gemm(
            compute,
            rows,
            Left::rows(hidden, width),
            &self.weights.head,
            &mut logits,
            false,
        );
        logits
    }

    /// Hidden states `[T, hidden]` of packed sequences, computed a group of whole sequences at a time.
    pub(crate) fn forward_packed(
        &self,
        compute: &Compute,
        input_ids: &[u32],
        cu_seqlens: &[u32],
    ) -> Result<Vec<f32>, EngineError> {
        check_packed(input_ids, cu_seqlens, &self.config)?;
        let width = self.config.hidden_size;
        let mut store = LayerStore::new(&self.config, self.tier, 0);
        let mut scratch = Scratch::default();
        let mut hidden = Vec::with_capacity(input_ids.len() * width);
        for (rows, row_of_token) in groups(input_ids, cu_seqlens) {
            store.reserve(rows.num_blocks());
            let segments = self.segments(rows.len());
            let found = self.forward_rows(
                compute,
                (&rows, &segments),
                std::slice::from_mut(&mut store),
                &mut scratch,
            );
            for row in row_of_token {
                hidden.extend_from_slice(&found[row * width..][..width]);
            }
        }
        Ok(hidden)
    }

    /// The rows of a pass whose sequences all have the model's adapter.
    pub(crate) fn segments(&self, rows: usize) -> Vec<Segment<'_>> {
        let segment = |adapter| Segment { rows: 0..rows, adapter };
        self.adapter.as_deref().map(segment).into_iter().collect()
    }

    /// Hidden states of all rows. `stores` holds one store per layer, or one that each layer overwrites.
    fn forward_rows(
        &self,
        compute: &Compute,
        (rows, segments): (&Rows, &[Segment<'_>]),
        stores: &mut [LayerStore],
        scratch: &mut Scratch,
    ) -> Vec<f32> {
        self.check_tier(compute);
        let rope = self.rope.up_to(rows.longest);
        let pass = |layer: usize| Pass {
            window: self.config.window(layer),
            moe: self.config.moe(layer),
            adapted: Adapted {
                segments,
                layer,
                dropout: None,
            },
            ..Pass::plain(compute, &self.config, &rope, rows)
        };
        let Scratch {
            acts,
            passing,
            out,
            choices,
        } = scratch;
        self.embed(compute, rows, &mut acts.x);
        let count = stores.len();
        for (index, weights) in self.weights.layers.iter().enumerate() {
            let store = &mut stores[index % count];
            layer::forward(pass(index), weights, store, acts, passing, out);
            if let Some((choices, moe)) = choices.as_mut().zip(self.config.moe.as_ref()) {
                choices.take_in(moe, index, &acts.routing.experts);
            }
            std::mem::swap(&mut acts.x, out);
        }
        let mut hidden = vec![0f32; acts.x.len()];
        norm_rows(
            compute,
            &acts.x,
            &self.weights.final_norm,
            self.config.rms_norm_eps,
            &mut hidden,
        );
        hidden
    }

    /// Looks up the embeddings of all rows.
    pub(crate) fn embed(&self, compute: &Compute, rows: &Rows, out: &mut Buffer) {
        let width = self.config.hidden_size;
        out.resize(rows.len() * width);
        let out = Shared::new(out);
        for_rows(compute, rows.len(), |first, count| {
            for row in first..first + count {
                // SAFETY: stretches are disjoint.
                let out = unsafe { out.slice(row * width, width) };
                self.weights.embedding.row(rows.token_ids[row] as usize, out);
            }
        });
    }

    fn check_tier(&self, compute: &Compute) {
        assert_eq!(
            self.tier,
            compute.tier(),
            "weights are laid out for the tier of the Compute that loaded them"
        );
    }
}

/// Packs whole consecutive sequences, as many as [`GROUP_ROWS`] and [`GROUP_TOKENS`] allow, but at least one. Sequences that begin alike
/// share rows. Gives the rows of each group, and the row of each of its tokens.
fn groups(input_ids: &[u32], cu_seqlens: &[u32]) -> impl Iterator<Item = (Rows, Vec<usize>)> {
    let sequence = |pair: &[u32]| &input_ids[pair[0] as usize..pair[1] as usize];
    let mut sequences = cu_seqlens.windows(2).map(sequence).peekable();
    std::iter::from_fn(move || {
        let mut packing = Packing::default();
        let mut row_of_token = packing.push(sequences.next()?);
        while let Some(next) = sequences.next_if(|next| {
            packing.len() + packing.unshared(next) <= GROUP_ROWS && row_of_token.len() + next.len() <= GROUP_TOKENS
        }) {
            row_of_token.extend(packing.push(next));
        }
        Some((packing.finish(), row_of_token))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_cover_all_sequences_and_are_short_unless_one_sequence_is_long() {
        let distinct: Vec<u32> = (0..9001).collect();
        let found = |boundaries: &[u32]| {
            groups(&distinct, boundaries)
                .map(|(rows, row_of_token)| {
                    assert_eq!(row_of_token, (0..rows.len()).collect::<Vec<_>>());
                    rows.len()
                })
                .collect::<Vec<_>>()
        };
        assert!(found(&[0]).is_empty());
        assert_eq!(found(&[0, 0, 0]), [0]);
        assert_eq!(found(&[0, 5000]), [5000]);
        assert_eq!(found(&[0, 1000, 1024, 1025, 9000, 9001]), [1024, 1, 7975, 1]);
    }

    #[test]
    fn sequences_with_a_common_prefix_share_a_group_while_their_rows_fit() {
        let found = |prompt: u32, own: u32, count: u32| {
            let ids: Vec<u32> = (0..count)
                .flat_map(|one| (0..prompt).chain((0..own).map(move |at| 100_000 + one * own + at)))
                .collect();
            let ends: Vec<u32> = (0..=count).map(|end| end * (prompt + own)).collect();
            groups(&ids, &ends)
                .map(|(rows, row_of_token)| (rows.len(), row_of_token.len()))
                .collect::<Vec<_>>()
        };
        assert_eq!(found(500, 100, 8), [(1000, 3000), (800, 1800)]);
        // The number of tokens is bounded too.
        assert_eq!(found(1000, 1, 12), [(1008, 8008), (1004, 4004)]);
    }
}
