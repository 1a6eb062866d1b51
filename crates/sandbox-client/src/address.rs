//! Addresses of daemons.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::ClientError;

/// The address of one daemon, or a name that stands for several.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Address {
    /// A Unix socket: `unix:/path` or `/path`.
    Unix(PathBuf),
    /// `host:port`, `http://host:port` or `https://host:port`; IPv6 addresses in brackets.
    Tcp {
        /// Host and port.
        authority: String,
        /// The name that the daemon's certificate must have.
        host: String,
        /// `https`: the connection must be given an authority, which must have signed the daemon's certificate.
        tls: bool,
    },
    /// `dns:name:port`: every address that the name resolves to is a daemon, looked up again every few seconds.
    Dns {
        /// Name and port.
        authority: String,
        /// The name that every daemon's certificate must have.
        host: String,
    },
}

impl FromStr for Address {
    type Err = ClientError;

    fn from_str(text: &str) -> Result<Self, ClientError> {
        let wrong = |reason| ClientError::Address {
            address: text.to_owned(),
            reason,
        };
        if let Some(path) = text
            .strip_prefix("unix:")
            .or_else(|| text.starts_with('/').then_some(text))
        {
            if !path.starts_with('/') {
                return Err(wrong("the path of a Unix socket must be absolute"));
            }
            return Ok(Self::Unix(PathBuf::from(path)));
        }
        if let Some(name) = text.strip_prefix("dns:") {
            let (authority, host) = host_and_port(name).map_err(wrong)?;
            return Ok(Self::Dns { authority, host });
        }
        let (tls, rest) = match (text.strip_prefix("https://"), text.strip_prefix("http://")) {
            (Some(rest), _) => (true, rest),
            (_, Some(rest)) => (false, rest),
            _ => (false, text),
        };
        let (authority, host) = host_and_port(rest).map_err(wrong)?;
        Ok(Self::Tcp { authority, host, tls })
    }
}

fn host_and_port(text: &str) -> Result<(String, String), &'static str> {
    const EXPECTED: &str = "expected host:port, https://host:port, dns:name:port or unix:/path";
    let authority = text.trim_end_matches('/');
    let (host, port) = authority.rsplit_once(':').ok_or(EXPECTED)?;
    let is_bracketed = host.starts_with('[') && host.ends_with(']');
    if host.is_empty() || host.contains('/') || (host.contains(':') && !is_bracketed) {
        return Err(EXPECTED);
    }
    if !matches!(port.parse::<u16>(), Ok(1..)) {
        return Err("the port must be a number from 1 to 65535");
    }
    let host = host.trim_start_matches('[').trim_end_matches(']');
    Ok((authority.to_owned(), host.to_owned()))
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(formatter, "unix:{}", path.display()),
            Self::Tcp {
                authority, tls: true, ..
            } => write!(formatter, "https://{authority}"),
            Self::Tcp { authority, .. } => formatter.write_str(authority),
            Self::Dns { authority, .. } => write!(formatter, "dns:{authority}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_sockets_authorities_and_names() {
        for (text, shown) in [
            ("unix:/run/x.sock", "unix:/run/x.sock"),
            ("/run/x.sock", "unix:/run/x.sock"),
            ("127.0.0.1:70", "127.0.0.1:70"),
            ("http://node-1:7070/", "node-1:7070"),
            ("https://node-1:7070", "https://node-1:7070"),
            ("[::1]:70", "[::1]:70"),
            ("dns:sandboxd.prl.svc:7070", "dns:sandboxd.prl.svc:7070"),
        ] {
            assert_eq!(text.parse::<Address>().expect(text).to_string(), shown);
        }
        let bracketed = "https://[::1]:70".parse::<Address>().expect("an address");
        assert!(matches!(bracketed, Address::Tcp { host, tls: true, .. } if host == "::1"));
    }

    #[test]
    fn refuses_unreachable_addresses() {
        for text in [
            "",
            "node-1",
            "node-1:0",
            "node-1:70000",
            "::1:70",
            "unix:relative",
            "a/b:70",
            ":70",
            "dns:node-1",
            "dns:https://node-1:70",
        ] {
            let error = text.parse::<Address>().expect_err(text);
            assert_eq!(error.code(), "PRL_SANDBOX_ADDRESS", "{text}");
        }
    }
}
