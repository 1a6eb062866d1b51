//! Other root file systems: a directory with a shell and its libraries, and no other files of the machine.

use std::error::Error;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use prl_sandbox_proto::{Cause, RunOnceRequest};

use crate::support::{Daemon, Outcome, cause, command, describe, skip, text};

/// Makes a root with `sh` from files of this machine.
fn tiny(root: &Path) -> Result<(), Box<dyn Error>> {
    for directory in ["usr/bin", "etc", "tmp"] {
        fs::create_dir_all(root.join(directory))?;
    }
    symlink("usr/bin", root.join("bin"))?;
    fs::copy("/bin/sh", root.join("usr/bin/sh"))?;
    fs::write(root.join("etc/name"), "tiny\n")?;
    fs::write(root.join("tmp/hidden"), "")?;
    let listed = Command::new("ldd").arg("/bin/sh").output()?;
    for library in String::from_utf8(listed.stdout)?.split_whitespace() {
        if let Some(inside) = library.strip_prefix('/') {
            let target = root.join(inside);
            fs::create_dir_all(target.parent().ok_or("no parent")?)?;
            fs::copy(library, target)?;
        }
    }
    Ok(())
}

fn in_image(image: &str, script: &str) -> RunOnceRequest {
    RunOnceRequest {
        image: image.to_owned(),
        ..command(&["sh", "-c", script])
    }
}

const LOOK: &str = "
read name < /etc/name; echo $name
echo /* /tmp/*
echo made > /work/file; read back < /work/file; echo $back
echo gone 2>/dev/null > /etc/name || echo read-only
echo x > /dev/null && [ -r /proc/self/status ] && echo devices";

async fn looks_right(arguments: &[&str]) -> Outcome {
    let directory = tempfile::tempdir()?;
    let root = directory.path().join("root");
    tiny(&root)?;
    let image = format!("tiny={}", root.display());
    let Some(daemon) = Daemon::start(&[&["--park", "1", "--image", &image], arguments].concat())? else {
        return Ok(());
    };
    let mut client = daemon.client().await?;
    let result = client.run_once(in_image("tiny", LOOK)).await?.into_inner();
    assert_eq!(cause(&result), Cause::Exited, "{}", describe(&result));
    let out = text(&result.stdout);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.first(), Some(&"tiny"), "{}", describe(&result));
    assert_eq!(
        lines.get(2..),
        Some(&["made", "read-only", "devices"][..]),
        "{}",
        describe(&result)
    );
    let seen = lines.get(1).ok_or("no listing")?;
    assert!(seen.ends_with("/tmp/*") && !seen.contains("/opt"), "{seen}");
    let plain = client
        .run_once(in_image("", "ls -a /; ls /.images"))
        .await?
        .into_inner();
    let out = text(&plain.stdout);
    assert!(out.contains("opt\n") && !out.contains("tiny"), "{out}");
    assert!(!fs::read_to_string(root.join("etc/name"))?.contains("gone"));
    let unknown = client.run_once(in_image("other", "")).await;
    assert!(unknown.is_err_and(|status| status.code() == tonic::Code::InvalidArgument));
    let capabilities = client.capabilities(prl_sandbox_proto::CapabilitiesRequest {}).await?;
    assert_eq!(capabilities.into_inner().images, ["tiny"]);
    daemon.stop()
}

#[tokio::test]
async fn a_box_with_an_image_sees_it_instead_of_the_machine() -> Outcome {
    if Command::new("ldd").arg("/bin/sh").output().is_err() {
        skip("no ldd to make an image with");
        return Ok(());
    }
    looks_right(&[]).await?;
    looks_right(&["--rootless"]).await
}

#[tokio::test]
async fn a_missing_image_is_named_at_the_start() -> Outcome {
    let started = Daemon::start(&["--image", "gone=/nowhere/at/all"]);
    let complaint = started.err().ok_or("it started")?.to_string();
    assert!(
        complaint.contains("PRL_SANDBOX_IMAGE") && complaint.contains("/nowhere/at/all"),
        "{complaint}"
    );
    Ok(())
}
