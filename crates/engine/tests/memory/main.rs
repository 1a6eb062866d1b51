//! What the engine holds, as the allocator counts it. Tests run one after the other, so that nothing else is allocated meanwhile.

#[path = "../lora/adapters.rs"]
mod adapters;
mod frozen;
mod optimizer;
#[expect(dead_code, reason = "other tests use the other models")]
#[path = "../support/mod.rs"]
mod support;

use prl_test_heap::Heap;

#[global_allocator]
static HEAP: Heap = Heap::counting();
