//! The daemons of a client, and which of them gets new work.
//!
//! Two that take work are drawn at random and the less busy one is chosen; with a load that is a little out of date this spreads work
//! better than the least busy of all, which every client would choose at once. What is held stays where it is: boxes, keys and snapshots
//! know their daemon.

use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::time::Duration;

use tokio::net::lookup_host;
use tokio::time::{sleep, timeout};

use crate::credentials::Credentials;
use crate::node::{Node, Work};
use crate::{Address, ClientError, EmbeddedDaemon};

/// How often a name is looked up.
const LOOKUP_INTERVAL: Duration = Duration::from_secs(5);
const LOOKUP_DEADLINE: Duration = Duration::from_secs(5);

/// See the module.
#[derive(Debug)]
pub(crate) struct Fleet {
    credentials: Credentials,
    fixed: Vec<Arc<Node>>,
    named: RwLock<Vec<Named>>,
}

/// A name and the daemons that it stands for now.
#[derive(Debug, Clone)]
struct Named {
    /// [`Address::Dns`].
    name: Address,
    nodes: Vec<Arc<Node>>,
}

impl Fleet {
    /// # Errors
    /// [`ClientError::Address`] without any, [`ClientError::Unreachable`] when a name stands for none.
    pub(crate) async fn new(addresses: Vec<Address>, credentials: Credentials) -> Result<Arc<Self>, ClientError> {
        if addresses.is_empty() {
            return Err(ClientError::Address {
                address: String::new(),
                reason: "expected the address of a daemon",
            });
        }
        let (mut fixed, mut named) = (Vec::new(), Vec::new());
        for address in addresses {
            if matches!(address, Address::Dns { .. }) {
                let found = resolve(&address, &credentials).await?;
                let nodes = found
                    .into_iter()
                    .map(|found| Node::new(found, credentials.clone(), None));
                named.push(Named {
                    nodes: nodes.collect(),
                    name: address,
                });
            } else {
                fixed.push(Node::new(address, credentials.clone(), None));
            }
        }
        let follows = !named.is_empty();
        let fleet = Arc::new(Self {
            credentials,
            fixed,
            named: RwLock::new(named),
        });
        if follows {
            tokio::spawn(follow(Arc::downgrade(&fleet)));
        }
        Ok(fleet)
    }

    /// Of one daemon that ends with it.
    pub(crate) fn embedded(daemon: EmbeddedDaemon, credentials: Credentials) -> Arc<Self> {
        let address = Address::Unix(daemon.socket().to_owned());
        Arc::new(Self {
            fixed: vec![Node::new(address, credentials.clone(), Some(daemon))],
            credentials,
            named: RwLock::default(),
        })
    }

    pub(crate) fn nodes(&self) -> Vec<Arc<Node>> {
        let named = self.named.read().unwrap_or_else(PoisonError::into_inner);
        let of_names = named.iter().flat_map(|named| &named.nodes);
        self.fixed.iter().chain(of_names).cloned().collect()
    }

    /// Where new work goes, none of `tried`. Daemons that are out are asked only when all are.
    pub(crate) fn pick(&self, work: Work, tried: &[Arc<Node>]) -> Option<Arc<Node>> {
        let mut nodes = self.nodes();
        nodes.retain(|node| !tried.iter().any(|tried| Arc::ptr_eq(tried, node)));
        if nodes.iter().any(|node| !node.is_out()) {
            nodes.retain(|node| !node.is_out());
        }
        let first = draw(&mut nodes)?;
        match draw(&mut nodes) {
            Some(second) if second.pressure(work) < first.pressure(work) => Some(second),
            _ => Some(first),
        }
    }

    /// Sets what a name stands for now. Boxes on daemons that it no longer names keep theirs.
    fn replace(&self, name: &Address, found: Vec<Address>) {
        let mut named = self.named.write().unwrap_or_else(PoisonError::into_inner);
        let Some(entry) = named.iter_mut().find(|entry| entry.name == *name) else {
            return;
        };
        entry.nodes.retain(|node| found.contains(node.address()));
        for address in found {
            if !entry.nodes.iter().any(|node| *node.address() == address) {
                entry.nodes.push(Node::new(address, self.credentials.clone(), None));
            }
        }
    }

    fn names(&self) -> Vec<Address> {
        let named = self.named.read().unwrap_or_else(PoisonError::into_inner);
        named.iter().map(|entry| entry.name.clone()).collect()
    }
}

/// Removes one at random.
fn draw(nodes: &mut Vec<Arc<Node>>) -> Option<Arc<Node>> {
    if nodes.is_empty() {
        return None;
    }
    Some(nodes.swap_remove(fastrand::usize(..nodes.len())))
}

/// Looks names up again for as long as somebody uses them.
async fn follow(fleet: Weak<Fleet>) {
    loop {
        sleep(LOOKUP_INTERVAL).await;
        let Some(fleet) = fleet.upgrade() else { return };
        for name in fleet.names() {
            match resolve(&name, &fleet.credentials).await {
                Ok(found) => fleet.replace(&name, found),
                // A name server that fails says nothing about the daemons.
                Err(error) => tracing::warn!(%error, "keeps the daemons that are known"),
            }
        }
    }
}

async fn resolve(name: &Address, credentials: &Credentials) -> Result<Vec<Address>, ClientError> {
    let Address::Dns { authority, host } = name else {
        return Ok(Vec::new());
    };
    let unreachable = |reason: String| ClientError::Unreachable {
        address: name.to_string(),
        reason,
    };
    let found = timeout(LOOKUP_DEADLINE, lookup_host(authority.as_str()))
        .await
        .map_err(|_| unreachable(format!("no answer within {} ms", LOOKUP_DEADLINE.as_millis())))?
        .map_err(|error| unreachable(error.to_string()))?;
    let mut addresses: Vec<Address> = found
        .map(|address| Address::Tcp {
            authority: address.to_string(),
            host: host.clone(),
            tls: credentials.has_tls(),
        })
        .collect();
    addresses.dedup();
    if addresses.is_empty() {
        return Err(unreachable("the name stands for no address".to_owned()));
    }
    Ok(addresses)
}
