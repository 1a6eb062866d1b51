//! Guards the daemon's files that no program may read: its tokens and its key.
//!
//! Programs see some directories of the machine. A file in these must be closed to them by its mode, which helps only
//! where programs run as separate users.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use prl_sandbox_guest::template::SYSTEM;

use crate::error::SandboxError;
use crate::options::Options;

const OTHERS_READ: u32 = 0o004;
const OTHERS_ENTER: u32 = 0o001;

/// Checks the files. `own_users`: programs are not this daemon's user.
///
/// # Errors
/// `Usage`, with the name of the file.
pub(crate) fn guard(options: &Options, own_users: bool) -> Result<(), SandboxError> {
    let system = SYSTEM.iter().map(PathBuf::from);
    let shown: Vec<PathBuf> = system.chain(options.readable.iter().cloned()).collect();
    for (name, path) in [("--token-file", &options.token_file), ("--tls-key", &options.tls_key)] {
        if let Some(path) = path
            && is_open(path, &shown, own_users)
        {
            return Err(SandboxError::Usage(format!(
                "{name} {}: programs in sandboxes could read it; put it where they see nothing, for example below /run",
                path.display()
            )));
        }
    }
    Ok(())
}

/// When the file cannot be inspected, the daemon cannot read it either and says so.
fn is_open(path: &Path, shown: &[PathBuf], own_users: bool) -> bool {
    let Ok(path) = fs::canonicalize(path) else {
        return false;
    };
    let shown = shown.iter().filter_map(|one| fs::canonicalize(one).ok());
    let Some(shown) = shown.into_iter().find(|one| path.starts_with(one)) else {
        return false;
    };
    let has = |path: &Path, bit: u32| fs::metadata(path).is_ok_and(|found| found.mode() & bit != 0);
    let mut above = path.ancestors().skip(1).take_while(|one| one.starts_with(&shown));
    !own_users || (has(&path, OTHERS_READ) && above.all(|one| has(one, OTHERS_ENTER)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn files_in_view_of_programs_must_be_unreadable_to_them() {
        let directory = tempfile::tempdir().expect("directory");
        let inner = directory.path().join("inner");
        let file = inner.join("token");
        fs::create_dir(&inner).expect("directory");
        fs::write(&file, "secret").expect("file");
        let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("mode");
        mode(directory.path(), 0o755);
        let shown = [directory.path().to_owned()];
        for (above, own, open) in [
            (0o755, 0o644, true),
            (0o755, 0o640, false),
            (0o700, 0o644, false),
            (0o711, 0o604, true),
        ] {
            mode(&inner, above);
            mode(&file, own);
            assert_eq!(is_open(&file, &shown, true), open, "{above:o} {own:o}");
            assert!(is_open(&file, &shown, false), "the daemon's user: {above:o} {own:o}");
            assert!(!is_open(&file, &[inner.join("other")], false), "not shown");
        }
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(&file, &link).expect("link");
        assert!(is_open(&link, &[inner], false), "where it really lies");
    }
}
