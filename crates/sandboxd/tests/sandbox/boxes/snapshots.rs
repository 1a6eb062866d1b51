//! Copies of a box's files, and boxes that begin with one.

use std::collections::HashMap;

use prl_sandbox_proto::{
    CreateRequest, DeleteSnapshotRequest, ExecRequest, InputFile, Limits, ListRequest, SnapshotRequest,
};
use tonic::Code;

use super::{Boxes, boxes, exec, in_every_tier, shell, small};
use crate::support::{Daemon, Outcome, describe, text};

fn take(id: &str, of: &str) -> SnapshotRequest {
    SnapshotRequest {
        r#box: of.to_owned(),
        id: id.to_owned(),
        labels: HashMap::new(),
    }
}

/// A box that begins with a snapshot and with these files.
fn on_top(id: &str, snapshot: &str, files: &[(&str, &str)]) -> CreateRequest {
    let files = files.iter().map(|(path, content)| InputFile {
        path: (*path).to_owned(),
        content: content.as_bytes().to_vec().into(),
        mode: 0,
    });
    CreateRequest {
        from_snapshot: snapshot.to_owned(),
        files: files.collect(),
        ..small(id)
    }
}

/// A file that cannot be written through a link is a file's error, and no box is made.
async fn refused(client: &mut Boxes, request: CreateRequest) -> Outcome {
    let id = request.id.clone();
    let status = client.create(request).await.err().ok_or("it was made")?;
    assert_eq!(status.code(), Code::FailedPrecondition, "{status:?}");
    assert!(status.message().contains("symbolic link"), "{status:?}");
    let list = client.list(ListRequest::default()).await?.into_inner();
    assert!(list.boxes.iter().all(|one| one.id != id));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_box_begins_where_another_was() -> Outcome {
    let Some(daemon) = Daemon::start(&["--park", "0"])? else {
        return Ok(());
    };
    let mut client = boxes(&daemon).await?;
    client.create(small("first")).await?;
    let line = "mkdir -m 750 kept; echo mine > kept/file; chmod 400 kept/file; echo tmp > /tmp/t; echo shm > /dev/shm/s; \
                ln -s kept/file link; ln kept/file hard; mkfifo pipe; head -c 2000000 /dev/urandom > big; sha256sum < big";
    let sum = shell(&client, "first", line).await?;
    let theirs = ExecRequest {
        user: "nobody".to_owned(),
        ..exec("first", &["bash", "-c", "umask 077; echo theirs > /tmp/theirs"])
    };
    let second_user = daemon.is_root();
    if second_user {
        let wrote = client.exec(theirs).await?.into_inner();
        assert_eq!(wrote.exit_code, Some(0), "{}", describe(&wrote));
    }
    let labels = HashMap::from([("run".to_owned(), "7".to_owned())]);
    let request = SnapshotRequest {
        r#box: "first".to_owned(),
        id: "s".to_owned(),
        labels: labels.clone(),
    };
    let taken = client.snapshot(request.clone()).await?.into_inner();
    assert!(taken.bytes > 2_000_000, "{taken:?}");
    assert_eq!(
        client.snapshot(request.clone()).await?.into_inner().created_at,
        taken.created_at
    );
    let other = SnapshotRequest {
        labels: HashMap::new(),
        ..request
    };
    assert_eq!(
        client.snapshot(other).await.err().map(|status| status.code()),
        Some(Code::AlreadyExists)
    );
    shell(&client, "first", "rm -rf kept big; echo changed > /tmp/t").await?;

    let from = |id: &str| CreateRequest {
        from_snapshot: "s".to_owned(),
        files: vec![InputFile {
            path: "added".to_owned(),
            content: b"on top".to_vec().into(),
            mode: 0,
        }],
        ..small(id)
    };
    client.create(from("second")).await?;
    let line = "stat -c '%a %U' kept kept/file; cat kept/file /tmp/t /dev/shm/s link hard added; echo; sha256sum < big; rm -rf \
                /work/* && echo mine to remove";
    let found = shell(&client, "second", line).await?;
    let owner = shell(&client, "second", "touch x; stat -c %U x").await?;
    let owner = text(&owner.stdout);
    let owner = owner.trim();
    let wanted = format!(
        "750 {owner}\n400 {owner}\nmine\ntmp\nshm\nmine\nmine\non top\n{}mine to remove\n",
        text(&sum.stdout)
    );
    assert_eq!(text(&found.stdout), wanted, "{}", describe(&found));
    if second_user {
        let denied = shell(&client, "second", "cat /tmp/theirs").await?;
        assert_eq!(denied.exit_code, Some(1), "{}", describe(&denied));
    }

    let small_disk = CreateRequest {
        limits: Some(Limits {
            disk_bytes: Some(1 << 20),
            ..Limits::default()
        }),
        ..from("third")
    };
    let full = client
        .create(small_disk)
        .await
        .err()
        .ok_or("two megabytes fitted into one")?;
    assert!(
        full.code() == Code::FailedPrecondition && full.message().contains("space"),
        "{full:?}"
    );
    let listed = client.list_snapshots(ListRequest { labels }).await?.into_inner();
    assert_eq!(listed.snapshots.len(), 1);
    let delete = DeleteSnapshotRequest { id: "s".to_owned() };
    client.delete_snapshot(delete.clone()).await?;
    assert_eq!(
        client.delete_snapshot(delete).await.err().map(|status| status.code()),
        Some(Code::NotFound)
    );
    assert_eq!(
        client.create(from("fourth")).await.err().map(|status| status.code()),
        Some(Code::NotFound)
    );
    // Its name is free again.
    client.create(small("fourth")).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn snapshots_have_a_limit_together() -> Outcome {
    let Some(daemon) = Daemon::start(&["--park", "0", "--snapshot-bytes", "1500000"])? else {
        return Ok(());
    };
    let mut client = boxes(&daemon).await?;
    client.create(small("one")).await?;
    shell(&client, "one", "head -c 1000000 /dev/zero > big").await?;
    client.snapshot(take("a", "one")).await?;
    let full = client
        .snapshot(take("b", "one"))
        .await
        .err()
        .ok_or("the limit was passed")?;
    assert_eq!(full.code(), Code::OutOfRange);
    client
        .delete_snapshot(DeleteSnapshotRequest { id: "a".to_owned() })
        .await?;
    client.snapshot(take("b", "one")).await?;
    Ok(())
}

/// A program in the first box prepares the files among which init then writes in the second, with its rights.
#[tokio::test(flavor = "multi_thread")]
async fn files_are_not_written_through_links_of_a_snapshot() -> Outcome {
    in_every_tier(async |daemon| {
        let place = tempfile::tempdir()?;
        let theirs = place.path().join("theirs");
        std::fs::write(&theirs, "untouched")?;
        let mut client = boxes(&daemon).await?;
        client.create(small("first")).await?;
        let line = format!(
            "ln -s {} file; ln -s {} there; ln -s /proc/sys/kernel/hostname name; mkdir real; ln -s real own; ln -s none dangling; \
             echo old > plain; mkdir -p d/e",
            theirs.display(),
            place.path().display()
        );
        shell(&client, "first", &line).await?;
        client.snapshot(take("s", "first")).await?;
        for (id, path) in [("a", "there/new"), ("b", "own/new"), ("c", "dangling/new")] {
            refused(&mut client, on_top(id, "s", &[(path, "mine")])).await?;
        }
        let all = ["file", "name", "dangling", "plain", "d/e/f"].map(|path| (path, "mine"));
        client.create(on_top("second", "s", &all)).await?;
        let found = shell(&client, "second", "stat -c %F file name dangling plain d/e/f; cat file name dangling plain d/e/f").await?;
        let wanted = format!("{}{}", "regular file\n".repeat(5), "mine".repeat(5));
        assert_eq!(text(&found.stdout), wanted, "{}", describe(&found));
        assert_eq!(std::fs::read_to_string(&theirs)?, "untouched");
        assert_eq!(std::fs::read_dir(place.path())?.count(), 1, "nothing was made there");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn folders_too_deep_for_a_snapshot_have_a_short_error() -> Outcome {
    in_every_tier(async |daemon| {
        let mut client = boxes(&daemon).await?;
        client.create(small("one")).await?;
        let deep = "for i in $(seq 140); do mkdir averylongname$i; cd averylongname$i; done; touch x";
        shell(&client, "one", deep).await?;
        let status = client.snapshot(take("s", "one")).await.err().ok_or("it was taken")?;
        assert_eq!(status.code(), Code::FailedPrecondition, "{status:?}");
        let message = status.message();
        assert!(message.contains("deeper than 128 directories"), "{message}");
        assert_eq!(message.matches("averylongname7/").count(), 1, "{message}");
        // The daemon still serves, and the snapshot's name and bytes are free.
        shell(&client, "one", "rm -rf *; echo x > x").await?;
        client.snapshot(take("s", "one")).await?;
        Ok(())
    })
    .await
}
