//! Tokens per second of training, prefill and decode on the reverse-text model for every tier, beside torch at two threads.
//!
//! `cargo bench -p prl-engine --bench train [-- part-of-a-name]`; `PRL_BENCH_PYTHON` names the interpreter that has torch.

use std::path::Path;
use std::sync::Arc;

use prl_engine::loss::Counts;
use prl_engine::{
    CachedSequence, Compute, KvCache, Model, OptimConfig, Tier, TrainBatch, Trainer, TrainerOptions, head,
    random_checkpoint,
};

#[path = "../../weights/benches/support/report.rs"]
mod report;
#[path = "support/rivals.rs"]
mod rivals;

use report::{report, shortest};
use rivals::{Shape, torch};

/// The model of the reverse-text example: 1.5 M parameters, bytes as tokens.
const CONFIG: &str = r#"{"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "vocab_size": 260, "hidden_size": 192,
    "intermediate_size": 576, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64,
    "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "max_position_embeddings": 512, "tie_word_embeddings": true}"#;
const SEQUENCES: usize = 64;
const LENGTH: usize = 27;
/// Tokens of a sequence that train in the RL batch: the completion.
const COMPLETION: usize = 9;
/// Sequences with one prompt, where they come in groups.
const GROUP: usize = 8;
const DECODED: usize = 128;
const REPEATS: usize = 15;
/// The tokens that torch trains: every token of the same batch.
const RIVAL: Shape = Shape {
    sequences: SEQUENCES,
    length: LENGTH,
    batch: 1,
    prompt: 1,
    completion: 1,
    rounds: REPEATS,
};

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn main() -> Outcome {
    // A test runner lists a bench's tests, then runs it with --test; one pass is enough to see that it works.
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

fn run(folder: &Path, repeats: usize, filter: Option<String>) -> Outcome {
    let tiers: Vec<Tier> = Tier::ALL.into_iter().filter(|tier| tier.is_available()).collect();
    for tier in tiers {
        let best = tier == Tier::detect();
        for threads in if best { vec![1, 2] } else { vec![1] } {
            let compute = Compute::new(threads, Some(tier))?;
            let name_of = |figure: &str| format!("engine-{figure}-{}-{threads}t", tier.name());
            let wanted = |figure: &str| filter.as_ref().is_none_or(|part| name_of(figure).contains(part));
            let figure = |figure: &str, tokens: usize, seconds: f64, rivals: &[(&str, f64)]| {
                report(&name_of(figure), "tokens/s", tokens as f64 / seconds, rivals);
            };
            if wanted("train-all") {
                let seconds = train(folder, &compute, LENGTH - 1, 1, repeats)?;
                let rival = (best && threads == 2)
                    .then(|| torch("train", folder, (threads, "float32"), &RIVAL))
                    .flatten();
                let rivals: Vec<_> = rival.iter().map(|rate| ("torch", *rate)).collect();
                figure("train-all", SEQUENCES * LENGTH, seconds, &rivals);
            }
            if wanted("train-rl") {
                let seconds = train(folder, &compute, COMPLETION, 1, repeats)?;
                figure("train-rl", SEQUENCES * LENGTH, seconds, &[]);
            }
            if wanted("train-groups") {
                let seconds = train(folder, &compute, COMPLETION, GROUP, repeats)?;
                figure("train-groups", SEQUENCES * LENGTH, seconds, &[]);
            }
            let model = Model::load(folder, &compute)?;
            if wanted("prefill") {
                figure("prefill", SEQUENCES * LENGTH, prefill(&model, &compute, repeats)?, &[]);
            }
            if wanted("decode") {
                figure("decode", DECODED, decode(&model, &compute, repeats)?, &[]);
            }
        }
    }
    Ok(())
}

/// Seconds of one step: forward, backward and AdamW over the batch, in which `group` sequences have one prompt.
fn train(
    folder: &Path,
    compute: &Arc<Compute>,
    trained: usize,
    group: usize,
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
    let mut input_ids: Vec<u32> = (0..tokens).map(|at| (at * 7919 % 256) as u32).collect();
    for sequences in input_ids.chunks_mut(group * LENGTH) {
        for later in 1..group {
            sequences.copy_within(..LENGTH - trained, later * LENGTH);
        }
    }
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
        env_ids: None,
        policy_version_spans: None,
        rl_weights: None,
        ce_weights: None,
        ref_kl_weights: None,
        reference_logprobs: None,
        routed_experts: None,
        counts: Counts {
            rl: (SEQUENCES * trained) as f64,
            ce: 1.0,
            ref_kl: 1.0,
            sequences: None,
        },
        on_policy_version: None,
    };
    let mut step = || trainer.forward_backward(&batch).and_then(|_| trainer.step(None));
    step()?;
    Ok(shortest(repeats, || step().expect("a step that ran once runs again")))
}

/// Seconds to score the batch.
fn prefill(model: &Model, compute: &Compute, repeats: usize) -> Result<f64, Box<dyn std::error::Error>> {
    let input_ids: Vec<u32> = (0..SEQUENCES * LENGTH).map(|at| (at * 7919 % 256) as u32).collect();
    let cu_seqlens: Vec<u32> = (0..=SEQUENCES).map(|at| (at * LENGTH) as u32).collect();
    let score = || model.logprobs(compute, &input_ids, &cu_seqlens, &[1.0]);
    score()?;
    Ok(shortest(repeats, score))
}

/// Seconds of one decode step of 128 sequences at position 18, log-probabilities included.
fn decode(model: &Model, compute: &Compute, repeats: usize) -> Result<f64, Box<dyn std::error::Error>> {
    const PROMPT: usize = 18;
    const BLOCKS: u32 = 2;
    let mut cache = model.kv_cache(DECODED * BLOCKS as usize);
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
                adapter: None,
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
    step(&mut cache, &[65], PROMPT)?;
    Ok(shortest(repeats * 5, || {
        step(&mut cache, &[65], PROMPT).expect("a step that ran once runs again")
    }))
}
