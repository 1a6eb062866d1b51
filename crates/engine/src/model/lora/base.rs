//! Whether an adapter was made for the model that is loaded, as far as names say it.
//!
//! Only names of a hub can be compared: a folder may have any name, and a model that was trained further has another folder than the one
//! that its adapter names. The owner is not compared, because many publish copies of one model.

use std::path::Path;

use crate::config::{ModelConfig, hub_name};
use crate::error::EngineError;

/// Refuses an adapter whose config, the file at `path`, names another model of the hub than the one that is loaded.
pub(super) fn check_base(path: &Path, base: &str, model: &ModelConfig) -> Result<(), EngineError> {
    let (Some(adapted), Some(loaded)) = (hub_name(base), &model.hub_name) else {
        return Ok(());
    };
    if repository(&adapted).eq_ignore_ascii_case(repository(loaded)) {
        return Ok(());
    }
    Err(EngineError::Weights(format!(
        "{}: base_model_name_or_path is {base:?}, and the loaded model is {loaded:?}: load the adapter onto {adapted}; if the two models \
         have the same weights, write {loaded:?} there",
        path.display()
    )))
}

fn repository(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}
