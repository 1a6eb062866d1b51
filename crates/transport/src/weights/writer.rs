//! Writing what comes on a thread of its own, so that the network waits for the disk only when it is chunks behind.

use std::thread;

use tokio::sync::{mpsc, oneshot};

use crate::TransportError;
use crate::weights::landing::{Landed, Landing};
use crate::weights::wire::Arrived;

/// Chunks that wait for the disk.
const CHUNKS_AHEAD: usize = 4;

/// How the writing of what one source sent ended.
pub(crate) struct Written {
    /// What is here now; `None` when all of it was in doubt and is gone.
    pub(crate) landing: Option<Landing>,
    /// Why a chunk was not taken.
    pub(crate) refused: Option<String>,
}

/// Takes the chunks of one source.
pub(crate) struct Writer {
    chunks: mpsc::Sender<Arrived>,
    end: oneshot::Receiver<Result<Written, TransportError>>,
}

impl Writer {
    pub(crate) fn start(landing: Landing) -> Result<Self, TransportError> {
        let (chunks, waiting) = mpsc::channel(CHUNKS_AHEAD);
        let (told, end) = oneshot::channel();
        let directory = landing.directory().to_owned();
        thread::Builder::new()
            .name("prl-weights-write".to_owned())
            .spawn(move || {
                // Whoever does not listen any more has dropped the pull.
                let _ = told.send(write(landing, waiting));
            })
            .map_err(TransportError::io("start the writer of", &directory))?;
        Ok(Self { chunks, end })
    }

    /// Hands over a chunk; false when the writer has ended, and why is in [`Writer::end`].
    pub(crate) async fn put(&self, chunk: Arrived) -> bool {
        self.chunks.send(chunk).await.is_ok()
    }

    /// Waits until everything is written.
    pub(crate) async fn end(self) -> Result<Written, TransportError> {
        drop(self.chunks);
        self.end.await.unwrap_or(Err(TransportError::Closed))
    }
}

fn write(mut landing: Landing, mut waiting: mpsc::Receiver<Arrived>) -> Result<Written, TransportError> {
    while let Some(chunk) = waiting.blocking_recv() {
        match landing.take(chunk)? {
            Landed::Taken => {}
            Landed::Refused(reason) => {
                return Ok(Written {
                    landing: Some(landing),
                    refused: Some(reason),
                });
            }
            Landed::Wrong(reason) => {
                landing.discard()?;
                return Ok(Written {
                    landing: None,
                    refused: Some(reason),
                });
            }
        }
    }
    Ok(Written {
        landing: Some(landing),
        refused: None,
    })
}
