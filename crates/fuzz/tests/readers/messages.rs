//! The messages of the sandbox daemon's interface, as both ends decode them.

use std::fmt::Debug;

use prl_fuzz::Target;
use prl_sandbox_proto as pb;
use prost::Message;

/// A decoder that gives the length of what it read when that is written again.
type Decode = fn(&[u8]) -> Result<usize, prost::DecodeError>;

/// Decodes the message and writes it again: what was read must stay the same. A NaN does not equal itself, and the entries of a map are written
/// in any order, so messages that differ may still have the same bytes.
fn decode<M: Message + Default + PartialEq + Debug>(bytes: &[u8]) -> Result<usize, prost::DecodeError> {
    let read = M::decode(bytes)?;
    let written = read.encode_to_vec();
    let again = M::decode(&written[..]).expect("what was written can be read");
    assert!(
        read == again || sorted(&written) == sorted(&again.encode_to_vec()),
        "{read:?} became {again:?}"
    );
    Ok(written.len())
}

fn sorted(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes.sort_unstable();
    bytes
}

const KINDS: [(&str, Decode); 24] = [
    ("RunOnceRequest", decode::<pb::RunOnceRequest>),
    ("RunOnceResult", decode::<pb::RunOnceResult>),
    ("RunTestsRequest", decode::<pb::RunTestsRequest>),
    ("RunTestsEvent", decode::<pb::RunTestsEvent>),
    ("CapabilitiesReply", decode::<pb::CapabilitiesReply>),
    ("HealthReply", decode::<pb::HealthReply>),
    ("CancelRequest", decode::<pb::CancelRequest>),
    ("CreateRequest", decode::<pb::CreateRequest>),
    ("Box", decode::<pb::Box>),
    ("ExecRequest", decode::<pb::ExecRequest>),
    ("StartRequest", decode::<pb::StartRequest>),
    ("ProcessList", decode::<pb::ProcessList>),
    ("ProcessEvent", decode::<pb::ProcessEvent>),
    ("InputRequest", decode::<pb::InputRequest>),
    ("EvaluateRequest", decode::<pb::EvaluateRequest>),
    ("EvaluateReply", decode::<pb::EvaluateReply>),
    ("ReadFileRequest", decode::<pb::ReadFileRequest>),
    ("WriteFileRequest", decode::<pb::WriteFileRequest>),
    ("Directory", decode::<pb::Directory>),
    ("WatchEvent", decode::<pb::WatchEvent>),
    ("ArchiveReply", decode::<pb::ArchiveReply>),
    ("SnapshotList", decode::<pb::SnapshotList>),
    ("DialRequest", decode::<pb::DialRequest>),
    ("Check", decode::<pb::health::HealthCheckRequest>),
];

#[test]
fn protobuf_messages() {
    let request = pb::RunOnceRequest::decode(&b"\x0a\x04/bin\x0a\x02ls"[..]).map(|request| request.encode_to_vec());
    let target =
        Target::new("protobuf").words(&["\x08\x01", "\x0a\x01a", "\x0b", "\x0c", "\x12\x03\x0a\x01a", "\x7a\x00"]);
    let mut target = target.inputs(15_000).heap(1 << 20, 2048).most_bytes(4096);
    for kind in 0..KINDS.len() {
        let mut start = vec![u8::try_from(kind).expect("few kinds")];
        start.extend_from_slice(request.as_deref().unwrap_or(b"\x0a\x01a"));
        target = target.start(start);
    }
    target.run(|bytes| {
        let (kind, message) = bytes
            .split_first()
            .map_or((0, bytes), |(kind, rest)| (usize::from(*kind), rest));
        let (name, decode) = KINDS[kind % KINDS.len()];
        match decode(message) {
            Ok(length) => format!("{name} ok {}", if length == 0 { "empty" } else { "full" }),
            Err(error) => format!("{name} {error}"),
        }
    });
}
