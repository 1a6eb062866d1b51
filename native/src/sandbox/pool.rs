//! A handle of a client of daemons.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use napi::bindgen_prelude::{Env, PromiseRaw};
use napi_derive::napi;
use prl_sandbox_client::{Address, Client, ClientError, ConnectOptions, DaemonOptions, EmbeddedDaemon, TlsOptions};

use super::boxes::{NativeBoxInfo, NativeSandboxBox, NativeSnapshot};
use super::cancels::Cancels;
use super::capabilities::{NativeSandboxCapabilities, NativeSandboxHealth};
use super::request::{NativeCreateRequest, NativeRunRequest, NativeTestsRequest};
use super::result::NativeRunResult;
use super::test_run::{NativeTestsResult, collect};
use crate::error::NativeError;
use crate::runtime::promise;

/// How to start an embedded daemon.
#[napi(object, use_nullable = true)]
pub struct NativeSandboxStart {
    /// Path of the daemon's program.
    pub binary: String,
    /// Further arguments of the program.
    pub args: Vec<String>,
    /// Null lets the client choose.
    pub start_timeout_ms: Option<u32>,
}

/// How the client and daemons on TCP know each other; every text is PEM, except `server_name`.
#[napi(object, use_nullable = true)]
pub struct NativeSandboxTls {
    /// Certificate of the authority that signed the daemons' certificates.
    pub ca: String,
    /// The client's certificate; null sends none.
    pub certificate: Option<String>,
    /// Private key of the client's certificate.
    pub key: Option<String>,
    /// Name in the daemons' certificates; null takes the host of the address.
    pub server_name: Option<String>,
}

/// How to reach daemons.
#[napi(object, use_nullable = true)]
pub struct NativeSandboxConnect {
    /// unix:/path, host:port, https://host:port or dns:name:port.
    pub addresses: Vec<String>,
    /// Bearer token that daemons demand.
    pub token: Option<String>,
    /// Null leaves connections unencrypted.
    pub tls: Option<NativeSandboxTls>,
    /// Null lets the client choose.
    pub connect_timeout_ms: Option<u32>,
}

/// A client of one daemon or of many.
#[napi]
pub struct NativeSandboxPool {
    client: Client,
    cancels: Cancels,
}

fn milliseconds(value: Option<u32>) -> Option<Duration> {
    value.map(|ms| Duration::from_millis(ms.into()))
}

fn connect_options(options: NativeSandboxConnect) -> Result<(Vec<Address>, ConnectOptions), NativeError> {
    let parsed: Result<Vec<Address>, ClientError> = options.addresses.iter().map(|text| text.parse()).collect();
    let tls = options.tls.map(|tls| TlsOptions {
        ca: tls.ca,
        identity: tls.certificate.zip(tls.key),
        server_name: tls.server_name,
    });
    let connect = ConnectOptions {
        token: options.token,
        tls,
        connect_timeout: milliseconds(options.connect_timeout_ms),
    };
    Ok((parsed?, connect))
}

#[napi]
impl NativeSandboxPool {
    fn new(client: Client) -> Self {
        Self {
            client,
            cancels: Cancels::default(),
        }
    }

    /// Starts a daemon that ends with the handle.
    #[napi(catch_unwind)]
    pub fn start(env: &Env, options: NativeSandboxStart) -> napi::Result<PromiseRaw<'_, NativeSandboxPool>> {
        promise(env, async move {
            let options = DaemonOptions {
                binary: PathBuf::from(options.binary),
                args: options.args,
                start_timeout: milliseconds(options.start_timeout_ms),
            };
            let daemon = EmbeddedDaemon::start(options).await.map_err(NativeError::from)?;
            let client = Client::embedded(daemon).await.map_err(NativeError::from)?;
            Ok(Self::new(client))
        })
    }

    #[napi(catch_unwind)]
    pub fn connect(env: &Env, options: NativeSandboxConnect) -> napi::Result<PromiseRaw<'_, NativeSandboxPool>> {
        let (addresses, connect) = connect_options(options)?;
        promise(env, async move {
            let client = Client::connect(addresses, connect).await.map_err(NativeError::from)?;
            Ok(Self::new(client))
        })
    }

    /// Process id of the embedded daemon; null without one.
    #[napi(catch_unwind)]
    pub fn daemon_pid(&self) -> Option<u32> {
        self.client.daemon_pid()
    }

    #[napi(catch_unwind)]
    pub fn run_once<'env>(
        &self,
        env: &'env Env,
        request: NativeRunRequest,
    ) -> napi::Result<PromiseRaw<'env, NativeRunResult>> {
        let request = request.into_proto()?;
        let client = self.client.clone();
        let flight = self.cancels.enter(&request.idempotency_key);
        promise(env, async move {
            let ended = client.run_once(request, flight.token()).await;
            Ok(NativeRunResult::from(ended.map_err(NativeError::from)?))
        })
    }

    #[napi(catch_unwind)]
    pub fn run_tests<'env>(
        &self,
        env: &'env Env,
        request: NativeTestsRequest,
    ) -> napi::Result<PromiseRaw<'env, NativeTestsResult>> {
        let flight = self.cancels.enter(&request.cancel);
        let cases = request.cases.len();
        let request = request.into_proto()?;
        let client = self.client.clone();
        promise(env, async move {
            let run = client
                .run_tests(request, flight.token().clone())
                .map_err(NativeError::from)?;
            Ok(collect(run, cases).await.map_err(NativeError::from)?)
        })
    }

    /// Kills the run, tests, exec or evaluation with this key. Its promise then resolves.
    #[napi(catch_unwind)]
    pub fn cancel(&self, key: String) {
        self.cancels.cancel(&key);
    }

    #[napi(catch_unwind)]
    pub fn create<'env>(
        &self,
        env: &'env Env,
        request: NativeCreateRequest,
    ) -> napi::Result<PromiseRaw<'env, NativeSandboxBox>> {
        let request = request.into_proto()?;
        let (client, cancels) = (self.client.clone(), self.cancels.clone());
        promise(env, async move {
            let held = client.create(request).await.map_err(NativeError::from)?;
            Ok(NativeSandboxBox::new(held, cancels))
        })
    }

    /// Finds a held sandbox by its id.
    #[napi(catch_unwind)]
    pub fn open<'env>(&self, env: &'env Env, id: String) -> napi::Result<PromiseRaw<'env, NativeSandboxBox>> {
        let (client, cancels) = (self.client.clone(), self.cancels.clone());
        promise(env, async move {
            let held = client.open(&id).await.map_err(NativeError::from)?;
            Ok(NativeSandboxBox::new(held, cancels))
        })
    }

    /// The held sandboxes that have all of these labels.
    #[napi(catch_unwind)]
    pub fn list<'env>(
        &self,
        env: &'env Env,
        labels: HashMap<String, String>,
    ) -> napi::Result<PromiseRaw<'env, Vec<NativeBoxInfo>>> {
        let client = self.client.clone();
        promise(env, async move {
            let boxes = client.list(labels).await.map_err(NativeError::from)?;
            let of = |(address, info)| NativeBoxInfo::new(address, info);
            Ok(boxes.into_iter().map(of).collect())
        })
    }

    /// Closes the held sandboxes that have all of these labels; returns their ids.
    #[napi(catch_unwind)]
    pub fn close_all<'env>(
        &self,
        env: &'env Env,
        labels: HashMap<String, String>,
    ) -> napi::Result<PromiseRaw<'env, Vec<String>>> {
        let client = self.client.clone();
        promise(env, async move {
            Ok(client.close_all(labels).await.map_err(NativeError::from)?)
        })
    }

    /// The snapshots that have all of these labels.
    #[napi(catch_unwind)]
    pub fn snapshots<'env>(
        &self,
        env: &'env Env,
        labels: HashMap<String, String>,
    ) -> napi::Result<PromiseRaw<'env, Vec<NativeSnapshot>>> {
        let client = self.client.clone();
        promise(env, async move {
            let snapshots = client.snapshots(labels).await.map_err(NativeError::from)?;
            Ok(snapshots.into_iter().map(NativeSnapshot::from).collect())
        })
    }

    #[napi(catch_unwind)]
    pub fn delete_snapshot<'env>(&self, env: &'env Env, id: String) -> napi::Result<PromiseRaw<'env, ()>> {
        let client = self.client.clone();
        promise(env, async move {
            Ok(client.delete_snapshot(&id).await.map_err(NativeError::from)?)
        })
    }

    #[napi(catch_unwind)]
    pub fn capabilities<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, Vec<NativeSandboxCapabilities>>> {
        let client = self.client.clone();
        promise(env, async move {
            let daemons = client.capabilities().await.map_err(NativeError::from)?;
            Ok(daemons.into_iter().map(NativeSandboxCapabilities::from).collect())
        })
    }

    #[napi(catch_unwind)]
    pub fn health<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, Vec<NativeSandboxHealth>>> {
        let client = self.client.clone();
        promise(env, async move {
            let daemons = client.health().await.map_err(NativeError::from)?;
            Ok(daemons.into_iter().map(NativeSandboxHealth::from).collect())
        })
    }

    /// Cancels what runs, closes the sandboxes that were made through this handle, and stops an embedded daemon.
    #[napi(catch_unwind)]
    pub fn close<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, ()>> {
        let client = self.client.clone();
        promise(env, async move {
            client.close().await;
            Ok(())
        })
    }
}
