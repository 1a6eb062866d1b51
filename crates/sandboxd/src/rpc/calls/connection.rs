//! Connections: how many there may be, and how long one may last before one of its calls is admitted.
//!
//! This closes connections of callers that send nothing, that send a byte at a time, that never finish a handshake, or
//! that have no token. It sets no limit for callers that are admitted and then wait.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Sleep, sleep};
use tokio_stream::{Stream, StreamExt};
use tonic::Request;
use tonic::transport::server::Connected;

use crate::accept::Failures;
use crate::log::Seldom;

/// From the accept to the first admitted call.
const USELESS: Duration = Duration::from_secs(15);
static REFUSALS: Seldom = Seldom::new();
static FAILURES: Failures = Failures::new("callers");

/// Lets connections in, one place for each.
#[derive(Clone, Debug)]
pub(crate) struct Doorkeeper {
    places: Arc<Semaphore>,
    useless: Duration,
}

impl Doorkeeper {
    pub(crate) fn new(max_connections: usize) -> Self {
        Self {
            places: Arc::new(Semaphore::new(max_connections)),
            useless: USELESS,
        }
    }

    /// Connections beyond the number of places are closed at once: a client learns more from that than from a
    /// connection that nothing answers. Connections that cannot be accepted, mostly because descriptors are lacking,
    /// wait in the kernel.
    pub(crate) fn guard<S, IO>(self, incoming: S) -> impl Stream<Item = io::Result<Guarded<IO>>>
    where
        S: Stream<Item = io::Result<IO>>,
    {
        let unhurried = incoming.then(async |accepted| {
            if let Err(error) = &accepted {
                FAILURES.pause(error).await;
            }
            accepted
        });
        unhurried.filter_map(move |accepted| match accepted {
            Ok(stream) => {
                let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
                    if let Some(more) = REFUSALS.due() {
                        tracing::warn!(more, "a connection was refused: too many");
                    }
                    return None;
                };
                Some(Ok(Guarded {
                    stream,
                    admission: Admission::default(),
                    patience: Some(Box::pin(sleep(self.useless))),
                    _place: place,
                }))
            }
            Err(error) => Some(Err(error)),
        })
    }
}

/// Whether a call of this connection was admitted. It is in the extensions of each request of the connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Admission(Arc<AtomicBool>);

impl Admission {
    /// Notes that the request was admitted.
    pub(crate) fn note<T>(request: &Request<T>) {
        if let Some(Self(admitted)) = request.extensions().get() {
            admitted.store(true, Ordering::Relaxed);
        }
    }
}

/// A connection that has a place.
#[derive(Debug)]
pub(crate) struct Guarded<IO> {
    stream: IO,
    admission: Admission,
    /// `None` once a call was admitted.
    patience: Option<Pin<Box<Sleep>>>,
    _place: OwnedSemaphorePermit,
}

impl<IO> Guarded<IO> {
    /// Fails when the connection had no admitted call for too long. Otherwise it wakes the task at that moment.
    fn check(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        let Some(patience) = &mut self.patience else {
            return Ok(());
        };
        if self.admission.0.load(Ordering::Relaxed) {
            self.patience = None;
            return Ok(());
        }
        match patience.as_mut().poll(context) {
            Poll::Ready(()) => Err(io::Error::new(io::ErrorKind::TimedOut, "no call was admitted in time")),
            Poll::Pending => Ok(()),
        }
    }
}

impl<IO: Connected> Connected for Guarded<IO> {
    type ConnectInfo = Admission;

    fn connect_info(&self) -> Admission {
        self.admission.clone()
    }
}

impl<IO: AsyncRead + Unpin> AsyncRead for Guarded<IO> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Err(error) = self.check(context) {
            return Poll::Ready(Err(error));
        }
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<IO: AsyncWrite + Unpin> AsyncWrite for Guarded<IO> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
    use tokio_stream::iter;

    use super::*;
    use crate::accept::PAUSE;

    async fn guarded(places: usize, streams: Vec<DuplexStream>) -> Vec<Guarded<DuplexStream>> {
        let doorkeeper = Doorkeeper {
            useless: Duration::from_secs(5),
            ..Doorkeeper::new(places)
        };
        let let_in = doorkeeper.guard(iter(streams.into_iter().map(Ok)));
        let let_in: Vec<_> = let_in.collect().await;
        let_in.into_iter().map(|guarded| guarded.expect("accepted")).collect()
    }

    fn pairs(count: usize) -> (Vec<DuplexStream>, Vec<DuplexStream>) {
        (0..count).map(|_| duplex(64)).unzip()
    }

    #[tokio::test]
    async fn a_connection_beyond_the_places_is_closed_and_a_place_is_free_again() {
        let (ours, mut theirs) = pairs(3);
        let let_in = guarded(2, ours).await;
        assert_eq!(let_in.len(), 2);
        let mut byte = [0];
        assert_eq!(theirs[2].read(&mut byte).await.expect("closed"), 0);
        let places = Arc::clone(let_in[0]._place.semaphore());
        drop(let_in);
        assert_eq!(places.available_permits(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_was_not_admitted_ends_however_much_it_says() {
        let (ours, mut theirs) = pairs(1);
        let mut connection = guarded(1, ours).await.remove(0);
        let talking = tokio::spawn(async move {
            while theirs[0].write_all(b"x").await.is_ok() {
                sleep(Duration::from_secs(1)).await;
            }
        });
        let mut sink = Vec::new();
        let error = connection.read_to_end(&mut sink).await.expect_err("it ends");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        drop(connection);
        talking.await.expect("the caller sees it");
    }

    #[tokio::test(start_paused = true)]
    async fn only_missing_descriptors_are_awaited() {
        for (errno, waits) in [(libc::EMFILE, true), (libc::ENFILE, true), (libc::ECONNABORTED, false)] {
            let failures = (0..20).map(|_| Err::<DuplexStream, _>(io::Error::from_raw_os_error(errno)));
            let began = tokio::time::Instant::now();
            let all: Vec<_> = Doorkeeper::new(1).guard(iter(failures)).collect().await;
            assert!(all.len() == 20 && all.iter().all(Result::is_err), "{errno}");
            let least = if waits { 20 * PAUSE } else { Duration::ZERO };
            assert!(
                began.elapsed() >= least && (waits || began.elapsed() == least),
                "{errno}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_was_admitted_may_be_silent() {
        let (ours, mut theirs) = pairs(1);
        let mut connection = guarded(1, ours).await.remove(0);
        let mut request = Request::new(());
        request.extensions_mut().insert(connection.connect_info());
        Admission::note(&request);
        let silent = tokio::spawn(async move {
            sleep(Duration::from_secs(3600)).await;
            theirs[0].write_all(b"x").await
        });
        let mut byte = [0];
        connection.read_exact(&mut byte).await.expect("it still reads");
        silent.await.expect("no panic").expect("written");
    }
}
