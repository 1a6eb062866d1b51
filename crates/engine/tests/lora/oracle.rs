//! Adapters against numbers that `peft` and torch computed (`tests/fixtures/make/lora.py`; versions in `tests/fixtures/lora/versions.json`).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::expected::{Expected, ExpectedBatch, difference, optimizer};
use crate::support::{compute, tiers};
use prl_engine::{
    Adapter, BaseDtype, LoraConfig, LoraOptions, LossConfig, Model, Trainer, TrainerOptions, WeightDtype, WeightFormat,
    merge,
};
use prl_weights::{Checkpoint, Dtype};
use serde_json::json;

/// The adapters, each with its model. Those called int8-* were made on a model whose projections are in int8.
const ADAPTERS: [(&str, &str); 7] = [
    ("qwen3", "qwen3"),
    ("llama", "llama"),
    ("biases", "biases"),
    ("windows", "windows"),
    ("experts", "experts"),
    ("int8-wide", "wide"),
    ("int8-experts", "experts"),
];

fn base_dtype(name: &str) -> Option<BaseDtype> {
    name.starts_with("int8-").then_some(BaseDtype::Int8)
}

fn fixtures(kind: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/fixtures")
        .join(kind)
}

fn close(found: &[f32], expected: &[f32], at: &str) {
    let (error, scale) = difference(found, expected);
    assert!(
        error < 2e-6 * scale.max(1.0) + 2e-5,
        "{at} differ by {error} of {scale}"
    );
}

#[test]
fn logits_and_logprobs_of_adapters_match_peft() {
    for (name, base) in ADAPTERS {
        let folder = fixtures("lora").join(name);
        let expected = Expected::open(&folder);
        let (ids, cu) = (expected.integers("input_ids"), expected.integers("cu_seqlens"));
        for tier in tiers() {
            let pool = compute(2, tier);
            let format = WeightFormat {
                dtype: WeightDtype::F32,
                base: base_dtype(name),
            };
            let model = Model::load_as(&fixtures("engine").join(base), format, &pool).expect("the model loads");
            let plain = model.logits(&pool, &ids, &cu).expect("the batch runs");
            let adapter = Adapter::open(&folder, model.config(), &pool).expect("the adapter loads");
            let adapted = model.with_adapter(Some(Arc::new(adapter)));
            let logits = adapted.logits(&pool, &ids, &cu).expect("the batch runs");
            close(&logits, &expected.floats("logits"), &format!("{name} {tier:?}: logits"));
            assert!(
                difference(&logits, &plain).0 > 0.1,
                "{name}: the adapter changes logits"
            );
            let temperatures = expected.floats("temperatures");
            let logprobs = adapted
                .logprobs(&pool, &ids, &cu, &temperatures)
                .expect("the batch runs");
            close(
                &logprobs,
                &expected.floats("logprobs"),
                &format!("{name} {tier:?}: logprobs"),
            );
        }
    }
}

#[test]
fn merged_weights_match_peft() {
    for (name, base) in ADAPTERS {
        let folder = fixtures("lora").join(name);
        let expected = Expected::open(&folder);
        for tier in tiers() {
            let pool = compute(2, tier);
            let out = tempfile::tempdir().expect("a folder");
            merge(&fixtures("engine").join(base), &folder, out.path(), &pool).expect("the adapter is merged");
            let merged = Checkpoint::open(out.path()).expect("the model opens");
            let mut compared = 0;
            for tensor in merged.names() {
                let key = format!("merged.{tensor}");
                if expected.has(&key) {
                    let tensor = merged.tensor(tensor).expect("the tensor is there");
                    assert_eq!(tensor.dtype, Dtype::F32);
                    let values = tensor
                        .data
                        .as_chunks::<4>()
                        .0
                        .iter()
                        .map(|bytes| f32::from_le_bytes(*bytes));
                    close(
                        &values.collect::<Vec<_>>(),
                        &expected.floats(&key),
                        &format!("{name} {tier:?}: {key}"),
                    );
                    compared += 1;
                }
            }
            assert!(compared >= 4, "{name}: {compared} weights are compared");
            if base_dtype(name).is_some() {
                // It is merged into the model as it was, which is another function than that on int8.
                continue;
            }
            let (ids, cu) = (expected.integers("input_ids"), expected.integers("cu_seqlens"));
            let model = Model::load(out.path(), &pool).expect("the model loads");
            let logits = model.logits(&pool, &ids, &cu).expect("the batch runs");
            let (error, scale) = difference(&logits, &expected.floats("logits"));
            assert!(
                error < 1e-5 * scale.max(1.0) + 1e-4,
                "{name} {tier:?}: {error} of {scale}"
            );
        }
    }
}

#[test]
fn merged_weights_have_the_format_that_the_models_config_names() {
    let (engine, adapter) = (fixtures("engine").join("qwen3"), fixtures("lora").join("qwen3"));
    let pool = compute(1, prl_engine::Tier::Portable);
    let [plain, base, rounded] = [(); 3].map(|()| tempfile::tempdir().expect("a folder"));
    merge(&engine, &adapter, plain.path(), &pool).expect("the adapter is merged");
    for file in std::fs::read_dir(&engine).expect("the folder is there") {
        let file = file.expect("it is listed").path();
        std::fs::copy(&file, base.path().join(file.file_name().expect("a name"))).expect("it is copied");
    }
    let path = base.path().join("config.json");
    let config = std::fs::read_to_string(&path).expect("it is there");
    assert!(config.contains(r#""dtype": "float32""#));
    std::fs::write(&path, config.replace("float32", "bfloat16")).expect("it is written");
    merge(base.path(), &adapter, rounded.path(), &pool).expect("the adapter is merged");

    let [plain, rounded] = [plain, rounded].map(|dir| Checkpoint::open(dir.path()).expect("the model opens"));
    for name in plain.names() {
        let [exact, found] = [&plain, &rounded].map(|model| model.tensor(name).expect("it is there"));
        assert_eq!((exact.dtype, found.dtype), (Dtype::F32, Dtype::BF16), "{name}");
        let pairs = exact.data.as_chunks::<4>().0.iter().zip(found.data.as_chunks::<2>().0);
        for (exact, found) in pairs {
            let exact = f32::from_le_bytes(*exact);
            let found = f32::from_bits(u32::from(u16::from_le_bytes(*found)) << 16);
            // Half a unit in the last of 8 bits.
            assert!((found - exact).abs() <= exact.abs() / 256.0, "{name}: {found}, {exact}");
        }
    }
}

/// The options that the adapter in `folder` was made with.
fn config_of(folder: &Path) -> LoraConfig {
    let pool = compute(1, prl_engine::Tier::Portable);
    let base = ADAPTERS
        .iter()
        .find(|(name, _)| folder.ends_with(name))
        .expect("it is one of ours")
        .1;
    let model = Model::load(&fixtures("engine").join(base), &pool).expect("the model loads");
    let adapter = Adapter::open(folder, model.config(), &pool).expect("the adapter loads");
    LoraConfig {
        dropout: 0.0,
        ..adapter.config().clone()
    }
}

#[test]
fn gradients_and_three_adamw_steps_of_adapters_match_torch() {
    let optim = optimizer(&fixtures("lora"));
    for (name, base) in ADAPTERS {
        let folder = fixtures("lora").join(name);
        let expected = Expected::open(&folder);
        for tier in tiers() {
            let options = TrainerOptions {
                loss: LossConfig {
                    name: "ce".into(),
                    params: json!({}),
                },
                optim,
                base_dtype: base_dtype(name),
                lora: Some(LoraOptions {
                    config: config_of(&folder),
                    from: Some(folder.clone()),
                    ..LoraOptions::default()
                }),
                ..TrainerOptions::default()
            };
            let mut trainer =
                Trainer::open(&fixtures("engine").join(base), &compute(2, tier), options).expect("the trainer opens");
            train_as_torch(&mut trainer, &expected, &format!("{name} {tier:?}"));
        }
    }
}

fn train_as_torch(trainer: &mut Trainer, expected: &Expected, at: &str) {
    let batch = ExpectedBatch::of(expected);
    let batch = batch.columns();
    let names = trainer.parameter_names();
    for (step, norm) in expected.floats("grad_norm").into_iter().enumerate() {
        let stats = trainer.forward_backward(&batch).expect("the batch runs");
        if step == 0 {
            let loss = expected.floats("loss")[0];
            assert!(
                (stats.loss as f32 - loss).abs() < 1e-5 * loss,
                "{at}: loss {} {loss}",
                stats.loss
            );
            for name in &names {
                let (error, scale) = difference(
                    &trainer.gradient(name).expect("it is there"),
                    &expected.floats(&format!("grad.{name}")),
                );
                assert!(
                    error < 1e-5 * scale + 1e-6,
                    "{at}: gradient of {name} differs by {error} of {scale}"
                );
            }
        }
        let found = trainer.step(None).expect("the step runs");
        assert!(
            (found - norm).abs() < 2e-5 * norm,
            "{at}: norm {found} {norm} in step {step}"
        );
    }
    for name in &names {
        let (found, expected) = (
            trainer.parameter(name).expect("it is there"),
            expected.floats(&format!("after.{name}")),
        );
        // A first step is lr * sign(gradient): elements with a gradient near 0 may differ by a part of a step.
        let (error, _) = difference(&found, &expected);
        let mean = found.iter().zip(&expected).map(|(a, b)| (a - b).abs()).sum::<f32>() / found.len() as f32;
        assert!(
            error < 2e-4 && mean < 2e-6,
            "{at}: {name} differs by {error}, {mean} on average"
        );
    }
}
