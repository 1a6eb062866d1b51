//! Watching a file or directory for changes, with inotify.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use prl_sandbox_proto::{WatchEvent, watch_event::Kind};

use super::link::Link;
use super::{Outcome, refused, resolve};
use crate::process::place;
use crate::sys::{c_path, check};
use crate::wire::files::{Answer, TreeSpec};

/// How many directories are watched at a time. Further ones are reported as an overflow.
const MAX_WATCHES: usize = 4096;
const MASK: u32 = libc::IN_CREATE
    | libc::IN_CLOSE_WRITE
    | libc::IN_MODIFY
    | libc::IN_ATTRIB
    | libc::IN_DELETE
    | libc::IN_DELETE_SELF
    | libc::IN_MOVED_FROM
    | libc::IN_MOVED_TO
    | libc::IN_DONT_FOLLOW;

/// Reports changes until the daemon closes the socket.
pub(super) fn watch(spec: &TreeSpec, link: &mut Link) -> Outcome {
    let root = resolve(&spec.path);
    let failed = |error: io::Error| refused(&root, &error);
    let mut watcher = Watcher::new(spec.recursive).map_err(failed)?;
    watcher.add(&root).map_err(failed)?;
    if spec.recursive {
        watcher.add_below(&root);
    }
    send_event(link, Kind::Ready, &root).map_err(failed)?;
    if watcher.full {
        send_event(link, Kind::Overflow, &root).map_err(failed)?;
    }
    loop {
        if !watcher.wait() {
            return Ok(Answer::Done(true));
        }
        for (kind, path) in watcher.changes().map_err(failed)? {
            send_event(link, kind, &path).map_err(failed)?;
        }
    }
}

fn send_event(link: &mut Link, kind: Kind, path: &Path) -> io::Result<()> {
    link.answer(Answer::Changed(WatchEvent {
        kind: kind.into(),
        path: place::path_in_box(path),
    }))
}

struct Watcher {
    inotify: OwnedFd,
    recursive: bool,
    paths: HashMap<i32, PathBuf>,
    full: bool,
}

impl Watcher {
    fn new(recursive: bool) -> io::Result<Self> {
        // SAFETY: flags; the descriptor is new and ours.
        let inotify =
            unsafe { OwnedFd::from_raw_fd(check(libc::inotify_init1(libc::IN_CLOEXEC | libc::IN_NONBLOCK))?) };
        Ok(Self {
            inotify,
            recursive,
            paths: HashMap::new(),
            full: false,
        })
    }

    fn add(&mut self, path: &Path) -> io::Result<()> {
        let name = c_path(path)?;
        // SAFETY: a NUL-terminated path.
        let watch = check(unsafe { libc::inotify_add_watch(self.inotify.as_raw_fd(), name.as_ptr(), MASK) })?;
        self.paths.insert(watch, path.to_owned());
        Ok(())
    }

    /// Adds one more directory, if there is room. A directory that is gone again needs no watch.
    fn follow(&mut self, path: &Path) -> bool {
        let added = self.paths.len() < MAX_WATCHES
            && self
                .add(path)
                .map_or_else(|error| error.kind() == io::ErrorKind::NotFound, |()| true);
        self.full |= !added;
        added
    }

    /// Adds every directory below one that is watched; returns the entries that were found there.
    fn add_below(&mut self, path: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut next = vec![path.to_owned()];
        while let Some(directory) = next.pop() {
            for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
                found.push(entry.path());
                if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    continue;
                }
                if !self.follow(&entry.path()) {
                    return found;
                }
                next.push(entry.path());
            }
        }
        found
    }

    /// Waits for changes. False when the daemon has closed the socket.
    fn wait(&self) -> bool {
        let poll = |fd, events| libc::pollfd { fd, events, revents: 0 };
        let mut polls = [
            poll(self.inotify.as_raw_fd(), libc::POLLIN),
            // The daemon sends nothing: any event here is the end.
            poll(Link::FD, libc::POLLIN | libc::POLLRDHUP),
        ];
        // SAFETY: two live pollfds.
        unsafe { libc::poll(polls.as_mut_ptr(), 2, -1) };
        polls[1].revents == 0
    }

    fn changes(&mut self) -> io::Result<Vec<(Kind, PathBuf)>> {
        let mut buffer = [0_u8; 32 << 10];
        // SAFETY: a live buffer.
        let length = unsafe { libc::read(self.inotify.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len()) };
        let Ok(length) = usize::try_from(length) else {
            let error = io::Error::last_os_error();
            let nothing = matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted);
            return if nothing { Ok(Vec::new()) } else { Err(error) };
        };
        let mut changes: Vec<(Kind, PathBuf)> = Vec::new();
        let mut rest = buffer.get(..length).unwrap_or_default();
        let header = size_of::<libc::inotify_event>();
        while rest.len() >= header {
            // SAFETY: the kernel writes whole events; the copy has no alignment to keep.
            let event: libc::inotify_event = unsafe { rest.as_ptr().cast::<libc::inotify_event>().read_unaligned() };
            let end = header + event.len as usize;
            let name = rest.get(header..end).unwrap_or_default();
            let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
            self.change(&event, OsStr::from_bytes(name), &mut changes);
            rest = rest.get(end..).unwrap_or_default();
        }
        // Several writes in a row are one change.
        changes.dedup();
        Ok(changes)
    }

    fn change(&mut self, event: &libc::inotify_event, name: &OsStr, changes: &mut Vec<(Kind, PathBuf)>) {
        let is = |mask: u32| event.mask & mask != 0;
        if is(libc::IN_Q_OVERFLOW) {
            changes.push((Kind::Overflow, PathBuf::from("/")));
            return;
        }
        let Some(directory) = self.paths.get(&event.wd).cloned() else {
            return;
        };
        if is(libc::IN_IGNORED) {
            self.paths.remove(&event.wd);
            return;
        }
        let path = if name.is_empty() {
            directory
        } else {
            directory.join(name)
        };
        let kind = if is(libc::IN_CREATE | libc::IN_MOVED_TO) {
            Kind::Created
        } else if is(libc::IN_DELETE | libc::IN_MOVED_FROM | libc::IN_DELETE_SELF) {
            Kind::Removed
        } else {
            Kind::Modified
        };
        changes.push((kind, path.clone()));
        if self.recursive && kind == Kind::Created && is(libc::IN_ISDIR) {
            self.follow(&path);
            // Entries that were made in the directory before it was watched.
            let before = self.add_below(&path);
            changes.extend(before.into_iter().map(|path| (Kind::Created, path)));
            if self.full {
                changes.push((Kind::Overflow, path));
            }
        }
    }
}
