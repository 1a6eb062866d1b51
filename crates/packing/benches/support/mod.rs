//! What the benches share: lengths, and the rivals in Python.

use std::path::Path;
use std::process::Command;

/// Log-normal lengths with sigma 1 and mean 1000, from 1 to `longest`, the same in every run.
pub(crate) fn log_normal_lengths(count: usize, longest: u32) -> Vec<u32> {
    let mut state = 7u64;
    let mut uniform = move || {
        // SplitMix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    };
    let length = |_| {
        let normal = (-2.0 * (1.0 - uniform()).ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos();
        let length = (1000f64.ln() - 0.5 + normal).exp();
        (length as u32).clamp(1, longest)
    };
    (0..count).map(length).collect()
}

/// What `benches/rivals/<script>` prints as its last line; None, with a line that says why, when it cannot run.
#[expect(clippy::print_stdout, reason = "a bench reports to whoever runs it")]
pub(crate) fn python(script: &str, args: &[&str]) -> Option<serde_json::Value> {
    let Some(python) = std::env::var_os("PRL_BENCH_PYTHON") else {
        println!("{script}: not measured (PRL_BENCH_PYTHON names no interpreter)");
        return None;
    };
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../benches/rivals")
        .join(script);
    let output = Command::new(python).arg(path).args(args).output().ok()?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        println!("{script}: not measured ({})", why.lines().last().unwrap_or("it failed"));
        return None;
    }
    serde_json::from_str(String::from_utf8(output.stdout).ok()?.lines().last()?).ok()
}
