//! The `__metadata__` of a batch file.

use std::collections::BTreeMap;
use std::path::Path;
use std::str::FromStr;

use prl_weights::digest;

use super::Counts;

/// The `format` in the metadata of a batch.
pub const BATCH_FORMAT: &str = "prl-batch/1";

const KEYS: [&str; 11] = [
    "format",
    "run_id",
    "attempt",
    "step",
    "rank",
    "env_names",
    "n_rl",
    "n_ce",
    "n_ref_kl",
    "n_sequences",
    "digest",
];

/// The key of a batch, and the names that its `env_ids` stand for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BatchMetadata {
    /// The run.
    pub run_id: String,
    /// The attempt of the run that assembled the batch, from 1.
    pub attempt: u32,
    /// The step it trains, from 1.
    pub step: u64,
    /// The trainer rank that reads it, from 0.
    pub rank: u32,
    /// Names of the environments, indexed by `env_ids`.
    pub env_names: Vec<String>,
}

impl BatchMetadata {
    pub(crate) fn encode(&self, counts: Counts, digest: &str) -> Vec<(String, String)> {
        let values = [
            BATCH_FORMAT.to_owned(),
            self.run_id.clone(),
            self.attempt.to_string(),
            self.step.to_string(),
            self.rank.to_string(),
            serde_json::Value::from(self.env_names.clone()).to_string(),
            counts.rl.to_string(),
            counts.ce.to_string(),
            counts.ref_kl.to_string(),
            counts.sequences.to_string(),
            digest.to_owned(),
        ];
        let all = KEYS.iter().map(|key| (*key).to_owned()).zip(values);
        all.filter(|(key, value)| key != "n_sequences" || value != "0")
            .collect()
    }

    /// Checks that a path ending in `step_<s>/rank_<r>.safetensors` is the path of this batch.
    pub(crate) fn check_path(&self, path: &Path) -> Result<(), String> {
        let rank = path
            .file_name()
            .and_then(|name| name.to_str()?.strip_prefix("rank_")?.strip_suffix(".safetensors"));
        let step = path
            .parent()
            .and_then(|parent| parent.file_name()?.to_str()?.strip_prefix("step_"));
        let (Some(rank), Some(step)) = (rank, step) else {
            return Ok(());
        };
        if rank == self.rank.to_string() && step == self.step.to_string() {
            return Ok(());
        }
        let Self {
            step: own, rank: its, ..
        } = self;
        Err(format!(
            "it is of step {own} and rank {its}, its path says step {step} and rank {rank}"
        ))
    }
}

/// Reads key and counts from `metadata` and checks its digest against `data`, the bytes after the header.
pub(crate) fn decode(metadata: &BTreeMap<String, String>, data: &[u8]) -> Result<(BatchMetadata, Counts), String> {
    let fields = Fields(metadata);
    let format = fields.text("format")?;
    if format != BATCH_FORMAT {
        return Err(format!("format is {format:?}, expected {BATCH_FORMAT:?}"));
    }
    if let Some(unknown) = metadata.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Err(format!("unknown metadata key {unknown:?}"));
    }
    let (said, found) = (fields.text("digest")?, digest(data));
    if said != found {
        return Err(format!("the digest of its data is {found}, its header says {said}"));
    }
    let key = BatchMetadata {
        run_id: fields.text("run_id")?.to_owned(),
        attempt: fields.number("attempt")?,
        step: fields.number("step")?,
        rank: fields.number("rank")?,
        env_names: serde_json::from_str(fields.text("env_names")?)
            .map_err(|error| format!("env_names is no list of strings: {error}"))?,
    };
    let counts = Counts {
        rl: fields.number("n_rl")?,
        ce: fields.number("n_ce")?,
        ref_kl: fields.number("n_ref_kl")?,
        sequences: match metadata.get("n_sequences") {
            Some(_) => fields.number("n_sequences")?,
            None => 0,
        },
    };
    Ok((key, counts))
}

struct Fields<'a>(&'a BTreeMap<String, String>);

impl Fields<'_> {
    fn text(&self, key: &str) -> Result<&str, String> {
        self.0
            .get(key)
            .map(String::as_str)
            .ok_or_else(|| format!("its metadata lacks {key}"))
    }

    fn number<T: FromStr + ToString>(&self, key: &str) -> Result<T, String> {
        let text = self.text(key)?;
        let number = text.parse::<T>().ok().filter(|number| number.to_string() == text);
        number.ok_or_else(|| format!("its metadata has {key} {text:?}, expected a number"))
    }
}
