//! safetensors files, digests and manifests.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use napi::bindgen_prelude::{Buffer, Env, PromiseRaw, Uint8Array};
use napi_derive::napi;
use prl_weights::{Dtype, Manifest, SafetensorsFile, TensorToWrite, WriteOptions};

use crate::error::NativeError;
use crate::numbers::size;
use crate::runtime::blocking;

mod versions;

/// A tensor that was read.
#[napi(object, use_nullable = true)]
pub struct NativeTensor {
    /// As the header names it.
    pub dtype: String,
    pub shape: Vec<f64>,
    /// Row-major, little endian. A small tensor is copied; a large one is a view of the file's pages, which are copied when written to.
    pub data: Uint8Array,
}

#[napi(object, use_nullable = true)]
pub struct NativeNamedTensor {
    pub name: String,
    /// As the header names it.
    pub dtype: String,
    pub shape: Vec<f64>,
    /// Row-major, little endian.
    pub data: Uint8Array,
}

/// Tensors of at least this size are lent: copying them would block the event loop.
const SHARED_BYTES: usize = 1 << 18;

/// An open safetensors file.
#[napi]
pub struct NativeSafetensors {
    file: Option<Arc<SafetensorsFile>>,
}

/// The position of a tensor in the bytes that were parsed.
#[napi(object, use_nullable = true)]
pub struct NativeTensorPlace {
    pub name: String,
    /// As the header names it.
    pub dtype: String,
    pub shape: Vec<f64>,
    /// Offset of its first byte.
    pub begin: f64,
    /// Offset behind its last byte.
    pub end: f64,
}

/// A validated header.
#[napi(object, use_nullable = true)]
pub struct NativeHeader {
    /// The entries of `__metadata__`.
    pub metadata: HashMap<String, String>,
    /// In the order of the header.
    pub tensors: Vec<NativeTensorPlace>,
}

/// Validates a file in memory without copying it.
#[napi(catch_unwind)]
pub fn parse_safetensors(bytes: &[u8]) -> napi::Result<NativeHeader> {
    let header = prl_weights::parse(bytes).map_err(NativeError::from)?;
    let tensors = header.tensors.iter().map(|info| NativeTensorPlace {
        name: info.name.clone(),
        dtype: info.dtype.name().to_owned(),
        shape: info.shape.iter().map(|&size| size as f64).collect(),
        begin: (header.data_start + info.data_offsets.0) as f64,
        end: (header.data_start + info.data_offsets.1) as f64,
    });
    Ok(NativeHeader {
        tensors: tensors.collect(),
        metadata: header.metadata.into_iter().collect(),
    })
}

#[napi]
impl NativeSafetensors {
    /// Maps and validates a file.
    #[napi(catch_unwind)]
    pub fn open(env: &Env, path: String) -> napi::Result<PromiseRaw<'_, NativeSafetensors>> {
        blocking(env, move || {
            let file = SafetensorsFile::open(Path::new(&path))?;
            Ok(Self {
                file: Some(Arc::new(file)),
            })
        })
    }

    fn file(&self) -> Result<&Arc<SafetensorsFile>, NativeError> {
        self.file.as_ref().ok_or_else(closed)
    }

    /// Tensor names in the order of the header.
    #[napi(catch_unwind)]
    pub fn names(&self) -> napi::Result<Vec<String>> {
        Ok(self.file()?.names().map(str::to_owned).collect())
    }

    /// The entries of `__metadata__`.
    #[napi(catch_unwind)]
    pub fn metadata(&self) -> napi::Result<HashMap<String, String>> {
        let pairs = self.file()?.metadata().iter();
        Ok(pairs.map(|(key, value)| (key.clone(), value.clone())).collect())
    }

    #[napi(catch_unwind)]
    pub fn tensor(&self, name: String) -> napi::Result<NativeTensor> {
        let file = self.file()?;
        let tensor = file.tensor(&name).map_err(NativeError::from)?;
        let data = match tensor.data.len() >= SHARED_BYTES {
            true => shared(file, tensor.data),
            false => Uint8Array::new(tensor.data.to_vec()),
        };
        Ok(NativeTensor {
            dtype: tensor.dtype.name().to_owned(),
            shape: tensor.shape.iter().map(|&size| size as f64).collect(),
            data,
        })
    }

    /// Unmaps the file, once JavaScript holds no view of it.
    #[napi(catch_unwind)]
    pub fn close(&mut self) {
        if let Some(file) = self.file.take() {
            unmap(file);
        }
    }
}

impl Drop for NativeSafetensors {
    fn drop(&mut self) {
        self.close();
    }
}

/// Unmaps on a thread: if the file was removed meanwhile, unmapping frees its pages, which would block the event loop.
fn unmap(file: Arc<SafetensorsFile>) {
    let Some(last) = Arc::into_inner(file) else {
        return;
    };
    // If no thread can be started, the file is unmapped here.
    let _ = thread::Builder::new()
        .name("prl-unmap".to_owned())
        .spawn(move || drop(last));
}

fn closed() -> NativeError {
    NativeError::new("PRL_WEIGHTS_IO", "the safetensors file is closed")
}

/// A view of `data`, a part of the map of `file`. The map stays until JavaScript has dropped the view.
fn shared(file: &Arc<SafetensorsFile>, data: &[u8]) -> Uint8Array {
    let keep = Arc::clone(file);
    // SAFETY: the bytes are in the map that `keep` holds until the view is finalized. The map is copy on write, so
    // JavaScript may write to it; nothing in Rust relies on the bytes of a tensor once it has been handed out.
    unsafe { Uint8Array::with_external_data(data.as_ptr().cast_mut(), data.len(), move |_, _| unmap(keep)) }
}

/// A tensor to write, after the checks. Its bytes are in JavaScript's memory.
struct Described {
    name: String,
    dtype: Dtype,
    shape: Vec<usize>,
    data: Uint8Array,
}

fn described(tensors: Vec<NativeNamedTensor>) -> Result<Vec<Described>, NativeError> {
    tensors.into_iter().map(Described::new).collect()
}

fn views(tensors: &[Described]) -> Vec<TensorToWrite<'_>> {
    tensors.iter().map(Described::view).collect()
}

impl Described {
    fn new(tensor: NativeNamedTensor) -> Result<Self, NativeError> {
        let NativeNamedTensor {
            name,
            dtype,
            shape,
            data,
        } = tensor;
        let dtype = Dtype::from_name(&dtype).ok_or_else(|| {
            NativeError::new(
                "PRL_WEIGHTS_TENSOR",
                format!("tensor {name}: no dtype is called {dtype}"),
            )
        })?;
        let shape = shape
            .iter()
            .map(|&length| size("shape", length).map_err(|error| error.in_tensor(&name)))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            name,
            dtype,
            shape,
            data,
        })
    }

    fn view(&self) -> TensorToWrite<'_> {
        TensorToWrite {
            name: &self.name,
            dtype: self.dtype,
            shape: &self.shape,
            data: &self.data,
        }
    }
}

fn sorted(metadata: HashMap<String, String>) -> Vec<(String, String)> {
    let mut pairs: Vec<_> = metadata.into_iter().collect();
    pairs.sort();
    pairs
}

#[napi(object, use_nullable = true)]
pub struct NativeWrittenFile {
    pub bytes: f64,
    /// XXH3-64 of the file's bytes.
    pub digest: String,
    /// The version digest of its tensors.
    pub version_digest: String,
}

/// Writes a safetensors file atomically, without copying its tensors first.
#[napi(catch_unwind)]
pub fn write_safetensors(
    env: &Env,
    path: String,
    tensors: Vec<NativeNamedTensor>,
    metadata: HashMap<String, String>,
) -> napi::Result<PromiseRaw<'_, NativeWrittenFile>> {
    blocking(env, move || {
        let tensors = described(tensors)?;
        let options = WriteOptions::default();
        let written = prl_weights::write_safetensors(Path::new(&path), &views(&tensors), &sorted(metadata), options)?;
        Ok(NativeWrittenFile {
            bytes: written.bytes as f64,
            digest: written.digest,
            version_digest: written.version_digest,
        })
    })
}

/// Encodes a safetensors file in memory.
#[napi(catch_unwind)]
pub fn encode_safetensors(tensors: Vec<NativeNamedTensor>, metadata: HashMap<String, String>) -> napi::Result<Buffer> {
    let tensors = described(tensors)?;
    let bytes = prl_weights::to_bytes(&views(&tensors), &sorted(metadata), WriteOptions::default());
    Ok(bytes.map_err(NativeError::from)?.into())
}

/// XXH3-64 of the bytes, as 16 hex digits.
#[napi(catch_unwind)]
pub fn digest(bytes: &[u8]) -> String {
    prl_weights::digest(bytes)
}

#[napi(object, use_nullable = true)]
pub struct NativeFileDigest {
    /// XXH3-64 of the file's bytes.
    pub digest: String,
    pub bytes: f64,
}

/// Digests a file of any size off the JavaScript thread.
#[napi(catch_unwind)]
pub fn digest_file(env: &Env, path: String) -> napi::Result<PromiseRaw<'_, NativeFileDigest>> {
    blocking(env, move || {
        let (digest, bytes) = prl_weights::digest_file(&PathBuf::from(path))?;
        Ok(NativeFileDigest {
            digest,
            bytes: bytes as f64,
        })
    })
}

/// Reads a version's manifest as JSON. With `verify` it also compares files with their digests: the small ones each time, the shards unless
/// this machine has checked them before. With `anew` it checks the shards in any case.
#[napi(catch_unwind)]
pub fn read_manifest(env: &Env, dir: String, verify: bool, anew: bool) -> napi::Result<PromiseRaw<'_, String>> {
    blocking(env, move || {
        let dir = PathBuf::from(dir);
        let manifest = prl_weights::read_manifest(&dir)?;
        match (verify, anew) {
            (false, _) => {}
            (true, false) => manifest.verify_shards_once(&dir)?,
            (true, true) => manifest.verify_shards(&dir)?,
        }
        if verify {
            manifest.verify_files(&dir)?;
        }
        serde_json::to_string(&manifest).map_err(malformed)
    })
}

/// Publishes a version: writes its manifest, given as JSON.
#[napi(catch_unwind)]
pub fn write_manifest(env: &Env, dir: String, manifest: String) -> napi::Result<PromiseRaw<'_, ()>> {
    blocking(env, move || {
        let manifest: Manifest = serde_json::from_str(&manifest).map_err(malformed)?;
        prl_weights::write_manifest(&PathBuf::from(dir), &manifest)?;
        Ok(())
    })
}

pub(crate) fn malformed(error: serde_json::Error) -> NativeError {
    NativeError::new("PRL_WEIGHTS_MANIFEST", format!("the manifest is malformed: {error}"))
}
