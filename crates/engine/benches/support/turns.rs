//! A rival that takes turns with ours.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

#[path = "python.rs"]
mod python;

use python::{command_of, figure_in};

/// A script of `benches/rivals` that measures once for each line that it reads, so that ours and the rival's take turns.
pub(crate) struct Turns {
    rival: Child,
    lines: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Turns {
    /// Starts torch's kernels, with so many threads and in the format `dtype`; prints why and returns None when they cannot be measured.
    pub(crate) fn of_torch(threads: usize, dtype: &str) -> Option<Self> {
        let mut command = command_of("torch", "torch_kernels.py")?;
        command.args(["--threads", &threads.to_string(), "--dtype", dtype]);
        let mut rival = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
        let (lines, answers) = (rival.stdin.take()?, BufReader::new(rival.stdout.take()?));
        Some(Self { rival, lines, answers })
    }

    /// Seconds of what the line asks for. A rival that fails is given up, with a line that says so.
    #[expect(clippy::print_stdout, reason = "a bench reports on the terminal")]
    pub(crate) fn seconds(rival: &mut Option<Self>, line: &str) -> Option<f64> {
        let seconds = rival.as_mut()?.measure(line);
        if seconds.is_none() {
            println!("torch: not measured (benches/rivals/torch_kernels.py failed)");
            *rival = None;
        }
        seconds
    }

    fn measure(&mut self, line: &str) -> Option<f64> {
        writeln!(self.lines, "{line}").ok()?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer).ok()?;
        figure_in(&answer, "seconds")
    }
}

impl Drop for Turns {
    fn drop(&mut self) {
        let _ = self.rival.kill();
        let _ = self.rival.wait();
    }
}
