//! Collects files of a sandbox. Init does this in the sandbox's mount namespace.
//!
//! It has init's rights, so it looks only at the writable layer, where programs can leave files, and reaches everything
//! by descriptors: no symbolic link is followed, neither below the root of the search nor on the way to it. Only
//! regular files are opened, and depth, entries and bytes are bounded.

use std::ffi::OsStr;
mod glob;

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use bytes::Bytes;

use crate::below::Directory;
use crate::defence::Defence;
use crate::process::place;
use crate::sys::c_path;
use crate::wire::{FileSpec, Finish, Finished, Uncollected};

/// Directories deeper than this are not searched.
const MAX_DEPTH: usize = 32;
/// How many entries are looked at in all.
const MAX_ENTRIES: usize = 100_000;
/// How many files are returned, and how many are reported as left out.
const MAX_REPORTED: usize = 1000;

/// The result of the search.
#[derive(Default)]
pub(crate) struct Collected {
    pub(crate) files: Vec<FileSpec>,
    pub(crate) uncollected: Vec<Uncollected>,
    /// Whether a file was left out because of the byte limit.
    pub(crate) limit_hit: bool,
}

/// Whether the file system at `path` has no block, and whether it has no inode, left.
pub(crate) fn fullness(path: &Path) -> (bool, bool) {
    let Ok(path) = c_path(path) else { return (false, false) };
    // SAFETY: statfs is plain data, filled by the call when it succeeds; the path is NUL-terminated.
    unsafe {
        let mut stats: libc::statfs = std::mem::zeroed();
        if libc::statfs(path.as_ptr(), &raw mut stats) < 0 {
            return (false, false);
        }
        (stats.f_bavail == 0, stats.f_ffree == 0)
    }
}

/// The files that a sandbox, or an enclosed exec, leaves.
pub(crate) fn finished(wanted: &Finish) -> Finished {
    let collected = collect(Path::new(&wanted.cwd), &wanted.collect, wanted.collect_bytes);
    Finished {
        files: collected.files,
        uncollected: collected.uncollected,
        collect_limit: collected.limit_hit,
    }
}

/// Returns the regular files below `root` that match one of the patterns, up to `budget` bytes in all.
fn collect(root: &Path, patterns: &[String], budget: u64) -> Collected {
    let mut walk = Walk {
        patterns,
        left: budget,
        entries: 0,
        found: Collected::default(),
    };
    if patterns.is_empty() {
        return walk.found;
    }
    match beginning(root) {
        Ok(directory) => walk.directory(&directory, "", 0),
        // The directory was removed, or a file of another kind has its name.
        Err(error) => walk.leave_out("**", &format!("the working directory: {error}")),
    }
    walk.found
}

fn beginning(root: &Path) -> io::Result<Directory> {
    let elsewhere = || io::Error::other("programs cannot write there");
    let (layer, below) = place::in_layer(root).ok_or_else(elsewhere)?;
    Directory::trusted(&layer)?.descend(&below)
}

struct Walk<'a> {
    patterns: &'a [String],
    left: u64,
    entries: usize,
    found: Collected,
}

impl Walk<'_> {
    fn directory(&mut self, directory: &Directory, relative: &str, depth: usize) {
        let (names, all) = match directory.names(MAX_ENTRIES - self.entries) {
            Ok(names) => names,
            Err(error) => return self.leave_out(relative, &error.to_string()),
        };
        self.entries += names.len();
        if !all {
            return self.leave_out(relative, "too many entries");
        }
        for name in names {
            let Some(text) = name.to_str() else {
                self.leave_out(
                    &format!("{relative}{}", name.to_string_lossy()),
                    "the name is not UTF-8",
                );
                continue;
            };
            let below = format!("{relative}{text}");
            match directory.kind(&name) {
                Err(_) => {}
                Ok(libc::S_IFDIR) => self.below(directory, &name, below, depth),
                Ok(kind) => {
                    if self.patterns.iter().any(|pattern| glob::matches(pattern, &below)) {
                        self.file(directory, &name, below, kind);
                    }
                }
            }
        }
    }

    fn below(&mut self, directory: &Directory, name: &OsStr, relative: String, depth: usize) {
        if depth + 1 >= MAX_DEPTH && Defence::WalkDepth.stands() {
            return self.leave_out(&relative, "too deep");
        }
        match directory.enter(name) {
            Ok(entered) => self.directory(&entered, &format!("{relative}/"), depth + 1),
            Err(error) => self.leave_out(&relative, &error.to_string()),
        }
    }

    fn file(&mut self, directory: &Directory, name: &OsStr, relative: String, kind: libc::mode_t) {
        if kind != libc::S_IFREG && Defence::RegularFiles.stands() {
            return self.leave_out(&relative, "not a regular file");
        }
        if self.found.files.len() >= MAX_REPORTED {
            return self.leave_out(&relative, "too many files");
        }
        match self.content(directory, name) {
            Ok(Some((content, kind))) => {
                self.left -= content.len() as u64;
                self.found.files.push(FileSpec {
                    path: relative,
                    content,
                    mode: kind.mode() & 0o777,
                });
            }
            Ok(None) => {
                self.found.limit_hit = true;
                self.leave_out(&relative, "over the limit of collected bytes");
            }
            Err(error) => self.leave_out(&relative, &error.to_string()),
        }
    }

    /// `None`: it is longer than the rest of the budget.
    fn content(&self, directory: &Directory, name: &OsStr) -> io::Result<Option<(Bytes, fs::Metadata)>> {
        let file = directory.open(name, libc::O_RDONLY, 0)?;
        let kind = file.metadata()?;
        if kind.len() > self.left {
            return Ok(None);
        }
        Ok(Some((read_whole(file, kind.len())?, kind)))
    }

    fn leave_out(&mut self, path: &str, reason: &str) {
        if self.found.uncollected.len() < MAX_REPORTED {
            self.found.uncollected.push(Uncollected {
                path: path.to_owned(),
                reason: reason.to_owned(),
            });
        }
    }
}

fn read_whole(file: File, length: u64) -> io::Result<Bytes> {
    let mut content = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
    file.take(length).read_to_end(&mut content)?;
    Ok(content.into())
}
