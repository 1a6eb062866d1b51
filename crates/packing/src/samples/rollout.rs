//! The samples of one episode in native memory, from the bytes that an env worker sent.
//!
//! The bytes are a safetensors blob with, for trace i, `<i>.token_ids` U32[T], `<i>.mask` U8[T], `<i>.logprobs` F32[T],
//! `<i>.version_spans` U32[K,2] and `<i>.branch_offsets` U32[n+1]. Branch b of a trace is its tokens from offset b to
//! offset b+1, one training sample. A trace may have `<i>.routed_experts` U8 or U16 [T,L,k]. Spans are rows (first token, version), counted from the start of the trace,
//! ascending from 0 and split at every branch start. All of it is checked when it arrives.

use std::ops::Range;

use prl_weights::{Dtype, Header, parse};

use crate::PackError;
use crate::experts::{ExpertShape, ExpertWidth, RoutedExperts, RoutedExpertsBuf};
use crate::scan::{first, first_pair};

/// The columns of an episode's samples, one after the other.
#[derive(Debug, Default)]
pub struct Rollout {
    token_ids: Vec<u32>,
    mask: Vec<u8>,
    logprobs: Vec<f32>,
    /// The experts of the tokens of traces that record them; absent when none does. Traces without have no rows, because their number and the size of a
    /// row come from different tensors, whose product has no bound.
    experts: Option<RoutedExpertsBuf>,
    /// Their first tokens are counted from the start of their sample.
    version_spans: Vec<[u32; 2]>,
    samples: Vec<Place>,
    /// Trace i has the samples from `[i]` to `[i+1]`.
    trace_samples: Vec<usize>,
}

/// The place of a sample in the columns.
#[derive(Debug)]
struct Place {
    tokens: Range<usize>,
    spans: Range<usize>,
    /// The row of its first token in the experts, when the trace records them.
    first_row: Option<usize>,
}

/// One sample of a rollout, with the fields of [`crate::SampleRef`] that its env worker knows.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(missing_docs, reason = "every field is documented at SampleRef")]
pub struct RolloutSample<'a> {
    pub token_ids: &'a [u32],
    pub mask: &'a [u8],
    pub logprobs: &'a [f32],
    pub version_spans: &'a [[u32; 2]],
    pub routed_experts: Option<RoutedExperts<'a>>,
}

impl Rollout {
    /// Copies the columns of `traces` traces out of `blob`, which may lie anywhere in memory.
    ///
    /// # Errors
    /// [`PackError::Rollout`] naming the trace and what is wrong with it, [`PackError::Weights`] when the blob is no
    /// safetensors file.
    pub fn parse(blob: &[u8], traces: usize) -> Result<Self, PackError> {
        let header = parse(blob)?;
        let mut rollout = Self {
            trace_samples: vec![0],
            ..Self::default()
        };
        for trace in 0..traces {
            let columns = Blob {
                header: &header,
                blob,
                trace,
            };
            rollout
                .push_trace(&columns)
                .map_err(|reason| PackError::Rollout(format!("trace {trace}: {reason}")))?;
        }
        Ok(rollout)
    }

    /// Tokens of all samples.
    pub fn tokens(&self) -> usize {
        self.token_ids.len()
    }

    /// Bytes of memory that its columns take.
    pub fn bytes(&self) -> usize {
        let experts = self.experts.as_ref().map_or(0, |experts| experts.ids.capacity());
        let columns = 9 * self.token_ids.capacity() + 8 * self.version_spans.capacity() + experts;
        columns + size_of::<Place>() * self.samples.capacity()
    }

    /// Its samples, in the order of traces and branches.
    pub fn samples(&self) -> impl ExactSizeIterator<Item = RolloutSample<'_>> {
        (0..self.samples.len()).map(|index| self.sample(index))
    }

    /// Sample `index` of [`Rollout::samples`].
    ///
    /// # Panics
    /// When there is none.
    pub fn sample(&self, index: usize) -> RolloutSample<'_> {
        let Place {
            tokens,
            spans,
            first_row,
        } = &self.samples[index];
        let experts = self.experts.as_ref().zip(*first_row);
        RolloutSample {
            token_ids: &self.token_ids[tokens.clone()],
            mask: &self.mask[tokens.clone()],
            logprobs: &self.logprobs[tokens.clone()],
            version_spans: &self.version_spans[spans.clone()],
            routed_experts: experts.map(|(experts, row)| experts.rows(row..row + tokens.len())),
        }
    }

    /// The indices of the samples of each trace.
    pub fn trace_samples(&self) -> impl ExactSizeIterator<Item = Range<usize>> {
        self.trace_samples.windows(2).map(|pair| pair[0]..pair[1])
    }

    fn push_trace(&mut self, columns: &Blob<'_>) -> Result<(), String> {
        let start = self.token_ids.len();
        columns.copy("token_ids", Dtype::U32, u32::from_le_bytes, &mut self.token_ids)?;
        let tokens = self.token_ids.len() - start;
        columns.copy("mask", Dtype::U8, u8::from_le_bytes, &mut self.mask)?;
        columns.copy("logprobs", Dtype::F32, f32::from_le_bytes, &mut self.logprobs)?;
        for (name, end) in [("mask", self.mask.len()), ("logprobs", self.logprobs.len())] {
            if end != start + tokens {
                return Err(format!("{name} has {} entries for {tokens} tokens", end - start));
            }
        }
        let first_row = self.push_experts(columns, tokens)?;
        let mask = &self.mask[start..];
        if let Some(token) = first(mask, |mask| mask > 1) {
            return Err(format!("mask is {} at token {token}, expected 0 or 1", mask[token]));
        }
        let logprobs = &self.logprobs[start..];
        if let Some(token) = first_pair(logprobs, mask, |value, mask| (mask != 0) & !value.is_finite()) {
            return Err(format!(
                "logprobs is {} at token {token}, which was sampled",
                logprobs[token]
            ));
        }
        let mut offsets = Vec::new();
        columns.copy("branch_offsets", Dtype::U32, u32::from_le_bytes, &mut offsets)?;
        if offsets.first() != Some(&0) || offsets.last().map(|&end| end as usize) != Some(tokens) {
            return Err(format!("branch_offsets do not go from 0 to {tokens}"));
        }
        let mut spans = columns.spans(tokens)?.into_iter().peekable();
        for branch in offsets.windows(2) {
            let (from, to) = (branch[0], branch[1]);
            if from >= to {
                return Err(format!("branch_offsets do not ascend from {from} to {to}"));
            }
            if mask[from as usize] != 0 {
                return Err(format!("mask is 1 at token {from}, where a branch starts"));
            }
            if spans.peek().is_none_or(|[first, _]| *first != from) {
                return Err(format!(
                    "version_spans are not cut at token {from}, where a branch starts"
                ));
            }
            let first_span = self.version_spans.len();
            while let Some([first, version]) = spans.next_if(|[first, _]| *first < to) {
                self.version_spans.push([first - from, version]);
            }
            self.samples.push(Place {
                tokens: start + from as usize..start + to as usize,
                spans: first_span..self.version_spans.len(),
                first_row: first_row.map(|row| row + from as usize),
            });
        }
        self.trace_samples.push(self.samples.len());
        Ok(())
    }

    /// Adds the experts of a trace of `tokens` tokens, and returns the row of the first one when it has any.
    fn push_experts(&mut self, columns: &Blob<'_>, tokens: usize) -> Result<Option<usize>, String> {
        let Some((shape, ids)) = columns.experts(tokens)? else {
            return Ok(None);
        };
        let all = self
            .experts
            .get_or_insert_with(|| RoutedExpertsBuf { shape, ids: Vec::new() });
        if all.shape != shape {
            return Err(format!(
                "routed_experts is {shape:?}, that of an earlier trace {:?}",
                all.shape
            ));
        }
        let row = all.ids.len() / shape.row_bytes();
        all.ids.extend_from_slice(ids);
        Ok(Some(row))
    }
}

/// The tensors of one trace.
struct Blob<'a> {
    header: &'a Header,
    blob: &'a [u8],
    trace: usize,
}

impl Blob<'_> {
    fn copy<T, const N: usize>(
        &self,
        name: &str,
        dtype: Dtype,
        from: impl Fn([u8; N]) -> T,
        target: &mut Vec<T>,
    ) -> Result<Vec<usize>, String> {
        let full = format!("{}.{name}", self.trace);
        let view = self
            .header
            .tensor(self.blob, &full)
            .map_err(|_| format!("the blob has no tensor {full}"))?;
        if view.dtype != dtype {
            return Err(format!("{name} is {}, expected {dtype}", view.dtype));
        }
        target.extend(view.data.as_chunks().0.iter().map(|&bytes| from(bytes)));
        Ok(view.shape.to_vec())
    }

    /// Shape and bytes of the trace's experts, if it records them.
    fn experts(&self, tokens: usize) -> Result<Option<(ExpertShape, &[u8])>, String> {
        let Ok(view) = self.header.tensor(self.blob, &format!("{}.routed_experts", self.trace)) else {
            return Ok(None);
        };
        let width = match view.dtype {
            Dtype::U8 => ExpertWidth::U8,
            Dtype::U16 => ExpertWidth::U16,
            other => return Err(format!("routed_experts is {other}, expected U8 or U16")),
        };
        let &[_, layers, top_k] = view.shape else {
            return Err(format!(
                "routed_experts has shape {:?}, expected three numbers",
                view.shape
            ));
        };
        let count = |size: usize| u32::try_from(size).map_err(|_| format!("routed_experts has a dimension of {size}"));
        let shape = ExpertShape {
            layers: count(layers)?,
            top_k: count(top_k)?,
            width,
        };
        RoutedExperts { shape, ids: view.data }.check(tokens)?;
        Ok(Some((shape, view.data)))
    }

    fn spans(&self, tokens: usize) -> Result<Vec<[u32; 2]>, String> {
        let mut flat = Vec::new();
        let shape = self.copy("version_spans", Dtype::U32, u32::from_le_bytes, &mut flat)?;
        if shape.get(1..) != Some(&[2]) {
            return Err(format!(
                "version_spans has shape {shape:?}, expected two numbers per row"
            ));
        }
        let spans = flat.as_chunks().0.to_vec();
        if let Some(pair) = spans.windows(2).find(|pair: &&[[u32; 2]]| pair[0][0] >= pair[1][0]) {
            return Err(format!(
                "version_spans do not ascend from {} to {}",
                pair[0][0], pair[1][0]
            ));
        }
        match spans.last() {
            Some([last, _]) if *last as usize >= tokens => Err(format!("version_spans reach token {last} of {tokens}")),
            _ => Ok(spans),
        }
    }
}
