//! A clean writable layer over the files and the build of a sandbox, for one exec alone.
//!
//! It is a separate mount namespace: overlays whose lower side is the sandbox's layer and whose upper side is a new
//! file system in memory with the exec's sizes. It disappears with its last process and the descriptor here. Nothing
//! may change the lower side meanwhile: such execs run one at a time, and each is dead before the next begins.
//!
//! A layer that is exactly as it was made, including the times of its directories, is as clean as a new one and is used
//! again. A layer that was made in advance is used too, unless the files below it have changed since.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::sys::{check, make_directory, mount};
use crate::template::{Step, at};
use crate::wire::Sizes;

/// A directory in the root of every sandbox. It is empty.
const BUILD_AT: &str = "/box";
const OWN_NAMESPACE: &str = "/proc/self/ns/mnt";

/// See the module.
pub(super) struct Layer {
    namespace: OwnedFd,
    pub(super) sizes: Sizes,
    /// The top directories, which contain everything that is written.
    tops: Vec<File>,
    as_made: State,
    /// Whether each change by a program is visible in the times. It is where the kernel gives a change a later time
    /// than the time that was looked at. Elsewhere it is when programs run in the layer only after the clock tick in
    /// which it was made.
    told_apart: bool,
}

/// The values that every change alters: the kernel's own times of the top directories, and the free part of the file system.
#[derive(PartialEq)]
struct State {
    changed: Vec<(i64, i64)>,
    read: Vec<(i64, i64)>,
    free: [u64; 2],
}

impl Layer {
    /// Makes a layer. `uid`: the guest's user.
    pub(super) fn make(sizes: &Sizes, uid: u32) -> Result<Self, Step> {
        let back = at("layer", File::open(OWN_NAMESPACE))?;
        // SAFETY: one thread.
        at("layer", check(unsafe { libc::unshare(libc::CLONE_NEWNS) }))?;
        let made = build(sizes, uid).and_then(|tops| {
            let namespace = at("layer", File::open(OWN_NAMESPACE))?;
            Ok(Self {
                namespace: namespace.into(),
                sizes: *sizes,
                told_apart: at("layer", takes_another_time(&tops))?,
                as_made: at("layer", state(&tops))?,
                tops,
            })
        });
        at("leave the layer", enter(back.as_raw_fd()))?;
        made
    }

    pub(super) fn namespace(&self) -> RawFd {
        self.namespace.as_raw_fd()
    }

    /// Notes that a program begins in this layer.
    pub(super) fn begin(&mut self) {
        let now = last_tick();
        self.told_apart |= self.as_made.changed.iter().all(|made| *made < now);
    }

    /// Whether nothing has changed since the layer was made. Call it only while no process is in the layer that could
    /// write.
    pub(super) fn untouched(&self) -> bool {
        self.told_apart && state(&self.tops).is_ok_and(|now| now == self.as_made)
    }

    /// Whether no block, and whether no inode, is left.
    pub(super) fn fullness(&self) -> io::Result<(bool, bool)> {
        free(&self.tops).map(|[blocks, inodes]| (blocks == 0, inodes == 0))
    }

    /// Calls a function inside the layer and comes back.
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

fn build(sizes: &Sizes, uid: u32) -> Result<Vec<File>, Step> {
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
    let tops = ["work", "tmp", "shm", "run"].map(|name| File::open(upper.join(name)));
    let tops = at("layer", tops.into_iter().collect())?;
    at(
        "layer",
        // SAFETY: a NUL-terminated path.
        check(unsafe { libc::umount2(c"/box".as_ptr(), libc::MNT_DETACH) }),
    )?;
    Ok(tops)
}

/// Whether a change gets a later time than the time that was looked at, even within one clock tick. It is true only
/// when that was observed.
fn takes_another_time(tops: &[File]) -> io::Result<bool> {
    let Some(top) = tops.first() else {
        return Ok(false);
    };
    let before = last_tick();
    let permissions = top.metadata()?.permissions();
    top.set_permissions(permissions)?;
    let changed = top.metadata()?;
    Ok(last_tick() == before && (changed.ctime(), changed.ctime_nsec()) > before)
}

/// The time that the kernel gives to a change, unless it takes a finer one.
fn last_tick() -> (i64, i64) {
    // SAFETY: timespec is plain data, filled by the call.
    unsafe {
        let mut now: libc::timespec = std::mem::zeroed();
        libc::clock_gettime(libc::CLOCK_REALTIME_COARSE, &raw mut now);
        (now.tv_sec, now.tv_nsec)
    }
}

fn state(tops: &[File]) -> io::Result<State> {
    let about: Vec<_> = tops.iter().map(File::metadata).collect::<io::Result<_>>()?;
    Ok(State {
        changed: about.iter().map(|top| (top.ctime(), top.ctime_nsec())).collect(),
        read: about.iter().map(|top| (top.atime(), top.atime_nsec())).collect(),
        free: free(tops)?,
    })
}

/// The free blocks and inodes of the file system that contains all of them.
fn free(tops: &[File]) -> io::Result<[u64; 2]> {
    // SAFETY: statfs is plain data, filled by the call.
    let mut system: libc::statfs = unsafe { std::mem::zeroed() };
    let top = tops.first().ok_or(io::ErrorKind::NotFound)?;
    // SAFETY: a live descriptor and record.
    check(unsafe { libc::fstatfs(top.as_raw_fd(), &raw mut system) })?;
    Ok([system.f_bfree, system.f_ffree])
}
