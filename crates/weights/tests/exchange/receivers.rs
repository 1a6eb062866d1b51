//! Receivers that are late, read for long, or find damage.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use prl_weights::{
    Encoding, Lease, MANIFEST_FILE, PublisherOptions, SafetensorsFile, WeightReceiver, digest, published_versions,
    read_manifest, retain_versions, version_directory, write_manifest,
};

use crate::place::{Place, SPARSE};
#[cfg(target_os = "linux")]
use crate::refused_call::without;

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
fn a_version_is_not_removed_while_it_is_read() {
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
fn a_folder_that_is_still_read_makes_room_for_the_one_of_a_later_attempt() {
    let mut place = Place::new(SPARSE);
    place.publish(0, false);
    place.publish(1, false);
    let (state, mut receiver) = place.receiver();
    let held = receiver.receive(1).unwrap();
    place.period = 50;
    place.publish(0, false);
    assert_eq!(place.publish(1, false), Encoding::Sparse);
    let replacing = receiver.receive(1).unwrap();
    place.check(&replacing, 1);
    assert!(!held.lease.is_current().unwrap() && replacing.lease.is_current().unwrap());
    let replaced = || {
        let names = fs::read_dir(state.path()).unwrap();
        names.filter(|name| {
            name.as_ref()
                .unwrap()
                .file_name()
                .to_string_lossy()
                .starts_with(".replaced")
        })
    };
    assert_eq!(replaced().count(), 1, "it stays while it is read");
    drop(held);
    place.publish(2, false);
    place.check(&receiver.receive(2).unwrap(), 2);
    assert_eq!(replaced().count(), 0);
}

#[test]
fn what_killed_receivers_left_is_removed() {
    let mut place = Place::new(SPARSE);
    place.publish(0, false);
    place.publish(1, false);
    let (state, mut receiver) = place.receiver();
    place.check(&receiver.receive(1).unwrap(), 1);
    // One receiver was killed while it made a folder of another version, one while it removed an old folder.
    for name in [".step_7", "step_0"] {
        fs::create_dir(state.path().join(name)).unwrap();
        fs::write(state.path().join(name).join("model.safetensors"), "half").unwrap();
    }
    place.publish(2, false);
    place.check(&receiver.receive(2).unwrap(), 2);
    let mut names: Vec<_> = fs::read_dir(state.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["step_1", "step_2"]);
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
fn a_request_that_is_there_is_not_written_again() {
    let place = Place::new(SPARSE);
    let (_state, receiver) = place.receiver();
    let inode = || fs::metadata(place.path().join("full.request")).unwrap().ino();
    receiver.request_full().unwrap();
    // The file stays open, so that no other one gets its inode.
    let _open = fs::File::open(place.path().join("full.request")).unwrap();
    let first = inode();
    receiver.request_full().unwrap();
    assert_eq!(inode(), first);
}

/// What is done to a folder, given its config.
type Damage = fn(&Path);

#[test]
fn a_damaged_base_gives_no_folder_and_a_full_version_mends_it() {
    let damages: [(&str, Damage); 4] = [
        ("another config", |file| fs::write(file, "{\"rope_theta\": 1}").unwrap()),
        ("a config of the same length", |file| {
            fs::write(file, "{\"rope_theta\": 10001}").unwrap()
        }),
        ("no config", |file| fs::remove_file(file).unwrap()),
        ("shorter weights", |file| {
            let weights = fs::File::options()
                .write(true)
                .open(file.with_file_name("model.safetensors"));
            weights.unwrap().set_len(1000).unwrap();
        }),
    ];
    for (damage, make) in damages {
        let mut place = Place::new(SPARSE);
        for version in 0..2 {
            place.publish(version, false);
        }
        let file = place.directory(0).join("config.json");
        make(&file);
        let (state, mut receiver) = place.receiver();
        let error = receiver.receive(1).unwrap_err();
        assert_eq!(
            fs::read_dir(state.path()).unwrap().count(),
            0,
            "{damage}: nothing unfinished"
        );
        // These are the codes after which a full version is asked for.
        let is_mended = ["PRL_WEIGHTS_BASE", "PRL_WEIGHTS_DIGEST"].contains(&error.code());
        assert!(is_mended, "{damage}: {}, {error}", error.code());
        let names = ["config.json", "model.safetensors"];
        assert!(
            names.iter().any(|name| error.to_string().contains(name)),
            "{damage}: {error}"
        );
        receiver.request_full().unwrap();
        place.publisher.serve_full_request().unwrap().unwrap();
        place.check(&receiver.receive(1).unwrap(), 1);
    }
}

#[test]
fn changes_that_are_malformed_are_not_blamed_on_their_base() {
    let mut place = Place::new(SPARSE);
    place.publish(0, false);
    place.publish(1, false);
    let directory = place.directory(1);
    let path = directory.join("delta.safetensors");
    let mut bytes = fs::read(&path).unwrap();
    let data = SafetensorsFile::open(&path).unwrap().data().len();
    let start = bytes.len() - data;
    // The code begins with the length of a block.
    bytes[start..start + 4].fill(0xff);
    fs::write(&path, &bytes).unwrap();
    let mut manifest = read_manifest(&directory).unwrap();
    manifest.shards[0].digest = digest(&bytes);
    write_manifest(&directory, &manifest).unwrap();
    let (_state, mut receiver) = place.receiver();
    let error = receiver.receive(1).unwrap_err();
    assert_eq!(error.code(), "PRL_WEIGHTS_BASE", "a full version mends it: {error}");
    assert!(error.to_string().contains("its changes cannot be applied"), "{error}");
    assert!(error.to_string().contains("delta.safetensors"), "{error}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_version_that_needs_a_full_one_says_so_when_an_old_folder_cannot_be_removed_either() {
    let mut place = Place::new(SPARSE);
    for version in 0..5 {
        place.publish(version, false);
    }
    fs::remove_dir_all(place.directory(3)).unwrap();
    let (state, mut receiver) = place.receiver();
    for version in 0..3 {
        let folder = version_directory(state.path(), version);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("manifest.json"), "{}").unwrap();
    }
    let refused = without(libc::SYS_unlinkat, || receiver.receive(4).map(drop));
    assert_eq!(refused.unwrap_err().code(), "PRL_WEIGHTS_BASE");
}
