//! Writing sparse shards.

use std::path::Path;

use super::blocks::BLOCK_BYTES;
use super::shard::{Coding, FORMAT, RECORDS, SPARSE_SHARD, SparseRecord};
use super::tensor::{CodedBlocks, join};
use crate::checkpoints::Checkpoint;
use crate::checkpoints::shards::{WrittenCheckpoint, group_by_size};
use crate::files::Shard;
use crate::files::write::{TensorToWrite, WriteOptions, write_safetensors};
use crate::parallel;
use crate::{Dtype, VersionHasher, WeightsError, digest};

/// Bytes that one thread codes at a time: whole blocks, few enough that a large tensor keeps every core busy.
const PIECE_BYTES: usize = 64 * BLOCK_BYTES;

/// How sparse shards are written.
#[derive(Debug, Clone, Copy)]
pub struct SparseOptions {
    /// A shard ends when the weights that it describes reach this size.
    pub max_shard_bytes: u64,
    /// A version of more bytes than this is not worth writing.
    pub max_bytes: u64,
    /// Threads to use; 0 takes the cores this process may run on, up to 8.
    pub threads: usize,
}

/// Writes into `directory` the changes from `base` to `tensors`: `delta.safetensors`, or
/// `delta-00001-of-0000N.safetensors`. Returns `None` and writes no file when they take more than `max_bytes`, or when
/// `tensors` have other names, dtypes or shapes than the base.
///
/// # Errors
/// As [`crate::write_safetensors`].
pub fn write_sparse(
    directory: &Path,
    base: &Checkpoint,
    tensors: &[TensorToWrite<'_>],
    options: SparseOptions,
) -> Result<Option<WrittenCheckpoint>, WeightsError> {
    if !same_layout(base, tensors) {
        return Ok(None);
    }
    let threads = parallel::thread_count(options.threads);
    let groups = group_by_size(tensors, options.max_shard_bytes);
    let mut version = VersionHasher::new();
    let mut shards: Vec<Shard> = Vec::with_capacity(groups.len());
    let mut bytes = 0;
    for (number, group) in groups.iter().enumerate() {
        let coded = encode_group(base, group, threads)?;
        bytes += coded.iter().map(|tensor| tensor.data().len() as u64).sum::<u64>();
        if bytes > options.max_bytes {
            for shard in &shards {
                let path = directory.join(&shard.file);
                std::fs::remove_file(&path).map_err(WeightsError::io("remove", &path))?;
            }
            return Ok(None);
        }
        let file = match groups.len() {
            1 => "delta.safetensors".to_owned(),
            count => format!("delta-{:05}-of-{count:05}.safetensors", number + 1),
        };
        for CodedTensor { record, .. } in &coded {
            version
                .add_digest(&record.name, record.dtype, &record.shape, &record.digest)
                .expect("the size of a tensor that exists");
        }
        shards.push(write_shard(&directory.join(&file), file, &coded)?);
    }
    Ok(Some(WrittenCheckpoint {
        shards,
        digest: version.finish(),
    }))
}

fn same_layout(base: &Checkpoint, tensors: &[TensorToWrite<'_>]) -> bool {
    base.names().count() == tensors.len()
        && tensors.iter().all(|tensor| {
            base.tensor(tensor.name).is_ok_and(|old| {
                (old.dtype, old.shape, old.data.len()) == (tensor.dtype, tensor.shape, tensor.data.len())
            })
        })
}

struct CodedTensor<'a> {
    record: SparseRecord,
    code: Vec<u8>,
    new: &'a TensorToWrite<'a>,
}

impl CodedTensor<'_> {
    /// The shard's bytes for it.
    fn data(&self) -> &[u8] {
        match self.record.coding {
            Coding::Same => &[],
            Coding::Rice16 => &self.code,
            Coding::Whole => self.new.data,
        }
    }
}

/// A piece of work: a tensor's digest, or the code of a run of its blocks.
enum Piece {
    Digest(usize),
    Code(usize, std::ops::Range<usize>),
}

enum Done {
    Digest(String),
    Code(CodedBlocks),
}

fn encode_group<'a>(
    base: &Checkpoint,
    group: &'a [TensorToWrite<'a>],
    threads: usize,
) -> Result<Vec<CodedTensor<'a>>, WeightsError> {
    let mut pieces = Vec::new();
    for (number, tensor) in group.iter().enumerate() {
        pieces.push(Piece::Digest(number));
        if tensor.dtype.bits() == 16 {
            let starts = (0..tensor.data.len()).step_by(PIECE_BYTES);
            pieces.extend(starts.map(|start| Piece::Code(number, start..tensor.data.len().min(start + PIECE_BYTES))));
        }
    }
    let done = parallel::map(pieces.len(), threads, |index| match &pieces[index] {
        Piece::Digest(number) => Ok(Done::Digest(digest(group[*number].data))),
        Piece::Code(number, range) => {
            let mut coded = CodedBlocks::default();
            let tensor = &group[*number];
            coded.append(
                &base.tensor(tensor.name)?.data[range.clone()],
                &tensor.data[range.clone()],
            );
            Ok(Done::Code(coded))
        }
    })?;
    let mut done = done.into_iter().peekable();
    group
        .iter()
        .map(|tensor| {
            let Some(Done::Digest(digest)) = done.next() else {
                unreachable!("each tensor's first piece is its digest")
            };
            let mut parts = Vec::new();
            while let Some(Done::Code(part)) = done.next_if(|piece| matches!(piece, Done::Code(_))) {
                parts.push(part);
            }
            let (coding, code) = choose(base, tensor, &parts)?;
            let record = SparseRecord {
                name: tensor.name.to_owned(),
                dtype: tensor.dtype,
                shape: tensor.shape.to_vec(),
                coding,
                digest,
            };
            Ok(CodedTensor {
                record,
                code,
                new: tensor,
            })
        })
        .collect()
}

fn choose(
    base: &Checkpoint,
    tensor: &TensorToWrite<'_>,
    parts: &[CodedBlocks],
) -> Result<(Coding, Vec<u8>), WeightsError> {
    if tensor.dtype.bits() != 16 {
        let same = base.tensor(tensor.name)?.data == tensor.data;
        return Ok((if same { Coding::Same } else { Coding::Whole }, Vec::new()));
    }
    if parts.iter().all(CodedBlocks::is_unchanged) {
        return Ok((Coding::Same, Vec::new()));
    }
    if parts.iter().map(CodedBlocks::byte_len).sum::<usize>() >= tensor.data.len() {
        return Ok((Coding::Whole, Vec::new()));
    }
    Ok((Coding::Rice16, join(parts)))
}

fn write_shard(path: &Path, file: String, coded: &[CodedTensor<'_>]) -> Result<Shard, WeightsError> {
    let records: Vec<&SparseRecord> = coded.iter().map(|tensor| &tensor.record).collect();
    let records = serde_json::to_string(&records).map_err(|source| WeightsError::Format {
        file: path.display().to_string(),
        kind: SPARSE_SHARD,
        reason: source.to_string(),
        source: Some(source),
    })?;
    let metadata = [("format".to_owned(), FORMAT.to_owned()), (RECORDS.to_owned(), records)];
    let code_shapes: Vec<[usize; 1]> = coded.iter().map(|tensor| [tensor.code.len()]).collect();
    let mut tensors: Vec<TensorToWrite<'_>> = coded
        .iter()
        .zip(&code_shapes)
        .filter_map(|(tensor, code_shape)| match tensor.record.coding {
            Coding::Same => None,
            Coding::Whole => Some(*tensor.new),
            Coding::Rice16 => Some(TensorToWrite {
                name: tensor.new.name,
                dtype: Dtype::U8,
                shape: code_shape,
                data: &tensor.code,
            }),
        })
        .collect();
    tensors.sort_by_key(|tensor| std::cmp::Reverse(tensor.dtype.bits()));
    let written = write_safetensors(path, &tensors, &metadata, WriteOptions::default())?;
    Ok(Shard {
        file,
        bytes: written.bytes,
        digest: written.digest,
    })
}
