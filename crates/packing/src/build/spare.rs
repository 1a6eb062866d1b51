//! Memory of batches that are not needed any more, for batches of later steps.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::Batch;

/// Keeps finished batches up to a bound and frees the others.
#[derive(Debug)]
pub struct SpareBatches {
    most_tokens: usize,
    batches: Mutex<Vec<Batch>>,
}

impl SpareBatches {
    /// Keeps batches of at most `most_tokens` tokens together; a token takes 17 to 33 bytes.
    pub const fn new(most_tokens: usize) -> Self {
        Self {
            most_tokens,
            batches: Mutex::new(Vec::new()),
        }
    }

    /// Keeps a batch, or frees it when the bound would be exceeded.
    pub fn keep(&self, batch: Batch) {
        let mut batches = self.lock();
        let kept: usize = batches.iter().map(|batch| batch.input_ids.capacity()).sum();
        if kept + batch.input_ids.capacity() <= self.most_tokens {
            batches.push(batch);
        }
    }

    /// Gives all kept batches away, for [`crate::build_batch_reusing`].
    pub fn take(&self) -> Vec<Batch> {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Batch>> {
        // A panic of another holder cannot leave the list in a bad state.
        self.batches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::SpareBatches;
    use crate::Batch;

    #[test]
    fn buffers_above_the_bound_are_freed() {
        let spare = SpareBatches::new(10);
        for tokens in [4, 7, 6, 1] {
            let mut input_ids = Vec::with_capacity(tokens);
            input_ids.push(1);
            spare.keep(Batch {
                input_ids,
                ..Batch::default()
            });
        }
        let kept: Vec<usize> = spare.take().iter().map(|batch| batch.input_ids.capacity()).collect();
        assert_eq!(kept, [4, 6]);
        assert!(spare.take().is_empty());
    }
}
