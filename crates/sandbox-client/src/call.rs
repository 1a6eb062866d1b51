//! One call to one daemon, which is sent again where that is safe.
//!
//! A call whose request was never sent is always sent again. After a lost reply a call is sent again only if it is idempotent.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use tonic::{Response, Status};

use crate::ClientError;
use crate::connection::Connection;
use crate::node::{Node, Patience};
use crate::outcome::{Infra, RunOutcome};
use crate::status::{Verdict, verdict};

/// Deadline of calls that only ask.
pub(crate) const QUERY_DEADLINE: Duration = Duration::from_secs(10);
/// Deadline of calls that move data.
pub(crate) const TRANSFER_DEADLINE: Duration = Duration::from_secs(120);
/// How often one call is sent at most, lost replies included.
pub(crate) const MAX_ATTEMPTS: u32 = 4;
/// How long to wait, after a broken connection, for the embedded daemon's exit to be noticed.
pub(crate) const EXIT_NOTICE: Duration = Duration::from_secs(2);

/// Whether a call whose reply was lost is sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// Yes: the call is idempotent.
    Safe,
    /// No: its effect is not known then.
    Once,
}

/// How a call is made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manner<'a> {
    pub(crate) repeat: Repeat,
    /// Deadline of one try.
    pub(crate) deadline: Duration,
    /// The only daemon process that may get the call; `None` for any.
    pub(crate) instance: Option<&'a str>,
}

impl Manner<'static> {
    /// A question to any daemon process.
    pub(crate) const QUERY: Self = Self {
        repeat: Repeat::Safe,
        deadline: QUERY_DEADLINE,
        instance: None,
    };
}

/// Makes a call, and records the daemon's load from the reply.
///
/// # Errors
/// The reason why there is no reply.
pub(crate) async fn ask<T, F>(
    node: &Node,
    manner: Manner<'_>,
    call: impl Fn(Arc<Connection>) -> F,
) -> Result<T, ClientError>
where
    F: Future<Output = Result<Response<T>, Status>>,
{
    let mut lost = String::new();
    for _ in 0..MAX_ATTEMPTS {
        let connection = node.connection(Patience::Reconnect).await?;
        if manner
            .instance
            .is_some_and(|instance| instance != connection.instance_id())
        {
            return Err(RunOutcome::infra(
                Infra::DaemonRestarted,
                "the daemon was restarted; it holds nothing of before",
            )
            .into());
        }
        let status = match timeout(manner.deadline, call(Arc::clone(&connection))).await {
            Ok(Ok(reply)) => {
                node.heard(reply.metadata());
                return Ok(reply.into_inner());
            }
            Ok(Err(status)) => status,
            Err(_) => {
                let reason = format!(
                    "{} gave no answer within {} ms",
                    node.address(),
                    manner.deadline.as_millis()
                );
                return Err(RunOutcome::infra(Infra::Deadline, reason).into());
            }
        };
        node.heard(status.metadata());
        let (reason, was_sent) = match verdict(&status) {
            Verdict::Refused(error) => return Err(error),
            Verdict::Ended(outcome) => return Err((*outcome).into()),
            Verdict::NotSent(reason) => (reason, false),
            Verdict::Lost(reason) => (reason, true),
        };
        connection.mark_lost();
        let is_final = was_sent && manner.repeat == Repeat::Once;
        // A call to any process is sent to the daemon's next process.
        if (is_final || manner.instance.is_some())
            && let Some(exit) = connection.exit(EXIT_NOTICE).await
        {
            return Err(RunOutcome::infra(Infra::DaemonExited, exit).into());
        }
        if is_final {
            let reason = format!("{reason}; whether it took place is not known");
            return Err(RunOutcome::infra(Infra::ConnectionLost, reason).into());
        }
        lost = reason;
    }
    Err(RunOutcome::infra(Infra::ConnectionLost, lost).into())
}
