//! The rival of the engine's benches: torch and transformers on the same checkpoint, run when `PRL_BENCH_PYTHON` names an interpreter that
//! has them.

use std::path::Path;
use std::process::Command;

/// Sizes of what is measured.
pub(crate) struct Shape {
    pub(crate) sequences: usize,
    pub(crate) length: usize,
    pub(crate) batch: usize,
    pub(crate) prompt: usize,
    pub(crate) completion: usize,
    pub(crate) rounds: usize,
}

/// Tokens per second of `figure`, "train", "adapter" or "decode", with so many threads and in the format `dtype`; prints why and returns None when it
/// cannot be measured.
#[expect(clippy::print_stdout, reason = "a bench reports on the terminal")]
pub(crate) fn torch(figure: &str, model: &Path, (threads, dtype): (usize, &str), shape: &Shape) -> Option<f64> {
    let Some(python) = std::env::var_os("PRL_BENCH_PYTHON") else {
        println!("torch: not measured (PRL_BENCH_PYTHON names no interpreter)");
        return None;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches/rivals/torch_engine.py");
    let Shape {
        sequences,
        length,
        batch,
        prompt,
        completion,
        rounds,
    } = *shape;
    let sizes = [sequences, length, batch, prompt, completion, rounds].map(|size| size.to_string());
    let output = Command::new(python)
        .arg(script)
        .arg("--model")
        .arg(model)
        .args(["--only", figure, "--dtype", dtype])
        .args(["--threads", &threads.to_string(), "--shape"])
        .args(sizes)
        .output();
    let rate = output.ok().filter(|output| output.status.success()).and_then(|output| {
        let text = String::from_utf8(output.stdout).ok()?;
        let value: serde_json::Value = serde_json::from_str(text.lines().last()?).ok()?;
        value[figure].as_f64()
    });
    if rate.is_none() {
        println!("torch: not measured (benches/rivals/torch_engine.py failed)");
    }
    rate
}
