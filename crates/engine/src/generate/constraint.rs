//! A format that a completion has to keep to: which tokens may come next.
//!
//! The engine knows token ids only. A compiler of grammars, which knows the tokens' texts, implements [`TokenFormat`]. The allowed tokens
//! depend on the completion alone, so a completion is the same whatever else runs and however often its request was put back.

use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};

/// A compiled format, shared by all requests that have it.
pub trait TokenFormat: Debug + Send + Sync {
    /// The state of a new completion. `endings` are the tokens that end it: those without a text come where the completion may end,
    /// and nowhere else.
    fn start(&self, endings: &[u32]) -> Box<dyn TokenConstraint>;
}

/// The state of one completion. It is used on one thread at a time, and its work for one token has to be bounded: other requests wait.
pub trait TokenConstraint: Debug + Send {
    /// Makes the logits of tokens that cannot follow `completion` minus infinity. Each call has the completion of the call before, and more.
    ///
    /// # Errors
    /// Says why the format cannot be followed any more; the request fails with this message.
    fn restrict(&mut self, completion: &[u32], logits: &mut [f32]) -> Result<Next, String>;
}

/// Whether another token can follow under a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Some can come.
    Possible,
    /// The completion is whole, nothing can follow, and the request has no token that would end it.
    Nothing,
}

/// The format of a live request. The state is made when the first token is drawn, on the thread that draws it.
#[derive(Debug)]
pub(super) struct Constraint {
    format: Arc<dyn TokenFormat>,
    state: Mutex<Option<Box<dyn TokenConstraint>>>,
}

impl Constraint {
    pub(super) fn new(format: Arc<dyn TokenFormat>) -> Self {
        Constraint {
            format,
            state: Mutex::new(None),
        }
    }

    /// See [`TokenConstraint::restrict`].
    pub(super) fn restrict(&self, endings: &[u32], completion: &[u32], logits: &mut [f32]) -> Result<Next, String> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state
            .get_or_insert_with(|| self.format.start(endings))
            .restrict(completion, logits)
    }
}
