//! Decode and prefill tokens per second of the generator, on the model of configs/reverse-text with random weights.
//!
//! `PRL_BENCH_THREADS` sets the compute threads (default 2). Prints one line per figure and writes
//! `target/prl-bench/<name>.json`.
#![allow(clippy::print_stdout, clippy::allow_attributes, reason = "a bench prints")]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use prl_engine::generate::{GenerateRequest, Generator, GeneratorOptions};
use prl_engine::{Compute, Model, random_checkpoint};

const BATCHES: [usize; 4] = [1, 16, 64, 128];
const PROMPT_TOKENS: usize = 17;
const COMPLETION_TOKENS: u32 = 48;
const PREFILL_PROMPT_TOKENS: usize = 120;
const PREFILL_BATCH: usize = 64;
const ROUNDS: usize = 5;
/// Longer than any round: reached only when generation hangs.
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
    let out = root.join("target/prl-bench");
    let report = |name: String, tokens_per_second: f64| {
        println!("{name}: {tokens_per_second:.0} tokens/s");
        let machine = serde_json::json!({ "isa": compute.tier().name(), "threads": compute.threads() });
        let value = serde_json::json!({ "name": name, "unit": "tokens/s", "better": "higher", "ours": tokens_per_second,
            "rivals": {}, "ratio": null, "machine": machine });
        std::fs::create_dir_all(&out).expect("target/prl-bench can be made");
        let text = serde_json::to_string_pretty(&value).expect("a report is JSON");
        std::fs::write(out.join(format!("{name}.json")), text + "\n").expect("a report can be written");
    };
    for batch in BATCHES {
        let seconds = best_seconds(&generator, batch, PROMPT_TOKENS, COMPLETION_TOKENS);
        report(
            format!("engine-decode-{batch}"),
            batch as f64 * f64::from(COMPLETION_TOKENS) / seconds,
        );
    }
    let seconds = best_seconds(&generator, PREFILL_BATCH, PREFILL_PROMPT_TOKENS, 1);
    report(
        "engine-prefill".to_owned(),
        (PREFILL_BATCH * PREFILL_PROMPT_TOKENS) as f64 / seconds,
    );
}

/// Seconds of the best of several rounds, prompts included, after one that warms up.
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
        start.elapsed().as_secs_f64()
    };
    round(0);
    (1..=ROUNDS).map(round).fold(f64::INFINITY, f64::min)
}

fn prompt(tokens: usize, request: usize, round: usize) -> Vec<u32> {
    (0..tokens)
        .map(|t| ((t * 31 + request + round * 131) % 256) as u32)
        .collect()
}
