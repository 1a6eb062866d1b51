//! Hostile messages of another node. `crates/fuzz` says what fails.

use bytes::Bytes;
use prl_fuzz::{Heap, Target, heap};
use prost::Message;
use serde_json::json;

use super::description::Description;
use super::wire::Messages;
use crate::pb;

#[global_allocator]
static HEAP: Heap = heap();

fn description() -> pb::Version {
    let shard = json!({ "file": "model.safetensors", "bytes": 1, "digest": "0000000000000007" });
    let manifest = json!({
        "format": "prl-weights", "version": 3, "digest": "00000000000000aa", "base": null, "encoding": "full",
        "shards": [shard], "canary": null,
    });
    let file = |name: &str, digest| pb::File {
        name: name.to_owned(),
        bytes: 1,
        digest,
    };
    pb::Version {
        version: 3,
        manifest: manifest.to_string().into(),
        files: vec![file("model.safetensors", 7), file("config.json", 8)],
    }
}

#[test]
fn descriptions_of_versions_under_fuzz() {
    let valid = description();
    assert!(
        Description::from_wire(valid.clone()).is_ok(),
        "the input is a description"
    );
    let words = [
        "../",
        "/etc/passwd",
        "..",
        "\\",
        "manifest.json",
        ".hidden",
        "\u{1a}\u{2}\n\0",
        "\"shards\":[]",
        "\"base\":",
        "\0",
    ];
    let target = Target::new("transport-description")
        .words(&words)
        .start(valid.encode_to_vec())
        .inputs(15_000);
    target.heap(1 << 20, 1024).run(|bytes| {
        let wire = match pb::Version::decode(bytes) {
            Ok(wire) => wire,
            Err(error) => return error.to_string(),
        };
        match Description::from_wire(wire) {
            Ok(description) => {
                for file in description.files() {
                    let is_plain = !file.name.contains(['/', '\\', '\0']) && !file.name.starts_with('.');
                    assert!(is_plain, "{:?} would be written", file.name);
                }
                "ok".to_owned()
            }
            Err(error) => error.to_string(),
        }
    });
}

#[test]
fn streams_of_chunks_under_fuzz() {
    let chunk = pb::Chunk {
        file: 1,
        offset: 1 << 20,
        data: Bytes::from_static(b"content"),
        prefix_digest: 9,
    };
    let body = chunk.encode_to_vec();
    let length = u32::try_from(body.len()).expect("a short message");
    let framed = [&[0], &length.to_be_bytes()[..], &body].concat();
    let target = Target::new("transport-chunks")
        .words(&["\0\0\0\0\0", "\u{1a}", "\u{8}\u{1}", "\u{10}", "!", "\u{1}\0\0\0\0"])
        .start([framed.clone(), framed].concat())
        .inputs(15_000);
    target.heap(1 << 20, 256).run(|bytes| {
        let mut messages = Messages::default();
        let mut chunks = 0;
        for piece in bytes.chunks(7) {
            messages.push(Bytes::copy_from_slice(piece));
            loop {
                match messages.next() {
                    Ok(Some(chunk)) => chunks += chunk.bytes().min(1) + 1,
                    Ok(None) => break,
                    Err(status) => return status.message().to_owned(),
                }
            }
        }
        format!(
            "{} left, {}",
            if messages.is_empty() { "none" } else { "some" },
            if chunks > 0 { "read" } else { "not read" }
        )
    });
}

/// Decodes the message and writes it again: what was read must stay the same.
fn decode<M: Message + Default>(bytes: &[u8]) -> Result<(), prost::DecodeError> {
    let written = M::decode(bytes)?.encode_to_vec();
    let again = M::decode(&written[..])
        .expect("what was written can be read")
        .encode_to_vec();
    assert_eq!(written, again);
    Ok(())
}

#[test]
fn messages_under_fuzz() {
    let kinds = [
        decode::<pb::DeliverRequest>,
        decode::<pb::DeliverReply>,
        decode::<pb::DescribeRequest>,
        decode::<pb::FetchRequest>,
        decode::<pb::AcknowledgeRequest>,
    ];
    let mut target = Target::new("transport-messages")
        .words(&["\u{8}\u{1}", "\n\u{1}a", "\u{b}", "\u{c}", "\u{12}\u{3}\n\u{1}a", "z\0"])
        .inputs(15_000);
    for kind in 0_u8..5 {
        target = target.start([&[kind], &b"\n\x01a\x10\x01"[..]].concat());
    }
    target.heap(1 << 20, 2048).run(|bytes| match bytes.split_first() {
        Some((kind, message)) => kinds[usize::from(*kind) % kinds.len()](message)
            .map_or_else(|error| error.to_string(), |()| "ok".to_owned()),
        None => "nothing".to_owned(),
    });
}
