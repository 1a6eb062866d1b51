//! How nodes authenticate each other: a token on every call, certificates on every connection.

use tonic::Request;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::transport::{Certificate, ClientTlsConfig, Identity, ServerTlsConfig};

use crate::{Address, Times, TransportError};

/// Encryption of a node's connections; every text is PEM, except `server_name`.
#[derive(Debug, Clone, Default)]
pub struct TlsOptions {
    /// The node's certificate and its key. With them its listener encrypts, and it can answer listeners that ask for a certificate.
    pub identity: Option<(String, String)>,
    /// The authority of the nodes that this one connects to. With it, every connection is encrypted.
    pub ca: Option<String>,
    /// The node's listener refuses callers without a certificate of this authority.
    pub client_ca: Option<String>,
    /// The name in the certificates of other nodes; `None` is the host of their address.
    pub server_name: Option<String>,
}

/// The credentials that a node presents and demands, and the authorities that it trusts.
#[derive(Clone, Default)]
pub struct Credentials {
    bearer: Option<MetadataValue<Ascii>>,
    tls: TlsOptions,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credentials")
            .field("token", &self.bearer.is_some())
            .field("certificate", &self.tls.identity.is_some())
            .field("ca", &self.tls.ca.is_some())
            .field("client_ca", &self.tls.client_ca.is_some())
            .finish()
    }
}

impl Credentials {
    /// `None` and the empty string are no token.
    ///
    /// # Errors
    /// [`TransportError::Auth`] for a token that a header cannot carry, [`TransportError::Tls`] when `tls` has `client_ca` but
    /// no `identity`.
    pub fn new(token: Option<&str>, tls: TlsOptions) -> Result<Self, TransportError> {
        if tls.client_ca.is_some() && tls.identity.is_none() {
            let reason = "callers can be asked for certificates only by a node that has one itself";
            return Err(TransportError::Tls(reason.to_owned()));
        }
        let bearer = match token.filter(|token| !token.is_empty()) {
            Some(token) => Some(bearer(token)?),
            None => None,
        };
        Ok(Self { bearer, tls })
    }

    /// Whether a listener refuses strangers.
    pub(crate) fn keeps_strangers_out(&self) -> bool {
        self.bearer.is_some() || self.tls.client_ca.is_some()
    }

    /// The interceptor of the calling side.
    pub(crate) fn present(&self) -> impl Interceptor + Clone + use<> {
        let value = self.bearer.clone();
        move |mut request: Request<()>| {
            if let Some(value) = &value {
                request.metadata_mut().insert("authorization", value.clone());
            }
            Ok(request)
        }
    }

    /// The interceptor of the serving side.
    pub(crate) fn demand(&self) -> impl Interceptor + Clone + use<> {
        let wanted = self.bearer.clone();
        move |request: Request<()>| {
            let Some(wanted) = &wanted else { return Ok(request) };
            let given = request.metadata().get("authorization").map(MetadataValue::as_bytes);
            if is_equal(given.unwrap_or_default(), wanted.as_bytes()) {
                return Ok(request);
            }
            Err(TransportError::Auth("set PRL_TRANSPORT_TOKEN to that of the node".to_owned()).to_status())
        }
    }

    /// The TLS configuration of a listener; `None` when it does not encrypt.
    pub(crate) fn server_tls(&self, times: &Times) -> Option<ServerTlsConfig> {
        let (certificate, key) = self.tls.identity.as_ref()?;
        let config = ServerTlsConfig::new()
            .identity(Identity::from_pem(certificate, key))
            .timeout(times.connect);
        Some(match &self.tls.client_ca {
            Some(ca) => config.client_ca_root(Certificate::from_pem(ca)),
            None => config,
        })
    }

    /// The TLS configuration of a connection to `address`; `None` when it is not encrypted.
    ///
    /// # Errors
    /// [`TransportError::Tls`] when the address demands encryption and no authority is given.
    pub(crate) fn client_tls(&self, address: &Address) -> Result<Option<ClientTlsConfig>, TransportError> {
        let Some(ca) = &self.tls.ca else {
            if address.is_encrypted() {
                let reason =
                    format!("https://{address}: set tls_ca to the authority that signed the node's certificate");
                return Err(TransportError::Tls(reason));
            }
            return Ok(None);
        };
        let config = ClientTlsConfig::new()
            .ca_certificate(Certificate::from_pem(ca))
            .domain_name(self.tls.server_name.as_deref().unwrap_or(address.host()));
        Ok(Some(match &self.tls.identity {
            Some((certificate, key)) => config.identity(Identity::from_pem(certificate, key)),
            None => config,
        }))
    }
}

fn bearer(token: &str) -> Result<MetadataValue<Ascii>, TransportError> {
    let mut value: MetadataValue<Ascii> = format!("Bearer {token}")
        .parse()
        .map_err(|_| TransportError::Auth("it holds characters that a header cannot carry".to_owned()))?;
    value.set_sensitive(true);
    Ok(value)
}

/// Compares in a time that does not depend on the place of a difference.
fn is_equal(given: &[u8], wanted: &[u8]) -> bool {
    let differing = given
        .iter()
        .zip(wanted.iter().cycle())
        .fold(0, |bits, (a, b)| bits | (a ^ b));
    differing == 0 && given.len() == wanted.len()
}
