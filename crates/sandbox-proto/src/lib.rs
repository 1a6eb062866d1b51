//! The sandbox daemon's gRPC interface, `prl.sandbox.v1`: messages and, with the feature `rpc`, client and server stubs and what
//! both sides do with the bytes of a carried connection; and `grpc.health.v1`, which the daemon serves too.
//!
//! `pb.rs` and `health_pb.rs` are generated from `proto/` and committed, so that a build needs no protobuf compiler.
//! `tests/codegen.rs` checks that they match and writes them anew with `PRL_BLESS=1`.

#[rustfmt::skip]
#[expect(missing_docs, clippy::allow_attributes, clippy::large_enum_variant, reason = "generated code")]
#[cfg_attr(feature = "rpc", expect(clippy::too_many_lines, reason = "generated code"))]
pub mod pb;

/// `grpc.health.v1`.
#[rustfmt::skip]
#[expect(missing_docs, clippy::allow_attributes, reason = "generated code")]
#[cfg_attr(feature = "rpc", expect(clippy::too_many_lines, reason = "generated code"))]
#[path = "health_pb.rs"]
pub mod health;

#[cfg(feature = "rpc")]
mod carry;
mod load;

#[cfg(feature = "rpc")]
pub use carry::{Broken, WAITING_PIECES, WINDOW_BYTES, carry};
pub use load::{LOAD_KEY, Load};
pub use pb::*;

/// Metadata key of an error status: the error's `PRL_SANDBOX_...` code.
pub const ERROR_CODE_KEY: &str = "prl-error-code";

/// Metadata key of a RESOURCE_EXHAUSTED status: after how many milliseconds to try again.
pub const RETRY_AFTER_KEY: &str = "prl-retry-after-ms";

/// Largest message either side accepts, in bytes. Stdin, files and collected files share it.
pub const MAX_MESSAGE_BYTES: usize = 160 << 20;
