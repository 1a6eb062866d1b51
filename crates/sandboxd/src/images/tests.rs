//! Layouts made here, with entries by which archives attack programs that unpack them without care.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tar::{Builder, EntryType, Header};

use super::{Images, Source};

/// Kind, path, content or link target, mode.
type Entry<'a> = (EntryType, &'a str, &'a str, u32);

const FILE: EntryType = EntryType::Regular;
const DIRECTORY: EntryType = EntryType::Directory;
const SYMLINK: EntryType = EntryType::Symlink;

fn archive(entries: &[Entry<'_>]) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    for (kind, path, content, mode) in entries {
        let mut header = Header::new_gnu();
        header.set_entry_type(*kind);
        header.set_mode(*mode);
        // The checked setters would refuse the names of hostile archives.
        header.as_mut_bytes()[..path.len()].copy_from_slice(path.as_bytes());
        let data = if *kind == FILE { content.as_bytes() } else { b"" };
        if *kind != FILE {
            header.as_mut_bytes()[157..157 + content.len()].copy_from_slice(content.as_bytes());
        }
        header.set_size(data.len() as u64);
        header.set_uid(0);
        header.set_gid(0);
        header.set_cksum();
        builder.append(&header, data).expect("append");
    }
    builder.into_inner().expect("archive")
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("compress");
    encoder.finish().expect("compress")
}

struct Layout(tempfile::TempDir);

impl Layout {
    fn new(layers: &[&[Entry<'_>]]) -> Self {
        let layout = Self(tempfile::tempdir().expect("directory"));
        fs::create_dir_all(layout.path().join("blobs/sha256")).expect("blobs");
        fs::write(layout.path().join("oci-layout"), r#"{"imageLayoutVersion":"1.0.0"}"#).expect("mark");
        let layers: Vec<Value> = (0..)
            .zip(layers)
            .map(|(at, entries)| {
                let tar = archive(entries);
                let (kind, bytes) = if at % 2 == 0 {
                    ("tar+gzip", gzip(&tar))
                } else {
                    ("tar", tar)
                };
                layout.blob(&bytes, &format!("application/vnd.oci.image.layer.v1.{kind}"))
            })
            .collect();
        let config = json!({ "config": { "Env": ["PATH=/opt/bin:/usr/bin", "A=b=c", "broken"] } });
        let config = layout.blob(
            config.to_string().as_bytes(),
            "application/vnd.oci.image.config.v1+json",
        );
        let manifest = json!({ "schemaVersion": 2, "config": config, "layers": layers }).to_string();
        let manifest = layout.blob(manifest.as_bytes(), "application/vnd.oci.image.manifest.v1+json");
        let mut other = manifest.clone();
        other["platform"] = json!({ "architecture": "s390x", "os": "linux" });
        let index = json!({ "schemaVersion": 2, "manifests": [other, manifest] }).to_string();
        fs::write(layout.path().join("index.json"), index).expect("index");
        layout
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn blob(&self, bytes: &[u8], kind: &str) -> Value {
        let hex: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        fs::write(self.path().join("blobs/sha256").join(&hex), bytes).expect("blob");
        json!({ "mediaType": kind, "digest": format!("sha256:{hex}"), "size": bytes.len() })
    }

    fn open(&self, cache: &Path) -> Result<Images, String> {
        let source = Source::parse(&format!("test={}", self.path().display())).expect("source");
        Images::open(&[source], cache).map_err(|error| error.to_string())
    }
}

fn root(images: &Images) -> PathBuf {
    images.find("test").expect("known").expect("named").1.root.clone()
}

#[test]
fn layers_lie_over_each_other() {
    let layout = Layout::new(&[
        &[
            (DIRECTORY, "./etc/", "", 0o755),
            (FILE, "./etc/a", "old", 0o644),
            (FILE, "etc/gone", "x", 0o644),
            (FILE, "opaque/old", "x", 0o644),
            (FILE, "usr/bin/tool", "tool", 0o4755),
            (DIRECTORY, "locked", "", 0o555),
            (FILE, "locked/in", "x", 0o600),
            (SYMLINK, "bin", "usr/bin", 0o777),
            (DIRECTORY, "becomes-file", "", 0o755),
            (FILE, "becomes-file/x", "", 0o755),
        ],
        &[
            (FILE, "etc/a", "new", 0o600),
            (FILE, "etc/.wh.gone", "", 0),
            (FILE, "opaque/new", "x", 0o644),
            (FILE, "opaque/.wh..wh..opq", "", 0),
            (FILE, "bin/second", "2", 0o755),
            (FILE, "locked/later", "x", 0o600),
            (EntryType::Link, "usr/bin/linked", "usr/bin/tool", 0o755),
            (EntryType::Fifo, "pipe", "", 0o644),
            (EntryType::Char, "device", "", 0o644),
            (FILE, "becomes-file", "now", 0o644),
            (FILE, ".wh.never-there", "", 0),
        ],
    ]);
    let cache = tempfile::tempdir().expect("cache");
    let images = layout.open(cache.path()).expect("an image");
    let root = root(&images);
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_else(|error| error.to_string());
    let mode = |path: &str| {
        fs::metadata(root.join(path))
            .map(|kind| kind.permissions().mode() & 0o7777)
            .ok()
    };
    assert_eq!(read("etc/a"), "new");
    assert_eq!(mode("etc/a"), Some(0o600));
    assert_eq!(mode("usr/bin/tool"), Some(0o755), "set-id bits are taken off");
    assert_eq!(mode("locked"), Some(0o555));
    assert_eq!(
        (read("usr/bin/second"), read("usr/bin/linked")),
        ("2".to_owned(), "tool".to_owned())
    );
    assert_eq!(
        fs::metadata(root.join("usr/bin/tool")).map(|kind| kind.nlink()).ok(),
        Some(2)
    );
    assert_eq!(read("becomes-file"), "now");
    for gone in [
        "etc/gone",
        "opaque/old",
        "pipe",
        "device",
        "etc/.wh.gone",
        ".wh.never-there",
    ] {
        assert!(fs::symlink_metadata(root.join(gone)).is_err(), "{gone}");
    }
    assert!(root.join("opaque/new").exists() && root.join("locked/later").exists());
    let env = &images.find("test").expect("known").expect("named").1.env;
    assert_eq!(
        env[..],
        [("PATH".into(), "/opt/bin:/usr/bin".into()), ("A".into(), "b=c".into())]
    );
    // Unpacking once is enough: the second time only the documents are read.
    for layer in fs::read_dir(layout.path().join("blobs/sha256"))
        .expect("blobs")
        .flatten()
    {
        if layer.metadata().expect("kind").len() > 1000 {
            fs::remove_file(layer.path()).expect("remove");
        }
    }
    layout.open(cache.path()).expect("the cached image");
    assert_eq!(fs::read_dir(cache.path()).expect("cache").count(), 1);
}

#[test]
fn nothing_outside_the_root_is_touched() {
    let outside = tempfile::tempdir().expect("outside");
    let target = outside.path().to_string_lossy().into_owned();
    let secret = outside.path().join("secret");
    fs::write(&secret, "untouched").expect("secret");
    let link = format!("{target}/secret");
    for (name, entries) in [
        ("upwards", vec![(FILE, "../evil", "x", 0o644)]),
        ("upwards in the middle", vec![(FILE, "a/../../evil", "x", 0o644)]),
        (
            "a hard link out",
            vec![(EntryType::Link, "evil", "../../secret", 0o644)],
        ),
        (
            "a hard link to the machine",
            vec![(EntryType::Link, "evil", link.as_str(), 0o644)],
        ),
        ("whiteout upwards", vec![(FILE, ".wh...", "", 0)]),
    ] {
        let layout = Layout::new(&[&entries]);
        let cache = tempfile::tempdir().expect("cache");
        let opened = layout.open(cache.path());
        assert!(opened.is_err(), "{name}: {opened:?}");
        assert_eq!(
            fs::read_dir(cache.path()).expect("cache").count(),
            0,
            "{name}: what was begun is removed"
        );
    }
    let layout = Layout::new(&[&[
        (SYMLINK, "out", &target, 0o777),
        (DIRECTORY, &target[1..], "", 0o755),
        (FILE, "out/evil", "x", 0o644),
        (SYMLINK, "file", &link, 0o777),
        (FILE, "file", "overwritten", 0o644),
        (FILE, "out/.wh.secret", "", 0),
        (FILE, "/absolute", "x", 0o644),
    ]]);
    let cache = tempfile::tempdir().expect("cache");
    let root = root(&layout.open(cache.path()).expect("an image"));
    assert_eq!(fs::read_to_string(&secret).ok().as_deref(), Some("untouched"));
    assert!(!outside.path().join("evil").exists());
    assert!(
        root.join(&target[1..]).join("evil").exists(),
        "links lead to where they lead inside"
    );
    assert!(root.join("absolute").exists() && root.join("file").is_file());
}

#[test]
fn damage_is_noticed() {
    let layout = Layout::new(&[&[(FILE, "a", "x", 0o644)]]);
    let blobs = fs::read_dir(layout.path().join("blobs/sha256")).expect("blobs");
    for blob in blobs.flatten() {
        let mut file = File::options().append(true).open(blob.path()).expect("open");
        file.write_all(b" ").expect("damage");
    }
    let cache = tempfile::tempdir().expect("cache");
    let opened = layout.open(cache.path());
    assert!(
        opened.as_ref().is_err_and(|error| error.contains("damaged")),
        "{opened:?}"
    );
    for wrong in ["", "name", "=dir", "a b=dir"] {
        assert!(Source::parse(wrong).is_err(), "{wrong}");
    }
    assert!(Images::default().find("other").is_err());
    assert!(Images::default().find("").is_ok_and(|found| found.is_none()));
}
