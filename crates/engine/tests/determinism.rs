//! Gradients and steps: the same bits for any number of threads, any run, and any choice of kept activations; bad input changes nothing.

mod support;

use prl_engine::{
    ActivationPolicy, CachedSequence, EngineError, Model, OptimConfig, Trainer, TrainerOptions, random_checkpoint,
};
use prl_weights::{Checkpoint, Dtype};
use support::{CONFIGS, Columns, QWEN3, bits, compute, tiers, write_model};

fn open(folder: &std::path::Path, threads: usize, tier: prl_engine::Tier, activations: ActivationPolicy) -> Trainer {
    let optim = OptimConfig {
        lr: 3e-3,
        ..OptimConfig::default()
    };
    let options = TrainerOptions {
        optim,
        activations,
        ..TrainerOptions::default()
    };
    Trainer::open(folder, &compute(threads, tier), options).expect("the trainer opens")
}

fn gradients(trainer: &Trainer) -> Vec<Vec<u32>> {
    let names = trainer.parameter_names();
    names
        .iter()
        .map(|name| bits(&trainer.gradient(name).expect("it is there")))
        .collect()
}

fn parameters(trainer: &Trainer) -> Vec<Vec<u32>> {
    let names = trainer.parameter_names();
    names
        .iter()
        .map(|name| bits(&trainer.parameter(name).expect("it is there")))
        .collect()
}

#[test]
fn gradients_and_parameters_do_not_depend_on_threads_runs_or_kept_activations() {
    for (name, config) in CONFIGS {
        let folder = tempfile::tempdir().expect("a folder");
        write_model(folder.path(), config, 31);
        let vocab = prl_engine::ModelConfig::from_json(config)
            .expect("it parses")
            .vocab_size;
        let mut columns = Columns::random(&[40, 3, 0, 77, 12, 1, 9, 28, 64, 50], vocab, 6);
        columns.bin_seq_offsets = Some(vec![0, 4, 4, 10]);
        for tier in tiers() {
            let mut expected = None;
            for threads in [1, 1, 2, 3, 4] {
                for activations in [
                    ActivationPolicy::Keep,
                    ActivationPolicy::Recompute,
                    ActivationPolicy::Auto,
                ] {
                    let mut trainer = open(folder.path(), threads, tier, activations);
                    let mut found = Vec::new();
                    for _ in 0..2 {
                        let stats = trainer.forward_backward(&columns.batch()).expect("the batch runs");
                        found.push((gradients(&trainer), stats.loss.to_bits()));
                        let norm = trainer.step(None).expect("the step runs");
                        found.push((parameters(&trainer), u64::from(norm.to_bits())));
                    }
                    let expected = expected.get_or_insert_with(|| found.clone());
                    assert!(
                        *expected == found,
                        "{name} {tier:?} with {threads} threads and {activations:?} differs"
                    );
                }
            }
        }
    }
}

#[test]
fn gradients_accumulate_over_calls_and_clear_with_the_step() {
    let folder = tempfile::tempdir().expect("a folder");
    write_model(folder.path(), QWEN3, 2);
    let tier = prl_engine::Tier::detect();
    let columns = Columns::random(&[12, 20], 37, 8);
    let mut once = open(folder.path(), 1, tier, ActivationPolicy::Auto);
    once.forward_backward(&columns.batch()).expect("the batch runs");
    let single = once.gradient("model.norm.weight").expect("it is there");
    once.forward_backward(&columns.batch()).expect("the batch runs");
    let double = once.gradient("model.norm.weight").expect("it is there");
    for (single, double) in single.iter().zip(&double) {
        assert!(
            (2.0 * single - double).abs() <= 1e-6 * double.abs().max(1e-6),
            "{single} {double}"
        );
    }
    once.step(None).expect("the step runs");
    assert!(gradients(&once).iter().flatten().all(|bits| *bits == 0));
}

#[test]
fn a_loss_that_is_not_finite_is_an_error_and_changes_no_parameter() {
    let folder = tempfile::tempdir().expect("a folder");
    write_model(folder.path(), QWEN3, 2);
    let mut trainer = open(folder.path(), 2, prl_engine::Tier::detect(), ActivationPolicy::Auto);
    let before = parameters(&trainer);
    let mut columns = Columns::random(&[12, 20], 37, 8);
    columns.advantages.fill(f32::MAX);
    columns
        .inference_logprobs
        .iter_mut()
        .for_each(|logprob| *logprob = -20.0);
    let error = trainer
        .forward_backward(&columns.batch())
        .expect_err("the loss overflows");
    assert_eq!(error.code(), "PRL_TRAIN_NON_FINITE");
    assert!(
        gradients(&trainer).iter().flatten().all(|bits| *bits == 0),
        "gradients are dropped"
    );
    assert_eq!(parameters(&trainer), before);
    columns = Columns::random(&[12, 20], 37, 8);
    trainer.forward_backward(&columns.batch()).expect("the trainer goes on");
}

#[test]
fn a_gradient_norm_that_is_not_finite_is_an_error_and_changes_no_parameter() {
    let folder = tempfile::tempdir().expect("a folder");
    write_model(folder.path(), QWEN3, 2);
    let mut trainer = open(folder.path(), 1, prl_engine::Tier::detect(), ActivationPolicy::Auto);
    let before = parameters(&trainer);
    let mut columns = Columns::random(&[12, 20], 37, 8);
    // Each loss is finite, the sum of the gradients is not.
    columns
        .advantages
        .iter_mut()
        .for_each(|advantage| *advantage = 3e37 * advantage.signum());
    for _ in 0..60 {
        trainer.forward_backward(&columns.batch()).expect("the loss is finite");
    }
    let error = trainer.step(None).expect_err("the gradients overflow");
    assert_eq!(error.code(), "PRL_TRAIN_NON_FINITE");
    assert_eq!(parameters(&trainer), before);
}

#[test]
fn a_random_checkpoint_is_a_function_of_its_seed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    std::fs::create_dir(path("config")).expect("a folder");
    std::fs::write(path("config").join("config.json"), QWEN3).expect("the config is written");
    let [first, again, other] =
        [("a", 1), ("b", 1), ("c", 2)].map(|(name, seed)| random_checkpoint(&path("config"), &path(name), seed));
    let digest = |saved: Result<prl_engine::SavedWeights, EngineError>| saved.expect("it is written").digest;
    let first = digest(first);
    assert_eq!(first, digest(again));
    assert_ne!(first, digest(other));
}

/// The numbers of a checkpoint's tensors as f32, with their format.
fn tensors(folder: &std::path::Path) -> Vec<(String, Dtype, Vec<u32>)> {
    let checkpoint = Checkpoint::open(folder).expect("the model opens");
    let read = |name: &str| {
        let tensor = checkpoint.tensor(name).expect("the tensor is there");
        let values = match tensor.dtype {
            Dtype::F32 => tensor
                .data
                .as_chunks::<4>()
                .0
                .iter()
                .map(|b| u32::from_le_bytes(*b))
                .collect(),
            Dtype::BF16 => {
                let halves = tensor.data.as_chunks::<2>().0;
                halves.iter().map(|b| u32::from(u16::from_le_bytes(*b)) << 16).collect()
            }
            other => panic!("{name} is {other:?}"),
        };
        (name.to_owned(), tensor.dtype, values)
    };
    checkpoint.names().map(read).collect()
}

/// To the nearest, to the even one of two.
fn as_bf16(bits: u32) -> u32 {
    (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff_0000
}

#[test]
fn a_random_checkpoint_has_the_format_that_its_config_states() {
    let folder = tempfile::tempdir().expect("a folder");
    let written = |name: &str, keys: &[(&str, &str)]| {
        let (config, model) = (folder.path().join(format!("{name}-config")), folder.path().join(name));
        let mut json: serde_json::Value = serde_json::from_str(QWEN3).expect("it parses");
        keys.iter().for_each(|(key, value)| json[key] = (*value).into());
        std::fs::create_dir(&config).expect("a folder");
        std::fs::write(config.join("config.json"), json.to_string()).expect("the config is written");
        random_checkpoint(&config, &model, 1).expect("it is written");
        let text = std::fs::read_to_string(model.join("config.json")).expect("a config");
        let json: serde_json::Value = serde_json::from_str(&text).expect("it parses");
        let stated = ["dtype", "torch_dtype"].map(|key| json[key].as_str().map(str::to_owned));
        (tensors(&model), stated.into_iter().flatten().collect::<Vec<String>>())
    };
    let (plain, stated) = written("plain", &[]);
    assert!(plain.iter().all(|(_, dtype, _)| *dtype == Dtype::F32));
    assert_eq!(stated, ["float32"]);
    assert_eq!(written("single", &[("torch_dtype", "float32")]).0, plain);
    // The engine writes no f16; f32 has all of its numbers.
    assert_eq!(
        written("f16", &[("dtype", "float16")]),
        (plain.clone(), vec!["float32".to_owned()])
    );

    let rounded = |(name, _, bits): &(String, Dtype, Vec<u32>)| {
        (
            name.clone(),
            Dtype::BF16,
            bits.iter().map(|&bits| as_bf16(bits)).collect(),
        )
    };
    let expected: Vec<(String, Dtype, Vec<u32>)> = plain.iter().map(rounded).collect();
    for key in ["dtype", "torch_dtype"] {
        let (half, stated) = written(key, &[(key, "bfloat16")]);
        assert_eq!(half, expected);
        assert_eq!(stated, ["bfloat16"]);
    }
}

/// More sequences than are computed at a time, so that the prompt is both shared and computed again.
#[test]
fn sequences_that_begin_alike_score_as_each_does_alone() {
    const PROMPT: u32 = 100;
    const OWN: u32 = 24;
    let folder = tempfile::tempdir().expect("a folder");
    write_model(folder.path(), QWEN3, 2);
    let pool = compute(2, prl_engine::Tier::detect());
    let model = Model::load(folder.path(), &pool).expect("the model loads");
    let sequence = |one: u32| -> Vec<u32> {
        let own = (0..OWN).map(|at| (at * (one + 1) + one) % 37);
        (0..PROMPT).map(|at| at * 7 % 37).chain(own).collect()
    };
    let sequences: Vec<Vec<u32>> = (0..60).map(sequence).collect();
    let ends: Vec<u32> = (0..=60).map(|end| end * (PROMPT + OWN)).collect();
    let together = model
        .logprobs(&pool, &sequences.concat(), &ends, &[1.0])
        .expect("they are scored");
    for (one, found) in sequences.iter().zip(together.chunks(ends[1] as usize)) {
        let alone = model.logprobs(&pool, one, &ends[..2], &[1.0]).expect("it is scored");
        assert_eq!(bits(found), bits(&alone));
    }
}

fn is_input(error: EngineError) {
    assert_eq!(error.code(), "PRL_ENGINE_INPUT", "{error}");
}

#[test]
fn arguments_that_do_not_fit_are_errors() {
    let folder = tempfile::tempdir().expect("a folder");
    write_model(folder.path(), QWEN3, 2);
    let pool = compute(1, prl_engine::Tier::detect());
    let model = Model::load(folder.path(), &pool).expect("the model loads");

    for (ids, cu) in [
        (&[1u32, 2, 37][..], &[0u32, 3][..]),
        (&[1, 2, 3], &[0, 2]),
        (&[1, 2, 3], &[1, 3]),
        (&[1, 2, 3], &[0, 2, 1, 3]),
        (&[1, 2, 3], &[0, 4, 3]),
        (&[1, 2, 3], &[]),
        (&[1, 2, 3], &[0, u32::MAX]),
    ] {
        is_input(model.logits(&pool, ids, cu).expect_err("refused"));
        is_input(model.logprobs(&pool, ids, cu, &[1.0]).expect_err("refused"));
    }
    for temperatures in [&[][..], &[1.0, 1.0], &[0.0], &[-1.0], &[f32::NAN], &[f32::INFINITY]] {
        is_input(
            model
                .logprobs(&pool, &[1, 2, 3], &[0, 3], temperatures)
                .expect_err("refused"),
        );
    }

    let mut cache = model.kv_cache(4);
    let tokens = [1u32; 20];
    let sequence = |start: usize, blocks: &'static [u32]| CachedSequence {
        token_ids: &tokens,
        start,
        blocks,
        adapter: None,
    };
    for sequences in [
        vec![sequence(0, &[0])],
        vec![sequence(0, &[0, 4])],
        vec![sequence(0, &[0, 0])],
        vec![sequence(0, &[0, 1]), sequence(0, &[1, 2])],
        vec![sequence(usize::MAX, &[0, 1])],
        vec![CachedSequence {
            token_ids: &[],
            start: 0,
            blocks: &[0],
            adapter: None,
        }],
        vec![CachedSequence {
            token_ids: &[37],
            start: 0,
            blocks: &[0],
            adapter: None,
        }],
    ] {
        is_input(
            model
                .forward_cached(&pool, &sequences, &mut cache)
                .expect_err("refused"),
        );
    }
    // A prefix that two sequences share is read, not written.
    model
        .forward_cached(&pool, &[sequence(0, &[0, 1])], &mut cache)
        .expect("the prefix runs");
    let next = |blocks: &'static [u32]| CachedSequence {
        token_ids: &tokens[..3],
        start: 16,
        blocks,
        adapter: None,
    };
    model
        .forward_cached(&pool, &[next(&[0, 2]), next(&[0, 3])], &mut cache)
        .expect("both run");
}

#[test]
fn batches_that_do_not_fit_are_errors() {
    let folder = tempfile::tempdir().expect("a folder");
    write_model(folder.path(), QWEN3, 2);
    let mut trainer = open(folder.path(), 1, prl_engine::Tier::detect(), ActivationPolicy::Auto);
    let good = Columns::random(&[5, 6], 37, 1);
    let spoilers: [fn(&mut Columns); 7] = [
        |columns| columns.input_ids[3] = 37,
        |columns| columns.advantages.truncate(3),
        |columns| columns.loss_mask.push(1),
        |columns| columns.loss_mask[5] = 1,
        |columns| columns.cu_seqlens[1] = 99,
        |columns| columns.bin_seq_offsets = Some(vec![0, 3]),
        |columns| columns.temperatures[2] = 0.0,
    ];
    for spoil in spoilers {
        let mut columns = good.clone();
        spoil(&mut columns);
        is_input(trainer.forward_backward(&columns.batch()).expect_err("refused"));
    }
    for spans in [&[0u32, 1, 2][..], &[1, 5], &[0, 5, 0, 6], &[0, 5, 11, 6], &[]] {
        let mut batch = good.batch();
        batch.policy_version_spans = Some(spans);
        is_input(trainer.forward_backward(&batch).expect_err("refused"));
    }
    is_input(trainer.gradient("model.norm").expect_err("refused"));
    is_input(trainer.step(Some(f32::NAN)).expect_err("refused"));
}
