//! Weights in bfloat16: the model computes with exactly the numbers that are published, and the trainer differentiates that function.

mod support;

use std::path::Path;

use prl_engine::{ActivationPolicy, CachedSequence, Model, OptimConfig, Tier, Trainer, TrainerOptions, WeightDtype};
use prl_weights::{Checkpoint, Dtype};
use support::{CONFIGS, Columns, bits, compute, tiers, write_model};

fn open(folder: &Path, tier: Tier, dtype: WeightDtype) -> Trainer {
    let options = TrainerOptions {
        dtype,
        optim: OptimConfig {
            lr: 3e-3,
            ..OptimConfig::default()
        },
        ..TrainerOptions::default()
    };
    Trainer::open(folder, &compute(2, tier), options).expect("the trainer opens")
}

fn train(trainer: &mut Trainer, columns: &Columns) {
    trainer.forward_backward(&columns.batch()).expect("the batch runs");
    trainer.step(None).expect("the step runs");
}

fn gradients(trainer: &Trainer) -> Vec<f32> {
    let gradient = |name: &String| trainer.gradient(name).expect("it is there");
    trainer.parameter_names().iter().flat_map(gradient).collect()
}

fn logprobs(trainer: &Trainer, columns: &Columns) -> Vec<f32> {
    let scored = trainer.logprobs(&columns.input_ids, &columns.cu_seqlens, &[0.7]);
    scored.expect("the batch runs")
}

/// The length of a vector of differences, and that of the second vector.
fn distance(found: &[f32], expected: &[f32]) -> (f64, f64) {
    assert_eq!(found.len(), expected.len());
    let length = |squares: &mut dyn Iterator<Item = f32>| squares.map(|x| f64::from(x).powi(2)).sum::<f64>().sqrt();
    (
        length(&mut found.iter().zip(expected).map(|(a, b)| a - b)),
        length(&mut expected.iter().copied()),
    )
}

/// Of a tier that widens the weights an f32 model with the same values has the same bits. A tier that multiplies bfloat16 numbers rounds
/// activations too, by 2^-8 at most: there the numbers agree within `share` of their length, and some of them must differ.
fn agrees_with_f32(tier: Tier, found: &[f32], f32_model: &[f32], share: f64) {
    if tier.multiplies_bf16() {
        let (error, scale) = distance(found, f32_model);
        assert!(error <= share * scale, "{tier:?}: {error} of {scale}");
        assert_ne!(bits(found), bits(f32_model), "{tier:?} rounds activations");
    } else {
        assert_eq!(bits(found), bits(f32_model), "{tier:?}");
    }
}

#[test]
fn the_published_weights_are_bfloat16_and_compute_what_they_compute_in_either_format() {
    for (name, config) in CONFIGS {
        let [folder, published] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
        write_model(folder.path(), config, 5);
        for tier in tiers() {
            let mut trainer = open(folder.path(), tier, WeightDtype::Bf16);
            let columns = Columns::random(&[9, 30, 4, 17], 7, 4);
            train(&mut trainer, &columns);
            trainer.save(published.path()).expect("the weights are written");
            let checkpoint = Checkpoint::open(published.path()).expect("it opens");
            for tensor in checkpoint.names() {
                assert_eq!(
                    checkpoint.tensor(tensor).expect("it is there").dtype,
                    Dtype::BF16,
                    "{name} {tensor}"
                );
            }
            let json = std::fs::read_to_string(published.path().join("config.json")).expect("it is there");
            assert!(json.contains("\"bfloat16\""), "{json}");
            let expected = logprobs(&trainer, &columns);
            for (dtype, threads) in [(WeightDtype::Bf16, 1), (WeightDtype::Bf16, 3), (WeightDtype::F32, 2)] {
                let pool = compute(threads, tier);
                let model = Model::load_as(published.path(), dtype, &pool).expect("the model loads");
                let scored = model.logprobs(&pool, &columns.input_ids, &columns.cu_seqlens, &[0.7]);
                let scored = scored.expect("the batch runs");
                match dtype {
                    WeightDtype::Bf16 => assert_eq!(bits(&scored), bits(&expected), "{name} {tier:?}"),
                    WeightDtype::F32 => agrees_with_f32(tier, &expected, &scored, 0.02),
                }
            }
        }
    }
}

#[test]
fn gradients_are_those_of_the_rounded_weights() {
    for (_, config) in CONFIGS {
        let [folder, published] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
        write_model(folder.path(), config, 6);
        for tier in tiers() {
            let mut rounded = open(folder.path(), tier, WeightDtype::Bf16);
            rounded.save(published.path()).expect("the weights are written");
            let mut plain = open(published.path(), tier, WeightDtype::F32);
            let columns = Columns::random(&[20, 31, 8], 7, 9);
            for trainer in [&mut rounded, &mut plain] {
                trainer.forward_backward(&columns.batch()).expect("the batch runs");
            }
            agrees_with_f32(tier, &gradients(&rounded), &gradients(&plain), 0.05);
        }
    }
}

#[test]
fn training_continues_from_the_f32_copy_with_the_same_bits() {
    let (_, config) = CONFIGS[0];
    let [folder, kept] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    write_model(folder.path(), config, 7);
    let columns = Columns::random(&[20, 31, 8], 7, 2);
    let optimizer = kept.path().join("optimizer.safetensors");
    for tier in tiers() {
        let mut trainer = open(folder.path(), tier, WeightDtype::Bf16);
        train(&mut trainer, &columns);
        trainer.save_masters(kept.path()).expect("the weights are written");
        trainer.save_optimizer(&optimizer).expect("the state is written");
        let mut resumed = open(kept.path(), tier, WeightDtype::Bf16);
        resumed.load_optimizer(&optimizer).expect("the state is read");
        for trainer in [&mut trainer, &mut resumed] {
            train(trainer, &columns);
        }
        assert_eq!(bits(&logprobs(&resumed, &columns)), bits(&logprobs(&trainer, &columns)));
        for name in trainer.parameter_names() {
            let values = [&trainer, &resumed].map(|one| bits(&one.parameter(&name).expect("it is there")));
            assert_eq!(values[0], values[1], "{name} {tier:?}");
        }
    }
}

#[test]
fn with_weights_in_f32_the_bfloat16_tiers_have_the_bits_of_avx512() {
    for (name, config) in CONFIGS {
        let folder = tempfile::tempdir().expect("a folder");
        write_model(folder.path(), config, 9);
        let columns = Columns::random(&[20, 31, 8], 7, 9);
        let computed = tiers().filter(|tier| *tier >= Tier::Avx512).map(|tier| {
            let mut trainer = open(folder.path(), tier, WeightDtype::F32);
            train(&mut trainer, &columns);
            trainer.forward_backward(&columns.batch()).expect("the batch runs");
            (bits(&logprobs(&trainer, &columns)), bits(&gradients(&trainer)))
        });
        let computed: Vec<_> = computed.collect();
        assert!(computed.windows(2).all(|pair| pair[0] == pair[1]), "{name}");
    }
}

#[test]
fn gradients_of_bfloat16_weights_do_not_depend_on_threads_or_on_what_is_kept() {
    for (name, config) in CONFIGS {
        let folder = tempfile::tempdir().expect("a folder");
        write_model(folder.path(), config, 10);
        let columns = Columns::random(&[20, 31, 8, 70], 7, 9);
        for tier in tiers() {
            let of = |threads, activations| {
                let options = TrainerOptions {
                    dtype: WeightDtype::Bf16,
                    activations,
                    ..TrainerOptions::default()
                };
                let mut trainer =
                    Trainer::open(folder.path(), &compute(threads, tier), options).expect("the trainer opens");
                trainer.forward_backward(&columns.batch()).expect("the batch runs");
                bits(&gradients(&trainer))
            };
            let expected = of(1, ActivationPolicy::Keep);
            for (threads, activations) in [(3, ActivationPolicy::Keep), (2, ActivationPolicy::Recompute)] {
                assert_eq!(of(threads, activations), expected, "{name} {tier:?} {threads}");
            }
        }
    }
}

#[test]
fn small_steps_add_up_although_most_do_not_change_a_rounded_weight() {
    let (_, config) = CONFIGS[0];
    let folder = tempfile::tempdir().expect("a folder");
    write_model(folder.path(), config, 8);
    let mut trainer = open(folder.path(), Tier::detect(), WeightDtype::Bf16);
    let columns = Columns::random(&[20, 31, 8], 7, 3);
    let mut changes = 0;
    let mut before = logprobs(&trainer, &columns);
    for _ in 0..20 {
        trainer.forward_backward(&columns.batch()).expect("the batch runs");
        trainer.step(Some(1e-6)).expect("the step runs");
        let after = logprobs(&trainer, &columns);
        changes += usize::from(after != before);
        before = after;
    }
    assert!(changes > 0, "the f32 copy collects what single steps lose");
}

/// A cache has the format of the model that it was made for; where formats differ, another model refuses it.
#[test]
fn a_cache_in_another_format_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    write_model(folder.path(), CONFIGS[0].1, 5);
    for tier in tiers() {
        let pool = compute(1, tier);
        let [single, half] = [WeightDtype::F32, WeightDtype::Bf16]
            .map(|dtype| Model::load_as(folder.path(), dtype, &pool).expect("the model loads"));
        let sequence = CachedSequence {
            token_ids: &[1, 2, 3],
            start: 0,
            blocks: &[0],
            adapter: None,
        };
        for (maker, user) in [(&single, &half), (&half, &single), (&half, &half)] {
            let outcome = user.forward_cached(&pool, &[sequence], &mut maker.kv_cache(1));
            let differs = tier >= Tier::Avx512Bf16 && !std::ptr::eq(maker, user);
            assert_eq!(outcome.is_err(), differs, "{tier:?}: {outcome:?}");
        }
    }
}
