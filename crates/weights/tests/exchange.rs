//! A publisher and its receivers: every version arrives whole, even when files are deleted, damaged or late.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use prl_weights::{
    Canary, Checkpoint, Dtype, Encoding, Lease, MANIFEST_FILE, PublisherOptions, Received, Staged, TensorToWrite,
    WeightPublisher, WeightReceiver, published_versions, read_manifest, remove_version, retain_versions,
    version_directory, write_checkpoint,
};
use tempfile::TempDir;

const ELEMENTS: usize = 200_000;
const SPARSE: PublisherOptions = PublisherOptions {
    keep: 2,
    sparse: true,
    threads: 2,
};

/// Weights of version `version`: about one in `period` elements differs from the version before. Each change moves the bit
/// pattern by a multiple of `jump`.
fn weights(version: u64, period: u64, jump: u16) -> Vec<u8> {
    let element = |index: u64| {
        let mix = |value: u64| {
            value
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .rotate_left(31)
                .wrapping_mul(0xbf58_476d_1ce4_e5b9)
        };
        let changes = (1..=version)
            .filter(|&step| (mix(index ^ mix(step)) >> 20).is_multiple_of(period))
            .count();
        (mix(index) >> 40) as u16 ^ (changes as u16).wrapping_mul(jump)
    };
    (0..ELEMENTS as u64)
        .flat_map(|index| element(index).to_le_bytes())
        .collect()
}

struct Place {
    root: TempDir,
    publisher: WeightPublisher,
    dtype: Dtype,
    period: u64,
    jump: u16,
    config: &'static str,
}

impl Place {
    fn new(options: PublisherOptions) -> Self {
        let root = tempfile::tempdir().unwrap();
        Self {
            publisher: WeightPublisher::open(root.path(), options).unwrap(),
            root,
            dtype: Dtype::BF16,
            period: 60,
            jump: 1,
            config: "{\"rope_theta\": 10000}",
        }
    }

    fn path(&self) -> &Path {
        self.root.path()
    }

    fn directory(&self, version: u64) -> PathBuf {
        version_directory(self.path(), version)
    }

    fn stage(&mut self, version: u64) -> Staged {
        let directory = self.publisher.stage(version).unwrap();
        fs::write(directory.join("config.json"), self.config).unwrap();
        let data = weights(version, self.period, self.jump);
        let shape = [data.len() * 8 / self.dtype.bits()];
        let tensors = [TensorToWrite {
            name: "w",
            dtype: self.dtype,
            shape: &shape,
            data: &data,
        }];
        let written = write_checkpoint(&directory, &tensors, u64::MAX).unwrap();
        Staged {
            digest: written.digest,
            shards: written.shards,
        }
    }

    fn publish(&mut self, version: u64, full: bool) -> Encoding {
        let staged = self.stage(version);
        let canary = Canary {
            token_ids: vec![1],
            logprobs: vec![-(version as f32)],
            isa: "avx2".to_owned(),
            dtype: "bfloat16".to_owned(),
        };
        self.publisher
            .publish(version, staged, Some(canary), full)
            .unwrap()
            .manifest
            .encoding
    }

    fn receiver(&self) -> (TempDir, WeightReceiver) {
        let state = tempfile::tempdir().unwrap();
        let receiver = WeightReceiver::open(self.path(), state.path(), 2).unwrap();
        (state, receiver)
    }

    fn check(&self, received: &Received, version: u64) {
        assert_eq!(
            (received.manifest.version, received.manifest.encoding),
            (version, Encoding::Full)
        );
        assert_eq!(received.manifest.canary.as_ref().unwrap().logprobs, [-(version as f32)]);
        received.manifest.verify_shards(&received.directory).unwrap();
        received.manifest.verify_version(&received.directory).unwrap();
        let checkpoint = Checkpoint::open(&received.directory).unwrap();
        assert!(checkpoint.tensor("w").unwrap().data == weights(version, self.period, self.jump));
        received.manifest.verify_files(&received.directory).unwrap();
        received.manifest.refuse_unlisted(&received.directory).unwrap();
        let config = fs::read_to_string(received.directory.join("config.json")).unwrap();
        assert_eq!(config, self.config);
    }
}

#[test]
fn a_full_version_is_digested_once_on_a_machine_and_again_when_it_was_touched() {
    let mut place = Place::new(SPARSE);
    assert_eq!(place.publish(0, true), Encoding::Full);
    let directory = place.directory(0);
    assert!(directory.join(".verified.json").is_file(), "the publisher digested it");
    let (_state, mut receiver) = place.receiver();
    let received = receiver.receive(0).unwrap();
    received.manifest.verify_shards_once(&received.directory).unwrap();
    thread::sleep(std::time::Duration::from_millis(25));
    let shard = directory.join("model.safetensors");
    let mut bytes = fs::read(&shard).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&shard, bytes).unwrap();
    let error = received.manifest.verify_shards_once(&received.directory).unwrap_err();
    assert_eq!(error.code(), "PRL_WEIGHTS_DIGEST");
}

#[test]
fn every_version_arrives_and_all_but_the_first_are_sparse() {
    let mut place = Place::new(SPARSE);
    let (_state, mut receiver) = place.receiver();
    for version in 0..6 {
        let encoding = place.publish(version, false);
        assert_eq!(encoding == Encoding::Full, version == 0);
        place.check(&receiver.receive(version).unwrap(), version);
    }
    let sparse: u64 = read_manifest(&place.directory(5))
        .unwrap()
        .shards
        .iter()
        .map(|shard| shard.bytes)
        .sum();
    assert!(sparse < ELEMENTS as u64 * 2 / 50, "{sparse} bytes");
}

#[test]
fn a_late_receiver_and_one_that_missed_versions_catch_up() {
    let mut place = Place::new(SPARSE);
    let (_state, mut sleepy) = place.receiver();
    for version in 0..8 {
        place.publish(version, version == 4);
        if version == 5 {
            place.check(&sleepy.receive(5).unwrap(), 5);
        }
    }
    place.check(&sleepy.receive(7).unwrap(), 7);
    let (_state, mut late) = place.receiver();
    place.check(&late.receive(7).unwrap(), 7);
    // Versions 6 and 7 are built on 4, which is full.
    assert_eq!(published_versions(place.path()).unwrap(), [4, 5, 6, 7]);
    assert_eq!(late.receive(3).unwrap_err().code(), "PRL_WEIGHTS_MANIFEST");
}

#[test]
fn a_receiver_that_lacks_the_base_asks_for_the_full_version() {
    let mut place = Place::new(SPARSE);
    for version in 0..3 {
        place.publish(version, false);
    }
    assert!(remove_version(&place.directory(1)).unwrap());
    let (_state, mut receiver) = place.receiver();
    let error = receiver.receive(2).unwrap_err();
    assert_eq!(error.code(), "PRL_WEIGHTS_BASE");
    assert!(error.to_string().contains("version 1"), "{error}");
    assert!(place.publisher.serve_full_request().unwrap().is_none());
    receiver.request_full().unwrap();
    let manifest = place.publisher.serve_full_request().unwrap().unwrap();
    assert_eq!((manifest.version, manifest.encoding), (2, Encoding::Full));
    let received = receiver.receive(2).unwrap();
    place.check(&received, 2);
    assert_eq!(received.directory, place.directory(2));
    assert!(place.publisher.serve_full_request().unwrap().is_none());
    // The chain continues from there, and a request between two versions makes the next one full.
    assert_eq!(place.publish(3, false), Encoding::Sparse);
    receiver.request_full().unwrap();
    assert_eq!(place.publish(4, false), Encoding::Full);
    place.check(&receiver.receive(4).unwrap(), 4);
}

#[test]
fn a_full_version_is_asked_for_until_it_is_there() {
    let mut place = Place::new(SPARSE);
    place.publish(0, false);
    place.publish(1, false);
    let (_state, mut receiver) = place.receiver();
    receiver.request_full().unwrap();
    let away = place.path().join("away");
    fs::rename(place.directory(1), &away).unwrap();
    assert_eq!(
        place.publisher.serve_full_request().unwrap_err().code(),
        "PRL_WEIGHTS_IO"
    );
    fs::rename(&away, place.directory(1)).unwrap();
    let manifest = place.publisher.serve_full_request().unwrap().unwrap();
    assert_eq!((manifest.version, manifest.encoding), (1, Encoding::Full));
    place.check(&receiver.receive(1).unwrap(), 1);
}

#[test]
fn the_last_version_can_be_made_full_afterwards() {
    let mut place = Place::new(SPARSE);
    place.publish(0, false);
    assert!(place.publisher.make_newest_full().unwrap().is_none());
    place.publish(1, false);
    let sparse = read_manifest(&place.directory(1)).unwrap();
    let full = place.publisher.make_newest_full().unwrap().unwrap();
    assert_eq!((full.encoding, &full.digest), (Encoding::Full, &sparse.digest));
    full.verify_shards(&place.directory(1)).unwrap();
    full.verify_version(&place.directory(1)).unwrap();
}

#[test]
fn a_delta_that_stops_paying_is_replaced_by_a_full_version() {
    let mut place = Place::new(SPARSE);
    // Each delta has about 40 % of the full version's bytes: ten of them are a chain that is cut.
    (place.period, place.jump) = (5, 40_503);
    let encodings: Vec<Encoding> = (0..14).map(|version| place.publish(version, false)).collect();
    let full: Vec<usize> = (0..14)
        .filter(|&version| encodings[version] == Encoding::Full)
        .collect();
    assert!(full.len() == 2 && (8..13).contains(&full[1]), "{encodings:?}");
    let (_state, mut receiver) = place.receiver();
    place.check(&receiver.receive(13).unwrap(), 13);
    // Nearly every element changes a lot, so that not even one sparse version is worth it.
    place.period = 1;
    assert_eq!(place.publish(14, false), Encoding::Full);
}

#[test]
fn a_chain_of_small_deltas_ends_at_its_longest() {
    let root = tempfile::tempdir().unwrap();
    let mut publisher = WeightPublisher::open(root.path(), SPARSE).unwrap();
    let mut data = vec![0_u8; 20_000];
    let full: Vec<u64> = (0..=66_u64)
        .filter(|&version| {
            data[..8].copy_from_slice(&version.to_le_bytes());
            let tensor = TensorToWrite {
                name: "w",
                dtype: Dtype::BF16,
                shape: &[10_000],
                data: &data,
            };
            let directory = publisher.stage(version).unwrap();
            let written = write_checkpoint(&directory, &[tensor], u64::MAX).unwrap();
            let staged = Staged {
                digest: written.digest,
                shards: written.shards,
            };
            let published = publisher.publish(version, staged, None, false).unwrap();
            published.manifest.encoding == Encoding::Full
        })
        .collect();
    assert_eq!(full, [0, 65]);
    let state = tempfile::tempdir().unwrap();
    let received = WeightReceiver::open(root.path(), state.path(), 1)
        .unwrap()
        .receive(66)
        .unwrap();
    assert!(Checkpoint::open(&received.directory).unwrap().tensor("w").unwrap().data == data);
}

#[test]
fn weights_of_32_bits_are_published_in_full() {
    let mut place = Place::new(SPARSE);
    place.dtype = Dtype::F32;
    for version in 0..3 {
        assert_eq!(place.publish(version, false), Encoding::Full);
    }
    assert_eq!(published_versions(place.path()).unwrap(), [1, 2]);
}

#[test]
fn what_someone_reads_is_not_removed_until_he_is_done() {
    let mut place = Place::new(PublisherOptions {
        keep: 1,
        sparse: false,
        threads: 1,
    });
    place.publish(0, false);
    let (_state, mut receiver) = place.receiver();
    let received = receiver.receive(0).unwrap();
    for version in 1..4 {
        place.publish(version, false);
    }
    assert_eq!(published_versions(place.path()).unwrap(), [0, 3]);
    place.check(&received, 0);
    drop(received);
    assert_eq!(retain_versions(place.path(), 1).unwrap(), [0]);
    assert!(!place.directory(0).exists());
    assert!(Lease::take(&place.directory(0)).unwrap().is_none());
}

#[test]
fn a_damaged_folder_of_the_receiver_is_made_again() {
    let mut place = Place::new(SPARSE);
    for version in 0..3 {
        place.publish(version, false);
    }
    let (state, mut receiver) = place.receiver();
    let directory = receiver.receive(2).unwrap().directory.clone();
    assert!(directory.starts_with(state.path()));
    let path = directory.join("model.safetensors");
    let mut bytes = fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&path, bytes).unwrap();
    let mut restarted = WeightReceiver::open(place.path(), state.path(), 2).unwrap();
    place.check(&restarted.receive(2).unwrap(), 2);
    // Another one was left unfinished by a kill.
    fs::create_dir(state.path().join(".step_3")).unwrap();
    place.publish(3, false);
    place.check(&restarted.receive(3).unwrap(), 3);
}

#[test]
fn damage_on_the_way_has_a_name_and_a_full_version_mends_it() {
    let mut place = Place::new(SPARSE);
    place.publish(0, false);
    place.publish(1, false);
    let path = place.directory(1).join("delta.safetensors");
    let mut bytes = fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&path, bytes).unwrap();
    let (_state, mut receiver) = place.receiver();
    assert_eq!(receiver.receive(1).unwrap_err().code(), "PRL_WEIGHTS_DIGEST");
    receiver.request_full().unwrap();
    place.publisher.serve_full_request().unwrap().unwrap();
    place.check(&receiver.receive(1).unwrap(), 1);
}

#[test]
fn a_second_publisher_is_refused_and_a_new_one_starts_full() {
    let mut place = Place::new(SPARSE);
    place.publish(0, false);
    place.publish(1, false);
    place.stage(2);
    let error = WeightPublisher::open(place.path(), SPARSE).unwrap_err();
    assert_eq!(error.code(), "PRL_WEIGHTS_IO");
    assert!(error.to_string().contains("another publisher"), "{error}");
    let Place { root, publisher, .. } = place;
    drop(publisher);
    let publisher = WeightPublisher::open(root.path(), SPARSE).unwrap();
    let mut place = Place {
        root,
        publisher,
        dtype: Dtype::BF16,
        period: 60,
        jump: 1,
        config: "{\"rope_theta\": 10000}",
    };
    assert!(!place.path().join(".publisher/step_2").exists());
    assert_eq!(place.publish(2, false), Encoding::Full);
}

#[test]
fn versions_of_an_earlier_attempt_are_gone_as_soon_as_theirs_is_staged_again() {
    let mut place = Place::new(SPARSE);
    place.publish(0, false);
    place.publish(1, false);
    let reader = Lease::take(&place.directory(1)).unwrap().unwrap();
    assert!(reader.is_current().unwrap());
    place.publish(2, false);
    place.period = 50;
    let staged = place.stage(1);
    assert_eq!(published_versions(place.path()).unwrap(), [0]);
    assert!(!reader.is_current().unwrap());
    assert_eq!(
        place
            .publisher
            .publish(1, staged, None, false)
            .unwrap()
            .manifest
            .encoding,
        Encoding::Full
    );
    assert_eq!(place.publish(1, false), Encoding::Full);
    let (_state, mut receiver) = place.receiver();
    place.check(&receiver.receive(1).unwrap(), 1);
}

#[test]
fn staged_weights_that_are_not_what_was_promised_are_not_published() {
    let mut place = Place::new(SPARSE);
    place.publish(0, false);
    let staged = place.stage(1);
    let wrong = Staged {
        digest: "0123456789abcdef".to_owned(),
        ..staged
    };
    let error = place.publisher.publish(1, wrong, None, false).unwrap_err();
    assert_eq!(error.code(), "PRL_WEIGHTS_DIGEST");
    assert_eq!(published_versions(place.path()).unwrap(), [0]);
    assert_eq!(place.publish(1, false), Encoding::Sparse);
}

/// Readers race with the publisher and with retention. Each gets the whole version that it asked for.
#[test]
fn readers_never_see_half_a_version() {
    const VERSIONS: u64 = 25;
    let mut place = Place::new(PublisherOptions { keep: 1, ..SPARSE });
    place.publish(0, false);
    let newest = AtomicU64::new(0);
    let root = place.path().to_path_buf();
    let shared = tempfile::tempdir().unwrap();
    let read = |number: u64| {
        let own = tempfile::tempdir().unwrap();
        // Two share a state directory, the others have their own.
        let state = if number < 2 { shared.path() } else { own.path() };
        let mut receiver = WeightReceiver::open(&root, state, 1).unwrap();
        let mut count = 0;
        while newest.load(Ordering::Relaxed) < VERSIONS {
            let version = newest.load(Ordering::Relaxed);
            match receiver.receive(version) {
                Ok(received) => {
                    assert_eq!(received.manifest.version, version);
                    received.manifest.verify_shards(&received.directory).unwrap();
                    received.manifest.verify_version(&received.directory).unwrap();
                    assert!(received.directory.join(MANIFEST_FILE).exists());
                    count += 1;
                }
                // The version was superseded and removed before it was leased.
                Err(error) => assert!(
                    ["PRL_WEIGHTS_MANIFEST", "PRL_WEIGHTS_BASE"].contains(&error.code()),
                    "{error}"
                ),
            }
        }
        count
    };
    thread::scope(|scope| {
        let readers: Vec<_> = (0..4).map(|number| scope.spawn(move || read(number))).collect();
        for version in 1..=VERSIONS {
            place.publish(version, version % 6 == 0);
            newest.store(version, Ordering::Relaxed);
        }
        for reader in readers {
            assert!(reader.join().unwrap() > 0);
        }
    });
}

#[test]
fn a_changed_config_travels_with_a_full_version() {
    let mut place = Place::new(SPARSE);
    assert_eq!(place.publish(0, false), Encoding::Full);
    assert_eq!(place.publish(1, false), Encoding::Sparse);
    place.config = "{\"rope_theta\": 500000}";
    assert_eq!(place.publish(2, false), Encoding::Full);
    let (_state, mut receiver) = place.receiver();
    place.check(&receiver.receive(2).unwrap(), 2);
    assert_eq!(place.publish(3, false), Encoding::Sparse);
    place.check(&receiver.receive(3).unwrap(), 3);
}

#[test]
fn a_base_whose_config_was_changed_gives_no_folder() {
    let mut place = Place::new(SPARSE);
    for version in 0..2 {
        place.publish(version, false);
    }
    fs::write(place.directory(0).join("config.json"), "{\"rope_theta\": 1}").unwrap();
    let (_state, mut receiver) = place.receiver();
    let error = receiver.receive(1).unwrap_err();
    assert!(error.to_string().contains("config.json"), "{error}");
}

/// Publishes a folder with the weights of `version` by a new publisher.
fn publish_folder(place: &Place, folder: &Path, version: u64) -> Encoding {
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("config.json"), place.config).unwrap();
    let data = weights(version, place.period, place.jump);
    let tensor = TensorToWrite {
        name: "w",
        dtype: Dtype::BF16,
        shape: &[ELEMENTS],
        data: &data,
    };
    write_checkpoint(folder, &[tensor], u64::MAX).unwrap();
    let mut publisher = WeightPublisher::open(place.path(), SPARSE).unwrap();
    let canary = Canary {
        token_ids: vec![1],
        logprobs: vec![-(version as f32)],
        isa: "avx2".to_owned(),
        dtype: "bfloat16".to_owned(),
    };
    let published = publisher.publish_folder(version, folder, Some(canary), false).unwrap();
    published.manifest.encoding
}

#[test]
fn a_folder_is_compared_with_the_newest_version_whoever_published_it() {
    let mut place = Place::new(SPARSE);
    let folder = tempfile::tempdir().unwrap();
    // Another publisher holds the root.
    place.publisher = WeightPublisher::open(folder.path(), SPARSE).unwrap();
    let source = folder.path().join("source");
    let (_state, mut receiver) = place.receiver();
    for version in 0..5 {
        let expected = if version == 0 { Encoding::Full } else { Encoding::Sparse };
        assert_eq!(publish_folder(&place, &source, version), expected, "version {version}");
        place.check(&receiver.receive(version).unwrap(), version);
    }
    let (_late, mut late) = place.receiver();
    place.check(&late.receive(4).unwrap(), 4);
    // The publishers leave nothing but their own folder.
    place.config = "{\"rope_theta\": 500000}";
    assert_eq!(publish_folder(&place, &source, 5), Encoding::Full);
    assert_eq!(publish_folder(&place, &source, 6), Encoding::Sparse);
    place.check(&late.receive(6).unwrap(), 6);
    // A damaged version is no base; the version after it mends the root.
    let path = place.directory(5).join("model.safetensors");
    let mut bytes = fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&path, bytes).unwrap();
    assert_eq!(publish_folder(&place, &source, 7), Encoding::Full);
    place.check(&late.receive(7).unwrap(), 7);
}
