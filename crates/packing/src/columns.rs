//! The columns of a batch as little-endian tensors, and back.

use prl_weights::{Dtype, Header, TensorToWrite};

use crate::Batch;

const _: () = assert!(
    cfg!(target_endian = "little"),
    "columns are written from memory as they are"
);

/// One column, borrowed from its batch.
pub(crate) struct Column<'a> {
    name: &'static str,
    dtype: Dtype,
    shape: Vec<usize>,
    data: &'a [u8],
}

/// All columns of a batch by descending element size.
pub(crate) fn columns(batch: &Batch) -> Vec<Column<'_>> {
    let spans = batch.policy_version_spans.as_flattened();
    let mut columns = vec![
        Column::flat("input_ids", &batch.input_ids),
        Column::flat("inference_logprobs", &batch.inference_logprobs),
        Column::flat("advantages", &batch.advantages),
        Column::flat("temperatures", &batch.temperatures),
        Column::flat("cu_seqlens", &batch.cu_seqlens),
        Column::flat("bin_seq_offsets", &batch.bin_seq_offsets),
        Column {
            shape: vec![spans.len() / 2, 2],
            ..Column::flat("policy_version_spans", spans)
        },
    ];
    let optional = [
        ("rl_weights", &batch.rl_weights),
        ("ce_weights", &batch.ce_weights),
        ("ref_kl_weights", &batch.ref_kl_weights),
        ("reference_logprobs", &batch.reference_logprobs),
    ];
    for (name, stream) in optional {
        columns.extend(stream.as_ref().map(|stream| Column::flat(name, stream)));
    }
    columns.push(Column::flat("env_ids", &batch.env_ids));
    columns.push(Column::flat("loss_mask", &batch.loss_mask));
    columns
}

impl<'a> Column<'a> {
    fn flat<T: Element>(name: &'static str, values: &'a [T]) -> Self {
        Self {
            name,
            dtype: T::DTYPE,
            shape: vec![values.len()],
            data: bytes_of(values),
        }
    }

    pub(crate) fn as_tensor(&self) -> TensorToWrite<'_> {
        TensorToWrite {
            name: self.name,
            dtype: self.dtype,
            shape: &self.shape,
            data: self.data,
        }
    }
}

/// A number whose memory is its encoding.
///
/// # Safety
/// Every byte of the type is initialised: it has no padding.
unsafe trait Element {
    const DTYPE: Dtype;
}

// SAFETY: integers and floats have no padding.
unsafe impl Element for u8 {
    const DTYPE: Dtype = Dtype::U8;
}

// SAFETY: as above.
unsafe impl Element for u16 {
    const DTYPE: Dtype = Dtype::U16;
}

// SAFETY: as above.
unsafe impl Element for u32 {
    const DTYPE: Dtype = Dtype::U32;
}

// SAFETY: as above.
unsafe impl Element for f32 {
    const DTYPE: Dtype = Dtype::F32;
}

fn bytes_of<T: Element>(values: &[T]) -> &[u8] {
    // SAFETY: the slice is `size_of_val` initialised bytes (`Element`), bytes have no alignment, and the result borrows
    // from `values`.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// Takes columns out of a parsed file and counts them.
pub(crate) struct Columns<'a> {
    header: &'a Header,
    bytes: &'a [u8],
    taken: usize,
}

impl<'a> Columns<'a> {
    /// Over `bytes`, which `header` was parsed from.
    pub(crate) fn new(header: &'a Header, bytes: &'a [u8]) -> Self {
        Self {
            header,
            bytes,
            taken: 0,
        }
    }

    /// That nothing is left which was not asked for.
    pub(crate) fn finish(self) -> Result<(), String> {
        let present = self.header.tensors.len();
        if self.taken == present {
            return Ok(());
        }
        Err(format!("it has {present} columns, {} of them known", self.taken))
    }

    pub(crate) fn required<T, const N: usize>(
        &mut self,
        name: &str,
        dtype: Dtype,
        from: impl Fn([u8; N]) -> T,
    ) -> Result<Vec<T>, String> {
        self.take(name, dtype, 1, from)?
            .ok_or_else(|| format!("it lacks the column {name}"))
    }

    pub(crate) fn optional_floats(&mut self, name: &str) -> Result<Option<Vec<f32>>, String> {
        self.take(name, Dtype::F32, 1, f32::from_le_bytes)
    }

    pub(crate) fn version_spans(&mut self) -> Result<Vec<[u32; 2]>, String> {
        let name = "policy_version_spans";
        let flat = self
            .take(name, Dtype::U32, 2, u32::from_le_bytes)?
            .ok_or("it lacks the column policy_version_spans")?;
        match self.header.info(name) {
            Some(info) if info.shape[1] == 2 => Ok(flat.as_chunks::<2>().0.to_vec()),
            _ => Err(format!("{name} does not have two numbers per row")),
        }
    }

    fn take<T, const N: usize>(
        &mut self,
        name: &str,
        dtype: Dtype,
        rank: usize,
        from: impl Fn([u8; N]) -> T,
    ) -> Result<Option<Vec<T>>, String> {
        if self.header.info(name).is_none() {
            return Ok(None);
        }
        self.taken += 1;
        let view = self
            .header
            .tensor(self.bytes, name)
            .map_err(|error| error.to_string())?;
        if view.dtype != dtype || view.shape.len() != rank {
            return Err(format!(
                "{name} is {} {:?}, expected {dtype} of {rank} dimensions",
                view.dtype, view.shape
            ));
        }
        Ok(Some(
            view.data.as_chunks::<N>().0.iter().map(|&bytes| from(bytes)).collect(),
        ))
    }
}
