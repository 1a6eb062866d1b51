//! The image of `configs/deploy/container/Containerfile`, made from files of this machine, since none can be pulled in a
//! test. It has the Containerfile's entry point, and what programs of the tests find: a shell, tools, and Python.

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

use crate::support::Outcome;

pub(super) const NAME: &str = "docker.io/library/prl-sandboxd:test";
/// A user without rights who is in the image's list of users.
pub(super) const USER: u32 = 1000;

const TOOLS: [&str; 12] = [
    "bash",
    "cat",
    "env",
    "findmnt",
    "head",
    "id",
    "ls",
    "mount",
    "mountpoint",
    "sh",
    "sleep",
    "python3",
];
const DIRECTORIES: [&str; 13] = [
    "usr/bin",
    "usr/sbin",
    "usr/lib",
    "usr/lib64",
    "etc",
    "opt",
    "tmp",
    "run",
    "var",
    "root",
    "proc",
    "sys",
    "dev",
];
/// Debian's directories beside /usr are links into it.
const LINKS: [&str; 4] = ["bin", "sbin", "lib", "lib64"];
/// Parts of Python's library that no program of the tests imports.
const LEFT_OUT: [&str; 8] = [
    "__pycache__",
    "dist-packages",
    "ensurepip",
    "idlelib",
    "lib2to3",
    "pydoc_data",
    "test",
    "tkinter",
];

/// Writes the image as an archive that `docker load` and `ctr images import` take. Returns false where this machine has
/// no such files.
pub(super) fn write(archive: &Path) -> Result<(), Box<dyn Error>> {
    let entry_point = entry_point()?;
    let layer = archive.with_extension("layer");
    let mut tar = tar::Builder::new(fs::File::create(&layer)?);
    tar.follow_symlinks(true);
    // The runtimes do not know files with holes.
    tar.sparse(false);
    fill(&mut tar, &entry_point)?;
    tar.into_inner()?.sync_data()?;
    let config = serde_json::json!({
        "architecture": "amd64",
        "os": "linux",
        "config": {
            "Entrypoint": [entry_point],
            "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
        },
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{}", digest_of(&layer)?)] },
    })
    .to_string();
    let name = format!("{}.json", hex(&Sha256::digest(&config)));
    let manifest = serde_json::json!([{ "Config": name, "RepoTags": [NAME], "Layers": ["layer.tar"] }]).to_string();
    let mut whole = tar::Builder::new(fs::File::create(archive)?);
    for (name, content) in [(name.as_str(), config), ("manifest.json", manifest)] {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        whole.append_data(&mut header, name, content.as_bytes())?;
    }
    whole.append_path_with_name(&layer, "layer.tar")?;
    whole.finish()?;
    fs::remove_file(layer)?;
    Ok(())
}

/// The program that the Containerfile starts.
fn entry_point() -> Result<String, Box<dyn Error>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/deploy/container/Containerfile");
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let line = text.lines().find_map(|line| line.strip_prefix("ENTRYPOINT "));
    let [program]: [String; 1] = serde_json::from_str(line.ok_or("no ENTRYPOINT")?)?;
    Ok(program)
}

fn fill(tar: &mut tar::Builder<fs::File>, entry_point: &str) -> Outcome {
    for directory in DIRECTORIES {
        add_directory(
            tar,
            Path::new(directory),
            if directory == "tmp" { 0o1777 } else { 0o755 },
        )?;
    }
    for link in LINKS {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Symlink);
        header.set_size(0);
        header.set_mode(0o777);
        tar.append_link(&mut header, link, format!("usr/{link}"))?;
    }
    let accounts = format!("root:x:0:0::/root:/bin/sh\nuser:x:{USER}:{USER}::/:/bin/sh\n");
    let mut header = tar::Header::new_gnu();
    header.set_size(accounts.len() as u64);
    header.set_mode(0o644);
    tar.append_data(&mut header, "etc/passwd", accounts.as_bytes())?;
    let daemon = Path::new(env!("CARGO_BIN_EXE_prl-sandboxd"));
    tar.append_path_with_name(daemon, entry_point.trim_start_matches('/'))?;
    let mut programs = vec![daemon.to_owned()];
    for tool in TOOLS {
        let program = Path::new("/usr/bin").join(tool);
        tar.append_path_with_name(&program, program.strip_prefix("/")?)?;
        programs.push(program);
    }
    let asked = Command::new("/usr/bin/python3")
        .args([
            "-I",
            "-S",
            "-c",
            "import sysconfig; print(sysconfig.get_path('stdlib'))",
        ])
        .output()?;
    let library = PathBuf::from(String::from_utf8(asked.stdout)?.trim());
    add_library(tar, &library, &mut programs)?;
    for library in needed(&programs)? {
        tar.append_path_with_name(&library, library.strip_prefix("/")?)?;
    }
    Ok(())
}

fn add_directory(tar: &mut tar::Builder<fs::File>, path: &Path, mode: u32) -> Outcome {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Directory);
    header.set_size(0);
    header.set_mode(mode);
    tar.append_data(&mut header, path, std::io::empty())?;
    Ok(())
}

/// Adds Python's library. `programs` gets its extension modules.
fn add_library(tar: &mut tar::Builder<fs::File>, directory: &Path, programs: &mut Vec<PathBuf>) -> Outcome {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        if LEFT_OUT.contains(&name.as_ref()) || name.starts_with("config-") {
            continue;
        }
        if fs::metadata(&path)?.is_dir() {
            add_library(tar, &path, programs)?;
        } else {
            tar.append_path_with_name(&path, path.strip_prefix("/")?)?;
            if name.ends_with(".so") {
                programs.push(path);
            }
        }
    }
    Ok(())
}

/// The libraries that programs load, by the paths at which they find them below /usr.
fn needed(programs: &[PathBuf]) -> Result<BTreeSet<PathBuf>, Box<dyn Error>> {
    let listed = Command::new("ldd").args(programs).output()?;
    let text = String::from_utf8(listed.stdout)?;
    // A line that ends with a colon names the program.
    let paths = text
        .split_whitespace()
        .filter(|word| word.starts_with('/') && !word.ends_with(':'));
    paths
        .map(|path| {
            let path = Path::new(path);
            let directory = fs::canonicalize(path.parent().ok_or("no directory")?)?;
            Ok(directory.join(path.file_name().ok_or("no name")?))
        })
        .collect()
}

fn digest_of(path: &Path) -> Result<String, Box<dyn Error>> {
    let (mut file, mut digest, mut buffer) = (fs::File::open(path)?, Sha256::new(), vec![0; 1 << 20]);
    loop {
        let length = file.read(&mut buffer)?;
        if length == 0 {
            return Ok(hex(&digest.finalize()));
        }
        digest.update(&buffer[..length]);
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
