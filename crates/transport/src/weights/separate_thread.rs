//! Runs work on a separate thread with a separate runtime: its connections, digests and file writes share one core's cache,
//! and other work continues while it waits for a disk.

use std::panic::resume_unwind;
use std::path::Path;
use std::thread;

use tokio::runtime::Builder;
use tokio::sync::oneshot;

use crate::TransportError;

const NAME: &str = "prl-weights-pull";

/// Does `work`, which may block. When this future is dropped, the work ends at its next wait and drops what it owns.
pub(crate) async fn on_separate_thread<T, W>(work: W) -> Result<T, TransportError>
where
    T: Send + 'static,
    W: Future<Output = Result<T, TransportError>> + Send + 'static,
{
    let unstartable = || TransportError::io("start the thread", Path::new(NAME));
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(unstartable())?;
    let (mut promise, outcome) = oneshot::channel();
    let thread = thread::Builder::new()
        .name(NAME.to_owned())
        .spawn(move || {
            let done = runtime.block_on(async {
                tokio::select! {
                    done = work => Some(done),
                    () = promise.closed() => None,
                }
            });
            if let Some(done) = done {
                // This fails when the caller has dropped the work in this moment.
                let _ = promise.send(done);
            }
        })
        .map_err(unstartable())?;
    match outcome.await {
        Ok(done) => done,
        Err(_) => match thread.join() {
            Err(panic) => resume_unwind(panic),
            Ok(()) => Err(TransportError::Closed),
        },
    }
}
