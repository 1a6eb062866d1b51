//! The tokio runtime of the addon, how blocking work leaves the JavaScript thread, and what a panic leaves on stderr.
//!
//! A panic never takes the process with it: `blocking` catches those of work off the JavaScript thread, `#[napi(catch_unwind)]`, which
//! every export carries, those on it. Both reach JavaScript as PRL_NATIVE_PANIC.

use napi::bindgen_prelude::{Env, PromiseRaw, ToNapiValue, create_custom_tokio_runtime};
use napi_derive::module_init;

use crate::error::NativeError;

/// Compute runs on the engine's own threads; these only wait for it, so few are enough on a machine shared by several processes.
const WORKER_THREADS: usize = 1;
/// Bounds the calls that wait at the same time; further ones queue.
const MAX_BLOCKING_THREADS: usize = 8;

#[module_init]
fn init() {
    std::panic::set_hook(Box::new(report_panic));
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

/// One line; the error that JavaScript gets says the rest.
fn report_panic(info: &std::panic::PanicHookInfo<'_>) {
    use std::io::Write;

    let message = info.payload_as_str().unwrap_or("no message").replace('\n', " ");
    let place = info.location().map(ToString::to_string).unwrap_or_default();
    // Nothing is left to do when stderr cannot be written to.
    let _ = writeln!(std::io::stderr(), "prl: native code panicked at {place}: {message}");
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
