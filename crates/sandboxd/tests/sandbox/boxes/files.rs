//! Files in and out of a box whose programs try to mislead.

use std::error::Error;
use std::time::Duration;

use prl_sandbox_proto::file_info::Kind;
use prl_sandbox_proto::{
    CreateRequest, FileInfo, ListDirectoryRequest, MoveRequest, PathRequest, ReadFileRequest, RemoveRequest,
    SnapshotRequest, WatchEvent, WatchRequest, WriteFileRequest, watch_event,
};
use tonic::{Code, Status};

use super::{Boxes, boxes, in_every_tier, shell, small};
use crate::support::{Daemon, Outcome, describe, text, until};

async fn made(daemon: &Daemon) -> Result<Boxes, Box<dyn Error>> {
    let mut client = boxes(daemon).await?;
    client.create(small("one")).await?;
    Ok(client)
}

fn path(path: &str) -> PathRequest {
    PathRequest {
        r#box: "one".to_owned(),
        path: path.to_owned(),
    }
}

fn parts(path: &str, mode: u32, content: &[u8], whole: bool) -> Vec<WriteFileRequest> {
    let mut parts: Vec<_> = content
        .chunks(100_000)
        .map(|part| WriteFileRequest {
            data: part.to_vec().into(),
            ..WriteFileRequest::default()
        })
        .collect();
    parts.insert(0, WriteFileRequest::default());
    parts[0].r#box = "one".to_owned();
    parts[0].path = path.to_owned();
    parts[0].mode = mode;
    if whole && let Some(last) = parts.last_mut() {
        last.end = true;
    }
    parts
}

async fn write(boxes: &Boxes, path: &str, content: &[u8]) -> Result<FileInfo, Status> {
    let stream = tokio_stream::iter(parts(path, 0, content, true));
    Ok(boxes.clone().write_file(stream).await?.into_inner())
}

async fn read(boxes: &Boxes, path: &str, offset: u64, max_bytes: Option<u64>) -> Result<Vec<u8>, Status> {
    let request = ReadFileRequest {
        r#box: "one".to_owned(),
        path: path.to_owned(),
        offset,
        max_bytes,
    };
    collect(boxes.clone().read_file(request).await?.into_inner()).await
}

async fn collect(mut chunks: tonic::Streaming<prl_sandbox_proto::Chunk>) -> Result<Vec<u8>, Status> {
    let mut bytes = Vec::new();
    while let Some(chunk) = chunks.message().await? {
        bytes.extend(chunk.data);
    }
    Ok(bytes)
}

fn code<T>(result: Result<T, Status>) -> Code {
    result.err().map_or(Code::Ok, |status| status.code())
}

#[tokio::test(flavor = "multi_thread")]
async fn files_go_in_and_come_out_whole() -> Outcome {
    in_every_tier(async |daemon| {
        let mut client = made(&daemon).await?;
        let content: Vec<u8> = (0..3_000_000_u32).map(|at| (at * 7 % 251) as u8).collect();
        let info = write(&client, "deep/er/data.bin", &content).await?;
        assert_eq!(
            (info.path.as_str(), info.kind(), info.bytes),
            ("/work/deep/er/data.bin", Kind::File, 3_000_000)
        );
        assert_eq!(info.mode, 0o644);
        assert!(read(&client, "/work/deep/er/data.bin", 0, None).await? == content);
        assert!(read(&client, "deep/er/data.bin", 2_900_000, Some(100_000)).await? == content[2_900_000..]);
        assert_eq!(
            code(read(&client, "deep/er/data.bin", 0, Some(2_999_999)).await),
            Code::OutOfRange
        );
        assert!(write(&client, "empty", b"").await?.bytes == 0 && read(&client, "empty", 0, None).await?.is_empty());
        let owner = shell(
            &client,
            "one",
            "stat -c '%U %a' deep/er/data.bin empty; rm empty && sha256sum deep/er/data.bin",
        )
        .await?;
        assert_eq!(owner.exit_code, Some(0), "{}", describe(&owner));
        let unfinished = tokio_stream::iter(parts("deep/er/data.bin", 0, b"half", false));
        assert_eq!(code(client.write_file(unfinished).await), Code::InvalidArgument);
        assert!(
            read(&client, "deep/er/data.bin", 0, None).await? == content,
            "a broken write changed a file"
        );
        let left = shell(&client, "one", "find /work -name '.prl-*'").await?;
        assert_eq!(text(&left.stdout), "");
        let moved = MoveRequest {
            r#box: "one".to_owned(),
            from: "deep/er/data.bin".to_owned(),
            to: "/tmp/data.bin".to_owned(),
        };
        assert_eq!(client.r#move(moved).await?.into_inner().path, "/tmp/data.bin");
        assert_eq!(code(client.stat(path("deep/er/data.bin")).await), Code::NotFound);
        assert_eq!(
            client.make_directory(path("x/y")).await?.into_inner().kind(),
            Kind::Directory
        );
        let remove = |path: &str, recursive| RemoveRequest {
            r#box: "one".to_owned(),
            path: path.to_owned(),
            recursive,
        };
        assert_eq!(code(client.remove(remove("x", false)).await), Code::FailedPrecondition);
        client.remove(remove("x", true)).await?;
        assert_eq!(code(client.remove(remove("x", true)).await), Code::NotFound);
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn directories_are_listed_within_bounds() -> Outcome {
    in_every_tier(async |daemon| {
    let mut client = made(&daemon).await?;
    shell(&client, "one", "mkdir -p a/b/c; ln -s /etc/passwd a/link; mkfifo a/pipe; touch a/$'new\\nline'; for i in {1..50}; do touch a/b/$i; done")
        .await?;
    let list = |path: &str, depth, max_entries| ListDirectoryRequest {
        r#box: "one".to_owned(),
        path: path.to_owned(),
        depth,
        max_entries,
    };
    let found = client.list_directory(list("a", 0, None)).await?.into_inner();
    let entries: Vec<_> = found
        .entries
        .iter()
        .map(|entry| (entry.path.as_str(), entry.kind()))
        .collect();
    let wanted = [
        ("/work/a/b", Kind::Directory),
        ("/work/a/link", Kind::Symlink),
        ("/work/a/new\nline", Kind::File),
        ("/work/a/pipe", Kind::Other),
    ];
    assert_eq!(entries, wanted);
    assert_eq!(found.entries[1].link_target, "/etc/passwd");
    let deep = client.list_directory(list(".", 9, None)).await?.into_inner();
    assert_eq!((deep.entries.len(), deep.truncated), (56, false));
    let some = client.list_directory(list("a", 9, Some(10))).await?.into_inner();
    assert_eq!((some.entries.len(), some.truncated), (10, true));
    assert_eq!(code(client.list_directory(list("none", 1, None)).await), Code::NotFound);
    Ok(())
    })
    .await
}

/// The daemon has the whole list in memory, and programs decide how long paths and targets are.
#[tokio::test(flavor = "multi_thread")]
async fn a_list_has_a_bound_in_bytes() -> Outcome {
    let Some(daemon) = Daemon::start(&["--park", "0"])? else {
        return Ok(());
    };
    let mut client = boxes(&daemon).await?;
    let mut roomy = small("one");
    let limits = roomy.limits.get_or_insert_default();
    (limits.inodes, limits.disk_bytes) = (Some(10_000), Some(64 << 20));
    client.create(roomy).await?;
    let links = "python3 -c 'import os; [os.symlink(\"x\" * 4000, str(n)) for n in range(6000)]'; ls | wc -l";
    let result = shell(&client, "one", links).await?;
    assert_eq!(text(&result.stdout), "6000\n", "{}", describe(&result));
    let request = ListDirectoryRequest {
        r#box: "one".to_owned(),
        path: ".".to_owned(),
        ..ListDirectoryRequest::default()
    };
    let found = client.list_directory(request).await?.into_inner();
    let bytes: usize = found.entries.iter().map(|entry| entry.link_target.len()).sum();
    assert!(found.truncated && (12 << 20..16 << 20).contains(&bytes), "{bytes}");
    daemon.stop()
}

#[tokio::test(flavor = "multi_thread")]
async fn no_path_leads_further_than_the_guest_could_go() -> Outcome {
    let Some(daemon) = Daemon::start(&["--park", "0"])? else {
        return Ok(());
    };
    let client = made(&daemon).await?;
    let line = "ln -s /etc/shadow shadow; ln -s /proc/1/root root; mkfifo pipe; ln -s pipe to-pipe; ln -s /usr usr; \
                ln -s loop loop; truncate -s 1T sparse; ln -s /dev/zero zero; mkdir dir; (while :; do ln -sfn /etc d; ln -sfn \
                /work/dir d; done) > /dev/null 2>&1 &";
    shell(&client, "one", line).await?;
    for (asked, wanted) in [
        ("shadow", Code::FailedPrecondition),
        ("/etc/shadow", Code::FailedPrecondition),
        ("root/etc/passwd", Code::FailedPrecondition),
        ("/proc/1/environ", Code::FailedPrecondition),
        ("/proc/self/environ", Code::FailedPrecondition),
        ("/proc/self/mem", Code::FailedPrecondition),
        ("pipe", Code::FailedPrecondition),
        ("to-pipe", Code::FailedPrecondition),
        ("zero", Code::FailedPrecondition),
        ("/dev/tty", Code::FailedPrecondition),
        ("dir", Code::FailedPrecondition),
        ("loop", Code::FailedPrecondition),
        ("sparse", Code::OutOfRange),
        ("../../../root/.bashrc", Code::NotFound),
        ("no\0thing", Code::InvalidArgument),
    ] {
        let read = tokio::time::timeout(Duration::from_secs(5), read(&client, asked, 0, None)).await?;
        // Where processes of other users are hidden, their files do not exist.
        let hidden = asked.contains("proc") || asked.contains("root/");
        let got = code(read);
        assert!(
            got == wanted || (hidden && got == Code::NotFound),
            "reading {asked}: {got:?}"
        );
    }
    for asked in [
        "usr/x",
        "/etc/x",
        "pipe",
        "/dev/null",
        "dir",
        "root/work/x",
        "/x",
        "/proc/sys/kernel/core_pattern",
    ] {
        let wrote = tokio::time::timeout(Duration::from_secs(5), write(&client, asked, b"x")).await?;
        let got = code(wrote);
        let hidden = asked.starts_with("root/") || asked.starts_with("/proc");
        assert!(
            got == Code::FailedPrecondition || (hidden && got == Code::NotFound),
            "writing {asked}: {got:?}"
        );
    }
    // Meanwhile the guest exchanges a directory and a link to a place where it may not write.
    for _ in 0..40 {
        if let Err(status) = write(&client, "d/race", b"x").await {
            assert!(
                [Code::FailedPrecondition, Code::NotFound].contains(&status.code()),
                "{status:?}"
            );
        }
    }
    assert!(!std::path::Path::new("/etc/race").exists());
    let full = write(&client, "big", &vec![1; 20 << 20]).await;
    assert!(
        full.err().is_some_and(|status| status.message().contains("space")),
        "the box's disk has no limit"
    );
    let fine = shell(&client, "one", "rm -f sparse; echo fine").await?;
    assert_eq!(text(&fine.stdout), "fine\n", "{}", describe(&fine));
    Ok(())
}

fn archive(fill: impl FnOnce(&mut tar::Builder<Vec<u8>>) -> std::io::Result<()>) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut builder = tar::Builder::new(Vec::new());
    fill(&mut builder)?;
    Ok(builder.into_inner()?)
}

fn header(kind: tar::EntryType, size: u64, mode: u32) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(kind);
    header.set_size(size);
    header.set_mode(mode);
    header
}

type NamedArchive = (&'static str, Vec<u8>);

/// Archives that must be refused, each with what is wrong with it.
fn evil_archives() -> Result<Vec<NamedArchive>, Box<dyn Error>> {
    use tar::EntryType;
    let named = |header: &mut tar::Header, name: &str| {
        let bytes = &mut header.as_old_mut().name;
        bytes.fill(0);
        bytes[..name.len()].copy_from_slice(name.as_bytes());
        header.set_cksum();
    };
    let outside = |name: &str| {
        archive(|tar| {
            let mut header = header(EntryType::Regular, 1, 0o644);
            named(&mut header, name);
            tar.append(&header, &b"x"[..])
        })
    };
    Ok(vec![
        ("..", outside("../out")?),
        ("absolute", outside("/tmp/out")?),
        (
            "device",
            archive(|tar| tar.append_data(&mut header(EntryType::Char, 0, 0o644), "null", &b""[..]))?,
        ),
        (
            "hard link",
            archive(|tar| tar.append_link(&mut header(EntryType::Link, 0, 0o644), "passwd", "/etc/passwd"))?,
        ),
        (
            "set-id",
            archive(|tar| tar.append_data(&mut header(EntryType::Regular, 1, 0o4755), "su", &b"x"[..]))?,
        ),
        (
            "a name that fills the memory",
            archive(|tar| {
                let mut long = header(EntryType::GNULongName, 2 << 20, 0o644);
                named(&mut long, "././@LongLink");
                tar.append(&long, &vec![b'n'; 2 << 20][..])?;
                tar.append_data(&mut header(EntryType::Regular, 1, 0o644), "short", &b"x"[..])
            })?,
        ),
        (
            "through a link",
            archive(|tar| {
                tar.append_link(&mut header(EntryType::Symlink, 0, 0o777), "out", "/tmp")?;
                tar.append_data(&mut header(EntryType::Regular, 1, 0o644), "out/out", &b"x"[..])
            })?,
        ),
    ])
}

#[tokio::test(flavor = "multi_thread")]
async fn archives_carry_directories_and_nothing_else() -> Outcome {
    in_every_tier(async |daemon| {
    let mut client = made(&daemon).await?;
    let long = "n".repeat(200);
    let line = format!(
        "mkdir -p d/sub/{long}; echo hello > d/sub/{long}/file; chmod 750 d/sub; ln -s ../x d/link; mkfifo d/pipe; \
         head -c 300000 /dev/urandom > d/random; sha256sum < d/random"
    );
    let sum = shell(&client, "one", &line).await?;
    let packed = collect(client.read_archive(path("d")).await?.into_inner()).await?;
    let reply = client
        .write_archive(tokio_stream::iter(parts("copy/of/it", 0, &packed, true)))
        .await?
        .into_inner();
    assert_eq!(reply.entries, 5);
    let line = format!(
        "cat copy/of/it/sub/{long}/file; stat -c %a copy/of/it/sub; readlink copy/of/it/link; sha256sum < copy/of/it/random; ls copy/of/it"
    );
    let copied = shell(&client, "one", &line).await?;
    let wanted = format!("hello\n750\n../x\n{}link\nrandom\nsub\n", text(&sum.stdout));
    assert_eq!(text(&copied.stdout), wanted, "{}", describe(&copied));

    for (what, bytes) in evil_archives()? {
        let refused = client
            .write_archive(tokio_stream::iter(parts("evil", 0, &bytes, true)))
            .await;
        let said = refused.as_ref().err().map_or("", Status::message);
        assert_eq!(said.contains("the headers of an entry"), what.contains("memory"), "{what}: {said}");
        assert_eq!(code(refused), Code::FailedPrecondition, "{what} was unpacked");
    }
    let cut = &packed[..packed.len() / 2];
    let refused = client
        .write_archive(tokio_stream::iter(parts("cut", 0, cut, true)))
        .await;
    assert_eq!(code(refused), Code::FailedPrecondition, "half an archive was unpacked");
    let outside = shell(&client, "one", "ls /tmp /out /work/out 2>/dev/null").await?;
    assert!(!text(&outside.stdout).contains("out\n/"), "{}", describe(&outside));
    Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_are_seen_from_the_moment_the_watch_stands() -> Outcome {
    in_every_tier(async |daemon| {
        let mut client = made(&daemon).await?;
        let request = WatchRequest {
            r#box: "one".to_owned(),
            path: ".".to_owned(),
            recursive: true,
        };
        let mut events = client.watch(request).await?.into_inner();
        let ready: WatchEvent = events.message().await?.ok_or("no event")?;
        assert_eq!(ready.kind(), watch_event::Kind::Ready);
        let mut seen = async |kind: watch_event::Kind, path: &str| -> Outcome {
            loop {
                let event = tokio::time::timeout(Duration::from_secs(20), events.message()).await??;
                let event = event.ok_or("the watch ended")?;
                if event.kind() == kind && event.path == path {
                    return Ok(());
                }
            }
        };
        shell(&client, "one", "mkdir -p new/deep; echo x > new/deep/file").await?;
        seen(watch_event::Kind::Created, "/work/new/deep/file").await?;
        shell(&client, "one", "echo y >> new/deep/file").await?;
        seen(watch_event::Kind::Modified, "/work/new/deep/file").await?;
        shell(&client, "one", "rm -r new").await?;
        seen(watch_event::Kind::Removed, "/work/new").await?;
        drop(events);
        let missing = WatchRequest {
            r#box: "one".to_owned(),
            path: "none".to_owned(),
            recursive: false,
        };
        assert_eq!(code(client.watch(missing).await), Code::NotFound);
        for _ in 0..100 {
            let left = shell(&client, "one", "ls /proc | grep -c '^[0-9]'").await?;
            // Init, the shell and its pipe: the helper is gone.
            if text(&left.stdout).trim().parse::<u32>()? <= 5 {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Err("a helper stayed behind".into())
    })
    .await
}

/// Exchanges a directory and a link to the machine's files as fast as it can, until it is killed.
const EXCHANGE: &str = r#"
import ctypes, os
libc = ctypes.CDLL(None)
os.makedirs('d/below')
for path in ('d/shadow', 'd/below/shadow'): open(path, 'w').write('own')
os.symlink('/etc', 'link')
open('ready', 'w').close()
while True: libc.renameat2(-100, b'd', -100, b'link', 2)
"#;

/// Wherever a path leads at the moment, nothing is done there that the program could not do itself.
#[tokio::test(flavor = "multi_thread")]
async fn an_exchange_of_directories_gains_nothing() -> Outcome {
    in_every_tier(async |daemon| {
        let secret = std::fs::read("/etc/shadow").unwrap_or_default();
        // Without separate users a box may read what the daemon may read.
        let is_secret = daemon.is_full() && daemon.is_root();
        let mut client = made(&daemon).await?;
        write(&client, "exchange.py", EXCHANGE.as_bytes()).await?;
        let runs = shell(&client, "one", "python3 exchange.py > /dev/null 2>&1 & sleep 0.1").await?;
        assert_eq!(runs.exit_code, Some(0), "{}", describe(&runs));
        until("exchanging", async || {
            Ok(client.clone().stat(path("ready")).await.is_ok())
        })
        .await?;
        let own = |content: &[u8]| content == b"own" || content == b"new" || (!is_secret && content == secret);
        for round in 0..60 {
            if let Ok(content) = read(&client, "d/shadow", 0, None).await {
                assert!(own(&content), "read in round {round}");
            }
            let name = format!("d/new-{round}");
            let _either = write(&client, &name, b"new").await;
            assert!(!std::path::Path::new("/etc").join(format!("new-{round}")).exists());
            let _either = client.make_directory(path(&format!("d/dir-{round}"))).await;
            if let Ok(chunks) = client.read_archive(path("d")).await
                && let Ok(bytes) = collect(chunks.into_inner()).await
            {
                for entry in tar::Archive::new(&bytes[..]).entries()? {
                    let mut entry = entry?;
                    if entry.path()?.file_name() == Some("shadow".as_ref()) {
                        let mut content = Vec::new();
                        std::io::Read::read_to_end(&mut entry, &mut content)?;
                        assert!(own(&content), "packed in round {round}");
                    }
                }
            }
        }
        for round in 0..10 {
            let id = format!("s{round}");
            let request = SnapshotRequest {
                r#box: "one".to_owned(),
                id: id.clone(),
                ..SnapshotRequest::default()
            };
            // A directory that is exchanged at the wrong moment may be an error of the snapshot.
            if client.snapshot(request).await.is_err() {
                continue;
            }
            let copy = CreateRequest {
                from_snapshot: id,
                ..small(&format!("copy-{round}"))
            };
            client.create(copy).await?;
            let line = "find . -type f -name shadow -exec cat {} + | tr -d '\n'; echo; find . -type f -name passwd";
            let found = shell(&client, &format!("copy-{round}"), line).await?;
            let said = text(&found.stdout);
            assert!(
                said.trim().chars().all(|letter| "own".contains(letter)),
                "{}",
                describe(&found)
            );
        }
        Ok(())
    })
    .await
}
