//! The death of the generation thread, which only a command for tests can provoke, and the order of its commands.

use super::*;
use std::path::Path;

const CONFIG: &str = r#"{"architectures":["Qwen3ForCausalLM"],"model_type":"qwen3","vocab_size":20,"hidden_size":16,
    "intermediate_size":32,"num_hidden_layers":1,"num_attention_heads":2,"num_key_value_heads":1,"head_dim":8,
    "rms_norm_eps":1e-6,"rope_theta":10000.0,"max_position_embeddings":64,"tie_word_embeddings":true,
    "hidden_act":"silu","initializer_range":0.02,"eos_token_id":19}"#;

fn generator(dir: &Path) -> Generator {
    let source = dir.join("config");
    std::fs::create_dir_all(&source).unwrap();
    std::fs::write(source.join("config.json"), CONFIG).unwrap();
    crate::random_checkpoint(&source, &dir.join("model"), 1).unwrap();
    let compute = Compute::new(1, None).unwrap();
    let model = Arc::new(Model::load(&dir.join("model"), &compute).unwrap());
    Generator::start(model, compute, GeneratorOptions::default()).unwrap()
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

#[test]
fn a_panic_of_the_thread_is_an_error_for_every_caller() {
    let dir = tempfile::tempdir().unwrap();
    let generator = generator(dir.path());
    generator.pause(PauseMode::Keep).unwrap();
    let ids = ["a", "b"];
    generator
        .submit(ids.map(|id| GenerateRequest::new(id, vec![1], 5)).to_vec())
        .unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| generator.next(soon()));
        generator.send(Command::Panic).unwrap();
        let increments = waiting.join().unwrap().unwrap();
        assert_eq!(
            increments
                .iter()
                .map(|increment| increment.id.as_str())
                .collect::<Vec<_>>(),
            ids
        );
        for increment in increments {
            assert!(
                matches!(increment.error, Some(RequestError::Panic(why)) if why.contains("the test asked for a panic"))
            );
        }
    });
    let failed = |result: Result<(), EngineError>| matches!(result, Err(EngineError::Failed(_)));
    assert!(failed(generator.next(soon()).map(|_| ())));
    assert!(failed(generator.submit(vec![GenerateRequest::new("c", vec![1], 1)])));
    assert!(failed(generator.pause(PauseMode::Wait)));
    assert!(failed(generator.score(vec![1], vec![0, 1], vec![1.0]).map(|_| ())));
    assert!(failed(generator.reset_prefix_cache()));
    generator.close();
}

#[test]
fn a_caller_that_waits_for_an_answer_learns_of_a_panic() {
    let dir = tempfile::tempdir().unwrap();
    let generator = generator(dir.path());
    generator.pause(PauseMode::Keep).unwrap();
    generator
        .submit(vec![GenerateRequest {
            ignore_eos: true,
            ..GenerateRequest::new("a", vec![1], 60)
        }])
        .unwrap();
    std::thread::scope(|scope| {
        // The waiting pause is answered when "a" is done. Whether the panic or the answer comes first, nothing hangs.
        let pause = scope.spawn(|| generator.pause(PauseMode::Wait));
        generator.send(Command::Panic).unwrap();
        assert!(matches!(pause.join().unwrap(), Ok(()) | Err(EngineError::Failed(_))));
    });
    assert!(matches!(
        generator.resume().and_then(|()| generator.reset_prefix_cache()),
        Err(EngineError::Failed(_))
    ));
}

#[test]
fn a_sequence_runs_on_between_scorings_that_queue() {
    let dir = tempfile::tempdir().unwrap();
    let generator = generator(dir.path());
    generator.pause(PauseMode::Keep).unwrap();
    generator
        .submit(vec![GenerateRequest {
            ignore_eos: true,
            ..GenerateRequest::new("a", vec![1], 60)
        }])
        .unwrap();
    let (reply, scored) = channel();
    let score = |sequences: u32| {
        let command = Command::Score {
            input_ids: vec![1; 8 * sequences as usize],
            cu_seqlens: (0..=sequences).map(|index| 8 * index).collect(),
            temperatures: vec![1.0; 8 * sequences as usize],
            reply: reply.clone(),
        };
        generator.send(command).unwrap();
    };
    // All the others are there before it is done.
    score(2000);
    generator.send(Command::Resume).unwrap();
    (0..20).for_each(|_| score(1));
    generator.close();
    assert_eq!(scored.try_iter().filter(Result::is_ok).count(), 21);
    assert!(generator.stats().steps >= 20);
}
