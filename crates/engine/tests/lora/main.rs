//! Adapters: the bits of trainer and sampler, frozen weights, continued training, dropout, and what is refused.

mod adapters;
#[path = "../support/expected.rs"]
mod expected;
mod int8;
mod oracle;
mod refusals;
mod sharing;
#[path = "../support/mod.rs"]
mod support;

use std::path::Path;
use std::sync::Arc;

use adapters::{lora, options};
use prl_engine::generate::{GenerateRequest, Generator, GeneratorOptions};
use prl_engine::{
    ActivationPolicy, Adapter, CachedSequence, EngineError, FrozenModel, LoraConfig, Model, Tier, Trainer,
    TrainerOptions, WeightDtype, head,
};
use support::{CONFIGS, Columns, bits, compute, tiers, write_model};

fn train(trainer: &mut Trainer, columns: &Columns) {
    trainer.forward_backward(&columns.batch()).expect("the batch runs");
    trainer.step(None).expect("the step runs");
}

fn gradients(trainer: &Trainer) -> Vec<Vec<u32>> {
    let gradient = |name: &String| bits(&trainer.gradient(name).expect("it is there"));
    trainer.parameter_names().iter().map(gradient).collect()
}

fn logprobs(trainer: &Trainer, columns: &Columns) -> Vec<u32> {
    let scored = trainer.logprobs(&columns.input_ids, &columns.cu_seqlens, &[0.7]);
    bits(&scored.expect("the batch runs"))
}

fn scored(model: &Model, pool: &prl_engine::Compute, columns: &Columns) -> Vec<u32> {
    let scored = model.logprobs(pool, &columns.input_ids, &columns.cu_seqlens, &[0.7]);
    bits(&scored.expect("the batch runs"))
}

#[test]
fn a_new_adapter_changes_nothing_and_a_trained_one_computes_the_bits_that_a_sampler_computes() {
    for (name, config) in CONFIGS {
        let [folder, published] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
        write_model(folder.path(), config, 5);
        for (tier, dtype) in tiers().flat_map(|tier| [(tier, WeightDtype::F32), (tier, WeightDtype::Bf16)]) {
            let columns = Columns::random(&[9, 30, 4, 17], 7, 4);
            let mut trainer = Trainer::open(
                folder.path(),
                &compute(2, tier),
                TrainerOptions {
                    dtype,
                    ..options(lora())
                },
            )
            .expect("the trainer opens");
            let base = Model::load_as(folder.path(), dtype, &compute(1, tier)).expect("the model loads");
            let before = scored(&base, &compute(1, tier), &columns);
            assert_eq!(logprobs(&trainer, &columns), before, "{name} {tier:?} {dtype:?}");
            train(&mut trainer, &columns);
            trainer.save(published.path()).expect("the adapter is written");
            let expected = logprobs(&trainer, &columns);
            assert_ne!(expected, before, "{name}: the adapter is trained");
            for threads in [1, 3] {
                let pool = compute(threads, tier);
                let model = Model::load_as(folder.path(), dtype, &pool).expect("the model loads");
                let adapter = Adapter::open(published.path(), model.config(), &pool).expect("the adapter loads");
                let adapted = model.with_adapter(Some(Arc::new(adapter)));
                assert_eq!(
                    scored(&adapted, &pool, &columns),
                    expected,
                    "{name} {tier:?} {dtype:?} {threads}"
                );
                assert_eq!(
                    scored(&model, &pool, &columns),
                    before,
                    "{name}: the weights are shared and unchanged"
                );
            }
        }
    }
}

#[test]
fn sequences_of_one_step_have_different_adapters_and_the_bits_that_each_has_alone() {
    let (_, config) = CONFIGS[0];
    let folder = tempfile::tempdir().expect("a folder");
    write_model(folder.path(), config, 5);
    for tier in tiers() {
        let pool = compute(2, tier);
        let model = Model::load(folder.path(), &pool).expect("the model loads");
        let adapters = [3, 4].map(|seed| adapter(folder.path(), seed, &pool, &model));
        let columns = Columns::random(&[12, 12, 12, 12], 7, 4);
        let of = |at: usize| [None, Some(&adapters[0]), Some(&adapters[1]), Some(&adapters[1])][at];
        let mut cache = model.kv_cache(8);
        let tables: Vec<[u32; 2]> = (0..4).map(|at| [2 * at, 2 * at + 1]).collect();
        let sequences: Vec<CachedSequence<'_>> = (0..4)
            .map(|at| CachedSequence {
                token_ids: &columns.input_ids[12 * at..][..12],
                start: 0,
                blocks: &tables[at],
                adapter: of(at).map(Arc::as_ref),
            })
            .collect();
        let hidden = model
            .forward_cached(&pool, &sequences, &mut cache)
            .expect("the step runs");
        let logits = model.head_logits(&pool, &hidden);
        let vocab = model.config().vocab_size;
        for at in 0..4 {
            let ids = &columns.input_ids[12 * at..][..12];
            let alone = model.with_adapter(of(at).cloned());
            let expected = alone.logprobs(&pool, ids, &[0, 12], &[1.0]).expect("the batch runs");
            for position in 1..12 {
                let row = &logits[(12 * at + position - 1) * vocab..][..vocab];
                let found = head::row_logprob(&pool, row, 1.0, ids[position]);
                assert_eq!(
                    found.to_bits(),
                    expected[position].to_bits(),
                    "{tier:?} {at} {position}"
                );
            }
        }
    }
}

fn adapter(folder: &Path, seed: u64, pool: &Arc<prl_engine::Compute>, model: &Model) -> Arc<Adapter> {
    let published = tempfile::tempdir().expect("a folder");
    let mut trainer = Trainer::open(folder, pool, options(lora())).expect("the trainer opens");
    train(&mut trainer, &Columns::random(&[20, 31, 8], 7, seed));
    trainer.save(published.path()).expect("the adapter is written");
    Arc::new(Adapter::open(published.path(), model.config(), pool).expect("the adapter loads"))
}

#[test]
fn a_generator_samples_with_the_adapter_of_each_request_and_shares_no_prefix_between_adapters() {
    let (_, config) = CONFIGS[0];
    let folder = tempfile::tempdir().expect("a folder");
    write_model(folder.path(), config, 5);
    let pool = compute(2, Tier::detect());
    let model = Arc::new(Model::load(folder.path(), &pool).expect("the model loads"));
    let adapters = [3, 4].map(|seed| adapter(folder.path(), seed, &pool, &model));
    let generator = Generator::start(Arc::clone(&model), Arc::clone(&pool), GeneratorOptions::default())
        .expect("the generator starts");
    let prompt: Vec<u32> = (0..40).map(|at| at % 30).collect();
    let kinds = [None, Some(&adapters[0]), Some(&adapters[1])];
    for round in 0..2 {
        let requests = kinds.iter().enumerate().map(|(at, adapter)| GenerateRequest {
            adapter: adapter.cloned(),
            ignore_eos: true,
            final_only: true,
            seed: 5,
            ..GenerateRequest::new(format!("{round} {at}"), prompt.clone(), 20)
        });
        generator.submit(requests.collect()).expect("they are taken");
        let mut ended = 0;
        while ended < kinds.len() {
            let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
            for increment in generator.next(deadline).expect("the generator runs") {
                let at: usize = increment.id[2..].parse().expect("a number");
                assert_eq!(increment.error, None);
                let expected_hits = if round == 0 { 0 } else { 39 };
                assert_eq!(increment.cached_tokens, expected_hits, "round {round}, request {at}");
                let tokens = [&prompt[..], &increment.token_ids].concat();
                let alone = model.with_adapter(kinds[at].cloned());
                let expected = alone
                    .logprobs(&pool, &tokens, &[0, tokens.len() as u32], &[1.0])
                    .expect("the batch runs");
                assert_eq!(
                    bits(&increment.logprobs),
                    bits(&expected[prompt.len()..]),
                    "request {at}"
                );
                ended += 1;
            }
        }
    }
}

#[test]
fn gradients_have_the_same_bits_for_any_threads_with_kept_or_recomputed_activations_and_a_shared_model() {
    for (name, config) in CONFIGS {
        let folder = tempfile::tempdir().expect("a folder");
        write_model(folder.path(), config, 6);
        for tier in tiers() {
            for dropout in [0.0, 0.3] {
                let columns = Columns::random(&[20, 31, 8], 7, 9);
                let config = LoraConfig { dropout, ..lora() };
                let frozen =
                    FrozenModel::open(folder.path(), WeightDtype::F32, &compute(1, tier)).expect("the model loads");
                let run = |threads: usize, activations: ActivationPolicy| {
                    let options = TrainerOptions {
                        activations,
                        ..options(config.clone())
                    };
                    let mut trainer =
                        Trainer::adapt(&frozen, &compute(threads, tier), options).expect("the trainer opens");
                    // The second step begins with a B that is not zero.
                    train(&mut trainer, &columns);
                    trainer.forward_backward(&columns.batch()).expect("the batch runs");
                    gradients(&trainer)
                };
                let expected = run(1, ActivationPolicy::Keep);
                assert!(
                    expected.iter().flatten().any(|bits| *bits != 0),
                    "{name}: there are gradients"
                );
                for (threads, activations) in [(3, ActivationPolicy::Keep), (2, ActivationPolicy::Recompute)] {
                    assert_eq!(
                        run(threads, activations),
                        expected,
                        "{name} {tier:?} {dropout} {threads}"
                    );
                }
            }
        }
    }
}

#[test]
fn training_continues_from_adapter_and_optimizer_with_the_same_bits() {
    let (_, config) = CONFIGS[1];
    let [folder, kept] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    write_model(folder.path(), config, 7);
    let columns = Columns::random(&[20, 31, 8], 7, 2);
    let optimizer = kept.path().join("optimizer.safetensors");
    let dropping = LoraConfig { dropout: 0.2, ..lora() };
    for tier in tiers() {
        let open = |from: Option<&Path>| {
            let mut options = options(dropping.clone());
            if let Some(lora) = &mut options.lora {
                lora.from = from.map(Into::into);
            }
            Trainer::open(folder.path(), &compute(2, tier), options).expect("the trainer opens")
        };
        let mut trainer = open(None);
        train(&mut trainer, &columns);
        trainer.save_masters(kept.path()).expect("the adapter is written");
        trainer.save_optimizer(&optimizer).expect("the state is written");
        let state = std::fs::metadata(&optimizer).expect("it is there").len();
        let weights = std::fs::metadata(folder.path().join("model.safetensors"))
            .expect("it is there")
            .len();
        assert!(
            state < weights,
            "the optimizer's state is that of the adapter: {state} of {weights} bytes"
        );
        let mut resumed = open(Some(kept.path()));
        resumed.load_optimizer(&optimizer).expect("the state is read");
        for trainer in [&mut trainer, &mut resumed] {
            train(trainer, &columns);
        }
        assert_eq!(logprobs(&resumed, &columns), logprobs(&trainer, &columns));
        for name in trainer.parameter_names() {
            let values = [&trainer, &resumed].map(|one| bits(&one.parameter(&name).expect("it is there")));
            assert_eq!(values[0], values[1], "{name} {tier:?}");
        }
    }
}

/// A batch whose gradients are dropped is skipped: a run that goes on from a checkpoint does not know that it was there.
#[test]
fn a_batch_that_fails_does_not_change_what_the_next_one_drops() {
    let (_, config) = CONFIGS[0];
    let folder = tempfile::tempdir().expect("a folder");
    write_model(folder.path(), config, 8);
    let columns = Columns::random(&[20, 31, 8], 7, 3);
    let dropping = LoraConfig {
        dropout: 0.25,
        ..lora()
    };
    let [mut fresh, mut again] = [(); 2].map(|()| {
        let pool = compute(2, Tier::detect());
        Trainer::open(folder.path(), &pool, options(dropping.clone())).expect("it opens")
    });
    let refuse = || EngineError::NonFinite("the loss of the test".to_owned());
    again
        .forward_backward_with(&columns.batch(), &mut |_, _| Err(refuse()))
        .expect_err("the loss fails");
    for trainer in [&mut fresh, &mut again] {
        trainer.forward_backward(&columns.batch()).expect("the batch runs");
    }
    assert_eq!(gradients(&again), gradients(&fresh));
}

/// With dropout the loss is another function, but a fixed one: its gradient is checked along its own direction.
#[test]
fn gradients_with_dropout_are_those_of_the_dropped_function() {
    let (_, config) = CONFIGS[0];
    let [folder, moved] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    write_model(folder.path(), config, 8);
    let columns = Columns::random(&[20, 31, 8, 26], 7, 3);
    let dropping = LoraConfig {
        dropout: 0.25,
        ..lora()
    };
    let mut begun =
        Trainer::open(folder.path(), &compute(2, Tier::detect()), options(dropping.clone())).expect("it opens");
    train(&mut begun, &columns);
    begun.save(moved.path()).expect("the adapter is written");
    let path = moved.path().join("adapter_model.safetensors");
    let open = |from: &Path| {
        let mut options = options(dropping.clone());
        options.loss.name = "ce".to_owned();
        if let Some(lora) = &mut options.lora {
            lora.from = Some(from.into());
        }
        Trainer::open(folder.path(), &compute(2, Tier::detect()), options).expect("the trainer opens")
    };
    let mut trainer = open(moved.path());
    trainer.forward_backward(&columns.batch()).expect("the batch runs");
    let names = trainer.parameter_names();
    let direction: Vec<Vec<f32>> = names
        .iter()
        .map(|name| trainer.gradient(name).expect("it is there"))
        .collect();
    let square: f64 = direction.iter().flatten().map(|x| f64::from(*x).powi(2)).sum();
    let values: Vec<Vec<f32>> = names
        .iter()
        .map(|name| trainer.parameter(name).expect("it is there"))
        .collect();
    let step = 2e-2 / square.sqrt();
    let loss_at = |sign: f64| {
        let changed: Vec<(String, Vec<usize>, Vec<u8>)> = names
            .iter()
            .enumerate()
            .map(|(at, name)| {
                let change = |(x, d): (&f32, &f32)| (f64::from(*x) + sign * step * f64::from(*d)) as f32;
                let bytes = values[at]
                    .iter()
                    .zip(&direction[at])
                    .map(change)
                    .flat_map(f32::to_le_bytes);
                (
                    name.clone(),
                    trainer.parameter_shape(name).expect("it is there").to_vec(),
                    bytes.collect(),
                )
            })
            .collect();
        let tensors: Vec<_> = changed
            .iter()
            .map(|(name, shape, data)| prl_weights::TensorToWrite {
                name,
                dtype: prl_weights::Dtype::F32,
                shape,
                data,
            })
            .collect();
        prl_weights::write_safetensors(&path, &tensors, &[], prl_weights::WriteOptions::default())
            .expect("it is written");
        open(moved.path())
            .forward_backward(&columns.batch())
            .expect("the batch runs")
            .loss
    };
    let slope = (loss_at(1.0) - loss_at(-1.0)) / (2.0 * step);
    assert!((slope - square).abs() < 0.02 * square, "{slope} {square}");
}
