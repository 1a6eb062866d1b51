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

/// A tensor that JavaScript gets.
#[napi(object, use_nullable = true)]
pub struct NativeTensor {
    /// As in the header.
    pub dtype: String,
    /// Row-major.
    pub shape: Vec<f64>,
    /// The tensor's bytes: a copy, or where they are many, pages of the file that writing copies.
    pub data: Uint8Array,
}

/// A tensor to write.
#[napi(object, use_nullable = true)]
pub struct NativeNamedTensor {
    /// Key in the header.
    pub name: String,
    /// As in the header.
    pub dtype: String,
    /// Row-major.
    pub shape: Vec<f64>,
    /// Little endian.
    pub data: Uint8Array,
}

/// Tensors of at least this size are not copied: a copy of more would hold the event loop up.
const SHARED_BYTES: usize = 1 << 18;

/// An open safetensors file.
#[napi]
pub struct NativeSafetensors {
    file: Option<Arc<SafetensorsFile>>,
}

/// Where a tensor lies in the bytes that were parsed.
#[napi(object, use_nullable = true)]
pub struct NativeTensorPlace {
    /// Key in the header.
    pub name: String,
    /// As in the header.
    pub dtype: String,
    /// Row-major.
    pub shape: Vec<f64>,
    /// First byte.
    pub begin: f64,
    /// Behind the last byte.
    pub end: f64,
}

/// A validated header.
#[napi(object, use_nullable = true)]
pub struct NativeHeader {
    /// `__metadata__`.
    pub metadata: HashMap<String, String>,
    /// In the header's order.
    pub tensors: Vec<NativeTensorPlace>,
}

/// Validates a file in memory; nothing of it is copied.
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

    /// Tensor names in the header's order.
    #[napi(catch_unwind)]
    pub fn names(&self) -> napi::Result<Vec<String>> {
        Ok(self.file()?.names().map(str::to_owned).collect())
    }

    /// `__metadata__`.
    #[napi(catch_unwind)]
    pub fn metadata(&self) -> napi::Result<HashMap<String, String>> {
        let pairs = self.file()?.metadata().iter();
        Ok(pairs.map(|(key, value)| (key.clone(), value.clone())).collect())
    }

    /// One tensor: a small one copied, a large one where it lies.
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

    /// Unmaps the file.
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

/// Unmapping a file that was removed meanwhile frees its pages, which is no work for the event loop's thread.
fn unmap(file: Arc<SafetensorsFile>) {
    let Some(last) = Arc::into_inner(file) else {
        return;
    };
    // Without a thread it is dropped here.
    let _ = thread::Builder::new()
        .name("prl-unmap".to_owned())
        .spawn(move || drop(last));
}

fn closed() -> NativeError {
    NativeError::new("PRL_WEIGHTS_IO", "the safetensors file is closed")
}

/// A view of `data`, which lies in the map of `file`; the map stays until JavaScript has dropped the view.
fn shared(file: &Arc<SafetensorsFile>, data: &[u8]) -> Uint8Array {
    let keep = Arc::clone(file);
    // SAFETY: the bytes live in the map that `keep` holds until the view is finalized. The map is copy on write, so
    // JavaScript may write to it; nothing in Rust relies on the bytes of a tensor once it has been handed out.
    unsafe { Uint8Array::with_external_data(data.as_ptr().cast_mut(), data.len(), move |_, _| unmap(keep)) }
}

/// A tensor to write, checked: its bytes lie in JavaScript's memory.
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

/// What was written.
#[napi(object, use_nullable = true)]
pub struct NativeWrittenFile {
    /// Length of the file.
    pub bytes: f64,
    /// Of the file's bytes.
    pub digest: String,
    /// Of its tensors as the weights of a version.
    pub version_digest: String,
}

/// Writes a safetensors file atomically, from where its tensors lie.
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

/// XXH3-64 of the bytes.
#[napi(catch_unwind)]
pub fn digest(bytes: &[u8]) -> String {
    prl_weights::digest(bytes)
}

/// A file's digest and length.
#[napi(object, use_nullable = true)]
pub struct NativeFileDigest {
    /// XXH3-64 of its bytes.
    pub digest: String,
    /// Its length.
    pub bytes: f64,
}

/// Digests a file of any size, off the JavaScript thread.
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

/// Reads a version's manifest as JSON. `verify` compares the digests of its shards with their bytes, unless this machine
/// has done so, with `anew` all the same; the files beside them, which are small, each time.
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

/// Publishes a version.
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
