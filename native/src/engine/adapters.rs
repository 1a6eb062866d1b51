//! The adapters that an engine has by name.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use prl_engine::Adapter;

use crate::error::NativeError;

/// Adapters of one engine.
#[derive(Default)]
pub(crate) struct Adapters {
    by_name: Mutex<HashMap<String, Arc<Adapter>>>,
}

impl Adapters {
    /// Says that there is none where there is none.
    pub(crate) fn get(&self, name: &str) -> Result<Arc<Adapter>, String> {
        self.locked(|adapters| adapters.get(name).map(Arc::clone))
            .ok_or_else(|| unknown(name))
    }

    pub(crate) fn set(&self, name: String, adapter: Arc<Adapter>) {
        self.locked(|adapters| adapters.insert(name, adapter));
    }

    pub(crate) fn remove(&self, name: &str) -> Result<(), NativeError> {
        let removed = self.locked(|adapters| adapters.remove(name));
        removed
            .map(drop)
            .ok_or_else(|| NativeError::new("PRL_ENGINE_INPUT", unknown(name)))
    }

    fn locked<T>(&self, work: impl FnOnce(&mut HashMap<String, Arc<Adapter>>) -> T) -> T {
        work(&mut self.by_name.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn unknown(name: &str) -> String {
    format!("there is no adapter {name:?}: load it before requests name it")
}
