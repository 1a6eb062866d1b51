//! What a client shows to daemons, and what it wants to see of them.

use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::transport::{Certificate, ClientTlsConfig, Identity};
use tonic::{Request, Status};

use crate::ClientError;

/// How to know daemons on TCP, and to be known by them. Everything is PEM.
#[derive(Debug, Clone, Default)]
pub struct TlsOptions {
    /// Certificates of the authority that signed the daemons'.
    pub ca: String,
    /// Our own certificate and its key, where daemons ask for one.
    pub identity: Option<(String, String)>,
    /// The name in the daemons' certificates; `None` is the host of the address.
    pub server_name: Option<String>,
}

/// The same for every connection of a client.
#[derive(Debug, Clone)]
pub(crate) struct Credentials {
    bearer: Bearer,
    tls: Option<TlsOptions>,
}

impl Credentials {
    /// # Errors
    /// [`ClientError::Auth`].
    pub(crate) fn new(token: Option<&str>, tls: Option<TlsOptions>) -> Result<Self, ClientError> {
        let bearer = Bearer::new(token)?;
        Ok(Self { bearer, tls })
    }

    pub(crate) fn bearer(&self) -> Bearer {
        self.bearer.clone()
    }

    pub(crate) fn has_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// For a daemon at `host`, when connections on TCP are to be encrypted.
    pub(crate) fn tls(&self, host: &str) -> Option<ClientTlsConfig> {
        let TlsOptions {
            ca,
            identity,
            server_name,
        } = self.tls.as_ref()?;
        let config = ClientTlsConfig::new()
            .ca_certificate(Certificate::from_pem(ca))
            .domain_name(server_name.as_deref().unwrap_or(host));
        Some(match identity {
            Some((certificate, key)) => config.identity(Identity::from_pem(certificate, key)),
            None => config,
        })
    }
}

/// Puts the bearer token on every call.
#[derive(Debug, Clone)]
pub(crate) struct Bearer(Option<MetadataValue<Ascii>>);

impl Bearer {
    fn new(token: Option<&str>) -> Result<Self, ClientError> {
        let Some(token) = token else { return Ok(Self(None)) };
        let mut value: MetadataValue<Ascii> = format!("Bearer {token}")
            .parse()
            .map_err(|_| ClientError::Auth("the token holds characters that a header cannot carry".to_owned()))?;
        value.set_sensitive(true);
        Ok(Self(Some(value)))
    }
}

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(value) = &self.0 {
            request.metadata_mut().insert("authorization", value.clone());
        }
        Ok(request)
    }
}
