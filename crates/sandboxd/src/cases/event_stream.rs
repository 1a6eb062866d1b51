//! The events of a request on their way to its caller. The stream closes after the end event, so that the caller does
//! not wait while the daemon clears the sandboxes away.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use prl_sandbox_proto::RunTestsEvent;
use prl_sandbox_proto::run_tests_event::Event as TestsEvent;
use tonic::Status;

use super::Stream;

/// See the module.
pub(crate) struct EventStream(Option<Stream>);

impl EventStream {
    pub(crate) fn new(events: Stream) -> Self {
        Self(Some(events))
    }
}

impl tokio_stream::Stream for EventStream {
    type Item = Result<RunTestsEvent, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(events) = &mut self.0 else {
            return Poll::Ready(None);
        };
        // The event is written to the connection at once, so it no longer counts as waiting.
        let event = ready!(events.poll_recv(context)).map(|(event, _kept)| event);
        let over = match &event {
            Some(Ok(event)) => matches!(event.event, Some(TestsEvent::End(_))),
            Some(Err(_)) | None => true,
        };
        if over {
            self.0 = None;
        }
        Poll::Ready(event)
    }
}

#[cfg(test)]
mod tests {
    use prl_sandbox_proto::run_tests_event::Event as TestsEvent;
    use prl_sandbox_proto::{CaseResult, RunTestsEnd, RunTestsEvent};
    use tokio_stream::StreamExt;

    use super::EventStream;

    #[tokio::test]
    async fn no_event_is_awaited_after_the_end() {
        let (events, stream) = tokio::sync::mpsc::channel(3);
        let cases = [
            TestsEvent::Case(CaseResult::default()),
            TestsEvent::End(RunTestsEnd::default()),
            TestsEvent::Case(CaseResult::default()),
        ];
        for event in cases {
            let event = RunTestsEvent { event: Some(event) };
            events.try_send((Ok(event), None)).expect("there is room");
        }
        let mut stream = EventStream::new(stream);
        let mut next = async || stream.next().await.map(|event| event.expect("an event").event);
        assert!(matches!(next().await, Some(Some(TestsEvent::Case(_)))));
        assert!(matches!(next().await, Some(Some(TestsEvent::End(_)))));
        assert!(next().await.is_none());
        assert!(events.is_closed());
        assert!(next().await.is_none());
    }
}
