//! Reading an OCI image layout: index, manifest, configuration, and the order of its layers.

use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::at;
use super::layer::Root;

/// Indexes may name indexes.
const MAX_NESTING: usize = 4;
const MAX_DOCUMENT_BYTES: u64 = 4 << 20;
/// Most bytes that the layers of an image may unpack to. The largest images for machine learning have a fifth of it.
pub(super) const MAX_IMAGE_BYTES: u64 = 128 << 30;
/// The processor of this build, as the format calls it.
const ARCHITECTURE: &str = "amd64";

/// The result of `unpack`: a root and its environment.
type Unpacked = (PathBuf, Vec<(String, String)>);

/// Unpacks the layout into `cache`, unless that was done before. Layers that take more than `most_bytes` are refused.
pub(super) fn unpack(layout: &Path, cache: &Path, most_bytes: u64) -> Result<Unpacked, String> {
    let layout = Layout {
        path: layout,
        most_bytes,
    };
    let (digest, manifest) = layout.manifest()?;
    let config = layout.document(manifest.get("config").ok_or("the manifest names no configuration")?)?;
    let place = cache.join(digest.replace(':', "-"));
    let root = place.join("root");
    if !root.is_dir() {
        let begun = cache.join(format!(".{}-{}", digest.replace(':', "-"), std::process::id()));
        fs::create_dir_all(begun.join("root")).map_err(at(&begun))?;
        let unpacked = layout.apply_layers(&manifest, &begun.join("root"));
        let placed = unpacked.and_then(|()| match fs::rename(&begun, &place) {
            // Another daemon has unpacked it meanwhile.
            Err(_) if root.is_dir() => Ok(()),
            other => other.map_err(at(&place)),
        });
        if begun.exists() {
            fs::remove_dir_all(&begun).map_err(at(&begun))?;
        }
        placed?;
    }
    Ok((root, environment(&config)))
}

fn environment(config: &Value) -> Vec<(String, String)> {
    let entries = config.pointer("/config/Env").and_then(Value::as_array);
    let pairs = entries.into_iter().flatten().filter_map(Value::as_str);
    pairs
        .filter_map(|entry| entry.split_once('='))
        .filter(|(name, value)| !name.is_empty() && !value.contains('\0'))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

struct Layout<'a> {
    path: &'a Path,
    most_bytes: u64,
}

impl Layout<'_> {
    /// The manifest of this machine's processor and its digest.
    fn manifest(&self) -> Result<(String, Value), String> {
        let path = self.path.join("index.json");
        let mut index = read_document(File::open(&path).map_err(at(&path))?)?;
        for _ in 0..MAX_NESTING {
            let manifests = index.get("manifests").and_then(Value::as_array);
            let found = choose(manifests.ok_or("an index names no manifests")?)?;
            let document = self.document(found)?;
            if document.get("manifests").is_none() {
                let digest = found.get("digest").and_then(Value::as_str).unwrap_or_default();
                return Ok((digest.to_owned(), document));
            }
            index = document;
        }
        Err("indexes name indexes without end".to_owned())
    }

    fn document(&self, descriptor: &Value) -> Result<Value, String> {
        read_document(self.blob(descriptor)?)
    }

    /// A blob whose content has the digest of its descriptor.
    fn blob(&self, descriptor: &Value) -> Result<File, String> {
        let digest = descriptor.get("digest").and_then(Value::as_str).unwrap_or_default();
        let hex = digest
            .strip_prefix("sha256:")
            .filter(|hex| hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let hex = hex.ok_or_else(|| format!("digest {digest:?} is not of sha256"))?;
        let path = self.path.join("blobs/sha256").join(hex);
        let mut file = File::open(&path).map_err(at(&path))?;
        let mut hash = Sha256::new();
        io::copy(&mut file, &mut HashWriter(&mut hash)).map_err(at(&path))?;
        let found: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        if !found.eq_ignore_ascii_case(hex) {
            return Err(format!("{} has digest {found}: it is damaged", path.display()));
        }
        file.rewind().map_err(at(&path))?;
        Ok(file)
    }

    fn apply_layers(&self, manifest: &Value, to: &Path) -> Result<(), String> {
        let layers = manifest.get("layers").and_then(Value::as_array);
        let mut root = Root::open(to, self.most_bytes).map_err(at(to))?;
        for descriptor in layers.ok_or("the manifest names no layers")? {
            let kind = descriptor.get("mediaType").and_then(Value::as_str).unwrap_or_default();
            let compression = kind.rsplit(['+', '.']).next().unwrap_or_default();
            let mut blob = self.blob(descriptor)?;
            root.apply(&mut || {
                blob.rewind()?;
                let file = io::BufReader::new(blob.try_clone()?);
                Ok(match compression {
                    "tar" => Box::new(file),
                    "gzip" => Box::new(flate2::bufread::MultiGzDecoder::new(file)),
                    "zstd" => Box::new(ruzstd::decoding::StreamingDecoder::new(file).map_err(io::Error::other)?),
                    _ => return Err(io::Error::other(format!("layers of type {kind:?} are not read"))),
                })
            })
            .map_err(|error| format!("a layer cannot be unpacked: {error}"))?;
        }
        root.finish().map_err(at(to))
    }
}

/// The only entry that fits this machine. An entry that names no machine fits too.
fn choose(manifests: &[Value]) -> Result<&Value, String> {
    let is = |entry: &&Value, name: &str, wanted: &str| {
        let platform = entry.get("platform").and_then(|platform| platform.get(name));
        platform.and_then(Value::as_str).is_none_or(|value| value == wanted)
    };
    let fitting: Vec<&Value> = manifests
        .iter()
        .filter(|entry| is(entry, "architecture", ARCHITECTURE) && is(entry, "os", "linux"))
        .collect();
    match fitting[..] {
        [only] => Ok(only),
        [] => Err(format!("it holds no image for linux/{ARCHITECTURE}")),
        _ => Err(format!("it holds {} images; keep one", fitting.len())),
    }
}

fn read_document(file: File) -> Result<Value, String> {
    let mut text = Vec::new();
    file.take(MAX_DOCUMENT_BYTES)
        .read_to_end(&mut text)
        .map_err(|error| error.to_string())?;
    serde_json::from_slice(&text).map_err(|error| format!("a document is not JSON: {error}"))
}

struct HashWriter<'a>(&'a mut Sha256);

impl io::Write for HashWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
