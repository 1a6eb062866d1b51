//! Where the box's paths lie. A caller always says /work and /tmp and is told so; without a mount namespace the machine has
//! them elsewhere. Of one helper: a process that does one operation.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::process::Home;

static HOME: OnceLock<Home> = OnceLock::new();

/// Before the first path is looked at. `home`: in the process tier.
pub(super) fn settle(home: Option<&Home>) {
    if let Some(home) = home {
        // Nobody was there before in this process.
        let _first = HOME.set(home.clone());
    }
}

/// Where what the box calls so lies.
pub(super) fn actual(path: PathBuf) -> PathBuf {
    match HOME.get() {
        Some(home) => home.actual(&path),
        None => path,
    }
}

/// What the box calls what lies there.
pub(super) fn told(path: &Path) -> String {
    let told = match HOME.get() {
        Some(home) => home.told(path),
        None => path.to_owned(),
    };
    told.to_string_lossy().into_owned()
}

/// The parts of the writable layer that are there, as the box calls them and where they lie.
pub(super) fn layer() -> impl Iterator<Item = (&'static str, PathBuf)> {
    // Where there is a home, it has no others.
    let all = [("work", "/work"), ("tmp", "/tmp"), ("shm", "/dev/shm"), ("run", "/run")];
    let there = if HOME.get().is_some() { 2 } else { all.len() };
    all.into_iter()
        .take(there)
        .map(|(name, path)| (name, actual(PathBuf::from(path))))
}
