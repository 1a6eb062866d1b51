//! PEFT adapters between machines: whole through a relay, over cuts and corrupted bytes, with the config that they need.

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use prl_transport::{CHUNK_BYTES, Credentials, Times, WeightNode};
use prl_weights::{
    ADAPTER_CONFIG_FILE, ADAPTER_WEIGHTS_FILE, Dtype, Encoding, MANIFEST_FILE, PublisherOptions, TensorToWrite,
    WeightPublisher, WriteOptions, write_safetensors,
};
use proptest::prelude::*;
use support::proxy::{Fault, Plan, Proxy};
use support::{QUICK, contents, node, noise, to, version};
use tempfile::TempDir;

const LENGTH: usize = 5 * CHUNK_BYTES as usize + 10;
/// Our serializer would not reproduce this text.
const CONFIG: &str = "{\n\t\"peft_type\" : \"LORA\",\"r\":8, \"lora_alpha\": 16.0 }\r\n";

/// Publishes versions 1 to `versions` of a 16-bit adapter that hardly differ; returns the files of the last.
fn publish(dir: &Path, versions: u64) -> BTreeMap<String, Vec<u8>> {
    let (folder, root) = (dir.join("trained"), dir.join("from"));
    let options = PublisherOptions {
        keep: 8,
        sparse: true,
        threads: 1,
    };
    let mut publisher = WeightPublisher::open(&root, options).expect("a root");
    fs::create_dir_all(&folder).expect("a folder");
    for version in 1..=versions {
        let mut data = noise(LENGTH, 1);
        data[0] = u8::try_from(version).expect("few");
        let tensor = TensorToWrite {
            name: "base_model.model.q_proj.lora_A.weight",
            dtype: Dtype::BF16,
            shape: &[LENGTH / 2],
            data: &data,
        };
        let path = folder.join(ADAPTER_WEIGHTS_FILE);
        write_safetensors(&path, &[tensor], &[], WriteOptions::default()).expect("tensors");
        fs::write(folder.join(ADAPTER_CONFIG_FILE), CONFIG).expect("a config");
        fs::write(folder.join("tokenizer_config.json"), "{}").expect("a file beside them");
        publisher
            .publish_folder(version, &folder, None, false)
            .expect("published");
    }
    contents(&root.join(format!("step_{versions}")))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn come_whole_through_a_relay_and_need_no_version_before_them() {
    let dir = TempDir::new().expect("a folder");
    let published = publish(dir.path(), 2);
    let origin = node(dir.path().join("from"));
    let address = origin.listen("127.0.0.1:0").await.expect("listens");
    let relay = node(dir.path().join("relay"));
    let relayed = relay.listen("127.0.0.1:0").await.expect("listens");
    let leaf = node(dir.path().join("leaf"));
    let (wanted, above, below) = (version(2), [to(address)], [to(relayed)]);
    let (upper, lower) = tokio::join!(relay.pull(&wanted, &above), leaf.pull(&wanted, &below));
    for pulled in [upper.expect("relayed"), lower.expect("pulled")] {
        assert_eq!(pulled.manifest.encoding, Encoding::Peft);
        assert!(contents(&pulled.directory) == published);
        let names: Vec<&String> = published.keys().collect();
        assert_eq!(
            names,
            [
                ADAPTER_CONFIG_FILE,
                ADAPTER_WEIGHTS_FILE,
                MANIFEST_FILE,
                "tokenizer_config.json"
            ]
        );
        assert_eq!(published[ADAPTER_CONFIG_FILE], CONFIG.as_bytes());
        pulled.manifest.verify_shards(&pulled.directory).expect("sound");
        pulled.manifest.verify_version(&pulled.directory).expect("sound");
    }
    assert!(!dir.path().join("leaf/step_1").exists(), "the last one stands alone");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn that_were_cut_are_resumed_by_the_next_process() {
    let dir = TempDir::new().expect("a folder");
    let published = publish(dir.path(), 1);
    let origin = node(dir.path().join("from"));
    let address = origin.listen("127.0.0.1:0").await.expect("listens");
    let into = dir.path().join("into");
    let arrived = || {
        let staged = fs::read_dir(&into).expect("a root").flatten();
        let lengths = staged.filter_map(|entry| fs::metadata(entry.path().join(ADAPTER_WEIGHTS_FILE)).ok());
        lengths.map(|file| file.len()).max().unwrap_or(0)
    };
    // A cut connection loses the bytes that a slow reader has not read; then the test tries again.
    for _ in 0..50 {
        let plans = [Plan::down(Fault::None), Plan::down(Fault::Cut(3 * CHUNK_BYTES))];
        let cut = Proxy::start(address, plans).await;
        let times = Times {
            patience: Duration::ZERO,
            ..QUICK
        };
        let first = WeightNode::new(&into, Credentials::default(), times);
        first.pull(&version(1), &[to(cut.address())]).await.expect_err("cut");
        first.close().await;
        if arrived() >= CHUNK_BYTES {
            break;
        }
    }
    let before = arrived();
    assert!((CHUNK_BYTES..LENGTH as u64).contains(&before), "{before} bytes");
    assert!(!into.join("step_1").exists());
    let watched = Proxy::start(address, []).await;
    let pulled = node(&into).pull(&version(1), &[to(watched.address())]).await;
    assert!(contents(&pulled.expect("pulled").directory) == published);
    let carried = watched.carried();
    assert!(carried < LENGTH as u64 - before / 2, "{carried} bytes were sent again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn adapters_without_a_sound_config_are_not_served() {
    let changed = |path: &Path| fs::write(path, CONFIG.replace("16.0", "32.0")).expect("changed");
    let gone = |path: &Path| fs::remove_file(path).expect("removed");
    let damages: [fn(&Path); 2] = [changed, gone];
    for damage in damages {
        let dir = TempDir::new().expect("a folder");
        publish(dir.path(), 1);
        damage(&dir.path().join("from/step_1").join(ADAPTER_CONFIG_FILE));
        let origin = node(dir.path().join("from"));
        let address = origin.listen("127.0.0.1:0").await.expect("listens");
        let times = Times {
            patience: Duration::from_millis(300),
            ..QUICK
        };
        let into = dir.path().join("into");
        let receiver = WeightNode::new(&into, Credentials::default(), times);
        let error = receiver.pull(&version(1), &[to(address)]).await.expect_err("damaged");
        assert!(error.to_string().contains(ADAPTER_CONFIG_FILE), "{error}");
        assert!(!into.join("step_1").exists());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if std::env::var_os("PRL_TEST_LONG").is_some() { 100 } else { 8 }, max_shrink_iters: 10, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arrive_byte_for_byte_over_corrupted_and_broken_connections(
        faults in prop::collection::vec((0..6_000_000_u64, 0..4_u8), 1..4),
    ) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
        runtime.block_on(async move {
            let dir = TempDir::new().expect("a folder");
            let published = publish(dir.path(), 1);
            let origin = node(dir.path().join("from"));
            let address = origin.listen("127.0.0.1:0").await.expect("listens");
            let fault = |(at, kind)| match kind {
                0 => Fault::Corrupt(at),
                1 => Fault::Cut(at),
                2 => Fault::Repeat(at),
                _ => Fault::Reorder(at),
            };
            let proxy = Proxy::start(address, faults.into_iter().map(|planned| Plan::down(fault(planned)))).await;
            let into = node(dir.path().join("into"));
            let pulled = into.pull(&version(1), &[to(proxy.address())]).await.expect("pulled");
            assert!(contents(&pulled.directory) == published);
        });
    }
}
