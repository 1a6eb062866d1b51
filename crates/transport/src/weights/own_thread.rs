//! Work on a thread of its own, with a runtime of its own: its connections, digests and file writes share one core's cache,
//! and while it waits for a disk it holds up nobody else.

use std::panic::resume_unwind;
use std::path::Path;
use std::thread;

use tokio::runtime::Builder;
use tokio::sync::oneshot;

use crate::TransportError;

const NAME: &str = "prl-weights-pull";

/// Does `work`, which may block. Dropped, it ends the work at its next wait; what the work owns is gone when it has ended.
pub(crate) async fn on_own_thread<T, W>(work: W) -> Result<T, TransportError>
where
    T: Send + 'static,
    W: Future<Output = Result<T, TransportError>> + Send + 'static,
{
    let unstartable = || TransportError::io("start the thread", Path::new(NAME));
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(unstartable())?;
    let (mut told, outcome) = oneshot::channel();
    let thread = thread::Builder::new()
        .name(NAME.to_owned())
        .spawn(move || {
            let done = runtime.block_on(async {
                tokio::select! {
                    done = work => Some(done),
                    () = told.closed() => None,
                }
            });
            if let Some(done) = done {
                // Whoever does not listen any more has dropped the work in this moment.
                let _ = told.send(done);
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
