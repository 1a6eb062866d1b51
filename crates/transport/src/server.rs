//! A listener: one gRPC service on one TCP address. Where other machines can reach it, it must refuse strangers.

use std::io;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_stream::{Stream, StreamExt};
use tokio_util::sync::CancellationToken;
use tonic::service::Routes;
use tonic::transport::Server as GrpcServer;
use tonic::transport::server::TcpIncoming;

use crate::link::{FRAME_BYTES, STREAM_WINDOW_BYTES, ping_interval, with_sources};
use crate::{Credentials, Times, TransportError};

/// Most calls of one connection at the same time.
const MAX_STREAMS: u32 = 16;
/// The pause before the next accept when the machine lacks what a connection needs.
const ACCEPT_PAUSE: Duration = Duration::from_secs(1);
/// When the server closes, running calls get this long to end.
const CLOSE_GRACE: Duration = Duration::from_secs(1);

/// A service that listens until it is closed or dropped.
#[derive(Debug)]
pub(crate) struct Server {
    address: SocketAddr,
    closing: CancellationToken,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Server {
    /// Listens on `listen`, `host:port` with port 0 for any, and serves `routes` until `closing`.
    ///
    /// # Errors
    /// [`TransportError::Address`] when it cannot be listened on, or when other machines could reach it and nothing keeps
    /// strangers out; [`TransportError::Tls`] when its certificate cannot be used.
    pub(crate) async fn start(
        listen: &str,
        credentials: &Credentials,
        times: &Times,
        routes: Routes,
        closing: CancellationToken,
    ) -> Result<Self, TransportError> {
        let wrong = |reason: String| TransportError::Address {
            address: listen.to_owned(),
            reason,
        };
        let listener = match timeout(times.connect, TcpListener::bind(listen)).await {
            Ok(bound) => bound.map_err(|error| wrong(format!("cannot listen there: {error}")))?,
            Err(_) => return Err(wrong("its name was not resolved in time".to_owned())),
        };
        let address = listener.local_addr().map_err(|error| wrong(error.to_string()))?;
        if !credentials.keeps_strangers_out() && !address.ip().is_loopback() {
            return Err(wrong(
                "other machines could reach it: set PRL_TRANSPORT_TOKEN on all sides, or tls_client_ca".to_owned(),
            ));
        }
        let mut builder = GrpcServer::builder();
        if let Some(tls) = credentials.server_tls(times) {
            builder = builder
                .tls_config(tls)
                .map_err(|error| TransportError::Tls(with_sources(&error)))?;
        }
        let router = builder
            .max_concurrent_streams(MAX_STREAMS)
            .initial_stream_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(STREAM_WINDOW_BYTES)
            .max_frame_size(FRAME_BYTES)
            .http2_keepalive_interval(Some(ping_interval(times)))
            .http2_keepalive_timeout(Some(times.stall))
            .add_routes(routes);
        let incoming = unhurried(TcpIncoming::from(listener).with_nodelay(Some(true)));
        let until = closing.clone();
        let task = tokio::spawn(async move {
            if let Err(error) = router
                .serve_with_incoming_shutdown(incoming, until.cancelled_owned())
                .await
            {
                tracing::error!(%error, %address, "the server ended");
            }
        });
        Ok(Self {
            address,
            closing,
            task: Mutex::new(Some(task)),
        })
    }

    /// The address on which it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops listening. Calls that still run are cut off after a moment.
    pub(crate) async fn close(&self) {
        self.closing.cancel();
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut task) = task else { return };
        if timeout(CLOSE_GRACE, &mut task).await.is_err() {
            task.abort();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.closing.cancel();
    }
}

/// Lets the next accept wait after one that failed for want of descriptors or memory: until that is over each fails at once, which would use a whole
/// processor.
fn unhurried<T>(incoming: impl Stream<Item = io::Result<T>>) -> impl Stream<Item = io::Result<T>> {
    incoming.then(async |accepted| {
        if let Err(error) = &accepted
            && !is_of_the_peer(error)
        {
            tracing::warn!(%error, "a connection cannot be accepted");
            sleep(ACCEPT_PAUSE).await;
        }
        accepted
    })
}

fn is_of_the_peer(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    #[tokio::test]
    async fn the_next_accept_waits_after_one_that_failed_for_want_of_descriptors() {
        let accepted = [Err(libc::ECONNABORTED), Ok(1), Err(libc::EMFILE), Ok(2)];
        let accepted = accepted.map(|accepted| accepted.map_err(io::Error::from_raw_os_error));
        let mut incoming = pin!(unhurried(tokio_stream::iter(accepted)));
        let mut context = Context::from_waker(Waker::noop());
        let mut poll = || incoming.as_mut().poll_next(&mut context);
        assert!(
            matches!(poll(), Poll::Ready(Some(Err(_)))),
            "only the one connection failed"
        );
        assert!(matches!(poll(), Poll::Ready(Some(Ok(1)))));
        assert!(poll().is_pending());
        sleep(ACCEPT_PAUSE).await;
        assert!(matches!(poll(), Poll::Ready(Some(Err(_)))));
        assert!(matches!(poll(), Poll::Ready(Some(Ok(2)))));
    }
}
