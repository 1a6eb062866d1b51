//! Decode and prefill tokens per second of the generator beside transformers, on the model of configs/reverse-text with random weights.
//!
//! `PRL_BENCH_THREADS` sets the compute threads (default 2), `PRL_BENCH_PYTHON` the interpreter that has torch.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use prl_engine::generate::{GenerateRequest, Generator, GeneratorOptions};
use prl_engine::{Compute, Model, random_checkpoint};

#[path = "../../weights/benches/support/report.rs"]
mod report;
#[path = "support/rivals.rs"]
mod rivals;

use report::{report, shortest};
use rivals::{Shape, torch};

const BATCHES: [usize; 4] = [1, 16, 64, 128];
/// The batch that transformers decodes too.
const RIVAL_BATCH: usize = 128;
const PROMPT_TOKENS: usize = 17;
const COMPLETION_TOKENS: u32 = 48;
const PREFILL_PROMPT_TOKENS: usize = 120;
const PREFILL_BATCH: usize = 64;
const ROUNDS: usize = 5;
/// Longer than any round takes; only a hang reaches it.
const ROUND_DEADLINE: Duration = Duration::from_secs(120);

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let threads = std::env::var("PRL_BENCH_THREADS")
        .ok()
        .and_then(|value| value.parse().ok())
        .unwrap_or(2);
    let dir = tempfile::tempdir().expect("a temporary folder");
    random_checkpoint(&root.join("configs/reverse-text/model"), dir.path(), 0).expect("a checkpoint");
    let compute = Compute::new(threads, None).expect("compute threads");
    let model = Arc::new(Model::load(dir.path(), &compute).expect("the checkpoint loads"));
    let options = GeneratorOptions {
        prefix_cache: false,
        ..GeneratorOptions::default()
    };
    let generator = Generator::start(model, Arc::clone(&compute), options).expect("the generator starts");
    let shape = Shape {
        sequences: 1,
        length: 2,
        batch: RIVAL_BATCH,
        prompt: PROMPT_TOKENS,
        completion: COMPLETION_TOKENS as usize,
        rounds: ROUNDS,
    };
    let rival = torch("decode", dir.path(), (threads, "float32"), &shape);
    for batch in BATCHES {
        let seconds = best_seconds(&generator, batch, PROMPT_TOKENS, COMPLETION_TOKENS);
        let rivals: Vec<_> = rival
            .iter()
            .filter(|_| batch == RIVAL_BATCH)
            .map(|rate| ("transformers", *rate))
            .collect();
        let rate = batch as f64 * f64::from(COMPLETION_TOKENS) / seconds;
        report(&format!("engine-decode-{batch}"), "tokens/s", rate, &rivals);
    }
    let seconds = best_seconds(&generator, PREFILL_BATCH, PREFILL_PROMPT_TOKENS, 1);
    let rate = (PREFILL_BATCH * PREFILL_PROMPT_TOKENS) as f64 / seconds;
    report("engine-prefill", "tokens/s", rate, &[]);
}

/// Seconds of the best of several rounds, prompts included.
fn best_seconds(generator: &Generator, batch: usize, prompt_tokens: usize, completion_tokens: u32) -> f64 {
    let round = |round: usize| {
        let requests = (0..batch)
            .map(|at| GenerateRequest {
                ignore_eos: true,
                final_only: true,
                seed: at as u64,
                ..GenerateRequest::new(
                    format!("{round}-{at}"),
                    prompt(prompt_tokens, at, round),
                    completion_tokens,
                )
            })
            .collect();
        let start = Instant::now();
        generator.submit(requests).expect("requests are taken");
        let mut ended = 0;
        while ended < batch {
            let increments = generator.next(start + ROUND_DEADLINE).expect("the generator lives");
            assert!(!increments.is_empty(), "a round took more than {ROUND_DEADLINE:?}");
            assert!(increments.iter().all(|increment| increment.error.is_none()));
            ended += increments.len();
        }
    };
    let mut rounds = 0..;
    shortest(ROUNDS + 1, || rounds.next().map(round))
}

fn prompt(tokens: usize, request: usize, round: usize) -> Vec<u32> {
    (0..tokens)
        .map(|t| ((t * 31 + request + round * 131) % 256) as u32)
        .collect()
}
