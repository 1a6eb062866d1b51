//! The connections of a box that its caller serves: they wait here until the caller takes them, and are reset when it
//! does not.
//!
//! The daemon connects to nothing for them. The caller learns of each one by `Accept` and takes it by `Carry`; only a caller
//! who may name the box gets that far.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use prl_sandbox_proto::{Arrival, Piece, carry};
use tokio::net::TcpStream;
use tokio::sync::{Notify, Semaphore, mpsc, oneshot};
use tokio::time::timeout;
use tonic::Streaming;

/// How many connections of one box there may be at a time; further ones wait.
const MAX_CONNECTIONS: usize = 64;
/// How long a connection waits for a place, and then for the caller.
const PATIENCE: Duration = Duration::from_secs(10);

/// The two directions of a taken connection.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) incoming: Streaming<Piece>,
    pub(crate) outgoing: mpsc::Sender<Piece>,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Handover {
    state: Mutex<State>,
    changed: Notify,
    places: Semaphore,
}

#[derive(Debug, Default)]
struct State {
    /// The number of the last connection.
    last: u64,
    /// Connections that wait, by their numbers.
    offers: BTreeMap<u64, Offer>,
    /// The number of the last caller who accepts.
    acceptor: u64,
}

#[derive(Debug)]
struct Offer {
    listen: u16,
    give: oneshot::Sender<Line>,
    /// The acceptor that knows of it; 0 before the first.
    known_to: u64,
}

impl Default for Handover {
    fn default() -> Self {
        Self {
            state: Mutex::default(),
            changed: Notify::new(),
            places: Semaphore::new(MAX_CONNECTIONS),
        }
    }
}

impl Handover {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the caller who asks now the only one who accepts. Returns its number for `next`.
    pub(crate) fn begin(&self) -> u64 {
        let acceptor = {
            let mut state = self.state();
            state.acceptor += 1;
            state.acceptor
        };
        self.changed.notify_waiters();
        acceptor
    }

    /// The next connection that this acceptor does not know yet; `None` when a later one has taken over.
    pub(crate) async fn next(&self, acceptor: u64) -> Option<Arrival> {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            // Changes from here on are seen, also before the wait begins.
            changed.as_mut().enable();
            {
                let mut state = self.state();
                if state.acceptor != acceptor {
                    return None;
                }
                let unknown = state.offers.iter_mut().find(|(_, offer)| offer.known_to != acceptor);
                if let Some((&connection, offer)) = unknown {
                    offer.known_to = acceptor;
                    let listen = offer.listen.into();
                    return Some(Arrival { connection, listen });
                }
            }
            changed.await;
        }
    }

    /// Gives a waiting connection to its caller. False when it is not there any more.
    pub(crate) fn take(&self, connection: u64, line: Line) -> bool {
        let offer = self.state().offers.remove(&connection);
        offer.is_some_and(|offer| offer.give.send(line).is_ok())
    }

    /// Waits for the caller and carries the bytes of one connection. A connection that does not come to its end is reset, so
    /// that the program does not take it for a complete answer.
    pub(super) async fn serve(self: Arc<Self>, mut stream: TcpStream, listen: u16) {
        if let Err(reason) = self.carry(&mut stream, listen).await {
            tracing::debug!(listen, %reason, "a connection to the caller was reset");
            // This fails when the connection is reset already.
            let _reset = stream.set_zero_linger().is_ok();
        }
    }

    async fn carry(&self, stream: &mut TcpStream, listen: u16) -> Result<(), String> {
        let place = timeout(PATIENCE, self.places.acquire()).await;
        let _place = place.map_err(|_| format!("{MAX_CONNECTIONS} others stayed"))?;
        let (offered, given) = self.offer(listen);
        let mut line = match timeout(PATIENCE, given).await {
            Ok(Ok(line)) => line,
            _ => return Err("the caller did not take it".to_owned()),
        };
        drop(offered);
        let carried = carry(stream, &mut line.incoming, &line.outgoing).await;
        carried.map_err(|broken| broken.to_string())
    }

    fn offer(&self, listen: u16) -> (Offered<'_>, oneshot::Receiver<Line>) {
        let (give, given) = oneshot::channel();
        let connection = {
            let mut state = self.state();
            state.last += 1;
            let (connection, known_to) = (state.last, 0);
            state.offers.insert(connection, Offer { listen, give, known_to });
            connection
        };
        self.changed.notify_waiters();
        let handover = self;
        (Offered { handover, connection }, given)
    }
}

/// Withdraws a connection that was not taken.
struct Offered<'a> {
    handover: &'a Handover,
    connection: u64,
}

impl Drop for Offered<'_> {
    fn drop(&mut self) {
        self.handover.state().offers.remove(&self.connection);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_millis(20);

    #[tokio::test(start_paused = true)]
    async fn a_later_acceptor_takes_over_and_learns_of_all_that_wait() {
        let handover = Handover::default();
        let (first, _given) = handover.offer(80);
        let early = handover.begin();
        let arrival = handover.next(early).await.expect("the first");
        assert_eq!((arrival.connection, arrival.listen), (first.connection, 80));
        assert!(timeout(SOON, handover.next(early)).await.is_err(), "it was named once");
        let (second, _given) = handover.offer(81);
        let late = handover.begin();
        assert_eq!(handover.next(early).await, None);
        let mut known = Vec::new();
        while let Ok(arrival) = timeout(SOON, handover.next(late)).await {
            known.push(arrival.expect("the only acceptor").connection);
        }
        assert_eq!(known, [first.connection, second.connection]);
        drop(first);
        assert_eq!(handover.state().offers.len(), 1, "what is not taken is withdrawn");
    }

    #[tokio::test(start_paused = true)]
    async fn an_acceptor_that_waits_is_woken() {
        let handover = Arc::new(Handover::default());
        let acceptor = handover.begin();
        let waiting = tokio::spawn({
            let handover = Arc::clone(&handover);
            async move { handover.next(acceptor).await }
        });
        tokio::task::yield_now().await;
        let (_offered, _given) = handover.offer(80);
        let arrival = timeout(PATIENCE, waiting).await.expect("in time").expect("no panic");
        assert_eq!(arrival.map(|arrival| arrival.listen), Some(80));
    }

    /// No caller accepts, and there is one more connection than there are places.
    #[tokio::test]
    async fn connections_that_are_not_taken_are_reset() {
        tokio::time::pause();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("bind");
        let address = listener.local_addr().expect("address");
        let handover = Arc::new(Handover::default());
        let mut programs = Vec::new();
        let mut served = tokio::task::JoinSet::new();
        for _ in 0..=MAX_CONNECTIONS {
            programs.push(TcpStream::connect(address).await.expect("connect"));
            let (stream, _) = listener.accept().await.expect("accept");
            served.spawn(Arc::clone(&handover).serve(stream, 80));
        }
        tokio::task::yield_now().await;
        assert!(handover.state().offers.len() <= MAX_CONNECTIONS);
        while served.join_next().await.is_some() {}
        assert!(handover.state().offers.is_empty());
        tokio::time::resume();
        for mut program in programs {
            let mut nothing = [0];
            let ended = tokio::io::AsyncReadExt::read(&mut program, &mut nothing).await;
            assert_eq!(ended.expect_err("a reset").kind(), std::io::ErrorKind::ConnectionReset);
        }
    }
}
