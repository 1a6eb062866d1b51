//! Layouts: which rank has which region of which tensor.

use super::Region;
use crate::{Dtype, WeightsError};

/// A tensor as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorShape {
    /// Its name.
    pub name: String,
    /// Type of its elements.
    pub dtype: Dtype,
    /// Elements per dimension, outermost first.
    pub shape: Vec<usize>,
}

impl TensorShape {
    pub(super) fn fault(&self, reason: String) -> WeightsError {
        WeightsError::Plan {
            name: self.name.clone(),
            reason,
        }
    }
}

/// A rank's region of a tensor; its local tensor holds it row-major.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The rank.
    pub rank: usize,
    /// Its region.
    pub region: Region,
}

/// The parts of every tensor over `ranks` ranks. Tensors are given by their index in a list that both sides share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    ranks: usize,
    tensors: Vec<TensorShape>,
    parts: Vec<Vec<Part>>,
}

impl Layout {
    /// A layout of `tensors` in which no rank has a part yet.
    pub fn new(tensors: &[TensorShape], ranks: usize) -> Self {
        Self {
            ranks,
            tensors: tensors.to_vec(),
            parts: vec![Vec::new(); tensors.len()],
        }
    }

    /// How many ranks there are.
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// The parts of the tensor with this index.
    pub fn parts(&self, tensor: usize) -> &[Part] {
        &self.parts[tensor]
    }

    /// Gives every rank of `ranks` the whole tensor: several ranks for a replicated tensor, one rank for an expert.
    ///
    /// # Errors
    /// [`WeightsError::Plan`] when a rank is out of range or has some of the tensor already.
    pub fn replicate(&mut self, tensor: usize, ranks: &[usize]) -> Result<(), WeightsError> {
        let whole = Region::whole(&self.tensors[tensor].shape);
        ranks
            .iter()
            .try_for_each(|&rank| self.place(tensor, rank, whole.clone()))
    }

    /// Cuts the tensor along `axis` into as many runs as there are `ranks`, in their order: axis 0 cuts rows, axis 1
    /// columns. The length of a run is rounded up and the last runs get the rest, as `torch.chunk` and FSDP cut.
    ///
    /// # Errors
    /// [`WeightsError::Plan`] when there is no such axis, or as [`Layout::replicate`].
    pub fn split(&mut self, tensor: usize, axis: usize, ranks: &[usize]) -> Result<(), WeightsError> {
        let shape = &self.tensors[tensor];
        let Some(&length) = shape.shape.get(axis) else {
            return Err(shape.fault(format!("it has no axis {axis} to split")));
        };
        let whole = Region::whole(&shape.shape);
        let run = length.div_ceil(ranks.len().max(1));
        for (number, &rank) in ranks.iter().enumerate() {
            let range = (number * run).min(length)..((number + 1) * run).min(length);
            self.place(tensor, rank, whole.cut(axis, range))?;
        }
        Ok(())
    }

    /// Gives `region` to `rank`.
    ///
    /// # Errors
    /// As [`Layout::replicate`]; also when the region reaches beyond the tensor.
    pub fn place(&mut self, tensor: usize, rank: usize, region: Region) -> Result<(), WeightsError> {
        let shape = &self.tensors[tensor];
        if rank >= self.ranks {
            return Err(shape.fault(format!("rank {rank} is none of {}", self.ranks)));
        }
        if !region.fits(&shape.shape) {
            return Err(shape.fault(format!("{region} reach beyond {:?}", shape.shape)));
        }
        let own = self.parts[tensor].iter().filter(|part| part.rank == rank);
        if let Some(part) = own.into_iter().find(|part| part.region.overlaps(&region)) {
            return Err(shape.fault(format!("rank {rank} has {} and {region}, which overlap", part.region)));
        }
        self.parts[tensor].push(Part { rank, region });
        Ok(())
    }
}
