//! A transfer takes little memory, however large it is and whichever end stops reading.
#![cfg(target_os = "linux")]

mod support;

use std::fs;
use std::path::Path;
use std::time::Duration;

use prl_transport::{
    CHUNK_BYTES, Credentials, Inbox, RolloutReceiver, RolloutSender, SenderOptions, Times, Wanted, WeightNode,
};
use support::proxy::{Fault, Plan, Proxy};
use support::{QUICK, node, publish, to, version, write_batch};
use tempfile::TempDir;
use tokio::time::timeout;

const READERS: usize = 8;
const LENGTH: usize = 32 << 20;
/// Most memory of all readers together, both ends and the proxies between them: a window and a few chunks each.
const MAX_EXTRA_BYTES: usize = READERS * (8 << 20);
/// With these deadlines a hung connection does not count as dead yet.
const PATIENT: Times = Times {
    stall: Duration::from_secs(30),
    durable: Duration::from_secs(30),
    ..QUICK
};
/// Long enough to send everything many times to a reader that takes it.
const STANDSTILL: Duration = Duration::from_millis(1500);

/// Memory of this process without mapped files.
fn held() -> usize {
    let status = fs::read_to_string("/proc/self/status").expect("a status");
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")).expect("a size");
    kib.trim().parse::<usize>().expect("a number") << 10
}

async fn all_began(proxies: &[Proxy]) {
    let began = async {
        while !proxies.iter().all(|proxy| proxy.carried() > CHUNK_BYTES) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENT.stall, began).await.expect("all of them began");
}

async fn readers_of_weights(dir: &Path) {
    publish(&dir.join("from"), 1, 1, LENGTH, 1);
    let publisher = WeightNode::new(dir.join("from"), Credentials::default(), PATIENT);
    let address = publisher.listen("127.0.0.1:0").await.expect("listens");
    let before = held();
    let mut proxies = Vec::new();
    for _ in 0..READERS {
        let plans = [Plan::down(Fault::None), Plan::down(Fault::Hang(3 * CHUNK_BYTES))];
        proxies.push(Proxy::start(address, plans).await);
    }
    let pulls = proxies.iter().enumerate().map(|(reader, proxy)| {
        let node = WeightNode::new(dir.join(format!("into-{reader}")), Credentials::default(), PATIENT);
        let sources = [to(proxy.address())];
        tokio::spawn(async move { node.pull(&Wanted::default(), &sources).await })
    });
    let pulls: Vec<_> = pulls.collect();
    all_began(&proxies).await;
    tokio::time::sleep(STANDSTILL).await;
    let extra = held().saturating_sub(before);
    assert!(extra < MAX_EXTRA_BYTES, "{extra} bytes for {READERS} readers");
    for pull in pulls {
        assert!(!pull.is_finished(), "its source hangs");
        pull.abort();
    }
}

async fn a_batch_without_a_receiver(dir: &Path) {
    write_batch(&dir.join("spool"), (1, 1, 0), LENGTH, 1);
    let inbox = Inbox::new(dir.join("inbox"), "run");
    let receiver = RolloutReceiver::listen("127.0.0.1:0", inbox, &Credentials::default(), PATIENT).await;
    let receiver = receiver.expect("a receiver");
    let proxy = Proxy::start(receiver.address(), [Plan::up(Fault::Hang(3 * CHUNK_BYTES))]).await;
    let sender = RolloutSender::new(SenderOptions {
        spool: dir.join("spool"),
        receivers: vec![to(proxy.address())],
        credentials: Credentials::default(),
        times: PATIENT,
    });
    let before = held();
    let sending = tokio::spawn(async move { sender.deliver().await });
    all_began(std::slice::from_ref(&proxy)).await;
    tokio::time::sleep(STANDSTILL).await;
    let extra = held().saturating_sub(before);
    assert!(extra < MAX_EXTRA_BYTES / READERS * 2, "{extra} bytes");
    assert!(!sending.is_finished(), "its receiver hangs");
    sending.abort();
}

/// The cases run one after the other, because they share the process that is measured.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_stands_still_costs_a_few_chunks() {
    let dir = TempDir::new().expect("a folder");
    readers_of_weights(dir.path()).await;
    a_batch_without_a_receiver(dir.path()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_no_other_asks_lets_go_of_the_versions_that_it_removes() {
    let dir = TempDir::new().expect("a folder");
    let (from, into) = (dir.path().join("from"), dir.path().join("into"));
    let publisher = node(&from);
    let address = publisher.listen("127.0.0.1:0").await.expect("listens");
    let receiver = node(&into);
    for number in 1..4 {
        publish(&from, number, 1, 9, number);
        receiver.pull(&version(number), &[to(address)]).await.expect("pulled");
        receiver.prune(1).await.expect("pruned");
    }
    let maps = fs::read_to_string("/proc/self/maps").expect("the maps of this process");
    let into = into.to_string_lossy().into_owned();
    let mapped = |line: &&str| line.contains(&into) && line.contains("model-0.safetensors");
    let mapped: Vec<&str> = maps.lines().filter(mapped).collect();
    assert_eq!(mapped.len(), 1, "{mapped:?}");
}
