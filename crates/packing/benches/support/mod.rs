//! The rivals of the benches, in Python.

use std::path::Path;
use std::process::Command;

/// The last line that `benches/rivals/<script>` prints; prints why and returns None when the script cannot run.
#[expect(clippy::print_stdout, reason = "a bench reports on the terminal")]
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
