//! The rivals of the engine's benches, run when `PRL_BENCH_PYTHON` names an interpreter that has them: torch and transformers on the same
//! checkpoint, and llama.cpp on random weights of the same shape.

use std::path::Path;
use std::process::Command;

#[path = "python.rs"]
mod python;

use python::{command_of, figure_in};

/// Sizes of what is measured.
#[derive(Clone, Copy)]
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
pub(crate) fn torch(figure: &str, model: &Path, (threads, dtype): (usize, &str), shape: &Shape) -> Option<f64> {
    let Shape {
        sequences,
        length,
        batch,
        prompt,
        completion,
        rounds,
    } = *shape;
    let sizes = [sequences, length, batch, prompt, completion, rounds];
    run("torch", "torch_engine.py", figure, |command| {
        command.arg("--model").arg(model);
        command.args(["--only", figure, "--dtype", dtype]);
        command.args(["--threads", &threads.to_string(), "--shape"]);
        command.args(sizes.map(|size| size.to_string()));
    })
}

/// Tokens per second of `figure`, "prefill" or "decode" (steps behind the prompt, without sampling), as [`torch`] gives them; `dtype` may be "int8".
#[allow(dead_code, clippy::allow_attributes, reason = "not every bench has this rival")]
pub(crate) fn llamacpp(figure: &str, model: &Path, (threads, dtype): (usize, &str), shape: &Shape) -> Option<f64> {
    let sizes = [shape.batch, shape.prompt, shape.completion];
    run("llama.cpp", "llamacpp_engine.py", figure, |command| {
        command.arg("--model").arg(model).args(["--dtype", dtype]);
        command.args(["--rounds", &shape.rounds.to_string()]);
        command.args(["--threads", &threads.to_string(), "--shape"]);
        command.args(sizes.map(|size| size.to_string()));
    })
}

/// The figure in the object that a script of `benches/rivals` prints last.
#[expect(clippy::print_stdout, reason = "a bench reports on the terminal")]
fn run(rival: &str, script: &str, figure: &str, arguments: impl FnOnce(&mut Command)) -> Option<f64> {
    let mut command = command_of(rival, script)?;
    arguments(&mut command);
    let output = command.output();
    let rate = output.ok().filter(|output| output.status.success()).and_then(|output| {
        let text = String::from_utf8(output.stdout).ok()?;
        figure_in(text.lines().last()?, figure)
    });
    if rate.is_none() {
        println!("{rival}: not measured (benches/rivals/{script} failed)");
    }
    rate
}
