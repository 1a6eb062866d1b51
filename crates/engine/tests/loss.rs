//! Loss functions against hand-computed numbers, central differences in f64 and degenerate inputs.

use prl_engine::EngineError;
use prl_engine::loss::{Counts, LossInputs, LossOutput, Real, mean_metrics, merge_metrics, policy_loss};
use serde_json::{Value, json};

/// Owned columns that a test can change before it borrows them as inputs.
#[derive(Clone, Default)]
struct Columns<F> {
    logprobs: Vec<F>,
    inference: Vec<F>,
    reference: Option<Vec<F>>,
    advantages: Vec<F>,
    mask: Vec<u8>,
    rl: Option<Vec<F>>,
    ce: Option<Vec<F>>,
    ref_kl: Option<Vec<F>>,
}

impl<F: Real> Columns<F> {
    fn new(logprobs: &[f64], inference: &[f64], advantages: &[f64], mask: &[u8]) -> Self {
        Columns {
            logprobs: column(logprobs),
            inference: column(inference),
            reference: None,
            advantages: column(advantages),
            mask: mask.to_vec(),
            rl: None,
            ce: None,
            ref_kl: None,
        }
    }

    fn loss(&self, name: &str, params: &Value, counts: Option<Counts>) -> Result<LossOutput<F>, EngineError> {
        let inputs = LossInputs {
            logprobs: &self.logprobs,
            inference_logprobs: &self.inference,
            old_logprobs: None,
            reference_logprobs: self.reference.as_deref(),
            advantages: &self.advantages,
            mask: &self.mask,
            cu_seqlens: &[],
            rl_weights: self.rl.as_deref(),
            ce_weights: self.ce.as_deref(),
            ref_kl_weights: self.ref_kl.as_deref(),
        };
        policy_loss(name, &inputs, params, counts)
    }
}

fn column<F: Real>(values: &[f64]) -> Vec<F> {
    values.iter().map(|value| F::from_f64(*value)).collect()
}

fn metric(output: &LossOutput<f64>, name: &str) -> Option<f64> {
    mean_metrics(&output.metrics)
        .into_iter()
        .find(|(known, _)| known == name)
        .map(|(_, value)| value)
}

fn assert_close(actual: f64, expected: f64, what: &str) {
    assert!(
        (actual - expected).abs() <= 1e-12 * expected.abs().max(1.0),
        "{what}: {actual} is not {expected}"
    );
}

#[test]
fn the_default_loss_is_the_sum_of_the_hand_computed_terms() {
    // Token 0: ratio 2 (p .25 -> .5), A = 1, rise .25 > .2: dropped, the squared log ratio stays.
    // Token 1: ratio .5 (p .5 -> .25), A = 2, rise -.25: A > 0 looks at rises only, kept.
    // Token 2: ratio .5 (p .5 -> .25), A = -1: fall > .2, dropped.
    // Token 3: outside the mask.  Token 4: ratio 1, A = -3, kept.  Token 5: A = 0 and a fall: the low side, dropped.
    let (quarter, half) = (0.25f64.ln(), 0.5f64.ln());
    let columns = Columns::<f64>::new(
        &[half, quarter, quarter, half, half, quarter],
        &[quarter, half, half, quarter, half, half],
        &[1.0, 2.0, -1.0, 5.0, -3.0, 0.0],
        &[1, 1, 1, 0, 1, 1],
    );
    let out = columns.loss("default", &Value::Null, None).unwrap();
    let ln2 = 2f64.ln();
    assert_close(out.loss, (4.0 * 1e-3 * ln2 * ln2 - 2.0 * 0.5 + 3.0) / 5.0, "loss");
    let expected = [2e-3 * ln2, -1.0 - 2e-3 * ln2, -2e-3 * ln2, 0.0, 3.0, -2e-3 * ln2];
    for (t, (actual, expected)) in out.grad_logprobs.iter().zip(expected).enumerate() {
        assert_close(*actual, expected / 5.0, &format!("gradient {t}"));
    }
    let (rise, fall) = (2.0 - ln2 - 1.0, 0.5 + ln2 - 1.0);
    assert_close(
        metric(&out, "mismatch_kl").unwrap(),
        (rise + 3.0 * fall) / 5.0,
        "mismatch_kl",
    );
    assert_close(
        metric(&out, "masked_mismatch_kl").unwrap(),
        (rise + 2.0 * fall) / 3.0,
        "masked_mismatch_kl",
    );
    assert_close(
        metric(&out, "unmasked_mismatch_kl").unwrap(),
        fall / 2.0,
        "unmasked_mismatch_kl",
    );
    assert_close(metric(&out, "is_masked").unwrap(), 3.0 / 5.0, "is_masked");
    assert_close(metric(&out, "is_masked_low").unwrap(), 2.0 / 5.0, "is_masked_low");
    assert_close(metric(&out, "is_masked_high").unwrap(), 1.0 / 5.0, "is_masked_high");
    assert_close(
        metric(&out, "masked_advantage_positive").unwrap(),
        1.0 / 3.0,
        "masked_advantage_positive",
    );
    assert_close(
        metric(&out, "masked_advantage_negative").unwrap(),
        1.0 / 3.0,
        "masked_advantage_negative",
    );
    assert_eq!(metric(&out, "nll"), None);
}

#[test]
fn on_policy_the_loss_is_minus_the_mean_advantage_and_the_mismatch_is_exactly_zero() {
    let logprobs = [-0.3, -1.7, -2.9];
    let out = Columns::<f64>::new(&logprobs, &logprobs, &[1.0, -0.5, 2.0], &[1; 3])
        .loss("default", &json!({}), None)
        .unwrap();
    assert_close(out.loss, -2.5 / 3.0, "loss");
    assert_eq!(metric(&out, "mismatch_kl"), Some(0.0));
}

#[test]
fn weights_scale_their_tokens_and_a_zero_weight_takes_a_token_out_of_the_denominator() {
    let mut columns = Columns::<f64>::new(&[-1.0; 4], &[-1.0; 4], &[1.0; 4], &[1, 1, 1, 0]);
    columns.rl = Some(vec![2.0, 0.0, 1.0, 7.0]);
    let out = columns.loss("default", &Value::Null, None).unwrap();
    assert_close(out.loss, -3.0 / 2.0, "loss");
    assert_eq!(out.grad_logprobs, [-1.0, 0.0, -0.5, 0.0]);
}

#[test]
fn given_counts_are_the_denominators_of_their_streams_and_never_below_one() {
    let mut columns = Columns::<f64>::new(&[-1.0, -2.0], &[-1.0, -2.0], &[1.0, 3.0], &[1, 0]);
    columns.ce = Some(vec![0.0, 0.5]);
    let counts = |rl, ce| {
        Some(Counts {
            rl,
            ce,
            ref_kl: 0.0,
            sequences: None,
        })
    };
    let out = columns.loss("default", &Value::Null, counts(4.0, 2.0)).unwrap();
    assert_close(out.loss, -1.0 / 4.0 + 1.0 / 2.0, "global counts");
    assert_eq!(out.grad_logprobs, [-0.25, -0.25]);
    let out = columns.loss("default", &Value::Null, counts(0.0, 0.25)).unwrap();
    assert_close(out.loss, -1.0 + 1.0, "counts below one");
}

#[test]
fn cross_entropy_ignores_the_mask_when_weights_are_given_and_follows_it_when_not() {
    let mut columns = Columns::<f64>::new(&[-1.0, -2.0, -4.0], &[0.0; 3], &[0.0; 3], &[0, 1, 0]);
    let on_mask = columns.loss("ce", &Value::Null, None).unwrap();
    assert_eq!((on_mask.loss, on_mask.grad_logprobs), (2.0, vec![0.0, -1.0, 0.0]));
    columns.ce = Some(vec![1.0, 0.0, 0.5]);
    let out = columns.loss("ce", &Value::Null, None).unwrap();
    assert_eq!(out.loss, (1.0 + 2.0) / 2.0);
    assert_eq!(out.grad_logprobs, [-0.5, 0.0, -0.25]);
    assert_eq!(metric(&out, "nll"), Some(2.5), "nll is unweighted");
    assert_eq!(metric(&out, "mismatch_kl"), None);
}

#[test]
fn reference_kl_pulls_towards_the_reference_with_a_separate_denominator() {
    let mut columns = Columns::<f64>::new(&[-1.0, -2.0, -1.0], &[-1.0, -2.0, -1.0], &[2.0, 9.0, 9.0], &[1, 0, 0]);
    columns.reference = Some(vec![-9.0, -1.5, -3.0]);
    columns.ref_kl = Some(vec![0.0, 1.0, 2.0]);
    let out = columns.loss("default", &Value::Null, None).unwrap();
    // Advantages .5 and -2 (weight 2), ratio 1: -(.5) + 2*2, over two members; plus the policy stream's -2.
    assert_close(out.loss, -2.0 + (-0.5 + 4.0) / 2.0, "loss");
    assert_eq!(out.grad_logprobs, [-2.0, -0.25, 2.0]);
    assert_close(metric(&out, "ref_kl/kl").unwrap(), (-0.5 + 2.0) / 2.0, "ref_kl/kl");
    columns.reference = None;
    assert!(matches!(
        columns.loss("default", &Value::Null, None),
        Err(EngineError::LossInput(_))
    ));
}

#[test]
fn gradients_agree_with_central_differences() {
    // A deterministic spread of ratios, advantages and weights, away from the drop thresholds and the clamp's corner.
    let mut state = 1u64;
    let mut uniform = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let tokens = 200;
    let logprobs: Vec<f64> = (0..tokens).map(|_| -0.05 - 4.0 * uniform()).collect();
    let inference: Vec<f64> = logprobs
        .iter()
        .map(|value| (value + uniform() - 0.5).min(-0.01))
        .collect();
    let advantages: Vec<f64> = (0..tokens).map(|_| 4.0 * uniform() - 2.0).collect();
    let mask: Vec<u8> = (0..tokens).map(|_| u8::from(uniform() < 0.7)).collect();
    let mut columns = Columns::<f64>::new(&logprobs, &inference, &advantages, &mask);
    columns.rl = Some((0..tokens).map(|_| 2.0 * uniform()).collect());
    columns.ce = Some(
        (0..tokens)
            .map(|_| if uniform() < 0.5 { 0.0 } else { uniform() })
            .collect(),
    );
    let params = json!({ "kl_tau": 0.05, "log_ratio_clamp": 0.4, "adv_tau": 0.7 });
    let analytic = columns.loss("default", &params, None).unwrap().grad_logprobs;
    let step = 1e-6;
    let (mut compared, mut cut) = (0, 0);
    for t in 0..tokens {
        let distance = ((logprobs[t] - inference[t]).abs() - 0.4).abs();
        let rise = (logprobs[t].exp() - inference[t].exp()).abs();
        if distance < 1e-4 || (rise - 0.2).abs() < 1e-4 {
            continue;
        }
        let at = |value: f64| {
            let mut moved = columns.clone();
            moved.logprobs[t] = value;
            moved.loss("default", &params, None).unwrap().loss
        };
        let numeric = (at(logprobs[t] + step) - at(logprobs[t] - step)) / (2.0 * step);
        assert!(
            (numeric - analytic[t]).abs() < 1e-8,
            "token {t}: {numeric} by differences, {} analytic",
            analytic[t]
        );
        compared += 1;
        cut += usize::from((logprobs[t] - inference[t]).abs() > 0.4);
    }
    assert!(
        compared > 190 && cut > 10,
        "{compared} compared, {cut} beyond the clamp"
    );
}

#[test]
fn the_reference_kl_gradient_treats_its_advantage_as_a_constant() {
    let mut columns = Columns::<f64>::new(&[-1.2], &[-1.0], &[0.0], &[1]);
    columns.reference = Some(vec![-0.4]);
    let out = columns.loss("ref_kl", &Value::Null, None).unwrap();
    let step = 1e-6;
    let frozen = |logprob: f64| {
        let log = logprob + 1.0;
        -0.8 * log.exp() + 1e-3 * log * log
    };
    let numeric = (frozen(-1.2 + step) - frozen(-1.2 - step)) / (2.0 * step);
    assert!((numeric - out.grad_logprobs[0]).abs() < 1e-9);
    assert_close(out.loss, frozen(-1.2), "loss");
}

#[test]
fn beyond_the_clamp_the_ratio_is_constant_and_its_gradient_zero() {
    let columns = Columns::<f64>::new(&[-1.0, -80.0], &[-60.0, -1.0], &[-1.0, 1.0], &[1, 1]);
    let out = columns.loss("default", &Value::Null, None).unwrap();
    assert_close(out.loss, (20f64.exp() + 0.4 - (-20f64).exp() + 0.4) / 2.0, "loss");
    assert_eq!(out.grad_logprobs, [0.0, 0.0]);
}

fn masked_garbage_never_leaks<F: Real + PartialEq + std::fmt::Debug>() {
    let clean = Columns::<F>::new(&[-1.0, -2.0], &[-1.5, -2.0], &[1.0, -1.0], &[1, 1]);
    let expected = clean.loss("default", &Value::Null, None).unwrap();
    for garbage in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
        let mut dirty = Columns::<F>::new(
            &[-1.0, garbage, -2.0],
            &[-1.5, garbage, -2.0],
            &[1.0, garbage, -1.0],
            &[1, 0, 1],
        );
        dirty.rl = Some(column(&[1.0, garbage, 1.0]));
        let out = dirty.loss("default", &Value::Null, None).unwrap();
        assert_eq!(out.loss, expected.loss);
        assert_eq!(out.grad_logprobs[0], expected.grad_logprobs[0]);
        assert_eq!(out.grad_logprobs[1], F::ZERO);
        assert_eq!(out.grad_logprobs[2], expected.grad_logprobs[1]);
        assert_eq!(out.metrics, expected.metrics);
    }
}

#[test]
fn infinities_and_nans_under_the_mask_change_nothing() {
    masked_garbage_never_leaks::<f32>();
    masked_garbage_never_leaks::<f64>();
}

#[test]
fn infinite_log_ratios_of_members_stay_finite() {
    let out = Columns::<f32>::new(
        &[f64::NEG_INFINITY, -1.0],
        &[-1.0, f64::NEG_INFINITY],
        &[1.0, -1.0],
        &[1, 1],
    )
    .loss("default", &Value::Null, None)
    .unwrap();
    assert!(out.loss.is_finite() && out.grad_logprobs.iter().all(|slope| slope.is_finite()));
}

#[test]
fn empty_and_fully_masked_inputs_give_zero() {
    let empty = Columns::<f64>::new(&[], &[], &[], &[]);
    let masked = Columns::<f64>::new(&[f64::NAN; 3], &[f64::INFINITY; 3], &[1.0; 3], &[0; 3]);
    for name in ["default", "ce"] {
        assert_eq!(empty.loss(name, &Value::Null, None).unwrap().loss, 0.0);
        let out = masked.loss(name, &Value::Null, None).unwrap();
        assert_eq!((out.loss, out.grad_logprobs), (0.0, vec![0.0; 3]));
        assert!(mean_metrics(&out.metrics).is_empty());
    }
}

#[test]
fn bins_with_shared_counts_add_up_to_the_whole_batch() {
    let whole = Columns::<f64>::new(&[-1.0, -2.0, -0.5], &[-1.1, -1.0, -0.6], &[1.0, -1.0, 0.5], &[1, 1, 1]);
    let part = |range: std::ops::Range<usize>| Columns::<f64> {
        logprobs: whole.logprobs[range.clone()].to_vec(),
        inference: whole.inference[range.clone()].to_vec(),
        advantages: whole.advantages[range.clone()].to_vec(),
        mask: whole.mask[range].to_vec(),
        ..Default::default()
    };
    let counts = Some(Counts {
        rl: 3.0,
        ce: 0.0,
        ref_kl: 0.0,
        sequences: None,
    });
    let expected = whole.loss("default", &Value::Null, None).unwrap();
    let first = part(0..1).loss("default", &Value::Null, counts).unwrap();
    let second = part(1..3).loss("default", &Value::Null, counts).unwrap();
    assert_close(first.loss + second.loss, expected.loss, "loss");
    let mut metrics = first.metrics;
    merge_metrics(&mut metrics, &second.metrics);
    let (combined, whole) = (mean_metrics(&metrics), mean_metrics(&expected.metrics));
    assert_eq!(combined.len(), whole.len());
    for (name, expected) in &whole {
        let (_, value) = combined.iter().find(|(known, _)| known == name).unwrap();
        assert_close(*value, *expected, name);
    }
}

#[test]
fn mistakes_have_names() {
    let columns = Columns::<f64>::new(&[-1.0], &[-1.0], &[1.0], &[1]);
    let message = |name: &str, params: Value| columns.loss(name, &params, None).unwrap_err().to_string();
    assert!(matches!(
        columns.loss("grop", &Value::Null, None),
        Err(EngineError::LossUnknown(_))
    ));
    assert!(message("default", json!({ "kl": {} })).contains("reference_logprobs"));
    assert!(message("gspo", json!({ "kl_tau": 1 })).contains("kl_tau"));
    assert!(message("dr_grpo", Value::Null).contains("max_completion_length"));
    assert!(message("dapo", json!({ "max_completion_length": 4 })).contains("max_completion_length"));
    assert!(message("grpo", json!({ "aggregation": "mean" })).contains("token-mean/global"));
    assert!(message("grpo", json!({ "correction": { "mode": "drop" } })).contains("truncate or mask"));
    assert!(message("grpo", json!({ "kl": { "estimator": "k4" } })).contains("k1, k2 or k3"));
    assert!(message("cispo", json!({ "bounds": 1 })).contains("bounds"));
    assert!(message("default", json!({ "kl_taw": 1 })).contains("kl_taw"));
    assert!(message("ce", json!({ "kl_tau": 1 })).contains("kl_tau"));
    assert!(message("default", json!({ "adv_tau": "1" })).contains("adv_tau"));
    assert!(message("default", json!({ "log_ratio_clamp": 0 })).contains("log_ratio_clamp"));
    assert!(message("default", json!([1])).contains("not an object"));
    let mut short = columns.clone();
    short.advantages.clear();
    assert!(
        short
            .loss("default", &Value::Null, None)
            .unwrap_err()
            .to_string()
            .contains("advantages has 0 entries")
    );
    let bad = Counts {
        rl: f64::NAN,
        ce: 0.0,
        ref_kl: 0.0,
        sequences: None,
    };
    assert!(matches!(
        columns.loss("default", &Value::Null, Some(bad)),
        Err(EngineError::LossInput(_))
    ));
}

#[test]
fn boundaries_that_do_not_cover_the_tokens_are_refused() {
    let values = [-1.0f32, -1.0];
    for cu_seqlens in [&[0u32, 1][..], &[1, 2], &[0, 3, 2]] {
        let inputs = LossInputs {
            logprobs: &values,
            inference_logprobs: &values,
            old_logprobs: None,
            reference_logprobs: None,
            advantages: &values,
            mask: &[1, 1],
            cu_seqlens,
            rl_weights: None,
            ce_weights: None,
            ref_kl_weights: None,
        };
        assert!(matches!(
            policy_loss("default", &inputs, &Value::Null, None),
            Err(EngineError::LossInput(_))
        ));
    }
}
