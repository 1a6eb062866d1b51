//! Hostile bytes on the sockets between the daemon and the processes of a sandbox. `crates/fuzz` says what fails.

use bytes::Bytes;
use prl_fuzz::Target;
use prl_sandbox_guest::wire::files::{FromHelper, ToHelper};
use prl_sandbox_guest::wire::{Envelope, FromInit, Inbox, ToInit, frame};

/// Reads the messages of a stream that comes in two pieces.
fn messages<M: Envelope>(bytes: &[u8]) -> String {
    let mut inbox = Inbox::default();
    let (first, second) = bytes.split_at(bytes.len() / 2);
    let mut count = 0;
    for piece in [first, second] {
        inbox.put(piece, Vec::new());
        loop {
            match inbox.take::<M>() {
                Ok(Some(_)) => count += 1,
                Ok(None) => break,
                Err(error) => return error.to_string(),
            }
        }
    }
    format!("{} messages", if count > 0 { "some" } else { "no" })
}

#[test]
fn frames_under_fuzz() {
    let data = ToHelper {
        data: Bytes::from_static(b"content"),
        end: true,
    };
    let kinds = [
        messages::<ToInit>,
        messages::<FromInit>,
        messages::<ToHelper>,
        messages::<FromHelper>,
    ];
    let mut target = Target::new("sandbox-frames")
        .words(&["\u{8}\u{1}", "\u{12}\u{3}\n\u{1}a", "\0\0\0\0", "\u{2}\0\0\0\u{8}\u{1}"])
        .inputs(15_000)
        .heap(1 << 20, 1024)
        .most_bytes(4096);
    for kind in 0_u8..4 {
        target = target.start([&[kind], &frame(&data)[..], &frame(&data)[..]].concat());
    }
    target.run(|bytes| match bytes.split_first() {
        Some((kind, stream)) => kinds[usize::from(*kind) % kinds.len()](stream),
        None => "nothing".to_owned(),
    });
}
