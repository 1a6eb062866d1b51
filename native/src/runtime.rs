//! The tokio runtime of the addon, the way of blocking work off the JavaScript thread, and the report of a panic on stderr.
//!
//! A panic never ends the process. On the JavaScript thread `#[napi(catch_unwind)]` catches it, which a test demands of every export;
//! elsewhere `blocking` or, for other futures, napi does. It reaches JavaScript as PRL_NATIVE_PANIC.

use napi::bindgen_prelude::{Env, PromiseRaw, ToNapiValue, create_custom_tokio_runtime};
use napi_derive::module_init;

use crate::error::NativeError;

/// Few threads are enough: they only wait for the engine's threads, which compute.
const WORKER_THREADS: usize = 1;
/// So many blocking calls run at the same time; further ones queue.
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
    // Without it napi builds a default runtime at the first asynchronous call.
    if let Ok(runtime) = runtime {
        create_custom_tokio_runtime(runtime);
    }
}

/// Writes one line; the error that JavaScript gets has the rest.
fn report_panic(info: &std::panic::PanicHookInfo<'_>) {
    use std::io::Write;

    let message = info.payload_as_str().unwrap_or("no message").replace('\n', " ");
    let place = info.location().map(ToString::to_string).unwrap_or_default();
    // If stderr cannot be written to, there is no other place for the report.
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
