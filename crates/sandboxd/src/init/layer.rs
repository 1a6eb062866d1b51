//! A clean writable layer over what a sandbox's files and build have made, for one exec and nobody else.
//!
//! It is a mount namespace of its own: overlays whose lower side is the sandbox's own layer and whose upper side is a
//! new file system in memory with the exec's sizes. It is gone with the last process in it and the descriptor here.
//! Nothing may change the lower side meanwhile: such execs run one at a time, and each is dead before the next begins.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::Path;

use crate::sys::{check, make_directory, mount};
use crate::template::{Step, at};
use crate::wire::Sizes;

/// In the root of every sandbox, and empty.
const BUILD_AT: &str = "/box";
const OWN_NAMESPACE: &str = "/proc/self/ns/mnt";

/// See the module.
pub(super) struct Layer(OwnedFd);

impl Layer {
    /// Makes one. `uid`: the guest's.
    pub(super) fn make(sizes: &Sizes, uid: u32) -> Result<Self, Step> {
        let back = at("layer", File::open(OWN_NAMESPACE))?;
        // SAFETY: one thread.
        at("layer", check(unsafe { libc::unshare(libc::CLONE_NEWNS) }))?;
        let made = build(sizes, uid).and_then(|()| at("layer", File::open(OWN_NAMESPACE)));
        at("leave the layer", enter(back.as_raw_fd()))?;
        made.map(|namespace| Self(namespace.into()))
    }

    pub(super) fn namespace(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// Does something in it and comes back.
    pub(super) fn within<T>(&self, act: impl FnOnce() -> T) -> io::Result<T> {
        let back = File::open(OWN_NAMESPACE)?;
        enter(self.namespace())?;
        let done = act();
        enter(back.as_raw_fd())?;
        Ok(done)
    }
}

/// Moves this process, which has one thread, into a mount namespace.
pub(super) fn enter(namespace: RawFd) -> io::Result<()> {
    // SAFETY: a live descriptor.
    check(unsafe { libc::setns(namespace, libc::CLONE_NEWNS) }).map(|_| ())
}

fn build(sizes: &Sizes, uid: u32) -> Result<(), Step> {
    let upper = Path::new(BUILD_AT);
    let safe = libc::MS_NOSUID | libc::MS_NODEV;
    let options = format!("size={},nr_inodes={},mode=755", sizes.disk_bytes, sizes.inodes);
    at("layer", mount("box", upper, "tmpfs", safe, &options))?;
    for (name, target, mode, owner) in [("work", "/work", 0o755, uid), ("tmp", "/tmp", 0o1777, 0)] {
        let (top, aside) = (upper.join(name), upper.join(format!("{name}.aside")));
        at("layer", make_directory(&top, mode, owner))?;
        at("layer", make_directory(&aside, 0o700, 0))?;
        let options = format!(
            "lowerdir={target},upperdir={},workdir={}",
            top.display(),
            aside.display()
        );
        at("overlay", mount("box", Path::new(target), "overlay", safe, &options))?;
    }
    for (name, target, mode, owner) in [("shm", "/dev/shm", 0o1777, 0), ("run", "/run", 0o755, uid)] {
        at("layer", make_directory(&upper.join(name), mode, owner))?;
        at(
            "layer",
            mount(&format!("{BUILD_AT}/{name}"), Path::new(target), "", libc::MS_BIND, ""),
        )?;
    }
    at(
        "layer",
        // SAFETY: a NUL-terminated path.
        check(unsafe { libc::umount2(c"/box".as_ptr(), libc::MNT_DETACH) }),
    )
    .map(|_| ())
}
