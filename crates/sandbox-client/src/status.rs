//! The meaning of an error status.

use std::time::Duration;

use prl_sandbox_proto::{ERROR_CODE_KEY, RETRY_AFTER_KEY};
use tonic::{Code, Status};

use crate::ClientError;
use crate::outcome::{Infra, RunOutcome};

/// The connection is over: the request was not sent.
#[derive(Debug, thiserror::Error)]
#[error("the connection is over")]
pub(crate) struct ConnectionOver;

/// The meaning of an error status.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// The caller made a mistake.
    Refused(ClientError),
    /// It is no mistake of the caller, and asking again would not give another answer.
    Ended(Box<RunOutcome>),
    /// The transport broke; it is not known whether the daemon did the work.
    Lost(String),
    /// The transport was broken before, so the daemon did not get the request.
    NotSent(String),
}

/// Sorts an error status. The daemon puts a code into every status that it sends; a status without a code comes from the transport.
pub(crate) fn verdict(status: &Status) -> Verdict {
    let message = status.message().to_owned();
    let metadata = |key| status.metadata().get(key).and_then(|value| value.to_str().ok());
    let own_code = metadata(ERROR_CODE_KEY);
    let retry_after = metadata(RETRY_AFTER_KEY)
        .and_then(|ms| ms.parse().ok())
        .map(Duration::from_millis);
    let ended = |infra: Infra| {
        let mut outcome = RunOutcome::infra(infra, message.clone());
        if let Some(code) = own_code {
            code.clone_into(&mut outcome.result.error_code);
        }
        outcome.retry_after = retry_after;
        Verdict::Ended(Box::new(outcome))
    };
    let refused = |code| Verdict::Refused(ClientError::refused(code, message.clone(), None));
    match (status.code(), own_code) {
        (Code::FailedPrecondition | Code::NotFound, Some("PRL_SANDBOX_BOX_ENDED" | "PRL_SANDBOX_BOX_UNKNOWN")) => {
            ended(Infra::BoxEnded)
        }
        (Code::InvalidArgument, _) => Verdict::Refused(ClientError::Request(message)),
        (Code::FailedPrecondition, None | Some("PRL_SANDBOX_ISOLATION")) => {
            Verdict::Refused(ClientError::Isolation(message))
        }
        (Code::Unauthenticated | Code::PermissionDenied, _) => Verdict::Refused(ClientError::Auth(message)),
        (Code::FailedPrecondition | Code::NotFound | Code::AlreadyExists | Code::OutOfRange, Some(own)) => refused(own),
        (Code::Unimplemented, _) => refused("PRL_SANDBOX_UNSUPPORTED"),
        (Code::ResourceExhausted, Some(_)) => ended(Infra::Overloaded),
        (Code::Unavailable, Some(_)) => ended(Infra::Draining),
        (Code::ResourceExhausted | Code::OutOfRange, None) | (_, Some(_)) => ended(Infra::Protocol),
        (_, None) if never_sent(status) => Verdict::NotSent(with_sources(status)),
        (_, None) => Verdict::Lost(with_sources(status)),
    }
}

/// On HTTP/2 hyper reports exactly those requests as cancelled that still waited to be sent when the connection closed.
fn never_sent(status: &Status) -> bool {
    let mut source = std::error::Error::source(status);
    while let Some(inner) = source {
        let waited = inner.downcast_ref().is_some_and(hyper::Error::is_canceled);
        if waited || inner.is::<ConnectionOver>() {
            return true;
        }
        source = inner.source();
    }
    false
}

/// The message of an error, then those messages of its sources that it does not already contain.
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
    use prl_sandbox_proto::Cause;

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
    fn the_code_of_the_daemon_is_kept() {
        let outcome = ended(&marked(Code::Internal, "PRL_SANDBOX_SETUP", None));
        assert_eq!(outcome.result.error_code, "PRL_SANDBOX_SETUP");
    }

    #[test]
    fn a_box_that_is_gone_is_no_mistake_of_the_caller() {
        for (code, own) in [
            (Code::FailedPrecondition, "PRL_SANDBOX_BOX_ENDED"),
            (Code::NotFound, "PRL_SANDBOX_BOX_UNKNOWN"),
        ] {
            assert_eq!(ended(&marked(code, own, None)).result.error_code, own);
        }
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
            (Code::NotFound, "PRL_SANDBOX_FILE_UNKNOWN"),
            (Code::OutOfRange, "PRL_SANDBOX_TOO_LARGE"),
            (Code::Unimplemented, "PRL_SANDBOX_UNSUPPORTED"),
        ] {
            match verdict(&marked(code, name, None)) {
                Verdict::Refused(error) => assert_eq!(error.code(), name),
                other => panic!("{code:?} gives {other:?}"),
            }
        }
    }
}
