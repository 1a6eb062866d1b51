//! Tests of refused controls, and of controls that cost nothing.

use super::*;

fn refusal(change: impl FnOnce(&mut LogitControls)) -> String {
    let mut controls = LogitControls::default();
    change(&mut controls);
    controls.reject(10).expect("it is refused")
}

#[test]
fn every_bad_value_is_refused_by_its_name() {
    for (message, name) in [
        (refusal(|one| one.repetition_penalty = 0.0), "repetition_penalty"),
        (refusal(|one| one.repetition_penalty = f32::NAN), "repetition_penalty"),
        (
            refusal(|one| one.repetition_penalty = f32::INFINITY),
            "repetition_penalty",
        ),
        (refusal(|one| one.frequency_penalty = 2.1), "frequency_penalty"),
        (refusal(|one| one.presence_penalty = f32::NAN), "presence_penalty"),
        (refusal(|one| one.logit_bias = vec![(10, 1.0)]), "logit_bias"),
        (refusal(|one| one.logit_bias = vec![(1, f32::NAN)]), "logit_bias"),
        (refusal(|one| one.logit_bias = vec![(1, 0.0); 1025]), "logit_bias"),
        (refusal(|one| one.allowed_token_ids = Some(vec![])), "allowed_token_ids"),
        (
            refusal(|one| one.allowed_token_ids = Some(vec![1, 10])),
            "allowed_token_ids",
        ),
        (refusal(|one| one.bad_words = vec![vec![]]), "bad_words"),
        (refusal(|one| one.bad_words = vec![vec![1, 10]]), "bad_words"),
        (refusal(|one| one.bad_words = vec![vec![1]; 129]), "bad_words"),
        (refusal(|one| one.bad_words = vec![vec![1; 1025]]), "bad_words"),
    ] {
        assert!(message.starts_with(name), "{message}");
    }
    assert_eq!(LogitControls::default().reject(10), None);
}

#[test]
fn the_default_changes_nothing_and_counts_nothing() {
    let controls = LogitControls::default();
    assert!(controls.is_off() && !controls.has_penalties());
    assert!(Occurrences::of_prompt(&controls, &[1, 2, 3]).0.is_empty());
}

#[test]
fn a_prompt_is_counted_for_repetition_only() {
    let frequency = LogitControls {
        frequency_penalty: 1.0,
        ..LogitControls::default()
    };
    assert!(Occurrences::of_prompt(&frequency, &[1, 2]).0.is_empty());
    let repetition = LogitControls {
        repetition_penalty: 2.0,
        ..LogitControls::default()
    };
    let mut occurrences = Occurrences::of_prompt(&repetition, &[1, 2, 1]);
    occurrences.add(2);
    let mut logits = [3.0, 4.0, -1.0, -2.0];
    repetition.apply(&mut logits, &[2], &occurrences);
    assert_eq!(logits, [3.0, 2.0, -2.0, -2.0]);
}
