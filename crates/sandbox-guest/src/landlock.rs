//! Landlock: the rights of a process, and of all that it starts, on files, whatever the files' permissions are.
//!
//! In a box of namespaces it is a second lock. In the process tier, where the machine's file system is visible, it is
//! the only one, and its scopes also keep signals and abstract sockets inside.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::OnceLock;

use crate::sys::check_long;

/// Since this version (Linux 6.12) signals and abstract sockets can be kept inside.
pub(crate) const ABI_WITH_SCOPES: u32 = 6;
/// Since this version (Linux 6.7) TCP ports can be forbidden.
const ABI_WITH_PORTS: u32 = 4;

const EXECUTE: u64 = 1;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIR: u64 = 1 << 3;
const REFER: u64 = 1 << 13;
const TRUNCATE: u64 = 1 << 14;
/// The first version has the rights 0 to 12; later ones were added one by one.
const FIRST_RIGHTS: u64 = (1 << 13) - 1;
/// Binding and connecting TCP sockets.
const ALL_PORTS: u64 = 0b11;
/// Abstract Unix sockets and signals.
const ALL_SCOPES: u64 = 0b11;

const CREATE_RULESET_VERSION: libc::c_uint = 1;
const RULE_PATH_BENEATH: libc::c_uint = 1;

#[repr(C)]
struct RulesetAttr {
    handled_access_fs: u64,
    handled_access_net: u64,
    scoped: u64,
}

#[repr(C, packed)]
struct PathBeneathAttr {
    allowed_access: u64,
    parent_fd: i32,
}

/// The rights on a file, or on everything below a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Reading, listing and executing.
    Read,
    /// Reading and writing files that exist.
    Use,
    /// Everything.
    Own,
}

/// The interface's version; 0 where there is none. It is asked for once: inits inherit the answer.
pub fn abi() -> u32 {
    static ABI: OnceLock<u32> = OnceLock::new();
    *ABI.get_or_init(ask_abi)
}

fn ask_abi() -> u32 {
    // SAFETY: asks for the version; no struct is read.
    let version = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<RulesetAttr>(),
            0_usize,
            CREATE_RULESET_VERSION,
        )
    };
    u32::try_from(version).unwrap_or(0)
}

/// Rules for a process that gives up all other rights. Its children inherit them, and they are never taken back.
#[derive(Debug)]
pub(crate) struct Ruleset {
    fd: OwnedFd,
    handled: u64,
}

impl Ruleset {
    /// Rules for files only. Nothing is allowed yet.
    pub(crate) fn of_files() -> io::Result<Self> {
        Self::new(handled_files(abi()), 0, 0)
    }

    /// Rules for files, TCP ports, abstract sockets and signals. Nothing is allowed yet.
    ///
    /// # Errors
    /// `Unsupported` where this kernel cannot enforce all of them.
    pub(crate) fn of_everything() -> io::Result<Self> {
        Self::with_scopes(handled_files(abi()), ALL_PORTS)
    }

    /// Rules that only keep signals and abstract sockets inside.
    ///
    /// # Errors
    /// `Unsupported` where this kernel cannot.
    pub(crate) fn of_scopes() -> io::Result<Self> {
        Self::with_scopes(0, 0)
    }

    fn with_scopes(files: u64, ports: u64) -> io::Result<Self> {
        if abi() < ABI_WITH_SCOPES {
            return Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP));
        }
        Self::new(files, ports, ALL_SCOPES)
    }

    fn new(handled: u64, ports: u64, scoped: u64) -> io::Result<Self> {
        let attr = RulesetAttr {
            handled_access_fs: handled,
            handled_access_net: ports,
            scoped,
        };
        // Older kernels refuse fields that they do not know.
        let size = match abi() {
            ..ABI_WITH_PORTS => 8,
            ABI_WITH_PORTS..ABI_WITH_SCOPES => 16,
            _ => size_of::<RulesetAttr>(),
        };
        // SAFETY: a live struct of at least the stated size.
        let fd = check_long(unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, &raw const attr, size, 0) })?;
        // SAFETY: new and ours.
        let fd = unsafe { OwnedFd::from_raw_fd(i32::try_from(fd).map_err(io::Error::other)?) };
        Ok(Self { fd, handled })
    }

    /// Allows access to a path. A path that does not exist needs no rule.
    pub(crate) fn allow(&self, path: &Path, access: Access) -> io::Result<()> {
        let opened = File::options().read(true).custom_flags(libc::O_PATH).open(path);
        let place = match opened {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            opened => opened?,
        };
        let of_files = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE;
        let fitting = if place.metadata()?.is_dir() { u64::MAX } else { of_files };
        self.add(&place, access, fitting)
    }

    /// Allows access to everything below a directory that exists.
    fn allow_below(&self, directory: &Path, access: Access) -> io::Result<()> {
        let place = File::options().read(true).custom_flags(libc::O_PATH).open(directory)?;
        self.add(&place, access, u64::MAX)
    }

    fn add(&self, place: &File, access: Access, fitting: u64) -> io::Result<()> {
        let wanted = match access {
            Access::Read => EXECUTE | READ_FILE | READ_DIR,
            Access::Use => READ_FILE | READ_DIR | WRITE_FILE | TRUNCATE,
            Access::Own => u64::MAX,
        };
        let rule = PathBeneathAttr {
            allowed_access: wanted & fitting & self.handled,
            parent_fd: place.as_raw_fd(),
        };
        // SAFETY: a live ruleset and a live struct of the type that the rule's kind names.
        check_long(unsafe {
            libc::syscall(
                libc::SYS_landlock_add_rule,
                self.fd.as_raw_fd(),
                RULE_PATH_BENEATH,
                &raw const rule,
                0,
            )
        })?;
        Ok(())
    }

    /// The descriptor, for a process that is to apply the rules.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Applies the rules to this process. Needs `no_new_privs`.
    pub(crate) fn restrict_self(&self) -> io::Result<()> {
        // SAFETY: a live ruleset.
        check_long(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, self.fd.as_raw_fd(), 0) })?;
        Ok(())
    }
}

/// The rules for a box of namespaces: all rights on its own directories, reading elsewhere. Call it after all mounts,
/// because it opens the directories.
pub(crate) fn of_box() -> io::Result<Ruleset> {
    let rules = Ruleset::of_files()?;
    for (path, access) in [
        ("/", Access::Read),
        ("/dev", Access::Use),
        ("/proc", Access::Use),
        ("/work", Access::Own),
        ("/tmp", Access::Own),
        ("/dev/mqueue", Access::Own),
        ("/dev/shm", Access::Own),
        ("/run", Access::Own),
    ] {
        rules.allow_below(Path::new(path), access)?;
    }
    Ok(rules)
}

/// All rights on files that this version knows, except device controls: the device nodes of the box already decide
/// about them.
fn handled_files(abi: u32) -> u64 {
    let refer = if abi >= 2 { REFER } else { 0 };
    let truncate = if abi >= 3 { TRUNCATE } else { 0 };
    FIRST_RIGHTS | refer | truncate
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::*;

    /// Runs `sh -c script` in a new thread that applies the rules.
    fn obeying(rules: Ruleset, script: String) -> String {
        let thread = std::thread::spawn(move || {
            // SAFETY: numbers; it holds for this thread and what it starts.
            unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
            rules.restrict_self().expect("restricted");
            Command::new("/bin/sh").args(["-c", &script]).output().expect("a shell")
        });
        let output = thread.join().expect("the thread");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    #[test]
    fn only_allowed_operations_succeed() {
        if abi() == 0 {
            return;
        }
        let directory = tempfile::tempdir().expect("directory");
        for name in ["own", "read", "none"] {
            fs::create_dir(directory.path().join(name)).expect("directory");
            fs::write(directory.path().join(name).join("file"), name).expect("file");
        }
        let rules = Ruleset::of_files().expect("rules");
        for system in ["/usr", "/bin", "/lib", "/lib64", "/etc"] {
            rules.allow(Path::new(system), Access::Read).expect(system);
        }
        rules.allow(Path::new("/dev/null"), Access::Use).expect("null");
        rules.allow(Path::new("/not/there"), Access::Own).expect("nothing");
        rules.allow(&directory.path().join("own"), Access::Own).expect("own");
        rules.allow(&directory.path().join("read"), Access::Read).expect("read");
        let here = directory.path().display();
        let script = format!(
            "cd {here}; exec 2>/dev/null; cat own/file read/file none/file; echo; echo x > own/new && echo made; \
             echo x > read/file || echo refused; rm read/file || echo kept; ls none || echo hidden; mv own/new own/moved && echo moved"
        );
        assert_eq!(obeying(rules, script), "ownread\nmade\nrefused\nkept\nhidden\nmoved\n");
        assert_eq!(
            fs::read_to_string(directory.path().join("read/file")).ok().as_deref(),
            Some("read")
        );
    }

    #[test]
    fn signals_stay_inside() {
        if abi() < ABI_WITH_SCOPES {
            return;
        }
        let script = format!(
            "kill -0 {} 2>/dev/null && echo reached; sleep 9 & kill $! && echo own",
            std::process::id()
        );
        assert_eq!(obeying(Ruleset::of_scopes().expect("rules"), script), "own\n");
    }
}
