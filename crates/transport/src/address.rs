//! The address on which a node listens.

use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;

use crate::TransportError;

/// `host:port`; IPv6 addresses in brackets, also with a zone (`[fe80::1%eth0]`). With `https://` before it, only encrypted connections are made.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Address {
    authority: String,
    is_encrypted: bool,
}

impl Address {
    /// Whether the address demands encryption. Connections are also encrypted whenever a trusted authority is given.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.is_encrypted
    }

    /// The host without the port and without a zone, which has a meaning on this machine only.
    pub(crate) fn host(&self) -> &str {
        let host = self
            .authority
            .rsplit_once(':')
            .map_or(&*self.authority, |(host, _)| host);
        let host = host.trim_start_matches('[').trim_end_matches(']');
        host.split_once('%').map_or(host, |(host, _)| host)
    }
}

impl FromStr for Address {
    type Err = TransportError;

    fn from_str(text: &str) -> Result<Self, TransportError> {
        let wrong = |reason: &str| TransportError::Address {
            address: text.to_owned(),
            reason: reason.to_owned(),
        };
        let (is_encrypted, rest) = match text.strip_prefix("https://") {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix("http://").unwrap_or(text)),
        };
        let authority = rest.trim_end_matches('/');
        let (host, port) = authority.rsplit_once(':').ok_or_else(|| wrong("expected host:port"))?;
        let is_name = |host: &str| host.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c));
        let in_brackets = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let is_host = match in_brackets {
            Some(address) => {
                let (address, zone) = address.split_once('%').unwrap_or((address, "0"));
                address.parse::<Ipv6Addr>().is_ok() && !zone.is_empty() && is_name(zone)
            }
            None => !host.is_empty() && is_name(host),
        };
        if !is_host {
            return Err(wrong("expected host:port"));
        }
        match port.parse::<u16>() {
            Ok(port) if port > 0 => Ok(Self {
                authority: authority.to_owned(),
                is_encrypted,
            }),
            _ => Err(wrong("the port must be a number from 1 to 65535")),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.authority)
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
            ("[fe80::1%eth0]:70", "[fe80::1%eth0]:70"),
        ] {
            assert_eq!(text.parse::<Address>().expect(text).to_string(), authority);
        }
    }

    #[test]
    fn knows_its_host_and_whether_it_is_encrypted() {
        for (text, host, is_encrypted) in [
            ("https://node-1:70", "node-1", true),
            ("node-1:70", "node-1", false),
            ("https://[::1]:70/", "::1", true),
            ("[fe80::1%eth0]:70", "fe80::1", false),
        ] {
            let address: Address = text.parse().expect(text);
            assert_eq!((address.host(), address.is_encrypted()), (host, is_encrypted), "{text}");
        }
    }

    #[test]
    fn refuses_unreachable_addresses() {
        for text in [
            "",
            "node-1",
            "node-1:0",
            "node-1:70000",
            "::1:70",
            "a/b:70",
            ":70",
            "u@h:1",
            "a?b:1",
            "a|b:1",
            "b\u{fc}cher:1",
            "[node-1]:1",
            "[fe80::1%]:1",
            "[fe80::1%a]b]:1",
            "node-1%eth0:1",
            "a b:1",
        ] {
            let error = text.parse::<Address>().expect_err(text);
            assert_eq!(error.code(), "PRL_TRANSPORT_ADDRESS", "{text}");
        }
    }
}
