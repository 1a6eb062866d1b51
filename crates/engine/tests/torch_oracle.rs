//! Logits, loss, gradients and three AdamW steps against numbers that torch and transformers computed
//! (`tests/fixtures/make/engine.py`; versions in `tests/fixtures/engine/versions.json`).

#[path = "support/expected.rs"]
mod expected;
#[expect(dead_code, reason = "models here come from files")]
mod support;

use std::path::{Path, PathBuf};

use expected::{Expected, ExpectedBatch, difference, optimizer};
use prl_engine::{LossConfig, Model, ModelConfig, Trainer, TrainerOptions};
use prl_weights::Checkpoint;
use serde_json::{Value, json};
use support::{compute, tiers};

const MODELS: [&str; 10] = [
    "qwen3",
    "qwen2",
    "llama",
    "yarn",
    "mistral",
    "windows",
    "wide",
    "experts",
    "experts-unnormed",
    "biases",
];

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/engine")
}

#[test]
fn rotary_frequencies_match_transformers() {
    let table = std::fs::read_to_string(fixtures().join("rope.json")).expect("the file is there");
    let table: Vec<Value> = serde_json::from_str(&table).expect("it parses");
    let mut yarn = 0;
    for row in table {
        let config = ModelConfig::from_json(&row["config"].to_string()).expect("the config parses");
        let numbers = row["inverse_frequencies"].as_array().expect("a list").iter();
        let expected: Vec<f32> = numbers.map(|value| value.as_f64().expect("a number") as f32).collect();
        let found = config.inverse_frequencies();
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(&expected) {
            // torch's power in f32 is off by some units in the last place.
            assert!(
                (found - expected).abs() <= 5e-7 * expected,
                "{found} {expected} of {row}"
            );
        }
        let factor = row["attention_factor"].as_f64().expect("a number") as f32;
        assert_eq!(config.rope_attention_factor(), factor, "{row}");
        yarn += u32::from(factor != 1.0);
    }
    assert!(yarn > 4);
}

#[test]
fn logits_and_logprobs_match_transformers() {
    for name in MODELS {
        let expected = Expected::open(&fixtures().join(name));
        let (ids, cu) = (expected.integers("input_ids"), expected.integers("cu_seqlens"));
        for tier in tiers() {
            let pool = compute(2, tier);
            let model = Model::load(&fixtures().join(name), &pool).expect("the model loads");
            let logits = model.logits(&pool, &ids, &cu).expect("the batch runs");
            let (error, scale) = difference(&logits, &expected.floats("logits"));
            assert!(
                error < 2e-6 * scale.max(1.0) + 2e-5,
                "{name} {tier:?}: logits differ by {error} of {scale}"
            );
            let temperatures = expected.floats("temperatures");
            let logprobs = model.logprobs(&pool, &ids, &cu, &temperatures).expect("the batch runs");
            let (error, scale) = difference(&logprobs, &expected.floats("logprobs"));
            assert!(
                error < 2e-6 * scale.max(1.0) + 2e-5,
                "{name} {tier:?}: logprobs differ by {error} of {scale}"
            );
        }
    }
}

/// Compares the gradients that are in the fixture. `at`: the model and the tier.
fn gradients_match(trainer: &Trainer, expected: &Expected, at: &str) {
    let mut compared = 0;
    for parameter in trainer.parameter_names() {
        let key = format!("grad.{parameter}");
        if expected.has(&key) {
            let found = trainer.gradient(&parameter).expect("it is there");
            let (error, scale) = difference(&found, &expected.floats(&key));
            assert!(error < 1e-5 * scale + 1e-6, "{at}: {key} differs by {error} of {scale}");
            compared += 1;
        }
    }
    assert!(compared >= 5, "{at}: {compared} gradients are in the fixture");
}

/// Compares the parameters after all steps.
fn parameters_match(trainer: &Trainer, before: &Checkpoint, expected: &Expected, at: &str) {
    for parameter in trainer.parameter_names() {
        let found = trainer.parameter(&parameter).expect("it is there");
        let expected = expected.floats(&format!("after.{parameter}"));
        let bytes = before.tensor(&parameter).expect("the tensor is there").data;
        let before: Vec<f32> = bytes
            .as_chunks::<4>()
            .0
            .iter()
            .map(|bytes| f32::from_le_bytes(*bytes))
            .collect();
        // A first step is lr * sign(gradient): elements with a gradient near 0 may differ by a part of a step.
        let (error, _) = difference(&found, &expected);
        let mean = found.iter().zip(&expected).map(|(a, b)| (a - b).abs()).sum::<f32>() / found.len() as f32;
        let moved = difference(&before, &expected).0;
        assert!(moved > 1e-3, "{at}: {parameter} moved by {moved} only");
        assert!(
            error < 1e-4 && mean < 1e-6,
            "{at}: {parameter} differs by {error}, {mean} on average"
        );
    }
}

#[test]
fn loss_gradients_and_three_adamw_steps_match_torch() {
    let optim = optimizer(&fixtures());
    for name in MODELS {
        let expected = Expected::open(&fixtures().join(name));
        let batch = ExpectedBatch::of(&expected);
        let batch = batch.columns();
        for tier in tiers() {
            let options = TrainerOptions {
                loss: LossConfig {
                    name: "ce".into(),
                    params: json!({}),
                },
                optim,
                ..TrainerOptions::default()
            };
            let at = format!("{name} {tier:?}");
            let mut trainer =
                Trainer::open(&fixtures().join(name), &compute(2, tier), options).expect("the trainer opens");
            for (step, norm) in expected.floats("grad_norm").into_iter().enumerate() {
                let stats = trainer.forward_backward(&batch).expect("the batch runs");
                if step == 0 {
                    let loss = expected.floats("loss")[0];
                    assert!(
                        (stats.loss as f32 - loss).abs() < 1e-5 * loss,
                        "{name} {tier:?}: loss {} {loss}",
                        stats.loss
                    );
                    gradients_match(&trainer, &expected, &at);
                }
                let found = trainer.step(None).expect("the step runs");
                assert!(
                    (found - norm).abs() < 2e-5 * norm,
                    "{name} {tier:?}: norm {found} {norm} in step {step}"
                );
            }
            let before = Checkpoint::open(&fixtures().join(name)).expect("the model opens");
            parameters_match(&trainer, &before, &expected, &at);
        }
    }
}
