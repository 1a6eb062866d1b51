//! Publishers that follow each other in one root, and versions that another trainer wrote.

use std::fs;
use std::path::Path;

use prl_weights::{
    Dtype, Encoding, INDEX_FILE, Lease, LoadedWeights, PublisherOptions, Staged, TensorToWrite, WeightPublisher,
    WriteOptions, published_versions, write_checkpoint, write_safetensors,
};

use crate::place::{ELEMENTS, Place, SPARSE, canary, weights};

#[test]
fn a_second_publisher_is_refused_and_a_new_one_starts_full() {
    let mut place = Place::new(SPARSE);
    place.publish(0, false);
    place.publish(1, false);
    place.stage(2);
    let error = WeightPublisher::open(place.path(), SPARSE).unwrap_err();
    assert_eq!(error.code(), "PRL_WEIGHTS_IO");
    assert!(error.to_string().contains("another publisher"), "{error}");
    place.restart();
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
fn a_published_version_stays_when_another_process_locked_its_folder() {
    let mut place = Place::new(SPARSE);
    let staged = place.stage(0);
    let folder = fs::File::open(place.path().join(".publisher/step_0")).unwrap();
    folder.lock().unwrap();
    place.publisher.publish(0, staged, Some(canary(0)), false).unwrap();
    drop(folder);
    assert_eq!(place.publish(1, false), Encoding::Sparse);
    assert_eq!(published_versions(place.path()).unwrap(), [0, 1]);
    let (_state, mut receiver) = place.receiver();
    place.check(&receiver.receive(1).unwrap(), 1);
}

#[test]
fn staged_weights_that_differ_from_their_manifest_are_not_published() {
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
    let published = publisher
        .publish_folder(version, folder, Some(canary(version)), false)
        .unwrap();
    published.manifest.encoding
}

/// Writes the weights of `version` with an index, as other programs do: in one shard, or with a second one in which the index leaves out a
/// tensor and one that is called like that of the first.
fn write_indexed(place: &Place, folder: &Path, version: u64, shards: usize) {
    fs::write(folder.join("config.json"), place.config).unwrap();
    let (data, other) = (weights(version, place.period, place.jump), vec![7; 2 * ELEMENTS]);
    let tensor = |name, data| TensorToWrite {
        name,
        dtype: Dtype::BF16,
        shape: &[ELEMENTS],
        data,
    };
    let first = [tensor("w", &data)];
    let second = [tensor("x", &other), tensor("left out", &other), tensor("w", &other)];
    let files = [&first[..], &second[..]].into_iter().take(shards).enumerate();
    for (number, tensors) in files {
        let path = folder.join(format!("model-0000{}-of-0000{shards}.safetensors", number + 1));
        write_safetensors(&path, tensors, &[], WriteOptions::default()).unwrap();
    }
    let listed = [("w", 1), ("x", 2)].into_iter().take(shards);
    let listed: Vec<String> = listed
        .map(|(name, number)| format!("\"{name}\": \"model-0000{number}-of-0000{shards}.safetensors\""))
        .collect();
    let index = format!("{{\"weight_map\": {{{}}}}}", listed.join(", "));
    fs::write(folder.join(INDEX_FILE), index).unwrap();
}

#[test]
fn a_folder_with_an_index_arrives_whole_in_one_shard_or_with_tensors_that_the_index_leaves_out() {
    for shards in [1, 2] {
        let mut place = Place::new(SPARSE);
        let folder = tempfile::tempdir().unwrap();
        let (_state, mut receiver) = place.receiver();
        for version in 0..3 {
            write_indexed(&place, folder.path(), version, shards);
            let published = place
                .publisher
                .publish_folder(version, folder.path(), Some(canary(version)), false)
                .unwrap();
            let is_full = published.manifest.encoding == Encoding::Full;
            assert_eq!(is_full, version == 0, "{shards} shards, version {version}");
            let received = receiver.receive(version).unwrap();
            place.check(&received, version);
            let loaded = LoadedWeights::read(&received.directory, 2).unwrap();
            assert!(loaded.tensor("w").unwrap().data == weights(version, place.period, place.jump));
        }
    }
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

#[test]
fn a_folder_is_sparse_after_a_version_that_was_made_full() {
    let mut place = Place::new(SPARSE);
    place.publish(0, false);
    place.publish(1, false);
    place.publisher.make_newest_full().unwrap().unwrap();
    let folder = tempfile::tempdir().unwrap();
    place.publisher = WeightPublisher::open(folder.path(), SPARSE).unwrap();
    assert_eq!(
        publish_folder(&place, &folder.path().join("source"), 2),
        Encoding::Sparse
    );
    let (_state, mut receiver) = place.receiver();
    place.check(&receiver.receive(2).unwrap(), 2);
}

/// Three versions, of which the last two are sparse, and a new publisher in the place of the one that made them.
fn left_by_another() -> Place {
    let mut place = Place::new(SPARSE);
    for version in 0..3 {
        place.publish(version, false);
    }
    place.restart();
    place
}

#[test]
fn a_publisher_that_takes_the_newest_version_over_goes_on_from_it_and_makes_it_full() {
    let mut place = left_by_another();
    let again = place.publisher.stage_again(2).unwrap();
    let staged = place.save(&again, 2);
    assert!(place.publisher.take_over(2, staged).unwrap());
    assert_eq!(published_versions(place.path()).unwrap(), [0, 1, 2]);
    assert_eq!(place.publish(3, false), Encoding::Sparse);
    let (_state, mut receiver) = place.receiver();
    place.check(&receiver.receive(3).unwrap(), 3);

    // What the version builds on is gone, so only the saved folder has its weights.
    place.restart();
    fs::remove_dir_all(place.directory(1)).unwrap();
    let again = place.publisher.stage_again(3).unwrap();
    let staged = place.save(&again, 3);
    assert!(place.publisher.take_over(3, staged).unwrap());
    let (_state, mut late) = place.receiver();
    assert_eq!(late.receive(3).unwrap_err().code(), "PRL_WEIGHTS_BASE");
    late.request_full().unwrap();
    assert!(place.publisher.serve_full_request().unwrap().is_some());
    place.check(&late.receive(3).unwrap(), 3);
    assert_eq!(place.publish(4, false), Encoding::Sparse);
    place.check(&late.receive(4).unwrap(), 4);
}

#[test]
fn a_version_is_not_taken_over_with_other_weights_or_other_files_beside_them() {
    let mut place = left_by_another();
    let again = place.publisher.stage_again(2).unwrap();
    let staged = place.save(&again, 1);
    let error = place.publisher.take_over(2, staged).unwrap_err();
    assert_eq!(error.code(), "PRL_WEIGHTS_DIGEST");
    let again = place.publisher.stage_again(2).unwrap();
    let staged = place.save(&again, 2);
    fs::write(again.join("config.json"), "{}").unwrap();
    assert!(!place.publisher.take_over(2, staged).unwrap());
    assert!(!again.exists());
    assert_eq!(place.publish(3, false), Encoding::Full);
}

#[test]
fn a_publisher_that_has_published_nothing_makes_the_newest_version_of_its_root_full() {
    let mut place = left_by_another();
    let (_state, mut receiver) = place.receiver();
    receiver.request_full().unwrap();
    let delta = place.directory(1).join("delta.safetensors");
    let bytes = fs::read(&delta).unwrap();
    fs::write(&delta, &bytes[1..]).unwrap();
    // A request that cannot be served stays.
    place.publisher.serve_full_request().expect_err("the root is damaged");
    fs::write(&delta, &bytes).unwrap();
    let manifest = place.publisher.serve_full_request().unwrap().unwrap();
    assert_eq!((manifest.version, manifest.encoding), (2, Encoding::Full));
    assert!(place.publisher.serve_full_request().unwrap().is_none());
    place.check(&receiver.receive(2).unwrap(), 2);
    assert_eq!(place.publish(3, false), Encoding::Sparse);
}

#[test]
fn versions_of_an_earlier_attempt_go_from_the_newest_on_so_that_none_loses_its_base() {
    let mut place = Place::new(SPARSE);
    for version in 0..3 {
        place.publish(version, false);
    }
    // A directory cannot take the place of a link, so version 2 cannot be retired.
    std::os::unix::fs::symlink("nowhere", place.path().join(".publisher/retired_2-0")).unwrap();
    assert_eq!(place.publisher.stage(1).unwrap_err().code(), "PRL_WEIGHTS_IO");
    assert_eq!(published_versions(place.path()).unwrap(), [0, 1, 2]);
}

#[test]
fn a_version_after_one_of_other_elements_is_compared_with_none_that_retention_removed() {
    let mut place = Place::new(PublisherOptions { keep: 1, ..SPARSE });
    place.publish(0, false);
    place.publish(1, false);
    place.dtype = Dtype::F32;
    assert_eq!(place.publish(2, false), Encoding::Full);
    place.dtype = Dtype::BF16;
    assert_eq!(published_versions(place.path()).unwrap(), [2]);
    let (_state, mut receiver) = place.receiver();
    receiver.request_full().unwrap();
    assert!(place.publisher.serve_full_request().unwrap().is_none(), "it is full");
    assert_eq!(place.publish(3, false), Encoding::Full);
    place.check(&receiver.receive(3).unwrap(), 3);
}

#[test]
fn a_folder_with_a_link_that_leads_nowhere_is_not_published() {
    let mut place = Place::new(SPARSE);
    let folder = tempfile::tempdir().unwrap();
    place.save(folder.path(), 0);
    std::os::unix::fs::symlink("blobs/tokenizer", folder.path().join("tokenizer.json")).unwrap();
    let error = place
        .publisher
        .publish_folder(0, folder.path(), None, false)
        .unwrap_err();
    assert!(error.to_string().contains("tokenizer.json"), "{error}");
    assert!(published_versions(place.path()).unwrap().is_empty());
    assert!(!place.path().join(".publisher/copy_0").exists(), "no part of it stays");
}
