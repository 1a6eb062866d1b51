//! Blocks of the key-value cache: which sequences hold them, which of them contain a known prefix, and which are available.
//!
//! A block is free, held (its reference count says by how many sequences), or idle: not held but kept because a later request
//! may start with the same tokens. When free blocks run out, idle ones are given away, least recently released first.
//!
//! A known block is found by (its predecessor, its tokens), where the predecessor is the serial number of the block before it,
//! or the salt for the first block: equal keys mean equal prefixes, because no hash can collide. Serial numbers are never used
//! twice, so the successors of a block that was given away cannot be found any more. The key does not contain the weight version,
//! because the cache is emptied when the weights change.
//!
//! The last block of a prompt is seldom full, and its holder continues to write behind the prompt. It is known all the same by the prompt's
//! tokens in it: other sequences do not hold it, they copy it (`BlockCopy`).
//!
//! This module knows neither the content of blocks nor the model.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The place of a block: what precedes it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Predecessor {
    /// The block is the first one of a prompt with this salt.
    Salt(Salt),
    /// The known block with this serial number.
    Block(u64),
}

/// The properties that are equal where requests share prefixes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Salt {
    /// The request's own salt.
    pub(super) text: Option<Arc<str>>,
    /// Serial number of the request's adapter: another adapter computes other keys and values.
    pub(super) adapter: Option<u64>,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct PrefixKey {
    predecessor: Predecessor,
    tokens: Box<[u32]>,
}

#[derive(Debug)]
struct Known {
    key: Arc<PrefixKey>,
    serial: u64,
}

/// A copy of one block into another, made before the latter is computed further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BlockCopy {
    pub(super) from: u32,
    pub(super) to: u32,
}

#[derive(Debug, Default)]
struct Block {
    references: u32,
    /// Its key as a full block.
    known: Option<Known>,
    /// Its key as the end of a prompt that fills only its beginning.
    prompt_end: Option<Arc<PrefixKey>>,
    /// Its place in the order of idle blocks, while it is idle.
    released_at: u64,
}

/// The blocks of one key-value cache.
#[derive(Debug)]
pub(super) struct BlockManager {
    block_tokens: usize,
    blocks: Vec<Block>,
    free: Vec<u32>,
    idle: BTreeMap<u64, u32>,
    index: HashMap<Arc<PrefixKey>, u32>,
    clock: u64,
    serials: u64,
}

impl BlockManager {
    /// `num_blocks` free blocks of `block_tokens` tokens.
    pub(super) fn new(num_blocks: usize, block_tokens: usize) -> Self {
        let count = u32::try_from(num_blocks).unwrap_or(u32::MAX);
        BlockManager {
            block_tokens,
            blocks: (0..count).map(|_| Block::default()).collect(),
            free: (0..count).rev().collect(),
            idle: BTreeMap::new(),
            index: HashMap::new(),
            clock: 0,
            serials: 0,
        }
    }

    /// Number of blocks that hold `tokens` tokens.
    pub(super) fn blocks_for(&self, tokens: usize) -> usize {
        tokens.div_ceil(self.block_tokens)
    }

    /// Tokens of one block.
    pub(super) fn block_tokens(&self) -> usize {
        self.block_tokens
    }

    /// All blocks.
    pub(super) fn total(&self) -> usize {
        self.blocks.len()
    }

    /// Blocks that [`Self::allocate`] can still give.
    pub(super) fn available(&self) -> usize {
        self.free.len() + self.idle.len()
    }

    /// Gives a block with one holder and no known content; None when all blocks are held.
    pub(super) fn allocate(&mut self) -> Option<u32> {
        let id = match self.free.pop() {
            Some(id) => id,
            None => {
                let (_, id) = self.idle.pop_first()?;
                self.forget(id);
                id
            }
        };
        self.blocks[id as usize].references = 1;
        Some(id)
    }

    /// Gives back one hold on each block of a sequence. The last blocks become idle first, so that the ends of prefixes are
    /// given away before their beginnings.
    pub(super) fn release(&mut self, blocks: &[u32]) {
        for &id in blocks.iter().rev() {
            let block = &mut self.blocks[id as usize];
            debug_assert!(block.references > 0, "block {id} is released more often than held");
            block.references -= 1;
            if block.references > 0 {
                continue;
            }
            if block.known.is_some() || block.prompt_end.is_some() {
                block.released_at = self.clock;
                self.idle.insert(self.clock, id);
                self.clock += 1;
            } else {
                self.free.push(id);
            }
        }
    }

    /// Holds the known blocks that `tokens` starts with, at most `limit` of them, and returns them with the predecessor of the
    /// next block.
    pub(super) fn hold_prefix(&mut self, salt: Predecessor, tokens: &[u32], limit: usize) -> (Vec<u32>, Predecessor) {
        let mut held = Vec::new();
        let mut predecessor = salt;
        for chunk in tokens.chunks_exact(self.block_tokens).take(limit) {
            let key = PrefixKey {
                predecessor,
                tokens: chunk.into(),
            };
            let Some(&id) = self.index.get(&key) else {
                predecessor = key.predecessor;
                break;
            };
            let block = &mut self.blocks[id as usize];
            if block.references == 0 {
                self.idle.remove(&block.released_at);
            }
            block.references += 1;
            held.push(id);
            predecessor = match &block.known {
                Some(known) => Predecessor::Block(known.serial),
                None => unreachable!("an indexed block is known"),
            };
        }
        (held, predecessor)
    }

    /// Makes a full, held block known and returns the predecessor of the block after it. When an equal block is known already, that one
    /// continues to be found.
    pub(super) fn make_known(&mut self, id: u32, predecessor: Predecessor, tokens: &[u32]) -> Predecessor {
        debug_assert_eq!(tokens.len(), self.block_tokens);
        let key = PrefixKey {
            predecessor,
            tokens: tokens.into(),
        };
        if let Some(&twin) = self.index.get(&key)
            && let Some(known) = &self.blocks[twin as usize].known
        {
            return Predecessor::Block(known.serial);
        }
        let key = Arc::new(key);
        let serial = self.serials;
        self.serials += 1;
        self.index.insert(Arc::clone(&key), id);
        self.blocks[id as usize].known = Some(Known { key, serial });
        Predecessor::Block(serial)
    }

    /// Makes a held block known that begins with `tokens`: the last tokens of a prompt, fewer than a block has. When an equal block is known
    /// already, that one continues to be found.
    pub(super) fn make_prompt_end_known(&mut self, id: u32, predecessor: Predecessor, tokens: &[u32]) {
        debug_assert!(tokens.len() < self.block_tokens);
        let key = PrefixKey {
            predecessor,
            tokens: tokens.into(),
        };
        if !self.index.contains_key(&key) {
            let key = Arc::new(key);
            self.index.insert(Arc::clone(&key), id);
            self.blocks[id as usize].prompt_end = Some(key);
        }
    }

    /// The known block, held or idle, that begins with exactly these tokens (at most a full block) after `predecessor`. It contains them until
    /// the next step is computed, even if the block is given to another sequence before.
    pub(super) fn find_end(&self, predecessor: &Predecessor, tokens: &[u32]) -> Option<u32> {
        let key = PrefixKey {
            predecessor: predecessor.clone(),
            tokens: tokens.into(),
        };
        self.index.get(&key).copied()
    }

    /// Forgets every known prefix; idle blocks become free, held ones stay held.
    pub(super) fn forget_all(&mut self) {
        self.index.clear();
        for block in &mut self.blocks {
            block.known = None;
            block.prompt_end = None;
        }
        self.free.extend(std::mem::take(&mut self.idle).into_values().rev());
    }

    fn forget(&mut self, id: u32) {
        let block = &mut self.blocks[id as usize];
        let keys = [block.known.take().map(|known| known.key), block.prompt_end.take()];
        for key in keys.into_iter().flatten() {
            self.index.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn salt(name: &str) -> Predecessor {
        Predecessor::Salt(Salt {
            text: Some(name.into()),
            adapter: None,
        })
    }

    /// Allocates and makes known the full blocks of `tokens`.
    fn fill(manager: &mut BlockManager, root: Predecessor, tokens: &[u32]) -> Vec<u32> {
        let mut predecessor = root;
        tokens
            .chunks_exact(manager.block_tokens())
            .map(|chunk| {
                let id = manager.allocate().expect("a block is available");
                predecessor = manager.make_known(id, predecessor.clone(), chunk);
                id
            })
            .collect()
    }

    #[test]
    fn released_blocks_are_found_by_the_same_prefix_and_salt_only() {
        let mut manager = BlockManager::new(8, 2);
        let tokens = [1, 2, 3, 4, 5];
        let blocks = fill(&mut manager, salt("a"), &tokens);
        manager.release(&blocks);
        assert_eq!(manager.available(), 8);
        let (held, _) = manager.hold_prefix(salt("a"), &[1, 2, 3, 4, 9, 9], 9);
        assert_eq!(held, blocks);
        assert_eq!(manager.available(), 6);
        assert!(manager.hold_prefix(salt("b"), &tokens, 9).0.is_empty());
        assert!(
            manager
                .hold_prefix(Predecessor::Salt(Salt::default()), &tokens, 9)
                .0
                .is_empty()
        );
        assert_eq!(manager.hold_prefix(salt("a"), &[1, 2, 4, 4], 9).0, blocks[..1]);
        assert_eq!(manager.hold_prefix(salt("a"), &tokens, 1).0, blocks[..1]);
    }

    #[test]
    fn the_least_recently_released_block_is_given_away_first_and_ends_before_beginnings() {
        let mut manager = BlockManager::new(4, 1);
        let old = fill(&mut manager, salt(""), &[1, 2]);
        let new = fill(&mut manager, salt(""), &[7, 8]);
        manager.release(&old);
        manager.release(&new);
        assert_eq!(manager.allocate(), Some(old[1]));
        assert_eq!(manager.allocate(), Some(old[0]));
        assert_eq!(manager.hold_prefix(salt(""), &[7, 8], 9).0, new);
        assert!(manager.hold_prefix(salt(""), &[1, 2], 9).0.is_empty());
        assert_eq!(manager.allocate(), None);
    }

    #[test]
    fn successors_of_a_block_that_was_given_away_are_not_found_under_a_new_equal_one() {
        let mut manager = BlockManager::new(3, 1);
        let blocks = fill(&mut manager, salt(""), &[1, 2]);
        manager.release(&blocks[..1]);
        let _spare = manager.allocate().unwrap();
        assert_eq!(manager.allocate(), Some(blocks[0]), "the idle beginning is given away");
        manager.release(&[blocks[0]]);
        let again = fill(&mut manager, salt(""), &[1]);
        manager.release(&again);
        assert_eq!(manager.hold_prefix(salt(""), &[1, 2], 9).0, again);
    }

    #[test]
    fn equal_blocks_made_twice_keep_the_first_one_findable() {
        let mut manager = BlockManager::new(4, 1);
        let first = fill(&mut manager, salt(""), &[1, 2]);
        let second = fill(&mut manager, salt(""), &[1, 2]);
        assert_ne!(first, second);
        assert_eq!(manager.hold_prefix(salt(""), &[1, 2], 9).0, first);
        manager.release(&second);
        assert_eq!(manager.available(), 2);
    }

    #[test]
    fn forgetting_frees_idle_blocks_and_keeps_held_ones_held() {
        let mut manager = BlockManager::new(4, 1);
        let held = fill(&mut manager, salt(""), &[1]);
        let idle = fill(&mut manager, salt(""), &[2]);
        manager.release(&idle);
        manager.forget_all();
        assert_eq!(manager.available(), 3);
        assert!(manager.hold_prefix(salt(""), &[1], 9).0.is_empty());
        manager.release(&held);
        assert_eq!(manager.available(), manager.total());
    }
}
