//! How a process ends that cannot go on with an input: an allocator and a thread that watches cannot unwind the parser.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// The file of the input under way.
static UNDER_WAY: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Names the file that holds the input under way; `None` when there is none.
pub(crate) fn under_way(path: Option<PathBuf>) {
    *UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner) = path;
}

/// Ends the process because of the input under way, whose file stays.
#[expect(
    clippy::print_stderr,
    reason = "the process ends without unwinding, so that nothing else can say why"
)]
pub(crate) fn die(reason: &str) -> ! {
    match &*UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner) {
        Some(path) => eprintln!("the input in {} is at fault: {reason}", path.display()),
        None => eprintln!("an input is at fault: {reason}"),
    }
    std::process::abort()
}
