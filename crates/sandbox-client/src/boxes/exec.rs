//! Commands in a held sandbox, from their start to their end in one round trip.

use std::sync::Arc;

use prl_sandbox_proto::ExecRequest;
use tokio_util::sync::CancellationToken;

use super::sandbox_box::SandboxBox;
use crate::ClientError;
use crate::connection::Connection;
use crate::outcome::RunOutcome;
use crate::run::{Placed, Run, check_key, check_size, deadline};

impl SandboxBox {
    /// Runs one command to its end. `cancel` kills it; processes that it left behind continue.
    ///
    /// `request.idempotency_key` must be set; `request.box` is set here. A box that is gone is INFRA, not an error, unless it was closed
    /// by this client.
    ///
    /// # Errors
    /// Only mistakes of the caller: [`ClientError::Request`], [`ClientError::Closed`], [`ClientError::Refused`].
    pub async fn exec(&self, mut request: ExecRequest, cancel: &CancellationToken) -> Result<RunOutcome, ClientError> {
        let held = &self.held;
        let _running = held.shared.enter()?;
        if let Some(outcome) = held.ending()? {
            return Ok(outcome);
        }
        self.id().clone_into(&mut request.r#box);
        if request.command.is_empty() {
            return Err(ClientError::Request("the command is empty".to_owned()));
        }
        check_key(&request.idempotency_key)?;
        check_size(&request)?;
        let wall_ms = request.limits.as_ref().and_then(|limits| limits.wall_ms);
        let run = Run {
            key: &request.idempotency_key,
            in_box: &request.r#box,
            cancel,
            deadline: deadline(0, Some(wall_ms.unwrap_or(held.wall_ms))),
        };
        let send = |connection: Arc<Connection>, _again: Option<String>| {
            let request = request.clone();
            async move { connection.boxes().exec(request).await }
        };
        match held.shared.run_on(&held.node, Some(held.instance()), run, send).await? {
            Placed::Ended(outcome) | Placed::Elsewhere(outcome) => {
                if outcome.is_without_box() {
                    held.end((*outcome).clone());
                }
                Ok(*outcome)
            }
        }
    }
}
