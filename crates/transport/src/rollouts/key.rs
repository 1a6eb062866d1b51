//! The key of a batch, and the path of its file below a spool or an inbox.

use std::fmt;
use std::path::{Path, PathBuf};

use prl_weights::SafetensorsFile;

use crate::TransportError;

/// A batch for one rank. Of two attempts at the same (run, step, rank) the newer one counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchKey {
    /// Id of the run.
    pub run_id: String,
    /// The attempt that assembled it.
    pub attempt: u32,
    /// The step that it trains.
    pub step: u64,
    /// Data-parallel rank that trains on it.
    pub rank: u32,
}

impl BatchKey {
    /// `step_<s>/rank_<r>.safetensors`.
    pub(crate) fn path(step: u64, rank: u32) -> PathBuf {
        PathBuf::from(format!("step_{step}")).join(format!("rank_{rank}.safetensors"))
    }

    /// The key in the metadata of the file at `path`.
    pub(crate) fn of_file(path: &Path) -> Result<Self, TransportError> {
        let file = SafetensorsFile::open(path)?;
        let text = |key: &str| {
            file.metadata()
                .get(key)
                .ok_or_else(|| TransportError::Key(format!("{} has no {key:?} in its metadata", path.display())))
        };
        fn number<T: std::str::FromStr>(text: &str, key: &str, path: &Path) -> Result<T, TransportError> {
            text.parse()
                .map_err(|_| TransportError::Key(format!("{}: {key} is {text:?}", path.display())))
        }
        Ok(Self {
            run_id: text("run_id")?.clone(),
            attempt: number(text("attempt")?, "attempt", path)?,
            step: number(text("step")?, "step", path)?,
            rank: number(text("rank")?, "rank", path)?,
        })
    }
}

impl fmt::Display for BatchKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            run_id,
            attempt,
            step,
            rank,
        } = self;
        write!(f, "run {run_id}, attempt {attempt}, step {step}, rank {rank}")
    }
}
