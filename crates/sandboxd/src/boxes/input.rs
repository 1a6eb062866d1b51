//! The input of a started process: appended by position, so that an append can be repeated, into a bounded buffer.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore, mpsc};

use super::stream::Stream;
use crate::error::SandboxError;

/// How many bytes may be accepted that the program has not taken yet. A longer message is accepted when there are none.
const BUFFER_BYTES: usize = 1 << 20;
const MAX_PARTS: usize = 1024;
/// End of transmission: a terminal takes it for the end of its input.
const END_OF_TERMINAL: &[u8] = &[4];

/// See the module.
#[derive(Debug)]
pub(crate) struct Input {
    room: Arc<Semaphore>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    accepted: u64,
    /// `None` once the end was accepted.
    parts: Option<mpsc::Sender<(Bytes, OwnedSemaphorePermit)>>,
}

impl Input {
    /// Writes the parts to `to` until the end, and then closes it. A terminal gets an end of transmission and stays
    /// open.
    pub(super) fn new(to: Stream, terminal: bool) -> Self {
        let (parts, mut waiting) = mpsc::channel::<(Bytes, OwnedSemaphorePermit)>(MAX_PARTS);
        tokio::spawn(async move {
            let mut read = true;
            while let Some((part, _room)) = waiting.recv().await {
                // A program may stop reading. Later input is thrown away.
                read = read && to.write_all(&part).await.is_ok();
            }
            if terminal && read && to.write_all(END_OF_TERMINAL).await.is_err() {
                tracing::debug!("a terminal was gone before the end of its input");
            }
        });
        Self {
            room: Arc::new(Semaphore::new(BUFFER_BYTES)),
            state: Mutex::new(State {
                accepted: 0,
                parts: Some(parts),
            }),
        }
    }

    /// Appends the new part of `data`, once there is room. Returns how many bytes have been accepted in all.
    ///
    /// # Errors
    /// `Invalid`: bytes before `offset` are missing, or the input has ended already.
    pub(crate) async fn append(&self, offset: u64, data: Bytes, end: bool) -> Result<u64, SandboxError> {
        let mut state = self.state.lock().await;
        let known = state.accepted.checked_sub(offset).ok_or_else(|| {
            SandboxError::Invalid(format!("input at {offset} after {} accepted bytes", state.accepted))
        })?;
        let known = usize::try_from(known).unwrap_or(usize::MAX).min(data.len());
        let new = data.slice(known..);
        if !new.is_empty() {
            let Some(parts) = &state.parts else {
                return Err(SandboxError::Invalid("input after its end".to_owned()));
            };
            let length = new.len();
            let wanted = u32::try_from(length.min(BUFFER_BYTES)).unwrap_or(u32::MAX);
            let lost = |_| SandboxError::Protocol("the writer of an input ended early".to_owned());
            // A caller who goes away while it waits here has changed nothing.
            let room = Arc::clone(&self.room).acquire_many_owned(wanted).await.map_err(lost)?;
            let place = parts.reserve().await;
            let place = place.map_err(|_| SandboxError::Protocol("the writer of an input ended early".to_owned()))?;
            place.send((new, room));
            state.accepted += length as u64;
        }
        if end {
            state.parts = None;
        }
        Ok(state.accepted)
    }
}
