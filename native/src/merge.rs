//! Adding an adapter to the weights of its model.

use std::path::Path;

use napi::bindgen_prelude::{Env, PromiseRaw};
use napi_derive::napi;
use prl_engine::Compute;

use crate::runtime::blocking;
use crate::trainer::{NativeSavedWeights, saved};

/// Writes a model's folder with an adapter added to its weights.
#[napi(catch_unwind)]
pub fn merge_adapter(
    env: &Env,
    base: String,
    adapter: String,
    out: String,
) -> napi::Result<PromiseRaw<'_, NativeSavedWeights>> {
    blocking(env, move || {
        let compute = Compute::new(0, None)?;
        let written = prl_engine::merge(Path::new(&base), Path::new(&adapter), Path::new(&out), &compute)?;
        Ok(saved(written))
    })
}
