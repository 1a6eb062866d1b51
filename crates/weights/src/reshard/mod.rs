//! Moves weights from the ranks that train them to the ranks that serve them, when the two cut tensors differently.
//!
//! A [`Layout`] says which rank has which region of which tensor: split by rows or columns, an expert on one rank,
//! replicated, or any mixture over groups of ranks. [`ReshardPlan::new`] overlays two layouts once; the plan is then
//! used at every step. Every byte that some target needs leaves exactly one source, once, with the list of all targets
//! that need it, so that a broadcast can serve replicas. Among sources that have the same region, the one with the
//! least to send is taken. This module knows no network: [`Transfer::pack`] and [`Transfer::unpack`] turn local tensors
//! into the bytes of a transfer and back.

mod folders;
mod layout;
mod region;
mod rules;
mod share;

pub use folders::{Resharded, rank_directory, reshard_folders};
pub use layout::{Layout, Part, TensorShape};
pub use region::Region;
pub use rules::{Cut, LayoutRules, Rule};
pub(crate) use share::refuse_share;

use std::collections::BTreeSet;
use std::ops::Range;

use crate::{Dtype, WeightsError};

/// A region that one source sends to one or more targets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transfer {
    /// Index of the tensor in the list that the plan was made of.
    pub tensor: usize,
    /// The region that is sent.
    pub region: Region,
    /// Rank of the source layout.
    pub source: usize,
    /// Ranks of the target layout, ascending.
    pub targets: Vec<usize>,
    dtype: Dtype,
    source_part: Region,
    target_parts: Vec<Region>,
}

/// The transfers of every step, in the order of the tensors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReshardPlan {
    transfers: Vec<Transfer>,
}

impl ReshardPlan {
    /// The plan from `source` to `target`, layouts of the same `tensors`.
    ///
    /// # Errors
    /// [`WeightsError::Plan`] when a target needs a region that no source has, or when a region of a dtype below a byte does not
    /// consist of whole bytes.
    pub fn new(tensors: &[TensorShape], source: &Layout, target: &Layout) -> Result<Self, WeightsError> {
        let mut transfers = Vec::new();
        let mut load = vec![0u64; source.ranks()];
        for (index, tensor) in tensors.iter().enumerate() {
            let (from, to) = (source.parts(index), target.parts(index));
            for (region, holders, needers) in overlay(tensor, from, to) {
                let Some(&first) = holders.first() else {
                    return Err(tensor.fault(format!(
                        "no source has {region}, which rank {} needs",
                        to[needers[0]].rank
                    )));
                };
                let least = |&holder: &&usize| (load[from[*holder].rank], from[*holder].rank);
                let holder = holders.iter().min_by_key(least).copied().unwrap_or(first);
                let parts = needers.iter().map(|&needer| &to[needer].region);
                for region in parts.chain([&region, &from[holder].region]) {
                    region.check_bytes(tensor)?;
                }
                let bytes = region.elements() as u64 * tensor.dtype.bits() as u64 / 8;
                load[from[holder].rank] += bytes;
                let mut needers = needers;
                needers.sort_unstable_by_key(|&needer| to[needer].rank);
                transfers.push(Transfer {
                    tensor: index,
                    region,
                    source: from[holder].rank,
                    targets: needers.iter().map(|&needer| to[needer].rank).collect(),
                    dtype: tensor.dtype,
                    source_part: from[holder].region.clone(),
                    target_parts: needers.iter().map(|&needer| to[needer].region.clone()).collect(),
                });
            }
        }
        Ok(Self { transfers })
    }

    /// All transfers.
    pub fn transfers(&self) -> &[Transfer] {
        &self.transfers
    }

    /// Bytes that leave the sources in one step.
    pub fn bytes(&self) -> u64 {
        self.transfers.iter().map(|transfer| transfer.byte_len() as u64).sum()
    }
}

impl Transfer {
    /// Bytes on the wire.
    pub fn byte_len(&self) -> usize {
        self.region.elements() * self.dtype.bits() / 8
    }

    /// Appends the transfer's bytes to `wire`; `local` is the source's part of the tensor, row-major.
    ///
    /// # Panics
    /// When `local` is not as long as that part.
    pub fn pack(&self, local: &[u8], wire: &mut Vec<u8>) {
        self.region.runs_in(&self.source_part, self.dtype, local.len(), |run| {
            wire.extend_from_slice(&local[run])
        });
    }

    /// Puts the transfer's bytes at their place in `local`, the part of the tensor that `target` has.
    ///
    /// # Panics
    /// When `target` is none of the targets, or a length does not fit.
    pub fn unpack(&self, target: usize, wire: &[u8], local: &mut [u8]) {
        assert_eq!(wire.len(), self.byte_len(), "the wire has the transfer's bytes");
        let number = self.targets.binary_search(&target).expect("one of the targets");
        let mut rest = wire;
        self.region
            .runs_in(&self.target_parts[number], self.dtype, local.len(), |run| {
                let (bytes, after) = rest.split_at(run.len());
                local[run].copy_from_slice(bytes);
                rest = after;
            });
    }
}

/// A region, the indices of the parts that have it, and those of the parts that need it.
type Cell = (Region, Vec<usize>, Vec<usize>);

/// Divides the needed elements of a tensor into regions, each wholly inside or outside of every part. Neighbours with the same
/// parts are merged, so that there are few regions.
fn overlay(tensor: &TensorShape, from: &[Part], to: &[Part]) -> Vec<Cell> {
    let axes = tensor.shape.len();
    let cuts: Vec<Vec<usize>> = (0..axes)
        .map(|axis| {
            let edges = from.iter().chain(to).flat_map(|part| {
                let Range { start, end } = part.region.axis(axis);
                [start, end]
            });
            edges.collect::<BTreeSet<_>>().into_iter().collect()
        })
        .collect();
    let mut regions = vec![Region::whole(&[])];
    for edges in &cuts {
        let spans = || edges.windows(2).map(|pair| pair[0]..pair[1]);
        regions = regions
            .iter()
            .flat_map(|region| spans().map(move |span| region.with_axis(span)))
            .collect();
    }
    let within = |region: &Region, parts: &[Part]| -> Vec<usize> {
        (0..parts.len())
            .filter(|&part| parts[part].region.contains(region))
            .collect()
    };
    let mut cells: Vec<Cell> = regions
        .into_iter()
        .map(|region| {
            let (holders, needers) = (within(&region, from), within(&region, to));
            (region, holders, needers)
        })
        .filter(|(region, _, needers)| !needers.is_empty() && region.elements() > 0)
        .collect();
    for axis in (0..axes).rev() {
        cells = merge(cells, axis);
    }
    cells
}

/// Joins cells that follow each other along `axis`, have equal ranges along the other axes and belong to the same parts.
fn merge(cells: Vec<Cell>, axis: usize) -> Vec<Cell> {
    let mut merged: Vec<Cell> = Vec::with_capacity(cells.len());
    let mut cells = cells;
    cells.sort_by_cached_key(|(region, ..)| region.order_across(axis));
    for (region, holders, needers) in cells {
        if let Some((last, last_holders, last_needers)) = merged.last_mut()
            && (&holders, &needers) == (last_holders, last_needers)
            && let Some(joined) = last.joined(&region, axis)
        {
            *last = joined;
        } else {
            merged.push((region, holders, needers));
        }
    }
    merged
}
