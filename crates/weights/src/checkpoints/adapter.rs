//! A PEFT adapter: `adapter_config.json` and `adapter_model.safetensors`, the folder that Python's `peft` writes and loads.
//!
//! The two belong together: the config holds the rank and the scale without which the tensors mean nothing. So an adapter
//! is always shipped whole, never as a difference and never cut for ranks, and its version digest is of both files. Its
//! reader must know which modules of which model it adapts.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::Checkpoint;
use super::shards::{INDEX_FILE, SINGLE_FILE};
use crate::files::Shard;
use crate::{Dtype, VersionHasher, WeightsError, digest};

/// Name of an adapter's configuration.
pub const ADAPTER_CONFIG_FILE: &str = "adapter_config.json";
/// Name of an adapter's tensors.
pub const ADAPTER_WEIGHTS_FILE: &str = "adapter_model.safetensors";

/// Far above the size of any real configuration with its lists of modules.
const MAX_CONFIG_BYTES: u64 = 16 << 20;

/// The adapter in a folder. Its config was checked, and its tensors are mapped and validated.
#[derive(Debug)]
pub struct Adapter {
    directory: PathBuf,
    config: Vec<u8>,
    peft_type: String,
    weights: Checkpoint,
}

impl Adapter {
    /// Whether `directory` holds an adapter, whole or in part, rather than the weights of a model.
    pub fn is_in(directory: &Path) -> bool {
        let has = |file| directory.join(file).exists();
        !holds_model(directory) && (has(ADAPTER_CONFIG_FILE) || has(ADAPTER_WEIGHTS_FILE))
    }

    /// Opens the adapter in `directory`.
    ///
    /// # Errors
    /// [`WeightsError::Adapter`] when one of its files is missing, the config is no JSON object with a `peft_type`, or
    /// the folder holds a model's weights as well; [`WeightsError::Format`] for malformed tensors; [`WeightsError::Io`].
    pub fn open(directory: &Path) -> Result<Self, WeightsError> {
        if holds_model(directory) {
            return Err(refused(directory, "it holds the weights of a model".to_owned()));
        }
        let [config, weights] = [ADAPTER_CONFIG_FILE, ADAPTER_WEIGHTS_FILE].map(|file| directory.join(file));
        for path in [&config, &weights] {
            if !path.is_file() {
                let reason = "the adapter lacks this file; PEFT's save_pretrained writes it";
                return Err(refused(path, reason.to_owned()));
            }
        }
        let (config, peft_type) = read_config(&config)?;
        let weights = Checkpoint::of_file(directory, &weights)?;
        if weights.contains(ADAPTER_CONFIG_FILE) {
            let reason = format!("a tensor is called {ADAPTER_CONFIG_FILE:?}: this name is reserved for the config");
            return Err(refused(&directory.join(ADAPTER_WEIGHTS_FILE), reason));
        }
        Ok(Self {
            directory: directory.to_path_buf(),
            config,
            peft_type,
            weights,
        })
    }

    /// The bytes of the config.
    pub fn config(&self) -> &[u8] {
        &self.config
    }

    /// The method, `LORA` for most.
    pub fn peft_type(&self) -> &str {
        &self.peft_type
    }

    /// The tensors.
    pub fn weights(&self) -> &Checkpoint {
        &self.weights
    }

    /// The version digest of the tensors and the config, which counts as one more tensor of bytes, called by its file name.
    ///
    /// # Errors
    /// None for an adapter that opened; the result keeps the signature of [`Checkpoint::tensor`].
    pub fn version_digest(&self) -> Result<String, WeightsError> {
        let mut hasher = VersionHasher::new();
        hasher.add(ADAPTER_CONFIG_FILE, Dtype::U8, &[self.config.len()], &self.config);
        for name in self.weights.names() {
            let view = self.weights.tensor(name)?;
            hasher.add(name, view.dtype, view.shape, view.data);
        }
        Ok(hasher.finish())
    }

    /// Both files, for a manifest.
    pub fn shards(&self) -> Vec<Shard> {
        let shard = |file: &str, bytes: &[u8]| Shard {
            file: file.to_owned(),
            bytes: bytes.len() as u64,
            digest: digest(bytes),
        };
        let weights = self.weights.files().iter().map(|file| file.bytes());
        let weights = weights.map(|bytes| shard(ADAPTER_WEIGHTS_FILE, bytes));
        std::iter::once(shard(ADAPTER_CONFIG_FILE, &self.config))
            .chain(weights)
            .collect()
    }

    /// The directory it was opened from.
    pub fn directory(&self) -> &Path {
        &self.directory
    }
}

/// The error for something that is no adapter, or that an adapter cannot do.
pub(crate) fn refused(path: &Path, reason: String) -> WeightsError {
    WeightsError::Adapter {
        path: path.to_path_buf(),
        reason,
        source: None,
    }
}

fn holds_model(directory: &Path) -> bool {
    [SINGLE_FILE, INDEX_FILE]
        .iter()
        .any(|file| directory.join(file).exists())
}

fn read_config(path: &Path) -> Result<(Vec<u8>, String), WeightsError> {
    let bytes = fs::metadata(path).map_err(WeightsError::io("open", path))?.len();
    if bytes > MAX_CONFIG_BYTES {
        return Err(refused(path, format!("{bytes} bytes are above {MAX_CONFIG_BYTES}")));
    }
    let text = fs::read(path).map_err(WeightsError::io("read", path))?;
    let config: Map<String, Value> = serde_json::from_slice(&text).map_err(|source| WeightsError::Adapter {
        path: path.to_path_buf(),
        reason: format!("it is no JSON object: {source}"),
        source: Some(source),
    })?;
    match config.get("peft_type").and_then(Value::as_str) {
        Some(peft_type) => Ok((text, peft_type.to_owned())),
        None => Err(refused(
            path,
            "it has no peft_type, so it is no adapter's config".to_owned(),
        )),
    }
}
