//! Changes in a directory of a held sandbox.

use std::sync::Arc;

use prl_sandbox_proto::{WatchEvent, WatchRequest};
use tonic::Streaming;

use super::sandbox_box::{Held, SandboxBox};
use crate::ClientError;
use crate::call::{QUERY_DEADLINE, Repeat};
use crate::connection::Connection;
use crate::outcome::{Infra, RunOutcome};

/// A watch of a directory; dropping it ends it.
#[derive(Debug)]
pub struct BoxWatch {
    held: Arc<Held>,
    connection: Arc<Connection>,
    stream: Streaming<WatchEvent>,
}

impl SandboxBox {
    /// Watches a directory, and with `recursive` those below it. After this returns, every change is reported, singly or as an overflow.
    ///
    /// # Errors
    /// As of [`SandboxBox::stat`].
    pub async fn watch(&self, path: &str, recursive: bool) -> Result<BoxWatch, ClientError> {
        let connection = self.held.connection().await?;
        let request = WatchRequest {
            r#box: self.id().to_owned(),
            path: path.to_owned(),
            recursive,
        };
        let stream = self
            .held
            .ask(Repeat::Safe, QUERY_DEADLINE, |mut boxes| {
                let request = request.clone();
                async move { boxes.watch(request).await }
            })
            .await?;
        let mut watch = BoxWatch {
            held: Arc::clone(&self.held),
            connection,
            stream,
        };
        match tokio::time::timeout(QUERY_DEADLINE, watch.next()).await {
            // The first event says that the watch is set up.
            Ok(Ok(Some(_))) => Ok(watch),
            Ok(Ok(None)) => Err(RunOutcome::infra(Infra::Protocol, "the watch ended before it stood").into()),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(RunOutcome::infra(Infra::Deadline, "the watch did not stand in time").into()),
        }
    }
}

impl BoxWatch {
    /// The next change; `None` when the directory is gone. Waits as long as nothing changes.
    ///
    /// # Errors
    /// As of [`SandboxBox::stat`]; a lost connection ends the watch, and changes may have been missed.
    pub async fn next(&mut self) -> Result<Option<WatchEvent>, ClientError> {
        let status = match self.stream.message().await {
            Ok(event) => return Ok(event),
            Err(status) => status,
        };
        Err(match self.held.broken(&self.connection, &status) {
            Some(error) => error,
            None => RunOutcome::infra(Infra::ConnectionLost, status.message()).into(),
        })
    }
}
