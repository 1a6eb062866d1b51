//! The destinations that a box may reach: names and addresses with their ports, and no others.
//!
//! A name is allowed as text. The daemon looks its addresses up for each connection and checks them too. It connects
//! only to addresses that it checked, so a name that changes its addresses in between gains nothing.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use super::address::{canonical, is_own, is_public};

/// Ports of a rule that names none.
const WEB_PORTS: [u16; 2] = [80, 443];
const MAX_RULES: usize = 256;
const MAX_NAME_BYTES: usize = 253;
const MAX_LABEL_BYTES: usize = 63;

/// A host as programs write it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Host {
    /// Lower case, without a final dot.
    Name(String),
    Address(IpAddr),
}

/// Where a program wants to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Destination {
    pub(crate) host: Host,
    pub(crate) port: u16,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Pattern {
    Exactly(Host),
    /// Every name below this one.
    Below(String),
}

#[derive(Clone, Debug)]
struct Rule {
    pattern: Pattern,
    /// `None`: the ports of the web.
    port: Option<u16>,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Policy {
    rules: Vec<Rule>,
}

impl Host {
    /// Reads a name, an IPv4 address, or an IPv6 address with or without brackets.
    ///
    /// # Errors
    /// The reason why the text is not accepted.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let bare = text
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
            .unwrap_or(text);
        if let Ok(address) = bare.parse::<IpAddr>() {
            return Ok(Self::Address(canonical(address)));
        }
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        let label = |label: &str| {
            (1..=MAX_LABEL_BYTES).contains(&label.len())
                && label
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
        };
        if name.len() > MAX_NAME_BYTES || !name.split('.').all(label) {
            return Err(format!("{text:?} is neither a host name nor an address"));
        }
        // Resolvers read `2130706433`, `0x7f.1` and `127.1` as addresses.
        let last = name.rsplit('.').next().unwrap_or_default();
        if last.starts_with("0x") || last.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(format!("{text:?} is a number, not a host name"));
        }
        Ok(Self::Name(name))
    }
}

impl Destination {
    /// Reads `host:port`; without a port it is `default`.
    ///
    /// # Errors
    /// The reason why the text is not accepted.
    pub(crate) fn parse(text: &str, default: Option<u16>) -> Result<Self, String> {
        let (host, port) = split_port(text)?;
        let port = port.or(default).ok_or_else(|| format!("{text:?} names no port"))?;
        Ok(Self {
            host: Host::parse(host)?,
            port,
        })
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Name(name) => write!(out, "{name}:{}", self.port),
            Host::Address(address) => SocketAddr::new(*address, self.port).fmt(out),
        }
    }
}

/// Splits a final `:port` off. An IPv6 address has a port only behind its bracket.
fn split_port(text: &str) -> Result<(&str, Option<u16>), String> {
    let bare_v6 = !text.starts_with('[') && text.matches(':').count() > 1;
    match text.rsplit_once(':') {
        Some((host, port)) if !bare_v6 && !port.ends_with(']') => match port.parse() {
            Ok(port) if port > 0 => Ok((host, Some(port))),
            _ => Err(format!("{text:?} has a wrong port")),
        },
        _ => Ok((text, None)),
    }
}

impl Policy {
    /// Reads `host:port`, `host`, `*.host:port`, `address:port`.
    ///
    /// # Errors
    /// The first entry that is wrong, and the reason.
    pub(crate) fn parse(allow: &[String]) -> Result<Self, String> {
        if allow.len() > MAX_RULES {
            return Err(format!("{} entries; at most {MAX_RULES}", allow.len()));
        }
        let rules = allow.iter().map(|text| {
            let (host, port) = split_port(text)?;
            let pattern = match host.strip_prefix("*.") {
                None => Pattern::Exactly(Host::parse(host)?),
                Some(parent) => match Host::parse(parent)? {
                    Host::Name(name) => Pattern::Below(format!(".{name}")),
                    Host::Address(_) => return Err(format!("{text:?}: an address has nothing below it")),
                },
            };
            Ok(Rule { pattern, port })
        });
        Ok(Self {
            rules: rules.collect::<Result<_, String>>()?,
        })
    }

    /// Whether a rule names a destination. The addresses of a name still have to pass `permitted`.
    pub(crate) fn names(&self, destination: &Destination) -> bool {
        self.rules.iter().any(|rule| {
            rule.has_port(destination.port)
                && match (&rule.pattern, &destination.host) {
                    (Pattern::Exactly(host), wanted) => host == wanted,
                    (Pattern::Below(parent), Host::Name(name)) => {
                        name.len() > parent.len() && name.ends_with(parent.as_str())
                    }
                    (Pattern::Below(_), Host::Address(_)) => false,
                }
        })
    }

    /// The addresses of an allowed name that may be connected to.
    pub(crate) fn permitted(&self, addresses: impl IntoIterator<Item = IpAddr>, port: u16) -> Vec<SocketAddr> {
        let open = |address: &IpAddr| {
            let itself = Destination {
                host: Host::Address(*address),
                port,
            };
            self.names(&itself) || (is_public(*address) && !is_own(*address))
        };
        let canonical = addresses.into_iter().map(canonical);
        canonical
            .filter(open)
            .map(|address| SocketAddr::new(address, port))
            .collect()
    }

    /// Destinations that only the operator of the machine may open: addresses that do not belong to the internet.
    pub(crate) fn private(&self) -> impl Iterator<Item = Destination> {
        self.rules.iter().flat_map(|rule| {
            let address = match &rule.pattern {
                Pattern::Exactly(Host::Address(address)) if !is_public(*address) || is_own(*address) => Some(*address),
                _ => None,
            };
            let ports = rule.port.map_or(WEB_PORTS.to_vec(), |port| vec![port]);
            address.into_iter().flat_map(move |address| {
                ports.clone().into_iter().map(move |port| Destination {
                    host: Host::Address(address),
                    port,
                })
            })
        })
    }
}

impl Rule {
    fn has_port(&self, port: u16) -> bool {
        self.port.map_or(WEB_PORTS.contains(&port), |only| only == port)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn policy(allow: &[&str]) -> Policy {
        Policy::parse(&allow.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>()).expect("rules")
    }

    fn allows(policy: &Policy, text: &str) -> bool {
        Destination::parse(text, None).is_ok_and(|destination| policy.names(&destination))
    }

    #[test]
    fn only_named_hosts_are_allowed() {
        let policy = policy(&[
            "box.test",
            "*.example.com:8443",
            "Files.Example.org.:80",
            "10.0.0.5:5432",
            "[fd00::1]:9",
        ]);
        for yes in [
            "box.test:80",
            "Box.Test.:443",
            "a.example.com:8443",
            "a.b.example.com:8443",
            "files.example.org:80",
            "10.0.0.5:5432",
            "[::ffff:10.0.0.5]:5432",
            "[fd00::1]:9",
        ] {
            assert!(allows(&policy, yes), "{yes}");
        }
        for no in [
            "box.test:8080",
            "xbox.test:443",
            "box.test.evil.net:443",
            "example.com:8443",
            "xexample.com:8443",
            "a.example.com:443",
            "10.0.0.5:80",
            "10.0.0.6:5432",
            "[fd00::2]:9",
            "2130706433:80",
            "0x7f.1:80",
            "127.1:80",
            "box.test\u{430}:80",
            "box.test/@evil.net:80",
        ] {
            assert!(!allows(&policy, no), "{no}");
        }
    }

    #[test]
    fn wrong_rules_are_named() {
        for wrong in [
            "",
            "host:",
            "host:0",
            "host:70000",
            "*.",
            "*.1.2.3.4",
            "a b",
            "*",
            "a..b",
            "0x7f000001",
            "[::1",
        ] {
            let parsed = Policy::parse(&[wrong.to_owned()]);
            assert!(parsed.is_err(), "{wrong:?} became {parsed:?}");
        }
    }

    #[test]
    fn a_name_leads_to_the_internet_or_to_a_named_address_only() {
        let addresses = [
            "127.0.0.1",
            "169.254.169.254",
            "::ffff:10.0.0.1",
            "192.168.1.1",
            "1.1.1.1",
        ];
        let addresses = || addresses.iter().map(|text| text.parse().expect("address"));
        let open = |policy: &Policy, port| {
            let found = policy.permitted(addresses(), port);
            found.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(open(&policy(&["a.b"]), 443), ["1.1.1.1:443"]);
        let named = policy(&["a.b", "192.168.1.1:443"]);
        assert_eq!(open(&named, 443), ["192.168.1.1:443", "1.1.1.1:443"]);
        assert_eq!(open(&named, 80), ["1.1.1.1:80"]);
    }

    #[test]
    fn private_rules_are_found() {
        let policy = policy(&["1.1.1.1:53", "10.0.0.1", "[::1]:9", "name:1"]);
        let private: Vec<_> = policy.private().map(|one| one.to_string()).collect();
        assert_eq!(private, ["10.0.0.1:80", "10.0.0.1:443", "[::1]:9"]);
    }

    proptest! {
        #[test]
        fn no_text_is_allowed_by_accident(text in "\\PC{0,40}") {
            let policy = policy(&["allowed.example:1"]);
            if allows(&policy, &text) {
                let plain = text.to_ascii_lowercase();
                prop_assert!(plain == "allowed.example:1" || plain == "allowed.example.:1");
            }
        }

        #[test]
        fn a_displayed_address_parses_to_itself(a: [u8; 16], v4: bool, port in 1_u16..) {
            let address = if v4 { IpAddr::from([a[0], a[1], a[2], a[3]]) } else { IpAddr::from(a) };
            let shown = Destination { host: Host::Address(canonical(address)), port };
            prop_assert_eq!(Destination::parse(&shown.to_string(), None), Ok(shown));
        }
    }
}
