//! Kernels of a training step by themselves, in turns with torch's: causal attention of one sequence in a layer of the shape of 100 million parameters,
//! and the products of projections and the gradients of their weights, also beside what the cores multiply at most.
//!
//! `cargo bench -p prl-engine --bench kernels [-- part-of-a-name]`; `PRL_BENCH_THREADS` sets the compute threads (default 2), `PRL_BENCH_ISA` the
//! instruction set (default the best), `PRL_BENCH_PYTHON` the interpreter that has torch, which runs on the same cores.

use std::hint::black_box;
use std::time::Duration;

use prl_engine::measured::{Attention, Projection};
use prl_engine::{ModelConfig, WeightDtype};

#[path = "support/asked.rs"]
mod asked;
#[path = "support/peak.rs"]
mod peak;
#[path = "../../weights/benches/support/report.rs"]
mod report;
#[path = "support/turns.rs"]
mod turns;

use asked::{Asked, SHAPES};
use peak::peak;
use report::{report, shortest, spread};
use turns::Turns;

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Tokens of a sequence whose attention is measured.
const LENGTHS: [usize; 3] = [1_024, 4_096, 16_384];
/// Tokens, outputs and inputs of projections.
const PROJECTIONS: [[usize; 3]; 4] = [
    [2_048, 768, 768],
    [2_048, 768, 2_048],
    [2_048, 1_024, 1_024],
    [1_024, 1_024, 1_024],
];
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
            dtype,
            torch: None,
        };
        bench.attention(&config);
        bench.projections();
    }
    Ok(())
}

struct Bench<'a> {
    asked: &'a Asked,
    dtype: WeightDtype,
    /// Starts with the first figure that is wanted.
    torch: Option<Option<Turns>>,
}

/// The part that is measured.
struct Figure<'a> {
    name: &'a str,
    unit: &'a str,
    /// Units of one call.
    amount: f64,
    /// The line that is sent to torch.
    line: &'a str,
    /// Whether the unit is that of the peak.
    has_peak: bool,
}

impl Bench<'_> {
    fn attention(&mut self, config: &ModelConfig) {
        let lengths = if self.asked.quick { &LENGTHS[..1] } else { &LENGTHS };
        let heads = [config.num_heads, config.num_kv_heads, config.head_dim];
        for &tokens in lengths {
            let mut attention = None;
            for (way, name) in self.wanted(["forward", "backward"], |way| format!("attention-{way}-{tokens}")) {
                let attention = attention.get_or_insert_with(|| Attention::new(&self.asked.compute, config, tokens));
                attention.forward();
                let figure = Figure {
                    name: &name,
                    unit: "tokens/s",
                    amount: tokens as f64,
                    line: &format!("attention-{way} {tokens} {} {} {}", heads[0], heads[1], heads[2]),
                    has_peak: false,
                };
                self.figure(&figure, || {
                    black_box(match way {
                        "forward" => attention.forward(),
                        _ => attention.backward(),
                    });
                });
            }
        }
    }

    fn projections(&mut self) {
        let sizes = if self.asked.quick {
            &PROJECTIONS[..1]
        } else {
            &PROJECTIONS
        };
        for &[tokens, outputs, inputs] in sizes {
            let mut projection = None;
            for (what, name) in self.wanted(["product", "gradient"], |what| {
                format!("{what}s-{tokens}-{outputs}x{inputs}")
            }) {
                let projection = projection
                    .get_or_insert_with(|| Projection::new(&self.asked.compute, self.dtype, [tokens, outputs, inputs]));
                projection.forward();
                let figure = Figure {
                    name: &name,
                    unit: "GFLOP/s",
                    amount: 2e-9 * (tokens * outputs * inputs) as f64,
                    line: &format!("{what} {tokens} {outputs} {inputs}"),
                    has_peak: true,
                };
                self.figure(&figure, || {
                    black_box(match what {
                        "product" => projection.forward(),
                        _ => projection.add_gradient(),
                    });
                });
            }
        }
    }

    /// The figures that are wanted, with their names.
    fn wanted(&self, figures: [&'static str; 2], name: impl Fn(&str) -> String) -> Vec<(&'static str, String)> {
        let named = figures.map(|figure| (figure, format!("{}-{}", name(figure), self.dtype.name())));
        named
            .into_iter()
            .filter(|(_, name)| name.contains(&self.asked.wanted))
            .collect()
    }

    /// Prints the units a second of ours, of torch and of the peak, which take turns.
    fn figure(&mut self, figure: &Figure<'_>, mut ours: impl FnMut()) {
        let Figure { name, unit, amount, .. } = *figure;
        let Asked { compute, quick, .. } = self.asked;
        if *quick {
            return report(name, unit, amount / shortest(1, ours), &[]);
        }
        let torch = self
            .torch
            .get_or_insert_with(|| Turns::of_torch(compute.threads(), self.dtype.name()));
        ours();
        let (mut best, mut torch_best, mut peak_best) = (0f64, None, None);
        let mut ratios = Vec::new();
        for _ in 0..ROUNDS {
            std::thread::sleep(BETWEEN_TURNS);
            let own = amount / shortest(1, &mut ours);
            std::thread::sleep(BETWEEN_TURNS);
            let of_torch = Turns::seconds(torch, figure.line).map(|seconds| amount / seconds);
            std::thread::sleep(BETWEEN_TURNS);
            let of_peak = figure.has_peak.then(|| peak(compute, self.dtype)).flatten();
            best = best.max(own);
            torch_best = higher(torch_best, of_torch);
            peak_best = higher(peak_best, of_peak.map(|operations| operations / 1e9));
            ratios.extend(of_torch.map(|rate| own / rate));
        }
        let rivals = [("torch", torch_best), ("peak", peak_best)];
        let measured: Vec<_> = rivals
            .into_iter()
            .filter_map(|(rival, rate)| Some((rival, rate?)))
            .collect();
        report(name, unit, best, &measured);
        if !ratios.is_empty() {
            spread(name, "torch", ratios);
        }
    }
}

fn higher(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    one.into_iter().chain(other).reduce(f64::max)
}
