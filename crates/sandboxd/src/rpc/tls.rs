//! The daemon's certificate, and the certificates that callers must show.

use std::fs;
use std::path::Path;
use std::time::Duration;

use tonic::transport::{Certificate, Identity, ServerTlsConfig};

use crate::error::SandboxError;
use crate::options::Options;

/// How long the handshake of one connection may take.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Reads the files that the options name; `None` without a certificate.
///
/// # Errors
/// `Usage`: half of the options are missing. `Serve`: a file cannot be read. The content of the files is checked when
/// the server is built.
pub(crate) fn configure(options: &Options) -> Result<Option<ServerTlsConfig>, SandboxError> {
    let (certificate, key) = match (&options.tls_cert, &options.tls_key) {
        (Some(certificate), Some(key)) => (read(certificate)?, read(key)?),
        (None, None) if options.tls_client_ca.is_none() => return Ok(None),
        _ => {
            return Err(SandboxError::Usage(
                "--tls-cert and --tls-key go together, and --tls-client-ca needs both".to_owned(),
            ));
        }
    };
    let config = ServerTlsConfig::new()
        .identity(Identity::from_pem(certificate, key))
        .timeout(HANDSHAKE);
    Ok(Some(match &options.tls_client_ca {
        Some(path) => config.client_ca_root(Certificate::from_pem(read(path)?)),
        None => config,
    }))
}

fn read(path: &Path) -> Result<Vec<u8>, SandboxError> {
    fs::read(path).map_err(|source| SandboxError::Serve {
        action: format!("read {}", path.display()),
        source,
    })
}
