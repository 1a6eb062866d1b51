//! Where a daemon listens.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::ClientError;

/// Where a daemon listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A Unix socket: `unix:/path` or `/path`.
    Unix(PathBuf),
    /// `host:port` or `http://host:port`; IPv6 addresses in brackets.
    Tcp(String),
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
        if text.starts_with("https:") {
            return Err(ClientError::TlsUnsupported(text.to_owned()));
        }
        let authority = text.strip_prefix("http://").unwrap_or(text).trim_end_matches('/');
        let (host, port) = authority
            .rsplit_once(':')
            .ok_or_else(|| wrong("expected host:port or unix:/path"))?;
        let is_bracketed = host.starts_with('[') && host.ends_with(']');
        if host.is_empty() || host.contains('/') || (host.contains(':') && !is_bracketed) {
            return Err(wrong("expected host:port or unix:/path"));
        }
        match port.parse::<u16>() {
            Ok(port) if port > 0 => Ok(Self::Tcp(authority.to_owned())),
            _ => Err(wrong("the port must be a number from 1 to 65535")),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(formatter, "unix:{}", path.display()),
            Self::Tcp(authority) => formatter.write_str(authority),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_sockets_and_authorities() {
        let unix = Address::Unix(PathBuf::from("/run/x.sock"));
        assert_eq!("unix:/run/x.sock".parse::<Address>().expect("a socket"), unix);
        assert_eq!("/run/x.sock".parse::<Address>().expect("a path"), unix);
        for (text, authority) in [
            ("127.0.0.1:70", "127.0.0.1:70"),
            ("http://node-1:7070/", "node-1:7070"),
            ("[::1]:70", "[::1]:70"),
        ] {
            assert_eq!(text.parse::<Address>().expect(text), Address::Tcp(authority.to_owned()));
        }
    }

    #[test]
    fn refuses_what_it_cannot_reach() {
        for text in [
            "",
            "node-1",
            "node-1:0",
            "node-1:70000",
            "::1:70",
            "unix:relative",
            "a/b:70",
            ":70",
        ] {
            let error = text.parse::<Address>().expect_err(text);
            assert_eq!(error.code(), "PRL_SANDBOX_ADDRESS", "{text}");
        }
        let error = "https://node-1:70".parse::<Address>().expect_err("TLS");
        assert_eq!(error.code(), "PRL_SANDBOX_TLS_UNSUPPORTED");
    }
}
