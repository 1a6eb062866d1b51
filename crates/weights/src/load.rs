//! Weights read into memory of their own, by several threads at once.
//!
//! Right for weights that are all needed, once: large parallel reads are several times as fast as faulting in a map
//! page by page. For a few tensors of many, [`Checkpoint`] reads what is touched. Every tensor begins at a multiple of
//! [`ALIGN_BYTES`], however its file is aligned.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Mutex;

use memmap2::{Advice, MmapMut};

use crate::checkpoint::Checkpoint;
use crate::file::TensorView;
use crate::{Dtype, WeightsError, parallel};

/// Tensors begin at multiples of this many bytes: a cache line, the widest vector register.
pub const ALIGN_BYTES: usize = 64;
/// What a thread reads at a time: large enough for a disk, small enough to share out evenly.
const READ_BYTES: usize = 8 << 20;

/// The tensors of a folder, in memory.
#[derive(Debug)]
pub struct LoadedWeights {
    memory: MmapMut,
    tensors: BTreeMap<String, LoadedTensor>,
}

#[derive(Debug)]
struct LoadedTensor {
    dtype: Dtype,
    shape: Vec<usize>,
    start: usize,
    bytes: usize,
}

/// A piece of work: bytes of one file, and where they go.
struct Piece<'a> {
    file: usize,
    offset: u64,
    target: &'a mut [u8],
}

impl LoadedWeights {
    /// Reads the weights of the Hugging Face folder `directory`, single or sharded. `threads` 0 takes the cores this
    /// process may run on, up to 8.
    ///
    /// # Errors
    /// As [`Checkpoint::open`]; [`WeightsError::Io`] when memory or a file cannot be had.
    pub fn read(directory: &Path, threads: usize) -> Result<Self, WeightsError> {
        let checkpoint = Checkpoint::open(directory)?;
        let mut tensors = BTreeMap::new();
        let mut sources = Vec::new();
        let mut length = 0usize;
        for (number, file) in checkpoint.files().iter().enumerate() {
            let infos = file.header().tensors.iter();
            for info in infos.filter(|info| checkpoint.contains(&info.name)) {
                let (begin, end) = info.data_offsets;
                length = length.next_multiple_of(ALIGN_BYTES);
                sources.push((number, (file.header().data_start + begin) as u64, length, end - begin));
                tensors.insert(
                    info.name.clone(),
                    LoadedTensor {
                        dtype: info.dtype,
                        shape: info.shape.clone(),
                        start: length,
                        bytes: end - begin,
                    },
                );
                length += end - begin;
            }
        }
        let no_memory = || WeightsError::io("get memory for", directory);
        let mut memory = MmapMut::map_anon(length.max(1)).map_err(no_memory())?;
        // Without huge pages a system may spend more time on faults than on reading; it may refuse them all the same.
        if let Err(error) = memory.advise(Advice::HugePage) {
            tracing::debug!(%error, "no huge pages for weights");
        }
        let files: Vec<File> = checkpoint
            .files()
            .iter()
            .map(|file| File::open(file.path()).map_err(WeightsError::io("open", file.path())))
            .collect::<Result<_, _>>()?;
        let pieces = divide(&mut memory, &sources);
        let pieces: Vec<_> = pieces.into_iter().map(|piece| Mutex::new(Some(piece))).collect();
        parallel::map(pieces.len(), parallel::thread_count(threads), |index| {
            let piece = pieces[index].lock().expect("no thread panics with it").take();
            let Piece { file, offset, target } = piece.expect("each index is worked on once");
            files[file]
                .read_exact_at(target, offset)
                .map_err(WeightsError::io("read", checkpoint.files()[file].path()))
        })?;
        drop(pieces);
        Ok(Self { memory, tensors })
    }

    /// Names of all tensors in ascending order of their bytes.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    /// The tensor called `name`.
    pub fn tensor(&self, name: &str) -> Option<TensorView<'_>> {
        let LoadedTensor {
            dtype,
            shape,
            start,
            bytes,
        } = self.tensors.get(name)?;
        Some(TensorView {
            dtype: *dtype,
            shape,
            data: &self.memory[*start..start + bytes],
        })
    }
}

fn divide<'a>(memory: &'a mut [u8], sources: &[(usize, u64, usize, usize)]) -> Vec<Piece<'a>> {
    let mut pieces = Vec::new();
    let (mut rest, mut position) = (memory, 0);
    for &(file, offset, start, bytes) in sources {
        let (_, from_start) = std::mem::take(&mut rest).split_at_mut(start - position);
        let (target, after) = from_start.split_at_mut(bytes);
        for (number, target) in target.chunks_mut(READ_BYTES).enumerate() {
            pieces.push(Piece {
                file,
                offset: offset + (number * READ_BYTES) as u64,
                target,
            });
        }
        (rest, position) = (after, start + bytes);
    }
    pieces
}
