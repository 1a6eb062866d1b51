//! The backward pass: of the head, of each layer with its attention, its networks and its adapter.

pub(super) mod attention;
#[cfg(target_arch = "x86_64")]
mod attention_in_tiles;
pub(super) mod experts;
pub(super) mod gradients;
pub(super) mod head;
pub(super) mod layer;
pub(super) mod lora;
pub(super) mod weights;
