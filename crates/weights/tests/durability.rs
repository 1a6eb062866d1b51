//! A write replaces the old file whole or leaves it as it was.

#[cfg(target_os = "linux")]
#[path = "support/refused_call.rs"]
mod refused_call;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use prl_weights::{
    Dtype, PublisherOptions, SafetensorsFile, TensorToWrite, WeightPublisher, WeightsError, WriteOptions,
    create_directory, replace_file, write_checkpoint, write_safetensors,
};

const CHILD_DIRECTORY: &str = "PRL_WEIGHTS_TEST_LIMITED_DIRECTORY";
const BIG_BYTES: usize = 1 << 20;

fn write_bytes(path: &Path, data: &[u8]) -> Result<(), WeightsError> {
    let tensor = TensorToWrite {
        name: "t",
        dtype: Dtype::U8,
        shape: &[data.len()],
        data,
    };
    write_safetensors(path, &[tensor], &[], WriteOptions::default()).map(drop)
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// The part of the test that runs in a process whose files cannot grow beyond 64 KiB.
#[test]
#[ignore = "needs the limits that its parent, the next test, sets"]
fn limited_child() {
    let directory = PathBuf::from(std::env::var_os(CHILD_DIRECTORY).expect("set by the parent"));
    let path = directory.join("model.safetensors");
    let error = write_bytes(&path, &vec![2; BIG_BYTES]).expect_err("the file cannot grow that far");
    assert_eq!(error.code(), "PRL_WEIGHTS_IO");
    assert!(error.to_string().contains("model.safetensors"), "{error}");
    let data = vec![3; BIG_BYTES];
    let tensor = TensorToWrite {
        name: "t",
        dtype: Dtype::U8,
        shape: &[BIG_BYTES],
        data: &data,
    };
    write_checkpoint(&directory, &[tensor], u64::MAX).expect_err("nor a checkpoint");
}

#[test]
#[cfg(unix)]
fn a_write_that_the_system_refuses_midway_keeps_the_old_file_and_leaves_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("model.safetensors");
    write_bytes(&path, &[1; 100]).unwrap();
    let before = fs::read(&path).unwrap();
    // The ignored SIGXFSZ, which exec preserves, turns the limit into a write error like that of a full disk.
    let output = Command::new("sh")
        .args([
            "-c",
            "trap '' XFSZ; ulimit -f 64; exec \"$0\" --exact limited_child --ignored",
        ])
        .arg(std::env::current_exe().unwrap())
        .env(CHILD_DIRECTORY, directory.path())
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && printed.contains("1 passed"), "{printed}");
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(names(directory.path()), ["model.safetensors"]);
}

#[test]
fn a_writer_that_fails_keeps_the_old_file_and_leaves_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    fs::write(&path, b"old").unwrap();
    let result: Result<(), _> = replace_file(&path, |writer| {
        writer.write_all(b"half of the new")?;
        Err(io::Error::from(io::ErrorKind::StorageFull))
    });
    assert_eq!(result.unwrap_err().code(), "PRL_WEIGHTS_IO");
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(names(directory.path()), ["file"]);
}

#[test]
fn a_writer_that_panics_leaves_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let result = std::panic::catch_unwind(|| {
        replace_file(&path, |writer: &mut dyn Write| -> io::Result<()> {
            writer.write_all(b"half")?;
            panic!("the writer gives up");
        })
    });
    assert!(result.is_err());
    assert_eq!(names(directory.path()), Vec::<String>::new());
}

#[test]
fn replacing_leaves_open_readers_with_the_file_they_opened() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("model.safetensors");
    write_bytes(&path, &[1; 5000]).unwrap();
    let open = SafetensorsFile::open(&path).unwrap();
    write_bytes(&path, &[2; 10]).unwrap();
    assert_eq!(open.tensor("t").unwrap().data, [1; 5000]);
    assert_eq!(SafetensorsFile::open(&path).unwrap().tensor("t").unwrap().data, [2; 10]);
    assert_eq!(names(directory.path()), ["model.safetensors"]);
}

#[test]
fn a_missing_directory_is_an_error_that_names_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("absent/model.safetensors");
    let error = write_bytes(&path, &[1]).unwrap_err();
    assert_eq!(error.code(), "PRL_WEIGHTS_IO");
    assert!(error.to_string().contains("absent"), "{error}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_new_root_of_versions_has_a_durable_name() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("run").join("weights");
    let options = PublisherOptions {
        keep: 1,
        sparse: true,
        threads: 1,
    };
    let refused = refused_call::without(libc::SYS_fsync, || WeightPublisher::open(&root, options).map(drop));
    let error = refused.unwrap_err();
    assert!(error.to_string().contains("sync directory"), "{error}");
    WeightPublisher::open(&root, options).unwrap();
}

#[test]
fn a_directory_is_made_by_a_relative_path_too_and_stays_when_it_is_there() {
    let missing = Path::new("target-of-a-relative-path");
    for _ in 0..2 {
        create_directory(missing).unwrap();
        assert!(missing.is_dir());
    }
    fs::remove_dir(missing).unwrap();
}
