//! A handle of a held sandbox.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use napi::bindgen_prelude::{Buffer, Env, PromiseRaw, Uint8Array, within_runtime_if_available};
use napi_derive::napi;
use prl_sandbox_client::{PortForward, SandboxBox};
use prl_sandbox_proto::{Box as BoxInfo, SnapshotInfo};

use super::cancels::Cancels;
use super::files::{NativeBoxWatch, NativeDirectory, NativeFileInfo, NativeUnpacked, NativeUploaded};
use super::process::{NativeProcessInfo, NativeSandboxProcess};
use super::request::{NativeExecRequest, NativeStartRequest};
use super::result::{NativeRunResult, isolation_name};
use crate::error::NativeError;
use crate::runtime::promise;

/// A held sandbox as its daemon describes it.
#[napi(object, use_nullable = true)]
pub struct NativeBoxInfo {
    /// Address of the daemon; empty except in the result of `list`.
    pub address: String,
    pub id: String,
    pub labels: HashMap<String, String>,
    /// Milliseconds since 1970.
    pub created_at: f64,
    /// How long the box stays after the last call that named it.
    pub lease_ms: f64,
    /// Milliseconds until its lifetime ends; null without an end.
    pub remaining_ms: Option<f64>,
    /// none | process | rootless | full.
    pub isolation: String,
    /// exec | python | node, or empty.
    pub runtime: String,
}

/// A copy of a box's files.
#[napi(object, use_nullable = true)]
pub struct NativeSnapshot {
    pub id: String,
    /// Bytes of all files together.
    pub bytes: f64,
    /// Milliseconds since 1970.
    pub created_at: f64,
    pub labels: HashMap<String, String>,
}

impl NativeBoxInfo {
    pub(crate) fn new(address: String, info: BoxInfo) -> Self {
        Self {
            address,
            isolation: isolation_name(info.isolation()).to_owned(),
            id: info.id,
            labels: info.labels,
            created_at: info.created_at as f64,
            lease_ms: info.lease_ms as f64,
            remaining_ms: info.remaining_ms.map(|ms| ms as f64),
            runtime: info.runtime,
        }
    }
}

impl From<SnapshotInfo> for NativeSnapshot {
    fn from(info: SnapshotInfo) -> Self {
        Self {
            id: info.id,
            bytes: info.bytes as f64,
            created_at: info.created_at as f64,
            labels: info.labels,
        }
    }
}

/// A port of this machine that leads to one of a box until it is closed.
#[napi]
pub struct NativePortForward {
    port: u16,
    open: Mutex<Option<PortForward>>,
}

#[napi]
impl NativePortForward {
    /// The port on 127.0.0.1.
    #[napi(getter, catch_unwind)]
    pub fn port(&self) -> u32 {
        self.port.into()
    }

    /// Closes the port and every connection through it.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        if let Ok(mut open) = self.open.lock() {
            *open = None;
        }
    }
}

#[napi]
pub struct NativeSandboxBox {
    held: SandboxBox,
    cancels: Cancels,
}

#[napi]
impl NativeSandboxBox {
    pub(crate) fn new(held: SandboxBox, cancels: Cancels) -> Self {
        Self { held, cancels }
    }

    /// The description from when the box was made or found.
    #[napi(catch_unwind)]
    pub fn info(&self) -> NativeBoxInfo {
        NativeBoxInfo::new(String::new(), self.held.info().clone())
    }

    /// Runs one command and waits for its end.
    #[napi(catch_unwind)]
    pub fn exec<'env>(
        &self,
        env: &'env Env,
        request: NativeExecRequest,
    ) -> napi::Result<PromiseRaw<'env, NativeRunResult>> {
        let held = self.held.clone();
        let flight = self.cancels.enter(&request.key);
        let request = request.into();
        promise(env, async move {
            let ended = held.exec(request, flight.token()).await;
            Ok(NativeRunResult::from(ended.map_err(NativeError::from)?))
        })
    }

    /// Starts a process that continues after the call.
    #[napi(catch_unwind)]
    pub fn start<'env>(
        &self,
        env: &'env Env,
        request: NativeStartRequest,
    ) -> napi::Result<PromiseRaw<'env, NativeSandboxProcess>> {
        let (held, cancels) = (self.held.clone(), self.cancels.clone());
        let request = request.into();
        promise(env, async move {
            let process = held.start(request).await.map_err(NativeError::from)?;
            Ok(NativeSandboxProcess::new(process, cancels))
        })
    }

    /// The processes that the daemon knows.
    #[napi(catch_unwind)]
    pub fn processes<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, Vec<NativeProcessInfo>>> {
        let held = self.held.clone();
        promise(env, async move {
            let processes = held.processes().await.map_err(NativeError::from)?;
            let infos = processes.iter().map(|process| process.info().clone().into());
            Ok(infos.collect())
        })
    }

    /// A handle of the process with this id; does not check that there is one.
    #[napi(catch_unwind)]
    pub fn process(&self, id: String) -> NativeSandboxProcess {
        NativeSandboxProcess::new(self.held.process(&id), self.cancels.clone())
    }

    /// Reads a file's bytes from `offset` on. More than `max_bytes` is an error.
    #[napi(catch_unwind)]
    pub fn read<'env>(
        &self,
        env: &'env Env,
        path: String,
        offset: f64,
        max_bytes: Option<f64>,
    ) -> napi::Result<PromiseRaw<'env, Buffer>> {
        let held = self.held.clone();
        promise(env, async move {
            let read = held.read(&path, offset as u64, max_bytes.map(|bytes| bytes as u64));
            Ok(Buffer::from(read.await.map_err(NativeError::from)?))
        })
    }

    /// Writes a whole file. The bytes are copied before the call returns.
    #[napi(catch_unwind)]
    pub fn write<'env>(
        &self,
        env: &'env Env,
        path: String,
        content: Uint8Array,
        mode: u32,
    ) -> napi::Result<PromiseRaw<'env, NativeFileInfo>> {
        let held = self.held.clone();
        let content = content.to_vec().into();
        promise(env, async move {
            let written = held.write(&path, content, mode).await;
            Ok(NativeFileInfo::from(written.map_err(NativeError::from)?))
        })
    }

    #[napi(catch_unwind)]
    pub fn stat<'env>(&self, env: &'env Env, path: String) -> napi::Result<PromiseRaw<'env, NativeFileInfo>> {
        let held = self.held.clone();
        promise(env, async move {
            Ok(NativeFileInfo::from(held.stat(&path).await.map_err(NativeError::from)?))
        })
    }

    /// `depth` is the number of levels.
    #[napi(catch_unwind)]
    pub fn list_directory<'env>(
        &self,
        env: &'env Env,
        path: String,
        depth: u32,
        max_entries: Option<u32>,
    ) -> napi::Result<PromiseRaw<'env, NativeDirectory>> {
        let held = self.held.clone();
        promise(env, async move {
            let listed = held.list_directory(&path, depth, max_entries).await;
            Ok(NativeDirectory::from(listed.map_err(NativeError::from)?))
        })
    }

    #[napi(catch_unwind)]
    pub fn make_directory<'env>(&self, env: &'env Env, path: String) -> napi::Result<PromiseRaw<'env, NativeFileInfo>> {
        let held = self.held.clone();
        promise(env, async move {
            let made = held.make_directory(&path).await;
            Ok(NativeFileInfo::from(made.map_err(NativeError::from)?))
        })
    }

    #[napi(catch_unwind)]
    pub fn rename<'env>(
        &self,
        env: &'env Env,
        from: String,
        to: String,
    ) -> napi::Result<PromiseRaw<'env, NativeFileInfo>> {
        let held = self.held.clone();
        promise(env, async move {
            let renamed = held.rename(&from, &to).await;
            Ok(NativeFileInfo::from(renamed.map_err(NativeError::from)?))
        })
    }

    #[napi(catch_unwind)]
    pub fn remove<'env>(&self, env: &'env Env, path: String, recursive: bool) -> napi::Result<PromiseRaw<'env, ()>> {
        let held = self.held.clone();
        promise(env, async move {
            Ok(held.remove(&path, recursive).await.map_err(NativeError::from)?)
        })
    }

    /// Watches a directory. The promise resolves when no later change can be missed.
    #[napi(catch_unwind)]
    pub fn watch<'env>(
        &self,
        env: &'env Env,
        path: String,
        recursive: bool,
    ) -> napi::Result<PromiseRaw<'env, NativeBoxWatch>> {
        let held = self.held.clone();
        promise(env, async move {
            let watch = held.watch(&path, recursive).await.map_err(NativeError::from)?;
            Ok(NativeBoxWatch::new(watch))
        })
    }

    /// Copies a directory of this machine into the box.
    #[napi(catch_unwind)]
    pub fn upload_directory<'env>(
        &self,
        env: &'env Env,
        from: String,
        to: String,
    ) -> napi::Result<PromiseRaw<'env, NativeUploaded>> {
        let held = self.held.clone();
        promise(env, async move {
            let uploaded = held.upload_directory(&PathBuf::from(from), &to).await;
            Ok(NativeUploaded::from(uploaded.map_err(NativeError::from)?))
        })
    }

    /// Copies a directory of the box into a new directory of this machine.
    #[napi(catch_unwind)]
    pub fn download_directory<'env>(
        &self,
        env: &'env Env,
        from: String,
        to: String,
        max_bytes: f64,
    ) -> napi::Result<PromiseRaw<'env, NativeUnpacked>> {
        let held = self.held.clone();
        promise(env, async move {
            let unpacked = held
                .download_directory(&from, &PathBuf::from(to), max_bytes as u64)
                .await;
            Ok(NativeUnpacked::from(unpacked.map_err(NativeError::from)?))
        })
    }

    /// Keeps a copy of the box's files.
    #[napi(catch_unwind)]
    pub fn snapshot<'env>(
        &self,
        env: &'env Env,
        id: String,
        labels: HashMap<String, String>,
    ) -> napi::Result<PromiseRaw<'env, NativeSnapshot>> {
        let held = self.held.clone();
        promise(env, async move {
            let snapshot = held.snapshot(&id, labels).await;
            Ok(NativeSnapshot::from(snapshot.map_err(NativeError::from)?))
        })
    }

    /// Opens a port of this machine that leads to a port of the box.
    #[napi(catch_unwind)]
    pub fn forward_port(&self, port: u16) -> napi::Result<NativePortForward> {
        let forward = within_runtime_if_available(|| self.held.forward_port(port)).map_err(NativeError::from)?;
        Ok(NativePortForward {
            port: forward.address().port(),
            open: Mutex::new(Some(forward)),
        })
    }

    /// Null removes the limit.
    #[napi(catch_unwind)]
    pub fn set_lifetime<'env>(
        &self,
        env: &'env Env,
        lifetime_ms: Option<f64>,
    ) -> napi::Result<PromiseRaw<'env, NativeBoxInfo>> {
        let held = self.held.clone();
        promise(env, async move {
            let lifetime = lifetime_ms.map(|ms| Duration::from_millis(ms as u64));
            let info = held.set_lifetime(lifetime).await.map_err(NativeError::from)?;
            Ok(NativeBoxInfo::new(String::new(), info))
        })
    }

    /// Kills everything in the box and frees it.
    #[napi(catch_unwind)]
    pub fn close<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, ()>> {
        let held = self.held.clone();
        promise(env, async move { Ok(held.close().await.map_err(NativeError::from)?) })
    }
}
