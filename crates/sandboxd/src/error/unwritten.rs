//! Files of a request that cannot be written.
//!
//! The request names the files, so this is a verdict on the request, the same wherever files are given, and never a
//! failure of ours.

use std::io;

use prl_sandbox_guest::child;
use prl_sandbox_guest::wire::{self, Failure, Furnish};
use prl_sandbox_proto::{Cause, Limit, RunOnceResult};

/// Each file takes whole pages.
const PAGE_BYTES: u64 = 4096;

/// Which file, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unwritten {
    /// The file and the reason, for people.
    pub reason: String,
    /// The limit that it exceeds, if a limit is the reason.
    pub limit: Option<Limit>,
}

impl Unwritten {
    /// The reason that init has reported.
    pub(crate) fn met(report: &wire::Unwritten) -> Self {
        let is_full = matches!(report.errno, libc::ENOSPC | libc::EDQUOT);
        let (why, limit) = match report.errno {
            _ if is_full && report.inodes_full => ("no inode is left".to_owned(), Some(Limit::Inodes)),
            _ if is_full => ("no space is left".to_owned(), Some(Limit::Disk)),
            libc::ELOOP => ("a symbolic link is in the way".to_owned(), None),
            errno => (io::Error::from_raw_os_error(errno).to_string(), None),
        };
        Self {
            reason: format!("{}: {why}", report.step),
            limit,
        }
    }

    /// Whether a program's working directory could not be made because no space was left.
    pub(crate) fn is_of_directory(failure: &Failure) -> bool {
        failure.step == child::DIRECTORY && matches!(failure.errno, libc::ENOSPC | libc::EDQUOT)
    }

    pub(crate) fn of_directory(failure: &Failure) -> Self {
        Self {
            reason: format!("{}: {}", failure.step, io::Error::from_raw_os_error(failure.errno)),
            limit: Some(Limit::Disk),
        }
    }

    /// The reason, when it is known before the start: for files in memory, and for files with a limit of their size
    /// because nothing limits them together.
    pub(crate) fn foreseen(furnish: &Furnish, memory_bytes: u64, one_by_one: bool) -> Option<Self> {
        let length = |file: &wire::FileSpec| file.content.len() as u64;
        if one_by_one {
            let file = furnish.files.iter().find(|file| length(file) > furnish.disk_bytes)?;
            return Some(Self {
                reason: format!(
                    "write {}: it has {} bytes, more than disk_bytes allow",
                    file.path,
                    length(file)
                ),
                limit: Some(Limit::Disk),
            });
        }
        let pages: u64 = furnish.files.iter().map(|file| length(file).div_ceil(PAGE_BYTES)).sum();
        (pages * PAGE_BYTES > memory_bytes).then(|| Self {
            reason: format!(
                "the files take {} bytes of memory, more than memory_bytes allow",
                pages * PAGE_BYTES
            ),
            limit: Some(Limit::Memory),
        })
    }

    /// The result of a run that was not begun for this reason.
    pub(crate) fn result(&self) -> RunOnceResult {
        RunOnceResult {
            cause: Cause::DiskFull.into(),
            reason: self.reason.clone(),
            limits_hit: self.limit.iter().map(|limit| (*limit).into()).collect(),
            ..RunOnceResult::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn furnish(lengths: &[usize]) -> Furnish {
        Furnish {
            disk_bytes: 10_000,
            files: (lengths.iter().zip(b'a'..))
                .map(|(length, name)| wire::FileSpec {
                    path: char::from(name).to_string(),
                    content: vec![0; *length].into(),
                    mode: 0,
                })
                .collect(),
            ..Furnish::default()
        }
    }

    #[test]
    fn files_are_counted_in_pages_where_they_lie_in_memory_and_one_by_one_elsewhere() {
        let memory_bytes = 3 * PAGE_BYTES;
        let foreseen = |lengths: &[usize], one_by_one| {
            Unwritten::foreseen(&furnish(lengths), memory_bytes, one_by_one).and_then(|unwritten| unwritten.limit)
        };
        assert_eq!(foreseen(&[1, 1, 4096], false), None);
        assert_eq!(foreseen(&[1, 1, 4097], false), Some(Limit::Memory));
        assert_eq!(foreseen(&[10_000, 10_000], true), None);
        assert_eq!(foreseen(&[1, 10_001], true), Some(Limit::Disk));
    }

    #[test]
    fn errors_of_init_name_the_limit() {
        let met = |errno, inodes_full| {
            Unwritten::met(&wire::Unwritten {
                step: "write a".to_owned(),
                errno,
                inodes_full,
            })
        };
        assert_eq!(met(libc::ENOSPC, false).limit, Some(Limit::Disk));
        assert_eq!(met(libc::ENOSPC, true).limit, Some(Limit::Inodes));
        let clash = met(libc::ENOTDIR, true);
        assert_eq!(
            (clash.limit, clash.reason.starts_with("write a: Not a directory")),
            (None, true)
        );
    }
}
