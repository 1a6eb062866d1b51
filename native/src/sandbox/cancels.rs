//! Cancellation: JavaScript chooses a key for each call and cancels the call by this key.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prl_sandbox_client::CancellationToken;

/// Every call in flight by its key. Clones share the calls.
#[derive(Clone, Default)]
pub(crate) struct Cancels(Arc<Mutex<HashMap<String, Flight>>>);

struct Flight {
    cancel: CancellationToken,
    /// Calls with the same key are one execution: they are cancelled together.
    calls: usize,
}

/// One call in flight.
pub(crate) struct InFlight {
    cancels: Cancels,
    key: String,
    cancel: CancellationToken,
}

impl Cancels {
    pub(crate) fn enter(&self, key: &str) -> InFlight {
        let mut flights = self.lock();
        let flight = flights.entry(key.to_owned()).or_insert_with(|| Flight {
            cancel: CancellationToken::new(),
            calls: 0,
        });
        flight.calls += 1;
        InFlight {
            cancels: self.clone(),
            key: key.to_owned(),
            cancel: flight.cancel.clone(),
        }
    }

    pub(crate) fn cancel(&self, key: &str) {
        if let Some(flight) = self.lock().get(key) {
            flight.cancel.cancel();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Flight>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl InFlight {
    pub(crate) fn token(&self) -> &CancellationToken {
        &self.cancel
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let mut flights = self.cancels.lock();
        if let Some(flight) = flights.get_mut(&self.key) {
            flight.calls -= 1;
            if flight.calls == 0 {
                flights.remove(&self.key);
            }
        }
    }
}
