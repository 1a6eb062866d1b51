//! Requests to the generator: how completions end, what is refused, limits, cached prefixes.

use std::collections::BTreeMap;
use std::sync::Arc;

use prl_engine::generate::{
    FinishReason, GenerateRequest, Generator, GeneratorOptions, PauseMode, RequestError, Scoring,
};
use prl_engine::{EngineError, KvCache, Model};

use crate::generate_support::{
    Collector, EOS, Family, MAX_LEN, Numbers, VOCAB, checkpoint, complete, compute, endless, fixture, model, soon,
};

#[test]
fn a_completion_ends_at_max_tokens_with_reason_length() {
    let fixture = fixture(GeneratorOptions::default());
    let done = complete(&fixture.generator, vec![endless("a", &[1, 2], 7)]);
    assert_eq!(done["a"].token_ids.len(), 7);
    assert_eq!(done["a"].finish_reason, Some(FinishReason::Length));
    assert!(done["a"].versions.iter().all(|version| *version == 0));
}

#[test]
fn a_completion_ends_at_max_model_len() {
    let fixture = fixture(GeneratorOptions {
        max_model_len: Some(20),
        ..GeneratorOptions::default()
    });
    let done = complete(&fixture.generator, vec![endless("a", &[1; 15], 100)]);
    assert_eq!(
        (done["a"].token_ids.len(), done["a"].finish_reason),
        (5, Some(FinishReason::Length))
    );
}

#[test]
fn end_of_sequence_and_stop_tokens_end_a_completion_and_are_part_of_it() {
    let fixture = fixture(GeneratorOptions::default());
    let requests = (0..40).map(|seed| GenerateRequest {
        seed,
        stop_token_ids: vec![5],
        ..GenerateRequest::new(seed.to_string(), vec![1, 2], 400)
    });
    let done = complete(&fixture.generator, requests.collect());
    let (mut by_eos, mut by_stop) = (0, 0);
    for completion in done
        .values()
        .filter(|completion| completion.finish_reason == Some(FinishReason::Stop))
    {
        let (last, before) = completion.token_ids.split_last().unwrap();
        assert!(before.iter().all(|id| *id != EOS && *id != 5));
        match *last {
            EOS => assert_eq!((completion.stop_reason, by_eos += 1).0, None),
            5 => assert_eq!((completion.stop_reason, by_stop += 1).0, Some(5)),
            other => panic!("stopped at {other}"),
        }
    }
    assert!(
        by_eos > 0 && by_stop > 0,
        "{by_eos} by end of sequence, {by_stop} by stop token"
    );
}

#[test]
fn min_tokens_keeps_ending_tokens_away_and_ignore_eos_makes_them_ordinary() {
    let fixture = fixture(GeneratorOptions::default());
    let requests = (0..40).flat_map(|seed| {
        let base = GenerateRequest {
            seed,
            ..GenerateRequest::new(format!("min {seed}"), vec![3], 60)
        };
        let ignoring = GenerateRequest {
            id: format!("ignore {seed}"),
            ignore_eos: true,
            ..base.clone()
        };
        [GenerateRequest { min_tokens: 50, ..base }, ignoring]
    });
    let done = complete(&fixture.generator, requests.collect());
    let mut ordinary = 0;
    for (id, completion) in done {
        if id.starts_with("min") {
            assert!(completion.token_ids.len() >= 50);
            assert!(completion.token_ids[..50].iter().all(|token| *token != EOS));
        } else {
            assert_eq!(completion.token_ids.len(), 60);
            ordinary += completion.token_ids.iter().filter(|token| **token == EOS).count();
        }
    }
    assert!(ordinary > 0);
}

#[test]
fn bad_requests_get_an_error_each_and_the_others_go_on() {
    let fixture = fixture(GeneratorOptions::default());
    let changed = |change: fn(&mut GenerateRequest)| {
        let mut request = GenerateRequest::new("", vec![1], 4);
        change(&mut request);
        request
    };
    let bad = [
        ("empty", changed(|one| one.prompt_token_ids.clear()), "prompt_token_ids"),
        (
            "vocabulary",
            changed(|one| one.prompt_token_ids = vec![1, VOCAB]),
            "prompt_token_ids[1]",
        ),
        (
            "long",
            changed(|one| one.prompt_token_ids = vec![1; MAX_LEN]),
            "max_model_len",
        ),
        ("none", changed(|one| one.max_tokens = 0), "max_tokens"),
        ("min", changed(|one| one.min_tokens = 5), "min_tokens"),
        ("cold", changed(|one| one.temperature = -1.0), "temperature"),
        ("nan", changed(|one| one.temperature = f32::NAN), "temperature"),
        ("top p", changed(|one| one.top_p = 0.0), "top_p"),
        ("top k", changed(|one| one.top_k = -2), "top_k"),
    ];
    let mut requests: Vec<_> = bad
        .iter()
        .map(|(id, request, _)| GenerateRequest {
            id: (*id).to_owned(),
            ..request.clone()
        })
        .collect();
    requests.insert(4, endless("good", &[1], 4));
    let done = complete(&fixture.generator, requests);
    for (id, _, names) in bad {
        assert!(
            done[id].error.as_ref().is_some_and(|error| error.contains(names)),
            "{id}: {:?}",
            done[id].error
        );
    }
    assert_eq!(done["good"].token_ids.len(), 4);
}

#[test]
fn an_id_in_use_is_refused_and_free_again_when_its_end_was_picked_up() {
    let fixture = fixture(GeneratorOptions::default());
    let generator = &fixture.generator;
    generator.pause(PauseMode::Keep).unwrap();
    generator.submit(vec![endless("a", &[1], 2)]).unwrap();
    let twice = vec![endless("b", &[1], 2), endless("a", &[1], 2)];
    assert!(matches!(generator.submit(twice), Err(EngineError::Input(message)) if message.contains("\"a\"")));
    generator.resume().unwrap();
    let mut collector = Collector::default();
    collector.until_ended(generator, 1);
    assert_eq!(
        complete(generator, vec![endless("b", &[1], 2), endless("a", &[1], 2)]).len(),
        2
    );
}

#[test]
fn requests_beyond_the_bound_are_refused_with_a_reason() {
    let fixture = fixture(GeneratorOptions {
        max_num_seqs: 2,
        max_waiting: 3,
        ..GeneratorOptions::default()
    });
    let requests: Vec<_> = (0..8).map(|at| endless(&at.to_string(), &[1], 3)).collect();
    let done = complete(&fixture.generator, requests);
    let refused = done
        .values()
        .filter(|c| c.error.as_ref().is_some_and(|error| error.contains("holds 5 requests")));
    assert_eq!(refused.count(), 3);
    assert_eq!(done.values().filter(|c| c.token_ids.len() == 3).count(), 5);
}

#[test]
fn final_only_reports_once() {
    let fixture = fixture(GeneratorOptions::default());
    let requests = vec![
        GenerateRequest {
            final_only: true,
            ..endless("once", &[1], 100)
        },
        GenerateRequest {
            final_only: true,
            ..endless("aborted", &[1], 400)
        },
    ];
    fixture.generator.submit(requests).unwrap();
    let mut collector = Collector::default();
    collector.until_ended(&fixture.generator, 1);
    fixture.generator.abort(&["aborted".to_owned()]).unwrap();
    collector.until_ended(&fixture.generator, 2);
    assert_eq!(
        (collector.0["once"].increments, collector.0["once"].token_ids.len()),
        (1, 100)
    );
    assert_eq!(collector.0["aborted"].increments, 1);
    assert!(
        collector.0["aborted"].token_ids.len() >= 99,
        "the tokens sampled before the abort are reported"
    );
}

#[test]
fn the_times_of_requests_and_the_sizes_of_steps_are_measured() {
    let fixture = fixture(GeneratorOptions {
        max_num_seqs: 1,
        max_batched_tokens: 8,
        ..GeneratorOptions::default()
    });
    let generator = &fixture.generator;
    let whole = |id: &str| GenerateRequest {
        final_only: true,
        ..endless(id, &[1; 20], 5)
    };
    let never = GenerateRequest {
        priority: 1,
        ..whole("never")
    };
    generator.pause(PauseMode::Keep).unwrap();
    generator
        .submit(vec![
            whole("first"),
            GenerateRequest {
                cache_salt: Some("other".into()),
                ..whole("second")
            },
            never,
        ])
        .unwrap();
    generator.abort(&["never".to_owned()]).unwrap();
    generator.resume().unwrap();
    let mut times = BTreeMap::new();
    while times.len() < 3 {
        for increment in generator.next(soon()).unwrap() {
            assert!(increment.is_last());
            times.insert(increment.id, increment.times);
        }
    }
    assert_eq!(times["never"], None, "it had no token");
    let [first, second] = ["first", "second"].map(|id| times[id].unwrap());
    assert!(first.prefill > 0.0 && first.decode > 0.0 && first.queued > 0.0);
    assert!(
        second.queued >= first.prefill + first.decode,
        "the second waits for the end of the first"
    );
    let sizes = generator.stats().step_sizes;
    // Each prompt takes steps of 8, 8 and 4 tokens, of which the last samples, and the other tokens a step each.
    assert_eq!((sizes.counts[0], sizes.counts[1], sizes.tokens), (8, 6, 48));
    assert_eq!(sizes.counts.iter().sum::<u64>(), generator.stats().steps);

    generator.submit(vec![endless("streamed", &[1], 2)]).unwrap();
    let mut seen = Vec::new();
    while seen.len() < 2 {
        for increment in generator.next(soon()).unwrap() {
            seen.extend(increment.token_ids.iter().map(|_| increment.times));
        }
    }
    assert!(
        seen.iter().all(Option::is_some),
        "the first token and the last have times"
    );
}

/// A model whose weights are finite, and whose logits are not.
fn damaged_model() -> Model {
    let dir = tempfile::tempdir().unwrap();
    let damaged = checkpoint(dir.path(), Family::Qwen3, 0);
    let file = damaged.join("model.safetensors");
    let mut bytes = std::fs::read(&file).unwrap();
    let half = bytes.len() / 8 * 4;
    for number in bytes[half..].chunks_exact_mut(4) {
        number.copy_from_slice(&f32::MAX.to_le_bytes());
    }
    std::fs::write(&file, bytes).unwrap();
    Model::load(&damaged, &compute(1)).unwrap()
}

#[test]
fn an_error_says_whether_the_request_is_at_fault() {
    let fixture = fixture(GeneratorOptions {
        max_num_seqs: 1,
        max_waiting: 0,
        ..GeneratorOptions::default()
    });
    let generator = &fixture.generator;
    generator.pause(PauseMode::Keep).unwrap();
    generator
        .submit(vec![
            endless("wrong", &[1], 0),
            endless("damaged", &[1], 3),
            endless("beyond", &[1], 3),
        ])
        .unwrap();
    generator.swap(Arc::new(damaged_model()), 1, None).unwrap();
    generator.resume().unwrap();
    let mut errors = BTreeMap::new();
    while errors.len() < 3 {
        let increments = generator.next(soon()).unwrap();
        assert!(!increments.is_empty(), "requests without an end: {errors:?}");
        errors.extend(increments.into_iter().filter_map(|one| Some((one.id, one.error?))));
    }
    assert!(matches!(errors["wrong"], RequestError::Input(_)), "{errors:?}");
    assert!(matches!(errors["beyond"], RequestError::Full(_)), "{errors:?}");
    assert!(matches!(errors["damaged"], RequestError::Computation(_)), "{errors:?}");
}

#[test]
fn weights_that_overflow_are_an_error_per_request_and_leave_nothing_behind() {
    let fixture = fixture(GeneratorOptions::default());
    let generator = &fixture.generator;
    let requests = || {
        (0..20)
            .map(|at| endless(&at.to_string(), &[at + 1, 2], 30))
            .collect::<Vec<_>>()
    };
    let sound = complete(generator, requests());
    generator.swap(Arc::new(damaged_model()), 1, None).unwrap();
    for completion in complete(generator, requests()).values() {
        assert!(
            completion
                .error
                .as_ref()
                .is_some_and(|error| error.contains("not finite")),
            "{:?}",
            completion.error
        );
    }
    generator.swap(Arc::clone(&fixture.models[0]), 2, None).unwrap();
    for (id, completion) in complete(generator, requests()) {
        assert_eq!(completion.sampled(), sound[&id].sampled());
    }
}

#[test]
fn scores_of_weights_that_overflow_are_an_error() {
    let fixture = fixture(GeneratorOptions::default());
    let generator = &fixture.generator;
    let (tokens, ends) = (vec![1, 2, 3], vec![0, 3]);
    let scoring = Scoring {
        input_ids: tokens.clone(),
        cu_seqlens: ends.clone(),
        temperatures: vec![1.0],
    };
    let sound = generator.score(tokens.clone(), ends.clone(), vec![1.0]).unwrap();
    generator.swap(Arc::new(damaged_model()), 7, None).unwrap();
    let errors = [
        generator.score(tokens.clone(), ends.clone(), vec![1.0]).unwrap_err(),
        generator.score_ranked(scoring, 2).unwrap_err(),
    ];
    for error in errors {
        assert!(matches!(error, EngineError::Computation(_)), "{error:?}");
        assert_eq!(
            error.to_string(),
            "the score of token 1 is not finite: the weights of version 7 are damaged"
        );
    }
    generator.swap(Arc::clone(&fixture.models[0]), 8, None).unwrap();
    assert_eq!(generator.score(tokens, ends, vec![1.0]).unwrap(), sound);
}

#[test]
fn prefixes_are_found_again_per_salt_until_they_are_reset() {
    let fixture = fixture(GeneratorOptions::default());
    let generator = &fixture.generator;
    let prompt = Numbers(3).tokens(70);
    let salted = |salt: Option<&str>| {
        let request = GenerateRequest {
            cache_salt: salt.map(str::to_owned),
            ..endless("a", &prompt, 5)
        };
        complete(generator, vec![request])["a"].clone()
    };
    let first = salted(None);
    let second = salted(None);
    assert_eq!(first.cached_tokens, 0);
    assert!(second.cached_tokens >= 32 && second.cached_tokens < 70);
    assert_eq!(first.sampled(), second.sampled());
    assert_eq!(salted(Some("s")).cached_tokens, 0);
    assert_eq!(salted(Some("s")).cached_tokens, second.cached_tokens);
    generator.reset_prefix_cache().unwrap();
    assert_eq!(salted(None).cached_tokens, 0);
    assert!(generator.stats().prefix_hits > 0);
}

#[test]
fn impossible_sizes_are_refused_at_the_start() {
    let dir = tempfile::tempdir().unwrap();
    let compute = compute(1);
    let model = model(dir.path(), Family::Qwen3, 0, &compute);
    let start = |options| {
        Generator::start(Arc::clone(&model), Arc::clone(&compute), options)
            .map(|_| ())
            .unwrap_err()
    };
    let options = GeneratorOptions::default;
    let small = start(GeneratorOptions {
        kv_blocks: Some(2),
        ..options()
    });
    assert!(
        matches!(&small, EngineError::Capacity(message) if message.contains("max_model_len 512")),
        "{small}"
    );
    assert!(matches!(
        start(GeneratorOptions {
            kv_bytes: Some(1000),
            ..options()
        }),
        EngineError::Capacity(_)
    ));
    for much in [u32::MAX as usize - 1, usize::MAX / 2] {
        let options = GeneratorOptions {
            kv_blocks: Some(much),
            ..options()
        };
        assert!(
            matches!(start(options), EngineError::Capacity(_)),
            "more memory than any machine gives is an error, not an abort"
        );
    }
    for zero in [
        GeneratorOptions {
            max_num_seqs: 0,
            ..options()
        },
        GeneratorOptions {
            max_batched_tokens: 0,
            ..options()
        },
        GeneratorOptions {
            max_model_len: Some(MAX_LEN + 1),
            ..options()
        },
    ] {
        assert!(matches!(start(zero), EngineError::Input(_)));
    }
}

#[test]
fn a_cache_of_exactly_one_longest_request_serves_two_thousand_of_all_priorities() {
    let fixture = fixture(GeneratorOptions {
        kv_blocks: Some(MAX_LEN / KvCache::BLOCK_TOKENS),
        max_batched_tokens: 64,
        ..GeneratorOptions::default()
    });
    let longest = |id: &str, prompt: usize| GenerateRequest {
        priority: 9,
        ..endless(id, &Numbers(3).tokens(prompt), u32::MAX)
    };
    let mut requests = vec![longest("all prompt", MAX_LEN - 1), longest("all completion", 1)];
    requests.extend((0..2000).map(|at| GenerateRequest {
        priority: at % 3,
        final_only: at % 2 == 0,
        ..endless(&at.to_string(), &Numbers(at as u64).tokens(1 + at as usize % 40), 3)
    }));
    let done = complete(&fixture.generator, requests);
    for (id, completion) in &done {
        let expected = match id.as_str() {
            "all prompt" => 1,
            "all completion" => MAX_LEN - 1,
            _ => 3,
        };
        assert_eq!(completion.token_ids.len(), expected, "{id}");
        assert_eq!(completion.finish_reason, Some(FinishReason::Length), "{id}");
    }
    let stats = fixture.generator.stats();
    assert_eq!((stats.running, stats.waiting, stats.kv_usage), (0, 0, 0.0));
}
