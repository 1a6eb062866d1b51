//! The two streams of a run between machines, over gRPC: batches one way, weight versions the other. Nothing is lost or arrives
//! twice.
//!
//! - **Batches** are pushed. [`RolloutSender`] keeps each batch in its spool until [`RolloutReceiver`] has acknowledged that it is on
//!   disk under its name. After a broken connection a transfer continues behind the last whole chunk.
//! - **Weight versions** are pulled. A [`WeightNode`] serves the version directories below its root, and pulls them from
//!   an ordered list of other nodes. It serves each byte as soon as it has it, so that nodes form trees in which a version
//!   flows through all levels at once.
//!
//! Bytes are checked as they arrive: each chunk carries the digest of its file up to its end, so one pass over the bytes
//! checks the chunk, everything before it, and at the end the file. The content of a version's files is not read; of a batch
//! the metadata is read, for the key. Every wait has a deadline ([`Times`]), every queue is a few chunks long.
//!
//! ```
//! use prl_transport::{Times, Credentials, TransportError, Wanted, WeightNode};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), TransportError> {
//! # let dir = std::env::temp_dir().join(format!("prl-transport-example-{}", std::process::id()));
//! let publisher = WeightNode::new(dir.join("weights"), Credentials::default(), Times::default());
//! let address = publisher.listen("127.0.0.1:0").await?;
//!
//! let engine = WeightNode::new(dir.join("received"), Credentials::default(), Times::default());
//! let wanted = Wanted { wait: Some(std::time::Duration::from_millis(10)), ..Wanted::default() };
//! let pulled = engine.pull(&wanted, &[address.to_string().parse()?]).await;
//! // Nothing is published yet.
//! assert_eq!(pulled.unwrap_err().code(), "PRL_TRANSPORT_VERSION");
//! # std::fs::remove_dir_all(dir).ok();
//! # Ok(())
//! # }
//! ```

mod address;
mod chunk;
mod credentials;
mod error;
mod incoming;
mod link;
#[rustfmt::skip]
#[expect(unreachable_pub, clippy::allow_attributes, clippy::too_many_lines, reason = "generated code")]
mod pb;
mod retry;
mod rollouts;
mod server;
mod weights;

pub use address::Address;
pub use chunk::CHUNK_BYTES;
pub use credentials::{Credentials, TlsOptions};
pub use error::TransportError;
pub use retry::Times;
pub use rollouts::{BatchKey, Inbox, RolloutReceiver, RolloutSender, SenderOptions};
pub use weights::{Pulled, Wanted, WeightNode};
