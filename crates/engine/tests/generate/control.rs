//! Control of a running generator: aborts, pauses, swaps, scores, the end, and any order of them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use prl_engine::generate::{FinishReason, GenerateRequest, GeneratorOptions, PauseMode};
use prl_engine::{EngineError, KvCache, Model, WeightDtype};
use proptest::prelude::*;

use crate::generate_support::{
    Collector, Family, Numbers, VOCAB, checkpoint, complete, compute, endless, fixture, model, soon,
};

#[test]
fn aborts_end_running_and_waiting_requests_and_ignore_unknown_ones() {
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
fn a_pause_that_waits_finishes_present_requests_and_holds_later_ones() {
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
fn requests_go_on_with_the_same_bits_after_a_sleep_that_freed_the_cache() {
    let fixture = fixture(GeneratorOptions::default());
    let requests = || vec![endless("a", &[1, 2, 3], 400), endless("b", &[1, 2, 3, 4], 300)];
    let reference = complete(&fixture.generator, requests());
    fixture.generator.submit(requests()).unwrap();
    let mut collector = Collector::default();
    collector.take(fixture.generator.next(soon()).unwrap());
    fixture.generator.sleep().unwrap();
    fixture.generator.submit(vec![endless("c", &[5], 3)]).unwrap();
    let asleep = fixture.generator.stats();
    assert_eq!((asleep.running, asleep.kv_usage), (0, 0.0));
    assert_eq!(
        fixture
            .generator
            .score(vec![1, 2], vec![0, 2], vec![1.0])
            .unwrap()
            .len(),
        2
    );
    fixture.generator.wake_up().unwrap();
    fixture.generator.wake_up().unwrap();
    collector.until_ended(&fixture.generator, 3);
    for id in ["a", "b"] {
        assert_eq!(collector.0[id].sampled(), reference[id].sampled());
    }
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
fn weights_with_a_different_computation_are_refused_by_key_and_unused_keys_are_accepted() {
    let fixture = fixture(GeneratorOptions::default());
    let dir = tempfile::tempdir().unwrap();
    let folder = checkpoint(dir.path(), Family::Qwen3, 1);
    let path = folder.join("config.json");
    let config: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    let swap = |key: &str, value: serde_json::Value| {
        let mut changed = config.clone();
        changed[key] = value;
        std::fs::write(&path, changed.to_string()).unwrap();
        let next = Arc::new(Model::load(&folder, &compute(1)).unwrap());
        fixture.generator.swap(next, 1, None).map_err(|error| error.to_string())
    };
    for (key, value) in [
        ("rope_theta", serde_json::json!(123_456.0)),
        ("rms_norm_eps", serde_json::json!(1e-3)),
        ("max_position_embeddings", serde_json::json!(77)),
        (
            "rope_scaling",
            serde_json::json!({"rope_type": "linear", "factor": 2.0}),
        ),
        ("eos_token_id", serde_json::json!([1, 3])),
    ] {
        let error = swap(key, value).expect_err(key);
        assert!(
            error.contains(&format!("cannot swap to weights with {key} ")),
            "{key}: {error}"
        );
        assert_eq!(fixture.generator.stats().version, 0);
    }
    std::fs::write(&path, config.to_string()).unwrap();
    let other = Arc::new(Model::load_as(&folder, WeightDtype::Bf16, &compute(1)).unwrap());
    let error = fixture.generator.swap(other, 1, None).expect_err("another format");
    assert!(
        error
            .to_string()
            .contains("cannot swap to weights with model.dtype bfloat16: the model has float32")
    );
    for (key, value) in [
        ("transformers_version", serde_json::json!("5.0.0")),
        ("initializer_range", serde_json::json!(0.5)),
        ("torch_dtype", serde_json::json!("bfloat16")),
    ] {
        swap(key, value).expect(key);
    }
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
fn closing_aborts_live_requests_and_later_calls_say_so() {
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
