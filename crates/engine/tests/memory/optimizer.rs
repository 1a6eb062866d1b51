//! What the moments of a trainer take: in bfloat16 half of what they take in f32.

use std::path::Path;

use crate::support::{Columns, QWEN2, compute, write_model};
use prl_engine::{OptimConfig, OptimMethod, Tier, Trainer, TrainerOptions, WeightDtype};
use prl_test_heap::{held, turn};

/// What a trainer holds after two steps, with the number of its parameters.
fn held_after_two_steps(dir: &Path, method: OptimMethod, state_dtype: WeightDtype) -> (usize, usize) {
    let compute = compute(1, Tier::Portable);
    let columns = Columns::random(&[12, 7], 7, 1);
    let before = held();
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
    let held = held() - before;
    let size = |name: &String| {
        trainer
            .parameter_shape(name)
            .expect("it is there")
            .iter()
            .product::<usize>()
    };
    (held, trainer.parameter_names().iter().map(size).sum())
}

#[test]
fn moments_in_bfloat16_take_half() {
    let _turn = turn();
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
        held_after_two_steps(dir.path(), method, WeightDtype::F32);
        let (single, parameters) = held_after_two_steps(dir.path(), method, WeightDtype::F32);
        let (half, _) = held_after_two_steps(dir.path(), method, WeightDtype::Bf16);
        assert!(parameters > 10_000);
        assert_eq!(single - half, moments * 2 * parameters, "{method:?}");
    }
}
