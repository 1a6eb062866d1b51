//! Safetensors files: reading one that is mapped into memory (here), its `header`, and writing one durably.
//!
//! The header and the length of the file are validated before [`SafetensorsFile::open`] returns, so that no tensor
//! reaches past the end. Pages are read when touched; several processes that open one file share its memory.

pub(crate) mod durable;
pub(crate) mod header;
mod header_json;
mod shard;
pub(crate) mod write;
pub(crate) mod writeback;
pub(crate) mod written;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use memmap2::{MmapMut, MmapOptions};

use crate::{Dtype, WeightsError};
use header::{Header, parse};

pub use shard::Shard;
pub(crate) use shard::is_plain_file_name;

/// A validated safetensors file.
///
/// The file must not be truncated in place while it is open: touching a page that is gone is a fault that no program
/// survives. prl never does that (files are replaced by renaming, which leaves open ones intact).
#[derive(Debug)]
pub struct SafetensorsFile {
    path: PathBuf,
    map: MmapMut,
    header: Header,
    /// Device and inode.
    identity: (u64, u64),
}

/// One tensor of a file or buffer, borrowed from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TensorView<'a> {
    /// Type of the elements.
    pub dtype: Dtype,
    /// Elements per dimension, outermost first; empty for a scalar.
    pub shape: &'a [usize],
    /// Row-major little-endian elements; alignment is not guaranteed in files of other writers.
    pub data: &'a [u8],
}

impl SafetensorsFile {
    /// Maps and validates the file at `path`.
    ///
    /// # Errors
    /// [`WeightsError::Io`] when it cannot be opened, [`WeightsError::Format`] when header and length do not agree;
    /// both name the file.
    pub fn open(path: &Path) -> Result<Self, WeightsError> {
        let kind = fs::metadata(path).map_err(WeightsError::io("open", path))?;
        if !kind.is_file() {
            let source = io::Error::new(io::ErrorKind::InvalidInput, "not a regular file");
            return Err(WeightsError::io("open", path)(source));
        }
        let file = File::open(path).map_err(WeightsError::io("open", path))?;
        // The map is copy on write, so that a foreign runtime may write to memory that it is given: the file never changes, and
        // pages without writes are shared as in a read-only map.
        let mut options = MmapOptions::new();
        // SAFETY: the map is private to this value. That the file is not truncated in place while it is open is the
        // documented condition of this type.
        let map = unsafe { options.no_reserve_swap().map_copy(&file) }.map_err(WeightsError::io("map", path))?;
        let header = parse(&map).map_err(|error| error.in_file(path))?;
        Ok(Self {
            path: path.to_path_buf(),
            identity: identity(&file).map_err(WeightsError::io("open", path))?,
            map,
            header,
        })
    }

    /// Opens the same file again, to read from it without the map.
    ///
    /// # Errors
    /// [`WeightsError::Io`] when it cannot be opened, or when another file has taken its place: the header would not be of its bytes.
    pub(crate) fn reopen(&self) -> Result<File, WeightsError> {
        let file = File::open(&self.path).map_err(WeightsError::io("open", &self.path))?;
        if identity(&file).map_err(WeightsError::io("open", &self.path))? == self.identity {
            return Ok(file);
        }
        let reason = "another file took its place while it was opened: load the weights again";
        Err(WeightsError::io("read", &self.path)(io::Error::other(reason)))
    }

    /// The path it was opened with.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The validated header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Names of the tensors in the order of their data.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.header.names()
    }

    /// The free-form `__metadata__` of the header; empty when it has none.
    pub fn metadata(&self) -> &BTreeMap<String, String> {
        &self.header.metadata
    }

    /// The tensor called `name`.
    ///
    /// # Errors
    /// [`WeightsError::Tensor`] when the file has none.
    pub fn tensor(&self, name: &str) -> Result<TensorView<'_>, WeightsError> {
        self.header
            .tensor(&self.map, name)
            .map_err(|error| error.in_file(&self.path))
    }

    /// All bytes after the header.
    pub fn data(&self) -> &[u8] {
        &self.map[self.header.data_start..]
    }

    /// All bytes of the file.
    pub fn bytes(&self) -> &[u8] {
        &self.map
    }
}

/// The identity that distinguishes an open file from any other.
fn identity(file: &File) -> io::Result<(u64, u64)> {
    let kind = file.metadata()?;
    Ok((kind.dev(), kind.ino()))
}
