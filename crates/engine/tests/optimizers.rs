//! SGD and Muon: three steps of a real model against the same steps written out in f64; what does not decay, what Muon leaves to AdamW.
//! AdamW is checked against torch in `torch_oracle`.

mod support;

use prl_engine::{OptimConfig, OptimMethod, Trainer, TrainerOptions};
use support::{CONFIGS, Columns, QWEN2, QWEN3, compute, tiers, write_model};

const LR: f64 = 0.02;
const WEIGHT_DECAY: f64 = 0.1;

/// Row-major f64 matrices, written the plain way.
fn product(a: &[f64], b: &[f64], m: usize, k: usize, n: usize) -> Vec<f64> {
    let mut out = vec![0.0; m * n];
    for i in 0..m {
        for j in 0..n {
            out[i * n + j] = (0..k).map(|l| a[i * k + l] * b[l * n + j]).sum();
        }
    }
    out
}

fn transposed(a: &[f64], rows: usize, columns: usize) -> Vec<f64> {
    (0..rows * columns)
        .map(|i| a[(i % rows) * columns + i / rows])
        .collect()
}

fn newton_schulz(matrix: &[f64], rows: usize, columns: usize) -> Vec<f64> {
    if rows > columns {
        let wide = newton_schulz(&transposed(matrix, rows, columns), columns, rows);
        return transposed(&wide, columns, rows);
    }
    // An expert that no token chose has no gradient.
    let norm = matrix.iter().map(|value| value * value).sum::<f64>().sqrt().max(1e-7);
    let mut x: Vec<f64> = matrix.iter().map(|value| value / norm).collect();
    for _ in 0..5 {
        let gram = product(&x, &transposed(&x, rows, columns), rows, columns, rows);
        let square = product(&gram, &gram, rows, rows, rows);
        let poly: Vec<f64> = gram
            .iter()
            .zip(&square)
            .map(|(a, b)| -4.7750 * a + 2.0315 * b)
            .collect();
        let next = product(&poly, &x, rows, rows, columns);
        x = x.iter().zip(&next).map(|(x, next)| 3.4445 * x + next).collect();
    }
    x
}

/// One tensor's parameters and buffers in f64.
struct Shadow {
    name: String,
    values: Vec<f64>,
    buffer: Vec<f64>,
    second: Vec<f64>,
}

impl Shadow {
    fn sgd(&mut self, gradient: &[f64], (momentum, nesterov): (f64, bool), decay: f64, first: bool) {
        for (i, gradient) in gradient.iter().enumerate() {
            let gradient = gradient + decay * self.values[i];
            self.buffer[i] = if first {
                gradient
            } else {
                momentum * self.buffer[i] + gradient
            };
            let update = if nesterov {
                gradient + momentum * self.buffer[i]
            } else {
                self.buffer[i]
            };
            self.values[i] -= LR * update;
        }
    }

    fn muon(&mut self, gradient: &[f64], rows: usize, momentum: f64) {
        let columns = gradient.len() / rows;
        let update: Vec<f64> = gradient
            .iter()
            .zip(&mut self.buffer)
            .map(|(gradient, buffer)| {
                *buffer = momentum * *buffer + (1.0 - momentum) * gradient;
                (1.0 - momentum) * gradient + momentum * *buffer
            })
            .collect();
        let scale = 0.2 * (rows.max(columns) as f64).sqrt();
        for (value, update) in self.values.iter_mut().zip(newton_schulz(&update, rows, columns)) {
            *value = *value * (1.0 - LR * WEIGHT_DECAY) - LR * scale * update;
        }
    }

    fn adamw(&mut self, gradient: &[f64], step: i32, decay: f64) {
        for (i, gradient) in gradient.iter().enumerate() {
            self.buffer[i] = 0.9 * self.buffer[i] + 0.1 * gradient;
            self.second[i] = 0.999 * self.second[i] + 0.001 * gradient * gradient;
            let first = self.buffer[i] / (1.0 - 0.9f64.powi(step));
            let second = (self.second[i] / (1.0 - 0.999f64.powi(step))).sqrt();
            self.values[i] = self.values[i] * (1.0 - LR * decay) - LR * first / (second + 1e-8);
        }
    }
}

fn wide(values: Vec<f32>) -> Vec<f64> {
    values.into_iter().map(f64::from).collect()
}

fn shape_of(dir: &std::path::Path, name: &str) -> Vec<usize> {
    let checkpoint = prl_weights::Checkpoint::open(dir).unwrap();
    checkpoint.tensor(name).unwrap().shape.to_vec()
}

/// Steps a trainer three times and calls `shadow` with each tensor, its shape, its gradient and the step.
fn compare(config: &str, optim: OptimConfig, tolerance: f64, shadow: impl Fn(&mut Shadow, &[usize], &[f64], i32)) {
    let dir = tempfile::tempdir().unwrap();
    write_model(dir.path(), config, 3);
    for tier in tiers() {
        let options = TrainerOptions {
            optim,
            ..TrainerOptions::default()
        };
        let mut trainer = Trainer::open(dir.path(), &compute(2, tier), options).unwrap();
        let start = |name: String| {
            let values = wide(trainer.parameter(&name).unwrap());
            let zeros = vec![0.0; values.len()];
            Shadow {
                name,
                values,
                buffer: zeros.clone(),
                second: zeros,
            }
        };
        let mut shadows: Vec<Shadow> = trainer.parameter_names().into_iter().map(start).collect();
        for step in 1..=3 {
            let columns = Columns::random(&[9, 14], 7, step as u64);
            trainer.forward_backward(&columns.batch()).unwrap();
            for tensor in &mut shadows {
                let gradient = wide(trainer.gradient(&tensor.name).unwrap());
                let shape = shape_of(dir.path(), &tensor.name);
                shadow(tensor, &shape, &gradient, step);
            }
            trainer.step(None).unwrap();
            for tensor in &mut shadows {
                let found = wide(trainer.parameter(&tensor.name).unwrap());
                for (found, expected) in found.iter().zip(&tensor.values) {
                    assert!(
                        (found - expected).abs() < tolerance * expected.abs().max(1.0),
                        "{tier:?} step {step} {}: {found}, expected {expected}",
                        tensor.name
                    );
                }
                // The next gradient is taken where the trainer is.
                tensor.values = found;
            }
        }
    }
}

fn optim(method: OptimMethod, decay_1d: bool) -> OptimConfig {
    OptimConfig {
        method,
        lr: LR,
        weight_decay: WEIGHT_DECAY,
        max_norm: None,
        decay_1d,
        ..OptimConfig::default()
    }
}

#[test]
fn sgd_is_torchs_with_momentum_and_nesterov() {
    for (momentum, nesterov) in [(0.0, false), (0.9, false), (0.9, true)] {
        let method = OptimMethod::Sgd { momentum, nesterov };
        compare(QWEN2, optim(method, false), 1e-5, |tensor, shape, gradient, step| {
            let decay = if shape.len() > 1 { WEIGHT_DECAY } else { 0.0 };
            tensor.sgd(gradient, (momentum, nesterov), decay, step == 1);
        });
    }
}

#[test]
fn muon_makes_matrices_orthogonal_and_leaves_the_rest_to_adamw() {
    for (_, config) in CONFIGS {
        let method = OptimMethod::Muon { momentum: 0.95 };
        compare(config, optim(method, true), 2e-4, |tensor, shape, gradient, step| {
            let inside = shape.len() == 2 && tensor.name.contains("layers.");
            if inside {
                tensor.muon(gradient, shape[0], 0.95);
            } else {
                tensor.adamw(gradient, step, WEIGHT_DECAY);
            }
        });
    }
}

#[test]
fn an_update_is_the_same_for_any_number_of_threads() {
    let dir = tempfile::tempdir().unwrap();
    write_model(dir.path(), QWEN3, 5);
    let columns = Columns::random(&[20, 11], 19, 1);
    let step = |threads: usize| {
        let options = TrainerOptions {
            optim: optim(OptimMethod::Muon { momentum: 0.9 }, true),
            ..TrainerOptions::default()
        };
        let tier = tiers().last().unwrap();
        let mut trainer = Trainer::open(dir.path(), &compute(threads, tier), options).unwrap();
        for _ in 0..2 {
            trainer.forward_backward(&columns.batch()).unwrap();
            trainer.step(None).unwrap();
        }
        let names = trainer.parameter_names();
        names
            .iter()
            .flat_map(|name| support::bits(&trainer.parameter(name).unwrap()))
            .collect::<Vec<u32>>()
    };
    let one = step(1);
    assert!(step(2) == one && step(3) == one);
}

#[test]
fn momentum_out_of_range_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    write_model(dir.path(), QWEN3, 5);
    for method in [
        OptimMethod::Muon { momentum: 1.0 },
        OptimMethod::Sgd {
            momentum: -0.1,
            nesterov: true,
        },
    ] {
        let options = TrainerOptions {
            optim: optim(method, true),
            ..TrainerOptions::default()
        };
        let tier = tiers().last().unwrap();
        let Err(error) = Trainer::open(dir.path(), &compute(1, tier), options) else {
            panic!("momentum out of range was taken")
        };
        assert!(error.to_string().contains("momentum"));
    }
}

#[test]
fn a_trainer_resumed_from_its_files_goes_on_with_the_same_bits() {
    for method in [
        OptimMethod::AdamW,
        OptimMethod::Sgd {
            momentum: 0.9,
            nesterov: true,
        },
        OptimMethod::Muon { momentum: 0.95 },
    ] {
        let (dir, saved) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        write_model(dir.path(), QWEN2, 11);
        let tier = tiers().last().unwrap();
        let open = |dir: &std::path::Path| {
            let options = TrainerOptions {
                optim: optim(method, true),
                ..TrainerOptions::default()
            };
            Trainer::open(dir, &compute(2, tier), options).unwrap()
        };
        let step = |trainer: &mut Trainer, seed: u64| {
            trainer
                .forward_backward(&Columns::random(&[12, 7], 7, seed).batch())
                .unwrap();
            trainer.step(None).unwrap();
        };
        let state = saved.path().join("optimizer.safetensors");
        let mut whole = open(dir.path());
        for seed in 1..=2 {
            step(&mut whole, seed);
        }
        whole.save(saved.path()).unwrap();
        whole.save_optimizer(&state).unwrap();
        let mut resumed = open(saved.path());
        resumed.load_optimizer(&state).unwrap();
        for seed in 3..=5 {
            step(&mut whole, seed);
            step(&mut resumed, seed);
        }
        for name in whole.parameter_names() {
            let bits = |trainer: &Trainer| support::bits(&trainer.parameter(&name).unwrap());
            assert_eq!(bits(&whole), bits(&resumed), "{method:?} {name}");
        }
    }
}

#[test]
fn a_state_of_another_optimizer_or_model_is_refused_and_changes_nothing() {
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write_model(dir.path(), QWEN2, 11);
    write_model(other.path(), QWEN3, 11);
    let tier = tiers().last().unwrap();
    let open = |dir: &std::path::Path, method: OptimMethod| {
        let options = TrainerOptions {
            optim: optim(method, true),
            ..TrainerOptions::default()
        };
        Trainer::open(dir, &compute(1, tier), options).unwrap()
    };
    let state = dir.path().join("optimizer.safetensors");
    open(dir.path(), OptimMethod::AdamW).save_optimizer(&state).unwrap();
    let mut sgd = open(
        dir.path(),
        OptimMethod::Sgd {
            momentum: 0.0,
            nesterov: false,
        },
    );
    assert!(sgd.load_optimizer(&state).unwrap_err().to_string().contains("adamw"));
    assert!(open(other.path(), OptimMethod::AdamW).load_optimizer(&state).is_err());
    std::fs::write(&state, b"not a state").unwrap();
    assert!(open(dir.path(), OptimMethod::AdamW).load_optimizer(&state).is_err());
}
