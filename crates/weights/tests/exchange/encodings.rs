//! Which versions are sparse and which are full: every one arrives whole.

use std::fs;

use prl_weights::{
    Checkpoint, Dtype, Encoding, Staged, TensorToWrite, WeightPublisher, WeightReceiver, published_versions,
    read_manifest, remove_version, write_checkpoint,
};

use crate::place::{ELEMENTS, Place, SPARSE};

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
