//! A process's output as a stream of events: from given positions on, and with its result at the end.

use std::sync::Arc;
use std::time::Duration;

use prl_sandbox_proto::{AttachRequest, Empty, OutputChunk, ProcessEvent, process_event::Event};
use tokio::sync::mpsc;
use tonic::Status;

use super::log::{Log, Piece};
use super::processes::Process;
use super::sandbox_box::Call;

/// How often a silent process sends an event, which shows that the connection works.
const ALIVE_EVERY: Duration = Duration::from_secs(10);

/// The events for one reader.
type Events = mpsc::Sender<Result<ProcessEvent, Status>>;

/// Sends until the result, or until the reader leaves. The call holds the box's lease meanwhile.
pub(crate) async fn attach(call: Call, process: Arc<Process>, request: AttachRequest, events: Events) {
    let mut positions = [request.stdout_from, request.stderr_from];
    let mut changes = (process.stdout.watch(), process.stderr.watch(), process.watch_result());
    loop {
        let stdout = piece(&process.stdout, &mut positions[0]).map(|piece| piece.map(Event::Stdout));
        let stderr = piece(&process.stderr, &mut positions[1]).map(|piece| piece.map(Event::Stderr));
        let over = stdout.is_none() && stderr.is_none();
        let chunks: Vec<Event> = [stdout, stderr].into_iter().flatten().flatten().collect();
        let idle = chunks.is_empty();
        for event in chunks {
            if !send(&events, event).await {
                return;
            }
        }
        if over && let Some(result) = process.result() {
            send(&events, Event::Ended((*result).clone())).await;
            return;
        }
        if !idle {
            continue;
        }
        tokio::select! {
            // Each sender exists as long as the process.
            _ = changes.0.changed() => {}
            _ = changes.1.changed() => {}
            _ = changes.2.changed() => {}
            () = events.closed() => return,
            () = tokio::time::sleep(ALIVE_EVERY) => {
                if !send(&events, Event::Alive(Empty {})).await {
                    return;
                }
            }
        }
        // When a box ends, its processes report their ends. So the call is only held here.
        let _held = &call;
    }
}

/// The next chunk: `Some(None)` while there is no output yet, `None` at the end.
fn piece(log: &Log, position: &mut u64) -> Option<Option<OutputChunk>> {
    match log.read(*position) {
        Piece::Data(offset, data) => {
            *position = offset + data.len() as u64;
            Some(Some(OutputChunk { offset, data }))
        }
        Piece::Later => Some(None),
        Piece::End => None,
    }
}

async fn send(events: &Events, event: Event) -> bool {
    events.send(Ok(ProcessEvent { event: Some(event) })).await.is_ok()
}
