//! The sampler's log-probabilities equal the trainer's bit for bit, and a request's tokens depend on the request alone.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use prl_engine::generate::{GenerateRequest, Generator, GeneratorOptions};
use prl_engine::loss::Counts;
use prl_engine::{KvCache, Model, NO_EXPERT, OptimConfig, RoutedExperts, TrainBatch, Trainer, TrainerOptions};

use crate::generate_support::{Collector, Completion, Family, Numbers, checkpoint, complete, compute, model};

/// Requests of many lengths and temperatures, with shared prefixes among them.
fn requests(count: usize, seed: u64) -> Vec<GenerateRequest> {
    let mut numbers = Numbers(seed);
    let shared = numbers.tokens(50);
    (0..count)
        .map(|at| {
            let mut prompt = shared[..numbers.below(51) as usize].to_vec();
            let own = 1 + numbers.below(30) as usize;
            prompt.extend(numbers.tokens(own));
            GenerateRequest {
                temperature: [1.0, 0.0, 0.7, 1.3][at % 4],
                seed: numbers.below(1000),
                ignore_eos: at % 3 == 0,
                final_only: at % 2 == 0,
                ..GenerateRequest::new(at.to_string(), prompt, 1 + numbers.below(60) as u32)
            }
        })
        .collect()
}

fn run(
    model: &Arc<Model>,
    threads: usize,
    options: GeneratorOptions,
    requests: Vec<GenerateRequest>,
) -> (BTreeMap<String, Completion>, prl_engine::generate::GeneratorStats) {
    let generator = Generator::start(Arc::clone(model), compute(threads), options).unwrap();
    let done = complete(&generator, requests);
    (done, generator.stats())
}

/// All requests with their completions in one packed batch through the training forward.
fn assert_logprobs_equal_the_models(
    model: &Model,
    threads: usize,
    requests: &[GenerateRequest],
    done: &BTreeMap<String, Completion>,
) {
    let (mut ids, mut boundaries, mut temperatures) = (Vec::new(), vec![0u32], Vec::new());
    for request in requests {
        let completion = &done[&request.id];
        assert_eq!(completion.error, None);
        assert!(!completion.token_ids.is_empty());
        ids.extend(&request.prompt_token_ids);
        ids.extend(&completion.token_ids);
        boundaries.push(ids.len() as u32);
        let temperature = if request.temperature == 0.0 {
            1.0
        } else {
            request.temperature
        };
        temperatures.resize(ids.len(), temperature);
    }
    let expected = model
        .logprobs(&compute(threads), &ids, &boundaries, &temperatures)
        .unwrap();
    for (at, request) in requests.iter().enumerate() {
        let first = boundaries[at] as usize + request.prompt_token_ids.len();
        let end = boundaries[at + 1] as usize;
        for (offset, (expected, actual)) in expected[first..end].iter().zip(&done[&request.id].logprobs).enumerate() {
            assert_eq!(
                expected.to_bits(),
                actual.to_bits(),
                "request {at}, token {offset}: the trainer says {expected}, the sampler {actual}"
            );
        }
    }
}

fn sampled(done: &BTreeMap<String, Completion>) -> BTreeMap<&str, (Vec<u32>, Vec<u32>)> {
    done.iter()
        .map(|(id, completion)| (id.as_str(), completion.sampled()))
        .collect()
}

fn small_model(dir: &Path, family: Family) -> Arc<Model> {
    model(dir, family, 11, &compute(1))
}

#[test]
fn sampled_log_probabilities_equal_the_training_forwards_bit_for_bit() {
    let dir = tempfile::tempdir().unwrap();
    for family in Family::ALL {
        let model = small_model(dir.path(), family);
        for (threads, max_num_seqs, max_batched_tokens) in
            [(1, 1, 4096), (2, 7, 5), (3, 16, 64), (4, 64, 17), (1, 64, 1)]
        {
            let options = GeneratorOptions {
                max_num_seqs,
                max_batched_tokens,
                ..GeneratorOptions::default()
            };
            let requests = requests(24, 5);
            let (done, _) = run(&model, threads, options, requests.clone());
            assert_logprobs_equal_the_models(&model, 5 - threads, &requests, &done);
        }
    }
}

#[test]
fn a_completion_depends_on_its_request_only() {
    let dir = tempfile::tempdir().unwrap();
    for family in Family::ALL {
        let model = small_model(dir.path(), family);
        let requests = requests(24, 8);
        let (reference, _) = run(&model, 1, GeneratorOptions::default(), requests.clone());
        for request in &requests {
            let (alone, _) = run(&model, 1, GeneratorOptions::default(), vec![request.clone()]);
            assert_eq!(
                alone[&request.id].sampled(),
                reference[&request.id].sampled(),
                "alone or in a batch"
            );
        }
        for (threads, max_num_seqs, max_batched_tokens, prefix_cache) in
            [(2, 4, 9, true), (3, 24, 3, false), (4, 9, 2048, false), (1, 3, 1, true)]
        {
            let mut shuffled = requests.clone();
            shuffled.rotate_left(max_num_seqs);
            shuffled.reverse();
            let options = GeneratorOptions {
                max_num_seqs,
                max_batched_tokens,
                prefix_cache,
                ..GeneratorOptions::default()
            };
            let (done, _) = run(&model, threads, options, shuffled);
            assert_eq!(
                sampled(&done),
                sampled(&reference),
                "{threads} threads, {max_num_seqs} at once"
            );
        }
    }
}

#[test]
fn cached_prefixes_change_no_bit() {
    let dir = tempfile::tempdir().unwrap();
    for family in Family::ALL {
        let model = small_model(dir.path(), family);
        let requests = requests(40, 21);
        let off = GeneratorOptions {
            prefix_cache: false,
            ..GeneratorOptions::default()
        };
        let (reference, _) = run(&model, 2, off, requests.clone());
        let on = GeneratorOptions {
            max_num_seqs: 2,
            ..GeneratorOptions::default()
        };
        let (done, stats) = run(&model, 2, on, requests.clone());
        assert!(
            stats.prefix_hits > 200,
            "{} tokens came from the prefix cache",
            stats.prefix_hits
        );
        assert_eq!(sampled(&done), sampled(&reference));
        assert_logprobs_equal_the_models(&model, 2, &requests, &done);
    }
}

#[test]
fn a_groups_prompt_is_computed_once_and_changes_no_bit() {
    const GROUP: u64 = 8;
    let dir = tempfile::tempdir().unwrap();
    for family in Family::ALL {
        let model = small_model(dir.path(), family);
        let prompts: Vec<Vec<u32>> = (2..40)
            .map(|len| (0..len).map(|at| (at * 7 + len) % 20).collect())
            .collect();
        let requests: Vec<_> = prompts
            .iter()
            .flat_map(|prompt| (0..GROUP).map(move |member| (prompt, member)))
            .map(|(prompt, member)| GenerateRequest {
                seed: member,
                ignore_eos: true,
                ..GenerateRequest::new(format!("{}-{member}", prompt.len()), prompt.clone(), 6)
            })
            .collect();
        let off = GeneratorOptions {
            prefix_cache: false,
            ..GeneratorOptions::default()
        };
        let (reference, _) = run(&model, 2, off, requests.clone());
        let (done, stats) = run(&model, 2, GeneratorOptions::default(), requests.clone());
        let taken_over = prompts.iter().map(|prompt| prompt.len() as u64 - 1).sum::<u64>() * (GROUP - 1);
        assert!(stats.prefix_hits >= taken_over, "{} of {taken_over}", stats.prefix_hits);
        assert_eq!(sampled(&done), sampled(&reference));
        assert_logprobs_equal_the_models(&model, 2, &requests, &done);
    }
}

#[test]
fn preempted_requests_end_with_the_same_bits() {
    let dir = tempfile::tempdir().unwrap();
    for (family, prefix_cache) in Family::ALL.into_iter().zip([true, false].into_iter().cycle()) {
        let model = small_model(dir.path(), family);
        let requests: Vec<_> = requests(20, 33)
            .into_iter()
            .map(|request| GenerateRequest {
                ignore_eos: true,
                max_tokens: 60,
                ..request
            })
            .collect();
        let (reference, _) = run(&model, 1, GeneratorOptions::default(), requests.clone());
        let options = GeneratorOptions {
            max_model_len: Some(160),
            kv_blocks: Some(160usize.div_ceil(KvCache::BLOCK_TOKENS) + 2),
            max_batched_tokens: 40,
            prefix_cache,
            ..GeneratorOptions::default()
        };
        let (done, stats) = run(&model, 2, options, requests.clone());
        assert!(stats.preemptions > 0, "no preemption: {stats:?}");
        assert_eq!(sampled(&done), sampled(&reference));
        assert_logprobs_equal_the_models(&model, 3, &requests, &done);
    }
}

#[test]
fn equal_seeds_give_equal_tokens_and_other_seeds_others() {
    let dir = tempfile::tempdir().unwrap();
    let model = small_model(dir.path(), Family::Qwen3);
    let with_seed = |id: &str, seed| GenerateRequest {
        seed,
        ignore_eos: true,
        ..GenerateRequest::new(id, vec![1, 2, 3], 50)
    };
    let batch = vec![
        with_seed("a", 1),
        with_seed("b", 1),
        with_seed("c", 2),
        with_seed("d", u64::MAX),
    ];
    let (done, _) = run(&model, 2, GeneratorOptions::default(), batch);
    assert_eq!(done["a"].sampled(), done["b"].sampled());
    assert_ne!(done["a"].token_ids, done["c"].token_ids);
    assert_ne!(done["a"].token_ids, done["d"].token_ids);
}

#[test]
fn greedy_takes_the_largest_logit_of_the_training_forward() {
    let dir = tempfile::tempdir().unwrap();
    let model = small_model(dir.path(), Family::Qwen2);
    let request = GenerateRequest {
        temperature: 0.0,
        ignore_eos: true,
        ..GenerateRequest::new("a", vec![7, 8], 40)
    };
    let (done, _) = run(&model, 2, GeneratorOptions::default(), vec![request]);
    let ids = [&[7, 8], done["a"].token_ids.as_slice()].concat();
    let logits = model.logits(&compute(1), &ids, &[0, ids.len() as u32]).unwrap();
    let vocab = model.config().vocab_size;
    for (at, token) in done["a"].token_ids.iter().enumerate() {
        let row = &logits[(at + 1) * vocab..(at + 2) * vocab];
        let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        assert_eq!(row.iter().position(|logit| *logit == largest), Some(*token as usize));
    }
}

#[test]
fn without_truncation_filters_that_keep_everything_agree_with_none() {
    let dir = tempfile::tempdir().unwrap();
    let model = small_model(dir.path(), Family::Qwen3);
    let plain = GenerateRequest {
        ignore_eos: true,
        ..GenerateRequest::new("plain", vec![1], 60)
    };
    let vocabulary = i64::try_from(model.config().vocab_size).unwrap();
    let wide = GenerateRequest {
        id: "wide".to_owned(),
        top_k: vocabulary,
        ..plain.clone()
    };
    let (done, _) = run(&model, 1, GeneratorOptions::default(), vec![plain, wide]);
    assert_eq!(done["plain"].token_ids, done["wide"].token_ids);
    for (plain, wide) in done["plain"].logprobs.iter().zip(&done["wide"].logprobs) {
        assert!((plain - wide).abs() < 1e-5);
    }
}

#[test]
fn on_policy_training_sees_no_mismatch_at_any_version() {
    let dir = tempfile::tempdir().unwrap();
    for (family, threads) in Family::ALL.into_iter().zip([2, 1, 3].into_iter().cycle()) {
        let source = checkpoint(dir.path(), family, 3);
        let optim = OptimConfig {
            lr: 1e-2,
            ..OptimConfig::default()
        };
        let options = TrainerOptions {
            optim,
            ..TrainerOptions::default()
        };
        let mut trainer = Trainer::open(&source, &compute(threads), options).unwrap();
        let sampler_compute = compute(2);
        let first = Arc::new(Model::load(&source, &sampler_compute).unwrap());
        let options = GeneratorOptions {
            max_num_seqs: 5,
            max_batched_tokens: 23,
            ..GeneratorOptions::default()
        };
        let generator = Generator::start(first, Arc::clone(&sampler_compute), options).unwrap();
        for version in 0..3u32 {
            let mut requests = requests(12, u64::from(version));
            // A mixture of experts replays what the sampler recorded, which changes nothing.
            if let Family::Qwen3Moe = family {
                requests
                    .iter_mut()
                    .for_each(|request| request.routed_experts_from = Some(0));
            }
            let done = complete(&generator, requests.clone());
            let stats = train_on(&mut trainer, version, &requests, &done);
            let metric = |name: &str| stats.iter().find(|(known, _)| known == name).map(|(_, value)| *value);
            let sampled: usize = done.values().map(|completion| completion.token_ids.len()).sum();
            assert_eq!(metric("mismatch_on_policy/tokens"), Some(sampled as f64));
            assert_eq!(metric("mismatch_on_policy/max_abs_logprob_diff"), Some(0.0));
            assert_eq!(metric("mismatch_on_policy/kl"), Some(0.0));
            let next = dir.path().join(format!("{family:?}-v{version}"));
            trainer.save(&next).unwrap();
            let model = Arc::new(Model::load(&next, &sampler_compute).unwrap());
            generator.swap(model, u64::from(version) + 1, None).unwrap();
        }
    }
}

/// What the mixture of experts of `generate_support` has.
const EXPERT_LAYERS: usize = 2;
const EXPERTS_PER_TOKEN: usize = 2;

/// The recorded rows, and one without experts for the last token.
fn rows_of_all_tokens(recorded: &[u16]) -> Vec<u16> {
    match recorded {
        [] => Vec::new(),
        _ => [recorded, &[NO_EXPERT; EXPERT_LAYERS * EXPERTS_PER_TOKEN]].concat(),
    }
}

/// One policy-gradient step on completions in two bins; the metrics of the forward pass before it.
fn train_on(
    trainer: &mut Trainer,
    version: u32,
    requests: &[GenerateRequest],
    done: &BTreeMap<String, Completion>,
) -> Vec<(String, f64)> {
    let (mut ids, mut logprobs, mut mask) = (Vec::new(), Vec::new(), Vec::new());
    let (mut boundaries, mut temperatures, mut spans) = (vec![0u32], Vec::new(), Vec::new());
    for request in requests {
        let completion = &done[&request.id];
        let prompt = request.prompt_token_ids.len();
        spans.extend([ids.len() as u32, u32::MAX, (ids.len() + prompt) as u32, version]);
        assert!(
            completion
                .versions
                .iter()
                .all(|sampled_by| *sampled_by == u64::from(version))
        );
        ids.extend(&request.prompt_token_ids);
        ids.extend(&completion.token_ids);
        logprobs.resize(logprobs.len() + prompt, 0.0);
        logprobs.extend(&completion.logprobs);
        mask.resize(mask.len() + prompt, 0);
        mask.resize(ids.len(), 1);
        temperatures.resize(
            ids.len(),
            if request.temperature == 0.0 {
                1.0
            } else {
                request.temperature
            },
        );
        boundaries.push(ids.len() as u32);
    }
    let experts: Vec<u16> = requests
        .iter()
        .flat_map(|request| rows_of_all_tokens(&done[&request.id].experts))
        .collect();
    let recorded = RoutedExperts {
        layers: EXPERT_LAYERS,
        top_k: EXPERTS_PER_TOKEN,
        ids: &experts,
    };
    let advantages: Vec<f32> = (0..ids.len()).map(|t| [1.0, -0.5, 0.25][t % 3]).collect();
    let batch = TrainBatch {
        input_ids: &ids,
        inference_logprobs: &logprobs,
        advantages: &advantages,
        temperatures: &temperatures,
        loss_mask: &mask,
        cu_seqlens: &boundaries,
        bin_seq_offsets: Some(&[0, 5, requests.len() as u32]),
        env_ids: None,
        policy_version_spans: Some(&spans),
        rl_weights: None,
        ce_weights: None,
        ref_kl_weights: None,
        reference_logprobs: None,
        routed_experts: (!experts.is_empty()).then_some(recorded),
        counts: Counts {
            rl: mask.iter().map(|on| f64::from(*on)).sum(),
            ce: 0.0,
            ref_kl: 0.0,
            sequences: None,
        },
        on_policy_version: Some(version),
    };
    let stats = trainer.forward_backward(&batch).unwrap();
    let own = trainer.logprobs(&ids, &boundaries, &temperatures).unwrap();
    for t in (0..ids.len()).filter(|t| mask[*t] != 0) {
        assert_eq!(own[t].to_bits(), logprobs[t].to_bits(), "token {t}");
    }
    assert!(trainer.step(None).unwrap() > 0.0);
    stats.metrics
}

/// A swap falls into prompts that are partly computed: their keys and values must not outlive the old weights.
#[test]
fn a_completion_sampled_wholly_after_a_swap_owes_nothing_to_the_old_weights() {
    let dir = tempfile::tempdir().unwrap();
    let compute = compute(1);
    let old = model(dir.path(), Family::Qwen3, 1, &compute);
    let new = model(dir.path(), Family::Qwen3, 2, &compute);
    let mut wholly_new = 0;
    for round in 0..20 {
        let options = GeneratorOptions {
            max_batched_tokens: 8,
            max_num_seqs: 8,
            ..GeneratorOptions::default()
        };
        let generator = Generator::start(Arc::clone(&old), Arc::clone(&compute), options).unwrap();
        let mut numbers = Numbers(round + 1);
        let requests: Vec<_> = (0..12)
            .map(|id| GenerateRequest::new(id.to_string(), numbers.tokens(60), 4))
            .collect();
        generator.submit(requests.clone()).unwrap();
        std::thread::sleep(Duration::from_micros(150 * round));
        generator.swap(Arc::clone(&new), 1, None).unwrap();
        let mut done = Collector::default();
        done.until_ended(&generator, requests.len());
        let is_new = |request: &GenerateRequest| done.0[&request.id].versions.iter().all(|version| *version == 1);
        let requests: Vec<_> = requests.into_iter().filter(is_new).collect();
        wholly_new += requests.len();
        assert_logprobs_equal_the_models(&new, 1, &requests, &done.0);
    }
    assert!(wholly_new > 0);
}
