//! Connections of a box's programs to the box's caller, who accepts and serves them from where it is.
//!
//! Neither call holds the lease: a caller that is cut off must not keep its box. Both end with the box.

use std::sync::Arc;

use prl_sandbox_proto::{Arrival, Piece, WAITING_PIECES};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt};
use tonic::{Status, Streaming};

use crate::boxes::{Call, End, SandboxBox};
use crate::egress::{Handover, Line};
use crate::error::SandboxError;

/// Sends the connections of the box to its caller, until the caller leaves, another one takes over, or the box ends.
///
/// # Errors
/// `Invalid`: the box has no forward by the caller.
pub(super) fn accept(
    held: Arc<SandboxBox>,
    arrivals: mpsc::Sender<Result<Arrival, Status>>,
) -> Result<(), SandboxError> {
    let handover = handover(&held)?;
    let acceptor = handover.begin();
    tokio::spawn(async move {
        let pass_on = async {
            while let Some(arrival) = handover.next(acceptor).await {
                if arrivals.send(Ok(arrival)).await.is_err() {
                    return None;
                }
            }
            Some(SandboxError::Exists(format!(
                "a later Accept of box {}",
                held.request.id
            )))
        };
        let ended = tokio::select! {
            ended = pass_on => ended,
            () = held.gone() => Some(held.error_of(&held.ended().unwrap_or(End::Closed))),
            () = arrivals.closed() => None,
        };
        drop(held);
        if let Some(error) = ended {
            // The caller may have left meanwhile.
            let _left = arrivals.send(Err(error.into())).await.is_err();
        }
    });
    Ok(())
}

/// Takes a connection; its bytes then go both ways until both sides have ended or one broke.
///
/// # Errors
/// `NotFound`: no such connection waits: it was taken, given up, or waited too long.
pub(super) fn carry(
    held: &Call,
    first: &Piece,
    incoming: Streaming<Piece>,
) -> Result<impl Stream<Item = Result<Piece, Status>> + use<>, SandboxError> {
    let handover = handover(held)?;
    if !first.data.is_empty() || first.taken > 0 || first.end {
        return Err(SandboxError::Invalid(
            "the first message of a carry names box and connection only".to_owned(),
        ));
    }
    let (outgoing, pieces) = mpsc::channel(WAITING_PIECES);
    if !handover.take(first.connection, Line { incoming, outgoing }) {
        return Err(SandboxError::NotFound(format!(
            "connection {} of box {}",
            first.connection, held.request.id
        )));
    }
    Ok(ReceiverStream::new(pieces).map(Ok))
}

fn handover(held: &SandboxBox) -> Result<Arc<Handover>, SandboxError> {
    let handover = held.handover.clone();
    handover.ok_or_else(|| SandboxError::Invalid(format!("box {} has no forward by the caller", held.request.id)))
}
