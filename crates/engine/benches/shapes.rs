//! Decode, prefill and training steps, of all weights and of an adapter (rank 16, all projections), of models of 12 and 100 million parameters, with
//! weights in float32 and bfloat16, beside torch (and peft) in both, and with frozen projections in int8. `decode` counts the prompts too; `step`
//! is a step behind 256 tokens alone, beside llama.cpp.
//!
//! `cargo bench -p prl-engine --bench shapes [-- part-of-a-name]`; `PRL_BENCH_THREADS` sets the compute threads (default 2), `PRL_BENCH_ISA` the
//! instruction set (default the best), `PRL_BENCH_PYTHON` the interpreter that has torch
//! and llama-cpp-python.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use prl_engine::generate::{GenerateRequest, Generator, GeneratorOptions};
use prl_engine::loss::Counts;
use prl_engine::{
    BaseDtype, Compute, LoraOptions, Model, TrainBatch, Trainer, TrainerOptions, WeightDtype, WeightFormat,
    random_checkpoint,
};

#[path = "support/asked.rs"]
mod asked;
#[path = "../../weights/benches/support/report.rs"]
mod report;
#[path = "support/rivals.rs"]
mod rivals;

use asked::{Asked, SHAPES};
use report::{report, shortest};
use rivals::{Shape, llamacpp, torch};

type Outcome = Result<(), Box<dyn std::error::Error>>;

const DTYPES: [WeightDtype; 2] = [WeightDtype::F32, WeightDtype::Bf16];
const BASES: [Option<BaseDtype>; 2] = [None, Some(BaseDtype::Int8)];
const BATCHES: [usize; 3] = [1, 16, 64];
/// Tokens of a prompt that decoding begins behind.
const PROMPTS: [usize; 2] = [16, 256];
const COMPLETION: usize = 32;
const PREFILL: usize = 512;
/// Tokens behind which a step is measured.
const DEPTH: usize = 256;
const SEQUENCES: usize = 8;
const LENGTH: usize = 256;
const ROUNDS: usize = 6;
/// Longer than any round takes; only a hang reaches it.
const ROUND_DEADLINE: Duration = Duration::from_secs(120);

fn main() -> Outcome {
    let Some(asked) = Asked::read()? else { return Ok(()) };
    let Asked { compute, wanted, quick } = &asked;
    for (shape, json) in SHAPES.into_iter().take(if *quick { 1 } else { SHAPES.len() }) {
        let folder = tempfile::tempdir()?;
        let config = folder.path().join("config");
        std::fs::create_dir_all(&config)?;
        std::fs::write(config.join("config.json"), json)?;
        random_checkpoint(&config, folder.path(), 1)?;
        let bench = Bench {
            shape,
            folder: folder.path(),
            compute,
            wanted,
            rounds: if *quick { 1 } else { ROUNDS },
            quick: *quick,
        };
        bench.run()?;
    }
    Ok(())
}

/// A library that does the same work.
#[derive(Clone, Copy)]
struct Rival {
    /// torch's figure, where it has one.
    torch: Option<&'static str>,
    /// llama.cpp's.
    llamacpp: Option<&'static str>,
    /// How many tokens of how many sequences torch counts.
    batch: usize,
    prompt: usize,
    completion: usize,
}

impl Rival {
    fn torch(figure: &'static str, (batch, prompt, completion): (usize, usize, usize)) -> Self {
        Self {
            torch: Some(figure),
            llamacpp: None,
            batch,
            prompt,
            completion,
        }
    }
}

struct Bench<'a> {
    shape: &'a str,
    folder: &'a Path,
    compute: &'a Arc<Compute>,
    wanted: &'a str,
    rounds: usize,
    quick: bool,
}

impl Bench<'_> {
    fn run(&self) -> Outcome {
        for (batch, prompt) in BATCHES.iter().flat_map(|batch| PROMPTS.map(|prompt| (*batch, prompt))) {
            let name = format!("decode-{batch}-behind-{prompt}");
            self.figure(
                &name,
                batch * COMPLETION,
                Rival::torch("decode", (batch, prompt, COMPLETION)),
                |format| {
                    let generator = self.generator(format, false)?;
                    Ok(self.rounds_of(&generator, (batch, prompt, COMPLETION), false))
                },
            )?;
        }
        for batch in BATCHES {
            let rival = Rival {
                torch: None,
                llamacpp: Some("decode"),
                batch,
                prompt: DEPTH,
                completion: COMPLETION,
            };
            self.figure(&format!("step-{batch}"), batch * COMPLETION, rival, |format| {
                let generator = self.generator(format, true)?;
                let [one, all] =
                    [1, 1 + COMPLETION].map(|tokens| self.rounds_of(&generator, (batch, DEPTH, tokens), true));
                Ok(all - one)
            })?;
        }
        let rival = Rival {
            llamacpp: Some("prefill"),
            ..Rival::torch("decode", (1, PREFILL, 1))
        };
        self.figure("prefill", PREFILL, rival, |format| {
            let generator = self.generator(format, false)?;
            Ok(self.rounds_of(&generator, (1, PREFILL, 1), false))
        })?;
        let tokens = SEQUENCES * LENGTH;
        self.figure("train", tokens, Rival::torch("train", (1, 1, tokens)), |format| {
            self.train(format, None)
        })?;
        let lora = || Some(LoraOptions::default());
        self.figure("adapter", tokens, Rival::torch("adapter", (1, 1, tokens)), |format| {
            self.train(format, lora())
        })
    }

    /// Prints tokens per second in all formats that there are for it, beside the rivals in those that they have.
    fn figure(
        &self,
        name: &str,
        tokens: usize,
        rival: Rival,
        seconds: impl Fn(WeightFormat) -> Result<f64, Box<dyn std::error::Error>>,
    ) -> Outcome {
        let bases: &[_] = if rival.torch == Some("train") {
            &BASES[..1]
        } else {
            &BASES
        };
        for (dtype, base) in DTYPES
            .iter()
            .flat_map(|dtype| bases.iter().map(move |base| (*dtype, *base)))
        {
            let base_name = base.map_or("", |_| "-int8");
            let name = format!("{}-{name}-{}{base_name}", self.shape, dtype.name());
            if !name.contains(self.wanted) {
                continue;
            }
            let rate = tokens as f64 / seconds(WeightFormat { dtype, base })?;
            let rivals = if self.quick {
                Vec::new()
            } else {
                self.rivals(rival, tokens, (dtype, base))
            };
            report(&name, "tokens/s", rate, &rivals);
        }
        Ok(())
    }

    /// The rates of the rivals that are installed.
    fn rivals(
        &self,
        rival: Rival,
        tokens: usize,
        (dtype, base): (WeightDtype, Option<BaseDtype>),
    ) -> Vec<(&'static str, f64)> {
        let sizes = Shape {
            sequences: SEQUENCES,
            length: LENGTH,
            batch: rival.batch,
            prompt: rival.prompt,
            completion: rival.completion,
            rounds: self.rounds,
        };
        let threads = self.compute.threads();
        let by_torch = rival.torch.filter(|_| base.is_none()).and_then(|figure| {
            let share = tokens as f64 / (rival.batch * rival.completion) as f64;
            Some((
                "torch",
                share * torch(figure, self.folder, (threads, dtype.name()), &sizes)?,
            ))
        });
        let by_llamacpp = rival.llamacpp.and_then(|figure| {
            let dtype = base.map_or(dtype.name(), |_| "int8");
            Some(("llama.cpp", llamacpp(figure, self.folder, (threads, dtype), &sizes)?))
        });
        by_torch.into_iter().chain(by_llamacpp).collect()
    }

    fn generator(&self, format: WeightFormat, prefix_cache: bool) -> Result<Generator, Box<dyn std::error::Error>> {
        let model = Arc::new(Model::load_as(self.folder, format, self.compute)?);
        let options = GeneratorOptions {
            prefix_cache,
            ..GeneratorOptions::default()
        };
        Ok(Generator::start(model, Arc::clone(self.compute), options)?)
    }

    /// Seconds of the best of several rounds, prompts included. The cache knows prompts that are the `same` in all rounds from the second on.
    fn rounds_of(&self, generator: &Generator, (batch, prompt, completion): (usize, usize, usize), same: bool) -> f64 {
        let round = |round: usize| {
            let requests = (0..batch)
                .map(|at| GenerateRequest {
                    ignore_eos: true,
                    final_only: true,
                    seed: at as u64,
                    ..GenerateRequest::new(
                        format!("{round}-{at}"),
                        (0..prompt)
                            .map(|t| ((t * 31 + at + if same { 0 } else { round * 131 }) % 256) as u32)
                            .collect(),
                        completion as u32,
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
        shortest(self.rounds + 1, || rounds.next().map(round))
    }

    /// Seconds of one step: forward, backward and AdamW.
    fn train(&self, format: WeightFormat, lora: Option<LoraOptions>) -> Result<f64, Box<dyn std::error::Error>> {
        let options = TrainerOptions {
            dtype: format.dtype,
            base_dtype: format.base,
            lora,
            ..TrainerOptions::default()
        };
        let mut trainer = Trainer::open(self.folder, self.compute, options)?;
        let tokens = SEQUENCES * LENGTH;
        let input_ids: Vec<u32> = (0..tokens).map(|at| (at * 7919 % 4096) as u32).collect();
        let cu_seqlens: Vec<u32> = (0..=SEQUENCES).map(|at| (at * LENGTH) as u32).collect();
        let batch = TrainBatch {
            input_ids: &input_ids,
            inference_logprobs: &vec![-5.5; tokens],
            advantages: &vec![0.5; tokens],
            temperatures: &[1.0],
            loss_mask: &(0..tokens).map(|at| u8::from(at % LENGTH > 0)).collect::<Vec<u8>>(),
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
                rl: tokens as f64,
                ce: 1.0,
                ref_kl: 1.0,
                sequences: None,
            },
            on_policy_version: None,
        };
        Ok(shortest(self.rounds, || {
            trainer.forward_backward(&batch).expect("the batch runs");
            trainer.step(None).expect("the step runs")
        }))
    }
}
