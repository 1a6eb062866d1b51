//! Adapters on projections in int8: trainer and sampler have the bits of a model that holds the same numbers in the other format.

use std::path::Path;
use std::sync::Arc;

use crate::adapters::{lora, options};
use crate::support::{CONFIGS, Columns, bits, compute, tiers, write_model};
use crate::{gradients, logprobs, scored, train};
use prl_engine::{
    ActivationPolicy, Adapter, BaseDtype, CachedSequence, Compute, FrozenModel, Model, Tier, Trainer, TrainerOptions,
    WeightDtype, WeightFormat, head,
};
use prl_weights::{Checkpoint, TensorToWrite, write_checkpoint};

/// Rows of several groups, the last ones ragged.
const GROUPS: &str = r#"{"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "vocab_size": 37, "hidden_size": 70,
    "intermediate_size": 130, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 18,
    "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "max_position_embeddings": 128, "tie_word_embeddings": true}"#;

const DTYPES: [WeightDtype; 2] = [WeightDtype::F32, WeightDtype::Bf16];

fn int8(dtype: WeightDtype) -> WeightFormat {
    WeightFormat {
        dtype,
        base: Some(BaseDtype::Int8),
    }
}

fn configs() -> impl Iterator<Item = (&'static str, &'static str)> {
    CONFIGS.into_iter().chain([("groups", GROUPS)])
}

fn open(folder: &Path, format: WeightFormat, pool: &Arc<Compute>) -> Trainer {
    let options = TrainerOptions {
        dtype: format.dtype,
        base_dtype: format.base,
        ..options(lora())
    };
    Trainer::open(folder, pool, options).expect("the trainer opens")
}

/// What int8 keeps of a row: in each group of 64 the nearest multiple, ties to even, of max |w| / 127 rounded to bfloat16.
fn kept(row: &[f32]) -> Vec<f32> {
    let of_group = |group: &[f32]| {
        let most = group.iter().fold(0f32, |most, weight| most.max(weight.abs()));
        let bits = (most / 127.0).to_bits();
        let scale = f32::from_bits((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff_0000);
        let multiple = |weight: &f32| {
            if scale > 0.0 {
                (weight / scale).round_ties_even() * scale
            } else {
                0.0
            }
        };
        group.iter().map(multiple).collect::<Vec<_>>()
    };
    row.chunks(64).flat_map(of_group).collect()
}

/// Writes the model in `from` with its projections replaced by what int8 keeps of them.
fn write_kept(from: &Path, to: &Path) {
    std::fs::copy(from.join("config.json"), to.join("config.json")).expect("the config is written");
    let checkpoint = Checkpoint::open(from).expect("the model opens");
    let mut tensors = Vec::new();
    for name in checkpoint.names() {
        let tensor = checkpoint.tensor(name).expect("the tensor is there");
        let values = tensor.data.as_chunks::<4>().0;
        let mut values: Vec<f32> = values.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        if name.contains("_proj.weight") {
            values = values.chunks(tensor.shape[1]).flat_map(kept).collect();
        }
        let data: Vec<u8> = values.into_iter().flat_map(f32::to_le_bytes).collect();
        tensors.push((name.to_owned(), tensor.dtype, tensor.shape.to_vec(), data));
    }
    let list: Vec<TensorToWrite<'_>> = tensors
        .iter()
        .map(|(name, dtype, shape, data)| TensorToWrite {
            name,
            dtype: *dtype,
            shape,
            data,
        })
        .collect();
    write_checkpoint(to, &list, u64::MAX).expect("the model is written");
}

#[test]
fn a_model_and_its_gradients_have_the_bits_of_the_numbers_that_int8_keeps() {
    for (name, config) in configs() {
        let [folder, plain] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
        write_model(folder.path(), config, 5);
        write_kept(folder.path(), plain.path());
        let columns = Columns::random(&[9, 30, 4, 17], 7, 4);
        for (tier, dtype) in tiers().flat_map(|tier| DTYPES.map(|dtype| (tier, dtype))) {
            let pool = compute(2, tier);
            let run = |folder: &Path, format: WeightFormat| {
                let mut trainer = open(folder, format, &pool);
                train(&mut trainer, &columns);
                trainer.forward_backward(&columns.batch()).expect("the batch runs");
                (logprobs(&trainer, &columns), gradients(&trainer))
            };
            let found = run(folder.path(), int8(dtype));
            assert_eq!(found, run(plain.path(), dtype.into()), "{name} {tier:?} {dtype:?}");
            assert!(
                found.1.iter().flatten().any(|bits| *bits != 0),
                "{name}: there are gradients"
            );
            assert_ne!(
                found.0,
                run(folder.path(), dtype.into()).0,
                "{name}: int8 rounds the weights"
            );
        }
    }
}

/// Log-probabilities of one sequence through the cache, in chunks of 1, 2, 3, 1, ... tokens.
fn decoded(model: &Model, pool: &Compute, ids: &[u32]) -> Vec<u32> {
    let mut cache = model.kv_cache(4);
    let vocab = model.config().vocab_size;
    let mut logprobs = vec![0f32; ids.len()];
    let mut done = 0;
    while done < ids.len() {
        let count = (1 + done % 3).min(ids.len() - done);
        let sequence = CachedSequence {
            token_ids: &ids[done..done + count],
            start: done,
            blocks: &[2, 0, 3, 1],
            adapter: None,
        };
        let hidden = model
            .forward_cached(pool, &[sequence], &mut cache)
            .expect("the step runs");
        let logits = model.head_logits(pool, &hidden);
        for (at, row) in logits.chunks_exact(vocab).enumerate() {
            if let Some(next) = ids.get(done + at + 1) {
                logprobs[done + at + 1] = head::row_logprob(pool, row, 0.7, *next);
            }
        }
        done += count;
    }
    bits(&logprobs)
}

#[test]
fn a_sampler_computes_the_bits_of_the_trainer_that_published_the_adapter() {
    for (name, config) in configs() {
        let [folder, published] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
        write_model(folder.path(), config, 5);
        for (tier, dtype) in tiers().flat_map(|tier| DTYPES.map(|dtype| (tier, dtype))) {
            let columns = Columns::random(&[9, 30, 4, 17], 7, 4);
            let mut trainer = open(folder.path(), int8(dtype), &compute(2, tier));
            train(&mut trainer, &columns);
            trainer.save(published.path()).expect("the adapter is written");
            let expected = logprobs(&trainer, &columns);
            for threads in [1, 3] {
                let pool = compute(threads, tier);
                let model = Model::load_as(folder.path(), int8(dtype), &pool).expect("the model loads");
                let adapter = Adapter::open(published.path(), model.config(), &pool).expect("the adapter loads");
                let model = model.with_adapter(Some(Arc::new(adapter)));
                assert_eq!(
                    scored(&model, &pool, &columns),
                    expected,
                    "{name} {tier:?} {dtype:?} {threads}"
                );
                let longest = 9..39;
                assert_eq!(
                    decoded(&model, &pool, &columns.input_ids[longest.clone()]),
                    expected[longest],
                    "{name} {tier:?} {dtype:?} {threads}"
                );
            }
        }
    }
}

#[test]
fn gradients_have_the_same_bits_for_any_threads_and_activations_and_a_shared_model() {
    for (name, config) in [("groups", GROUPS), ("experts", crate::support::EXPERTS)] {
        let folder = tempfile::tempdir().expect("a folder");
        write_model(folder.path(), config, 6);
        let columns = Columns::random(&[20, 31, 8, 70], 7, 9);
        for (tier, dtype) in tiers().flat_map(|tier| DTYPES.map(|dtype| (tier, dtype))) {
            let frozen = FrozenModel::open(folder.path(), int8(dtype), &compute(1, tier)).expect("the model loads");
            let run = |threads: usize, activations: ActivationPolicy| {
                let options = TrainerOptions {
                    activations,
                    ..options(lora())
                };
                let mut trainer = Trainer::adapt(&frozen, &compute(threads, tier), options).expect("the trainer opens");
                train(&mut trainer, &columns);
                trainer.forward_backward(&columns.batch()).expect("the batch runs");
                gradients(&trainer)
            };
            let expected = run(1, ActivationPolicy::Keep);
            for (threads, activations) in [(3, ActivationPolicy::Keep), (2, ActivationPolicy::Recompute)] {
                assert_eq!(
                    run(threads, activations),
                    expected,
                    "{name} {tier:?} {dtype:?} {threads}"
                );
            }
        }
    }
}

#[test]
fn int8_without_an_adapter_and_weights_that_are_not_finite_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    write_model(folder.path(), GROUPS, 5);
    let pool = compute(1, Tier::Portable);
    let whole = TrainerOptions {
        base_dtype: Some(BaseDtype::Int8),
        ..TrainerOptions::default()
    };
    let error = Trainer::open(folder.path(), &pool, whole).err().expect("it is refused");
    assert_eq!(error.code(), "PRL_ENGINE_INPUT");
    assert!(error.to_string().contains("base_dtype is int8"), "{error}");

    let path = folder.path().join("model.safetensors");
    let mut bytes = std::fs::read(&path).expect("it is there");
    let last = bytes.len() - 4;
    bytes[last..].copy_from_slice(&f32::NAN.to_le_bytes());
    std::fs::write(&path, bytes).expect("it is written");
    let error = Model::load_as(folder.path(), int8(WeightDtype::F32), &pool)
        .err()
        .expect("it is refused");
    assert_eq!(error.code(), "PRL_ENGINE_WEIGHTS");
}
