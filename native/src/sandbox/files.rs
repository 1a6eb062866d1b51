//! Files of held sandboxes, on their way to JavaScript.

use std::sync::Arc;

use napi::bindgen_prelude::{Env, PromiseRaw};
use napi::tokio::sync::Mutex;
use napi_derive::napi;
use prl_sandbox_client::{BoxWatch, CancellationToken, Unpacked};
use prl_sandbox_proto::file_info::Kind;
use prl_sandbox_proto::watch_event::Kind as Change;
use prl_sandbox_proto::{ArchiveReply, Directory, FileInfo, WatchEvent};

use crate::error::NativeError;

/// What a path names.
#[napi(object, use_nullable = true)]
pub struct NativeFileInfo {
    /// As asked, or relative to the directory asked for.
    pub path: String,
    /// file | directory | symlink | other.
    pub kind: String,
    /// Of the content.
    pub bytes: f64,
    /// Permission bits.
    pub mode: u32,
    /// Milliseconds since 1970.
    pub modified_at: f64,
    /// Of a symlink; else empty.
    pub link_target: String,
}

/// A directory's entries.
#[napi(object, use_nullable = true)]
pub struct NativeDirectory {
    /// As far as they were wanted.
    pub entries: Vec<NativeFileInfo>,
    /// There are more.
    pub truncated: bool,
}

/// What went into a box.
#[napi(object, use_nullable = true)]
pub struct NativeUploaded {
    /// Files, directories and links.
    pub entries: u32,
    /// Of files.
    pub bytes: f64,
}

/// What came out of a box.
#[napi(object, use_nullable = true)]
pub struct NativeUnpacked {
    /// Files, directories and links.
    pub entries: f64,
    /// Of files.
    pub bytes: f64,
    /// What could have reached outside.
    pub left_out: Vec<String>,
}

/// A change of a watched directory.
#[napi(object, use_nullable = true)]
pub struct NativeWatchEvent {
    /// created | modified | removed | overflow.
    pub kind: String,
    /// What changed; empty with an overflow.
    pub path: String,
}

/// A watch that stands.
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

    /// The next change; null at the end.
    #[napi]
    pub fn next<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, Option<NativeWatchEvent>>> {
        let (watch, closed) = (Arc::clone(&self.watch), self.closed.clone());
        env.spawn_future(async move {
            let mut watch = watch.lock().await;
            let next = closed.run_until_cancelled(watch.next()).await;
            let event = next.transpose().map_err(NativeError::from)?.flatten();
            Ok(event.map(NativeWatchEvent::from))
        })
    }

    /// Ends it; a call that waits gives null.
    #[napi]
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
            // A watch that begins again has missed what was before.
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
