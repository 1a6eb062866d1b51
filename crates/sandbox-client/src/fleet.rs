//! The daemons of a client, and the choice of the one that gets new work.
//!
//! Two daemons that take work are drawn at random and the less busy one is chosen. Since known loads are a little out of date, this
//! spreads work better than taking the least busy of all, which every client would choose at the same time. Boxes, keys and snapshots
//! stay with their daemon.

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

/// The daemons of a client.
#[derive(Debug)]
pub(crate) struct Fleet {
    credentials: Credentials,
    fixed: Vec<Arc<Node>>,
    named: RwLock<Vec<Named>>,
}

/// A name and the daemons that it stands for at present.
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

    /// A fleet of one embedded daemon, which ends with it.
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

    /// The daemon for new work, none of `tried`. Daemons that are out are chosen only when all are out.
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

    /// Sets the daemons that a name stands for. Boxes on daemons that it no longer names keep their daemon.
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

/// Looks names up again as long as the fleet exists.
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

#[cfg(test)]
mod tests {
    use prl_sandbox_proto::{LOAD_KEY, Load};
    use tonic::metadata::MetadataMap;

    use super::*;

    async fn fleet(count: usize) -> Arc<Fleet> {
        let addresses = (0..count).map(|i| Address::Unix(format!("/nowhere/{i}").into()));
        let credentials = Credentials::new(None, None).expect("no token");
        Fleet::new(addresses.collect(), credentials).await.expect("addresses")
    }

    fn report(node: &Node, load: Load) {
        let mut trailers = MetadataMap::new();
        trailers.insert(LOAD_KEY, load.to_string().parse().expect("ascii"));
        node.heard(&trailers);
    }

    /// How often each daemon is chosen.
    fn chosen(fleet: &Fleet, work: Work) -> Vec<usize> {
        let nodes = fleet.nodes();
        let mut counts = vec![0; nodes.len()];
        for _ in 0..3000 {
            let picked = fleet.pick(work, &[]).expect("one of them");
            counts[nodes.iter().position(|node| Arc::ptr_eq(node, &picked)).expect("known")] += 1;
        }
        counts
    }

    #[tokio::test]
    async fn the_busiest_is_never_the_better_of_two() {
        let fleet = fleet(3).await;
        for (node, running) in fleet.nodes().iter().zip([9, 1, 4]) {
            report(
                node,
                Load {
                    running,
                    capacity: 10,
                    ..Load::default()
                },
            );
        }
        let counts = chosen(&fleet, Work::Run);
        assert_eq!(counts[0], 0, "{counts:?}");
        assert!(counts[1] > 1700 && counts[2] > 700, "{counts:?}");
    }

    #[tokio::test]
    async fn local_work_counts_before_a_report_and_room_counts() {
        let fleet = fleet(2).await;
        let nodes = fleet.nodes();
        let _busy: Vec<_> = (0..3).map(|_| nodes[0].enter()).collect();
        assert_eq!(chosen(&fleet, Work::Run), [0, 3000]);
        report(
            &nodes[0],
            Load {
                running: 3,
                capacity: 100,
                ..Load::default()
            },
        );
        report(
            &nodes[1],
            Load {
                running: 1,
                capacity: 2,
                ..Load::default()
            },
        );
        assert_eq!(
            chosen(&fleet, Work::Run),
            [3000, 0],
            "three of a hundred are fewer than one of two"
        );
        report(
            &nodes[0],
            Load {
                held: 50,
                running: 3,
                capacity: 100,
                ..Load::default()
            },
        );
        assert_eq!(
            chosen(&fleet, Work::Hold),
            [0, 3000],
            "boxes are spread by their number"
        );
        report(
            &nodes[1],
            Load {
                capacity: 0,
                ..Load::default()
            },
        );
        assert_eq!(chosen(&fleet, Work::Hold), [3000, 0], "one that stops is the last");
    }

    #[tokio::test]
    async fn one_that_is_out_is_asked_only_when_all_are() {
        let fleet = fleet(2).await;
        let nodes = fleet.nodes();
        nodes[0].put_out();
        assert_eq!(chosen(&fleet, Work::Run), [0, 3000]);
        let last = fleet.pick(Work::Run, &nodes[1..]).expect("the other");
        assert!(Arc::ptr_eq(&last, &nodes[0]));
        assert!(fleet.pick(Work::Run, &nodes).is_none());
    }
}
