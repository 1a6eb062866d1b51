//! Rewrites folders of ranks for other ranks. `rank_<r>/` has a rank's part of every tensor.
//!
//! A layout of one rank is a Hugging Face folder itself. Sources are mapped. The parts of one target rank are in memory at a
//! time.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::rules::{Cut, LayoutRules};
use super::share::{FOLDER, WholeShapes, check_count, check_shares, notes};
use super::{Layout, ReshardPlan, TensorShape};
use crate::checkpoints::Checkpoint;
use crate::checkpoints::shards::write_noted;
use crate::files::durable::{create_directory, replace_file};
use crate::files::write::TensorToWrite;
use crate::manifest::companions::version_files;
use crate::{WeightsError, WrittenCheckpoint};

/// The directory with the part of a rank.
pub fn rank_directory(root: &Path, rules: &LayoutRules, rank: usize) -> PathBuf {
    match rules.ranks {
        1 => root.to_path_buf(),
        _ => root.join(format!("{FOLDER}{rank}")),
    }
}

/// The result of [`reshard_folders`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resharded {
    /// The weights that were written for each target rank.
    pub ranks: Vec<WrittenCheckpoint>,
    /// The number of tensors.
    pub tensors: usize,
    /// Bytes that leave the sources, each counted once.
    pub sent_bytes: u64,
    /// Bytes of all targets together.
    pub written_bytes: u64,
}

/// Reads from `from` the weights in the layout `source` and writes them to `to` in the layout `target`. The other files of the
/// first source rank (config, tokenizer) are copied to every target rank. Our files have rank and layout in their metadata, which
/// are checked; files of other programs have none and are trusted.
///
/// # Errors
/// [`WeightsError::Plan`] when parts do not make up their tensor, rules do not fit, files are of another
/// layout, or there are folders of more ranks than the layout has; [`WeightsError::Tensor`] when a
/// rank lacks a tensor; and the errors of reading and writing folders.
pub fn reshard_folders(
    from: &Path,
    source: &LayoutRules,
    to: &Path,
    target: &LayoutRules,
    max_shard_bytes: u64,
) -> Result<Resharded, WeightsError> {
    check_count(from, source)?;
    check_count(to, target)?;
    let sources = (0..source.ranks)
        .map(|rank| Checkpoint::open(&rank_directory(from, source, rank)))
        .collect::<Result<Vec<_>, _>>()?;
    let wholes = check_shares(&sources, source)?;
    let tensors = whole_tensors(&sources, source)?;
    check_wholes(&tensors, &wholes)?;
    let (have, want) = (source.layout(&tensors)?, target.layout(&tensors)?);
    check_parts(&sources, &tensors, &have)?;
    let plan = ReshardPlan::new(&tensors, &have, &want)?;
    let mut ranks = Vec::with_capacity(target.ranks);
    let mut written_bytes = 0;
    for rank in 0..target.ranks {
        let directory = rank_directory(to, target, rank);
        create_directory(&directory)?;
        let parts = receive(&sources, &tensors, &plan, &want, rank)?;
        let parts: Vec<TensorToWrite<'_>> = parts.iter().map(|(index, part)| part.view(&tensors[*index])).collect();
        written_bytes += parts.iter().map(|part| part.data.len() as u64).sum::<u64>();
        let notes = |parts: &[TensorToWrite<'_>]| notes(rank, target, &tensors, parts);
        ranks.push(write_noted(&directory, &parts, max_shard_bytes, &notes)?);
        copy_others(sources[0].directory(), &directory)?;
    }
    Ok(Resharded {
        ranks,
        tensors: tensors.len(),
        sent_bytes: plan.bytes(),
        written_bytes,
    })
}

/// Names and whole shapes. Along the axis that is cut, the length is the sum over all ranks.
fn whole_tensors(sources: &[Checkpoint], rules: &LayoutRules) -> Result<Vec<TensorShape>, WeightsError> {
    let mut found: BTreeMap<&str, TensorShape> = BTreeMap::new();
    for source in sources {
        for name in source.names() {
            let part = source.tensor(name)?;
            let Some(known) = found.get_mut(name) else {
                let tensor = TensorShape {
                    name: name.to_owned(),
                    dtype: part.dtype,
                    shape: part.shape.to_vec(),
                };
                found.insert(name, tensor);
                continue;
            };
            if (known.dtype, known.shape.len()) != (part.dtype, part.shape.len()) {
                return Err(known.fault("ranks have it with different dtypes or dimensions".to_owned()));
            }
            if let Cut::Split(axis) | Cut::SplitEvenly(axis) = rules.cut(name)?
                && let (Some(length), Some(more)) = (known.shape.get_mut(axis), part.shape.get(axis))
            {
                *length += more;
            }
        }
    }
    Ok(found.into_values().collect())
}

/// Checks that the parts of all ranks make up the whole shape that their metadata have.
fn check_wholes(tensors: &[TensorShape], wholes: &WholeShapes) -> Result<(), WeightsError> {
    for tensor in tensors {
        if let Some(whole) = wholes.get(&tensor.name)
            && *whole != tensor.shape
        {
            let found = &tensor.shape;
            return Err(tensor.fault(format!(
                "the ranks have {found:?} of it together, the whole is {whole:?}"
            )));
        }
    }
    if let Some(name) = wholes
        .keys()
        .find(|name| !tensors.iter().any(|tensor| tensor.name == **name))
    {
        return Err(WeightsError::Plan {
            name: name.clone(),
            reason: "no rank has it".to_owned(),
        });
    }
    Ok(())
}

/// Checks that every rank has the part of every tensor that the layout gives it.
fn check_parts(sources: &[Checkpoint], tensors: &[TensorShape], have: &Layout) -> Result<(), WeightsError> {
    for (index, tensor) in tensors.iter().enumerate() {
        for part in have.parts(index) {
            let expected = part.region.lengths();
            let found = sources[part.rank].tensor(&tensor.name)?.shape;
            if found != expected {
                let rank = part.rank;
                return Err(tensor.fault(format!("rank {rank} has {found:?} of it, its layout says {expected:?}")));
            }
        }
    }
    Ok(())
}

/// A target rank's part of a tensor.
struct Received {
    shape: Vec<usize>,
    data: Vec<u8>,
}

impl Received {
    fn view<'a>(&'a self, tensor: &'a TensorShape) -> TensorToWrite<'a> {
        TensorToWrite {
            name: &tensor.name,
            dtype: tensor.dtype,
            shape: &self.shape,
            data: &self.data,
        }
    }
}

fn receive(
    sources: &[Checkpoint],
    tensors: &[TensorShape],
    plan: &ReshardPlan,
    want: &Layout,
    rank: usize,
) -> Result<BTreeMap<usize, Received>, WeightsError> {
    let mut received = BTreeMap::new();
    for (index, tensor) in tensors.iter().enumerate() {
        for part in want.parts(index).iter().filter(|part| part.rank == rank) {
            let shape = part.region.lengths();
            let bytes = tensor.dtype.byte_len(&shape);
            let bytes = bytes.ok_or_else(|| tensor.fault("its part is no whole number of bytes".to_owned()))?;
            let data = vec![0; bytes];
            received.insert(index, Received { shape, data });
        }
    }
    let mut wire = Vec::new();
    for transfer in plan.transfers() {
        if !transfer.targets.contains(&rank) {
            continue;
        }
        let tensor = &tensors[transfer.tensor];
        wire.clear();
        transfer.pack(sources[transfer.source].tensor(&tensor.name)?.data, &mut wire);
        let target = received.get_mut(&transfer.tensor).expect("a target has a part of it");
        transfer.unpack(rank, &wire, &mut target.data);
    }
    Ok(received)
}

/// Copies what is beside the weights. Each copy takes the place of a file whole, so that one which is a link to its source does not empty that.
fn copy_others(from: &Path, to: &Path) -> Result<(), WeightsError> {
    let real = |path: &Path| fs::canonicalize(path).map_err(WeightsError::io("find", path));
    if real(from)? == real(to)? {
        return Ok(());
    }
    for name in version_files(from)? {
        if name.contains(".safetensors") {
            continue;
        }
        let source = from.join(&name);
        let mut file = File::open(&source).map_err(WeightsError::io("open", &source))?;
        replace_file(&to.join(&name), |copy| io::copy(&mut file, copy))?;
    }
    Ok(())
}
