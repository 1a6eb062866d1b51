//! Root file systems that boxes may have instead of the machine's system directories, by name.
//!
//! Each is a directory: an existing one, or an empty one to which the layers of an OCI layout were applied. A layout is
//! unpacked once, into a cache by its manifest's digest; every blob is checked against its digest first. Boxes see an
//! image read-only and share it.

mod layer;
mod oci;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::SandboxError;

const LAYOUT_MARK: &str = "oci-layout";

/// One image.
#[derive(Clone, Debug)]
pub(crate) struct Image {
    pub(crate) name: String,
    /// The directory that becomes the root of boxes.
    pub(crate) root: PathBuf,
    /// `NAME`, `value`: what its programs find in their environment.
    pub(crate) env: Vec<(String, String)>,
}

/// All images.
#[derive(Clone, Debug, Default)]
pub(crate) struct Images(Vec<Image>);

/// An image as the command line names it: `name=directory`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    name: String,
    directory: PathBuf,
}

impl Source {
    /// # Errors
    /// The reason why the text is not accepted.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (name, directory) = text.split_once('=').ok_or("expected NAME=DIRECTORY")?;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':' | b'/');
        if name.is_empty() || !name.bytes().all(plain) {
            return Err(format!("{name:?} is no name of letters, digits and -_.:/"));
        }
        Ok(Self {
            name: name.to_owned(),
            directory: PathBuf::from(directory),
        })
    }
}

impl Images {
    /// Opens every source, and unpacks layouts that were not unpacked before. Blocks.
    ///
    /// # Errors
    /// `Image`: one cannot be read, or is not what its digests say.
    pub(crate) fn open(sources: &[Source], cache: &Path) -> Result<Self, SandboxError> {
        let mut images: Vec<Image> = Vec::new();
        for source in sources {
            let failed = |reason: String| SandboxError::Image {
                name: source.name.clone(),
                reason,
            };
            if images.iter().any(|image| image.name == source.name) {
                return Err(failed("two images have this name".to_owned()));
            }
            let directory = fs::canonicalize(&source.directory)
                .map_err(|error| failed(format!("{}: {error}", source.directory.display())))?;
            let (root, env) = if directory.join(LAYOUT_MARK).is_file() {
                oci::unpack(&directory, cache, oci::MAX_IMAGE_BYTES).map_err(failed)?
            } else {
                (directory, Vec::new())
            };
            images.push(Image {
                name: source.name.clone(),
                root,
                env,
            });
        }
        Ok(Self(images))
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.0.iter().map(|image| image.name.clone()).collect()
    }

    pub(crate) fn roots(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().map(|image| image.root.as_path())
    }

    /// The image of a request and its number, counted from 1; `None` for the empty name.
    ///
    /// # Errors
    /// `Invalid`: no image has this name.
    pub(crate) fn find(&self, name: &str) -> Result<Option<(u32, &Image)>, SandboxError> {
        if name.is_empty() {
            return Ok(None);
        }
        let found = (1..).zip(&self.0).find(|(_, image)| image.name == name);
        found.map(Some).ok_or_else(|| {
            let names = self.names().join(", ");
            SandboxError::Invalid(format!("image {name:?} is not one of this daemon's: {names}"))
        })
    }
}

/// The directory for unpacked layouts when the command line names none.
pub(crate) fn default_cache() -> PathBuf {
    let set = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let base = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")));
    base.unwrap_or_else(std::env::temp_dir).join("prl-sandboxd")
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> String {
    move |error| format!("{}: {error}", path.display())
}

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
