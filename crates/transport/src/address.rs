//! Where a node listens.

use std::fmt;
use std::str::FromStr;

use crate::TransportError;

/// `host:port`; IPv6 addresses in brackets.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Address(String);

impl FromStr for Address {
    type Err = TransportError;

    fn from_str(text: &str) -> Result<Self, TransportError> {
        if text.starts_with("https:") {
            return Err(TransportError::TlsUnsupported(text.to_owned()));
        }
        let wrong = |reason: &str| TransportError::Address {
            address: text.to_owned(),
            reason: reason.to_owned(),
        };
        let authority = text.strip_prefix("http://").unwrap_or(text).trim_end_matches('/');
        let (host, port) = authority.rsplit_once(':').ok_or_else(|| wrong("expected host:port"))?;
        let is_bracketed = host.starts_with('[') && host.ends_with(']');
        let is_odd = host.contains(|c: char| c == '/' || c == '@' || c.is_whitespace() || c.is_control());
        if host.is_empty() || is_odd || (host.contains(':') && !is_bracketed) {
            return Err(wrong("expected host:port"));
        }
        match port.parse::<u16>() {
            Ok(port) if port > 0 => Ok(Self(authority.to_owned())),
            _ => Err(wrong("the port must be a number from 1 to 65535")),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_host_and_port() {
        for (text, authority) in [
            ("127.0.0.1:70", "127.0.0.1:70"),
            ("http://node-1:7070/", "node-1:7070"),
            ("[::1]:70", "[::1]:70"),
        ] {
            assert_eq!(text.parse::<Address>().expect(text).to_string(), authority);
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
            "a/b:70",
            ":70",
            "u@h:1",
            "a b:1",
        ] {
            let error = text.parse::<Address>().expect_err(text);
            assert_eq!(error.code(), "PRL_TRANSPORT_ADDRESS", "{text}");
        }
        let error = "https://node-1:70".parse::<Address>().expect_err("TLS");
        assert_eq!(error.code(), "PRL_TRANSPORT_TLS_UNSUPPORTED");
    }
}
