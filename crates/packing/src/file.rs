//! A batch as a safetensors file: columns by descending element size, the key of the batch in `__metadata__`.
//!
//! The `digest` in the metadata is of the bytes after the header, so that equal batches cut in two attempts agree.
//! Reading trusts nothing: header, digest, dtypes, shapes and every invariant of [`Batch::validate`] are checked, and
//! the file is read into memory first, so that a writer who truncates it meanwhile cannot bring the process down.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use prl_weights::{
    Dtype, Header, TensorToWrite, WeightsError, WriteOptions, WrittenFile, data_digest, digest, parse, to_bytes,
    write_safetensors,
};

use crate::columns::{Column, Columns, columns};
use crate::{Batch, PackError};

/// What `format` says in the metadata of a batch.
pub const BATCH_FORMAT: &str = "prl-batch/1";

const METADATA_KEYS: [&str; 10] = [
    "format",
    "run_id",
    "attempt",
    "step",
    "rank",
    "env_names",
    "n_rl",
    "n_ce",
    "n_ref_kl",
    "digest",
];

/// The key of a batch, and the names that its `env_ids` stand for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BatchMetadata {
    /// The run.
    pub run_id: String,
    /// The attempt of the run in which the batch was cut, from 1.
    pub attempt: u32,
    /// The step it trains, from 1.
    pub step: u64,
    /// The trainer rank that reads it, from 0.
    pub rank: u32,
    /// Names of the environments, indexed by `env_ids`.
    pub env_names: Vec<String>,
}

/// Writes a valid batch to `path`, durably and atomically. A path that ends in `step_<s>/rank_<r>.safetensors` must
/// agree with the metadata.
///
/// # Errors
/// [`PackError::File`] for a batch that breaks an invariant or contradicts `metadata` or `path`, and what
/// [`write_safetensors`] reports.
pub fn batch_to_file(path: &Path, batch: &Batch, metadata: &BatchMetadata) -> Result<WrittenFile, PackError> {
    let in_file = |reason| PackError::File {
        file: path.display().to_string(),
        reason,
    };
    check_batch(batch, metadata)
        .and_then(|()| check_path(metadata, path))
        .map_err(in_file)?;
    let columns = columns(batch);
    let tensors: Vec<_> = columns.iter().map(Column::as_tensor).collect();
    Ok(write_safetensors(
        path,
        &tensors,
        &encode_metadata(batch, metadata, &tensors),
        WriteOptions::default(),
    )?)
}

/// The bytes that [`batch_to_file`] would write.
///
/// # Errors
/// [`PackError::File`] for a batch that breaks an invariant or contradicts `metadata`.
pub fn batch_to_bytes(batch: &Batch, metadata: &BatchMetadata) -> Result<Vec<u8>, PackError> {
    check_batch(batch, metadata).map_err(in_memory)?;
    let columns = columns(batch);
    let tensors: Vec<_> = columns.iter().map(Column::as_tensor).collect();
    Ok(to_bytes(
        &tensors,
        &encode_metadata(batch, metadata, &tensors),
        WriteOptions::default(),
    )?)
}

/// Reads and checks the batch at `path`, as [`batch_to_file`] writes it.
///
/// # Errors
/// [`PackError::Weights`] when the file cannot be read or is no safetensors file, [`PackError::File`] when it is one
/// but holds no valid batch; both name the file.
pub fn batch_from_file(path: &Path) -> Result<(Batch, BatchMetadata), PackError> {
    let bytes = read_regular_file(path)?;
    let header = parse(&bytes).map_err(|error| error.in_file(path))?;
    let decoded = decode(&header, &bytes).and_then(|(batch, metadata)| {
        check_path(&metadata, path)?;
        Ok((batch, metadata))
    });
    decoded.map_err(|reason| PackError::File {
        file: path.display().to_string(),
        reason,
    })
}

/// Reads and checks a batch from the bytes of its file.
///
/// # Errors
/// As [`batch_from_file`]; the file is named `<memory>`.
pub fn batch_from_bytes(bytes: &[u8]) -> Result<(Batch, BatchMetadata), PackError> {
    decode(&parse(bytes)?, bytes).map_err(in_memory)
}

fn read_regular_file(path: &Path) -> Result<Vec<u8>, WeightsError> {
    let error = |source| WeightsError::Io {
        action: "read",
        path: path.to_path_buf(),
        source,
    };
    if !fs::metadata(path).map_err(error)?.is_file() {
        return Err(error(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")));
    }
    fs::read(path).map_err(error)
}

fn in_memory(reason: String) -> PackError {
    PackError::File {
        file: "<memory>".to_owned(),
        reason,
    }
}

// ---- checks ----

fn check_batch(batch: &Batch, metadata: &BatchMetadata) -> Result<(), String> {
    batch.check_all()?;
    let names = metadata.env_names.len();
    match batch
        .env_ids
        .iter()
        .find(|&&env_id| usize::from(env_id) >= names.max(1))
    {
        Some(env_id) => Err(format!("env_ids has {env_id}, env_names has {names} entries")),
        None => Ok(()),
    }
}

fn check_path(metadata: &BatchMetadata, path: &Path) -> Result<(), String> {
    let rank = path
        .file_name()
        .and_then(|name| name.to_str()?.strip_prefix("rank_")?.strip_suffix(".safetensors"));
    let step = path
        .parent()
        .and_then(|parent| parent.file_name()?.to_str()?.strip_prefix("step_"));
    let (Some(rank), Some(step)) = (rank, step) else {
        return Ok(());
    };
    if rank == metadata.rank.to_string() && step == metadata.step.to_string() {
        return Ok(());
    }
    Err(format!(
        "it is of step {} and rank {}, its path says step {step} and rank {rank}",
        metadata.step, metadata.rank
    ))
}

// ---- metadata ----

fn encode_metadata(batch: &Batch, metadata: &BatchMetadata, tensors: &[TensorToWrite<'_>]) -> Vec<(String, String)> {
    let values = [
        BATCH_FORMAT.to_owned(),
        metadata.run_id.clone(),
        metadata.attempt.to_string(),
        metadata.step.to_string(),
        metadata.rank.to_string(),
        serde_json::Value::from(metadata.env_names.clone()).to_string(),
        batch.n_rl.to_string(),
        batch.n_ce.to_string(),
        batch.n_ref_kl.to_string(),
        data_digest(tensors),
    ];
    METADATA_KEYS.iter().map(|key| (*key).to_owned()).zip(values).collect()
}

// ---- reading ----

fn decode(header: &Header, bytes: &[u8]) -> Result<(Batch, BatchMetadata), String> {
    let found = digest(&bytes[header.data_start..]);
    let fields = Fields(&header.metadata);
    if fields.text("format")? != BATCH_FORMAT {
        return Err(format!(
            "format is {:?}, expected {BATCH_FORMAT:?}",
            fields.text("format")?
        ));
    }
    if let Some(unknown) = header
        .metadata
        .keys()
        .find(|key| !METADATA_KEYS.contains(&key.as_str()))
    {
        return Err(format!("unknown metadata key {unknown:?}"));
    }
    if fields.text("digest")? != found {
        return Err(format!(
            "the digest of its data is {found}, its header says {}",
            fields.text("digest")?
        ));
    }
    let metadata = BatchMetadata {
        run_id: fields.text("run_id")?.to_owned(),
        attempt: fields.number("attempt")?,
        step: fields.number("step")?,
        rank: fields.number("rank")?,
        env_names: serde_json::from_str(fields.text("env_names")?)
            .map_err(|error| format!("env_names is no list of strings: {error}"))?,
    };
    let mut columns = Columns::new(header, bytes);
    let batch = Batch {
        input_ids: columns.required("input_ids", Dtype::U32, u32::from_le_bytes)?,
        inference_logprobs: columns.required("inference_logprobs", Dtype::F32, f32::from_le_bytes)?,
        advantages: columns.required("advantages", Dtype::F32, f32::from_le_bytes)?,
        temperatures: columns.required("temperatures", Dtype::F32, f32::from_le_bytes)?,
        loss_mask: columns.required("loss_mask", Dtype::U8, u8::from_le_bytes)?,
        cu_seqlens: columns.required("cu_seqlens", Dtype::U32, u32::from_le_bytes)?,
        env_ids: columns.required("env_ids", Dtype::U16, u16::from_le_bytes)?,
        bin_seq_offsets: columns.required("bin_seq_offsets", Dtype::U32, u32::from_le_bytes)?,
        policy_version_spans: columns.version_spans()?,
        rl_weights: columns.optional_floats("rl_weights")?,
        ce_weights: columns.optional_floats("ce_weights")?,
        ref_kl_weights: columns.optional_floats("ref_kl_weights")?,
        reference_logprobs: columns.optional_floats("reference_logprobs")?,
        n_rl: fields.number("n_rl")?,
        n_ce: fields.number("n_ce")?,
        n_ref_kl: fields.number("n_ref_kl")?,
    };
    columns.finish()?;
    check_batch(&batch, &metadata)?;
    Ok((batch, metadata))
}

struct Fields<'a>(&'a BTreeMap<String, String>);

impl Fields<'_> {
    fn text(&self, key: &str) -> Result<&str, String> {
        self.0
            .get(key)
            .map(String::as_str)
            .ok_or_else(|| format!("its metadata lacks {key}"))
    }

    fn number<T: std::str::FromStr + ToString>(&self, key: &str) -> Result<T, String> {
        let text = self.text(key)?;
        let number = text.parse::<T>().ok().filter(|number| number.to_string() == text);
        number.ok_or_else(|| format!("its metadata has {key} {text:?}, expected a number"))
    }
}
