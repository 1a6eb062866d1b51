//! What frozen weights take: one copy for a trainer of an adapter and the models that share it, and one part in f32 beside them
//! while they are loaded.

use std::path::Path;
use std::sync::Arc;

use crate::adapters::{lora, options};
use crate::support::{Columns, bits, compute, write_model};
use prl_engine::{Compute, Model, Tier, Trainer, TrainerOptions, WeightDtype};
use prl_test_heap::{Measured, held, measure, turn};

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
fn frozen_weights_are_held_once_and_are_flat_a_part_at_a_time() {
    let _turn = turn();
    let dir = tempfile::tempdir().expect("a folder");
    write_model(dir.path(), LAYERS, 3);
    let dir = dir.path();
    let pool = compute(1, Tier::detect());
    let columns = Columns::random(&[12, 7], 96, 1);
    let score = |model: &Model| {
        let scored = model.logprobs(&pool, &columns.input_ids, &columns.cu_seqlens, &[1.0]);
        bits(&scored.expect("the batch runs"))
    };
    for (dtype, bytes) in [(WeightDtype::F32, 4), (WeightDtype::Bf16, 2)] {
        // Threads keep their scratch from one model to the next.
        let expected = score(&load(dir, dtype, &pool));
        drop(open(dir, dtype, &pool));

        let nothing = held();
        let Measured {
            value: model,
            left: loaded,
            peak: most,
        } = measure(|| load(dir, dtype, &pool));
        let numbers = 8 * LAYER + 2 * EMBEDDING;
        assert!(loaded >= bytes * numbers, "{loaded} bytes of {numbers} numbers");
        assert!(
            most <= loaded + 4 * LAYER + DESCRIPTIONS,
            "{most} bytes at the most, {loaded} held"
        );
        drop(model);

        let Measured {
            value: trainer,
            left: trained,
            peak: most,
        } = measure(|| open(dir, dtype, &pool));
        assert!(
            most <= trained + 4 * LAYER + DESCRIPTIONS,
            "{most} bytes at the most, {trained} held"
        );
        let Measured {
            value: shared,
            left: more,
            ..
        } = measure(|| trainer.frozen_model().expect("its weights are frozen"));
        assert!(
            more < loaded / 100,
            "{more} bytes beside the {loaded} of a loaded model"
        );
        assert_eq!(score(&shared), expected, "{dtype:?}");
        drop(trainer);
        assert!(held() - nothing < trained, "the trainer's part is freed");
        assert_eq!(score(&shared), expected, "{dtype:?}: the trainer is gone");
        drop(shared);
        assert_eq!(held(), nothing, "{dtype:?}: nothing is left");
    }
}
