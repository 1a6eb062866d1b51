//! Which rows a forward pass computes: new tokens of several sequences, one after the other.

use crate::error::EngineError;
use crate::kernels::attention::BLOCK_TOKENS;
use crate::model::cache::CachedSequence;

/// New tokens of one sequence.
#[derive(Debug, Clone)]
pub(crate) struct Span {
    /// First row.
    pub(crate) row: usize,
    /// Number of rows.
    pub(crate) len: usize,
    /// Position of the first row.
    pub(crate) start: usize,
    /// Where the sequence's block table begins in [`Rows::tables`].
    pub(crate) table: usize,
}

/// The rows of a pass.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rows {
    pub(crate) token_ids: Vec<u32>,
    /// Position of each row in its sequence.
    pub(crate) positions: Vec<u32>,
    /// Where each row's keys and values go: block * BLOCK_TOKENS + offset.
    pub(crate) slots: Vec<usize>,
    pub(crate) spans: Vec<Span>,
    /// The block tables of all spans.
    pub(crate) tables: Vec<u32>,
    /// One more than the last position.
    pub(crate) longest: usize,
}

impl Rows {
    /// The packed sequences at `cu_seqlens`, checked beforehand, from position 0 in consecutive blocks. Sequences may be empty.
    pub(crate) fn packed(token_ids: &[u32], cu_seqlens: &[u32]) -> Self {
        let mut rows = Self::default();
        let mut blocks = 0u32;
        for pair in cu_seqlens.windows(2) {
            let segment = &token_ids[pair[0] as usize..pair[1] as usize];
            let needed = segment.len().div_ceil(BLOCK_TOKENS) as u32;
            let table: Vec<u32> = (blocks..blocks + needed).collect();
            blocks += needed;
            rows.push(segment, 0, &table);
        }
        rows
    }

    /// New tokens of cached sequences, checked against the cache beforehand.
    pub(crate) fn cached(sequences: &[CachedSequence<'_>], vocab_size: usize) -> Result<Self, EngineError> {
        let mut rows = Self::default();
        for sequence in sequences {
            rows.push(sequence.token_ids, sequence.start, sequence.blocks);
        }
        check_ids(&rows.token_ids, vocab_size)?;
        Ok(rows)
    }

    /// The number of rows.
    pub(crate) fn len(&self) -> usize {
        self.token_ids.len()
    }

    /// Blocks that packed sequences take.
    pub(crate) fn num_blocks(&self) -> usize {
        self.tables.len()
    }

    fn push(&mut self, token_ids: &[u32], start: usize, table: &[u32]) {
        let (row, len) = (self.token_ids.len(), token_ids.len());
        self.spans.push(Span {
            row,
            len,
            start,
            table: self.tables.len(),
        });
        self.token_ids.extend_from_slice(token_ids);
        for position in start..start + len {
            self.positions.push(position as u32);
            self.slots
                .push(table[position / BLOCK_TOKENS] as usize * BLOCK_TOKENS + position % BLOCK_TOKENS);
        }
        self.tables.extend_from_slice(table);
        self.longest = self.longest.max(start + len);
    }
}

/// Checks packed sequences.
///
/// # Errors
/// [`EngineError::Input`] when `cu_seqlens` does not ascend from 0 to the number of tokens or an id is not below `vocab_size`.
pub(crate) fn check_packed(token_ids: &[u32], cu_seqlens: &[u32], vocab_size: usize) -> Result<(), EngineError> {
    check_cu_seqlens(cu_seqlens, token_ids.len())?;
    check_ids(token_ids, vocab_size)
}

/// Checks that ids are below the vocabulary's size.
pub(crate) fn check_ids(token_ids: &[u32], vocab_size: usize) -> Result<(), EngineError> {
    match token_ids.iter().position(|&id| id as usize >= vocab_size) {
        None => Ok(()),
        Some(at) => Err(EngineError::Input(format!(
            "token {at} is {}: ids are below the vocabulary's {vocab_size}",
            token_ids[at]
        ))),
    }
}

/// Checks that offsets ascend from 0 to `len`.
pub(crate) fn check_cu_seqlens(cu_seqlens: &[u32], len: usize) -> Result<(), EngineError> {
    let whole = cu_seqlens.first() == Some(&0) && cu_seqlens.last().is_some_and(|&last| last as usize == len);
    if whole && cu_seqlens.is_sorted() {
        return Ok(());
    }
    Err(EngineError::Input(format!(
        "cu_seqlens must ascend from 0 to the number of tokens, {len}; it has {} entries from {:?} to {:?}",
        cu_seqlens.len(),
        cu_seqlens.first(),
        cu_seqlens.last()
    )))
}
