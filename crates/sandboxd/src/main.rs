//! `prl-sandboxd`: see the crate's documentation.

use std::process::ExitCode;

fn main() -> ExitCode {
    prl_sandboxd::run(std::env::args().collect())
}
