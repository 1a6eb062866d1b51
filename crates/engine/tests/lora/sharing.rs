//! A sampler on the frozen weights of a trainer: the bits of one that loaded them.

use std::sync::Arc;

use crate::adapters::{lora, options};
use crate::support::{CONFIGS, Columns, compute, tiers, write_model};
use crate::{gradients, logprobs, scored, train};
use prl_engine::{Adapter, BaseDtype, Model, Tier, Trainer, TrainerOptions, WeightDtype, WeightFormat};

const FORMATS: [WeightFormat; 3] = [
    WeightFormat {
        dtype: WeightDtype::F32,
        base: None,
    },
    WeightFormat {
        dtype: WeightDtype::Bf16,
        base: None,
    },
    WeightFormat {
        dtype: WeightDtype::Bf16,
        base: Some(BaseDtype::Int8),
    },
];

#[test]
fn a_model_that_shares_a_trainers_weights_has_the_bits_of_a_loaded_one_before_and_after_steps() {
    for (name, config) in CONFIGS {
        let [folder, published] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
        write_model(folder.path(), config, 5);
        let columns = Columns::random(&[9, 30, 4, 17], 7, 4);
        for (tier, format) in tiers().flat_map(|tier| FORMATS.map(|format| (tier, format))) {
            let what = format!("{name} {tier:?} {format:?}");
            let open = || {
                let options = TrainerOptions {
                    dtype: format.dtype,
                    base_dtype: format.base,
                    ..options(lora())
                };
                Trainer::open(folder.path(), &compute(2, tier), options).expect("the trainer opens")
            };
            let pool = compute(1, tier);
            let loaded = Model::load_as(folder.path(), format, &pool).expect("the model loads");
            let expected = scored(&loaded, &pool, &columns);

            let (mut alone, mut trainer) = (open(), open());
            let shared = trainer.frozen_model().expect("its weights are frozen");
            assert_eq!(scored(&shared, &pool, &columns), expected, "{what}");
            for trainer in [&mut alone, &mut trainer] {
                train(trainer, &columns);
                trainer.forward_backward(&columns.batch()).expect("the batch runs");
            }
            assert_eq!(gradients(&trainer), gradients(&alone), "{what}: the trainer's bits");
            assert_eq!(scored(&shared, &pool, &columns), expected, "{what}: weights stay");

            trainer.save(published.path()).expect("the adapter is written");
            let adapter = Adapter::open(published.path(), shared.config(), &pool).expect("the adapter loads");
            let adapted = shared.with_adapter(Some(Arc::new(adapter)));
            assert_eq!(
                scored(&adapted, &pool, &columns),
                logprobs(&trainer, &columns),
                "{what}"
            );
        }
    }
}

#[test]
fn weights_that_are_trained_are_not_shared() {
    let folder = tempfile::tempdir().expect("a folder");
    write_model(folder.path(), CONFIGS[0].1, 5);
    let pool = compute(1, Tier::Portable);
    let trainer = Trainer::open(folder.path(), &pool, TrainerOptions::default()).expect("the trainer opens");
    assert!(trainer.frozen_model().is_none());
}
