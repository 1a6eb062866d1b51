//! The columns of a batch as little-endian tensors, and back, without a copy either way.

use prl_weights::{Dtype, Header, TensorToWrite};

use super::{BatchView, Counts};
use crate::experts::{ExpertShape, ExpertWidth, RoutedExperts};

const ROUTED_EXPERTS: &str = "routed_experts";

const _: () = assert!(
    cfg!(target_endian = "little"),
    "columns are written from memory as they are"
);

/// One column, borrowed from its batch.
pub(crate) struct Column<'a> {
    name: &'static str,
    dtype: Dtype,
    shape: Vec<usize>,
    pub(crate) data: &'a [u8],
}

/// All columns of a batch by descending element size.
pub(crate) fn columns<'a>(batch: &BatchView<'a>) -> Vec<Column<'a>> {
    let spans = batch.policy_version_spans.as_flattened();
    let mut columns = vec![
        Column::flat("input_ids", batch.input_ids),
        Column::flat("inference_logprobs", batch.inference_logprobs),
        Column::flat("advantages", batch.advantages),
        Column::flat("temperatures", batch.temperatures),
        Column::flat("cu_seqlens", batch.cu_seqlens),
        Column::flat("bin_seq_offsets", batch.bin_seq_offsets),
        Column {
            shape: vec![spans.len() / 2, 2],
            ..Column::flat("policy_version_spans", spans)
        },
    ];
    let optional = [
        ("rl_weights", batch.rl_weights),
        ("ce_weights", batch.ce_weights),
        ("ref_kl_weights", batch.ref_kl_weights),
        ("reference_logprobs", batch.reference_logprobs),
    ];
    for (name, stream) in optional {
        columns.extend(stream.map(|stream| Column::flat(name, stream)));
    }
    let (wide, narrow) = match batch.routed_experts.map(Column::experts) {
        Some(experts) if experts.dtype == Dtype::U16 => (Some(experts), None),
        narrow => (None, narrow),
    };
    columns.push(Column::flat("env_ids", batch.env_ids));
    columns.extend(wide);
    columns.push(Column::flat("loss_mask", batch.loss_mask));
    columns.extend(narrow);
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

    fn experts(experts: RoutedExperts<'a>) -> Self {
        let ExpertShape { layers, top_k, width } = experts.shape;
        let row = experts.shape.row_bytes().max(1);
        Self {
            name: ROUTED_EXPERTS,
            dtype: match width {
                ExpertWidth::U8 => Dtype::U8,
                ExpertWidth::U16 => Dtype::U16,
            },
            shape: vec![experts.ids.len() / row, layers as usize, top_k as usize],
            data: experts.ids,
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
/// Every byte of the type is initialised (it has no padding), and any bytes are a value of it.
pub(crate) unsafe trait Element: Copy {
    const DTYPE: Dtype;
}

// SAFETY: integers and floats have no padding and no invalid values.
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

/// `bytes` as numbers; None when they are not aligned for these numbers.
fn cast<T: Element>(bytes: &[u8]) -> Option<&[T]> {
    // SAFETY: any bytes are a value of an `Element`.
    match unsafe { bytes.align_to() } {
        ([], values, []) => Some(values),
        _ => None,
    }
}

/// The tensors of a parsed file as slices of numbers.
#[derive(Clone, Copy)]
pub(crate) struct Columns<'a> {
    header: &'a Header,
    bytes: &'a [u8],
}

impl<'a> Columns<'a> {
    /// Over `bytes`, which `header` was parsed from.
    pub(crate) fn new(header: &'a Header, bytes: &'a [u8]) -> Self {
        Self { header, bytes }
    }

    /// All columns of a batch, and nothing else.
    pub(crate) fn batch(&self, counts: Counts) -> Result<BatchView<'a>, String> {
        let batch = BatchView {
            input_ids: self.required("input_ids")?,
            inference_logprobs: self.required("inference_logprobs")?,
            advantages: self.required("advantages")?,
            temperatures: self.required("temperatures")?,
            loss_mask: self.required("loss_mask")?,
            cu_seqlens: self.required("cu_seqlens")?,
            env_ids: self.required("env_ids")?,
            bin_seq_offsets: self.required("bin_seq_offsets")?,
            policy_version_spans: self.pairs("policy_version_spans")?,
            rl_weights: self.optional("rl_weights", 1)?,
            ce_weights: self.optional("ce_weights", 1)?,
            ref_kl_weights: self.optional("ref_kl_weights", 1)?,
            reference_logprobs: self.optional("reference_logprobs", 1)?,
            routed_experts: self.experts()?,
            counts,
        };
        let known = columns(&batch).len();
        match self.header.tensors.len() {
            present if present == known => Ok(batch),
            present => Err(format!("it has {present} columns, {known} of them known")),
        }
    }

    /// A column of one number per row.
    pub(crate) fn required<T: Element>(&self, name: &str) -> Result<&'a [T], String> {
        self.optional(name, 1)?
            .ok_or_else(|| format!("it lacks the column {name}"))
    }

    /// A column of two numbers per row.
    pub(crate) fn pairs(&self, name: &str) -> Result<&'a [[u32; 2]], String> {
        let flat = self.optional(name, 2)?;
        let flat: &[u32] = flat.ok_or_else(|| format!("it lacks the column {name}"))?;
        match self.header.info(name) {
            Some(info) if info.shape[1] == 2 => Ok(flat.as_chunks().0),
            _ => Err(format!("{name} does not have two numbers per row")),
        }
    }

    fn experts(&self) -> Result<Option<RoutedExperts<'a>>, String> {
        let Some(info) = self.header.info(ROUTED_EXPERTS) else {
            return Ok(None);
        };
        let view = self
            .header
            .tensor(self.bytes, ROUTED_EXPERTS)
            .map_err(|error| error.to_string())?;
        let width = match view.dtype {
            Dtype::U8 => ExpertWidth::U8,
            Dtype::U16 => ExpertWidth::U16,
            other => return Err(format!("{ROUTED_EXPERTS} is {other}, expected U8 or U16")),
        };
        let [_, layers, top_k] = info.shape[..] else {
            return Err(format!(
                "{ROUTED_EXPERTS} is {:?}, expected [T, layers, top_k]",
                info.shape
            ));
        };
        let number = |value: usize| u32::try_from(value).map_err(|_| format!("{ROUTED_EXPERTS} is {:?}", info.shape));
        let shape = ExpertShape {
            layers: number(layers)?,
            top_k: number(top_k)?,
            width,
        };
        Ok(Some(RoutedExperts { shape, ids: view.data }))
    }

    fn optional<T: Element>(&self, name: &str, dimensions: usize) -> Result<Option<&'a [T]>, String> {
        if self.header.info(name).is_none() {
            return Ok(None);
        }
        let view = self
            .header
            .tensor(self.bytes, name)
            .map_err(|error| error.to_string())?;
        if view.dtype != T::DTYPE || view.shape.len() != dimensions {
            let (dtype, shape, wanted) = (view.dtype, view.shape, T::DTYPE);
            return Err(format!(
                "{name} is {dtype} {shape:?}, expected {wanted} of {dimensions} dimensions"
            ));
        }
        let values = cast(view.data).ok_or_else(|| format!("{name} is not aligned to its numbers"))?;
        Ok(Some(values))
    }
}
