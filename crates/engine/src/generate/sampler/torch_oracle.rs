//! Whole distributions against those that torch computed with vLLM's formulas (`tests/fixtures/make/sampling.py`).

use std::path::Path;

use serde_json::Value;

use super::*;

fn cases() -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/sampling/cases.json");
    let text = std::fs::read_to_string(path).expect("the fixture is there");
    let all: Value = serde_json::from_str(&text).expect("it is JSON");
    all["cases"].as_array().expect("it has cases").clone()
}

fn number(value: &Value) -> f32 {
    value.as_f64().expect("a number") as f32
}

fn ids(value: &Value) -> Vec<u32> {
    let list = value.as_array().expect("a list");
    list.iter().map(|id| id.as_u64().expect("an id") as u32).collect()
}

fn controls_of(case: &Value) -> LogitControls {
    let words = case["bad_words"].as_array().expect("a list");
    let biases = case["logit_bias"].as_array().expect("a list");
    let allowed = &case["allowed_token_ids"];
    let mut controls = LogitControls {
        allowed_token_ids: (!allowed.is_null()).then(|| ids(allowed)),
        bad_words: words.iter().map(ids).collect(),
        logit_bias: biases
            .iter()
            .map(|pair| (pair[0].as_u64().expect("an id") as u32, number(&pair[1])))
            .collect(),
        repetition_penalty: number(&case["repetition_penalty"]),
        frequency_penalty: number(&case["frequency_penalty"]),
        presence_penalty: number(&case["presence_penalty"]),
    };
    controls.prepare();
    controls
}

/// One draw with every token's log-probability, lowest id first.
fn draw_case(case: &Value, seed: u64) -> (Drawn, Vec<f32>) {
    let compute = Compute::new(1, None).unwrap();
    let controls = controls_of(case);
    let (prompt, completion) = (ids(&case["prompt"]), ids(&case["completion"]));
    let mut occurrences = Occurrences::of_prompt(&controls, &prompt);
    if controls.has_penalties() {
        completion.iter().for_each(|id| occurrences.add(*id));
    }
    let logits: Vec<f32> = case["logits"].as_array().expect("a list").iter().map(number).collect();
    let top_k = case["top_k"].as_i64().expect("a number");
    let how = Draw {
        temperature: number(&case["temperature"]),
        top_p: number(&case["top_p"]),
        top_k: usize::try_from(top_k).ok(),
        min_p: number(&case["min_p"]),
        banned: &[],
        format: None,
        changes: (!controls.is_off()).then_some(Changes {
            controls: &controls,
            completion: &completion,
            occurrences: &occurrences,
        }),
        top_logprobs: Some(logits.len() as u32),
        seed,
        position: 0,
    };
    let drawn = draw(&compute, &logits, &how, &mut Rows::default()).expect("a token can be drawn");
    let mut top = drawn.ranked.clone().expect("it was asked for").top;
    assert!(top.is_sorted_by(|a, b| a.1 > b.1 || (a.1 == b.1 && a.0 < b.0)));
    top.sort_unstable_by_key(|(id, _)| *id);
    (drawn, top.into_iter().map(|(_, logprob)| logprob).collect())
}

#[test]
fn distributions_and_ranks_are_those_of_torch() {
    let mut furthest = 0f32;
    for (at, case) in cases().iter().enumerate() {
        let expected = &case["expected"];
        for seed in 0..8 {
            let (drawn, logprobs) = draw_case(case, seed);
            for (id, (found, wanted)) in logprobs
                .iter()
                .zip(expected["logprobs"].as_array().unwrap())
                .enumerate()
            {
                match wanted.as_f64() {
                    None => assert_eq!(*found, f32::NEG_INFINITY, "case {at}, token {id}"),
                    Some(wanted) => {
                        furthest = furthest.max((found - wanted as f32).abs() / (1.0 + wanted.abs() as f32))
                    }
                }
            }
            let id = drawn.id as usize;
            assert!(expected["logprobs"][id].is_number(), "case {at} drew {id}");
            assert_eq!(drawn.logprob, logprobs[id]);
            let rank = drawn.ranked.expect("it was asked for").rank;
            assert_eq!(
                Some(u64::from(rank)),
                expected["ranks"][id].as_u64(),
                "case {at}, token {id}"
            );
            if number(&case["temperature"]) == 0.0 {
                assert_eq!(Some(id as u64), expected["argmax"].as_u64(), "case {at}");
            }
        }
    }
    assert!(furthest < 2e-6, "a log-probability differs by {furthest}");
}
