//! Boxes of elements within a tensor.

use std::fmt;
use std::ops::Range;

use super::TensorShape;
use crate::{Dtype, WeightsError};

/// A box of elements: a range of indices along each axis. A scalar's region has no axes and one element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Region(Vec<Range<usize>>);

impl Region {
    /// All of a tensor of this shape.
    pub fn whole(shape: &[usize]) -> Self {
        Self(shape.iter().map(|&length| 0..length).collect())
    }

    /// This region with another range along `axis`.
    #[must_use]
    pub fn cut(&self, axis: usize, range: Range<usize>) -> Self {
        let mut axes = self.0.clone();
        axes[axis] = range;
        Self(axes)
    }

    /// The indices along `axis`.
    pub fn axis(&self, axis: usize) -> Range<usize> {
        self.0[axis].clone()
    }

    /// How many elements it has along each axis: the shape of a tensor that holds only this region.
    pub fn lengths(&self) -> Vec<usize> {
        self.0.iter().map(Range::len).collect()
    }

    /// How many elements it has.
    pub fn elements(&self) -> usize {
        self.0.iter().map(Range::len).product()
    }

    /// Whether every element of `other` is in it.
    pub fn contains(&self, other: &Self) -> bool {
        let mut axes = self.0.iter().zip(&other.0);
        axes.all(|(own, other)| own.start <= other.start && other.end <= own.end)
    }

    pub(super) fn fits(&self, shape: &[usize]) -> bool {
        self.0.len() == shape.len()
            && self
                .0
                .iter()
                .zip(shape)
                .all(|(range, &length)| range.start <= range.end && range.end <= length)
    }

    pub(super) fn overlaps(&self, other: &Self) -> bool {
        let mut axes = self.0.iter().zip(&other.0);
        self.elements() > 0
            && other.elements() > 0
            && axes.all(|(own, other)| own.start < other.end && other.start < own.end)
    }

    pub(super) fn with_axis(&self, range: Range<usize>) -> Self {
        let mut axes = self.0.clone();
        axes.push(range);
        Self(axes)
    }

    /// Sorts regions so that those that follow each other along `axis` are neighbours.
    pub(super) fn order_across(&self, axis: usize) -> (Vec<(usize, usize)>, usize) {
        let across = self.0.iter().enumerate().filter(|(other, _)| *other != axis);
        let across = across.map(|(_, range)| (range.start, range.end)).collect();
        (across, self.0[axis].start)
    }

    /// This region and `next` as one, when `next` begins where this ends along `axis` and the ranges along the other axes are equal.
    pub(super) fn joined(&self, next: &Self, axis: usize) -> Option<Self> {
        let joined = self.cut(axis, self.0[axis].start..next.0[axis].end);
        let follows = self.0[axis].end == next.0[axis].start;
        (follows && joined.cut(axis, next.axis(axis)) == *next).then_some(joined)
    }

    /// Contiguous runs of this region in a row-major tensor that holds `part`, as ranges of bytes, in row-major order.
    pub(super) fn runs_in(&self, part: &Self, dtype: Dtype, local_bytes: usize, mut each: impl FnMut(Range<usize>)) {
        let bits = dtype.bits();
        assert_eq!(part.elements() * bits / 8, local_bytes, "the local tensor is the part");
        // The region has all of the part along the axes behind `split`, so these and the split axis make one run.
        let split = (0..self.0.len())
            .rev()
            .find(|&axis| self.0[axis] != part.0[axis])
            .unwrap_or(0);
        let inner: usize = part.0[(split + 1).min(part.0.len())..].iter().map(Range::len).product();
        let run = self.0.get(split).map_or(1, Range::len) * inner;
        let outer: usize = self.0[..split.min(self.0.len())].iter().map(Range::len).product();
        if run == 0 {
            return;
        }
        for index in 0..outer {
            let mut rest = index;
            let mut start = self.0.get(split).map_or(0, |range| range.start - part.0[split].start) * inner;
            let mut stride = inner * part.0.get(split).map_or(1, Range::len);
            for axis in (0..split).rev() {
                let length = self.0[axis].len();
                start += (rest % length + self.0[axis].start - part.0[axis].start) * stride;
                rest /= length;
                stride *= part.0[axis].len();
            }
            each(start * bits / 8..(start + run) * bits / 8);
        }
    }

    /// Checks that a region of elements below a byte begins and ends at whole bytes, within its row and in every part.
    pub(super) fn check_bytes(&self, tensor: &TensorShape) -> Result<(), WeightsError> {
        let bits = tensor.dtype.bits();
        if bits.is_multiple_of(8) {
            return Ok(());
        }
        let inside_row = |edge: usize| (edge * bits).is_multiple_of(8);
        let whole = self.0.last().is_none_or(|row| {
            inside_row(row.start) && inside_row(row.end) && inside_row(tensor.shape.last().copied().unwrap_or(0))
        });
        if whole {
            return Ok(());
        }
        Err(tensor.fault(format!("{self} of {} are no whole bytes", tensor.dtype)))
    }
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ranges: Vec<String> = self
            .0
            .iter()
            .map(|range| format!("{}..{}", range.start, range.end))
            .collect();
        write!(f, "elements [{}]", ranges.join(", "))
    }
}
