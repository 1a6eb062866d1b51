//! The weights of a Hugging Face folder, single or sharded, as one set of named tensors.
//!
//! `shards` writes such folders, `load` reads one into new memory, and `adapter` has the folders of PEFT.

pub(crate) mod adapter;
pub(crate) mod load;
pub(crate) mod shards;

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::files::is_plain_file_name;
use crate::files::{SafetensorsFile, TensorView};
use crate::{VersionHasher, WeightsError};
use adapter::Adapter;
use shards::{INDEX_FILE, SINGLE_FILE};

/// Far above the size of any real index, which has one line per tensor.
const MAX_INDEX_BYTES: u64 = 256 << 20;

/// The tensors of a folder; every file is mapped and validated.
#[derive(Debug)]
pub struct Checkpoint {
    directory: PathBuf,
    files: Vec<SafetensorsFile>,
    file_of: BTreeMap<String, usize>,
}

#[derive(Deserialize)]
struct Index {
    weight_map: BTreeMap<String, String>,
}

impl Checkpoint {
    /// Opens `model.safetensors` in `directory` or, when there is none, the shards of `model.safetensors.index.json`.
    /// Tensors of a shard are left out when the index does not place them there.
    ///
    /// # Errors
    /// [`WeightsError::Io`] when neither exists, [`WeightsError::Format`] for a malformed index or shard,
    /// [`WeightsError::Tensor`] when a shard lacks a tensor that the index places in it, [`WeightsError::Adapter`] for a
    /// PEFT folder.
    pub fn open(directory: &Path) -> Result<Self, WeightsError> {
        let single = directory.join(SINGLE_FILE);
        let index = directory.join(INDEX_FILE);
        if Adapter::is_in(directory) {
            let reason = "it is no model's weights, and belongs to some".to_owned();
            return Err(adapter::refused(directory, reason));
        }
        if single.exists() || !index.exists() {
            return Self::of_file(directory, &single);
        }
        Self::open_sharded(directory, &index)
    }

    /// The tensors of one file.
    pub(crate) fn of_file(directory: &Path, path: &Path) -> Result<Self, WeightsError> {
        let file = SafetensorsFile::open(path)?;
        let file_of = file.names().map(|name| (name.to_owned(), 0)).collect();
        Ok(Self {
            directory: directory.to_path_buf(),
            files: vec![file],
            file_of,
        })
    }

    fn open_sharded(directory: &Path, index: &Path) -> Result<Self, WeightsError> {
        let mut files = Vec::new();
        let mut numbers: HashMap<String, usize> = HashMap::new();
        let mut file_of = BTreeMap::new();
        for (name, file_name) in read_index(index)?.weight_map {
            let number = match numbers.get(&file_name) {
                Some(&number) => number,
                None => {
                    if !is_plain_file_name(&file_name) {
                        return Err(index_error(index, format!("{file_name:?} is no plain file name"), None));
                    }
                    files.push(SafetensorsFile::open(&directory.join(&file_name))?);
                    numbers.insert(file_name, files.len() - 1);
                    files.len() - 1
                }
            };
            files[number].tensor(&name)?;
            file_of.insert(name, number);
        }
        let present: usize = files.iter().map(|file| file.header().tensors.len()).sum();
        if present != file_of.len() {
            let unlisted = present - file_of.len();
            tracing::warn!(index = %index.display(), unlisted, "shards hold tensors that the index leaves out");
        }
        Ok(Self {
            directory: directory.to_path_buf(),
            files,
            file_of,
        })
    }

    /// The directory it was opened from.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The files that hold the tensors.
    pub fn files(&self) -> &[SafetensorsFile] {
        &self.files
    }

    /// Names of all tensors in ascending order of their bytes.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.file_of.keys().map(String::as_str)
    }

    /// Whether there is a tensor called `name`.
    pub fn contains(&self, name: &str) -> bool {
        self.file_of.contains_key(name)
    }

    /// Whether the tensor called `name` is that of file `number`: other files may hold one of this name, which is never read.
    pub(crate) fn lists(&self, name: &str, number: usize) -> bool {
        self.file_of.get(name) == Some(&number)
    }

    /// The tensor called `name`, from the file that holds it.
    ///
    /// # Errors
    /// [`WeightsError::Tensor`] when there is none.
    pub fn tensor(&self, name: &str) -> Result<TensorView<'_>, WeightsError> {
        let number = self.file_of.get(name).ok_or_else(|| WeightsError::Tensor {
            name: name.to_owned(),
            file: self.directory.display().to_string(),
            reason: "there is no such tensor".to_owned(),
        })?;
        self.files[*number].tensor(name)
    }

    /// The version digest of all tensors; reads every byte.
    ///
    /// # Errors
    /// None for a checkpoint that opened; the result keeps the signature of [`Checkpoint::tensor`].
    pub fn version_digest(&self) -> Result<String, WeightsError> {
        let mut hasher = VersionHasher::new();
        for name in self.names() {
            let view = self.tensor(name)?;
            hasher.add(name, view.dtype, view.shape, view.data);
        }
        Ok(hasher.finish())
    }
}

fn read_index(path: &Path) -> Result<Index, WeightsError> {
    let bytes = fs::metadata(path).map_err(WeightsError::io("open", path))?.len();
    if bytes > MAX_INDEX_BYTES {
        return Err(index_error(
            path,
            format!("{bytes} bytes are above {MAX_INDEX_BYTES}"),
            None,
        ));
    }
    let text = fs::read(path).map_err(WeightsError::io("read", path))?;
    let index: Index =
        serde_json::from_slice(&text).map_err(|source| index_error(path, source.to_string(), Some(source)))?;
    if index.weight_map.is_empty() {
        return Err(index_error(path, "weight_map is empty".to_owned(), None));
    }
    Ok(index)
}

fn index_error(path: &Path, reason: String, source: Option<serde_json::Error>) -> WeightsError {
    WeightsError::Format {
        file: path.display().to_string(),
        kind: "shard index",
        reason,
        source,
    }
}
