//! Files into and out of a sandbox, handled by init in the sandbox's own mount namespace.
//!
//! Files go in before any guest runs and come out after every guest is dead, so nobody can move a path under our hands.
//! Going out, symbolic links are never followed, only regular files are opened, and depth, entries and bytes are bounded.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Component, Path};

use bytes::Bytes;

use crate::defence::Defence;
use crate::glob;
use crate::sys::{c_path, give};
use crate::wire::{FileSpec, Finish, Finished, Uncollected};

/// Directories deeper than this are not searched.
const MAX_DEPTH: usize = 32;
/// Entries looked at in all.
const MAX_ENTRIES: usize = 100_000;
/// Files returned and files reported as left out, each.
const MAX_REPORTED: usize = 1000;

/// What was found.
#[derive(Default)]
pub(crate) struct Collected {
    pub(crate) files: Vec<FileSpec>,
    pub(crate) uncollected: Vec<Uncollected>,
    /// Something was left out for the byte limit.
    pub(crate) limit_hit: bool,
}

/// Makes a directory and those above it that are missing; new ones belong to the guest.
pub(crate) fn make_parents(path: &Path, uid: u32) -> io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        make_parents(parent, uid)?;
    }
    fs::DirBuilder::new().mode(0o755).create(path)?;
    give(path, uid)
}

/// Writes one file of the request. Its path was checked by the daemon and is checked again here.
pub(crate) fn write_input(cwd: &Path, file: &FileSpec, uid: u32) -> io::Result<()> {
    let relative = Path::new(&file.path);
    if !relative
        .components()
        .all(|component| matches!(component, Component::Normal(_)))
    {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    let path = cwd.join(relative);
    if let Some(parent) = path.parent() {
        make_parents(parent, uid)?;
    }
    let mode = if file.mode == 0 { 0o644 } else { file.mode & 0o777 };
    let mut target = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(mode)
        .open(&path)?;
    target.write_all(&file.content)?;
    target.set_permissions(fs::Permissions::from_mode(mode))?;
    give(&path, uid)
}

/// Whether the file system at `path` has no block, and no inode, left.
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

/// Says what a sandbox, or an exec that was enclosed, leaves.
pub(crate) fn finished(wanted: &Finish) -> Finished {
    let collected = collect(Path::new(&wanted.cwd), &wanted.collect, wanted.collect_bytes);
    Finished {
        files: collected.files,
        uncollected: collected.uncollected,
        collect_limit: collected.limit_hit,
    }
}

/// Returns the regular files below `root` that match one of the patterns, up to `budget` bytes in all.
pub(crate) fn collect(root: &Path, patterns: &[String], budget: u64) -> Collected {
    let mut walk = Walk {
        patterns,
        left: budget,
        entries: 0,
        found: Collected::default(),
    };
    if !patterns.is_empty() && looked_at(root).is_ok_and(|kind| kind.is_dir()) {
        walk.directory(root, "", 0);
    }
    walk.found
}

/// Of the path itself, never of what it links to.
fn looked_at(path: &Path) -> io::Result<fs::Metadata> {
    if Defence::Links.stands() {
        fs::symlink_metadata(path)
    } else {
        fs::metadata(path)
    }
}

struct Walk<'a> {
    patterns: &'a [String],
    left: u64,
    entries: usize,
    found: Collected,
}

impl Walk<'_> {
    fn directory(&mut self, path: &Path, relative: &str, depth: usize) {
        let entries = match fs::read_dir(path) {
            Ok(entries) => entries,
            Err(error) => return self.leave_out(relative, &error.to_string()),
        };
        let mut names: Vec<_> = Vec::new();
        for entry in entries.flatten() {
            self.entries += 1;
            if self.entries > MAX_ENTRIES {
                return self.leave_out(relative, "too many entries");
            }
            names.push(entry.file_name());
        }
        names.sort();
        for name in names {
            let Some(text) = name.to_str() else {
                self.leave_out(
                    &format!("{relative}{}", name.to_string_lossy()),
                    "the name is not UTF-8",
                );
                continue;
            };
            let below = format!("{relative}{text}");
            let full = path.join(&name);
            let Ok(kind) = looked_at(&full) else {
                continue;
            };
            if kind.is_dir() {
                if depth + 1 < MAX_DEPTH || !Defence::WalkDepth.stands() {
                    self.directory(&full, &format!("{below}/"), depth + 1);
                } else {
                    self.leave_out(&below, "too deep");
                }
            } else if self.patterns.iter().any(|pattern| glob::matches(pattern, &below)) {
                self.file(&full, below, &kind);
            }
        }
    }

    fn file(&mut self, path: &Path, relative: String, kind: &fs::Metadata) {
        if !kind.is_file() && Defence::RegularFiles.stands() {
            return self.leave_out(&relative, "not a regular file");
        }
        if self.found.files.len() >= MAX_REPORTED {
            return self.leave_out(&relative, "too many files");
        }
        if kind.len() > self.left {
            self.found.limit_hit = true;
            return self.leave_out(&relative, "over the limit of collected bytes");
        }
        match read_whole(path, kind.len()) {
            Ok(content) => {
                self.left -= content.len() as u64;
                self.found.files.push(FileSpec {
                    path: relative,
                    content,
                    mode: kind.mode() & 0o777,
                });
            }
            Err(error) => self.leave_out(&relative, &error.to_string()),
        }
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

fn read_whole(path: &Path, length: u64) -> io::Result<Bytes> {
    let file = fs::OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | if Defence::Links.stands() { libc::O_NOFOLLOW } else { 0 })
        .open(path)?;
    let mut content = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
    file.take(length).read_to_end(&mut content)?;
    Ok(content.into())
}
