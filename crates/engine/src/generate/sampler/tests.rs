//! The sampler against definitions computed in f64.

use super::*;

const PLAIN: Draw<'static> = Draw {
    temperature: 1.0,
    top_p: 1.0,
    top_k: None,
    min_p: 0.0,
    banned: &[],
    changes: None,
    format: None,
    top_logprobs: None,
    seed: 1,
    position: 0,
};

fn logits(count: usize) -> Vec<f32> {
    (0..count)
        .map(|id| (uniform(99, id as u64) * 6.0 - 3.0) as f32)
        .collect()
}

fn softmax(logits: &[f32], temperature: f64) -> Vec<f64> {
    let weights: Vec<f64> = logits
        .iter()
        .map(|logit| (f64::from(*logit) / temperature).exp())
        .collect();
    let total: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / total).collect()
}

fn drawn(logits: &[f32], how: Draw<'_>, positions: u64) -> Vec<(u32, f32)> {
    let compute = Compute::new(1, None).unwrap();
    let mut rows = Rows::default();
    (0..positions)
        .map(|position| draw(&compute, logits, &Draw { position, ..how }, &mut rows).unwrap())
        .map(|drawn| (drawn.id, drawn.logprob))
        .collect()
}

#[test]
fn frequencies_follow_the_tempered_distribution() {
    let logits = logits(40);
    for temperature in [0.5f32, 1.0, 2.0] {
        let expected = softmax(&logits, f64::from(temperature));
        let draws = drawn(&logits, Draw { temperature, ..PLAIN }, 50_000);
        let mut counts = vec![0.0; 40];
        for (token, logprob) in &draws {
            counts[*token as usize] += 1.0;
            assert!((f64::from(*logprob) - expected[*token as usize].ln()).abs() < 1e-5);
        }
        let chi_squared: f64 = counts
            .iter()
            .zip(&expected)
            .map(|(count, p): (&f64, &f64)| (count - p * 50_000.0).powi(2) / (p * 50_000.0))
            .sum();
        assert!(
            chi_squared < 90.0,
            "chi squared {chi_squared} at 39 degrees of freedom, temperature {temperature}"
        );
    }
}

#[test]
fn the_log_probability_without_filters_is_the_heads_bit_for_bit() {
    let compute = Compute::new(1, None).unwrap();
    for count in [1, 7, 64, 65, 260, 1000] {
        let logits = logits(count);
        for temperature in [0.7f32, 1.0] {
            for (token, logprob) in drawn(&logits, Draw { temperature, ..PLAIN }, 20) {
                assert_eq!(
                    logprob.to_bits(),
                    head::row_logprob(&compute, &logits, temperature, token).to_bits()
                );
            }
        }
    }
}

#[test]
fn greedy_takes_the_lowest_of_the_largest_and_reports_at_temperature_one() {
    let compute = Compute::new(1, None).unwrap();
    let mut logits = logits(50);
    logits[13] = 9.0;
    logits[31] = 9.0;
    let (token, logprob) = drawn(
        &logits,
        Draw {
            temperature: 0.0,
            top_p: 0.1,
            ..PLAIN
        },
        1,
    )[0];
    assert_eq!((token, logprob), (13, head::row_logprob(&compute, &logits, 1.0, 13)));
    let masked = drawn(
        &logits,
        Draw {
            temperature: 0.0,
            banned: &[13],
            ..PLAIN
        },
        1,
    )[0];
    assert_eq!(masked.0, 31);
}

#[test]
fn top_k_keeps_the_k_largest_and_renormalises() {
    let logits = logits(300);
    let mut order: Vec<usize> = (0..300).collect();
    order.sort_by(|a, b| logits[*b].total_cmp(&logits[*a]));
    let probabilities = softmax(&logits, 1.0);
    let kept: f64 = order[..5].iter().map(|id| probabilities[*id]).sum();
    for (token, logprob) in drawn(
        &logits,
        Draw {
            top_k: Some(5),
            ..PLAIN
        },
        500,
    ) {
        assert!(order[..5].contains(&(token as usize)));
        assert!((f64::from(logprob) - (probabilities[token as usize] / kept).ln()).abs() < 1e-5);
    }
    assert!(
        drawn(
            &logits,
            Draw {
                top_k: Some(1),
                ..PLAIN
            },
            20
        )
        .iter()
        .all(|d| *d == (order[0] as u32, 0.0))
    );
}

#[test]
fn top_p_keeps_the_shortest_run_that_reaches_the_mass() {
    let logits: Vec<f32> = [0.5f64, 0.3, 0.15, 0.05].iter().map(|p| p.ln() as f32).collect();
    let possible = |top_p: f32| {
        let mut ids: Vec<u32> = drawn(&logits, Draw { top_p, ..PLAIN }, 2000)
            .iter()
            .map(|d| d.0)
            .collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    };
    assert_eq!(possible(0.01), [0]);
    assert_eq!(possible(0.49), [0]);
    assert_eq!(possible(0.51), [0, 1]);
    assert_eq!(possible(0.81), [0, 1, 2]);
    assert_eq!(possible(0.96), [0, 1, 2, 3]);
    let (token, logprob) = drawn(&logits, Draw { top_p: 0.51, ..PLAIN }, 1)[0];
    let expected = if token == 0 { 0.5f64 / 0.8 } else { 0.3 / 0.8 };
    assert!((f64::from(logprob) - expected.ln()).abs() < 1e-6);
}

#[test]
fn min_p_keeps_tokens_that_are_probable_enough_beside_the_most_probable() {
    let logits: Vec<f32> = [0.5f64, 0.3, 0.15, 0.05].iter().map(|p| p.ln() as f32).collect();
    for (min_p, kept) in [(0.05, 4), (0.11, 3), (0.31, 2), (0.61, 1), (1.0, 1)] {
        let draws = drawn(&logits, Draw { min_p, ..PLAIN }, 2000);
        let mass: f64 = softmax(&logits, 1.0)[..kept].iter().sum();
        for (token, logprob) in draws {
            assert!((token as usize) < kept, "min_p {min_p} gave {token}");
            let expected = softmax(&logits, 1.0)[token as usize] / mass;
            assert!((f64::from(logprob) - expected.ln()).abs() < 1e-6);
        }
    }
}

#[test]
fn banned_tokens_never_come_and_the_rest_is_renormalised() {
    let logits = logits(20);
    let probabilities = softmax(&logits, 1.0);
    let kept = 1.0 - probabilities[3] - probabilities[7];
    for (token, logprob) in drawn(
        &logits,
        Draw {
            banned: &[3, 7, 1000],
            ..PLAIN
        },
        2000,
    ) {
        assert!(token != 3 && token != 7);
        assert!((f64::from(logprob) - (probabilities[token as usize] / kept).ln()).abs() < 1e-5);
    }
}

#[test]
fn a_draw_depends_on_seed_and_position_only() {
    let logits = logits(260);
    let forward = drawn(&logits, PLAIN, 200);
    assert_eq!(forward, drawn(&logits, PLAIN, 200));
    let other: Vec<_> = drawn(&logits, Draw { seed: 2, ..PLAIN }, 200);
    let equal = forward.iter().zip(&other).filter(|(a, b)| a.0 == b.0).count();
    assert!(equal < 60, "{equal} of 200 tokens are equal under two seeds");
}

#[test]
fn rows_that_are_not_finite_or_wholly_excluded_give_a_named_reason() {
    let compute = Compute::new(1, None).unwrap();
    let mut rows = Rows::default();
    for (at, bad) in [(0, f32::NAN), (7, f32::INFINITY), (17, f32::NEG_INFINITY)] {
        let mut logits = logits(18);
        logits[at] = bad;
        assert_eq!(draw(&compute, &logits, &PLAIN, &mut rows), Err(Undrawable::NotFinite));
    }
    let none = Draw {
        banned: &[0, 1],
        ..PLAIN
    };
    assert_eq!(draw(&compute, &[0.5, 0.5], &none, &mut rows), Err(Undrawable::Excluded));
    let controls = LogitControls {
        logit_bias: vec![(1, f32::MAX)],
        ..LogitControls::default()
    };
    let changes = Changes {
        controls: &controls,
        completion: &[],
        occurrences: &Occurrences::default(),
    };
    let huge = Draw {
        changes: Some(changes),
        ..PLAIN
    };
    assert_eq!(
        draw(&compute, &[0.5, f32::MAX], &huge, &mut rows),
        Err(Undrawable::Overflow)
    );
}

#[test]
fn the_inverse_cdf_never_takes_a_weightless_token() {
    let mut weights = vec![0.0f32; 200];
    weights[70] = 1.0;
    weights[130] = 1.0;
    assert_eq!(invert_cdf(&weights, 0.0), 70);
    assert_eq!(invert_cdf(&weights, 0.499_999), 70);
    assert_eq!(invert_cdf(&weights, 0.5), 130);
    assert_eq!(invert_cdf(&weights, 1.0 - f64::EPSILON / 2.0), 130);
}

#[test]
fn the_exponential_is_accurate_and_ends_at_zero() {
    for step in 0..87_000 {
        let x = -(step as f32) / 1000.0;
        let exact = f64::from(x).exp();
        assert!((f64::from(exp_nonpositive(x)) - exact).abs() <= 2e-7 * exact, "at {x}");
    }
    assert_eq!(exp_nonpositive(0.0), 1.0);
    assert_eq!(exp_nonpositive(-1000.0), 0.0);
    assert_eq!(exp_nonpositive(f32::NEG_INFINITY), 0.0);
}

#[test]
fn uniform_numbers_are_spread_evenly_over_positions_and_seeds() {
    let by_position: f64 = (0..10_000).map(|position| uniform(5, position)).sum::<f64>() / 10_000.0;
    let by_seed: f64 = (0..10_000).map(|seed| uniform(seed, 5)).sum::<f64>() / 10_000.0;
    assert!((by_position - 0.5).abs() < 0.01 && (by_seed - 0.5).abs() < 0.01);
}
