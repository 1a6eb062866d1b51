//! What the moments of a trainer take, as the allocator counts it: in bfloat16 half of what they take in f32.

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use prl_engine::{OptimConfig, OptimMethod, Tier, Trainer, TrainerOptions, WeightDtype};
use support::{Columns, QWEN2, compute, write_model};

#[expect(dead_code, reason = "other tests use the other models")]
mod support;

struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on to the system's allocator; counting touches no memory of its callers.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What a trainer holds after two steps, with the number of its parameters.
fn held(dir: &Path, method: OptimMethod, state_dtype: WeightDtype) -> (usize, usize) {
    let compute = compute(1, Tier::Portable);
    let columns = Columns::random(&[12, 7], 7, 1);
    let before = HELD.load(Ordering::Relaxed);
    let options = TrainerOptions {
        optim: OptimConfig {
            method,
            state_dtype,
            ..OptimConfig::default()
        },
        ..TrainerOptions::default()
    };
    let mut trainer = Trainer::open(dir, &compute, options).expect("the trainer opens");
    for _ in 0..2 {
        trainer.forward_backward(&columns.batch()).expect("the batch runs");
        trainer.step(None).expect("the step runs");
    }
    let held = HELD.load(Ordering::Relaxed) - before;
    let size = |name: &String| {
        trainer
            .parameter_shape(name)
            .expect("it is there")
            .iter()
            .product::<usize>()
    };
    (held, trainer.parameter_names().iter().map(size).sum())
}

/// One test, so that nothing else is allocated meanwhile.
#[test]
fn moments_in_bfloat16_take_half() {
    let dir = tempfile::tempdir().unwrap();
    write_model(dir.path(), QWEN2, 3);
    let sgd = OptimMethod::Sgd {
        momentum: 0.9,
        nesterov: false,
    };
    for (method, moments) in [
        (OptimMethod::AdamW, 2),
        (sgd, 1),
        (OptimMethod::Muon { momentum: 0.95 }, 2),
    ] {
        // Threads keep their scratch from one trainer to the next.
        held(dir.path(), method, WeightDtype::F32);
        let (single, parameters) = held(dir.path(), method, WeightDtype::F32);
        let (half, _) = held(dir.path(), method, WeightDtype::Bf16);
        assert!(parameters > 10_000);
        assert_eq!(single - half, moments * 2 * parameters, "{method:?}");
    }
}
