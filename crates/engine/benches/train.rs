//! Tokens per second of training, prefill and decode on the reverse-text model, at one and two threads.
//!
//! `cargo bench -p prl-engine --bench train [-- part-of-a-name]`. Prints a line per figure and writes `target/prl-bench/engine-<figure>.json`.
#![expect(clippy::print_stdout, reason = "a bench reports on standard output")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use prl_engine::loss::Counts;
use prl_engine::{
    CachedSequence, Compute, KvCache, Model, OptimConfig, Tier, TrainBatch, Trainer, TrainerOptions, head,
    random_checkpoint,
};

/// The model of the reverse-text example: 1.5 M parameters, bytes as tokens.
const CONFIG: &str = r#"{"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "vocab_size": 260, "hidden_size": 192,
    "intermediate_size": 576, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64,
    "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "max_position_embeddings": 512, "tie_word_embeddings": true}"#;
const SEQUENCES: usize = 64;
const LENGTH: usize = 27;
/// Tokens of a sequence that train in the RL batch: the completion.
const COMPLETION: usize = 9;
const DECODED: usize = 128;
const REPEATS: usize = 15;

fn main() -> anyhow_lite::Result {
    // Test runners ask a bench for its tests, and run it with --test: one pass is enough to see that it works.
    if std::env::args().any(|argument| argument == "--list") {
        return Ok(());
    }
    let quick = std::env::args().any(|argument| argument == "--test");
    let repeats = if quick { 1 } else { REPEATS };
    let folder = std::env::temp_dir().join(format!("prl-engine-bench-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("config"))?;
    std::fs::write(folder.join("config/config.json"), CONFIG)?;
    random_checkpoint(&folder.join("config"), &folder, 1)?;
    let filter = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let outcome = run(&folder, repeats, filter);
    std::fs::remove_dir_all(&folder)?;
    outcome
}

/// `Result` of a bench: any error ends it.
mod anyhow_lite {
    pub(crate) type Result = std::result::Result<(), Box<dyn std::error::Error>>;
}

fn run(folder: &Path, repeats: usize, filter: Option<String>) -> anyhow_lite::Result {
    let tiers: Vec<Tier> = Tier::ALL.into_iter().filter(|tier| tier.is_available()).collect();
    println!("{:<34} {:>12} {:>10}", "figure", "tokens/s", "ms");
    for tier in tiers {
        let best = tier == Tier::detect();
        for threads in if best { vec![1, 2] } else { vec![1] } {
            let compute = Compute::new(threads, Some(tier))?;
            let name_of = |figure: &str| format!("engine-{figure}-{}-{threads}t", tier.name());
            let wanted = |figure: &str| filter.as_ref().is_none_or(|part| name_of(figure).contains(part));
            let report = |figure: &str, tokens: usize, seconds: f64| {
                let name = name_of(figure);
                let rate = tokens as f64 / seconds;
                println!("{name:<34} {rate:>12.0} {:>10.2}", seconds * 1e3);
                if best { write_figure(&name, rate) } else { Ok(()) }
            };
            for (figure, trained) in [("train-all", LENGTH - 1), ("train-rl", COMPLETION)] {
                if wanted(figure) {
                    report(figure, SEQUENCES * LENGTH, train(folder, &compute, trained, repeats)?)?;
                }
            }
            let model = Model::load(folder, &compute)?;
            if wanted("prefill") {
                report("prefill", SEQUENCES * LENGTH, prefill(&model, &compute, repeats)?)?;
            }
            if wanted("decode") {
                report("decode", DECODED, decode(&model, &compute, repeats)?)?;
            }
        }
    }
    Ok(())
}

fn median(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}

/// Seconds of one step: forward, backward and AdamW over the batch.
fn train(
    folder: &Path,
    compute: &Arc<Compute>,
    trained: usize,
    repeats: usize,
) -> Result<f64, Box<dyn std::error::Error>> {
    let options = TrainerOptions {
        optim: OptimConfig {
            lr: 1e-4,
            ..OptimConfig::default()
        },
        ..TrainerOptions::default()
    };
    let mut trainer = Trainer::open(folder, compute, options)?;
    let tokens = SEQUENCES * LENGTH;
    let input_ids: Vec<u32> = (0..tokens).map(|at| (at * 7919 % 256) as u32).collect();
    let loss_mask: Vec<u8> = (0..tokens)
        .map(|at| u8::from(at % LENGTH >= LENGTH - trained))
        .collect();
    let cu_seqlens: Vec<u32> = (0..=SEQUENCES).map(|at| (at * LENGTH) as u32).collect();
    let batch = TrainBatch {
        input_ids: &input_ids,
        inference_logprobs: &vec![-5.5; tokens],
        advantages: &vec![0.5; tokens],
        temperatures: &[1.0],
        loss_mask: &loss_mask,
        cu_seqlens: &cu_seqlens,
        bin_seq_offsets: None,
        policy_version_spans: None,
        rl_weights: None,
        ce_weights: None,
        ref_kl_weights: None,
        reference_logprobs: None,
        counts: Counts {
            rl: (SEQUENCES * trained) as f64,
            ce: 1.0,
            ref_kl: 1.0,
        },
        on_policy_version: None,
    };
    let mut seconds = Vec::new();
    for repeat in 0..=repeats {
        let start = Instant::now();
        trainer.forward_backward(&batch)?;
        trainer.step(None)?;
        if repeat > 0 {
            seconds.push(start.elapsed().as_secs_f64());
        }
    }
    Ok(median(seconds))
}

/// Seconds to score the batch.
fn prefill(model: &Model, compute: &Compute, repeats: usize) -> Result<f64, Box<dyn std::error::Error>> {
    let input_ids: Vec<u32> = (0..SEQUENCES * LENGTH).map(|at| (at * 7919 % 256) as u32).collect();
    let cu_seqlens: Vec<u32> = (0..=SEQUENCES).map(|at| (at * LENGTH) as u32).collect();
    let mut seconds = Vec::new();
    for repeat in 0..=repeats {
        let start = Instant::now();
        std::hint::black_box(model.logprobs(compute, &input_ids, &cu_seqlens, &[1.0])?);
        if repeat > 0 {
            seconds.push(start.elapsed().as_secs_f64());
        }
    }
    Ok(median(seconds))
}

/// Seconds of one decode step of 128 sequences at position 18, log-probabilities included.
fn decode(model: &Model, compute: &Compute, repeats: usize) -> Result<f64, Box<dyn std::error::Error>> {
    const PROMPT: usize = 18;
    const BLOCKS: u32 = 2;
    let mut cache = KvCache::new(model.config(), DECODED * BLOCKS as usize);
    let prompt: Vec<u32> = (0..PROMPT as u32).map(|at| at * 37 % 256).collect();
    let tables: Vec<Vec<u32>> = (0..DECODED as u32)
        .map(|at| (at * BLOCKS..(at + 1) * BLOCKS).collect())
        .collect();
    let step = |cache: &mut KvCache, tokens: &[u32], start: usize| -> Result<f32, Box<dyn std::error::Error>> {
        let sequences: Vec<CachedSequence<'_>> = tables
            .iter()
            .map(|blocks| CachedSequence {
                token_ids: tokens,
                start,
                blocks,
            })
            .collect();
        let hidden = model.forward_cached(compute, &sequences, cache)?;
        let width = model.config().hidden_size;
        let last: Vec<f32> = hidden
            .chunks(width * tokens.len())
            .flat_map(|rows| rows[rows.len() - width..].to_vec())
            .collect();
        let logits = model.head_logits(compute, &last);
        Ok(logits
            .chunks(model.config().vocab_size)
            .map(|row| head::row_logprob(compute, row, 1.0, 65))
            .sum())
    };
    std::hint::black_box(step(&mut cache, &prompt, 0)?);
    let mut seconds = Vec::new();
    for repeat in 0..=repeats * 5 {
        let start = Instant::now();
        std::hint::black_box(step(&mut cache, &[65], PROMPT)?);
        if repeat > 0 {
            seconds.push(start.elapsed().as_secs_f64());
        }
    }
    Ok(median(seconds))
}

/// Writes one figure where the project's benches collect theirs.
fn write_figure(name: &str, ours: f64) -> anyhow_lite::Result {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target")),
        PathBuf::from,
    );
    let folder = target.join("prl-bench");
    std::fs::create_dir_all(&folder)?;
    let machine = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = machine
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .unwrap_or("unknown");
    let figure = serde_json::json!({"name": name, "unit": "tokens/s", "better": "higher", "ours": ours, "rivals": {},
        "ratio": null, "machine": model.trim_start_matches(['\t', ' ', ':'])});
    std::fs::write(folder.join(format!("{name}.json")), format!("{figure:#}\n"))?;
    Ok(())
}
