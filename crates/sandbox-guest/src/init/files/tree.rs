//! Listing and removing directories.

use std::fs;
use std::path::Path;

use super::{Outcome, describe, refused, resolve};
use crate::init::files::link::Link;
use crate::wire::files::{Answer, ListSpec, TreeSpec};

const MAX_DEPTH: u32 = 64;

/// Sends the entries, parents before their children, by name. Links are not followed.
pub(super) fn list(spec: &ListSpec, link: &mut Link) -> Outcome {
    let root = resolve(&spec.path);
    let mut listing = Listing {
        left: spec.max_entries,
        link,
    };
    let whole = listing.directory(&root, spec.depth.clamp(1, MAX_DEPTH))?;
    Ok(if whole {
        Answer::Done(true)
    } else {
        Answer::Truncated(true)
    })
}

struct Listing<'a> {
    left: u32,
    link: &'a mut Link,
}

impl Listing<'_> {
    /// Whether every entry was sent.
    fn directory(&mut self, path: &Path, depth: u32) -> Result<bool, Answer> {
        let failed = |error: std::io::Error| refused(path, &error);
        let mut names = Vec::new();
        let mut whole = true;
        for entry in fs::read_dir(path).map_err(failed)? {
            if names.len() as u64 >= u64::from(self.left) {
                whole = false;
                break;
            }
            names.push(entry.map_err(failed)?.file_name());
        }
        names.sort();
        for name in names {
            if self.left == 0 {
                return Ok(false);
            }
            let below = path.join(name);
            // The entry may be gone by now.
            let Ok(entry) = describe(&below) else { continue };
            let directory = entry.kind() == prl_sandbox_proto::file_info::Kind::Directory;
            self.left -= 1;
            self.link.answer(Answer::Entry(entry)).map_err(failed)?;
            if directory && depth > 1 {
                // A directory that may not be read is listed without children.
                whole &= self.directory(&below, depth - 1).unwrap_or(true);
            }
        }
        Ok(whole)
    }
}

/// Removes a file, an empty directory, or with `recursive` everything below it.
pub(super) fn remove(spec: &TreeSpec) -> Outcome {
    let path = resolve(&spec.path);
    let failed = |error: std::io::Error| refused(&path, &error);
    let directory = fs::symlink_metadata(&path).map_err(failed)?.is_dir();
    let removed = match (directory, spec.recursive) {
        (false, _) => fs::remove_file(&path),
        (true, false) => fs::remove_dir(&path),
        (true, true) => fs::remove_dir_all(&path),
    };
    removed.map_err(failed)?;
    Ok(Answer::Done(true))
}
