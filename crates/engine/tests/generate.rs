//! The generator's behaviour: ends, errors, pauses, swaps, aborts, limits.

mod generate_support;

use std::sync::Arc;
use std::time::{Duration, Instant};

use generate_support::{Collector, EOS, Family, MAX_LEN, Numbers, VOCAB, checkpoint, complete, compute, model, soon};
use prl_engine::generate::{FinishReason, GenerateRequest, Generator, GeneratorOptions, PauseMode};
use prl_engine::{EngineError, KvCache, Model};
use proptest::prelude::*;

struct Fixture {
    _dir: tempfile::TempDir,
    generator: Generator,
    models: Vec<Arc<Model>>,
}

/// A generator of a one-thread Qwen3 with weights 0, and other weights to swap to.
fn fixture(options: GeneratorOptions) -> Fixture {
    let dir = tempfile::tempdir().unwrap();
    let compute = compute(1);
    let models: Vec<_> = (0..3)
        .map(|seed| model(dir.path(), Family::Qwen3, seed, &compute))
        .collect();
    let generator = Generator::start(Arc::clone(&models[0]), compute, options).unwrap();
    Fixture {
        _dir: dir,
        generator,
        models,
    }
}

fn endless(id: &str, prompt: &[u32], max_tokens: u32) -> GenerateRequest {
    GenerateRequest {
        ignore_eos: true,
        ..GenerateRequest::new(id, prompt.to_vec(), max_tokens)
    }
}

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
    let base = GenerateRequest::new("", vec![1], 4);
    let bad = [
        (
            "empty",
            GenerateRequest {
                prompt_token_ids: vec![],
                ..base.clone()
            },
            "prompt_token_ids",
        ),
        (
            "vocabulary",
            GenerateRequest {
                prompt_token_ids: vec![1, VOCAB],
                ..base.clone()
            },
            "prompt_token_ids[1]",
        ),
        (
            "long",
            GenerateRequest {
                prompt_token_ids: vec![1; MAX_LEN],
                ..base.clone()
            },
            "max_model_len",
        ),
        (
            "none",
            GenerateRequest {
                max_tokens: 0,
                ..base.clone()
            },
            "max_tokens",
        ),
        (
            "min",
            GenerateRequest {
                min_tokens: 5,
                ..base.clone()
            },
            "min_tokens",
        ),
        (
            "cold",
            GenerateRequest {
                temperature: -1.0,
                ..base.clone()
            },
            "temperature",
        ),
        (
            "nan",
            GenerateRequest {
                temperature: f32::NAN,
                ..base.clone()
            },
            "temperature",
        ),
        (
            "top p",
            GenerateRequest {
                top_p: 0.0,
                ..base.clone()
            },
            "top_p",
        ),
        (
            "top k",
            GenerateRequest {
                top_k: -2,
                ..base.clone()
            },
            "top_k",
        ),
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
fn aborts_end_what_runs_and_what_waits_and_ignore_the_rest() {
    let fixture = fixture(GeneratorOptions {
        max_num_seqs: 1,
        ..GeneratorOptions::default()
    });
    let generator = &fixture.generator;
    generator.pause(PauseMode::Keep).unwrap();
    generator
        .submit(vec![
            endless("a", &[1], 400),
            endless("b", &[1], 400),
            endless("c", &[1], 3),
        ])
        .unwrap();
    generator
        .abort(&["a".to_owned(), "nobody".to_owned(), "b".to_owned()])
        .unwrap();
    generator.resume().unwrap();
    let mut collector = Collector::default();
    collector.until_ended(generator, 3);
    assert_eq!(collector.0["a"].finish_reason, Some(FinishReason::Abort));
    assert_eq!(collector.0["b"].finish_reason, Some(FinishReason::Abort));
    assert_eq!(collector.0["c"].finish_reason, Some(FinishReason::Length));
    generator.pause(PauseMode::Keep).unwrap();
    let stats = generator.stats();
    assert_eq!((stats.running, stats.waiting, stats.kv_usage), (0, 0, 0.0));
}

#[test]
fn a_pause_that_keeps_stops_tokens_and_resume_goes_on_with_the_same_ones() {
    let fixture = fixture(GeneratorOptions::default());
    let generator = &fixture.generator;
    let undisturbed = complete(generator, vec![endless("a", &[4, 5], 300)])["a"].clone();
    generator.submit(vec![endless("a", &[4, 5], 300)]).unwrap();
    let mut collector = Collector::default();
    collector.take(generator.next(soon()).unwrap());
    generator.pause(PauseMode::Keep).unwrap();
    collector.take(generator.next(Instant::now()).unwrap());
    assert!(generator.stats().paused);
    assert_eq!(generator.next(Instant::now() + Duration::from_millis(30)).unwrap(), []);
    generator.resume().unwrap();
    collector.until_ended(generator, 1);
    assert_eq!(collector.0["a"].sampled(), undisturbed.sampled());
}

#[test]
fn a_pause_that_waits_finishes_what_is_there_and_holds_what_comes() {
    let fixture = fixture(GeneratorOptions {
        max_num_seqs: 1,
        ..GeneratorOptions::default()
    });
    let generator = &fixture.generator;
    generator
        .submit(vec![endless("a", &[1], 50), endless("b", &[1], 50)])
        .unwrap();
    generator.pause(PauseMode::Wait).unwrap();
    generator.submit(vec![endless("c", &[1], 5)]).unwrap();
    let mut collector = Collector::default();
    collector.until_ended(generator, 2);
    assert_eq!(generator.next(Instant::now() + Duration::from_millis(30)).unwrap(), []);
    assert!(!collector.0.contains_key("c"));
    generator.resume().unwrap();
    collector.until_ended(generator, 3);
}

#[test]
fn a_pause_that_aborts_ends_everything_and_the_generator_goes_on_after_resume() {
    let fixture = fixture(GeneratorOptions {
        max_num_seqs: 2,
        ..GeneratorOptions::default()
    });
    let generator = &fixture.generator;
    generator
        .submit((0..5).map(|at| endless(&at.to_string(), &[1], 500)).collect())
        .unwrap();
    generator.pause(PauseMode::Abort).unwrap();
    let mut collector = Collector::default();
    collector.until_ended(generator, 5);
    assert_eq!(generator.stats().kv_usage, 0.0);
    generator.resume().unwrap();
    assert_eq!(
        complete(generator, vec![endless("next", &[1], 3)])["next"]
            .token_ids
            .len(),
        3
    );
}

#[test]
fn a_swap_in_mid_completion_gives_later_tokens_the_new_version() {
    let fixture = fixture(GeneratorOptions {
        version: 4,
        ..GeneratorOptions::default()
    });
    let generator = &fixture.generator;
    let alone = complete(generator, vec![endless("a", &[4, 5], 500)])["a"].clone();
    let caught = (0..50).any(|attempt| {
        generator.swap(Arc::clone(&fixture.models[0]), 4, None).unwrap();
        generator.submit(vec![endless("a", &[4, 5], 500)]).unwrap();
        let mut collector = Collector::default();
        collector.take(generator.next(soon()).unwrap());
        generator
            .swap(Arc::clone(&fixture.models[1]), 5, Some(format!("digest {attempt}")))
            .unwrap();
        collector.until_ended(generator, 1);
        let completion = &collector.0["a"];
        let before = completion.versions.iter().take_while(|version| **version == 4).count();
        assert!(completion.versions[before..].iter().all(|version| *version == 5));
        assert_eq!(completion.token_ids[..before], alone.token_ids[..before]);
        assert_eq!(completion.logprobs[..before], alone.logprobs[..before]);
        0 < before && before < 500 && completion.token_ids != alone.token_ids
    });
    assert!(caught, "no swap of 50 fell into a completion");
    let stats = generator.stats();
    assert_eq!(
        (stats.version, stats.digest.as_deref().map(|digest| &digest[..6])),
        (5, Some("digest"))
    );
}

#[test]
fn a_swap_while_paused_changes_the_weights_of_everything_after_it() {
    let fixture = fixture(GeneratorOptions::default());
    let generator = &fixture.generator;
    let with_first = complete(generator, vec![endless("a", &[4; 40], 30)])["a"].clone();
    generator.pause(PauseMode::Keep).unwrap();
    generator.swap(Arc::clone(&fixture.models[1]), 1, None).unwrap();
    generator.resume().unwrap();
    let with_second = complete(generator, vec![endless("a", &[4; 40], 30)])["a"].clone();
    assert_eq!(with_second.cached_tokens, 0, "no prefix of the old weights is used");
    assert!(with_second.versions.iter().all(|version| *version == 1));
    assert_ne!(with_first.token_ids, with_second.token_ids);
    generator.swap(Arc::clone(&fixture.models[0]), 2, None).unwrap();
    assert_eq!(
        complete(generator, vec![endless("a", &[4; 40], 30)])["a"].sampled(),
        with_first.sampled()
    );
}

#[test]
fn weights_of_another_shape_are_refused() {
    let fixture = fixture(GeneratorOptions::default());
    let dir = tempfile::tempdir().unwrap();
    let other = model(dir.path(), Family::Llama, 0, &compute(1));
    let error = fixture.generator.swap(other, 1, None).unwrap_err();
    assert!(error.to_string().contains("num_key_value_heads"), "{error}");
    assert_eq!(fixture.generator.stats().version, 0);
}

#[test]
fn damaged_weights_are_an_error_per_request_and_leave_nothing_behind() {
    let fixture = fixture(GeneratorOptions::default());
    let generator = &fixture.generator;
    let requests = || {
        (0..20)
            .map(|at| endless(&at.to_string(), &[at + 1, 2], 30))
            .collect::<Vec<_>>()
    };
    let sound = complete(generator, requests());
    let dir = tempfile::tempdir().unwrap();
    let damaged = checkpoint(dir.path(), Family::Qwen3, 0);
    let file = damaged.join("model.safetensors");
    let mut bytes = std::fs::read(&file).unwrap();
    let half = bytes.len() / 8 * 4;
    for number in bytes[half..].chunks_exact_mut(4) {
        number.copy_from_slice(&f32::NAN.to_le_bytes());
    }
    std::fs::write(&file, bytes).unwrap();
    generator
        .swap(Arc::new(Model::load(&damaged, &compute(1)).unwrap()), 1, None)
        .unwrap();
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
fn scores_come_from_the_current_weights_also_while_requests_run() {
    let fixture = fixture(GeneratorOptions::default());
    let generator = &fixture.generator;
    generator.submit(vec![endless("a", &[1], 300)]).unwrap();
    let ids = Numbers(9).tokens(30);
    let score = || generator.score(ids.clone(), vec![0, 12, 30], vec![1.0]).unwrap();
    let direct = |at: usize| {
        fixture.models[at]
            .logprobs(&compute(2), &ids, &[0, 12, 30], &[1.0])
            .unwrap()
    };
    assert_eq!(score(), direct(0));
    generator.swap(Arc::clone(&fixture.models[1]), 1, None).unwrap();
    assert_eq!(score(), direct(1));
    assert!(generator.score(vec![VOCAB], vec![0, 1], vec![1.0]).is_err());
    Collector::default().until_ended(generator, 1);
}

#[test]
fn closing_aborts_what_lives_and_later_calls_say_so() {
    let fixture = fixture(GeneratorOptions {
        max_num_seqs: 1,
        ..GeneratorOptions::default()
    });
    let generator = &fixture.generator;
    generator.pause(PauseMode::Keep).unwrap();
    generator
        .submit(vec![endless("a", &[1], 400), endless("b", &[1], 400)])
        .unwrap();
    generator.close();
    let mut collector = Collector::default();
    collector.until_ended(generator, 2);
    assert!(
        collector
            .0
            .values()
            .all(|completion| completion.finish_reason == Some(FinishReason::Abort))
    );
    assert!(matches!(generator.next(soon()), Err(EngineError::Closed)));
    assert!(matches!(generator.submit(vec![]), Err(EngineError::Closed)));
    assert!(matches!(generator.pause(PauseMode::Wait), Err(EngineError::Closed)));
    generator.close();
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

#[derive(Debug, Clone)]
enum Event {
    Submit {
        prompt: usize,
        max_tokens: u32,
        priority: i64,
        final_only: bool,
    },
    Abort(usize),
    Pause(PauseMode),
    Resume,
    Swap(usize),
    Reset,
    PickUp,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        6 => (1usize..80, 1u32..40, -1i64..2, any::<bool>()).prop_map(|(prompt, max_tokens, priority, final_only)| {
            Event::Submit { prompt, max_tokens, priority, final_only }
        }),
        1 => (0usize..30).prop_map(Event::Abort),
        1 => prop_oneof![Just(PauseMode::Keep), Just(PauseMode::Wait), Just(PauseMode::Abort)].prop_map(Event::Pause),
        2 => Just(Event::Resume),
        1 => (0usize..3).prop_map(Event::Swap),
        1 => Just(Event::Reset),
        2 => Just(Event::PickUp),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_every_request_ends_exactly_once_and_all_blocks_come_back(
        events in prop::collection::vec(event(), 1..60),
        spare_blocks in 0usize..12, max_num_seqs in 1usize..8, max_batched_tokens in 1usize..50, prefix_cache in any::<bool>(),
    ) {
        let fixture = fixture(GeneratorOptions {
            kv_blocks: Some(120usize.div_ceil(KvCache::BLOCK_TOKENS) + spare_blocks),
            max_model_len: Some(120),
            max_num_seqs,
            max_batched_tokens,
            prefix_cache,
            ..GeneratorOptions::default()
        });
        let generator = &fixture.generator;
        let (mut collector, mut numbers) = (Collector::default(), Numbers(spare_blocks as u64));
        let (mut submitted, mut version) = (0, 0);
        for event in events {
            match event {
                Event::Submit { prompt, max_tokens, priority, final_only } => {
                    let id = submitted.to_string();
                    let prompt = vec![numbers.below(2) as u32; prompt];
                    let request = GenerateRequest { priority, final_only, ..GenerateRequest::new(id, prompt, max_tokens) };
                    generator.submit(vec![request]).unwrap();
                    submitted += 1;
                }
                Event::Abort(at) => generator.abort(&[at.to_string()]).unwrap(),
                Event::Pause(mode) => generator.pause(mode).unwrap(),
                Event::Resume => generator.resume().unwrap(),
                Event::Swap(at) => {
                    version += 1;
                    generator.swap(Arc::clone(&fixture.models[at]), version, None).unwrap();
                }
                Event::Reset => generator.reset_prefix_cache().unwrap(),
                Event::PickUp => collector.take(generator.next(Instant::now() + Duration::from_millis(2)).unwrap()),
            }
        }
        generator.resume().unwrap();
        collector.until_ended(generator, submitted);
        generator.pause(PauseMode::Wait).unwrap();
        let stats = generator.stats();
        prop_assert_eq!((stats.running, stats.waiting, stats.kv_usage), (0, 0, 0.0));
        prop_assert_eq!(generator.next(Instant::now()).unwrap(), vec![]);
        for completion in collector.0.values() {
            prop_assert!(completion.error.is_none());
            prop_assert!(completion.versions.is_sorted());
        }
    }
}
