//! Kernels of a training step by themselves, in turns with torch's: causal attention of one sequence in a layer of the shape of 100 million parameters.
//!
//! `cargo bench -p prl-engine --bench kernels [-- part-of-a-name]`; `PRL_BENCH_THREADS` sets the compute threads (default 2), `PRL_BENCH_ISA` the
//! instruction set (default the best), `PRL_BENCH_PYTHON` the interpreter that has torch, which runs on the same cores.

use std::time::Duration;

use prl_engine::measured::Attention;
use prl_engine::{ModelConfig, WeightDtype};

#[path = "support/asked.rs"]
mod asked;
#[path = "../../weights/benches/support/report.rs"]
mod report;
#[path = "support/turns.rs"]
mod turns;

use asked::{Asked, SHAPES};
use report::{report, shortest, spread};
use turns::Turns;

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Tokens of a sequence whose attention is measured.
const LENGTHS: [usize; 3] = [1_024, 4_096, 16_384];
const ROUNDS: usize = 6;
/// Longer than idle threads of ours and of torch spin, so that none takes a core from the other's.
const BETWEEN_TURNS: Duration = Duration::from_millis(20);

fn main() -> Outcome {
    let Some(asked) = Asked::read()? else { return Ok(()) };
    let mut config = ModelConfig::from_json(SHAPES[1].1)?;
    for dtype in [WeightDtype::F32, WeightDtype::Bf16] {
        config.dtype = dtype;
        let mut bench = Bench {
            asked: &asked,
            dtype: dtype.name(),
            torch: None,
        };
        bench.attention(&config);
    }
    Ok(())
}

struct Bench<'a> {
    asked: &'a Asked,
    dtype: &'static str,
    /// Starts with the first figure that is wanted.
    torch: Option<Option<Turns>>,
}

impl Bench<'_> {
    fn attention(&mut self, config: &ModelConfig) {
        let lengths = if self.asked.quick { &LENGTHS[..1] } else { &LENGTHS };
        let heads = [config.num_heads, config.num_kv_heads, config.head_dim];
        for &tokens in lengths {
            let ways = ["forward", "backward"].map(|way| (way, format!("attention-{way}-{tokens}-{}", self.dtype)));
            let wanted = ways.iter().filter(|(_, name)| name.contains(&self.asked.wanted));
            let mut attention = None;
            for (way, name) in wanted {
                let attention = attention.get_or_insert_with(|| Attention::new(&self.asked.compute, config, tokens));
                attention.forward();
                let line = format!("attention-{way} {tokens} {} {} {}", heads[0], heads[1], heads[2]);
                self.figure((name, "tokens/s"), (&line, tokens as f64), || {
                    std::hint::black_box(match *way {
                        "forward" => attention.forward(),
                        _ => attention.backward(),
                    });
                });
            }
        }
    }

    /// Prints the units a second of ours and of torch, which take turns.
    fn figure(&mut self, (name, unit): (&str, &str), (line, amount): (&str, f64), mut ours: impl FnMut()) {
        let Asked { compute, quick, .. } = self.asked;
        if *quick {
            return report(name, unit, amount / shortest(1, ours), &[]);
        }
        let torch = self
            .torch
            .get_or_insert_with(|| Turns::of_torch(compute.threads(), self.dtype));
        ours();
        let rounds: Vec<(f64, Option<f64>)> = (0..ROUNDS)
            .map(|_| {
                std::thread::sleep(BETWEEN_TURNS);
                let ours = shortest(1, &mut ours);
                std::thread::sleep(BETWEEN_TURNS);
                (ours, Turns::seconds(torch, line))
            })
            .collect();
        let rate = |seconds: f64| amount / seconds;
        let best = rounds.iter().map(|round| rate(round.0)).fold(0.0, f64::max);
        let rival = rounds.iter().filter_map(|round| round.1.map(rate)).reduce(f64::max);
        let rivals: Vec<_> = rival.iter().map(|rate| ("torch", *rate)).collect();
        report(name, unit, best, &rivals);
        let ratios: Vec<f64> = rounds
            .iter()
            .filter_map(|(ours, torch)| Some(torch.as_ref()? / ours))
            .collect();
        if !ratios.is_empty() {
            spread(name, "torch", ratios);
        }
    }
}
