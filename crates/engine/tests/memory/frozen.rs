//! What frozen weights take while they are loaded: one part in f32 beside what is kept.

use std::path::Path;
use std::sync::Arc;

use crate::adapters::{lora, options};
use crate::support::{compute, write_model};
use crate::{alone, counted};
use prl_engine::{Compute, Model, Tier, Trainer, TrainerOptions, WeightDtype};

/// Eight layers, so that one is a small part of all numbers. No array has pages apart from the allocator's.
const LAYERS: &str = r#"{"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "vocab_size": 96, "hidden_size": 64,
    "intermediate_size": 160, "num_hidden_layers": 8, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
    "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "max_position_embeddings": 128, "tie_word_embeddings": true}"#;
/// Numbers of a layer: q and o, k and v, the feed-forward network, norms.
const LAYER: usize = 2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 160 + 2 * 64 + 2 * 16;
const EMBEDDING: usize = 96 * 64;
/// Headers of files, names and shapes.
const DESCRIPTIONS: usize = 100_000;

fn load(dir: &Path, dtype: WeightDtype, compute: &Arc<Compute>) -> Model {
    Model::load_as(dir, dtype, compute).expect("the model loads")
}

fn open(dir: &Path, dtype: WeightDtype, compute: &Arc<Compute>) -> Trainer {
    let options = TrainerOptions {
        dtype,
        ..options(lora())
    };
    Trainer::open(dir, compute, options).expect("the trainer opens")
}

#[test]
fn frozen_weights_are_flat_a_part_at_a_time() {
    let _alone = alone();
    let dir = tempfile::tempdir().expect("a folder");
    write_model(dir.path(), LAYERS, 3);
    let dir = dir.path();
    let pool = compute(1, Tier::detect());
    for (dtype, bytes) in [(WeightDtype::F32, 4), (WeightDtype::Bf16, 2)] {
        // Threads keep their scratch from one model to the next.
        drop(load(dir, dtype, &pool));
        drop(open(dir, dtype, &pool));

        let (model, loaded, most) = counted(|| load(dir, dtype, &pool));
        let numbers = 8 * LAYER + 2 * EMBEDDING;
        assert!(loaded >= bytes * numbers, "{loaded} bytes of {numbers} numbers");
        assert!(
            most <= loaded + 4 * LAYER + DESCRIPTIONS,
            "{most} bytes at the most, {loaded} held"
        );
        drop(model);

        let (_trainer, trained, most) = counted(|| open(dir, dtype, &pool));
        assert!(
            most <= trained + 4 * LAYER + DESCRIPTIONS,
            "{most} bytes at the most, {trained} held"
        );
    }
}
