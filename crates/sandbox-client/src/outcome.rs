//! From what came over the wire, or did not, to the outcome of a run.

use std::time::Duration;

use prl_sandbox_proto::{Cause, ERROR_CODE_KEY, RETRY_AFTER_KEY, RunOnceResult};
use tonic::{Code, Status};

use crate::ClientError;

/// How a run ended.
#[derive(Debug, Clone)]
pub struct RunOutcome {
    /// The daemon's result, or one that the client made when there is none: INFRA or CANCELLED.
    pub result: RunOnceResult,
    /// When to try again, if the daemon said so.
    pub retry_after: Option<Duration>,
}

/// Why there is no result of the daemon's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Infra {
    /// The daemon's queue is full, or the run waited too long in it.
    Overloaded,
    /// The daemon stops.
    Draining,
    /// The connection broke and could not be had again.
    ConnectionLost,
    /// The embedded daemon is dead.
    DaemonExited,
    /// Another daemon process answers now; whether the run took place cannot be known.
    DaemonRestarted,
    /// The result did not come within the run's own limits and the grace on top.
    Deadline,
    /// The daemon broke the protocol.
    Protocol,
}

impl Infra {
    /// As in `RunOnceResult.error_code`.
    pub fn code(self) -> &'static str {
        match self {
            Self::Overloaded => "PRL_SANDBOX_OVERLOADED",
            Self::Draining => "PRL_SANDBOX_DRAINING",
            Self::ConnectionLost => "PRL_SANDBOX_CONNECTION_LOST",
            Self::DaemonExited => "PRL_SANDBOX_DAEMON_EXITED",
            Self::DaemonRestarted => "PRL_SANDBOX_DAEMON_RESTARTED",
            Self::Deadline => "PRL_SANDBOX_DEADLINE",
            Self::Protocol => "PRL_SANDBOX_PROTOCOL",
        }
    }
}

impl RunOutcome {
    /// A result of the daemon's. One without a cause is no result: a lie by omission would count as the program's end.
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

    /// A run that was called off before it was sent.
    pub(crate) fn cancelled(reason: impl Into<String>) -> Self {
        Self::without_output(Cause::Cancelled, "", reason)
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

/// What an error status means.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// The caller's mistake.
    Refused(ClientError),
    /// Not the caller's, and asking again would not give another answer.
    Ended(Box<RunOutcome>),
    /// The transport broke: whether the run took place is not known.
    Lost(String),
}

/// Sorts an error status. The daemon marks every one of its own with a code; what carries none comes from the transport.
pub(crate) fn verdict(status: &Status) -> Verdict {
    let message = status.message().to_owned();
    let metadata = |key| status.metadata().get(key).and_then(|value| value.to_str().ok());
    let own_code = metadata(ERROR_CODE_KEY);
    let ended = |infra: Infra| {
        let mut outcome = RunOutcome::infra(infra, message.clone());
        if let Some(code) = own_code {
            code.clone_into(&mut outcome.result.error_code);
        }
        outcome.retry_after = metadata(RETRY_AFTER_KEY)
            .and_then(|ms| ms.parse().ok())
            .map(Duration::from_millis);
        Verdict::Ended(Box::new(outcome))
    };
    match status.code() {
        Code::InvalidArgument => Verdict::Refused(ClientError::Request(message)),
        Code::FailedPrecondition => Verdict::Refused(ClientError::Isolation(message)),
        Code::Unauthenticated | Code::PermissionDenied => Verdict::Refused(ClientError::Auth(message)),
        Code::ResourceExhausted if own_code.is_some() => ended(Infra::Overloaded),
        Code::Unavailable if own_code.is_some() => ended(Infra::Draining),
        Code::Unimplemented | Code::ResourceExhausted | Code::OutOfRange => ended(Infra::Protocol),
        _ if own_code.is_some() => ended(Infra::Protocol),
        _ => Verdict::Lost(with_sources(status)),
    }
}

/// The message of an error and those of its sources that it does not already contain.
pub(crate) fn with_sources(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        let message = inner.to_string();
        if !text.contains(&message) {
            text = format!("{text}: {message}");
        }
        source = inner.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(code: Code, own: &str, retry_after_ms: Option<u64>) -> Status {
        let mut status = Status::new(code, "said by the daemon");
        status
            .metadata_mut()
            .insert(ERROR_CODE_KEY, own.parse().expect("ascii"));
        if let Some(ms) = retry_after_ms {
            status.metadata_mut().insert(RETRY_AFTER_KEY, ms.into());
        }
        status
    }

    fn ended(status: &Status) -> RunOutcome {
        match verdict(status) {
            Verdict::Ended(outcome) => *outcome,
            other => panic!("{status:?} gives {other:?}"),
        }
    }

    #[test]
    fn an_overloaded_daemon_is_infra_with_a_time_to_try_again() {
        let outcome = ended(&marked(Code::ResourceExhausted, "PRL_SANDBOX_OVERLOADED", Some(40)));
        assert_eq!(outcome.result.cause(), Cause::Infra);
        assert_eq!(outcome.result.error_code, "PRL_SANDBOX_OVERLOADED");
        assert_eq!(outcome.retry_after, Some(Duration::from_millis(40)));
    }

    #[test]
    fn the_daemons_own_code_is_kept() {
        let outcome = ended(&marked(Code::Internal, "PRL_SANDBOX_SETUP", None));
        assert_eq!(outcome.result.error_code, "PRL_SANDBOX_SETUP");
    }

    #[test]
    fn an_unmarked_status_is_a_lost_connection() {
        for code in [Code::Unavailable, Code::Unknown, Code::Internal, Code::Cancelled] {
            assert!(
                matches!(verdict(&Status::new(code, "reset")), Verdict::Lost(_)),
                "{code:?}"
            );
        }
    }

    #[test]
    fn only_callers_mistakes_are_errors() {
        for (code, name) in [
            (Code::InvalidArgument, "PRL_SANDBOX_REQUEST"),
            (Code::FailedPrecondition, "PRL_SANDBOX_ISOLATION"),
            (Code::Unauthenticated, "PRL_SANDBOX_AUTH"),
        ] {
            match verdict(&marked(code, name, None)) {
                Verdict::Refused(error) => assert_eq!(error.code(), name),
                other => panic!("{code:?} gives {other:?}"),
            }
        }
    }

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
