//! Many conversations with one init: orders come from many callers, and each event goes to the caller of its order.
//!
//! Two tasks own the directions of the control socket, so that a caller that goes away never leaves half a frame. When
//! init has closed its end, every conversation ends.

use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use prl_sandbox_guest::wire::{Event, Order};
use tokio::sync::mpsc::{self, error::TrySendError};

use crate::error::SandboxError;
use crate::sandbox::{Events, Orders};

/// An order that takes longer hangs: the longest is to write the files of one request.
const ANSWER_DEADLINE: Duration = Duration::from_secs(30);
/// How many orders may wait to be written.
const MAX_WAITING: usize = 64;
/// How many events of one order may wait to be taken. An order has only a few.
const MAX_UNTOLD: usize = 64;

type Said = (Event, Vec<OwnedFd>);
/// The receivers of events, by order; `None` once init is gone.
type Table = Arc<Mutex<Option<HashMap<u64, mpsc::Sender<Said>>>>>;

/// See the module.
#[derive(Debug)]
pub(crate) struct Mux {
    outgoing: mpsc::Sender<(u64, Order, Vec<OwnedFd>)>,
    table: Table,
    next: AtomicU64,
}

/// The events of one order. When it is dropped, they are ignored.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) id: u64,
    events: mpsc::Receiver<Said>,
    table: Table,
}

impl Mux {
    /// Takes over the control socket of a parked sandbox.
    pub(crate) fn new(mut orders: Orders, mut events: Events) -> Self {
        let table: Table = Arc::new(Mutex::new(Some(HashMap::new())));
        let (outgoing, mut waiting) = mpsc::channel::<(u64, Order, Vec<OwnedFd>)>(MAX_WAITING);
        tokio::spawn(async move {
            while let Some((id, order, descriptors)) = waiting.recv().await {
                let ends: Vec<_> = descriptors.iter().map(AsFd::as_fd).collect();
                if let Err(error) = orders.send(id, order, &ends).await {
                    tracing::debug!(%error, "init takes no more orders");
                    break;
                }
            }
        });
        let readers_table = Arc::clone(&table);
        tokio::spawn(async move {
            loop {
                match events.receive().await {
                    Ok(Some((id, event, descriptors))) => {
                        if let Some(table) = &mut *lock(&readers_table)
                            && let Some(listener) = table.get(&id)
                            && let Err(TrySendError::Full(_)) = listener.try_send((event, descriptors))
                        {
                            // No event may be left out, and no receiver may be waited for.
                            tracing::error!(id, "an init sends more events than any order has");
                            break;
                        }
                    }
                    Ok(None) => break,
                    Err(error) => {
                        tracing::error!(%error, "cannot read a message of an init");
                        break;
                    }
                }
            }
            *lock(&readers_table) = None;
        });
        Self {
            outgoing,
            table,
            next: AtomicU64::new(1),
        }
    }

    /// Sends an order and returns its events.
    pub(crate) async fn call(&self, order: Order, descriptors: Vec<OwnedFd>) -> Result<Exchange, SandboxError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let exchange = self.listen(id)?;
        self.send(id, order, descriptors).await?;
        Ok(exchange)
    }

    /// Receives the further events of an order that was sent before.
    pub(crate) fn listen(&self, id: u64) -> Result<Exchange, SandboxError> {
        let (sender, events) = mpsc::channel(MAX_UNTOLD);
        match &mut *lock(&self.table) {
            Some(table) => table.insert(id, sender),
            None => return Err(SandboxError::InitDied),
        };
        Ok(Exchange {
            id,
            events,
            table: Arc::clone(&self.table),
        })
    }

    /// Sends an order that belongs to an earlier one.
    pub(crate) async fn send_order(&self, id: u64, order: Order) -> Result<(), SandboxError> {
        self.send(id, order, Vec::new()).await
    }

    async fn send(&self, id: u64, order: Order, descriptors: Vec<OwnedFd>) -> Result<(), SandboxError> {
        let sent = self.outgoing.send((id, order, descriptors)).await;
        sent.map_err(|_| SandboxError::InitDied)
    }
}

impl Exchange {
    /// The answer to an order that init carries out at once.
    ///
    /// # Errors
    /// `InitDied`, or `Setup` when it takes longer than `ANSWER_DEADLINE`.
    pub(crate) async fn answer(&mut self) -> Result<Said, SandboxError> {
        match tokio::time::timeout(ANSWER_DEADLINE, self.event()).await {
            Ok(said) => said.ok_or(SandboxError::InitDied),
            Err(_) => Err(SandboxError::Setup {
                step: format!("wait {} s for init", ANSWER_DEADLINE.as_secs()),
                source: std::io::ErrorKind::TimedOut.into(),
            }),
        }
    }

    /// The next event; `None` when init is gone. May be dropped and called again without loss.
    pub(crate) async fn event(&mut self) -> Option<Said> {
        self.events.recv().await
    }

    /// Whether init is there and every event was taken.
    pub(crate) fn silent(&self) -> bool {
        self.events.is_empty() && !self.events.is_closed()
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        if let Some(table) = &mut *lock(&self.table) {
            table.remove(&self.id);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
