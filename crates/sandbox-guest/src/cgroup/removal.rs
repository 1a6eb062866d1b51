//! Groups whose sandboxes are gone, removed by the spawner.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long killed processes may take to leave their group.
const PATIENCE: Duration = Duration::from_secs(5);

/// Removes the groups in a directory, and the directory, by its descriptor, because the spawner no longer sees the
/// machine's paths. Its sandboxes are dead.
pub(crate) fn remove_tree_at(directory: BorrowedFd<'_>, path: &Path) {
    let deadline = Instant::now() + PATIENCE;
    for name in names_in(directory) {
        remove_at(directory, &name, deadline);
    }
    // The directory itself is removed through its parent, which `..` of a descriptor still reaches.
    if let Some(name) = path.file_name().and_then(|name| name.to_str()) {
        // SAFETY: a live descriptor and a NUL-terminated path.
        let parent = unsafe {
            libc::openat(
                directory.as_raw_fd(),
                c"..".as_ptr(),
                libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC,
            )
        };
        if parent >= 0 {
            // SAFETY: opened just now; used only here, for the rest of this process's short life.
            remove_at(unsafe { BorrowedFd::borrow_raw(parent) }, name, deadline);
        }
    }
}

fn remove_at(directory: BorrowedFd<'_>, name: &str, deadline: Instant) {
    let Ok(name) = std::ffi::CString::new(name) else { return };
    loop {
        // SAFETY: a live descriptor and a NUL-terminated name.
        let result = unsafe { libc::unlinkat(directory.as_raw_fd(), name.as_ptr(), libc::AT_REMOVEDIR) };
        let busy = result < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::EBUSY);
        if !busy || Instant::now() >= deadline {
            return;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The names of the directories in a directory.
fn names_in(directory: BorrowedFd<'_>) -> Vec<String> {
    let mut names = Vec::new();
    // SAFETY: the duplicate belongs to the stream, which closes it; entries are valid until the next readdir.
    unsafe {
        let copy = libc::dup(directory.as_raw_fd());
        let stream = libc::fdopendir(copy);
        if stream.is_null() {
            return names;
        }
        loop {
            let entry = libc::readdir(stream);
            if entry.is_null() {
                break;
            }
            let name = std::ffi::CStr::from_ptr((*entry).d_name.as_ptr())
                .to_string_lossy()
                .into_owned();
            if (*entry).d_type == libc::DT_DIR && name != "." && name != ".." {
                names.push(name);
            }
        }
        libc::closedir(stream);
    }
    names
}
