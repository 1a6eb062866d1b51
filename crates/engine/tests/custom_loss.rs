//! A loss function of the caller between the two passes; denominators over all ranks.

#[expect(dead_code, reason = "not every helper is needed here")]
mod support;

use prl_engine::loss::{Counts, LossOutput, policy_loss};
use prl_engine::{ActivationPolicy, EngineError, LossConfig, Tier, Trainer, TrainerOptions};
use serde_json::{Value, json};
use support::{Columns, QWEN2, QWEN3, bits, compute, write_model};

const LENGTHS: [usize; 4] = [9, 5, 12, 7];

fn open(dir: &std::path::Path, name: &str, params: Value, activations: ActivationPolicy) -> Trainer {
    let options = TrainerOptions {
        loss: LossConfig {
            name: name.to_owned(),
            params,
        },
        activations,
        ..TrainerOptions::default()
    };
    Trainer::open(dir, &compute(2, Tier::Portable), options).expect("the trainer opens")
}

fn in_bins() -> Columns {
    let mut columns = Columns::random(&LENGTHS, 37, 5);
    columns.bin_seq_offsets = Some(vec![0, 2, 3, 4]);
    columns
}

fn gradients(trainer: &Trainer) -> Vec<Vec<u32>> {
    let names = trainer.parameter_names();
    names
        .iter()
        .map(|name| bits(&trainer.gradient(name).expect("a gradient")))
        .collect()
}

#[test]
fn the_configured_loss_and_the_same_function_given_leave_the_same_bits() {
    let dir = tempfile::tempdir().expect("a folder");
    write_model(dir.path(), QWEN3, 1);
    let columns = in_bins();
    for name in ["default", "grpo", "gspo", "cispo", "sapo"] {
        let mut built_in = open(dir.path(), name, Value::Null, ActivationPolicy::Keep);
        let expected = built_in.forward_backward(&columns.batch()).expect("it trains");
        for activations in [ActivationPolicy::Keep, ActivationPolicy::Recompute] {
            let mut own = open(dir.path(), "default", Value::Null, activations);
            let mut calls = 0;
            let found = own.forward_backward_with(&columns.batch(), &mut |inputs, counts| {
                calls += 1;
                policy_loss(name, inputs, &Value::Null, Some(counts))
            });
            assert_eq!(found.expect("it trains"), expected, "{name}");
            assert_eq!(calls, 3);
            assert_eq!(gradients(&own), gradients(&built_in), "{name}");
        }
    }
}

#[test]
fn wrong_results_of_a_loss_are_named_and_leave_nothing_behind() {
    let dir = tempfile::tempdir().expect("a folder");
    write_model(dir.path(), QWEN3, 1);
    let columns = in_bins();
    let mut trainer = open(dir.path(), "default", Value::Null, ActivationPolicy::Auto);
    let output = |loss: f32, grad_logprobs: Vec<f32>| LossOutput {
        loss,
        grad_logprobs,
        metrics: Vec::new(),
    };
    let mut run = |make: &dyn Fn(usize, &[u8]) -> LossOutput<f32>| {
        let found = trainer.forward_backward_with(&columns.batch(), &mut |inputs, _| {
            Ok(make(inputs.logprobs.len(), inputs.mask))
        });
        assert!(gradients(&trainer).iter().flatten().all(|&bits| bits == 0));
        found.expect_err("it is wrong")
    };
    let short = run(&|tokens, _| output(0.0, vec![0.0; tokens - 1]));
    assert!(
        matches!(&short, EngineError::LossInput(text) if text.contains("13 entries for 14 tokens")),
        "{short}"
    );
    let beside = run(&|_, mask| output(0.0, mask.iter().map(|&mask| 1.0 - f32::from(mask)).collect()));
    assert!(
        matches!(&beside, EngineError::LossInput(text) if text.contains("does not train")),
        "{beside}"
    );
    let nan = run(&|tokens, _| output(f32::NAN, vec![0.0; tokens]));
    assert!(matches!(nan, EngineError::NonFinite(_)), "{nan}");
    let steep = run(&|_, mask| {
        output(
            0.0,
            mask.iter()
                .map(|&mask| f32::from(mask) * f32::INFINITY)
                .map(|x| if x.is_nan() { 0.0 } else { x })
                .collect(),
        )
    });
    assert!(
        matches!(&steep, EngineError::NonFinite(text) if text.contains("its gradient is not finite")),
        "{steep}"
    );
}

/// Two ranks with a part of the batch each and the counts of all of it: their gradients add up to those of one rank, for every aggregation.
#[test]
fn the_gradients_of_two_ranks_add_up_to_those_of_one() {
    let dir = tempfile::tempdir().expect("a folder");
    write_model(dir.path(), QWEN3, 1);
    let whole = Columns::random(&LENGTHS, 37, 5);
    let cut = whole.cu_seqlens[1] as usize;
    let part = |tokens: std::ops::Range<usize>, sequences: std::ops::RangeInclusive<usize>| Columns {
        input_ids: whole.input_ids[tokens.clone()].to_vec(),
        inference_logprobs: whole.inference_logprobs[tokens.clone()].to_vec(),
        advantages: whole.advantages[tokens.clone()].to_vec(),
        temperatures: whole.temperatures[tokens.clone()].to_vec(),
        loss_mask: whole.loss_mask[tokens.clone()].to_vec(),
        cu_seqlens: whole.cu_seqlens[sequences]
            .iter()
            .map(|at| at - tokens.start as u32)
            .collect(),
        ..Columns::default()
    };
    // The split is uneven on purpose: one sequence here, three there.
    let ranks = [part(0..cut, 0..=1), part(cut..whole.input_ids.len(), 1..=4)];
    let counts = Counts {
        rl: whole.trained(),
        ce: 0.0,
        ref_kl: 0.0,
        sequences: Some(4.0),
    };
    let aggregations = [
        json!({}),
        json!({ "aggregation": "token-mean/global" }),
        json!({ "aggregation": "sequence-mean-token-mean/all" }),
        json!({ "aggregation": "sequence-mean-token-mean/nonempty" }),
        json!({ "aggregation": "sum/(B*L)", "max_completion_length": 16 }),
        json!({ "aggregation": "sum" }),
    ];
    for params in aggregations {
        let run = |columns: &Columns, counts: Counts| {
            let mut trainer = open(dir.path(), "ppo", params.clone(), ActivationPolicy::Auto);
            let mut batch = columns.batch();
            batch.counts = counts;
            let loss = trainer.forward_backward(&batch).expect("it trains").loss;
            let all = trainer.parameter_names().into_iter();
            let flat = all.flat_map(|name| trainer.gradient(&name).expect("a gradient"));
            (loss, flat.map(f64::from).collect::<Vec<_>>())
        };
        let (loss, expected) = run(&whole, counts);
        let (first, second) = (run(&ranks[0], counts), run(&ranks[1], counts));
        assert!((first.0 + second.0 - loss).abs() < 1e-6, "{params}");
        let largest = expected.iter().fold(0.0f64, |most, value| most.max(value.abs()));
        assert!(largest > 1e-4, "{params}");
        for ((first, second), expected) in first.1.iter().zip(&second.1).zip(&expected) {
            assert!((first + second - expected).abs() < 1e-5 * largest, "{params}");
        }
        // Each rank's own number of sequences gives something else: the test can fail.
        let own = Counts {
            sequences: None,
            ..counts
        };
        let by_sequence = ["sequence-mean", "sum/("]
            .iter()
            .any(|name| params["aggregation"].to_string().contains(name));
        let alone = run(&ranks[0], own).0 + run(&ranks[1], own).0;
        assert_eq!((alone - loss).abs() > 1e-4, by_sequence, "{params}: {alone} {loss}");
    }
}

/// Whole repetitions, sequences that end inside another or continue behind its end, and sequences that part within a block and at its
/// edge. Targets, temperatures and weights differ between them.
#[test]
fn sequences_that_begin_alike_train_as_in_bins_of_their_own() {
    let mut columns = Columns::random(&[12, 30, 30, 9, 33, 21], 33, 5);
    let whole = columns.input_ids[12..42].to_vec();
    for (sequence, shared) in [(0, 12), (2, 30), (3, 9), (4, 17), (5, 16)] {
        let at = columns.cu_seqlens[sequence] as usize;
        columns.input_ids[at..at + shared].copy_from_slice(&whole[..shared]);
    }
    let weigh = |(at, &mask): (usize, &u8)| f32::from(mask) * (at % 3) as f32 / 2.0;
    columns.ce_weights = Some(columns.loss_mask.iter().enumerate().map(weigh).collect());
    for config in [QWEN3, QWEN2] {
        let dir = tempfile::tempdir().expect("a folder");
        write_model(dir.path(), config, 1);
        for activations in [ActivationPolicy::Keep, ActivationPolicy::Recompute] {
            let mut run = |bins: Vec<u32>| {
                columns.bin_seq_offsets = Some(bins);
                let mut trainer = open(dir.path(), "default", Value::Null, activations);
                let mut logprobs = Vec::new();
                let trained = trainer.forward_backward_with(&columns.batch(), &mut |inputs, counts| {
                    logprobs.extend(bits(inputs.logprobs));
                    policy_loss("default", inputs, &Value::Null, Some(counts))
                });
                trained.expect("it trains");
                let names = trainer.parameter_names();
                let gradients = names.iter().map(|name| trainer.gradient(name).expect("a gradient"));
                (logprobs, gradients.collect::<Vec<_>>())
            };
            let (together, apart) = (run(vec![0, 6]), run((0..=6).collect()));
            assert_eq!(together.0, apart.0);
            for (found, expected) in together.1.iter().zip(&apart.1) {
                let largest = expected.iter().fold(0f32, |most, value| most.max(value.abs()));
                assert!(largest > 1e-5);
                for (found, expected) in found.iter().zip(expected) {
                    assert!(
                        (found - expected).abs() < 1e-5 * largest,
                        "{found} {expected} {largest}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_stream_taken_from_the_mask_is_divided_by_the_tokens_of_the_mask() {
    let dir = tempfile::tempdir().expect("a folder");
    write_model(dir.path(), QWEN3, 1);
    let columns = in_bins();
    let loss = |ce: f64| {
        let mut trainer = open(dir.path(), "ce", Value::Null, ActivationPolicy::Auto);
        let mut batch = columns.batch();
        batch.counts.ce = ce;
        trainer.forward_backward(&batch).expect("it trains").loss
    };
    assert_eq!(loss(0.0), loss(columns.trained()));
}
