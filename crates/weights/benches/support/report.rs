//! How a bench reports: a line for people and `target/prl-bench/<name>.json` for machines.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;
use std::{fs, thread};

use serde_json::json;

/// Prints ours beside each rival of the same run, in units per second, and writes both. The ratio is above 1 where
/// ours is better; with several rivals it is that of the best.
#[expect(clippy::print_stdout, reason = "a bench reports on the terminal")]
pub(crate) fn report(name: &str, unit: &str, ours: f64, rivals: &[(&str, f64)]) {
    let beside: Vec<String> = rivals
        .iter()
        .map(|(rival, value)| format!("{rival} {value:.2} ({:.2}x)", ours / value))
        .collect();
    println!("{name:<32} {ours:>10.2} {unit:<10} {}", beside.join(", "));
    let ratio = rivals.iter().map(|(_, value)| ours / value).reduce(f64::min);
    let rivals: BTreeMap<_, _> = rivals.iter().copied().collect();
    let result = json!({
        "name": name, "unit": unit, "better": "higher", "ours": ours, "rivals": rivals, "ratio": ratio,
        "machine": machine(),
    });
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/prl-bench");
    fs::create_dir_all(&directory).expect("target can be written");
    fs::write(directory.join(format!("{name}.json")), format!("{result:#}\n")).expect("target can be written");
}

/// Prints how ours stood to a rival in each round of the same run: the middle, the worst and the best. Above 1 ours is better.
#[expect(clippy::print_stdout, reason = "a bench reports on the terminal")]
#[allow(dead_code, clippy::allow_attributes, reason = "not every bench has rounds")]
pub(crate) fn spread(name: &str, rival: &str, mut ratios: Vec<f64>) {
    ratios.sort_by(f64::total_cmp);
    let (worst, best) = (ratios[0], ratios[ratios.len() - 1]);
    let middle = ratios[ratios.len() / 2];
    println!(
        "{name:<32} {rival}: {middle:.2}x in the middle of {} rounds, {worst:.2}x to {best:.2}x",
        ratios.len()
    );
}

/// The shortest of `rounds` runs, in seconds; what they give is freed after the clock has stopped.
#[allow(dead_code, clippy::allow_attributes, reason = "not every bench wants it")]
pub(crate) fn shortest<T>(rounds: usize, mut run: impl FnMut() -> T) -> f64 {
    let time = |_| {
        let start = Instant::now();
        let result = std::hint::black_box(run());
        let seconds = start.elapsed().as_secs_f64();
        drop(result);
        seconds
    };
    (0..rounds).map(time).fold(f64::INFINITY, f64::min)
}

fn machine() -> serde_json::Value {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    json!({
        "cpu": model.map_or(std::env::consts::ARCH, |(_, model)| model),
        "cores": thread::available_parallelism().map_or(0, usize::from),
        "load1": load.split(' ').next().and_then(|load| load.parse::<f64>().ok()),
    })
}
