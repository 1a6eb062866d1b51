//! Every policy loss: numbers from its formula, central differences in f64, and input at the edges.

use prl_engine::loss::{LOSSES, LossInputs, LossOutput, check_loss, mean_metrics, policy_loss};
use proptest::prelude::*;
use serde_json::{Value, json};

const INFERENCE: [f64; 6] = [-1.3, -0.2, -2.2, -0.9, -1.6, -0.4];
const OLD: [f64; 6] = [-1.2, -0.35, -2.0, -1.0, -1.5, -0.45];
const REFERENCE: [f64; 6] = [-1.1, -0.5, -1.9, -1.3, -1.4, -0.2];
const MASK: [u8; 6] = [0, 1, 1, 0, 1, 1];
/// Two sequences of three tokens, the first of each masked.
const BOUNDS: [u32; 3] = [0, 3, 6];

struct Case {
    logprobs: Vec<f64>,
    advantages: Vec<f64>,
}

impl Case {
    fn inputs(&self) -> LossInputs<'_, f64> {
        LossInputs {
            logprobs: &self.logprobs,
            inference_logprobs: &INFERENCE,
            old_logprobs: Some(&OLD),
            reference_logprobs: Some(&REFERENCE),
            advantages: &self.advantages,
            mask: &MASK,
            cu_seqlens: &BOUNDS,
            rl_weights: None,
            ce_weights: None,
            ref_kl_weights: None,
        }
    }

    fn loss(&self, name: &str, params: &Value) -> LossOutput<f64> {
        policy_loss(name, &self.inputs(), params, None).unwrap()
    }
}

/// Ratios against OLD: 1.1, 0.5 in the first sequence, 1.6, 0.9 in the second; advantages 2 and -1.
fn example() -> Case {
    let ratio = |t: usize, ratio: f64| OLD[t] + ratio.ln();
    Case {
        logprobs: vec![-1.0, ratio(1, 1.1), ratio(2, 0.5), -1.0, ratio(4, 1.6), ratio(5, 0.9)],
        advantages: vec![2.0, 2.0, 2.0, -1.0, -1.0, -1.0],
    }
}

fn assert_close(actual: f64, expected: f64, what: &str) {
    assert!(
        (actual - expected).abs() < 1e-9 * expected.abs().max(1.0),
        "{what}: {actual}, expected {expected}"
    );
}

fn assert_all_close(actual: &[f64], expected: &[f64], what: &str) {
    assert_eq!(actual.len(), expected.len());
    for (index, (actual, expected)) in actual.iter().zip(expected).enumerate() {
        assert_close(*actual, *expected, &format!("{what} [{index}]"));
    }
}

#[test]
fn ppo_takes_the_pessimistic_branch() {
    // -min(1.1 * 2, 1.1 * 2) = -2.2; -min(0.5 * 2, 0.8 * 2) = -1; -min(-1.6, -1.2) = 1.6; 0.9 inside: 0.9.
    let out = example().loss("ppo", &Value::Null);
    assert_close(out.loss, (-2.2 - 1.0 + 1.6 + 0.9) / 4.0, "loss");
    let gradient = [0.0, -2.2 / 4.0, -1.0 / 4.0, 0.0, 1.6 / 4.0, 0.9 / 4.0];
    assert_all_close(&out.grad_logprobs, &gradient, "gradient");
}

#[test]
fn clipping_stops_the_gradient_and_is_counted() {
    let mut case = example();
    // Positive advantage at ratio 1.6, negative at 0.5: both held.
    case.advantages = vec![-1.0, -1.0, -1.0, 2.0, 2.0, 2.0];
    let out = case.loss("ppo", &Value::Null);
    assert_close(out.loss, (1.1 + 0.8 - 2.4 - 1.8) / 4.0, "loss");
    assert_all_close(
        &out.grad_logprobs,
        &[0.0, 1.1 / 4.0, 0.0, 0.0, 0.0, -1.8 / 4.0],
        "gradient",
    );
    let metrics = mean_metrics(&out.metrics);
    let metric = |name: &str| metrics.iter().find(|(known, _)| known == name).unwrap().1;
    assert_close(metric("clip_ratio/low"), 0.25, "low");
    assert_close(metric("clip_ratio/high"), 0.25, "high");
    // DAPO's higher bound 1.28 holds the same token later.
    assert_close(
        case.loss("dapo", &Value::Null).loss,
        (1.1 + 0.8 - 2.56 - 1.8) / 4.0,
        "dapo",
    );
}

#[test]
fn two_sided_and_dual_clip_bound_the_effect_of_a_negative_advantage() {
    let out = example().loss("two_sided", &json!({ "delta": 1.4 }));
    assert_close(out.loss, (-2.2 - 1.0 + 1.4 + 0.9) / 4.0, "two-sided");
    assert_eq!(out.grad_logprobs[4], 0.0);
    let out = example().loss("ppo", &json!({ "dual_clip": 1.5 }));
    assert_close(out.loss, (-2.2 - 1.0 + 1.5 + 0.9) / 4.0, "dual clip");
    assert_eq!(out.grad_logprobs[4], 0.0);
}

#[test]
fn aggregations_divide_by_the_denominator_of_their_name() {
    let case = example();
    let terms = [-2.2, -1.0, 1.6, 0.9];
    let sum: f64 = terms.iter().sum();
    let loss = |params: Value| case.loss("ppo", &params).loss;
    assert_close(loss(json!({ "aggregation": "sum" })), sum, "sum");
    let global = json!({ "aggregation": "token-mean/global", "global_tokens": 10 });
    assert_close(loss(global), sum / 10.0, "global");
    let length = json!({ "aggregation": "sum/(B*L)", "max_completion_length": 8 });
    assert_close(loss(length), sum / 16.0, "B*L");
    let mean = (-3.2 / 2.0 + 2.5 / 2.0) / 2.0;
    for name in ["sequence-mean-token-mean/all", "sequence-mean-token-mean/nonempty"] {
        assert_close(loss(json!({ "aggregation": name })), mean, name);
    }
    assert_close(case.loss("grpo", &Value::Null).loss, mean, "grpo");

    // A third sequence without a token of the stream counts in /all only.
    let bounds = [0u32, 3, 6, 6];
    let inputs = LossInputs {
        cu_seqlens: &bounds,
        ..case.inputs()
    };
    let of = |name: &str| {
        policy_loss("ppo", &inputs, &json!({ "aggregation": name }), None)
            .unwrap()
            .loss
    };
    assert_close(of("sequence-mean-token-mean/all"), mean * 2.0 / 3.0, "all");
    assert_close(of("sequence-mean-token-mean/nonempty"), mean, "nonempty");
}

#[test]
fn gspo_has_one_ratio_per_sequence() {
    let (first, second) = ((1.1f64 * 0.5).sqrt(), (1.6f64 * 0.9).sqrt());
    let out = example().loss("gspo", &json!({ "epsilon_low": 0.1, "epsilon_high": 0.3 }));
    // A = 2 at 0.74: free, -1.48. A = -1 at 1.2: inside.
    assert_close(out.loss, (-2.0 * first + second) / 2.0, "loss");
    let gradient = [
        0.0,
        -2.0 * first / 4.0,
        -2.0 * first / 4.0,
        0.0,
        second / 4.0,
        second / 4.0,
    ];
    assert_all_close(&out.grad_logprobs, &gradient, "gradient");
    assert_close(
        example().loss("gspo", &Value::Null).loss,
        (-2.0 * first + second) / 2.0,
        "defaults",
    );
}

#[test]
fn cispo_weighs_the_log_probability_and_never_stops_the_gradient() {
    let case = example();
    let out = case.loss("cispo", &json!({ "epsilon_high": 0.2 }));
    let weights = [0.0, 1.1 * 2.0, 0.5 * 2.0, 0.0, -1.2, -0.9];
    let expected: f64 = weights
        .iter()
        .zip(&case.logprobs)
        .map(|(weight, logprob)| -weight * logprob / 4.0)
        .sum();
    assert_close(out.loss, expected, "loss");
    assert_all_close(&out.grad_logprobs, &weights.map(|weight| -weight / 4.0), "gradient");
    let absolute = case.loss("cispo", &json!({ "bounds": "absolute", "epsilon_high": 1.0 }));
    assert_all_close(
        &absolute.grad_logprobs,
        &[0.0, -0.5, -0.25, 0.0, 0.25, 0.9 / 4.0],
        "absolute",
    );
}

#[test]
fn sapo_gates_softly() {
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    let out = example().loss("sapo", &Value::Null);
    let positive = |ratio: f64| -4.0 * sigmoid(ratio - 1.0) * 2.0;
    let negative = |ratio: f64| 4.0 / 1.05 * sigmoid(1.05 * (ratio - 1.0));
    let expected = (positive(1.1) + positive(0.5)) / 4.0 + (negative(1.6) + negative(0.9)) / 4.0;
    assert_close(out.loss, expected, "loss");
}

#[test]
fn ipo_masks_both_ways() {
    let mut case = example();
    case.advantages = vec![1.0; 6];
    let rise = |t: usize| case.logprobs[t].exp() - INFERENCE[t].exp();
    let kept = |t: usize| rise(t).abs() <= 0.1;
    assert!(kept(1) && !kept(4), "the example has both: {} {}", rise(1), rise(4));
    let term = |t: usize| {
        let log = case.logprobs[t] - INFERENCE[t];
        (if kept(t) { -log.exp() } else { 0.0 }) + 1e-3 * log * log
    };
    let expected = [1, 2, 4, 5].map(term).iter().sum::<f64>() / 4.0;
    assert_close(case.loss("ipo", &Value::Null).loss, expected, "loss");
}

#[test]
fn corrections_weigh_the_policy_term() {
    let case = example();
    let terms = [-2.2, -1.0, 1.6, 0.9];
    let rho = [1, 2, 4, 5].map(|t: usize| (OLD[t] - INFERENCE[t]).exp());
    let weighted = |weights: [f64; 4]| {
        terms
            .iter()
            .zip(weights)
            .map(|(term, weight)| term * weight)
            .sum::<f64>()
            / 4.0
    };
    let loss = |correction: Value| case.loss("ppo", &json!({ "correction": correction })).loss;
    let tis = loss(json!({ "high": 1.1 }));
    assert_close(tis, weighted(rho.map(|rho| rho.min(1.1))), "TIS");
    let icepop = loss(json!({ "mode": "mask", "low": 0.9, "high": 1.15 }));
    let inside = |rho: f64| if (0.9..=1.15).contains(&rho) { rho } else { 0.0 };
    assert_close(icepop, weighted(rho.map(inside)), "IcePop");
    let (first, second) = (rho[0] * rho[1], rho[2] * rho[3]);
    let sequence = loss(json!({ "level": "sequence", "mode": "mask", "low": 1.0, "high": 1.052 }));
    let of = |rho: f64| if (1.0..=1.052).contains(&rho) { rho } else { 0.0 };
    let expected = weighted([of(first), of(first), of(second), of(second)]);
    assert_close(sequence, expected, "masked sequences");
    let geometric = loss(json!({ "level": "geometric" }));
    let (first, second) = (first.sqrt(), second.sqrt());
    assert_close(geometric, weighted([first, first, second, second]), "geometric");
}

#[test]
fn rejection_by_the_geometric_mean_keeps_a_sequence_as_it_is_or_not_at_all() {
    let case = example();
    let mut sampler = INFERENCE;
    for t in [4, 5] {
        sampler[t] -= 0.2;
    }
    let inputs = LossInputs {
        inference_logprobs: &sampler,
        ..case.inputs()
    };
    let mean = |tokens: [usize; 2]| (tokens.iter().map(|&t| OLD[t] - sampler[t]).sum::<f64>() / 2.0).exp();
    let (first, second) = (mean([1, 2]), mean([4, 5]));
    assert!(first < 1.1 && second > 1.1, "the example has both: {first} {second}");
    for (low, high) in [(0.0, 1.1), (1.1, 10.0), (0.0, 10.0), (0.5, 0.6)] {
        let params = json!({ "correction": { "level": "geometric", "mode": "mask", "low": low, "high": high } });
        let loss = policy_loss("ppo", &inputs, &params, None).unwrap().loss;
        let gate = |mean: f64| f64::from(u8::from((low..=high).contains(&mean)));
        let expected = (gate(first) * (-2.2 - 1.0) + gate(second) * (1.6 + 0.9)) / 4.0;
        assert_close(loss, expected, "rejection");
    }
}

#[test]
fn a_correction_with_low_above_high_is_refused() {
    let case = example();
    for mode in ["truncate", "mask"] {
        let params = json!({ "correction": { "mode": mode, "low": 3, "high": 2 } });
        let error = check_loss("ppo", &params).expect_err("refused");
        assert_eq!(error.code(), "PRL_LOSS_INPUT");
        assert!(
            error.to_string().contains("low") && error.to_string().contains("high"),
            "{error}"
        );
    }
    let equal = json!({ "correction": { "low": 2, "high": 2 } });
    assert!(case.loss("ppo", &equal).loss.is_finite());
}

#[test]
fn reference_kl_has_three_estimators() {
    let case = example();
    let difference = |t: usize| case.logprobs[t] - REFERENCE[t];
    let mean = |of: &dyn Fn(usize) -> f64| [1, 2, 4, 5].iter().map(|&t| of(t)).sum::<f64>() / 4.0;
    let loss = |estimator: &str| {
        case.loss("kl", &json!({ "kl": { "estimator": estimator, "coef": 1 } }))
            .loss
    };
    assert_close(loss("k1"), mean(&difference), "k1");
    assert_close(loss("k2"), mean(&|t| difference(t).powi(2) / 2.0), "k2");
    assert_close(
        loss("k3"),
        mean(&|t| (-difference(t)).exp() - 1.0 + difference(t)),
        "k3",
    );
    let with = case.loss("ppo", &json!({ "kl": { "coef": 0.5 } })).loss;
    let k3 = mean(&|t| (-difference(t)).exp() - 1.0 + difference(t));
    assert_close(
        with,
        case.loss("ppo", &Value::Null).loss + 0.5 * k3,
        "added to the policy term",
    );
    let ratio = |t: usize| (case.logprobs[t] - OLD[t]).exp();
    let unbiased = case
        .loss("ppo", &json!({ "kl": { "coef": 0.5, "unbiased": true } }))
        .loss;
    let weighted = mean(&|t| ratio(t) * ((-difference(t)).exp() - 1.0 + difference(t)));
    assert_close(
        unbiased,
        case.loss("ppo", &Value::Null).loss + 0.5 * weighted,
        "unbiased",
    );
}

fn variants() -> Vec<(&'static str, Value)> {
    let length = json!({ "max_completion_length": 7 });
    let mut all: Vec<(&str, Value)> = LOSSES
        .iter()
        .map(|&name| (name, if name == "dr_grpo" { length.clone() } else { Value::Null }))
        .collect();
    for aggregation in ["token-mean", "sequence-mean-token-mean/all", "sum"] {
        for name in ["default", "ppo", "gspo", "sapo", "cispo"] {
            all.push((name, json!({ "aggregation": aggregation })));
        }
    }
    for estimator in ["k1", "k2", "k3"] {
        for unbiased in [false, true] {
            let kl = json!({ "kl": { "estimator": estimator, "coef": 0.3, "unbiased": unbiased } });
            all.push(("grpo", kl.clone()));
            all.push(("kl", kl));
        }
    }
    for level in ["token", "sequence", "geometric"] {
        all.push((
            "ppo",
            json!({ "correction": { "level": level, "low": 0.5, "high": 2 } }),
        ));
    }
    all.push(("two_sided", json!({ "delta": 1.5, "dual_clip": 1.2 })));
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The gradient is the derivative wherever the loss has one; CISPO's and the reference stream's hold a factor constant on purpose.
    #[test]
    fn gradients_are_derivatives(
        shifts in prop::collection::vec(-0.7f64..0.7, 6),
        (first, second) in (-2.0f64..2.0, -2.0f64..2.0),
    ) {
        let advantages = vec![first, first, first, second, second, second];
        let logprobs: Vec<f64> = OLD.iter().zip(&shifts).map(|(old, shift)| old + shift).collect();
        let case = Case { logprobs, advantages };
        let step = 1e-6;
        for (name, params) in variants() {
            if name == "cispo" || name == "ref_kl" {
                continue;
            }
            let out = case.loss(name, &params);
            for t in 0..6 {
                let moved = |by: f64| {
                    let mut logprobs = case.logprobs.clone();
                    logprobs[t] += by;
                    Case { logprobs, advantages: case.advantages.clone() }.loss(name, &params)
                };
                let (high, low) = (moved(step), moved(-step));
                // Where the branch changes within the step, there is no derivative.
                prop_assume!(high.metrics.len() == low.metrics.len());
                let numeric = (high.loss - low.loss) / (2.0 * step);
                let (left, right) = ((out.loss - low.loss) / step, (high.loss - out.loss) / step);
                if (left - right).abs() > 1e-3 {
                    continue;
                }
                prop_assert!(
                    (numeric - out.grad_logprobs[t]).abs() < 1e-5,
                    "{} {} token {}: {} by differences, {}", name, params, t, numeric, out.grad_logprobs[t]
                );
            }
        }
    }

    /// What is masked never leaks, whatever it holds, and an empty batch is 0.
    #[test]
    fn garbage_under_the_mask_changes_nothing(garbage in prop::sample::select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY])) {
        let clean = example();
        let mut dirty = example();
        for t in [0, 3] {
            dirty.logprobs[t] = garbage;
            dirty.advantages[t] = garbage;
        }
        for (name, params) in variants() {
            let (clean, dirty) = (clean.loss(name, &params), dirty.loss(name, &params));
            prop_assert_eq!(clean.loss, dirty.loss, "{}", name);
            prop_assert_eq!(clean.grad_logprobs, dirty.grad_logprobs, "{}", name);
        }
    }
}

#[test]
fn extreme_ratios_stay_finite() {
    for (name, params) in variants() {
        let mut case = example();
        case.logprobs[1] = -500.0;
        case.logprobs[4] = 0.0;
        let out = case.loss(name, &params);
        assert!(out.loss.is_finite(), "{name} {params}");
        assert!(
            out.grad_logprobs.iter().all(|slope| slope.is_finite()),
            "{name} {params}"
        );
    }
}

#[test]
fn nothing_in_the_stream_is_zero() {
    let case = example();
    for (name, params) in variants() {
        let inputs = LossInputs {
            mask: &[0; 6],
            ..case.inputs()
        };
        let out = policy_loss(name, &inputs, &params, None).unwrap();
        assert_eq!((out.loss, out.grad_logprobs), (0.0, vec![0.0; 6]), "{name}");
    }
}

#[test]
fn every_loss_has_parameters_that_check_without_a_batch() {
    for (name, params) in variants() {
        check_loss(name, &params).unwrap();
    }
    assert!(check_loss("ppo", &json!({ "epsilon": 0.2 })).is_err());
}
