//! The sending end: delivers the batches of a spool and removes each when the receiver has it on disk.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::{Mutex, mpsc};
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;

use crate::chunk::is_boundary;
use crate::error::Fault;
use crate::pb::deliver_reply::State;
use crate::pb::deliver_request::Part;
use crate::pb::rollouts_client::RolloutsClient;
use crate::pb::{DeliverReply, DeliverRequest, Offer};
use crate::retry::Patience;
use crate::rollouts::receiver::offer_check;
use crate::rollouts::spool::{self, Spooled};
use crate::{Address, Credentials, Times, TransportError, link};

/// Most chunks that wait for the network.
const CHUNKS_AHEAD: usize = 2;

/// The options of a sender.
#[derive(Debug, Clone)]
pub struct SenderOptions {
    /// Folder with `step_<s>/rank_<r>.safetensors`, written whole and durable.
    pub spool: PathBuf,
    /// Addresses of the receivers, by rank.
    pub receivers: Vec<Address>,
    /// Credentials that the receivers demand.
    pub credentials: Credentials,
    /// Deadlines.
    pub times: Times,
}

/// Delivers batches; it repeats each until it is acknowledged.
#[derive(Debug)]
pub struct RolloutSender {
    shared: Arc<Shared>,
    /// Held during a delivery of the whole spool.
    turn: Mutex<()>,
}

/// How far a batch came, in bytes from its beginning.
#[derive(Debug, Default)]
struct Reached {
    /// The receiver has said that it has these.
    received: u64,
    /// These were sent.
    sent: u64,
}

#[derive(Debug)]
struct Shared {
    options: SenderOptions,
    closing: CancellationToken,
}

impl RolloutSender {
    /// A sender without a connection.
    pub fn new(options: SenderOptions) -> Self {
        Self {
            shared: Arc::new(Shared {
                options,
                closing: CancellationToken::new(),
            }),
            turn: Mutex::new(()),
        }
    }

    /// Delivers every batch in the spool, also those that an earlier process left there: each rank by ascending step, all
    /// ranks at the same time. Returns how many batches were delivered.
    ///
    /// # Errors
    /// The first error of any batch; the others are still in the spool. [`TransportError::Unreachable`] when a receiver took
    /// nothing for `times.patience`; [`TransportError::Key`] and [`TransportError::Conflict`] when it refuses a batch;
    /// [`TransportError::Superseded`] when a newer attempt has replaced a batch, which is then removed from the spool too;
    /// [`TransportError::Corrupt`] when a file of the spool was changed.
    pub async fn deliver(&self) -> Result<usize, TransportError> {
        let _turn = self.turn.lock().await;
        let root = self.shared.options.spool.clone();
        let waiting = blocking(move || spool::list(&root)).await?;
        let mut ranks: Vec<u32> = waiting.iter().map(|&(_, rank)| rank).collect();
        ranks.sort_unstable();
        ranks.dedup();
        let mut deliveries = JoinSet::new();
        for rank in ranks {
            let steps: Vec<u64> = waiting
                .iter()
                .filter(|batch| batch.1 == rank)
                .map(|batch| batch.0)
                .collect();
            let shared = Arc::clone(&self.shared);
            deliveries.spawn(async move {
                for step in steps {
                    shared.deliver(step, rank).await?;
                }
                Ok(())
            });
        }
        while let Some(end) = deliveries.join_next().await {
            end.unwrap_or_else(|join| {
                Err(TransportError::io("deliver from", &self.shared.options.spool)(
                    join.into(),
                ))
            })?;
        }
        Ok(waiting.len())
    }

    /// Ends deliveries; batches that were not acknowledged stay in the spool.
    pub fn close(&self) {
        self.shared.closing.cancel();
    }
}

impl Drop for RolloutSender {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    /// Delivers one batch and removes it from the spool.
    async fn deliver(&self, step: u64, rank: u32) -> Result<(), TransportError> {
        let SenderOptions {
            receivers,
            spool,
            times,
            ..
        } = &self.options;
        let receiver = usize::try_from(rank)
            .ok()
            .and_then(|rank| receivers.get(rank))
            .ok_or_else(|| {
                TransportError::Key(format!(
                    "the spool holds a batch for rank {rank}, there are {} receivers",
                    receivers.len()
                ))
            })?;
        let root = spool.clone();
        let batch = Arc::new(blocking(move || Spooled::open(&root, step, rank)).await?);
        let what = format!("batch of {}", batch.key);
        let mut patience = Patience::new(*times);
        let mut reached = Reached::default();
        loop {
            let before = reached.sent;
            let outcome = self.attempt(receiver, &batch, &mut reached, &mut patience).await;
            // How much of it the receiver has shows only in the next offer, which needs its time too.
            if reached.sent > before {
                patience.progress();
            }
            let reason = match outcome {
                Ok(()) => break,
                Err(Fault::Final(error @ TransportError::Superseded(_))) => {
                    remove(batch).await?;
                    return Err(error);
                }
                Err(Fault::Final(error)) => return Err(error),
                Err(Fault::Passing(reason) | Fault::Absent(reason)) => reason,
            };
            // If the network is not at fault, only this file can be.
            let checked = Arc::clone(&batch);
            blocking(move || checked.check()).await?;
            patience
                .pause(&what, &receiver.to_string(), &reason, &self.closing)
                .await?;
        }
        remove(batch).await
    }

    /// One try over one connection: offers the batch, sends the missing bytes, waits until it is durable.
    async fn attempt(
        &self,
        receiver: &Address,
        batch: &Arc<Spooled>,
        reached: &mut Reached,
        patience: &mut Patience,
    ) -> Result<(), Fault> {
        let times = &self.options.times;
        let channel = link::connect(receiver, &self.options.credentials, times).await?;
        let mut client = RolloutsClient::with_interceptor(channel, self.options.credentials.present());
        let (requests, stream) = mpsc::channel(CHUNKS_AHEAD);
        let offer = Offer {
            run_id: batch.key.run_id.clone(),
            attempt: batch.key.attempt,
            step: batch.key.step,
            rank: batch.key.rank,
            bytes: batch.bytes,
            digest: batch.digest,
            check: 0,
        };
        let check = offer_check(&offer);
        let offer = Offer { check, ..offer };
        let offer = DeliverRequest {
            part: Some(Part::Offer(offer)),
        };
        requests
            .send(offer)
            .await
            .map_err(|_| Fault::Passing("the call ended at once".to_owned()))?;
        let late = |what: &str| Fault::Passing(format!("{what} was not acknowledged in time"));
        let mut replies = self
            .unless_closing(timeout(times.stall, client.deliver(ReceiverStream::new(stream))))
            .await?
            .map_err(|_| late("the call"))??
            .into_inner();
        // The receiver first digests the bytes that it has.
        let first = self.unless_closing(timeout(times.durable, replies.message())).await?;
        let offset = match state(first.map_err(|_| late("the offer"))??)? {
            State::Durable(digest) => return durable(batch, digest),
            State::Resume(offset) if is_boundary(offset, batch.bytes) => offset,
            State::Resume(offset) => return Err(Fault::Passing(format!("the receiver wants byte {offset}"))),
        };
        if offset > reached.received {
            reached.received = offset;
            patience.progress();
        }
        // A refusal can come while chunks are being sent; the last answer can only come after them.
        let last = self
            .unless_closing(async {
                let mut sending = std::pin::pin!(self.send_chunks(batch, offset, requests, &mut reached.sent));
                tokio::select! {
                    sent = &mut sending => sent?,
                    reply = replies.message() => return Ok(reply?),
                }
                let reply = timeout(times.durable, replies.message()).await;
                Ok::<_, Fault>(reply.map_err(|_| late("the batch"))??)
            })
            .await??;
        match state(last)? {
            State::Durable(digest) => durable(batch, digest),
            State::Resume(_) => Err(Fault::Passing("the receiver asked twice where to begin".to_owned())),
        }
    }

    /// Sends the chunks from `offset` on; `sent` becomes the end of the furthest one.
    async fn send_chunks(
        &self,
        batch: &Arc<Spooled>,
        offset: u64,
        requests: mpsc::Sender<DeliverRequest>,
        sent: &mut u64,
    ) -> Result<(), Fault> {
        let opened = Arc::clone(batch);
        let mut chunks = blocking(move || opened.chunks_from(offset)).await?;
        loop {
            let path = batch.path.clone();
            let (rest, chunk) = blocking(move || {
                let chunk = chunks.next().map_err(TransportError::io("read", &path))?;
                Ok((chunks, chunk))
            })
            .await?;
            let Some(chunk) = chunk else { return Ok(()) };
            chunks = rest;
            let end = chunk.offset + chunk.data.len() as u64;
            let request = DeliverRequest {
                part: Some(Part::Chunk(chunk)),
            };
            match timeout(self.options.times.stall, requests.send(request)).await {
                Ok(Ok(())) => *sent = end.max(*sent),
                // The reply has the reason.
                Ok(Err(_)) => return Ok(()),
                Err(_) => return Err(Fault::Passing("nothing was taken for too long".to_owned())),
            }
        }
    }

    async fn unless_closing<T>(&self, work: impl Future<Output = T>) -> Result<T, Fault> {
        tokio::select! {
            done = work => Ok(done),
            () = self.closing.cancelled() => Err(Fault::Final(TransportError::Closed)),
        }
    }
}

/// Checks that the acknowledgement is for the bytes that were sent.
fn durable(batch: &Spooled, digest: u64) -> Result<(), Fault> {
    if digest == batch.digest {
        return Ok(());
    }
    Err(Fault::Passing(format!("digest {digest:016x} was acknowledged")))
}

async fn remove(batch: Arc<Spooled>) -> Result<(), TransportError> {
    blocking(move || batch.remove()).await
}

fn state(reply: Option<DeliverReply>) -> Result<State, Fault> {
    reply
        .and_then(|reply| reply.state)
        .ok_or_else(|| Fault::Passing("the receiver ended the call without an answer".to_owned()))
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, TransportError> + Send + 'static,
) -> Result<T, TransportError> {
    match spawn_blocking(move || prl_progress::work("files of batches", work)).await {
        Ok(result) => result,
        Err(join) => std::panic::resume_unwind(join.into_panic()),
    }
}
