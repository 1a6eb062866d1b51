//! The header of a safetensors file: length, JSON, and the rules that connect both with the bytes behind them.
//!
//! Verdicts are those of the reference implementation (crate `safetensors` 0.8) with these exceptions, all stricter:
//! - a name or metadata key that occurs twice is refused (there the last one silently wins, so that two readers can
//!   see two different tensors in one file);
//! - the header must begin with `{`, as the format demands (there leading white space passes);
//! - a tensor is described by an object and its dtype by a string (there serde's positional and tagged forms pass by
//!   accident).
//!
//! No allocation has a size that the input claims, and the JSON parser bounds nesting.

use std::collections::{BTreeMap, HashMap};

use super::TensorView;
use super::header_json::RawHeader;
use crate::{Dtype, WeightsError};

/// Longest header that is read or written, in bytes: the limit of the reference implementation.
pub const MAX_HEADER_BYTES: usize = 100_000_000;

pub(crate) const LENGTH_BYTES: usize = 8;
pub(crate) const METADATA_KEY: &str = "__metadata__";

/// A validated header: every tensor lies within the data, without holes or overlaps.
#[derive(Debug, Clone)]
pub struct Header {
    /// The free-form `__metadata__`; empty when the header has none.
    pub metadata: BTreeMap<String, String>,
    /// The tensors in the order of their data.
    pub tensors: Vec<TensorInfo>,
    /// Where the data begins, in bytes from the start of the file.
    pub data_start: usize,
    by_name: HashMap<String, usize>,
}

/// The header's entry for one tensor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorInfo {
    /// Its name.
    pub name: String,
    /// Type of its elements.
    pub dtype: Dtype,
    /// Elements per dimension, outermost first.
    pub shape: Vec<usize>,
    /// First byte and the byte after the last, from the start of the data.
    pub data_offsets: (usize, usize),
}

impl Header {
    /// Names of the tensors in the order of their data.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.iter().map(|info| info.name.as_str())
    }

    /// The header's entry for the tensor called `name`.
    pub fn info(&self, name: &str) -> Option<&TensorInfo> {
        self.by_name.get(name).map(|&index| &self.tensors[index])
    }

    /// The tensor `name` of the buffer that this header was parsed from.
    ///
    /// # Errors
    /// [`WeightsError::Tensor`] when there is none, or when `bytes` is a shorter buffer than the one parsed.
    pub fn tensor<'a>(&'a self, bytes: &'a [u8], name: &str) -> Result<TensorView<'a>, WeightsError> {
        let missing = |reason: &str| WeightsError::Tensor {
            name: name.to_owned(),
            file: "<memory>".to_owned(),
            reason: reason.to_owned(),
        };
        let info = self.info(name).ok_or_else(|| missing("there is no such tensor"))?;
        let (begin, end) = info.data_offsets;
        let data = bytes
            .get(self.data_start + begin..self.data_start + end)
            .ok_or_else(|| missing("the buffer is shorter than the one that was validated"))?;
        Ok(TensorView {
            dtype: info.dtype,
            shape: &info.shape,
            data,
        })
    }
}

/// Parses and validates a whole file in memory.
///
/// # Errors
/// [`WeightsError::Format`] with the rule that `bytes` breaks; the file is named `<memory>`.
pub fn parse(bytes: &[u8]) -> Result<Header, WeightsError> {
    let Some((length, rest)) = bytes.split_first_chunk::<LENGTH_BYTES>() else {
        return Err(WeightsError::safetensors(format!(
            "{} bytes are too few for a header",
            bytes.len()
        )));
    };
    let length = u64::from_le_bytes(*length);
    let length = match usize::try_from(length) {
        Ok(length) if length <= MAX_HEADER_BYTES => length,
        _ => {
            return Err(WeightsError::safetensors(format!(
                "header of {length} bytes is above {MAX_HEADER_BYTES}"
            )));
        }
    };
    let Some((text, data)) = rest.split_at_checked(length) else {
        let reason = format!(
            "header of {length} bytes reaches past the end of the {} bytes",
            bytes.len()
        );
        return Err(WeightsError::safetensors(reason));
    };
    if text.first() != Some(&b'{') {
        return Err(WeightsError::safetensors("header does not begin with '{'"));
    }
    let text = str::from_utf8(text).map_err(|error| WeightsError::safetensors(format!("header: {error}")))?;
    let raw: RawHeader = serde_json::from_str(text).map_err(|source| WeightsError::Format {
        file: "<memory>".to_owned(),
        kind: "safetensors file",
        reason: format!("header: {source}"),
        source: Some(source),
    })?;
    let RawHeader { metadata, mut tensors } = raw;
    tensors.sort_by_key(|info| info.data_offsets);
    check_layout(&tensors, data.len())?;
    let by_name = tensors
        .iter()
        .enumerate()
        .map(|(index, info)| (info.name.clone(), index))
        .collect();
    Ok(Header {
        metadata,
        tensors,
        data_start: LENGTH_BYTES + length,
        by_name,
    })
}

/// Checks that tensors, sorted by offset, follow each other without hole or overlap up to the last byte.
fn check_layout(tensors: &[TensorInfo], data_len: usize) -> Result<(), WeightsError> {
    let mut position = 0;
    for TensorInfo {
        name,
        dtype,
        shape,
        data_offsets: (begin, end),
    } in tensors
    {
        if *begin != position || end < begin {
            let what = if *begin > position { "hole" } else { "overlap" };
            let reason = format!("{what}: tensor {name:?} has offsets [{begin}, {end}], expected {position} first");
            return Err(WeightsError::safetensors(reason));
        }
        position = *end;
        let Some(expected) = dtype.byte_len(shape) else {
            let reason = format!("tensor {name:?}: {dtype} {shape:?} overflows or is no whole number of bytes");
            return Err(WeightsError::safetensors(reason));
        };
        if end - begin != expected {
            let reason = format!(
                "tensor {name:?}: {dtype} {shape:?} needs {expected} bytes, has {}",
                end - begin
            );
            return Err(WeightsError::safetensors(reason));
        }
    }
    if position != data_len {
        let what = if position > data_len { "truncated" } else { "too long" };
        let reason = format!("{what}: the header describes {position} bytes of data, {data_len} are there");
        return Err(WeightsError::safetensors(reason));
    }
    Ok(())
}
