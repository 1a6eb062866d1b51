//! The tokio runtime of the addon, and how blocking work leaves the JavaScript thread.

use napi::bindgen_prelude::{Env, PromiseRaw, ToNapiValue, create_custom_tokio_runtime};
use napi_derive::module_init;

use crate::error::NativeError;

/// Compute runs on the engine's own threads; these only wait for it, so few are enough on a machine shared by several processes.
const WORKER_THREADS: usize = 1;
/// Bounds the calls that wait at the same time; further ones queue.
const MAX_BLOCKING_THREADS: usize = 8;

#[module_init]
fn init() {
    let runtime = napi::tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKER_THREADS)
        .max_blocking_threads(MAX_BLOCKING_THREADS)
        .thread_name("prl-native")
        .enable_all()
        .build();
    // Without a runtime of ours napi builds its own default one at the first asynchronous call.
    if let Ok(runtime) = runtime {
        create_custom_tokio_runtime(runtime);
    }
}

/// Runs `work` on a blocking thread and resolves a promise with what it returns; a panic becomes PRL_NATIVE_PANIC.
pub(crate) fn blocking<'env, T, F>(env: &'env Env, work: F) -> napi::Result<PromiseRaw<'env, T>>
where
    T: ToNapiValue + Send + 'static,
    F: FnOnce() -> Result<T, NativeError> + Send + 'static,
{
    env.spawn_future(async move {
        match napi::tokio::task::spawn_blocking(work).await {
            Ok(result) => result.map_err(napi::Error::from),
            Err(join) => Err(NativeError::new("PRL_NATIVE_PANIC", join.to_string()).into()),
        }
    })
}
