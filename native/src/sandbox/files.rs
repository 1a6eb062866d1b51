//! Converts files of held sandboxes for JavaScript.

use std::sync::Arc;

use napi::bindgen_prelude::{Env, PromiseRaw};
use napi::tokio::sync::Mutex;
use napi_derive::napi;
use prl_sandbox_client::{BoxWatch, CancellationToken, Unpacked};
use prl_sandbox_proto::file_info::Kind;
use prl_sandbox_proto::watch_event::Kind as Change;
use prl_sandbox_proto::{ArchiveReply, Directory, FileInfo, WatchEvent};

use crate::error::NativeError;
use crate::runtime::promise;

/// A file, directory or link in a sandbox.
#[napi(object, use_nullable = true)]
pub struct NativeFileInfo {
    /// The path that was given; for an entry of a directory, relative to that directory.
    pub path: String,
    /// file | directory | symlink | other.
    pub kind: String,
    /// Length of the content.
    pub bytes: f64,
    /// Permission bits.
    pub mode: u32,
    /// Milliseconds since 1970.
    pub modified_at: f64,
    /// Empty unless it is a symlink.
    pub link_target: String,
}

#[napi(object, use_nullable = true)]
pub struct NativeDirectory {
    /// At most as many as were asked for.
    pub entries: Vec<NativeFileInfo>,
    /// The directory has more entries.
    pub truncated: bool,
}

/// What was copied into a box.
#[napi(object, use_nullable = true)]
pub struct NativeUploaded {
    /// Number of files, directories and links.
    pub entries: u32,
    /// Bytes of the files together.
    pub bytes: f64,
}

/// What was copied out of a box.
#[napi(object, use_nullable = true)]
pub struct NativeUnpacked {
    /// Number of files, directories and links.
    pub entries: f64,
    /// Bytes of the files together.
    pub bytes: f64,
    /// Entries that were not copied because they could have reached outside the directory.
    pub left_out: Vec<String>,
}

/// A change of a watched directory.
#[napi(object, use_nullable = true)]
pub struct NativeWatchEvent {
    /// created | modified | removed | overflow.
    pub kind: String,
    /// What changed; empty for an overflow.
    pub path: String,
}

/// A watch of a directory.
#[napi]
pub struct NativeBoxWatch {
    watch: Arc<Mutex<BoxWatch>>,
    closed: CancellationToken,
}

#[napi]
impl NativeBoxWatch {
    pub(crate) fn new(watch: BoxWatch) -> Self {
        Self {
            watch: Arc::new(Mutex::new(watch)),
            closed: CancellationToken::new(),
        }
    }

    /// The next change; null after the end.
    #[napi(catch_unwind)]
    pub fn next<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, Option<NativeWatchEvent>>> {
        let (watch, closed) = (Arc::clone(&self.watch), self.closed.clone());
        promise(env, async move {
            let mut watch = watch.lock().await;
            let next = closed.run_until_cancelled(watch.next()).await;
            let event = next.transpose().map_err(NativeError::from)?.flatten();
            Ok(event.map(NativeWatchEvent::from))
        })
    }

    /// Ends the watch. A call of `next` that waits returns null.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        self.closed.cancel();
    }
}

impl From<WatchEvent> for NativeWatchEvent {
    fn from(event: WatchEvent) -> Self {
        let kind = match event.kind() {
            Change::Created => "created",
            Change::Modified => "modified",
            Change::Removed => "removed",
            // Ready is sent when a watch begins again: changes before it were missed.
            Change::Overflow | Change::Ready => "overflow",
        };
        Self {
            kind: kind.to_owned(),
            path: event.path,
        }
    }
}

impl From<FileInfo> for NativeFileInfo {
    fn from(info: FileInfo) -> Self {
        let kind = match info.kind() {
            Kind::File => "file",
            Kind::Directory => "directory",
            Kind::Symlink => "symlink",
            Kind::Other => "other",
        };
        Self {
            path: info.path,
            kind: kind.to_owned(),
            bytes: info.bytes as f64,
            mode: info.mode,
            modified_at: info.modified_at as f64,
            link_target: info.link_target,
        }
    }
}

impl From<Directory> for NativeDirectory {
    fn from(directory: Directory) -> Self {
        Self {
            entries: directory.entries.into_iter().map(NativeFileInfo::from).collect(),
            truncated: directory.truncated,
        }
    }
}

impl From<ArchiveReply> for NativeUploaded {
    fn from(reply: ArchiveReply) -> Self {
        Self {
            entries: reply.entries,
            bytes: reply.bytes as f64,
        }
    }
}

impl From<Unpacked> for NativeUnpacked {
    fn from(unpacked: Unpacked) -> Self {
        Self {
            entries: unpacked.entries as f64,
            bytes: unpacked.bytes as f64,
            left_out: unpacked.left_out,
        }
    }
}
