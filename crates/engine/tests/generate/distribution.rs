//! Requests that change or truncate the distribution: what they depend on, what they report, and what is refused.

use std::collections::BTreeMap;
use std::sync::Arc;

use prl_engine::generate::{GenerateRequest, Generator, GeneratorOptions, LogitControls, MAX_TOP_LOGPROBS, Scoring};
use prl_engine::{KvCache, Model};

use crate::generate_support::{Completion, EOS, Family, Numbers, VOCAB, complete, compute, endless, fixture, model};

/// Requests with all kinds of changes, alone and together.
fn requests(count: usize, seed: u64) -> Vec<GenerateRequest> {
    let mut numbers = Numbers(seed);
    let shared = numbers.tokens(40);
    (0..count)
        .map(|at| {
            let mut prompt = shared[..numbers.below(41) as usize].to_vec();
            let own = 1 + numbers.below(20) as usize;
            prompt.extend(numbers.tokens(own));
            let word = numbers.tokens(2);
            GenerateRequest {
                temperature: [1.0, 0.0, 0.8][at % 3],
                min_p: [0.0, 0.05][at % 2],
                top_p: [1.0, 0.9, 1.0, 1.0][at % 4],
                top_logprobs: [None, Some(0), Some(5)][at % 3],
                controls: LogitControls {
                    allowed_token_ids: (at % 5 == 0).then(|| (3..30).rev().collect()),
                    bad_words: if at % 4 == 0 { vec![vec![7], word] } else { Vec::new() },
                    logit_bias: if at % 3 == 0 {
                        vec![(9, 2.5), (4, -100.0)]
                    } else {
                        Vec::new()
                    },
                    repetition_penalty: [1.0, 1.3][at % 2],
                    frequency_penalty: [0.0, 0.4, -0.2][at % 3],
                    presence_penalty: [0.5, 0.0][at % 2],
                },
                seed: numbers.below(1000),
                final_only: at % 2 == 0,
                ..endless(&at.to_string(), &prompt, 1 + numbers.below(60) as u32)
            }
        })
        .collect()
}

fn run(
    model: &Arc<Model>,
    threads: usize,
    options: GeneratorOptions,
    requests: Vec<GenerateRequest>,
) -> (BTreeMap<String, Completion>, u64) {
    let generator = Generator::start(Arc::clone(model), compute(threads), options).unwrap();
    let done = complete(&generator, requests);
    (done, generator.stats().preemptions)
}

fn assert_equal(found: &BTreeMap<String, Completion>, expected: &BTreeMap<String, Completion>) {
    assert_eq!(found.len(), expected.len());
    for (id, completion) in found {
        assert_eq!(completion.error, None);
        assert_eq!(completion.sampled(), expected[id].sampled(), "request {id}");
        assert_eq!(completion.ranked, expected[id].ranked, "request {id}");
    }
}

#[test]
fn a_changed_completion_depends_on_its_request_only() {
    let dir = tempfile::tempdir().unwrap();
    for family in Family::ALL {
        let model = model(dir.path(), family, 5, &compute(1));
        let requests = requests(24, 17);
        let (reference, _) = run(&model, 1, GeneratorOptions::default(), requests.clone());
        for request in &requests {
            let (alone, _) = run(&model, 1, GeneratorOptions::default(), vec![request.clone()]);
            assert_eq!(alone[&request.id].sampled(), reference[&request.id].sampled());
            assert_eq!(alone[&request.id].ranked, reference[&request.id].ranked);
        }
        for (threads, max_num_seqs, max_batched_tokens) in [(2, 4, 9), (3, 24, 3), (1, 3, 1)] {
            let options = GeneratorOptions {
                max_num_seqs,
                max_batched_tokens,
                ..GeneratorOptions::default()
            };
            let mut shuffled = requests.clone();
            shuffled.reverse();
            assert_equal(&run(&model, threads, options, shuffled).0, &reference);
        }
        let small = GeneratorOptions {
            max_model_len: Some(160),
            kv_blocks: Some(160usize.div_ceil(KvCache::BLOCK_TOKENS) + 2),
            max_batched_tokens: 40,
            ..GeneratorOptions::default()
        };
        let (preempted, preemptions) = run(&model, 2, small, requests.clone());
        assert!(preemptions > 0, "nothing was preempted");
        assert_equal(&preempted, &reference);
    }
}

#[test]
fn changes_act_on_the_tokens_that_they_name() {
    let fixture = fixture(GeneratorOptions::default());
    let with = |id: &str, controls: LogitControls| GenerateRequest {
        controls,
        temperature: 0.0,
        ..endless(id, &[1, 2, 3], 60)
    };
    let plain = complete(&fixture.generator, vec![with("plain", LogitControls::default())]);
    let tokens = &plain["plain"].token_ids;
    let (first, pair) = (tokens[0], tokens[..2].to_vec());
    let allowed = vec![11, 5, 23];
    let done = complete(
        &fixture.generator,
        vec![
            with(
                "allowed",
                LogitControls {
                    allowed_token_ids: Some(allowed.clone()),
                    ..LogitControls::default()
                },
            ),
            with(
                "bias",
                LogitControls {
                    logit_bias: vec![(17, 100.0)],
                    ..LogitControls::default()
                },
            ),
            with(
                "word",
                LogitControls {
                    bad_words: vec![vec![first]],
                    ..LogitControls::default()
                },
            ),
            with(
                "pair",
                LogitControls {
                    bad_words: vec![pair.clone()],
                    ..LogitControls::default()
                },
            ),
            with(
                "presence",
                LogitControls {
                    presence_penalty: 2.0,
                    frequency_penalty: 2.0,
                    repetition_penalty: 100.0,
                    ..LogitControls::default()
                },
            ),
        ],
    );
    assert!(done["allowed"].token_ids.iter().all(|id| allowed.contains(id)));
    assert!(done["bias"].token_ids.iter().all(|id| *id == 17));
    assert!(!done["word"].token_ids.contains(&first));
    assert_eq!(done["pair"].token_ids[0], first);
    assert!(done["pair"].token_ids.windows(2).all(|two| two != pair));
    let mut distinct = done["presence"].token_ids[..30].to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), 30, "a penalty of 100 lets no token come twice");
}

#[test]
fn ranks_and_top_tokens_come_with_each_token_that_asks_for_them() {
    let fixture = fixture(GeneratorOptions::default());
    let with = |id: &str, top_logprobs| GenerateRequest {
        top_logprobs,
        ..endless(id, &[4], 30)
    };
    let done = complete(
        &fixture.generator,
        vec![with("none", None), with("zero", Some(0)), with("most", Some(20))],
    );
    assert!(done["none"].ranked.is_empty());
    assert_eq!(done["none"].sampled(), done["most"].sampled());
    let ids = [&[4], done["most"].token_ids.as_slice()].concat();
    let scoring = Scoring {
        cu_seqlens: vec![0, ids.len() as u32],
        input_ids: ids,
        temperatures: vec![1.0],
    };
    let expected = fixture.models[0]
        .logprobs(&compute(2), &scoring.input_ids, &scoring.cu_seqlens, &[1.0])
        .unwrap();
    let scored = fixture.generator.score_ranked(scoring, 20).unwrap();
    assert_eq!(scored.logprobs, expected);
    assert_eq!(scored.ranked[1..], done["most"].ranked);
    assert_eq!((scored.ranked[0].rank, scored.ranked[0].top.len()), (0, 0));
    for (at, ranked) in done["most"].ranked.iter().enumerate() {
        assert_eq!(
            (done["zero"].ranked[at].rank, done["zero"].ranked[at].top.len()),
            (ranked.rank, 0)
        );
        assert_eq!(ranked.top.len(), 20);
        let own = done["most"].logprobs[at];
        let above = ranked.top.iter().filter(|(_, logprob)| *logprob >= own).count();
        assert_eq!(above as u32, ranked.rank.min(20));
        let mass: f64 = ranked.top.iter().map(|(_, logprob)| f64::from(*logprob).exp()).sum();
        assert!(mass < 1.0 + 1e-5);
    }
}

#[test]
fn absurd_values_are_refused_by_name_and_the_others_go_on() {
    let fixture = fixture(GeneratorOptions::default());
    let request = |id: &str, change: &dyn Fn(&mut GenerateRequest)| {
        let mut request = endless(id, &[1], 4);
        change(&mut request);
        request
    };
    let done = complete(
        &fixture.generator,
        vec![
            request("fine", &|_| ()),
            request("min_p", &|one| one.min_p = f32::NAN),
            request("min_p above", &|one| one.min_p = 1.1),
            request("top_logprobs", &|one| one.top_logprobs = Some(MAX_TOP_LOGPROBS + 1)),
            request("logit_bias", &|one| one.controls.logit_bias = vec![(VOCAB, 1.0)]),
            request("repetition_penalty or", &|one| {
                one.controls.repetition_penalty = f32::MIN_POSITIVE
            }),
            request("allowed_token_ids, bad", &|one| {
                one.controls.allowed_token_ids = Some(vec![EOS]);
                one.ignore_eos = false;
                one.min_tokens = 2;
            }),
        ],
    );
    for (id, completion) in &done {
        match &completion.error {
            None => assert_eq!(id, "fine"),
            Some(error) => {
                let name = id.split_whitespace().next().unwrap().trim_end_matches(',');
                assert!(error.starts_with(name), "{id}: {error}");
            }
        }
    }
    assert_eq!(done.values().filter(|completion| completion.error.is_some()).count(), 6);
    let scoring = |ids: Vec<u32>| Scoring {
        cu_seqlens: vec![0, ids.len() as u32],
        input_ids: ids,
        temperatures: vec![1.0],
    };
    assert!(fixture.generator.score_ranked(scoring(vec![1, 2]), 21).is_err());
    assert!(fixture.generator.score_ranked(scoring(vec![1, VOCAB]), 1).is_err());
}
