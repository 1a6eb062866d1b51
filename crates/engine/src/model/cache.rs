//! Keys and values of sequences, in blocks that a block table strings together, and the experts that their tokens went to.
//!
//! The cache is memory only: the generator decides who owns which block, what is shared and what is evicted. Generation uses it as its
//! store; the training forward pass uses it, with consecutive blocks, as scratch. So there is one layout and one attention kernel.

use std::ops::Range;

use crate::config::{ModelConfig, Moe, WeightDtype};
use crate::error::EngineError;
use crate::isa::Tier;
use crate::kernels::attention::{self, padded};
use crate::kernels::buffer::{Buffer, Shared};
use crate::kernels::element::{Bf16, Number};
use crate::model::layer::{Activations, Passing};
use crate::model::lora::Adapter;

/// New tokens of one sequence for [`crate::Model::forward_cached`].
#[derive(Debug, Clone, Copy)]
pub struct CachedSequence<'a> {
    /// The new tokens, at positions `start..start + token_ids.len()`.
    pub token_ids: &'a [u32],
    /// Tokens that the cache holds already.
    pub start: usize,
    /// Block table: entry i holds positions `i * BLOCK_TOKENS..`; covers `start + token_ids.len()` tokens or more.
    pub blocks: &'a [u32],
    /// The sequence's adapter; None for the model's. All tokens of a sequence need the same one.
    pub adapter: Option<&'a Adapter>,
}

/// Paged keys and values of all layers.
///
/// In layers with a sliding window, blocks behind the window stay: all layers share a sequence's block table, and a beginning that requests
/// share may be needed by a later one.
pub struct KvCache {
    num_blocks: usize,
    layers: Vec<LayerStore>,
    /// `[slot, layers with a router, experts of a token]`: where the tokens went; empty in a model without mixtures of experts.
    experts: Vec<u16>,
    scratch: Scratch,
}

/// Working memory of a forward pass. It is kept from step to step, so that decoding faults in no new pages.
#[derive(Default)]
pub(crate) struct Scratch {
    pub(crate) acts: Activations,
    pub(crate) passing: Passing,
    pub(crate) out: Buffer,
    /// The experts of the rows; None where they are not recorded.
    pub(crate) choices: Option<Choices>,
}

/// The experts that the rows of a pass go to: `[rows, layers with a router, experts of a token]`.
#[derive(Default)]
pub(crate) struct Choices(Vec<u16>);

/// Blocks of one layer.
pub(crate) struct LayerStore {
    pub(crate) blocks: Blocks,
    pub(crate) heads: usize,
    pub(crate) head_dim: usize,
}

/// Blocks in the format that a tier keeps them in for a model.
pub(crate) enum Blocks {
    F32(BlocksOf<f32>),
    Bf16(BlocksOf<Bf16>),
}

/// Keys `[block, head, D, B]` and values `[block, head, B, P]` (D head width, P padded, B tokens of a block).
#[derive(Default)]
pub(crate) struct BlocksOf<E: Number> {
    pub(crate) keys: Buffer<E>,
    pub(crate) values: Buffer<E>,
}

/// Whether keys and values are rounded to bfloat16, and kept so: in AVX-512-BF16 and AMX, where products round their other operand too. Where weights are
/// widened, a model has the bits of an f32 model with the same values, and keeps f32.
pub(crate) fn keeps_bf16(config: &ModelConfig, tier: Tier) -> bool {
    config.dtype == WeightDtype::Bf16 && tier >= Tier::Avx512Bf16
}

impl KvCache {
    /// Tokens of a block.
    pub const BLOCK_TOKENS: usize = attention::BLOCK_TOKENS;

    /// An empty cache of `num_blocks` blocks. Memory is touched only as blocks are written.
    pub(crate) fn new(config: &ModelConfig, tier: Tier, num_blocks: usize) -> Self {
        let layers = (0..config.num_layers)
            .map(|_| LayerStore::new(config, tier, num_blocks))
            .collect();
        Self {
            num_blocks,
            layers,
            experts: vec![0; num_blocks * Self::BLOCK_TOKENS * expert_width(config)],
            scratch: Scratch {
                choices: config.moe.as_ref().map(|_| Choices::default()),
                ..Scratch::default()
            },
        }
    }

    /// Checks, without touching it, that the memory of a cache of `num_blocks` blocks is available.
    ///
    /// # Errors
    /// [`EngineError::Capacity`] when the system refuses it.
    pub(crate) fn check_memory(config: &ModelConfig, tier: Tier, num_blocks: usize) -> Result<(), EngineError> {
        let bytes = num_blocks.checked_mul(Self::bytes_per_block(config, tier));
        match bytes.map(|bytes| Vec::<u8>::new().try_reserve_exact(bytes)) {
            Some(Ok(())) => Ok(()),
            _ => Err(EngineError::Capacity(format!(
                "a key-value cache of {num_blocks} blocks of {} bytes is more memory than this machine gives",
                Self::bytes_per_block(config, tier)
            ))),
        }
    }

    /// The number of blocks; block ids are below it.
    pub fn num_blocks(&self) -> usize {
        self.num_blocks
    }

    /// Bytes of one block's keys and values over all layers of a model. The ids of experts are beside them: two bytes for each of a token.
    pub(crate) fn bytes_per_block(config: &ModelConfig, tier: Tier) -> usize {
        let width = config.head_dim + padded(config.head_dim);
        let number = if keeps_bf16(config, tier) {
            size_of::<Bf16>()
        } else {
            size_of::<f32>()
        };
        config.num_layers * config.num_kv_heads * width * Self::BLOCK_TOKENS * number
    }

    /// Gives block `to` the contents of block `from`, in all layers.
    pub(crate) fn copy_block(&mut self, from: u32, to: u32) {
        for layer in &mut self.layers {
            layer.copy_block(from as usize, to as usize);
        }
        let len = self.experts.len() / self.num_blocks.max(1);
        let from = from as usize * len;
        self.experts.copy_within(from..from + len, to as usize * len);
    }

    /// Stores the experts of a pass's rows in their slots.
    pub(crate) fn keep_choices(&mut self, slots: &[usize]) {
        let Some(Choices(choices)) = &self.scratch.choices else {
            return;
        };
        let width = choices.len() / slots.len().max(1);
        for (row, slot) in choices.chunks_exact(width.max(1)).zip(slots) {
            self.experts[slot * width..][..width].copy_from_slice(row);
        }
    }

    /// Appends the experts of the tokens at `positions` of the sequence with this block table.
    pub(crate) fn read_experts(&self, blocks: &[u32], positions: Range<usize>, to: &mut Vec<u16>) {
        let width = self.experts.len() / (self.num_blocks * Self::BLOCK_TOKENS).max(1);
        for position in positions {
            let block = blocks[position / Self::BLOCK_TOKENS] as usize;
            let slot = block * Self::BLOCK_TOKENS + position % Self::BLOCK_TOKENS;
            to.extend_from_slice(&self.experts[slot * width..][..width]);
        }
    }

    pub(crate) fn parts_mut(&mut self) -> (&mut [LayerStore], &mut Scratch) {
        (&mut self.layers, &mut self.scratch)
    }

    /// Checks that sequences fit the cache and that no block is written by two of them.
    pub(crate) fn check(
        &self,
        config: &ModelConfig,
        tier: Tier,
        sequences: &[CachedSequence<'_>],
    ) -> Result<(), EngineError> {
        let input = |m: String| Err(EngineError::Input(m));
        let fits = |layer: &LayerStore| {
            layer.heads == config.num_kv_heads
                && layer.head_dim == config.head_dim
                && matches!(layer.blocks, Blocks::Bf16(_)) == keeps_bf16(config, tier)
        };
        if self.layers.len() != config.num_layers || !self.layers.iter().all(fits) {
            return input("the KV cache was made for another model".into());
        }
        let mut written = vec![false; self.num_blocks];
        for (at, sequence) in sequences.iter().enumerate() {
            let CachedSequence {
                token_ids,
                start,
                blocks,
                ..
            } = *sequence;
            if token_ids.is_empty() {
                return input(format!("sequence {at} has no new token"));
            }
            let needed = start.saturating_add(token_ids.len()).div_ceil(Self::BLOCK_TOKENS);
            if blocks.len() < needed {
                return input(format!(
                    "sequence {at}: its block table has {} blocks and needs {needed}",
                    blocks.len()
                ));
            }
            for (entry, &block) in blocks[..needed].iter().enumerate() {
                let Some(taken) = written.get_mut(block as usize) else {
                    return input(format!("sequence {at}: block {block} is not below {}", self.num_blocks));
                };
                if entry >= start / Self::BLOCK_TOKENS && std::mem::replace(taken, true) {
                    return input(format!("sequence {at}: block {block} is written twice in one call"));
                }
            }
        }
        Ok(())
    }
}

impl Choices {
    /// Takes in the experts `[rows, experts of a token]` of a layer, which may have none. The first layer with a router says how many rows there are.
    pub(crate) fn take_in(&mut self, moe: &Moe, layer: usize, experts: &[u32]) {
        let Some(router) = moe.router(layer) else { return };
        let (chosen, width) = (moe.experts_per_token, moe.routers() * moe.experts_per_token);
        self.0.resize(experts.len() * moe.routers(), 0);
        for (row, experts) in self.0.chunks_exact_mut(width).zip(experts.chunks_exact(chosen)) {
            let row = &mut row[router * chosen..][..chosen];
            // Requests for experts are refused where an id may not fit.
            row.iter_mut().zip(experts).for_each(|(to, &id)| *to = id as u16);
        }
    }
}

/// Experts that are recorded of a token.
fn expert_width(config: &ModelConfig) -> usize {
    config
        .moe
        .as_ref()
        .map_or(0, |moe| moe.routers() * moe.experts_per_token)
}

impl LayerStore {
    pub(crate) fn new(config: &ModelConfig, tier: Tier, num_blocks: usize) -> Self {
        let blocks = if keeps_bf16(config, tier) {
            Blocks::Bf16(BlocksOf::default())
        } else {
            Blocks::F32(BlocksOf::default())
        };
        let mut store = Self {
            blocks,
            heads: config.num_kv_heads,
            head_dim: config.head_dim,
        };
        store.reserve(num_blocks);
        store
    }

    /// Makes room for `num_blocks` blocks; what the blocks hold afterwards is unspecified.
    pub(crate) fn reserve(&mut self, num_blocks: usize) {
        let sizes = self.sizes().map(|size| num_blocks * size);
        match &mut self.blocks {
            Blocks::F32(blocks) => blocks.reserve(sizes),
            Blocks::Bf16(blocks) => blocks.reserve(sizes),
        }
    }

    pub(crate) fn writer(&mut self) -> Writer<'_> {
        let (heads, head_dim) = (self.heads, self.head_dim);
        let blocks = match &mut self.blocks {
            Blocks::F32(blocks) => WriterBlocks::F32(blocks.share()),
            Blocks::Bf16(blocks) => WriterBlocks::Bf16(blocks.share()),
        };
        Writer {
            blocks,
            heads,
            head_dim,
        }
    }

    /// Numbers of a block of keys and of one of values.
    fn sizes(&self) -> [usize; 2] {
        [self.head_dim, padded(self.head_dim)].map(|width| self.heads * attention::BLOCK_TOKENS * width)
    }

    fn copy_block(&mut self, from: usize, to: usize) {
        let sizes = self.sizes();
        match &mut self.blocks {
            Blocks::F32(blocks) => blocks.copy(sizes, from, to),
            Blocks::Bf16(blocks) => blocks.copy(sizes, from, to),
        }
    }
}

impl<E: Number> BlocksOf<E> {
    fn reserve(&mut self, [keys, values]: [usize; 2]) {
        self.keys.resize(keys);
        self.values.resize(values);
    }

    fn copy(&mut self, sizes: [usize; 2], from: usize, to: usize) {
        for (buffer, size) in [&mut self.keys, &mut self.values].into_iter().zip(sizes) {
            buffer.copy_within(from * size..(from + 1) * size, to * size);
        }
    }

    fn share(&mut self) -> [Shared<'_, E>; 2] {
        [Shared::new(&mut self.keys), Shared::new(&mut self.values)]
    }
}

/// Writes tokens into a layer's blocks from several threads at once.
#[derive(Clone, Copy)]
pub(crate) struct Writer<'a> {
    blocks: WriterBlocks<'a>,
    heads: usize,
    head_dim: usize,
}

/// Keys and values.
#[derive(Clone, Copy)]
enum WriterBlocks<'a> {
    F32([Shared<'a, f32>; 2]),
    Bf16([Shared<'a, Bf16>; 2]),
}

impl Writer<'_> {
    /// Stores one token's keys and values (`[heads, D]` each) in `slot` = block * BLOCK_TOKENS + offset.
    ///
    /// # Safety
    /// No other thread may access the slot meanwhile.
    pub(crate) unsafe fn write(&self, slot: usize, keys: &[f32], values: &[f32]) {
        // SAFETY: by this function's contract.
        unsafe {
            match self.blocks {
                WriterBlocks::F32(blocks) => self.write_as(blocks, slot, [keys, values], |value| value),
                WriterBlocks::Bf16(blocks) => self.write_as(blocks, slot, [keys, values], Bf16::rounded),
            }
        }
    }

    /// # Safety
    /// As for [`Self::write`].
    unsafe fn write_as<E: Number>(
        &self,
        [to_keys, to_values]: [Shared<'_, E>; 2],
        slot: usize,
        [keys, values]: [&[f32]; 2],
        kept: impl Fn(f32) -> E,
    ) {
        const B: usize = attention::BLOCK_TOKENS;
        let (block, offset) = (slot / B, slot % B);
        let (dim, width) = (self.head_dim, padded(self.head_dim));
        for head in 0..self.heads {
            let base = (block * self.heads + head) * B;
            let column = base * dim + offset;
            assert!(column + (dim - 1) * B < to_keys.len(), "slot {slot} lies in the store");
            for (at, &key) in keys[head * dim..][..dim].iter().enumerate() {
                // SAFETY: in bounds by the assertion (`at < dim`); an element of the slot, which only we access, as the caller promises.
                unsafe { *to_keys.as_mut_ptr().add(column + at * B) = kept(key) };
            }
            // SAFETY: one row of the slot, which only we access, as the caller promises.
            let row = unsafe { to_values.slice((base + offset) * width, dim) };
            for (to, &value) in row.iter_mut().zip(&values[head * dim..][..dim]) {
                *to = kept(value);
            }
        }
    }
}
