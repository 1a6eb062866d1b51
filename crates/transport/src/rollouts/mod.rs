//! Batches, which are pushed: a spool keeps them until they are acknowledged, an inbox takes each once.

mod inbox;
mod key;
mod receiver;
#[cfg(all(test, target_os = "linux"))]
#[path = "../../../weights/tests/support/refused_call.rs"]
mod refused_call;
mod sender;
mod spool;

pub use inbox::Inbox;
pub use key::BatchKey;
pub use receiver::RolloutReceiver;
pub use sender::{RolloutSender, SenderOptions};
