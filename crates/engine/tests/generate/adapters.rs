//! Requests with adapters, on weights in f32 and int8: however they are scheduled, each gets the tokens that it gets alone.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use prl_engine::generate::{GenerateRequest, Generator, GeneratorOptions};
use prl_engine::{
    Adapter, BaseDtype, KvCache, LoraConfig, LoraOptions, Model, Trainer, TrainerOptions, WeightDtype, WeightFormat,
};
use prl_weights::{ADAPTER_WEIGHTS_FILE, Dtype, TensorToWrite, WriteOptions, write_safetensors};
use proptest::prelude::*;

use crate::generate_support::{Completion, Family, Numbers, checkpoint, complete, compute};

/// Longest prompt with its completion.
const LONGEST: usize = 110;

/// A model, two adapters of it, and none in the third place.
struct Adapted {
    model: Arc<Model>,
    adapters: [Option<Arc<Adapter>>; 3],
}

/// Dense and with experts, each with its projections in f32 and in int8.
fn models() -> &'static [Adapted] {
    static MODELS: OnceLock<Vec<Adapted>> = OnceLock::new();
    MODELS.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        let folders = [Family::Qwen3, Family::Qwen3Moe].map(|family| checkpoint(dir.path(), family, 11));
        let formats = [None, Some(BaseDtype::Int8)];
        let pairs = folders.iter().flat_map(|folder| formats.map(|base| (folder, base)));
        pairs.map(|(folder, base)| adapted(folder, base)).collect()
    })
}

fn adapted(folder: &Path, base: Option<BaseDtype>) -> Adapted {
    let format = WeightFormat {
        dtype: WeightDtype::F32,
        base,
    };
    let model = Model::load_as(folder, format, &compute(1)).unwrap();
    let adapter = |seed: u64| {
        let saved = tempfile::tempdir().unwrap();
        write_adapter(folder, seed, saved.path());
        Some(Arc::new(
            Adapter::open(saved.path(), model.config(), &compute(1)).unwrap(),
        ))
    };
    let adapters = [adapter(1), adapter(2), None];
    Adapted {
        model: Arc::new(model),
        adapters,
    }
}

/// An adapter whose matrices are all random. A new one would change nothing, because its B is zero.
fn write_adapter(model: &Path, seed: u64, dir: &Path) {
    let config = LoraConfig {
        rank: 3,
        ..LoraConfig::default()
    };
    let options = TrainerOptions {
        lora: Some(LoraOptions {
            config,
            ..LoraOptions::default()
        }),
        ..TrainerOptions::default()
    };
    Trainer::open(model, &compute(1), options).unwrap().save(dir).unwrap();
    let saved = prl_weights::Adapter::open(dir).unwrap();
    let mut numbers = Numbers(seed);
    let random: Vec<(String, Vec<usize>, Vec<u8>)> = saved
        .weights()
        .names()
        .map(|name| {
            let shape = saved.weights().tensor(name).unwrap().shape.to_vec();
            let values = (0..shape.iter().product()).map(|_| numbers.below(2001) as f32 / 5000.0 - 0.2);
            let bytes = values.flat_map(f32::to_le_bytes).collect();
            (name.to_owned(), shape, bytes)
        })
        .collect();
    drop(saved);
    let tensors: Vec<TensorToWrite<'_>> = random
        .iter()
        .map(|(name, shape, data)| TensorToWrite {
            name,
            dtype: Dtype::F32,
            shape,
            data,
        })
        .collect();
    write_safetensors(&dir.join(ADAPTER_WEIGHTS_FILE), &tensors, &[], WriteOptions::default()).unwrap();
}

/// The parts that decide a request of the test.
#[derive(Debug, Clone)]
struct Asked {
    /// Tokens of the prompt that all share, and further ones.
    prompt: (usize, usize),
    max_tokens: u32,
    adapter: usize,
    is_greedy: bool,
    final_only: bool,
    priority: i64,
}

fn asked() -> impl Strategy<Value = Asked> {
    let lengths = ((0usize..50, 1usize..20), 1u32..40);
    (lengths, 0usize..3, any::<bool>(), any::<bool>(), -1i64..2).prop_map(
        |((prompt, max_tokens), adapter, is_greedy, final_only, priority)| Asked {
            prompt,
            max_tokens,
            adapter,
            is_greedy,
            final_only,
            priority,
        },
    )
}

fn requests(adapted: &Adapted, asked: &[Asked]) -> Vec<GenerateRequest> {
    let shared = Numbers(3).tokens(50);
    let request = |(at, asked): (usize, &Asked)| {
        let mut prompt = shared[..asked.prompt.0].to_vec();
        prompt.extend(Numbers(at as u64).tokens(asked.prompt.1));
        GenerateRequest {
            adapter: adapted.adapters[asked.adapter].clone(),
            temperature: if asked.is_greedy { 0.0 } else { 1.0 },
            seed: at as u64,
            final_only: asked.final_only,
            priority: asked.priority,
            ..GenerateRequest::new(at.to_string(), prompt, asked.max_tokens)
        }
    };
    asked.iter().enumerate().map(request).collect()
}

fn run(
    model: &Arc<Model>,
    threads: usize,
    options: GeneratorOptions,
    requests: Vec<GenerateRequest>,
) -> BTreeMap<String, Completion> {
    complete(
        &Generator::start(Arc::clone(model), compute(threads), options).unwrap(),
        requests,
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_batch_of_adapters_gives_each_request_the_tokens_that_it_gets_alone(
        asked in prop::collection::vec(asked(), 1..14), model in 0usize..4, threads in 1usize..3,
        spare_blocks in 0usize..12, max_num_seqs in 1usize..8, max_batched_tokens in 1usize..50, prefix_cache in any::<bool>(),
    ) {
        let adapted = &models()[model];
        let requests = requests(adapted, &asked);
        let options = GeneratorOptions {
            kv_blocks: Some(LONGEST.div_ceil(KvCache::BLOCK_TOKENS) + spare_blocks),
            max_model_len: Some(LONGEST),
            max_num_seqs,
            max_batched_tokens,
            prefix_cache,
            ..GeneratorOptions::default()
        };
        let done = run(&adapted.model, threads, options, requests.clone());
        for request in requests {
            let id = request.id.clone();
            let options = GeneratorOptions { max_num_seqs: 1, prefix_cache: false, ..GeneratorOptions::default() };
            let alone = run(&adapted.model, 1, options, vec![request]);
            prop_assert!(done[&id].error.is_none(), "{:?}", done[&id].error);
            prop_assert_eq!(done[&id].sampled(), alone[&id].sampled(), "request {}", id);
        }
    }
}

#[test]
fn adapters_and_int8_change_what_is_sampled() {
    let one = |adapter| Asked {
        prompt: (20, 4),
        max_tokens: 12,
        adapter,
        is_greedy: true,
        final_only: true,
        priority: 0,
    };
    let mut seen = Vec::new();
    for adapted in models() {
        for adapter in 0..3 {
            let done = run(
                &adapted.model,
                1,
                GeneratorOptions::default(),
                requests(adapted, &[one(adapter)]),
            );
            let found = done["0"].sampled().1;
            assert!(!seen.contains(&found), "adapter {adapter} samples as another did");
            seen.push(found);
        }
    }
}
