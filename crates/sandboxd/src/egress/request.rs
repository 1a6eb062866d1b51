//! Checks the network part of a request: whether the caller may ask for it, which sockets its box listens on, and which
//! variables its programs get.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use prl_sandbox_guest::wire::OpenSocket;
use prl_sandbox_proto::Network;
use prl_sandbox_proto::forward::By;
use prl_sandbox_proto::network::Mode;

use super::{Egress, Handover, Policy, Reach, Service};
use crate::error::SandboxError;

const MAX_FORWARDS: usize = 16;
/// Variables that name the proxy to programs. All have the same value: `http://` works for every scheme with CONNECT,
/// while some clients refuse to start when they see `socks5h://` and lack the module for it.
const PROXY_VARIABLES: [&str; 6] = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
];
const BESIDE_THE_PROXY: [(&str, &str); 3] = [
    ("NO_PROXY", "localhost,127.0.0.1,::1"),
    ("no_proxy", "localhost,127.0.0.1,::1"),
    ("NODE_USE_ENV_PROXY", "1"),
];

/// Destinations that callers may open besides the internet: services and addresses of this machine and its neighbours.
#[derive(Clone, Debug)]
pub(crate) enum Grants {
    /// Callers are this machine's user.
    Everything,
    /// The services that the operator named, for callers over TCP.
    Only(Vec<Service>),
}

impl Grants {
    fn includes(&self, service: &Service) -> bool {
        match self {
            Self::Everything => true,
            Self::Only(named) => named.contains(service),
        }
    }
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct NetworkPlan {
    allowed: Option<Arc<Policy>>,
    forwards: Vec<(u16, Target)>,
    /// Where the connections of forwards by the caller wait; `None` without such forwards.
    handover: Option<Arc<Handover>>,
}

/// Who connects for a forward, and where to.
#[derive(Clone, Debug)]
enum Target {
    Service(Service),
    Caller,
}

impl NetworkPlan {
    /// # Errors
    /// `Invalid`: an entry is malformed, or the caller may not open it.
    pub(crate) fn new(network: Option<&Network>, grants: &Grants) -> Result<Self, SandboxError> {
        let Some(network) = network else {
            return Ok(Self::default());
        };
        let invalid = |message: String| SandboxError::Invalid(format!("network: {message}"));
        let refused = |service: &Service| {
            if grants.includes(service) {
                return Ok(());
            }
            let what = service.to_string();
            Err(invalid(format!(
                "{what} is not opened by this daemon (--allow-forward {what})"
            )))
        };
        let allowed = match Mode::try_from(network.mode) {
            Ok(Mode::Allow) => Some(Arc::new(Policy::parse(&network.allow).map_err(invalid)?)),
            Ok(Mode::None) if network.allow.is_empty() => None,
            Ok(Mode::None) => return Err(invalid("`allow` needs mode ALLOW".to_owned())),
            Err(_) => return Err(invalid(format!("mode {} is not known", network.mode))),
        };
        for private in allowed.iter().flat_map(|policy| policy.private()) {
            refused(&Service::Tcp(private))?;
        }
        if network.forward.len() > MAX_FORWARDS {
            let count = network.forward.len();
            return Err(invalid(format!("{count} forwards; at most {MAX_FORWARDS}")));
        }
        let mut forwards: Vec<(u16, Target)> = Vec::new();
        for forward in &network.forward {
            let port = u16::try_from(forward.listen).ok().filter(|port| *port > 0);
            let port = port.ok_or_else(|| invalid(format!("forward.listen {} is no port", forward.listen)))?;
            if forwards.iter().any(|(taken, _)| *taken == port) {
                return Err(invalid(format!("two forwards listen on {port}")));
            }
            let target = match By::try_from(forward.by) {
                Ok(By::Daemon) => {
                    let to = Service::parse(&forward.to).map_err(|wrong| invalid(format!("forward.to: {wrong}")))?;
                    refused(&to)?;
                    Target::Service(to)
                }
                Ok(By::Caller) if forward.to.is_empty() => Target::Caller,
                Ok(By::Caller) => {
                    let what = "is for the caller, who connects (`by` CALLER): leave it empty";
                    return Err(invalid(format!("forward.to {:?} {what}", forward.to)));
                }
                Err(_) => return Err(invalid(format!("forward.by {} is not known", forward.by))),
            };
            forwards.push((port, target));
        }
        let by_caller = forwards.iter().any(|(_, target)| matches!(target, Target::Caller));
        Ok(Self {
            allowed,
            forwards,
            handover: by_caller.then(Arc::default),
        })
    }

    /// Refuses forwards by the caller for what is no held box: a run's caller only waits for its result.
    pub(crate) fn needs_no_caller(&self) -> Result<(), SandboxError> {
        let by_caller = self
            .forwards
            .iter()
            .find(|(_, target)| matches!(target, Target::Caller));
        by_caller.map_or(Ok(()), |(port, _)| {
            Err(SandboxError::Invalid(format!(
                "network: the forward of port {port} by the caller needs a held box; a run has none"
            )))
        })
    }

    /// The connections that wait for the caller; `None` without forwards by the caller.
    pub(crate) fn handover(&self) -> Option<Arc<Handover>> {
        self.handover.clone()
    }

    /// Whether the request asks for no network.
    pub(crate) fn is_none(&self) -> bool {
        self.allowed.is_none() && self.forwards.is_empty()
    }

    /// The listening sockets that init must make before any program runs.
    pub(crate) fn sockets(&self) -> Vec<OpenSocket> {
        let forwards = self.forwards.iter().map(|(port, _)| u32::from(*port));
        let proxy = self.allowed.iter().map(|_| 0);
        forwards
            .chain(proxy)
            .map(|port| OpenSocket { port, listen: true })
            .collect()
    }

    /// Serves on those sockets, given in the same order. Returns an object that must be kept as long as the box, and
    /// variables for its programs. They do not replace variables of the request.
    pub(crate) fn serve(&self, sockets: Vec<OwnedFd>) -> io::Result<(Egress, Vec<(&'static str, String)>)> {
        let mut egress = Egress::default();
        let mut sockets = sockets.into_iter();
        let mut next = || {
            sockets
                .next()
                .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))
        };
        for (listen, target) in &self.forwards {
            match (target, &self.handover) {
                (Target::Service(to), _) => egress.forward(next()?, to.clone())?,
                (Target::Caller, Some(handover)) => egress.hand_over(next()?, Arc::clone(handover), *listen)?,
                (Target::Caller, None) => return Err(io::ErrorKind::InvalidInput.into()),
            };
        }
        let mut environment = Vec::new();
        if let Some(policy) = &self.allowed {
            let port = egress.proxy(next()?, Reach::new(Arc::clone(policy)))?;
            let proxy = format!("http://127.0.0.1:{port}");
            environment.extend(PROXY_VARIABLES.map(|name| (name, proxy.clone())));
            environment.extend(BESIDE_THE_PROXY.map(|(name, value)| (name, value.to_owned())));
        }
        Ok((egress, environment))
    }
}

/// Adds variables that are missing to `NAME=value` entries.
pub(crate) fn add_missing(env: &mut Vec<String>, added: &[(&'static str, String)]) {
    for (name, value) in added {
        let there = env
            .iter()
            .any(|entry| entry.strip_prefix(name).is_some_and(|rest| rest.starts_with('=')));
        if !there {
            env.push(format!("{name}={value}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use prl_sandbox_proto::Forward;

    use super::*;

    fn network(allow: &[&str], forward: &[(u32, &str)]) -> Network {
        Network {
            mode: if allow.is_empty() { Mode::None } else { Mode::Allow }.into(),
            allow: allow.iter().map(|text| (*text).to_owned()).collect(),
            forward: forward
                .iter()
                .map(|(listen, to)| Forward {
                    listen: *listen,
                    to: (*to).to_owned(),
                    by: By::Daemon.into(),
                })
                .collect(),
        }
    }

    fn by_caller(to: &str) -> Network {
        let mut network = network(&[], &[(80, to)]);
        network.forward[0].by = By::Caller.into();
        network
    }

    #[test]
    fn private_addresses_need_a_grant() {
        let named = |text: &str| Service::parse(text).expect("service");
        let only = Grants::Only(vec![named("10.0.0.1:5432"), named("unix:/run/db")]);
        for (wanted, granted) in [
            (network(&["box.test", "1.1.1.1:53"], &[]), true),
            (network(&["10.0.0.1:5432"], &[]), true),
            (network(&["10.0.0.1:5433"], &[]), false),
            (network(&["10.0.0.1"], &[]), false),
            (network(&["[::ffff:169.254.169.254]:80"], &[]), false),
            (network(&[], &[(5432, "10.0.0.1:5432"), (1, "unix:/run/db")]), true),
            (network(&[], &[(1, "db.internal:1")]), false),
            (network(&[], &[(1, "unix:/run/other")]), false),
        ] {
            let planned = NetworkPlan::new(Some(&wanted), &only);
            assert_eq!(planned.is_ok(), granted, "{wanted:?}: {planned:?}");
            assert!(NetworkPlan::new(Some(&wanted), &Grants::Everything).is_ok());
        }
    }

    #[test]
    fn malformed_requests_are_refused() {
        let mut contradiction = network(&["a.b"], &[]);
        contradiction.mode = Mode::None.into();
        let mut unknown = network(&[], &[]);
        unknown.mode = 7;
        let mut strange = by_caller("");
        strange.forward[0].by = 7;
        let many: Vec<(u32, &str)> = (1..=17).map(|port| (port, "a.b:1")).collect();
        for wrong in [
            contradiction,
            unknown,
            network(&["a b"], &[]),
            network(&[], &[(0, "a.b:1")]),
            network(&[], &[(65_536, "a.b:1")]),
            network(&[], &[(1, "a.b:1"), (1, "a.c:1")]),
            network(&[], &[(1, "a.b")]),
            network(&[], &many),
            by_caller("a.b:1"),
            strange,
        ] {
            let planned = NetworkPlan::new(Some(&wrong), &Grants::Everything);
            assert!(
                matches!(planned, Err(SandboxError::Invalid(_))),
                "{wrong:?}: {planned:?}"
            );
        }
    }

    #[test]
    fn a_forward_by_the_caller_needs_no_grant_but_a_box() {
        let plan = NetworkPlan::new(Some(&by_caller("")), &Grants::Only(Vec::new())).expect("a plan");
        assert!(plan.handover().is_some() && !plan.is_none());
        let refused = plan.needs_no_caller().expect_err("no box");
        assert!(refused.to_string().contains("port 80 by the caller"), "{refused}");
        let direct = NetworkPlan::new(Some(&network(&[], &[(80, "a.b:1")])), &Grants::Everything).expect("a plan");
        assert!(direct.handover().is_none() && direct.needs_no_caller().is_ok());
    }

    #[test]
    fn a_program_keeps_its_variables() {
        let mut env = vec!["HTTP_PROXY=mine".to_owned(), "HTTP_PROXY_X=1".to_owned()];
        add_missing(
            &mut env,
            &[("HTTP_PROXY", "ours".to_owned()), ("ALL_PROXY", "ours".to_owned())],
        );
        assert_eq!(env, ["HTTP_PROXY=mine", "HTTP_PROXY_X=1", "ALL_PROXY=ours"]);
    }
}
