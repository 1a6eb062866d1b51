//! Where the box's paths lie. A caller always says /work and /tmp and is told so; without a mount namespace the machine has
//! them elsewhere. Each init and what it forks has its own answer.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::Home;

static HOME: OnceLock<Home> = OnceLock::new();

/// Once, before the first path is looked at. `home`: in the process tier.
pub(crate) fn settle(home: Option<&Home>) {
    if let Some(home) = home {
        // Nothing was settled before in this process.
        let _first = HOME.set(home.clone());
    }
}

/// Where what the box calls so lies.
pub(crate) fn actual(path: PathBuf) -> PathBuf {
    match HOME.get() {
        Some(home) => home.actual(&path),
        None => path,
    }
}

/// What the box calls what lies there.
pub(crate) fn told(path: &Path) -> String {
    let told = match HOME.get() {
        Some(home) => home.told(path),
        None => path.to_owned(),
    };
    told.to_string_lossy().into_owned()
}

/// The parts of the writable layer that are there, as the box calls them and where they lie.
pub(crate) fn layer() -> impl Iterator<Item = (&'static str, PathBuf)> {
    // Where there is a home, it has no others.
    let all = [("work", "/work"), ("tmp", "/tmp"), ("shm", "/dev/shm"), ("run", "/run")];
    let there = if HOME.get().is_some() { 2 } else { all.len() };
    all.into_iter()
        .take(there)
        .map(|(name, path)| (name, actual(PathBuf::from(path))))
}

/// The part of the writable layer that a path lies in, and the way from there. `None`: programs cannot write there.
pub(crate) fn in_layer(path: &Path) -> Option<(PathBuf, PathBuf)> {
    layer().find_map(|(_, part)| {
        let below = path.strip_prefix(&part).ok()?.to_owned();
        Some((part, below))
    })
}
