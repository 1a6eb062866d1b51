//! Weights in bfloat16: the model computes with exactly the numbers that are published, and the trainer differentiates that function.

mod support;

use std::path::Path;

use prl_engine::{Model, OptimConfig, Tier, Trainer, TrainerOptions, WeightDtype};
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

fn gradients(trainer: &Trainer) -> Vec<Vec<u32>> {
    let gradient = |name: &String| bits(&trainer.gradient(name).expect("it is there"));
    trainer.parameter_names().iter().map(gradient).collect()
}

fn logprobs(trainer: &Trainer, columns: &Columns) -> Vec<u32> {
    let scored = trainer.logprobs(&columns.input_ids, &columns.cu_seqlens, &[0.7]);
    bits(&scored.expect("the batch runs"))
}

#[test]
fn the_published_weights_are_bfloat16_and_compute_the_same_bits_in_either_format() {
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
                assert_eq!(
                    bits(&scored.expect("the batch runs")),
                    expected,
                    "{name} {tier:?} {dtype:?}"
                );
            }
        }
    }
}

#[test]
fn gradients_are_those_of_the_rounded_weights() {
    for (name, config) in CONFIGS {
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
            assert_eq!(gradients(&rounded), gradients(&plain), "{name} {tier:?}");
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
        assert_eq!(logprobs(&resumed, &columns), logprobs(&trainer, &columns));
        for name in trainer.parameter_names() {
            let values = [&trainer, &resumed].map(|one| bits(&one.parameter(&name).expect("it is there")));
            assert_eq!(values[0], values[1], "{name} {tier:?}");
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
