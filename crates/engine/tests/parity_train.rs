//! Bit equality of log-probabilities: trainer, packed scoring, chunked prefill and decode, whatever the batch and the threads.

mod support;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use prl_engine::{CachedSequence, Compute, KvCache, Model, Tier, Trainer, TrainerOptions, WeightDtype, head};
use proptest::prelude::*;
use support::{CONFIGS, Columns, Random, bits, compute, tiers, write_model};

const BLOCK: usize = KvCache::BLOCK_TOKENS;

struct Fixture {
    folder: tempfile::TempDir,
    vocab: usize,
    dtype: WeightDtype,
}

impl Fixture {
    fn trainer(&self, compute: &Arc<Compute>) -> Trainer {
        let options = TrainerOptions {
            dtype: self.dtype,
            ..TrainerOptions::default()
        };
        Trainer::open(self.folder.path(), compute, options).expect("the trainer opens")
    }
}

const DTYPES: [WeightDtype; 2] = [WeightDtype::F32, WeightDtype::Bf16];
const FIXTURE_COUNT: usize = DTYPES.len() * CONFIGS.len();

/// Every model with its weights in every format.
static FIXTURES: LazyLock<Vec<Fixture>> = LazyLock::new(|| {
    let models = CONFIGS
        .iter()
        .flat_map(|(_, config)| DTYPES.map(|dtype| (config, dtype)));
    models
        .map(|(config, dtype)| {
            let folder = tempfile::tempdir().expect("a folder");
            write_model(folder.path(), config, 23);
            let vocab = prl_engine::ModelConfig::from_json(config)
                .expect("it parses")
                .vocab_size;
            Fixture { folder, vocab, dtype }
        })
        .collect()
});

type Loaded = (Arc<Compute>, Model);

/// One model per fixture, tier and number of threads.
static MODELS: LazyLock<HashMap<(usize, Tier, usize), Loaded>> = LazyLock::new(|| {
    let mut models = HashMap::new();
    for (at, fixture) in FIXTURES.iter().enumerate() {
        for tier in tiers() {
            for threads in 1..=4 {
                let compute = compute(threads, tier);
                let model = Model::load_as(fixture.folder.path(), fixture.dtype, &compute).expect("the model loads");
                models.insert((at, tier, threads), (compute, model));
            }
        }
    }
    models
});

/// Feeds sequences through the cache in chunks of `chunk` tokens drawn by `random`, several sequences per call, blocks handed out in
/// shuffled order; returns the log-probability of every token.
fn cached_logprobs(
    (compute, model): &Loaded,
    columns: &Columns,
    temperature: f32,
    longest_chunk: usize,
    random: &mut Random,
) -> Vec<f32> {
    let spans: Vec<(usize, usize)> = columns
        .cu_seqlens
        .windows(2)
        .map(|pair| (pair[0] as usize, pair[1] as usize))
        .filter(|(a, b)| a < b)
        .collect();
    let total: usize = spans.iter().map(|(first, last)| (last - first).div_ceil(BLOCK)).sum();
    let mut cache = model.kv_cache(total + 3);
    let mut free: Vec<u32> = (0..total as u32 + 3).collect();
    for at in (1..free.len()).rev() {
        free.swap(at, random.below(at + 1));
    }
    let tables: Vec<Vec<u32>> = spans
        .iter()
        .map(|(first, last)| free.split_off(free.len() - (last - first).div_ceil(BLOCK)))
        .collect();
    let mut done = vec![0usize; spans.len()];
    let mut logprobs = vec![0f32; columns.input_ids.len()];
    let (hidden_size, vocab) = (model.config().hidden_size, model.config().vocab_size);
    loop {
        let mut batch = Vec::new();
        for (at, (first, last)) in spans.iter().enumerate() {
            let left = last - first - done[at];
            if left > 0 && random.below(4) > 0 {
                batch.push((at, left.min(1 + random.below(longest_chunk))));
            }
        }
        if batch.is_empty() {
            if done
                .iter()
                .zip(&spans)
                .all(|(done, (first, last))| *done == last - first)
            {
                return logprobs;
            }
            continue;
        }
        let sequences: Vec<CachedSequence<'_>> = batch
            .iter()
            .map(|&(at, count)| CachedSequence {
                token_ids: &columns.input_ids[spans[at].0 + done[at]..][..count],
                start: done[at],
                blocks: &tables[at],
                adapter: None,
            })
            .collect();
        let hidden = model
            .forward_cached(compute, &sequences, &mut cache)
            .expect("the batch runs");
        assert!(hidden.len().is_multiple_of(hidden_size));
        let logits = model.head_logits(compute, &hidden);
        let mut rows = logits.chunks_exact(vocab);
        for &(at, count) in &batch {
            for position in done[at]..done[at] + count {
                let row = rows.next().expect("a row per token");
                let next = spans[at].0 + position + 1;
                if next < spans[at].1 {
                    logprobs[next] = head::row_logprob(compute, row, temperature, columns.input_ids[next]);
                }
            }
            done[at] += count;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn logprobs_are_the_same_bits_on_every_path(
        which in 0..FIXTURE_COUNT,
        lengths in prop::collection::vec(0usize..70, 1..7),
        longest_chunk in 1usize..40,
        temperature in prop_oneof![Just(1.0f32), 0.3f32..2.0],
        seed in any::<u64>(),
    ) {
        let columns = Columns::random(&lengths, FIXTURES[which].vocab, seed);
        let mut random = Random(seed);
        for tier in tiers() {
            let (compute, model) = &MODELS[&(which, tier, 1)];
            let packed = model
                .logprobs(compute, &columns.input_ids, &columns.cu_seqlens, &[temperature])
                .expect("the batch runs");
            // each sequence alone
            for pair in columns.cu_seqlens.windows(2) {
                let range = pair[0] as usize..pair[1] as usize;
                let alone = model
                    .logprobs(compute, &columns.input_ids[range.clone()], &[0, range.len() as u32], &[temperature])
                    .expect("the sequence runs");
                prop_assert_eq!(bits(&alone), bits(&packed[range]));
            }
            // other numbers of threads, per-token temperatures
            let threads = 2 + random.below(3);
            let loaded = &MODELS[&(which, tier, threads)];
            let many = vec![temperature; columns.input_ids.len().max(1)];
            let temperatures = if columns.input_ids.is_empty() { &many[..1] } else { &many[..] };
            let threaded = loaded.1.logprobs(&loaded.0, &columns.input_ids, &columns.cu_seqlens, temperatures);
            prop_assert_eq!(bits(&threaded.expect("the batch runs")), bits(&packed));
            // chunked prefill with other sequences beside it, and decode token by token
            let chunked = cached_logprobs(loaded, &columns, temperature, longest_chunk, &mut random);
            prop_assert_eq!(bits(&chunked), bits(&packed));
            let decoded = cached_logprobs(loaded, &columns, temperature, 1, &mut random);
            prop_assert_eq!(bits(&decoded), bits(&packed));
            // logits of the scorer and of the sampler's head
            let logits = model.logits(compute, &columns.input_ids, &columns.cu_seqlens).expect("the batch runs");
            for pair in columns.cu_seqlens.windows(2) {
                for at in pair[0] as usize + 1..pair[1] as usize {
                    let row = &logits[(at - 1) * FIXTURES[which].vocab..][..FIXTURES[which].vocab];
                    let logprob = head::row_logprob(&loaded.0, row, temperature, columns.input_ids[at]);
                    prop_assert_eq!(logprob.to_bits(), packed[at].to_bits());
                }
            }
        }
    }

    #[test]
    fn a_trainer_computes_the_sampler_s_logprobs_to_the_bit(
        which in 0..FIXTURE_COUNT,
        lengths in prop::collection::vec(0usize..50, 1..6),
        threads in 1usize..5,
        seed in any::<u64>(),
    ) {
        let mut columns = Columns::random(&lengths, FIXTURES[which].vocab, seed);
        for tier in tiers() {
            let loaded = &MODELS[&(which, tier, 1 + (threads % 4))];
            let pool = compute(threads, tier);
            let mut trainer = FIXTURES[which].trainer(&pool);
            let sampled = loaded
                .1
                .logprobs(&loaded.0, &columns.input_ids, &columns.cu_seqlens, &columns.temperatures);
            columns.inference_logprobs = match sampled {
                Ok(logprobs) => logprobs,
                Err(_) => { prop_assert!(columns.input_ids.is_empty()); return Ok(()); }
            };
            let scored = trainer
                .logprobs(&columns.input_ids, &columns.cu_seqlens, &columns.temperatures)
                .expect("the batch runs");
            prop_assert_eq!(bits(&scored), bits(&columns.inference_logprobs));
            // The trainer's own pass skips rows that nothing needs; its metrics see the log-probabilities that the loss sees.
            let spans: Vec<u32> = (0..columns.input_ids.len() as u32).flat_map(|at| [at, 7]).collect();
            let mut batch = columns.batch();
            batch.policy_version_spans = Some(&spans);
            batch.on_policy_version = Some(7);
            let stats = trainer.forward_backward(&batch).expect("the batch runs");
            let metric = |name: &str| stats.metrics.iter().find(|(known, _)| known == name).map(|(_, value)| *value);
            prop_assert_eq!(metric("mismatch_on_policy/tokens"), Some(columns.trained()));
            if columns.trained() > 0.0 {
                prop_assert_eq!(metric("mismatch_on_policy/max_abs_logprob_diff"), Some(0.0));
                prop_assert_eq!(metric("mismatch_kl/all"), Some(0.0));
            }
        }
    }

    #[test]
    fn means_by_environment_are_those_of_all_cut_in_parts(
        lens in prop::collection::vec(2usize..12, 2..8),
        env_ids in prop::collection::vec(0u16..3, 8),
        seed in any::<u64>(),
        outlier in prop::option::of(-800f32..-20.0),
    ) {
        let pool = compute(2, Tier::detect());
        let options = TrainerOptions::default();
        let mut trainer = Trainer::open(FIXTURES[0].folder.path(), &pool, options).expect("the trainer opens");
        let mut columns = Columns::random(&lens, FIXTURES[0].vocab, seed);
        // A token with a tiny probability under the sampler is part of the means and makes none of them infinite.
        if let (Some(logprob), Some(token)) = (outlier, columns.loss_mask.iter().position(|&mask| mask != 0)) {
            columns.inference_logprobs[token] = logprob;
        }
        let mut of = |columns: &Columns, env_ids: &[u16]| {
            let mut batch = columns.batch();
            batch.env_ids = Some(env_ids);
            trainer.forward_backward(&batch).expect("the batch runs").metrics
        };
        let value = |metrics: &[(String, f64)], name: &str| metrics.iter().find(|(known, _)| known == name).map(|(_, value)| *value);
        let ids = &env_ids[..lens.len()];
        let together = of(&columns, ids);
        let mask = columns.loss_mask.clone();
        for environment in 0..3 {
            for (sequence, &id) in ids.iter().enumerate() {
                let range = columns.cu_seqlens[sequence] as usize..columns.cu_seqlens[sequence + 1] as usize;
                for token in range {
                    columns.loss_mask[token] = if id == environment { mask[token] } else { 0 };
                }
            }
            let alone = of(&columns, ids);
            for name in ["entropy", "mismatch_kl"] {
                let all = value(&alone, &format!("{name}/all"));
                let own = value(&together, &format!("{name}/{environment}"));
                prop_assert_eq!(own.is_some(), all.is_some(), "{} of {}", name, environment);
                if let (Some(own), Some(all)) = (own, all) {
                    let error = (own - all).abs() / all.max(1.0);
                    prop_assert!(error <= 1e-12, "{} of {}: {} alone {}", name, environment, own, all);
                }
            }
        }
    }
}

#[test]
fn a_saved_model_scores_like_its_trainer_to_the_bit() {
    for (which, fixture) in FIXTURES.iter().enumerate() {
        let columns = Columns::random(&[9, 30, 4], fixture.vocab, 4);
        for tier in tiers() {
            let pool = compute(2, tier);
            let mut trainer = fixture.trainer(&pool);
            for _ in 0..2 {
                trainer.forward_backward(&columns.batch()).expect("the batch runs");
                trainer.step(Some(1e-2)).expect("the step runs");
            }
            let folder = tempfile::tempdir().expect("a folder");
            trainer.save(folder.path()).expect("the weights are written");
            let model = Model::load_as(folder.path(), fixture.dtype, &pool).expect("the model loads");
            let (ids, cu) = (&columns.input_ids, &columns.cu_seqlens);
            let ours = trainer.logprobs(ids, cu, &[0.7]).expect("the batch runs");
            assert_eq!(
                bits(&model.logprobs(&pool, ids, cu, &[0.7]).expect("the batch runs")),
                bits(&ours)
            );
            let (before_pool, before) = &MODELS[&(which, tier, 1)];
            assert_ne!(
                bits(&before.logprobs(before_pool, ids, cu, &[0.7]).expect("the batch runs")),
                bits(&ours)
            );
        }
    }
}
