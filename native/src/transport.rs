//! Batches and weight versions between machines: a handle for each end.

use std::sync::Arc;
use std::time::Duration;

use napi::bindgen_prelude::{Env, PromiseRaw};
use napi_derive::napi;
use prl_transport::{
    Address, Credentials, Inbox, RolloutReceiver, RolloutSender, SenderOptions, Times, TlsOptions, TransportError,
    Wanted, WeightNode,
};

use crate::error::NativeError;
use crate::numbers::whole;
use crate::runtime::promise;

/// What both ends of a connection need.
#[napi(object, use_nullable = true)]
pub struct NativeTransportOptions {
    /// Bearer token: a server demands it, a client presents it.
    pub token: Option<String>,
    /// An exchange fails when it makes no progress for this long.
    pub patience_ms: f64,
    /// Null leaves connections unencrypted.
    pub tls: Option<NativeTransportTls>,
}

/// Encryption; every text is PEM, except `server_name`.
#[napi(object, use_nullable = true)]
pub struct NativeTransportTls {
    /// Certificate of this node.
    pub certificate: Option<String>,
    /// Private key of the certificate.
    pub key: Option<String>,
    /// Authority that signed the certificates of the nodes we connect to.
    pub ca: Option<String>,
    /// Authority that signed the certificates of clients that may connect.
    pub client_ca: Option<String>,
    /// Name in the certificates of the nodes we connect to; null takes the host of their address.
    pub server_name: Option<String>,
}

impl NativeTransportTls {
    fn read(&self) -> Result<TlsOptions, NativeError> {
        let identity = match (&self.certificate, &self.key) {
            (Some(certificate), Some(key)) => Some((certificate.clone(), key.clone())),
            (None, None) => None,
            _ => {
                let reason = "a certificate needs its key, and a key its certificate";
                return Err(NativeError::new("PRL_TRANSPORT_TLS", reason));
            }
        };
        Ok(TlsOptions {
            identity,
            ca: self.ca.clone(),
            client_ca: self.client_ca.clone(),
            server_name: self.server_name.clone(),
        })
    }
}

impl NativeTransportOptions {
    fn read(&self) -> Result<(Credentials, Times), NativeError> {
        let patience = Duration::from_millis(whole("patienceMs", self.patience_ms)?);
        let times = Times {
            patience,
            ..Times::default()
        };
        let tls = self.tls.as_ref().map(NativeTransportTls::read).transpose()?;
        Ok((Credentials::new(self.token.as_deref(), tls.unwrap_or_default())?, times))
    }
}

fn addresses(texts: &[String]) -> Result<Vec<Address>, TransportError> {
    texts.iter().map(|text| text.parse()).collect()
}

/// Receives batches into an inbox folder.
#[napi]
pub struct NativeRolloutReceiver {
    receiver: Arc<RolloutReceiver>,
}

#[napi]
impl NativeRolloutReceiver {
    #[napi(catch_unwind)]
    pub fn listen(
        env: &Env,
        listen: String,
        inbox: String,
        run_id: String,
        options: NativeTransportOptions,
    ) -> napi::Result<PromiseRaw<'_, NativeRolloutReceiver>> {
        let (credentials, times) = options.read()?;
        promise(env, async move {
            let inbox = Inbox::new(inbox, run_id);
            let receiver = RolloutReceiver::listen(&listen, inbox, &credentials, times).await;
            Ok(Self {
                receiver: Arc::new(receiver.map_err(NativeError::from)?),
            })
        })
    }

    /// The address on which it listens.
    #[napi(catch_unwind)]
    pub fn address(&self) -> String {
        self.receiver.address().to_string()
    }

    #[napi(catch_unwind)]
    pub fn close<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, ()>> {
        let receiver = Arc::clone(&self.receiver);
        promise(env, async move {
            receiver.close().await;
            Ok(())
        })
    }
}

/// Delivers the batches of a spool folder.
#[napi]
pub struct NativeRolloutSender {
    sender: Arc<RolloutSender>,
}

#[napi]
impl NativeRolloutSender {
    /// Does not connect yet; `deliver` does.
    #[napi(factory, catch_unwind)]
    pub fn open(
        spool: String,
        receivers: Vec<String>,
        options: NativeTransportOptions,
    ) -> napi::Result<NativeRolloutSender> {
        let (credentials, times) = options.read()?;
        let sender = RolloutSender::new(SenderOptions {
            spool: spool.into(),
            receivers: addresses(&receivers).map_err(NativeError::from)?,
            credentials,
            times,
        });
        Ok(Self {
            sender: Arc::new(sender),
        })
    }

    /// Delivers every batch of the spool and returns how many there were.
    #[napi(catch_unwind)]
    pub fn deliver<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, u32>> {
        let sender = Arc::clone(&self.sender);
        promise(env, async move {
            Ok(sender.deliver().await.map_err(NativeError::from)? as u32)
        })
    }

    /// Ends deliveries that are under way.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        self.sender.close();
    }
}

/// Which version to look for.
#[napi(object, use_nullable = true)]
pub struct NativeWantedWeights {
    /// Null accepts the newest.
    pub version: Option<f64>,
    /// Null accepts any.
    pub digest: Option<String>,
    /// Only versions above this one; null accepts any.
    pub after: Option<f64>,
    /// How long to wait for the version to appear.
    pub wait_ms: Option<f64>,
}

impl NativeWantedWeights {
    fn read(self) -> Result<Wanted, NativeError> {
        let number = |name, value: Option<f64>| value.map(|value| whole(name, value)).transpose();
        Ok(Wanted {
            version: number("version", self.version)?,
            after: number("after", self.after)?,
            wait: number("waitMs", self.wait_ms)?.map(Duration::from_millis),
            digest: self.digest,
            full: false,
            held: Vec::new(),
        })
    }
}

/// A version that was pulled.
#[napi(object, use_nullable = true)]
pub struct NativePulledWeights {
    pub directory: String,
    pub version: f64,
    /// Version digest.
    pub digest: String,
}

/// Serves the versions of a root folder and pulls others into it.
#[napi]
pub struct NativeWeightNode {
    node: Arc<WeightNode>,
}

#[napi]
impl NativeWeightNode {
    #[napi(factory, catch_unwind)]
    pub fn open(root: String, options: NativeTransportOptions) -> napi::Result<NativeWeightNode> {
        let (credentials, times) = options.read()?;
        Ok(Self {
            node: Arc::new(WeightNode::new(root, credentials, times)),
        })
    }

    /// Serves the root and returns the address on which it listens.
    #[napi(catch_unwind)]
    pub fn listen<'env>(&self, env: &'env Env, listen: String) -> napi::Result<PromiseRaw<'env, String>> {
        let node = Arc::clone(&self.node);
        promise(env, async move {
            let address = node.listen(&listen).await.map_err(NativeError::from)?;
            Ok(address.to_string())
        })
    }

    /// The manifest of a version, as JSON.
    #[napi(catch_unwind)]
    pub fn describe<'env>(
        &self,
        env: &'env Env,
        wanted: NativeWantedWeights,
        sources: Vec<String>,
    ) -> napi::Result<PromiseRaw<'env, String>> {
        let node = Arc::clone(&self.node);
        let wanted = wanted.read()?;
        promise(env, async move {
            let sources = addresses(&sources).map_err(NativeError::from)?;
            let manifest = node.describe(&wanted, &sources).await.map_err(NativeError::from)?;
            let text = serde_json::to_string(&manifest);
            Ok(text.map_err(|error| NativeError::new("PRL_WEIGHTS_MANIFEST", error.to_string()))?)
        })
    }

    /// Copies a version into the root.
    #[napi(catch_unwind)]
    pub fn pull<'env>(
        &self,
        env: &'env Env,
        wanted: NativeWantedWeights,
        sources: Vec<String>,
    ) -> napi::Result<PromiseRaw<'env, NativePulledWeights>> {
        let node = Arc::clone(&self.node);
        let wanted = wanted.read()?;
        promise(env, async move {
            let sources = addresses(&sources).map_err(NativeError::from)?;
            let pulled = node.pull(&wanted, &sources).await.map_err(NativeError::from)?;
            Ok(NativePulledWeights {
                directory: pulled.directory.display().to_string(),
                version: pulled.manifest.version as f64,
                digest: pulled.manifest.digest,
            })
        })
    }

    /// Reports to the last source that every node which needs the version has it.
    #[napi(catch_unwind)]
    pub fn acknowledge<'env>(
        &self,
        env: &'env Env,
        version: f64,
        digest: String,
        sources: Vec<String>,
    ) -> napi::Result<PromiseRaw<'env, ()>> {
        let node = Arc::clone(&self.node);
        let version = whole("version", version)?;
        promise(env, async move {
            let sources = addresses(&sources).map_err(NativeError::from)?;
            let answer = node.acknowledge(version, &digest, &sources).await;
            Ok(answer.map_err(NativeError::from)?)
        })
    }

    /// Waits until the version was acknowledged to this node.
    #[napi(catch_unwind)]
    pub fn acknowledged<'env>(
        &self,
        env: &'env Env,
        version: f64,
        digest: String,
    ) -> napi::Result<PromiseRaw<'env, ()>> {
        let node = Arc::clone(&self.node);
        let version = whole("version", version)?;
        promise(env, async move {
            let heard = node.acknowledged(version, &digest).await;
            Ok(heard.map_err(NativeError::from)?)
        })
    }

    /// Removes all but the `keep` newest versions and those that they build on.
    #[napi(catch_unwind)]
    pub fn prune<'env>(&self, env: &'env Env, keep: u32) -> napi::Result<PromiseRaw<'env, ()>> {
        let node = Arc::clone(&self.node);
        promise(env, async move {
            Ok(node.prune(keep as usize).await.map_err(NativeError::from)?)
        })
    }

    /// Ends serving and pulling.
    #[napi(catch_unwind)]
    pub fn close<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, ()>> {
        let node = Arc::clone(&self.node);
        promise(env, async move {
            node.close().await;
            Ok(())
        })
    }
}
