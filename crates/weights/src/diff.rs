//! The difference of two sets of weights, tensor by tensor.

use std::collections::BTreeSet;
use std::path::Path;

use crate::checkpoints::Checkpoint;
use crate::checkpoints::adapter::{self, ADAPTER_CONFIG_FILE, Adapter};
use crate::files::TensorView;
use crate::{Dtype, WeightsError, encode_tensor, parallel};

/// How a tensor of two sets of weights differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorDiff {
    /// Its name.
    pub name: String,
    /// Dtype in the second set; in the first set when only that has the tensor.
    pub dtype: Dtype,
    /// Shape in the same set as `dtype`.
    pub shape: Vec<usize>,
    /// The kind of difference.
    pub change: Change,
    /// How many elements differ; counted in bytes for dtypes below a byte.
    pub changed: u64,
    /// The number of elements, counted in the same unit.
    pub elements: u64,
    /// Bytes that a sparse version would need for it; for an adapter, which is never sparse, its size.
    pub sparse_bytes: u64,
}

/// The kind of difference of a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Every byte is equal.
    Same,
    /// Some elements differ.
    Values,
    /// It has another dtype or shape.
    Layout,
    /// Only the first set has it.
    Removed,
    /// Only the second set has it.
    Added,
}

/// Compares `new` with `old`; tensors in ascending order of the names. `threads` 0 takes the cores this process may
/// run on, up to 8.
///
/// # Errors
/// None for checkpoints that opened; the result keeps the signature of [`Checkpoint::tensor`].
pub fn diff(old: &Checkpoint, new: &Checkpoint, threads: usize) -> Result<Vec<TensorDiff>, WeightsError> {
    let names: BTreeSet<&str> = old.names().chain(new.names()).collect();
    let names: Vec<&str> = names.into_iter().collect();
    parallel::map(names.len(), parallel::thread_count(threads), |index| {
        let name = names[index];
        if !new.contains(name) {
            return Ok(whole(name, old.tensor(name)?, Change::Removed, 0));
        }
        let tensor = new.tensor(name)?;
        if !old.contains(name) {
            return Ok(whole(name, tensor, Change::Added, tensor.data.len() as u64));
        }
        Ok(compare(name, old.tensor(name)?, tensor))
    })
}

/// [`diff`] of two folders, both of a model or both of an adapter. An adapter's config is compared as a tensor of bytes, as in
/// its version digest. All bytes of an adapter count in `sparse_bytes`, because it is shipped whole.
///
/// # Errors
/// As [`Checkpoint::open`] and [`Adapter::open`]; [`WeightsError::Adapter`] when only one of them is an adapter.
pub fn diff_folders(old: &Path, new: &Path, threads: usize) -> Result<Vec<TensorDiff>, WeightsError> {
    match (Adapter::is_in(old), Adapter::is_in(new)) {
        (false, false) => diff(&Checkpoint::open(old)?, &Checkpoint::open(new)?, threads),
        (true, true) => diff_adapters(&Adapter::open(old)?, &Adapter::open(new)?, threads),
        (is_old, _) => {
            let (path, other) = if is_old { (old, new) } else { (new, old) };
            let reason = format!("{} is no adapter to compare it with", other.display());
            Err(adapter::refused(path, reason))
        }
    }
}

fn diff_adapters(old: &Adapter, new: &Adapter, threads: usize) -> Result<Vec<TensorDiff>, WeightsError> {
    let (old_shape, new_shape) = ([old.config().len()], [new.config().len()]);
    let (old_config, new_config) = (
        bytes_view(old.config(), &old_shape),
        bytes_view(new.config(), &new_shape),
    );
    let mut tensors = vec![compare(ADAPTER_CONFIG_FILE, old_config, new_config)];
    tensors.extend(diff(old.weights(), new.weights(), threads)?);
    for tensor in tensors.iter_mut().filter(|tensor| tensor.change != Change::Removed) {
        tensor.sparse_bytes = tensor.dtype.byte_len(&tensor.shape).map_or(0, |bytes| bytes as u64);
    }
    tensors.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    Ok(tensors)
}

fn bytes_view<'a>(data: &'a [u8], shape: &'a [usize]) -> TensorView<'a> {
    TensorView {
        dtype: Dtype::U8,
        shape,
        data,
    }
}

fn compare(name: &str, old: TensorView<'_>, new: TensorView<'_>) -> TensorDiff {
    if (old.dtype, old.shape) != (new.dtype, new.shape) {
        return whole(name, new, Change::Layout, new.data.len() as u64);
    }
    let width = element_bytes(new.dtype);
    let pairs = old.data.chunks_exact(width).zip(new.data.chunks_exact(width));
    let changed = pairs.filter(|(old, new)| old != new).count() as u64;
    let bytes = match (changed, width) {
        (0, _) => 0,
        (_, 2) => encode_tensor(old.data, new.data).len().min(new.data.len()),
        _ => new.data.len(),
    };
    let change = if changed == 0 { Change::Same } else { Change::Values };
    TensorDiff {
        changed,
        ..whole(name, new, change, bytes as u64)
    }
}

fn whole(name: &str, tensor: TensorView<'_>, change: Change, sparse_bytes: u64) -> TensorDiff {
    let elements = (tensor.data.len() / element_bytes(tensor.dtype)) as u64;
    TensorDiff {
        name: name.to_owned(),
        dtype: tensor.dtype,
        shape: tensor.shape.to_vec(),
        change,
        changed: elements,
        elements,
        sparse_bytes,
    }
}

fn element_bytes(dtype: Dtype) -> usize {
    (dtype.bits() / 8).max(1)
}
