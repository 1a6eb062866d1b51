//! The scripts of `benches/rivals`, run when `PRL_BENCH_PYTHON` names an interpreter.

use std::path::Path;
use std::process::Command;

/// The interpreter with a script of `benches/rivals`; prints why and returns None when there is none.
#[expect(clippy::print_stdout, reason = "a bench reports on the terminal")]
pub(super) fn command_of(rival: &str, script: &str) -> Option<Command> {
    let Some(python) = std::env::var_os("PRL_BENCH_PYTHON") else {
        println!("{rival}: not measured (PRL_BENCH_PYTHON names no interpreter)");
        return None;
    };
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../benches/rivals")
        .join(script);
    let mut command = Command::new(python);
    command.arg(path);
    Some(command)
}

/// The number called `figure` in the object of a line.
pub(super) fn figure_in(line: &str, figure: &str) -> Option<f64> {
    let value: serde_json::Value = serde_json::from_str(line).ok()?;
    value[figure].as_f64()
}
