//! Damaged and hostile layers and documents of images. `crates/fuzz` says what fails.

use std::fs;
use std::io::{self, Cursor, Write};
use std::path::Path;

use prl_fuzz::{Heap, Target, heap};
use serde_json::json;
use sha2::{Digest, Sha256};
use tar::{Builder, EntryType, Header};

use super::layer::Root;
use super::oci;

#[global_allocator]
static HEAP: Heap = heap();

/// The size that an image may unpack to here.
const MOST_BYTES: u64 = 1 << 20;

fn entry(kind: EntryType, path: &str, content: &[u8]) -> Vec<u8> {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(0o644);
    header.set_uid(0);
    header.set_gid(0);
    header.as_mut_bytes()[..path.len()].copy_from_slice(path.as_bytes());
    header.set_size(content.len() as u64);
    header.set_cksum();
    let mut builder = Builder::new(Vec::new());
    builder.append(&header, content).expect("an entry");
    let mut bytes = builder.into_inner().expect("an archive");
    // Without the blocks of zeros that end an archive, so that entries can follow each other.
    bytes.truncate(bytes.len() - 1024);
    bytes
}

fn link(kind: EntryType, path: &str, target: &str) -> Vec<u8> {
    let mut bytes = entry(kind, path, b"");
    bytes[157..157 + target.len()].copy_from_slice(target.as_bytes());
    with_checksums(&bytes)
}

/// A sparse file of `bytes` bytes without any content.
fn sparse(bytes: u64) -> Vec<u8> {
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::GNUSparse);
    header.set_path("sparse").expect("a path");
    header.set_mode(0o644);
    header.set_size(0);
    header.set_uid(0);
    header.set_gid(0);
    let gnu = header.as_gnu_mut().expect("of GNU");
    let octal = format!("{bytes:011o}\0");
    gnu.realsize.copy_from_slice(octal.as_bytes());
    gnu.sparse[0].offset.copy_from_slice(octal.as_bytes());
    gnu.sparse[0].numbytes.copy_from_slice(b"00000000000\0");
    header.set_cksum();
    header.as_bytes().to_vec()
}

/// An extension header of pax that gives the next entry another size.
fn pax(record: &str) -> Vec<u8> {
    entry(EntryType::XHeader, "pax", record.as_bytes())
}

/// The archive with a right checksum in each of its blocks that can be a header: any other would be refused for it.
fn with_checksums(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for block in bytes.chunks_exact_mut(512) {
        let is_header = block[257..262] == *b"ustar";
        if is_header {
            block[148..156].fill(b' ');
            let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
            block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        }
    }
    bytes
}

fn apply(archive: &[u8]) -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut root = Root::open(folder.path(), MOST_BYTES)?;
    root.apply(&mut || Ok(Box::new(Cursor::new(archive.to_vec()))))?;
    root.finish()?;
    let written = size_of_files(folder.path())?;
    assert!(written <= MOST_BYTES, "{written} bytes were written");
    Ok(())
}

fn size_of_files(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.metadata()?;
        bytes += match kind.is_dir() {
            true => size_of_files(&entry.path())?,
            false if kind.is_file() => kind.len(),
            false => 0,
        };
    }
    Ok(bytes)
}

fn answer(result: Result<(), String>) -> String {
    match result {
        Ok(()) => "ok".to_owned(),
        // The path in front of a message comes from the archive.
        Err(error) => error.rsplit(": ").next().unwrap_or_default().to_owned(),
    }
}

#[test]
fn layers_under_fuzz() {
    let archive = [
        entry(EntryType::Directory, "etc/", b""),
        entry(EntryType::Regular, "etc/a", b"content"),
        link(EntryType::Symlink, "out", "/etc"),
        link(EntryType::Link, "hard", "etc/a"),
        entry(EntryType::Regular, "out/.wh.a", b""),
        entry(EntryType::Regular, "etc/.wh..wh..opq", b""),
    ];
    let names = [
        entry(EntryType::GNULongName, "././@LongLink", b"a/long/name\0"),
        entry(EntryType::Regular, "short", b"x"),
        pax("10 size=3\n"),
        entry(EntryType::Regular, "sized", b"abc"),
        sparse(5000),
    ];
    let words = [
        "../",
        "/",
        "\0",
        ".wh.",
        ".wh..wh..opq",
        "ustar  \0",
        "00000000000\0",
        "77777777777\0",
        "L",
        "K",
        "x",
        "g",
        "S",
        "5",
        "2",
        "1",
        "7",
        "etc/a",
    ];
    // Two thousand folders inside each other have paths of 4 MiB together, which this test holds while it adds sizes up.
    let target = Target::new("image-layer")
        .words(&words)
        .start(archive.concat())
        .start(names.concat())
        .inputs(1500);
    target
        .heap(16 << 20, 64)
        .run(|bytes| answer(apply(&with_checksums(bytes)).map_err(|error| error.to_string())));
}

#[test]
fn documents_of_images_under_fuzz() {
    let layout = tempfile::tempdir().expect("layout");
    fs::create_dir_all(layout.path().join("blobs/sha256")).expect("blobs");
    let blob = |bytes: &[u8]| {
        let hex: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        fs::write(layout.path().join("blobs/sha256").join(&hex), bytes).expect("blob");
        format!("sha256:{hex}")
    };
    let layer = blob(&entry(EntryType::Regular, "a", b"x"));
    let config = blob(br#"{"config":{"Env":["A=b","broken"]}}"#);
    let kind = "application/vnd.oci.image.layer.v1.tar";
    let manifest = json!({ "schemaVersion": 2, "config": { "digest": config }, "layers": [{ "mediaType": kind, "digest": layer }] });
    let words = [
        "null",
        "[]",
        "{}",
        "\"manifests\":",
        "\"layers\":",
        "\"digest\":",
        "sha256:",
        "+gzip",
        "+zstd",
        "\"platform\":{\"os\":\"linux\"}",
        "../",
    ];
    let target = Target::new("image-manifest")
        .words(&words)
        .start(manifest.to_string())
        .inputs(500);
    target.heap(4 << 20, 128).run(|bytes| {
        let cache = tempfile::tempdir().expect("cache");
        let digest = blob(bytes);
        let index = json!({ "manifests": [{ "digest": digest }] }).to_string();
        fs::write(layout.path().join("index.json"), index).expect("index");
        let opened = oci::unpack(layout.path(), cache.path(), MOST_BYTES);
        let hex = digest.trim_start_matches("sha256:");
        fs::remove_file(layout.path().join("blobs/sha256").join(hex)).expect("the manifest");
        answer(opened.map(drop))
    });
}

#[test]
fn archives_that_unpack_to_more_than_they_may_are_refused_before() {
    let refused = |archive: &[u8], reason: &str| {
        let (result, peak) = prl_fuzz::peak_of(|| apply(archive));
        let error = result.expect_err("it is refused").to_string();
        assert!(error.contains(reason), "{error}");
        assert!(peak < 8 << 20, "{peak} bytes of memory");
    };
    refused(&sparse(4 << 30), "takes more than it may");
    refused(
        &entry(EntryType::Regular, "big", &vec![0; 2 << 20]),
        "takes more than it may",
    );
    refused(
        &entry(EntryType::Regular, "a", b"").repeat(1000),
        "takes more than it may",
    );
    refused(
        &[pax("22 size=9999999999999\n"), entry(EntryType::Regular, "a", b"")].concat(),
        "takes more than it may",
    );
    // A gzip bomb of a long name: 64 MiB in some 64 KiB.
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let name = vec![b'a'; 64 << 20];
    encoder
        .write_all(&entry(EntryType::GNULongName, "././@LongLink", &name))
        .expect("compress");
    drop(name);
    let bomb = encoder.finish().expect("compress");
    let folder = tempfile::tempdir().expect("folder");
    let mut root = Root::open(folder.path(), 1 << 40).expect("a root");
    let (result, peak) = prl_fuzz::peak_of(|| {
        root.apply(&mut || {
            Ok(Box::new(flate2::bufread::MultiGzDecoder::new(Cursor::new(
                bomb.clone(),
            ))))
        })
    });
    assert!(result.is_err_and(|error| error.to_string().contains("headers of an entry")));
    assert!(peak < 8 << 20, "{peak} bytes of memory");
}
