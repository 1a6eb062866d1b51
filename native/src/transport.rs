//! Batches and weight versions between machines: one handle per end.

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

/// What both ends of a stream need to know.
#[napi(object, use_nullable = true)]
pub struct NativeTransportOptions {
    /// Demanded and presented.
    pub token: Option<String>,
    /// Without progress for this long an exchange fails.
    pub patience_ms: f64,
    /// Null: connections are not encrypted.
    pub tls: Option<NativeTransportTls>,
}

/// Encryption; everything is PEM.
#[napi(object, use_nullable = true)]
pub struct NativeTransportTls {
    /// Of this node.
    pub certificate: Option<String>,
    /// Of the certificate.
    pub key: Option<String>,
    /// Authority of the nodes that are connected to.
    pub ca: Option<String>,
    /// Authority of those who may connect.
    pub client_ca: Option<String>,
    /// In the certificates of the nodes that are connected to; null: the host of their address.
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

/// Takes batches into an inbox.
#[napi]
pub struct NativeRolloutReceiver {
    receiver: Arc<RolloutReceiver>,
}

#[napi]
impl NativeRolloutReceiver {
    /// Listens.
    #[napi(catch_unwind)]
    pub fn listen(
        env: &Env,
        listen: String,
        inbox: String,
        run_id: String,
        options: NativeTransportOptions,
    ) -> napi::Result<PromiseRaw<'_, NativeRolloutReceiver>> {
        let (credentials, times) = options.read()?;
        env.spawn_future(async move {
            let inbox = Inbox::new(inbox, run_id);
            let receiver = RolloutReceiver::listen(&listen, inbox, &credentials, times).await;
            Ok(Self {
                receiver: Arc::new(receiver.map_err(NativeError::from)?),
            })
        })
    }

    /// Where it listens.
    #[napi(catch_unwind)]
    pub fn address(&self) -> String {
        self.receiver.address().to_string()
    }

    /// Stops.
    #[napi(catch_unwind)]
    pub fn close<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, ()>> {
        let receiver = Arc::clone(&self.receiver);
        env.spawn_future(async move {
            receiver.close().await;
            Ok(())
        })
    }
}

/// Delivers batches from a spool.
#[napi]
pub struct NativeRolloutSender {
    sender: Arc<RolloutSender>,
}

#[napi]
impl NativeRolloutSender {
    /// Connects when there is something to deliver.
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

    /// Everything in the spool; how many batches.
    #[napi(catch_unwind)]
    pub fn deliver<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, u32>> {
        let sender = Arc::clone(&self.sender);
        env.spawn_future(async move { Ok(sender.deliver().await.map_err(NativeError::from)? as u32) })
    }

    /// Ends what is under way.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        self.sender.close();
    }
}

/// Which version.
#[napi(object, use_nullable = true)]
pub struct NativeWantedWeights {
    /// Null: the newest.
    pub version: Option<f64>,
    /// Null: any.
    pub digest: Option<String>,
    /// Null: any.
    pub after: Option<f64>,
    /// How long it may be missing.
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

/// A version that is here.
#[napi(object, use_nullable = true)]
pub struct NativePulledWeights {
    /// Its folder.
    pub directory: String,
    /// Its version.
    pub version: f64,
    /// Its version digest.
    pub digest: String,
}

/// Serves the versions of a root and pulls others into it.
#[napi]
pub struct NativeWeightNode {
    node: Arc<WeightNode>,
}

#[napi]
impl NativeWeightNode {
    /// Over a root.
    #[napi(factory, catch_unwind)]
    pub fn open(root: String, options: NativeTransportOptions) -> napi::Result<NativeWeightNode> {
        let (credentials, times) = options.read()?;
        Ok(Self {
            node: Arc::new(WeightNode::new(root, credentials, times)),
        })
    }

    /// Serves; where it listens.
    #[napi(catch_unwind)]
    pub fn listen<'env>(&self, env: &'env Env, listen: String) -> napi::Result<PromiseRaw<'env, String>> {
        let node = Arc::clone(&self.node);
        env.spawn_future(async move {
            let address = node.listen(&listen).await.map_err(NativeError::from)?;
            Ok(address.to_string())
        })
    }

    /// A version's manifest, as JSON.
    #[napi(catch_unwind)]
    pub fn describe<'env>(
        &self,
        env: &'env Env,
        wanted: NativeWantedWeights,
        sources: Vec<String>,
    ) -> napi::Result<PromiseRaw<'env, String>> {
        let node = Arc::clone(&self.node);
        let wanted = wanted.read()?;
        env.spawn_future(async move {
            let sources = addresses(&sources).map_err(NativeError::from)?;
            let manifest = node.describe(&wanted, &sources).await.map_err(NativeError::from)?;
            let text = serde_json::to_string(&manifest);
            Ok(text.map_err(|error| NativeError::new("PRL_WEIGHTS_MANIFEST", error.to_string()))?)
        })
    }

    /// Brings a version here.
    #[napi(catch_unwind)]
    pub fn pull<'env>(
        &self,
        env: &'env Env,
        wanted: NativeWantedWeights,
        sources: Vec<String>,
    ) -> napi::Result<PromiseRaw<'env, NativePulledWeights>> {
        let node = Arc::clone(&self.node);
        let wanted = wanted.read()?;
        env.spawn_future(async move {
            let sources = addresses(&sources).map_err(NativeError::from)?;
            let pulled = node.pull(&wanted, &sources).await.map_err(NativeError::from)?;
            Ok(NativePulledWeights {
                directory: pulled.directory.display().to_string(),
                version: pulled.manifest.version as f64,
                digest: pulled.manifest.digest,
            })
        })
    }

    /// Tells the last source that a version is wherever it is needed.
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
        env.spawn_future(async move {
            let sources = addresses(&sources).map_err(NativeError::from)?;
            let told = node.acknowledge(version, &digest, &sources).await;
            Ok(told.map_err(NativeError::from)?)
        })
    }

    /// Waits for that.
    #[napi(catch_unwind)]
    pub fn acknowledged<'env>(
        &self,
        env: &'env Env,
        version: f64,
        digest: String,
    ) -> napi::Result<PromiseRaw<'env, ()>> {
        let node = Arc::clone(&self.node);
        let version = whole("version", version)?;
        env.spawn_future(async move {
            let heard = node.acknowledged(version, &digest).await;
            Ok(heard.map_err(NativeError::from)?)
        })
    }

    /// Keeps the newest versions and what they build on.
    #[napi(catch_unwind)]
    pub fn prune<'env>(&self, env: &'env Env, keep: u32) -> napi::Result<PromiseRaw<'env, ()>> {
        let node = Arc::clone(&self.node);
        env.spawn_future(async move { Ok(node.prune(keep as usize).await.map_err(NativeError::from)?) })
    }

    /// Ends serving and pulling.
    #[napi(catch_unwind)]
    pub fn close<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, ()>> {
        let node = Arc::clone(&self.node);
        env.spawn_future(async move {
            node.close().await;
            Ok(())
        })
    }
}
