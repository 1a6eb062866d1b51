//! The receiving end: a service that receives batches into an inbox.
//!
//! A sender that lost its connection may come back before this side has noticed. Its new call replaces the old one, which ends.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use prost::Message;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::service::Routes;
use tonic::{Request, Response, Status, Streaming};
use twox_hash::XxHash3_64;

use crate::incoming::{Incoming, Refused};
use crate::pb::deliver_reply::State;
use crate::pb::deliver_request::Part;
use crate::pb::rollouts_server::{Rollouts, RolloutsServer};
use crate::pb::{Chunk, DeliverReply, DeliverRequest, Offer};
use crate::rollouts::inbox::Offered;
use crate::rollouts::{BatchKey, Inbox};
use crate::server::Server;
use crate::{Credentials, Times, TransportError};

/// Most deliveries at the same time, over all connections.
const MAX_DELIVERIES: usize = 64;

/// Listens for batches until it is closed or dropped.
#[derive(Debug)]
pub struct RolloutReceiver {
    server: Server,
}

impl RolloutReceiver {
    /// Listens on `listen` (`host:port`, port 0 for any) for batches into `inbox`.
    ///
    /// # Errors
    /// [`TransportError::Address`].
    pub async fn listen(
        listen: &str,
        inbox: Inbox,
        credentials: &Credentials,
        times: Times,
    ) -> Result<Self, TransportError> {
        let closing = CancellationToken::new();
        let service = Service(Arc::new(Desk {
            inbox: Arc::new(inbox),
            times,
            closing: closing.clone(),
            claims: Mutex::default(),
            deliveries: Arc::new(Semaphore::new(MAX_DELIVERIES)),
        }));
        let routes = Routes::new(RolloutsServer::with_interceptor(service, credentials.demand()));
        Ok(Self {
            server: Server::start(listen, credentials, &times, routes, closing).await?,
        })
    }

    /// The address on which it listens.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Stops. The next receiver with the same inbox resumes batches that were partly received.
    pub async fn close(&self) {
        self.server.close().await;
    }
}

struct Service(Arc<Desk>);

struct Desk {
    inbox: Arc<Inbox>,
    times: Times,
    closing: CancellationToken,
    claims: Mutex<HashMap<(u64, u32), Arc<Claim>>>,
    deliveries: Arc<Semaphore>,
}

/// The right to write the parts of one place.
#[derive(Default)]
struct Claim {
    writing: tokio::sync::Mutex<()>,
    /// The token of the call that holds the place; it is cancelled when another call wants the place.
    holder: Mutex<CancellationToken>,
}

impl Claim {
    /// Cancels the holder of the place and returns the token of the new one, which is also cancelled with `closing`.
    fn take(&self, closing: &CancellationToken) -> CancellationToken {
        let mut holder = self.holder.lock().unwrap_or_else(PoisonError::into_inner);
        holder.cancel();
        *holder = closing.child_token();
        holder.clone()
    }
}

#[tonic::async_trait]
impl Rollouts for Service {
    type DeliverStream = ReceiverStream<Result<DeliverReply, Status>>;

    async fn deliver(
        &self,
        request: Request<Streaming<DeliverRequest>>,
    ) -> Result<Response<Self::DeliverStream>, Status> {
        let desk = Arc::clone(&self.0);
        let permit = Arc::clone(&desk.deliveries)
            .try_acquire_owned()
            .map_err(|_| Status::resource_exhausted("too many deliveries at once"))?;
        let (replies, stream) = mpsc::channel(2);
        tokio::spawn(async move { desk.answer(request.into_inner(), replies, permit).await });
        Ok(Response::new(ReceiverStream::new(stream)))
    }
}

impl Desk {
    async fn answer(
        &self,
        requests: Streaming<DeliverRequest>,
        replies: mpsc::Sender<Result<DeliverReply, Status>>,
        _permit: OwnedSemaphorePermit,
    ) {
        let last = self.receive(requests, &replies).await.map(|digest| DeliverReply {
            state: Some(State::Durable(digest)),
        });
        // A sender that has gone will ask again.
        let _ = replies.send(last).await;
    }

    /// Receives one batch and returns its digest when it is durable. It is cancelled only between two writes, so that the
    /// holder of the claim is the only writer.
    async fn receive(
        &self,
        mut requests: Streaming<DeliverRequest>,
        replies: &mpsc::Sender<Result<DeliverReply, Status>>,
    ) -> Result<u64, Status> {
        let Part::Offer(offer) = self.next(&mut requests, &self.closing).await? else {
            return Err(Status::invalid_argument("a delivery begins with an offer"));
        };
        if offer.check != offer_check(&offer) {
            return Err(Status::data_loss("the offer was damaged on the way"));
        }
        let offered = Arc::new(Offered::from(offer));
        let digest = offered.digest;
        let claim = self.claim(offered.key.step, offered.key.rank);
        let displaced = claim.take(&self.closing);
        let _writing = timeout(self.times.stall, claim.writing.lock())
            .await
            .map_err(|_| Status::unavailable("another call still writes this batch"))?;
        let (inbox, asked) = (Arc::clone(&self.inbox), Arc::clone(&offered));
        let Some(mut incoming) = blocking(move || inbox.admit(&asked)).await? else {
            return Ok(digest);
        };
        let resume = State::Resume(incoming.length());
        let _ = replies.send(Ok(DeliverReply { state: Some(resume) })).await;
        while !incoming.is_complete() {
            let Part::Chunk(chunk) = self.next(&mut requests, &displaced).await? else {
                return Err(Status::invalid_argument("one offer a delivery"));
            };
            incoming = append(incoming, chunk).await?;
        }
        let inbox = Arc::clone(&self.inbox);
        blocking(move || inbox.store(&offered, &incoming)).await?;
        Ok(digest)
    }

    fn claim(&self, step: u64, rank: u32) -> Arc<Claim> {
        let mut claims = self.claims.lock().unwrap_or_else(PoisonError::into_inner);
        // Claims without a holder or waiter are forgotten.
        claims.retain(|_, claim| Arc::strong_count(claim) > 1);
        Arc::clone(claims.entry((step, rank)).or_default())
    }

    async fn next(
        &self,
        requests: &mut Streaming<DeliverRequest>,
        displaced: &CancellationToken,
    ) -> Result<Part, Status> {
        let message = tokio::select! {
            message = timeout(self.times.stall, requests.message()) => message,
            () = displaced.cancelled() => return Err(Status::aborted("another call delivers this batch")),
        };
        message
            .map_err(|_| Status::deadline_exceeded("nothing came for too long"))??
            .and_then(|request| request.part)
            .ok_or_else(|| Status::cancelled("the sender stopped before the end"))
    }
}

async fn append(mut incoming: Incoming, chunk: Chunk) -> Result<Incoming, Status> {
    blocking(move || {
        let Chunk {
            offset,
            data,
            prefix_digest,
            ..
        } = chunk;
        let refused = incoming.append(offset, &[data], prefix_digest).err();
        Ok((incoming, refused))
    })
    .await
    .and_then(|(incoming, refused)| match refused {
        None => Ok(incoming),
        Some(Refused::Io(error)) => Err(error.to_status()),
        Some(refused) => Err(Status::data_loss(refused.to_string())),
    })
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, TransportError> + Send + 'static,
) -> Result<T, Status> {
    match spawn_blocking(move || prl_progress::work("files of batches", work)).await {
        Ok(result) => result.map_err(|error| error.to_status()),
        Err(join) => Err(Status::internal(join.to_string())),
    }
}

/// The digest of an offer's other fields.
pub(crate) fn offer_check(offer: &Offer) -> u64 {
    let bare = Offer {
        check: 0,
        ..offer.clone()
    };
    XxHash3_64::oneshot(&bare.encode_to_vec())
}

impl From<Offer> for Offered {
    fn from(offer: Offer) -> Self {
        Self {
            key: BatchKey {
                run_id: offer.run_id,
                attempt: offer.attempt,
                step: offer.step,
                rank: offer.rank,
            },
            bytes: offer.bytes,
            digest: offer.digest,
        }
    }
}
