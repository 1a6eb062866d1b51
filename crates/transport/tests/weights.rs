//! Versions arrive whole or not at all, from any node that has them, whatever happens to the connections.

mod support;

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use prl_transport::{CHUNK_BYTES, Credentials, Times, Wanted, WeightNode};
use proptest::prelude::*;
use support::proxy::{Fault, Plan, Proxy, any_fault};
use support::{QUICK, cases, contents, node, publish, publish_on, to, version, version_name};
use tempfile::TempDir;
use tokio::time::timeout;

/// Headers and the description of a version.
const HEAD: u64 = 2000;
const CHUNK: usize = CHUNK_BYTES as usize;
/// A pull without an exact version first asks on a separate connection.
const DESCRIBED: Plan = Plan {
    up: Fault::None,
    down: Fault::None,
};

/// With these deadlines a slow source does not count as dead.
const PATIENT: Times = Times {
    stall: Duration::from_secs(10),
    ..QUICK
};

async fn publisher(root: &Path) -> (WeightNode, SocketAddr) {
    let node = node(root);
    let address = node.listen("127.0.0.1:0").await.expect("listens");
    (node, address)
}

/// The entries of a root except the lock and versions.
fn leftovers(root: &Path) -> Vec<String> {
    fs::read_dir(root)
        .expect("a root")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .filter(|name| !name.starts_with("step_") && name != ".receiving.lock")
        .collect()
}

#[tokio::test]
async fn a_source_may_have_an_address_with_a_zone() {
    let dir = TempDir::new().expect("a folder");
    publish(dir.path(), 1, 1, 9, 1);
    let publisher = node(dir.path());
    // Without IPv6 there is nothing to try.
    let Ok(address) = publisher.listen("[::1]:0").await else {
        return;
    };
    // The first interface is the loopback one.
    let zoned = format!("[::1%1]:{}", address.port()).parse().expect("an address");
    let described = node(dir.path()).describe(&version(1), &[zoned]).await;
    assert_eq!(described.expect("described").version, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pulls_every_file_and_the_manifest_last() {
    let dir = TempDir::new().expect("a folder");
    let (from, into) = (dir.path().join("from"), dir.path().join("into"));
    let published = publish(&from, 3, 3, 2 * CHUNK + 77, 1);
    let (_publisher, address) = publisher(&from).await;
    let receiver = node(&into);
    let pulled = receiver.pull(&Wanted::default(), &[to(address)]).await.expect("pulled");
    assert_eq!(pulled.directory, into.join("step_3"));
    assert_eq!(pulled.manifest.digest, version_name(3, 1));
    assert!(contents(&pulled.directory) == published);
    assert_eq!(leftovers(&into), [] as [&str; 0]);
    let before = Instant::now();
    let watched = Proxy::start(address, []).await;
    for wanted in [version(3), Wanted::default()] {
        receiver.pull(&wanted, &[to(watched.address())]).await.expect("again");
    }
    assert!(contents(&into.join("step_3")) == published);
    assert!(
        watched.carried() < CHUNK_BYTES,
        "{} bytes came again",
        watched.carried()
    );
    assert!(before.elapsed() < Duration::from_secs(5));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waits_for_a_version_and_takes_the_newest_after_one() {
    let dir = TempDir::new().expect("a folder");
    let (from, into) = (dir.path().join("from"), dir.path().join("into"));
    publish(&from, 1, 1, 100, 1);
    let (_publisher, address) = publisher(&from).await;
    let receiver = node(&into);
    let after = Wanted {
        after: Some(1),
        ..Wanted::default()
    };
    let sources = [to(address)];
    let later = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        publish(&from, 2, 1, 100, 1);
    };
    let (pulled, ()) = tokio::join!(receiver.pull(&after, &sources), later);
    assert_eq!(pulled.expect("pulled").manifest.version, 2);
    let manifest = receiver
        .describe(&Wanted::default(), &sources)
        .await
        .expect("described");
    assert_eq!(manifest.version, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replaced_version_replaces_the_pulled_one() {
    let dir = TempDir::new().expect("a folder");
    let (from, into) = (dir.path().join("from"), dir.path().join("into"));
    publish(&from, 1, 2, 5000, 1);
    let (_publisher, address) = publisher(&from).await;
    let receiver = node(&into);
    receiver.pull(&version(1), &[to(address)]).await.expect("pulled");
    fs::remove_dir_all(from.join("step_1")).expect("removed");
    let again = publish(&from, 1, 1, 6000, 2);
    receiver.pull(&version(1), &[to(address)]).await.expect("pulled again");
    assert!(contents(&into.join("step_1")) == again);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sparse_version_brings_its_chain_as_far_as_it_is_not_held() {
    let dir = TempDir::new().expect("a folder");
    let from = dir.path().join("from");
    publish(&from, 1, 1, 9000, 1);
    publish_on(&from, (2, Some(1)), 1, 800, 1);
    publish_on(&from, (3, Some(2)), 1, 700, 1);
    let (_publisher, address) = publisher(&from).await;
    let all = node(dir.path().join("all"));
    all.pull(&version(3), &[to(address)]).await.expect("pulled");
    for version in 1..=3 {
        let name = format!("step_{version}");
        assert!(
            contents(&dir.path().join("all").join(&name)) == contents(&from.join(&name)),
            "{name}"
        );
    }
    let some = node(dir.path().join("some"));
    let wanted = Wanted {
        held: vec![(2, version_name(2, 1))],
        ..version(3)
    };
    some.pull(&wanted, &[to(address)]).await.expect("pulled");
    assert!(!dir.path().join("some/step_2").exists());
    all.prune(1).await.expect("pruned");
    assert!(
        dir.path().join("all/step_1").exists(),
        "what a kept version builds on is kept"
    );
    publish(&from, 4, 1, 9000, 1);
    all.pull(&version(4), &[to(address)]).await.expect("pulled");
    all.prune(1).await.expect("pruned");
    assert_eq!(
        fs::read_dir(dir.path().join("all")).expect("a root").count(),
        2,
        "step_4 and the lock"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sparse_version_without_its_base_is_pulled_in_full() {
    let dir = TempDir::new().expect("a folder");
    let from = dir.path().join("from");
    publish_on(&from, (2, Some(1)), 1, 800, 1);
    let (_publisher, address) = publisher(&from).await;
    let receiver = node(dir.path().join("into"));
    let wanted = version(2);
    let sources = [to(address)];
    let publishing = async {
        while !from.join("full.request").exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        fs::remove_dir_all(from.join("step_2")).expect("removed");
        publish(&from, 2, 1, 9000, 1)
    };
    let (pulled, full) = tokio::join!(receiver.pull(&wanted, &sources), publishing);
    assert!(contents(&pulled.expect("pulled").directory) == full);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_version_that_will_never_come_is_named_by_its_publisher_and_by_no_relay() {
    let dir = TempDir::new().expect("a folder");
    let from = dir.path().join("from");
    publish_on(&from, (2, Some(1)), 1, 800, 1);
    let (_publisher, address) = publisher(&from).await;
    // A relay has a newer version that its publisher does not know.
    let ahead = dir.path().join("ahead");
    publish(&ahead, 3, 1, 9000, 1);
    let (_ahead, ahead) = publisher(&ahead).await;
    let relay = node(dir.path().join("relay"));
    let relay_address = relay.listen("127.0.0.1:0").await.expect("listens");
    let held = Wanted {
        held: vec![(1, version_name(1, 1))],
        ..version(2)
    };
    relay.pull(&held, &[to(address)]).await.expect("pulled");
    relay.pull(&version(3), &[to(ahead)]).await.expect("pulled");

    let receiver = node(dir.path().join("into"));
    let sources = [to(relay_address), to(address)];
    let wanted = version(2);
    let publishing = async {
        while !from.join("full.request").exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        publish(&from, 3, 1, 9000, 1);
    };
    let (pulled, ()) = tokio::join!(receiver.pull(&wanted, &sources), publishing);
    let error = pulled.expect_err("there is a newer one");
    assert_eq!(error.code(), "PRL_WEIGHTS_SUPERSEDED", "{error}");
    assert!(from.join("full.request").exists(), "the next one is wanted in full");
    receiver.pull(&version(3), &sources).await.expect("the newer one");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_relay_serves_a_version_that_it_is_still_receiving() {
    let dir = TempDir::new().expect("a folder");
    let from = dir.path().join("from");
    let published = publish(&from, 1, 1, 8 * CHUNK, 1);
    let (_publisher, address) = publisher(&from).await;
    let half = Proxy::start(address, [DESCRIBED, Plan::down(Fault::Hang(5 * CHUNK_BYTES))]).await;
    let relay = WeightNode::new(dir.path().join("relay"), Credentials::default(), PATIENT);
    let relay_address = relay.listen("127.0.0.1:0").await.expect("listens");
    let leaf = WeightNode::new(dir.path().join("leaf"), Credentials::default(), PATIENT);
    let wanted = version(1);
    let (to_half, to_relay) = ([to(half.address())], [to(relay_address)]);
    let mut seen = 0;
    let watch = async {
        // While the upstream of the relay hangs, the relay serves the chunks that it has.
        while seen < 4 * CHUNK {
            tokio::time::sleep(Duration::from_millis(5)).await;
            let staged = fs::read_dir(dir.path().join("leaf")).into_iter().flatten().flatten();
            seen = staged
                .filter_map(|entry| fs::metadata(entry.path().join("model-0.safetensors")).ok())
                .map(|file| usize::try_from(file.len()).expect("a length"))
                .max()
                .unwrap_or(0);
        }
        assert!(
            !dir.path().join("relay/step_1").exists(),
            "the relay has no version yet"
        );
    };
    let (upper, lower, ()) = tokio::join!(relay.pull(&wanted, &to_half), leaf.pull(&wanted, &to_relay), watch);
    upper.expect("the relay pulled");
    lower.expect("the leaf pulled");
    assert!(contents(&dir.path().join("leaf/step_1")) == published);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn leaves_a_dead_relay_and_keeps_its_partial_download() {
    let dir = TempDir::new().expect("a folder");
    let from = dir.path().join("from");
    let published = publish(&from, 1, 1, 20 * CHUNK, 1);
    let (_publisher, address) = publisher(&from).await;
    let slow = Proxy::start(address, [DESCRIBED, Plan::down(Fault::Delay(5))]).await;
    let relay = WeightNode::new(dir.path().join("relay"), Credentials::default(), PATIENT);
    let relay_address = relay.listen("127.0.0.1:0").await.expect("listens");
    let second = Proxy::start(address, []).await;
    let leaf = WeightNode::new(dir.path().join("leaf"), Credentials::default(), PATIENT);
    let wanted = version(1);
    let (to_slow, to_leaf) = ([to(slow.address())], [to(relay_address), to(second.address())]);
    let dying = async {
        let a_part_came = async {
            while slow.carried() < 6 * CHUNK_BYTES {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let died = tokio::select! {
            _ = relay.pull(&wanted, &to_slow) => false,
            () = a_part_came => true,
        };
        relay.close().await;
        assert!(died, "it died too late");
    };
    let ((), pulled) = tokio::join!(dying, leaf.pull(&wanted, &to_leaf));
    pulled.expect("pulled");
    assert!(contents(&dir.path().join("leaf/step_1")) == published);
    assert!(
        second.carried() < 20 * CHUNK_BYTES,
        "{} bytes came from the second source",
        second.carried()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn leaves_a_straggler_for_a_faster_source() {
    let dir = TempDir::new().expect("a folder");
    let from = dir.path().join("from");
    let published = publish(&from, 1, 1, 24 * CHUNK, 1);
    let (_publisher, address) = publisher(&from).await;
    // 16 KiB every 10 ms would take 15 s.
    let straggler = Proxy::start(address, [DESCRIBED, Plan::down(Fault::Delay(10))]).await;
    let leaf = node(dir.path().join("leaf"));
    let started = Instant::now();
    leaf.pull(&version(1), &[to(straggler.address()), to(address)])
        .await
        .expect("pulled");
    assert!(contents(&dir.path().join("leaf/step_1")) == published);
    assert!(
        straggler.carried() < 12 * CHUNK_BYTES,
        "{} bytes in {:?}",
        straggler.carried(),
        started.elapsed()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn joins_late_and_gets_the_newest_from_a_relay_alone() {
    let dir = TempDir::new().expect("a folder");
    let from = dir.path().join("from");
    let published = publish(&from, 7, 2, 30_000, 1);
    let (origin, address) = publisher(&from).await;
    let relay = node(dir.path().join("relay"));
    let relay_address = relay.listen("127.0.0.1:0").await.expect("listens");
    relay.pull(&version(7), &[to(address)]).await.expect("pulled");
    origin.close().await;
    let late = node(dir.path().join("late"));
    let pulled = late
        .pull(&Wanted::default(), &[to(address), to(relay_address)])
        .await
        .expect("pulled");
    assert!(contents(&pulled.directory) == published);
}

/// Pulls version 1 until it is cut in its second file, by a process that ends then; returns the folder that it left. A cut connection
/// loses the bytes that a slow reader has not read; then the test tries again.
async fn cut_half_way(address: SocketAddr, into: &Path) -> PathBuf {
    for _ in 0..50 {
        let half_way = Plan::down(Fault::Cut(7 * CHUNK_BYTES + CHUNK_BYTES / 2));
        let cut = Proxy::start(address, [DESCRIBED, half_way]).await;
        let times = Times {
            patience: Duration::ZERO,
            ..QUICK
        };
        let first = WeightNode::new(into, Credentials::default(), times);
        first.pull(&version(1), &[to(cut.address())]).await.expect_err("cut");
        first.close().await;
        let [staged] = leftovers(into).try_into().expect("one half version");
        let staged = into.join(staged);
        let half = fs::metadata(staged.join("model-1.safetensors")).map_or(0, |file| file.len());
        if (CHUNK as u64..5 * CHUNK as u64).contains(&half) {
            return staged;
        }
        fs::remove_dir_all(staged).expect("removed");
    }
    panic!("the second file was never cut half way");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pull_that_was_cut_resumes_in_the_next_process_and_believes_nothing_damaged() {
    let dir = TempDir::new().expect("a folder");
    let (from, into) = (dir.path().join("from"), dir.path().join("into"));
    let published = publish(&from, 1, 2, 5 * CHUNK + 9, 1);
    let (_publisher, address) = publisher(&from).await;
    for damage in [false, true] {
        let staged = cut_half_way(address, &into).await;
        if damage {
            for name in ["model-0.safetensors", "model-1.safetensors"] {
                let mut bytes = fs::read(staged.join(name)).expect("a file");
                bytes[CHUNK / 2] ^= 1;
                fs::write(staged.join(name), bytes).expect("damaged");
            }
        }
        let watched = Proxy::start(address, []).await;
        let second = node(&into);
        second
            .pull(&version(1), &[to(watched.address())])
            .await
            .expect("pulled");
        assert!(contents(&into.join("step_1")) == published);
        let carried = watched.carried();
        assert!(damage || carried < 5 * CHUNK_BYTES, "{carried} bytes were sent again");
        second.close().await;
        fs::remove_dir_all(into.join("step_1")).expect("removed");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_publisher_with_a_shard_unlike_its_manifest_serves_no_version() {
    let other_byte = |bytes: &mut Vec<u8>| bytes[2 * CHUNK] ^= 1;
    let shorter = |bytes: &mut Vec<u8>| bytes.truncate(CHUNK + 1);
    let longer = |bytes: &mut Vec<u8>| bytes.push(0);
    let damages: [fn(&mut Vec<u8>); 3] = [other_byte, shorter, longer];
    for damage in damages {
        let dir = TempDir::new().expect("a folder");
        let (from, into) = (dir.path().join("from"), dir.path().join("into"));
        publish(&from, 1, 1, 3 * CHUNK, 1);
        let shard = from.join("step_1/model-0.safetensors");
        let mut bytes = fs::read(&shard).expect("a shard");
        damage(&mut bytes);
        fs::write(&shard, bytes).expect("damaged");
        let (_publisher, address) = publisher(&from).await;
        let times = Times {
            patience: Duration::from_millis(300),
            ..QUICK
        };
        let receiver = WeightNode::new(&into, Credentials::default(), times);
        let error = receiver.pull(&version(1), &[to(address)]).await.expect_err("damaged");
        assert_eq!(error.code(), "PRL_TRANSPORT_UNREACHABLE");
        assert!(!into.join("step_1").exists());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_abandoned_pull_ends_and_the_next_one_goes_on() {
    let dir = TempDir::new().expect("a folder");
    let (from, into) = (dir.path().join("from"), dir.path().join("into"));
    let published = publish(&from, 1, 2, 5 * CHUNK + 9, 1);
    let (_publisher, address) = publisher(&from).await;
    let receiver = node(&into);
    for _ in 0..5 {
        let hangs: [Plan; 50] = std::array::from_fn(|_| Plan::down(Fault::Hang(CHUNK_BYTES + CHUNK_BYTES / 2)));
        let proxy = Proxy::start(address, hangs).await;
        let sources = [to(proxy.address())];
        let given_up = timeout(Duration::from_millis(50), receiver.pull(&version(1), &sources)).await;
        assert!(given_up.is_err(), "the source hangs");
    }
    receiver.pull(&version(1), &[to(address)]).await.expect("pulled");
    assert!(contents(&into.join("step_1")) == published);
    receiver.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_process_receives_into_a_root() {
    let dir = TempDir::new().expect("a folder");
    let (from, into) = (dir.path().join("from"), dir.path().join("into"));
    publish(&from, 1, 1, 10, 1);
    let (_publisher, address) = publisher(&from).await;
    let first = node(&into);
    first.pull(&version(1), &[to(address)]).await.expect("pulled");
    let error = node(&into).pull(&version(1), &[to(address)]).await.expect_err("locked");
    assert_eq!(error.code(), "PRL_TRANSPORT_IO");
    first.close().await;
    node(&into).pull(&version(1), &[to(address)]).await.expect("free again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_publisher_learns_that_a_version_is_where_it_is_needed() {
    let dir = TempDir::new().expect("a folder");
    let (origin, address) = publisher(dir.path()).await;
    let follower = node(dir.path().join("follower"));
    let lossy = Proxy::start(address, [Plan::down(Fault::Cut(30)), Plan::up(Fault::Hang(10))]).await;
    let sources = [to(lossy.address())];
    let (heard, told) = tokio::join!(
        origin.acknowledged(4, "00000000000000aa"),
        follower.acknowledge(4, "00000000000000aa", &sources)
    );
    heard.expect("heard");
    told.expect("told");
    let times = Times {
        patience: Duration::from_millis(50),
        ..QUICK
    };
    let lonely = WeightNode::new(dir.path(), Credentials::default(), times);
    let error = lonely.acknowledged(4, "00000000000000aa").await.expect_err("nobody");
    assert_eq!(error.code(), "PRL_TRANSPORT_UNREACHABLE");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), max_shrink_iters: 20, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_the_network_does_a_version_arrives_whole_through_a_relay(
        length in 1..2_500_000usize,
        shards in 1..3usize,
        above in prop::collection::vec((any_fault(HEAD, 400), any_fault(HEAD, 5_000_000)), 0..3),
        below in prop::collection::vec((any_fault(HEAD, 400), any_fault(HEAD, 5_000_000)), 0..3),
    ) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
        runtime.block_on(async move {
            let dir = TempDir::new().expect("a folder");
            let from = dir.path().join("from");
            let published = publish(&from, 1, shards, length, 1);
            let (_publisher, address) = publisher(&from).await;
            let plans = |faults: Vec<(Fault, Fault)>| faults.into_iter().map(|(up, down)| Plan { up, down });
            let upper = Proxy::start(address, plans(above)).await;
            let relay = node(dir.path().join("relay"));
            let lower = Proxy::start(relay.listen("127.0.0.1:0").await.expect("listens"), plans(below)).await;
            let leaf = node(dir.path().join("leaf"));
            let wanted = version(1);
            let (to_upper, to_lower) = ([to(upper.address())], [to(lower.address())]);
            let (a, b) = tokio::join!(relay.pull(&wanted, &to_upper), leaf.pull(&wanted, &to_lower));
            a.expect("the relay pulled");
            b.expect("the leaf pulled");
            assert!(contents(&dir.path().join("relay/step_1")) == published);
            assert!(contents(&dir.path().join("leaf/step_1")) == published);
        });
    }
}
