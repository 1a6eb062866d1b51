//! How a process ends that cannot go on with an input: an allocator and a thread that watches cannot unwind the parser.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// The file of the input under way.
static UNDER_WAY: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Names the file that holds the input under way; `None` when there is none.
pub(crate) fn under_way(path: Option<PathBuf>) {
    *UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner) = path;
}

/// Ends the process because of the input under way, whose file stays.
pub(crate) fn die(reason: &str) -> ! {
    let file = match &*UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner) {
        Some(path) => path.display().to_string(),
        None => "memory".to_owned(),
    };
    // The macros write to the buffer of the test, which dies with the process. The process ends whether or not this can be written.
    let _ = writeln!(io::stderr(), "the input in {file} is at fault: {reason}");
    std::process::abort()
}
