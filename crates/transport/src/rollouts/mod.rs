//! Batches, which are pushed: a spool keeps them until they are acknowledged, an inbox takes each once.

mod inbox;
mod key;
mod receiver;
mod sender;
mod spool;

pub use inbox::Inbox;
pub use key::BatchKey;
pub use receiver::RolloutReceiver;
pub use sender::{RolloutSender, SenderOptions};
