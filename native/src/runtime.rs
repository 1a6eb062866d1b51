//! The tokio runtime of the addon, the way of blocking work off the JavaScript thread, and the report of a panic on stderr.
//!
//! A panic never ends the process. On the JavaScript thread `#[napi(catch_unwind)]` catches it, which a test demands of every export;
//! elsewhere `blocking` or, for other futures, napi does. It reaches JavaScript as PRL_NATIVE_PANIC.

use std::pin::Pin;

use napi::bindgen_prelude::{Env, PromiseRaw, ToNapiValue, create_custom_tokio_runtime};
use napi::{JsValue, sys};
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

/// The value of a promise, as the function that makes the JavaScript value from it on the JavaScript thread.
///
/// napi and tokio compile their code for a promise once for each type of future and of value. Here all promises share one type of each: with a type
/// for each export, that code was two fifths of the addon.
struct Answer(Box<dyn FnOnce(sys::napi_env) -> napi::Result<sys::napi_value> + Send>);

type BoxedAnswer = Pin<Box<dyn Future<Output = napi::Result<Answer>> + Send>>;
type BlockingWork = Box<dyn FnOnce() -> Result<Answer, NativeError> + Send>;

impl Answer {
    fn new<T: ToNapiValue + Send + 'static>(value: T) -> Self {
        // SAFETY: napi calls `to_napi_value` below with the environment that the promise belongs to, on its thread.
        Self(Box::new(move |env| unsafe { T::to_napi_value(env, value) }))
    }
}

impl ToNapiValue for Answer {
    unsafe fn to_napi_value(env: sys::napi_env, answer: Self) -> napi::Result<sys::napi_value> {
        (answer.0)(env)
    }
}

/// Resolves a promise with the value of `future`, which runs on the addon's runtime.
pub(crate) fn promise<'env, T, F>(env: &'env Env, future: F) -> napi::Result<PromiseRaw<'env, T>>
where
    T: ToNapiValue + Send + 'static,
    F: Future<Output = napi::Result<T>> + Send + 'static,
{
    let answer: BoxedAnswer = Box::pin(async move { future.await.map(Answer::new) });
    Ok(typed(env, &env.spawn_future(answer)?))
}

/// Runs `work` on a blocking thread and resolves a promise with what it returns; a panic becomes PRL_NATIVE_PANIC.
pub(crate) fn blocking<'env, T, F>(env: &'env Env, work: F) -> napi::Result<PromiseRaw<'env, T>>
where
    T: ToNapiValue + Send + 'static,
    F: FnOnce() -> Result<T, NativeError> + Send + 'static,
{
    let work: BlockingWork = Box::new(move || work().map(Answer::new));
    Ok(typed(env, &env.spawn_future(off_thread(name_of::<F>(), work))?))
}

/// The path of the export that this is the work of: that of the closure without its last part.
fn name_of<F>() -> &'static str {
    let path = std::any::type_name::<F>();
    path.split("::{{closure}}").next().unwrap_or(path)
}

/// The answer of work that runs on a blocking thread and is watched there (`prl_progress`).
fn off_thread(name: &'static str, work: BlockingWork) -> BoxedAnswer {
    Box::pin(async move {
        match napi::tokio::task::spawn_blocking(move || prl_progress::work(name, work)).await {
            Ok(result) => result.map_err(napi::Error::from),
            Err(join) => Err(NativeError::new("PRL_NATIVE_PANIC", join.to_string()).into()),
        }
    })
}

/// The same promise with the type of the value that its answer holds.
fn typed<'env, T>(env: &'env Env, promise: &PromiseRaw<'env, Answer>) -> PromiseRaw<'env, T> {
    PromiseRaw::new(env.raw(), promise.value().value)
}
