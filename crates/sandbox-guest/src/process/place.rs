//! Where the box's paths are on the machine. Callers always use /work and /tmp. Without a mount namespace the
//! directories are elsewhere on the machine. Each init keeps its answer, and its forks inherit it.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::Home;

static HOME: OnceLock<Home> = OnceLock::new();

/// Call it once, before the first path is looked at. `home`: set in the process tier.
pub(crate) fn settle(home: Option<&Home>) {
    if let Some(home) = home {
        // It was not set before in this process.
        let _first = HOME.set(home.clone());
    }
}

/// The machine's path for a path of the box.
pub(crate) fn actual(path: PathBuf) -> PathBuf {
    match HOME.get() {
        Some(home) => home.actual(&path),
        None => path,
    }
}

/// The box's path for a path of the machine.
pub(crate) fn path_in_box(path: &Path) -> String {
    let path = match HOME.get() {
        Some(home) => home.path_in_box(path),
        None => path.to_owned(),
    };
    path.to_string_lossy().into_owned()
}

/// The parts of the writable layer that exist: the name in the box, and the path on the machine.
pub(crate) fn layer() -> impl Iterator<Item = (&'static str, PathBuf)> {
    // A home has only the first two.
    let all = [("work", "/work"), ("tmp", "/tmp"), ("shm", "/dev/shm"), ("run", "/run")];
    let there = if HOME.get().is_some() { 2 } else { all.len() };
    all.into_iter()
        .take(there)
        .map(|(name, path)| (name, actual(PathBuf::from(path))))
}

/// The part of the writable layer that contains a path, and the rest of the path. `None`: programs cannot write there.
pub(crate) fn in_layer(path: &Path) -> Option<(PathBuf, PathBuf)> {
    layer().find_map(|(_, part)| {
        let below = path.strip_prefix(&part).ok()?.to_owned();
        Some((part, below))
    })
}
