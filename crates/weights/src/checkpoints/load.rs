//! Weights that are read into new memory, by several threads at once.
//!
//! This is right for weights that are all needed, once: large parallel reads are several times as fast as faulting in a map
//! page by page. For a few tensors of many, [`Checkpoint`] is better: it reads only touched pages. Every tensor begins at a
//! multiple of [`ALIGN_BYTES`], however its file is aligned.
//!
//! New memory costs more than reading into it, because the system finds and clears it page by page; so every thread asks for
//! its own piece at once. Pages have the usual size: large ones are faster where the system has them ready, but many times
//! slower on virtual machines that give free memory back to their host. A caller that reads version after version gives the
//! memory of one to the next ([`LoadedWeights::read_again`]).

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Mutex;

use memmap2::MmapMut;

use super::Checkpoint;
use crate::files::{SafetensorsFile, TensorView};
use crate::{Dtype, WeightsError, parallel};

/// Tensors begin at multiples of this many bytes: a cache line, the widest vector register.
pub const ALIGN_BYTES: usize = 64;
/// Bytes that a thread reads at a time: enough for a disk's full speed, few enough to divide evenly among threads.
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

/// A piece of work: bytes of one file, and their place in memory.
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
    /// As [`Checkpoint::open`]; [`WeightsError::Io`] when the system refuses memory or a file.
    pub fn read(directory: &Path, threads: usize) -> Result<Self, WeightsError> {
        Self::read_into(None, directory, threads)
    }

    /// [`LoadedWeights::read`] into the memory of weights that are not needed any more, when it is large enough.
    ///
    /// # Errors
    /// As there; the old weights are gone then.
    pub fn read_again(self, directory: &Path, threads: usize) -> Result<Self, WeightsError> {
        Self::read_into(Some(self.memory), directory, threads)
    }

    fn read_into(memory: Option<MmapMut>, directory: &Path, threads: usize) -> Result<Self, WeightsError> {
        Self::of_checkpoint(&Checkpoint::open(directory)?, memory, threads)
    }

    fn of_checkpoint(checkpoint: &Checkpoint, memory: Option<MmapMut>, threads: usize) -> Result<Self, WeightsError> {
        let directory = checkpoint.directory();
        let mut tensors = BTreeMap::new();
        let mut sources = Vec::new();
        let mut length = 0usize;
        for (number, file) in checkpoint.files().iter().enumerate() {
            let infos = file.header().tensors.iter();
            for info in infos.filter(|info| checkpoint.lists(&info.name, number)) {
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
        let earlier = memory.filter(|memory| memory.len() >= length);
        let is_new = earlier.is_none();
        let mut memory = match earlier {
            Some(memory) => memory,
            None => MmapMut::map_anon(length.max(1)).map_err(WeightsError::io("get memory for", directory))?,
        };
        let files = checkpoint.files().iter().map(SafetensorsFile::reopen);
        let files: Vec<File> = files.collect::<Result<_, _>>()?;
        let pieces = divide(&mut memory, &sources);
        let pieces: Vec<_> = pieces.into_iter().map(|piece| Mutex::new(Some(piece))).collect();
        parallel::map(pieces.len(), parallel::thread_count(threads), |index| {
            let piece = pieces[index].lock().expect("no thread panics with it").take();
            let Piece { file, offset, target } = piece.expect("each index is worked on once");
            if is_new {
                populate(target).map_err(WeightsError::io("get memory for", directory))?;
            }
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

/// Makes the system find and clear all whole pages within `target` at once.
#[cfg(target_os = "linux")]
fn populate(target: &mut [u8]) -> io::Result<()> {
    // SAFETY: the call asks for a number and changes nothing.
    let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).map_err(io::Error::other)?;
    let skipped = target.as_ptr().align_offset(page);
    let whole = target.len().saturating_sub(skipped) / page * page;
    if whole == 0 {
        return Ok(());
    }
    // SAFETY: the pages are within memory that only this thread has, and their contents stay.
    let populated = unsafe { libc::madvise(target[skipped..].as_mut_ptr().cast(), whole, libc::MADV_POPULATE_WRITE) };
    match io::Error::last_os_error() {
        _ if populated == 0 => Ok(()),
        // Linux before 5.14 does not know this advice: pages come when they are written to.
        error if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        error => Err(error),
    }
}

#[cfg(not(target_os = "linux"))]
fn populate(_target: &mut [u8]) -> io::Result<()> {
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TensorToWrite, WriteOptions, write_safetensors};

    #[test]
    fn bytes_of_a_file_that_was_replaced_are_not_read_by_the_header_of_the_old_one() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("model.safetensors");
        let write = |value: u8| {
            let tensor = TensorToWrite {
                name: "a",
                dtype: Dtype::U8,
                shape: &[8],
                data: &[value; 8],
            };
            write_safetensors(&path, &[tensor], &[], WriteOptions::default()).unwrap();
        };
        write(1);
        let opened = Checkpoint::open(directory.path()).unwrap();
        let loaded = LoadedWeights::of_checkpoint(&opened, None, 1).unwrap();
        assert_eq!(loaded.tensor("a").unwrap().data, [1; 8]);
        write(2);
        let error = LoadedWeights::of_checkpoint(&opened, None, 1).unwrap_err();
        assert_eq!(error.code(), "PRL_WEIGHTS_IO");
        assert!(error.to_string().contains("model.safetensors"), "{error}");
        let loaded = LoadedWeights::read(directory.path(), 1).unwrap();
        assert_eq!(loaded.tensor("a").unwrap().data, [2; 8]);
    }
}
