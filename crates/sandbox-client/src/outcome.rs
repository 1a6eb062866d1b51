//! How runs end, including those without a result from the daemon.

use std::time::Duration;

use prl_sandbox_proto::{Cause, RunOnceResult};

use crate::ClientError;

/// The daemon's code for a box that it does not know (any more).
pub(crate) const BOX_UNKNOWN: &str = "PRL_SANDBOX_BOX_UNKNOWN";

/// How a run ended.
#[derive(Debug, Clone)]
pub struct RunOutcome {
    /// The daemon's result, or one that the client made when there is none: INFRA or CANCELLED.
    pub result: RunOnceResult,
    /// When to try again, if the daemon said so.
    pub retry_after: Option<Duration>,
}

/// Why there is no result from the daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Infra {
    /// The daemon's queue is full, or the run waited too long in it.
    Overloaded,
    /// The daemon stops.
    Draining,
    /// The connection broke and could not be made again.
    ConnectionLost,
    /// The embedded daemon is dead.
    DaemonExited,
    /// Another daemon process answers now; whether the run took place cannot be known.
    DaemonRestarted,
    /// The result did not come within the run's own limits and the grace on top.
    Deadline,
    /// The daemon broke the protocol.
    Protocol,
    /// The held sandbox is gone: its lease or lifetime ended, it was closed, or it died.
    BoxEnded,
}

impl Infra {
    /// The code for `RunOnceResult.error_code`.
    pub fn code(self) -> &'static str {
        match self {
            Self::Overloaded => "PRL_SANDBOX_OVERLOADED",
            Self::Draining => "PRL_SANDBOX_DRAINING",
            Self::ConnectionLost => "PRL_SANDBOX_CONNECTION_LOST",
            Self::DaemonExited => "PRL_SANDBOX_DAEMON_EXITED",
            Self::DaemonRestarted => "PRL_SANDBOX_DAEMON_RESTARTED",
            Self::Deadline => "PRL_SANDBOX_DEADLINE",
            Self::Protocol => "PRL_SANDBOX_PROTOCOL",
            Self::BoxEnded => "PRL_SANDBOX_BOX_ENDED",
        }
    }
}

impl RunOutcome {
    /// A result from the daemon. One without a cause is INFRA, because it must not count as the program's end.
    pub(crate) fn finished(result: RunOnceResult) -> Self {
        if matches!(result.cause(), Cause::Unspecified) {
            return Self::infra(
                Infra::Protocol,
                "the daemon's result has no cause that this client knows",
            );
        }
        Self {
            result,
            retry_after: None,
        }
    }

    /// A run without a result.
    pub(crate) fn infra(infra: Infra, reason: impl Into<String>) -> Self {
        Self::without_output(Cause::Infra, infra.code(), reason)
    }

    /// A run that was cancelled before it was sent.
    pub(crate) fn cancelled(reason: impl Into<String>) -> Self {
        Self::without_output(Cause::Cancelled, "", reason)
    }

    /// Whether the daemon refused it before it was begun.
    pub(crate) fn never_began(&self) -> bool {
        let code = self.result.error_code.as_str();
        self.result.cause() == Cause::Infra && (code == Infra::Overloaded.code() || code == Infra::Draining.code())
    }

    /// Whether its box is gone.
    pub(crate) fn is_without_box(&self) -> bool {
        let code = self.result.error_code.as_str();
        let codes = [
            Infra::BoxEnded.code(),
            BOX_UNKNOWN,
            Infra::DaemonRestarted.code(),
            Infra::DaemonExited.code(),
        ];
        self.result.cause() == Cause::Infra && codes.contains(&code)
    }

    /// The INFRA result for an error of the infrastructure.
    ///
    /// # Errors
    /// The error itself, when it is a mistake of the caller.
    pub(crate) fn of_infrastructure(error: ClientError) -> Result<Self, ClientError> {
        let infra = [
            Infra::Overloaded,
            Infra::Draining,
            Infra::ConnectionLost,
            Infra::DaemonExited,
            Infra::DaemonRestarted,
            Infra::Deadline,
            Infra::Protocol,
            Infra::BoxEnded,
        ];
        match error {
            ClientError::Unreachable { .. } => Ok(Self::infra(Infra::ConnectionLost, error.to_string())),
            ClientError::Refused {
                code,
                message,
                retry_after,
            } if code == BOX_UNKNOWN || infra.iter().any(|infra| infra.code() == code) => Ok(Self {
                retry_after,
                ..Self::without_output(Cause::Infra, code, message)
            }),
            mistake => Err(mistake),
        }
    }

    fn without_output(cause: Cause, error_code: &str, reason: impl Into<String>) -> Self {
        Self {
            result: RunOnceResult {
                cause: cause.into(),
                error_code: error_code.to_owned(),
                reason: reason.into(),
                ..RunOnceResult::default()
            },
            retry_after: None,
        }
    }
}

/// For calls that have no result to report the outcome in.
impl From<RunOutcome> for ClientError {
    fn from(RunOutcome { result, retry_after }: RunOutcome) -> Self {
        Self::refused(&result.error_code, result.reason, retry_after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_without_a_cause_is_infra_not_success() {
        let nothing = RunOutcome::finished(RunOnceResult {
            exit_code: Some(0),
            ..RunOnceResult::default()
        });
        assert_eq!(nothing.result.cause(), Cause::Infra);
        assert_eq!(nothing.result.exit_code, None);
        let later = RunOutcome::finished(RunOnceResult {
            cause: 99,
            exit_code: Some(0),
            ..RunOnceResult::default()
        });
        assert_eq!(later.result.cause(), Cause::Infra);
    }
}
