//! Makes a complete folder of a base and the sparse versions after it.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::blocks::{BLOCK_BYTES, decode_block};
use super::shard::{Coding, SparseRecord, SparseVersion, malformed};
use super::tensor::BlockIndex;
use crate::checkpoints::Checkpoint;
use crate::checkpoints::shards::{INDEX_FILE, SINGLE_FILE, WrittenCheckpoint};
use crate::files::Shard;
use crate::files::header::TensorInfo;
use crate::files::{SafetensorsFile, TensorView};
use crate::{Hasher, WeightsError, digest_file, parallel};

/// Bytes that a thread reads, patches, digests and writes at a time: whole blocks that stay in its cache.
const CHUNK_BYTES: usize = 4 * BLOCK_BYTES;

/// Writes into `directory`, which exists and is empty, the weights that result from applying `chain` to `base`: the first version
/// applies to the base, each other one to its predecessor. Files are named and laid out like the base's. Every tensor is
/// compared with the digest that the last version gives it; one that the base's index leaves out is copied. Nothing is synced, because the
/// result can be made again.
///
/// Each thread needs a chunk of half a mebibyte. `threads` 0 takes the cores this process may run on, up
/// to 8.
///
/// # Errors
/// [`WeightsError::Base`] when a version of the chain does not apply to the one before it, [`WeightsError::TensorDigest`] when a
/// result differs from the published one (so `base` has other weights than its digest says), [`WeightsError::Format`] for a
/// malformed shard, [`WeightsError::Io`] when the system refuses.
///
/// # Panics
/// When `chain` is empty.
pub fn apply_sparse(
    base: &Checkpoint,
    chain: &[SparseVersion],
    directory: &Path,
    threads: usize,
) -> Result<WrittenCheckpoint, WeightsError> {
    let last = chain.last().expect("there is something to apply");
    check_chain(chain)?;
    let threads = parallel::thread_count(threads);
    let mut outputs = Vec::with_capacity(base.files().len());
    let mut jobs = Vec::new();
    for (number, file) in base.files().iter().enumerate() {
        outputs.push(create(directory, file)?);
        jobs.extend(file.header().tensors.iter().map(|info| (number, info)));
    }
    let listed = base.names().count();
    if listed != last.records().len() {
        let reason = format!("it lists {} tensors, its base has {listed}", last.records().len());
        return Err(crate::manifest::at(last.directory(), reason));
    }
    parallel::map(jobs.len(), threads, |index| {
        let (number, info) = jobs[index];
        let (file, output) = (&base.files()[number], &outputs[number]);
        match base.lists(&info.name, number) {
            true => apply_tensor(file, info, chain, output),
            false => copy_tensor(file, info, output),
        }
    })?;
    let index = base.directory().join(INDEX_FILE);
    // A single shard may have an index too, without which its name is not found.
    if base.files().iter().any(|file| file_name(file) != SINGLE_FILE) {
        fs::copy(&index, directory.join(INDEX_FILE)).map_err(WeightsError::io("copy", &index))?;
    }
    let shards = parallel::map(outputs.len(), threads, |number| {
        let file = file_name(&base.files()[number]);
        let (digest, bytes) = digest_file(&directory.join(file))?;
        Ok(Shard {
            file: file.to_owned(),
            bytes,
            digest,
        })
    })?;
    Ok(WrittenCheckpoint {
        shards,
        digest: last.manifest().digest.clone(),
    })
}

fn check_chain(chain: &[SparseVersion]) -> Result<(), WeightsError> {
    for pair in chain.windows(2) {
        let (found, base) = (pair[0].manifest(), pair[1].base());
        if (found.version, &found.digest) != (base.version, &base.digest) {
            return Err(WeightsError::Base {
                path: pair[1].directory().to_path_buf(),
                version: base.version,
                digest: base.digest.clone(),
                reason: format!(
                    "version {} with digest {} is what comes before it",
                    found.version, found.digest
                ),
            });
        }
    }
    Ok(())
}

/// Makes the new file with the base's header and without data.
fn create(directory: &Path, base: &SafetensorsFile) -> Result<File, WeightsError> {
    let path = directory.join(file_name(base));
    let header = &base.bytes()[..base.header().data_start];
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&path)
        .map_err(WeightsError::io("create", &path))?;
    file.write_all_at(header, 0).map_err(WeightsError::io("write", &path))?;
    Ok(file)
}

fn file_name(file: &SafetensorsFile) -> &str {
    let name = file.path().file_name().and_then(|name| name.to_str());
    name.expect("files of a checkpoint have the names that its index or we gave them")
}

/// Copies a tensor that the base's index leaves out: the header, which is the base's, describes it.
fn copy_tensor(base: &SafetensorsFile, info: &TensorInfo, output: &File) -> Result<(), WeightsError> {
    let offset = base.header().data_start + info.data_offsets.0;
    output
        .write_all_at(base.tensor(&info.name)?.data, offset as u64)
        .map_err(WeightsError::io("write new weights from", base.path()))
}

/// One version's part in a tensor.
enum Patch<'a> {
    Blocks(&'a [u8], BlockIndex, &'a SafetensorsFile),
    Whole(&'a [u8]),
}

fn apply_tensor(
    base: &SafetensorsFile,
    info: &TensorInfo,
    chain: &[SparseVersion],
    output: &File,
) -> Result<(), WeightsError> {
    let old = base.tensor(&info.name)?;
    let mut patches = Vec::with_capacity(chain.len());
    for version in chain {
        patches.extend(patch(version, &info.name, &old)?);
    }
    let offset = base.header().data_start + info.data_offsets.0;
    let mut hasher = Hasher::new();
    let mut chunk = vec![0; CHUNK_BYTES.min(old.data.len())];
    for (number, from) in old.data.chunks(CHUNK_BYTES).enumerate() {
        let chunk = &mut chunk[..from.len()];
        let start = number * CHUNK_BYTES;
        chunk.copy_from_slice(from);
        for patch in &patches {
            patch.apply(&info.name, start, chunk)?;
        }
        hasher.update(chunk);
        output
            .write_all_at(chunk, (offset + start) as u64)
            .map_err(WeightsError::io("write new weights from", base.path()))?;
        prl_progress::made();
    }
    let last = chain.last().expect("there is something to apply");
    let (SparseRecord { digest, .. }, file, _) = last.tensor(&info.name).expect("each version was asked for it");
    let found = hasher.finish();
    if found == *digest {
        return Ok(());
    }
    Err(WeightsError::TensorDigest {
        name: info.name.clone(),
        path: file.path().to_path_buf(),
        expected: digest.clone(),
        found,
    })
}

fn patch<'a>(version: &'a SparseVersion, name: &str, old: &TensorView<'_>) -> Result<Option<Patch<'a>>, WeightsError> {
    let at_fault = |reason: String| WeightsError::Tensor {
        name: name.to_owned(),
        file: version.directory().display().to_string(),
        reason,
    };
    let (record, file, data) = version
        .tensor(name)
        .ok_or_else(|| at_fault("the sparse version does not list it".to_owned()))?;
    if (record.dtype, &record.shape[..]) != (old.dtype, old.shape) {
        let (dtype, shape) = (record.dtype, &record.shape);
        return Err(at_fault(format!(
            "it is {dtype} {shape:?} here and {} {:?} in the base",
            old.dtype, old.shape
        )));
    }
    Ok(match record.coding {
        Coding::Same => None,
        Coding::Whole => Some(Patch::Whole(data)),
        Coding::Rice16 => {
            let index = BlockIndex::parse(data, old.data.len())
                .map_err(|reason| malformed(file, format!("tensor {name:?}: {reason}")))?;
            Some(Patch::Blocks(data, index, file))
        }
    })
}

impl Patch<'_> {
    /// Brings `chunk`, which begins `start` bytes into the tensor at a block's start, to this version.
    fn apply(&self, name: &str, start: usize, chunk: &mut [u8]) -> Result<(), WeightsError> {
        match self {
            Self::Whole(data) => chunk.copy_from_slice(&data[start..start + chunk.len()]),
            Self::Blocks(code, index, file) => {
                for (number, block) in chunk.chunks_mut(BLOCK_BYTES).enumerate() {
                    let number = start / BLOCK_BYTES + number;
                    decode_block(index.code(code, number), block).map_err(|reason| {
                        let element = number * BLOCK_BYTES / 2;
                        malformed(file, format!("tensor {name:?}, block of element {element}: {reason}"))
                    })?;
                }
            }
        }
        Ok(())
    }
}
