//! Versions that retention removes everywhere while they are pulled.

mod support;

use std::fs;
use std::path::Path;
use std::time::Duration;

use prl_transport::{CHUNK_BYTES, Credentials, Times, Wanted, WeightNode};
use support::proxy::{Fault, Plan, Proxy};
use support::{QUICK, contents, node, publish, publish_on, to, version};
use tempfile::TempDir;
use tokio::time::{sleep, timeout};

const CHUNK: usize = CHUNK_BYTES as usize;
/// A node that waited for its patience would not end in this time.
const SOON: Duration = Duration::from_secs(60);
const PATIENT: Times = Times {
    patience: Duration::from_secs(600),
    ..QUICK
};

/// A source that stands still in the midst of the version which is asked for after so many connections.
async fn publisher_behind_a_proxy(root: &Path, before: usize) -> (WeightNode, Proxy) {
    let publisher = node(root);
    let address = publisher.listen("127.0.0.1:0").await.expect("listens");
    let mut plans = vec![Plan::down(Fault::None); before];
    plans.push(Plan::down(Fault::Hang(2 * CHUNK_BYTES)));
    (publisher, Proxy::start(address, plans).await)
}

async fn until_half_is_through(proxy: &Proxy) {
    while proxy.carried() < CHUNK_BYTES {
        sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_is_removed_in_the_midst_of_a_pull_is_named_as_missing() {
    let dir = TempDir::new().expect("a folder");
    let from = dir.path().join("from");
    publish(&from, 1, 1, 4 * CHUNK, 1);
    let (_publisher, proxy) = publisher_behind_a_proxy(&from, 1).await;
    let receiver = WeightNode::new(dir.path().join("into"), Credentials::default(), PATIENT);
    let wanted = Wanted {
        wait: Some(Duration::ZERO),
        ..version(1)
    };
    let sources = [to(proxy.address())];
    let removed = async {
        until_half_is_through(&proxy).await;
        fs::remove_dir_all(from.join("step_1")).expect("removed");
    };
    let (pulled, ()) = tokio::join!(timeout(SOON, receiver.pull(&wanted, &sources)), removed);
    let error = pulled.expect("it is given up").expect_err("it is gone");
    assert_eq!(error.code(), "PRL_TRANSPORT_VERSION", "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sparse_version_is_pulled_in_full_when_its_base_is_removed_in_the_midst_of_a_pull() {
    let dir = TempDir::new().expect("a folder");
    let from = dir.path().join("from");
    publish(&from, 1, 1, 4 * CHUNK, 1);
    publish_on(&from, (2, Some(1)), 1, 800, 1);
    let (_publisher, proxy) = publisher_behind_a_proxy(&from, 2).await;
    let receiver = WeightNode::new(dir.path().join("into"), Credentials::default(), PATIENT);
    let (wanted, sources) = (version(2), [to(proxy.address())]);
    let publishing = async {
        until_half_is_through(&proxy).await;
        fs::remove_dir_all(from.join("step_1")).expect("removed");
        while !from.join("full.request").exists() {
            sleep(Duration::from_millis(5)).await;
        }
        fs::remove_dir_all(from.join("step_2")).expect("removed");
        publish(&from, 2, 1, 9000, 1)
    };
    let (pulled, full) = tokio::join!(timeout(SOON, receiver.pull(&wanted, &sources)), publishing);
    let pulled = pulled.expect("it ends").expect("pulled");
    assert!(contents(&pulled.directory) == full);
}
