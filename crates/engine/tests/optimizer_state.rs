//! Moments in bfloat16: unbiased against moments in f64, the same bits for any number of threads and either choice of activations, written as
//! they are, and nearly the loss that moments in f32 reach.

#[expect(dead_code, reason = "other tests use the other models")]
mod support;

use std::path::Path;

use prl_engine::{
    ActivationPolicy, LoraOptions, LossConfig, OptimConfig, OptimMethod, Tier, Trainer, TrainerOptions, WeightDtype,
};
use prl_weights::{Dtype, SafetensorsFile};
use support::{Columns, QWEN2, QWEN3, bits, compute, tiers, write_model};

const SGD: OptimMethod = OptimMethod::Sgd {
    momentum: 0.9,
    nesterov: true,
};
const MUON: OptimMethod = OptimMethod::Muon { momentum: 0.95 };
const METHODS: [OptimMethod; 3] = [OptimMethod::AdamW, SGD, MUON];

fn optim(method: OptimMethod, state_dtype: WeightDtype) -> OptimConfig {
    OptimConfig {
        method,
        lr: 3e-3,
        state_dtype,
        ..OptimConfig::default()
    }
}

fn open(dir: &Path, threads: usize, optim: OptimConfig) -> Trainer {
    let options = TrainerOptions {
        optim,
        ..TrainerOptions::default()
    };
    Trainer::open(dir, &compute(threads, best()), options).expect("the trainer opens")
}

fn best() -> Tier {
    tiers().last().expect("there is the portable tier")
}

fn train(trainer: &mut Trainer, columns: &Columns) {
    trainer.forward_backward(&columns.batch()).expect("the batch runs");
    trainer.step(None).expect("the step runs");
}

fn parameters(trainer: &Trainer) -> Vec<u32> {
    let values = |name: &String| bits(&trainer.parameter(name).expect("it is there"));
    trainer.parameter_names().iter().flat_map(values).collect()
}

/// The numbers of a tensor in bfloat16, wide.
fn stored(file: &SafetensorsFile, name: &str) -> Vec<f64> {
    let tensor = file.tensor(name).expect("it is there");
    assert_eq!(tensor.dtype, Dtype::BF16, "{name}");
    let (numbers, _) = tensor.data.as_chunks::<2>();
    let wide = |bytes: &[u8; 2]| f64::from(f32::from_bits(u32::from(u16::from_le_bytes(*bytes)) << 16));
    numbers.iter().map(wide).collect()
}

/// Asserts that the relative errors of `found` are 0 on average: within five standard errors of their mean.
fn is_unbiased(what: &str, found: &[f64], expected: &[f64]) {
    let pairs = found
        .iter()
        .zip(expected)
        .filter(|(_, expected)| expected.abs() > 1e-30);
    let errors: Vec<f64> = pairs.map(|(found, expected)| found / expected - 1.0).collect();
    let n = errors.len() as f64;
    let mean = errors.iter().sum::<f64>() / n;
    let deviation = (errors.iter().map(|error| (error - mean).powi(2)).sum::<f64>() / n).sqrt();
    assert!(n > 4000.0 && deviation > 1e-4, "{what}: {n} {deviation}");
    assert!(
        mean.abs() < 5.0 * deviation / n.sqrt(),
        "{what}: {mean}, deviation {deviation}, {n} numbers"
    );
}

/// The weights stay as they are, so every step has the same gradient and the moments in exact arithmetic are known. After 400 steps the second
/// moment is a third of its limit; rounded to the nearest number it would have stopped at less, since an eighth of a percent is less
/// than half the distance of two numbers.
#[test]
fn moments_are_unbiased_against_f64() {
    const STEPS: i32 = 400;
    let (dir, saved) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write_model(dir.path(), QWEN2, 3);
    let columns = Columns::random(&[9, 14], 7, 5);
    for method in METHODS {
        let still = OptimConfig {
            lr: 0.0,
            weight_decay: 0.0,
            max_norm: None,
            ..optim(method, WeightDtype::Bf16)
        };
        let mut trainer = open(dir.path(), 2, still);
        for _ in 1..STEPS {
            train(&mut trainer, &columns);
        }
        trainer.forward_backward(&columns.batch()).unwrap();
        let names = trainer.parameter_names();
        let gradients: Vec<Vec<f32>> = names.iter().map(|name| trainer.gradient(name).unwrap()).collect();
        trainer.step(None).unwrap();
        let path = saved.path().join("optimizer.safetensors");
        trainer.save_optimizer(&path).unwrap();
        let file = SafetensorsFile::open(&path).unwrap();
        let [mut first, mut first_exact, mut second, mut second_exact] = [(); 4].map(|()| Vec::new());
        for (name, gradient) in names.iter().zip(&gradients) {
            let matrix = file.tensor(&format!("first.{name}")).unwrap().shape.len() == 2 && name.contains("layers.");
            let share = match method {
                OptimMethod::AdamW => 1.0 - 0.9f64.powi(STEPS),
                OptimMethod::Muon { momentum } if matrix => 1.0 - momentum.powi(STEPS),
                OptimMethod::Muon { .. } => 1.0 - 0.9f64.powi(STEPS),
                OptimMethod::Sgd { momentum, .. } => (1.0 - momentum.powi(STEPS)) / (1.0 - momentum),
            };
            first.extend(stored(&file, &format!("first.{name}")));
            first_exact.extend(gradient.iter().map(|&gradient| share * f64::from(gradient)));
            if matches!(method, OptimMethod::AdamW) {
                second.extend(stored(&file, &format!("second.{name}")));
                let share = 1.0 - 0.999f64.powi(STEPS);
                second_exact.extend(gradient.iter().map(|&gradient| share * f64::from(gradient).powi(2)));
            }
        }
        is_unbiased(&format!("{method:?}, first"), &first, &first_exact);
        if !second.is_empty() {
            is_unbiased(&format!("{method:?}, second"), &second, &second_exact);
        }
    }
}

#[test]
fn updates_are_the_same_for_any_number_of_threads_and_choice_of_activations() {
    let dir = tempfile::tempdir().unwrap();
    write_model(dir.path(), QWEN3, 5);
    let columns = Columns::random(&[20, 11], 19, 1);
    for method in METHODS {
        let after = |threads: usize, activations: ActivationPolicy| {
            let options = TrainerOptions {
                optim: optim(method, WeightDtype::Bf16),
                activations,
                ..TrainerOptions::default()
            };
            let mut trainer = Trainer::open(dir.path(), &compute(threads, best()), options).unwrap();
            for _ in 0..4 {
                train(&mut trainer, &columns);
            }
            parameters(&trainer)
        };
        let one = after(1, ActivationPolicy::Keep);
        for (threads, activations) in [
            (1, ActivationPolicy::Keep),
            (2, ActivationPolicy::Keep),
            (3, ActivationPolicy::Recompute),
        ] {
            assert!(
                after(threads, activations) == one,
                "{method:?} {threads} {activations:?}"
            );
        }
    }
}

#[test]
fn a_resumed_trainer_has_the_same_moments_and_goes_on_with_the_same_bits() {
    for method in METHODS {
        for lora in [false, true] {
            let (dir, saved) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
            write_model(dir.path(), QWEN2, 11);
            let open = |from: Option<&Path>| {
                let base = if lora { None } else { from };
                let adapter = LoraOptions {
                    from: from.map(Path::to_path_buf),
                    ..LoraOptions::default()
                };
                let options = TrainerOptions {
                    optim: optim(method, WeightDtype::Bf16),
                    lora: lora.then_some(adapter),
                    ..TrainerOptions::default()
                };
                Trainer::open(base.unwrap_or(dir.path()), &compute(2, best()), options).unwrap()
            };
            let batch = |seed: u64| Columns::random(&[12, 7], 7, seed);
            let [state, again] = ["a", "b"].map(|name| saved.path().join(name));
            let mut whole = open(None);
            for seed in 1..=2 {
                train(&mut whole, &batch(seed));
            }
            whole.save_masters(saved.path()).unwrap();
            whole.save_optimizer(&state).unwrap();
            let mut resumed = open(Some(saved.path()));
            resumed.load_optimizer(&state).unwrap();
            resumed.save_optimizer(&again).unwrap();
            assert!(
                std::fs::read(&state).unwrap() == std::fs::read(&again).unwrap(),
                "{method:?}"
            );
            for seed in 3..=5 {
                train(&mut whole, &batch(seed));
                train(&mut resumed, &batch(seed));
            }
            assert!(parameters(&whole) == parameters(&resumed), "{method:?} {lora}");
        }
    }
}

#[test]
fn a_state_of_the_other_format_is_refused_and_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    write_model(dir.path(), QWEN2, 11);
    let columns = Columns::random(&[12, 7], 7, 1);
    let path = dir.path().join("optimizer.safetensors");
    for (wrong, right) in [
        (WeightDtype::F32, WeightDtype::Bf16),
        (WeightDtype::Bf16, WeightDtype::F32),
    ] {
        let [mut with_attempt, mut without] = [(); 2].map(|()| open(dir.path(), 1, optim(OptimMethod::AdamW, right)));
        open(dir.path(), 1, optim(OptimMethod::AdamW, wrong))
            .save_optimizer(&path)
            .unwrap();
        let error = with_attempt.load_optimizer(&path).unwrap_err().to_string();
        assert!(error.contains("BF16") && error.contains("F32"), "{error}");
        for trainer in [&mut with_attempt, &mut without] {
            train(trainer, &columns);
        }
        assert!(parameters(&with_attempt) == parameters(&without));
    }
}

/// Sixty steps of supervised training on one batch. The loss falls by far more than what the rounding of the moments changes.
#[test]
fn training_reaches_nearly_the_loss_of_moments_in_f32() {
    let dir = tempfile::tempdir().unwrap();
    write_model(dir.path(), QWEN3, 9);
    let mut columns = Columns::random(&[24, 17, 30], 37, 2);
    columns.ce_weights = Some(columns.loss_mask.iter().map(|&mask| f32::from(mask)).collect());
    for method in METHODS {
        let losses = [WeightDtype::F32, WeightDtype::Bf16].map(|state_dtype| {
            let options = TrainerOptions {
                optim: OptimConfig {
                    lr: 0.01,
                    ..optim(method, state_dtype)
                },
                loss: LossConfig {
                    name: "ce".to_owned(),
                    ..LossConfig::default()
                },
                ..TrainerOptions::default()
            };
            let mut trainer = Trainer::open(dir.path(), &compute(2, best()), options).unwrap();
            let mut losses = Vec::new();
            for _ in 0..60 {
                losses.push(trainer.forward_backward(&columns.batch()).unwrap().loss);
                trainer.step(None).unwrap();
            }
            losses
        });
        let [f32_losses, bf16_losses] = &losses;
        let fall = f32_losses[0] - f32_losses[59];
        assert!(
            fall > 0.2 * f32_losses[0],
            "{method:?}: {} to {}",
            f32_losses[0],
            f32_losses[59]
        );
        let apart = (bf16_losses[59] - f32_losses[59]).abs();
        assert!(apart < 0.02 * fall, "{method:?}: {apart} apart after a fall of {fall}");
        assert!(f32_losses != bf16_losses, "{method:?}: the format changes something");
    }
}
