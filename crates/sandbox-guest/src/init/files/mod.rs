//! File operations in a sandbox where guests may be running.
//!
//! A helper, a fork of init, becomes the sandbox's user before it looks at a path. A guest that changes paths meanwhile
//! gains nothing: the helper has no right that the guest lacks. Apart from regular files it opens nothing that could
//! make it wait, and it ends when the daemon closes the socket. Only saving and restoring the whole layer keep init's
//! rights; they walk by descriptors and follow no link.

mod archive;
mod link;
mod tree;
mod watch;

use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use prl_sandbox_proto::{FileInfo, file_info::Kind};

use super::keep_only;
use crate::child::{self, Confinement};
use crate::defence::Defence;
use crate::process::place;
use crate::sys::check;
use crate::wire::files::{Answer, FileOperation, ReadSpec, WriteSpec};
use link::Link;

/// Where relative paths begin.
const WORK: &str = "/work";
const CHUNK_BYTES: usize = 64 << 10;

/// Runs as the helper of one operation and never returns.
pub(super) fn help(
    operation: FileOperation,
    socket: &OwnedFd,
    uid: u32,
    disk_bytes: u64,
    confinement: Confinement<'_>,
) -> ! {
    use std::os::fd::AsRawFd;
    let limited = if confinement.home.is_some() {
        limit_files(disk_bytes)
    } else {
        Ok(())
    };
    let ready = limited.and_then(|()| keep_only(&[socket.as_raw_fd()])).and_then(|()| {
        let whole = matches!(operation, FileOperation::Save(_) | FileOperation::Restore(_));
        if whole || !Defence::FileUser.stands() {
            Ok(())
        } else {
            child::become_user(uid, confinement)
        }
    });
    let mut link = Link::at_its_number();
    let done = ready.map_err(|error| refused(Path::new(""), &error)).and_then(|()| {
        // SAFETY: a number.
        unsafe { libc::umask(0) };
        carry_out(operation, uid, &mut link)
    });
    let answer = done.unwrap_or_else(|refusal| refusal);
    // The daemon may have closed the socket.
    let _unheard = link.answer(answer);
    // SAFETY: the end of this process; no destructor matters.
    unsafe { libc::_exit(0) }
}

/// Where no file system bounds the size, this limits each file to the size of the box; a larger write fails.
fn limit_files(disk_bytes: u64) -> io::Result<()> {
    let limit = libc::rlimit {
        rlim_cur: disk_bytes,
        rlim_max: disk_bytes,
    };
    // SAFETY: a live record; a signal that is ignored.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        check(libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit)).map(|_| ())
    }
}

/// The last message of an operation, in success or failure.
type Outcome = Result<Answer, Answer>;

fn carry_out(operation: FileOperation, uid: u32, link: &mut Link) -> Outcome {
    match operation {
        FileOperation::Read(spec) => read(&spec, link),
        FileOperation::Write(spec) => write(&spec, link),
        FileOperation::Stat(path) => stat(&resolve(&path)),
        FileOperation::List(spec) => tree::list(&spec, link),
        FileOperation::MakeDirectory(path) => {
            let path = resolve(&path);
            make_directories(&path).map_err(|error| refused(&path, &error))?;
            stat(&path)
        }
        FileOperation::Move(spec) => {
            let (from, to) = (resolve(&spec.from), resolve(&spec.to));
            move_to(&from, &to).map_err(|error| refused(&from, &error))?;
            stat(&to)
        }
        FileOperation::Remove(spec) => tree::remove(&spec),
        FileOperation::Watch(spec) => watch::watch(&spec, link),
        FileOperation::Pack(path) => archive::pack(&resolve(&path), link),
        FileOperation::Unpack(path) => archive::unpack(&resolve(&path), link),
        FileOperation::Save(_) => archive::save(uid, link),
        FileOperation::Restore(_) => archive::restore(uid, link),
    }
}

fn resolve(path: &str) -> PathBuf {
    // `.` parts are left out: they mean nothing.
    place::actual(Path::new(WORK).join(path).components().collect())
}

fn refused(path: &Path, error: &io::Error) -> Answer {
    refusal(path, &error.to_string(), error.kind() == io::ErrorKind::NotFound)
}

fn refusal(path: &Path, reason: &str, missing: bool) -> Answer {
    Answer::Refused(crate::wire::files::Refusal {
        path: place::path_in_box(path),
        reason: reason.to_owned(),
        missing,
    })
}

fn stat(path: &Path) -> Outcome {
    describe(path).map(Answer::Entry).map_err(|error| refused(path, &error))
}

/// Describes the entry at a path without following a link.
fn describe(path: &Path) -> io::Result<FileInfo> {
    let found = fs::symlink_metadata(path)?;
    let kind = match found.file_type() {
        kind if kind.is_file() => Kind::File,
        kind if kind.is_dir() => Kind::Directory,
        kind if kind.is_symlink() => Kind::Symlink,
        _ => Kind::Other,
    };
    let link_target = if kind == Kind::Symlink {
        fs::read_link(path)?.to_string_lossy().into_owned()
    } else {
        String::new()
    };
    let modified = found.mtime().saturating_mul(1000) + found.mtime_nsec() / 1_000_000;
    Ok(FileInfo {
        path: place::path_in_box(path),
        kind: kind.into(),
        bytes: found.len(),
        mode: found.mode() & 0o7777,
        modified_at: u64::try_from(modified).unwrap_or(0),
        link_target,
    })
}

/// Opens a regular file. Any other kind is opened without waiting, recognised and refused.
fn open(path: &Path) -> Result<fs::File, Answer> {
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
    let opened = fs::OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = opened.map_err(|error| refused(path, &error))?;
    let kind = file.metadata().map_err(|error| refused(path, &error))?;
    if kind.is_file() || !Defence::RegularFiles.stands() {
        return Ok(file);
    }
    let what = if kind.is_dir() {
        "it is a directory"
    } else {
        "it is not a regular file"
    };
    Err(refusal(path, what, false))
}

fn read(spec: &ReadSpec, link: &mut Link) -> Outcome {
    use std::io::Seek;
    let path = resolve(&spec.path);
    let failed = |error: io::Error| refused(&path, &error);
    let mut file = open(&path)?;
    let too_large = || {
        Answer::TooLarge(format!(
            "{} holds more than {} bytes",
            place::path_in_box(&path),
            spec.max_bytes
        ))
    };
    let length = file.metadata().map_err(failed)?.len();
    if length.saturating_sub(spec.offset) > spec.max_bytes {
        return Err(too_large());
    }
    if spec.offset > 0 {
        file.seek(io::SeekFrom::Start(spec.offset)).map_err(failed)?;
    }
    let mut left = spec.max_bytes;
    loop {
        let mut chunk = vec![0; CHUNK_BYTES];
        let length = file.read(&mut chunk).map_err(failed)?;
        if length == 0 {
            return Ok(Answer::Done(true));
        }
        // The file may grow while it is read, or report no length.
        left = left.checked_sub(length as u64).ok_or_else(too_large)?;
        chunk.truncate(length);
        link.answer(Answer::Data(chunk.into())).map_err(failed)?;
    }
}

/// Writes a new file beside the old one and moves it there at the end, so that the path has either the old content or
/// all of the new.
fn write(spec: &WriteSpec, link: &mut Link) -> Outcome {
    let asked = resolve(&spec.path);
    let failed = |error: io::Error| refused(&asked, &error);
    // A write to a link goes to its target.
    let path = match fs::metadata(&asked) {
        Ok(kind) if !kind.is_file() => return Err(refusal(&asked, "it is not a regular file", false)),
        Ok(_) => fs::canonicalize(&asked).map_err(failed)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => asked.clone(),
        Err(error) => return Err(failed(error)),
    };
    let beside = beside(&path).map_err(failed)?;
    make_directories(beside.parent().unwrap_or(Path::new("/"))).map_err(failed)?;
    let written = receive(&beside, spec.mode, link).and_then(|()| fs::rename(&beside, &path));
    if let Err(error) = written {
        // The new file may not exist.
        let _left = fs::remove_file(&beside);
        return Err(failed(error));
    }
    stat(&path)
}

fn receive(to: &Path, mode: u32, link: &mut Link) -> io::Result<()> {
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(to)?;
    while let Some(data) = link.next()? {
        file.write_all(&data)?;
    }
    let mode = if mode == 0 { 0o644 } else { mode & 0o777 };
    file.set_permissions(fs::Permissions::from_mode(mode))
}

/// Moves a file, also between the work directory and the temporary ones, which the kernel takes for different file
/// systems. Between these a directory is not moved.
fn move_to(from: &Path, to: &Path) -> io::Result<()> {
    match fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {}
        other => return other,
    }
    let kind = fs::symlink_metadata(from)?;
    if kind.is_symlink() {
        std::os::unix::fs::symlink(fs::read_link(from)?, to)?;
    } else if kind.is_file() {
        let beside = beside(to)?;
        let copied = fs::copy(from, &beside).and_then(|_| fs::rename(&beside, to));
        if let Err(error) = copied {
            // The new file may not exist.
            let _left = fs::remove_file(&beside);
            return Err(error);
        }
    } else {
        return Err(io::ErrorKind::CrossesDevices.into());
    }
    fs::remove_file(from)
}

/// A name in the same directory that no other file has.
fn beside(path: &Path) -> io::Result<PathBuf> {
    let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it names no file"));
    };
    // SAFETY: reads an attribute of this process.
    let pid = unsafe { libc::getpid() };
    // The name may be as long as names may be, so only its start is used.
    let start: String = name.to_string_lossy().chars().take(32).collect();
    Ok(directory.join(format!(".prl-{pid}-{start}")))
}

/// Makes a directory, with those above it that are missing.
fn make_directories(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o755).create(path)
}
