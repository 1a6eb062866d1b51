//! The credentials that a client presents to daemons, and those that it demands of them.

use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::transport::{Certificate, ClientTlsConfig, Identity};
use tonic::{Request, Status};

use crate::ClientError;

/// How the client and daemons on TCP authenticate each other. Every text is PEM, except `server_name`.
#[derive(Debug, Clone, Default)]
pub struct TlsOptions {
    /// Certificates of the authority that signed the daemons' certificates.
    pub ca: String,
    /// The client's certificate and its key, for daemons that ask for one.
    pub identity: Option<(String, String)>,
    /// The name in the daemons' certificates; `None` is the host of the address.
    pub server_name: Option<String>,
}

/// The credentials of every connection of a client.
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

    /// The TLS configuration for a daemon at `host`; `None` when connections on TCP are not encrypted.
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
