//! A publisher and its receivers: every version arrives whole, even when files are deleted, damaged or late.

mod encodings;
mod place;
mod publishers;
mod receivers;
#[cfg(target_os = "linux")]
#[path = "../support/refused_call.rs"]
mod refused_call;
