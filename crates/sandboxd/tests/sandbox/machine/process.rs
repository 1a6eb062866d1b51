//! The tier without namespaces: what it isolates, and that it reports what it cannot.

use prl_sandbox_proto::{
    CapabilitiesRequest, Cause, CreateRequest, DialRequest, InputFile, Isolation, Limits, ReadFileRequest,
    RemoveRequest, RunOnceRequest, SnapshotRequest, WriteFileRequest,
};
use tonic::Code;

use crate::boxes::{Boxes, boxes, shell, small};
use crate::support::{Client, Daemon, Outcome, cause, command, describe, text};

fn start(arguments: &[&str]) -> Result<Option<Daemon>, Box<dyn std::error::Error>> {
    Daemon::start(&[&["--tier", "process", "--park", "1"], arguments].concat())
}

fn python(code: &str) -> RunOnceRequest {
    command(&["/usr/bin/python3", "-I", "-S", "-c", code])
}

async fn out(client: &mut Client, request: RunOnceRequest) -> Result<String, Box<dyn std::error::Error>> {
    let result = client.run_once(request).await?.into_inner();
    assert_eq!(cause(&result), Cause::Exited, "{}", describe(&result));
    assert_eq!(result.isolation(), Isolation::Process);
    Ok(text(&result.stdout))
}

#[tokio::test(flavor = "multi_thread")]
async fn ordinary_programs_work_in_the_process_tier() -> Outcome {
    let Some(daemon) = start(&[])? else { return Ok(()) };
    let mut client = daemon.client().await?;
    let mut request = command(&[
        "bash",
        "-c",
        "cat in.txt; pwd; echo $HOME; cat /etc/hostname > /dev/null && echo etc; echo x > $TMPDIR/f && echo tmp; \
         mkdir -p out/deep && echo made > out/deep/f; (echo a; echo b) | sort -r | head -1; echo err >&2; \
         python3 -c 'import subprocess, tempfile, sqlite3; print(subprocess.run([\"echo\", \"sub\"], capture_output=True).stdout, \
         len(tempfile.mkdtemp()) > 0)'; exit 3",
    ]);
    request.files = vec![InputFile {
        path: "in.txt".to_owned(),
        content: "input\n".into(),
        mode: 0,
    }];
    request.collect = vec!["out/**".to_owned()];
    let result = client.run_once(request).await?.into_inner();
    assert_eq!(result.exit_code, Some(3), "{}", describe(&result));
    let out = text(&result.stdout);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[0], "input");
    assert_eq!(lines[1], lines[2]);
    assert!(lines[1].ends_with("/work"), "{out}");
    assert_eq!(
        lines[3..],
        ["etc", "tmp", "b", "b'sub\\n' True"],
        "{}",
        describe(&result)
    );
    assert_eq!(result.files.len(), 1, "{:?} {:?}", result.files, result.uncollected);
    assert_eq!(&result.files[0].content[..], b"made\n");
    for (argv, wanted) in [
        (["bash", "-c", "kill -9 $$"], Cause::Signaled),
        (["bash", "-c", "while :; do :; done"], Cause::CpuTimeout),
        (["bash", "-c", "sleep 60"], Cause::WallTimeout),
        (["bash", "-c", "yes"], Cause::OutputLimit),
        (["bash", "-c", "exit 137"], Cause::Exited),
    ] {
        let mut request = command(&argv);
        request.limits = Some(Limits {
            wall_ms: Some(if wanted == Cause::WallTimeout { 500 } else { 20_000 }),
            cpu_ms: Some(if wanted == Cause::CpuTimeout { 300 } else { 20_000 }),
            output_kill_bytes: Some(1 << 20),
            ..Limits::default()
        });
        let result = client.run_once(request).await?.into_inner();
        assert_eq!(cause(&result), wanted, "{argv:?}: {}", describe(&result));
    }
    daemon.stop()
}

/// Init may be root here, and it sees the machine's files.
#[tokio::test(flavor = "multi_thread")]
async fn a_working_directory_elsewhere_is_neither_made_nor_filled_nor_collected() -> Outcome {
    let Some(daemon) = start(&[])? else { return Ok(()) };
    let place = tempfile::tempdir_in("/var/tmp")?;
    std::fs::write(place.path().join("theirs"), "theirs")?;
    // The permissions allow every user, so they are not the reason for a refusal.
    std::fs::set_permissions(place.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777))?;
    let here = place.path().to_string_lossy().into_owned();
    let mut client = daemon.client().await?;
    for cwd in [here.clone(), format!("{here}/new"), "/etc".to_owned(), "/".to_owned()] {
        let mut request = command(&["true"]);
        request.cwd = cwd.clone();
        request.collect = vec![
            "theirs".to_owned(),
            "shadow".to_owned(),
            format!("{}/theirs", &here[1..]),
        ];
        let result = client.run_once(request.clone()).await?.into_inner();
        assert!(result.files.is_empty(), "{cwd}: {}", describe(&result));
        request.files = vec![InputFile {
            path: "theirs".to_owned(),
            content: "mine".into(),
            mode: 0,
        }];
        let result = client.run_once(request).await?.into_inner();
        assert_ne!(result.exit_code, Some(0), "{cwd}: {}", describe(&result));
        assert_ne!(cause(&result), Cause::Infra, "{cwd}: {}", describe(&result));
    }
    let left: Vec<_> = std::fs::read_dir(place.path())?.collect::<Result<_, _>>()?;
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!(std::fs::read_to_string(place.path().join("theirs"))?, "theirs");
    daemon.stop()
}

/// Tries, one by one, everything of the machine that a program must not reach.
const REACH: &str = r#"
import os, socket, ctypes, signal
libc = ctypes.CDLL(None, use_errno=True)
def attempt(name, f):
    try: print(name, 'reached', f())
    except OSError as e: print(name, 'refused')
def call(*a):
    if libc.syscall(*a) < 0: raise OSError(ctypes.get_errno(), '')
daemon = @DAEMON@
attempt('read', lambda: open('@SECRET@').read())
attempt('list', lambda: os.listdir('@DIR@'))
attempt('homes', lambda: os.listdir('..') and os.listdir('../..'))
attempt('write', lambda: open('@DIR@/new', 'w'))
attempt('unlink', lambda: os.unlink('@SECRET@'))
attempt('rename', lambda: os.rename('@SECRET@', 'mine'))
attempt('link', lambda: os.link('@SECRET@', 'mine2'))
attempt('truncate', lambda: os.truncate('@SECRET@', 0))
attempt('chmod', lambda: os.chmod('@SECRET@', 0))
attempt('utime', lambda: os.utime('@SECRET@', (0, 0)))
attempt('pids', lambda: os.listdir('/proc'))
attempt('environ', lambda: open(f'/proc/{daemon}/environ').read())
attempt('cmdline', lambda: open(f'/proc/{daemon}/cmdline').read())
attempt('memory', lambda: open(f'/proc/{daemon}/mem', 'rb'))
attempt('kill', lambda: os.kill(daemon, 0))
attempt('limits', lambda: call(302, daemon, 7, 0, 0))
attempt('affinity', lambda: os.sched_setaffinity(daemon, {0}))
attempt('tcp', lambda: socket.socket())
attempt('udp', lambda: socket.socket(2, 2))
attempt('unix', lambda: socket.socket(1))
attempt('netlink', lambda: socket.socket(16, 3, 0))
attempt('shm', lambda: open('/dev/shm/x', 'w'))
attempt('sysv', lambda: call(29, 0, 4096, 0o1600))
attempt('mount', lambda: call(165, b'none', b'/tmp', b'tmpfs', 0, 0))
attempt('namespace', lambda: call(272, 0x10000000))
attempt('ptrace', lambda: call(101, 16, daemon, 0, 0))
attempt('raw', lambda: open('/dev/kmsg', 'rb'))
print(*socket.socketpair())
"#;

#[tokio::test(flavor = "multi_thread")]
async fn the_machine_cannot_be_reached_from_the_process_tier() -> Outcome {
    let Some(daemon) = start(&[])? else { return Ok(()) };
    let secrets = tempfile::tempdir()?;
    let secret = secrets.path().join("secret");
    std::fs::write(&secret, "secret")?;
    // The permissions allow every user, so they are not the reason for a refusal.
    use std::os::unix::fs::PermissionsExt;
    for path in [secrets.path(), &secret] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777))?;
    }
    let code = REACH
        .replace("@DAEMON@", &daemon.pid().to_string())
        .replace("@SECRET@", &secret.to_string_lossy())
        .replace("@DIR@", &secrets.path().to_string_lossy());
    let mut client = daemon.client().await?;
    let seen = out(&mut client, python(&code)).await?;
    let reached: Vec<&str> = seen.lines().filter(|line| line.contains("reached")).collect();
    assert!(reached.is_empty(), "{reached:#?}");
    assert!(
        seen.lines().count() > 27 && seen.contains("socket.socket fd="),
        "{seen}"
    );
    assert_eq!(std::fs::read_to_string(&secret)?, "secret");
    daemon.stop()
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_left_of_a_box_of_the_process_tier() -> Outcome {
    let directory = tempfile::tempdir()?;
    let work = directory.path().to_string_lossy().into_owned();
    let Some(mut daemon) = start(&["--park", "0", "--work-dir", &work])? else {
        return Ok(());
    };
    let mut client = daemon.client().await?;
    // Processes outside the session, invisible to their parent, that ignore signals, with directories in the way.
    let escape = "for i in 1 2 3; do setsid bash -c 'trap \"\" TERM HUP; (sleep 371 & sleep 371) & disown; sleep 371' & disown; done; \
                  mkdir -p a/b/c/d && chmod 000 a/b; ln -s /etc link; echo done";
    assert_eq!(out(&mut client, command(&["bash", "-c", escape])).await?, "done\n");
    let alive = || -> Vec<String> {
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let read = |path: std::path::PathBuf| std::fs::read_to_string(path.join("cmdline")).unwrap_or_default();
        entries
            .map(|entry| read(entry.path()))
            .filter(|line| line.contains("sleep\u{0}371"))
            .collect()
    };
    let homes = || {
        std::fs::read_dir(directory.path())
            .into_iter()
            .flatten()
            .flatten()
            .flat_map(|one| std::fs::read_dir(one.path()).into_iter().flatten().flatten())
    };
    let gone = async |daemon_lives: bool| -> Outcome {
        for _ in 0..1000 {
            let entries = std::fs::read_dir(directory.path())?.count();
            if alive().is_empty() && homes().count() == 0 && entries == usize::from(daemon_lives) {
                return Ok(());
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        Err(format!("left: {:?} {}", alive(), homes().count()).into())
    };
    gone(true).await?;
    // When init, the daemon and all are killed, the next process above ends what they had.
    let mut held = boxes(&daemon).await?;
    held.create(small("one")).await?;
    shell(
        &held,
        "one",
        "setsid bash -c 'echo up > up; exec sleep 371' & until [ -e up ]; do sleep 0.01; done",
    )
    .await?;
    while alive().is_empty() {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    daemon.kill()?;
    gone(false).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_process_tier_names_missing_defences() -> Outcome {
    let Some(daemon) = start(&[])? else { return Ok(()) };
    let mut client = daemon.client().await?;
    let capabilities = client.capabilities(CapabilitiesRequest {}).await?.into_inner();
    assert_eq!(capabilities.isolation(), Isolation::Process);
    let missing = |name: &str| {
        capabilities
            .facilities
            .iter()
            .any(|one| one.name == name && !one.available)
    };
    for name in ["network", "limits.disk", "images", "runtime.warm"] {
        assert!(missing(name), "{name}: {:?}", capabilities.facilities);
    }
    for isolation in [Isolation::Rootless, Isolation::Full] {
        let mut request = command(&["true"]);
        request.min_isolation = isolation.into();
        let refused = client.run_once(request).await;
        assert!(refused.is_err_and(|status| status.code() == Code::FailedPrecondition));
    }
    let mut request = command(&["true"]);
    request.network = Some(prl_sandbox_proto::Network {
        mode: prl_sandbox_proto::network::Mode::Allow.into(),
        allow: vec!["example.com".to_owned()],
        forward: Vec::new(),
    });
    let refused = client.run_once(request).await;
    assert!(refused.is_err_and(|status| status.code() == Code::Unimplemented));
    let mut held = boxes(&daemon).await?;
    held.create(CreateRequest { ..small("one") }).await?;
    let result = shell(&held, "one", "echo kept > f").await?;
    assert_eq!(cause(&result), Cause::Exited, "{}", describe(&result));
    assert_eq!(text(&shell(&held, "one", "cat f").await?.stdout), "kept\n");
    let port = DialRequest {
        r#box: "one".to_owned(),
        port: 80,
        ..DialRequest::default()
    };
    let refused = held.dial(tokio_stream::iter([port])).await;
    assert!(refused.is_err_and(|status| status.code() == Code::Unimplemented));
    let mut request = command(&["python3", "-c", "print(1)"]);
    request.runtime = "python".to_owned();
    let refused = client.run_once(request).await;
    assert!(refused.is_err_and(|status| status.code() == Code::FailedPrecondition));
    daemon.stop()
}

/// Reads a path through the daemon; `None` where it is refused.
async fn read(held: &Boxes, id: &str, path: &str) -> Option<String> {
    let request = ReadFileRequest {
        r#box: id.to_owned(),
        path: path.to_owned(),
        ..ReadFileRequest::default()
    };
    let mut chunks = held.clone().read_file(request).await.ok()?.into_inner();
    let mut content = Vec::new();
    while let Some(chunk) = chunks.message().await.ok()? {
        content.extend_from_slice(&chunk.data);
    }
    String::from_utf8(content).ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_callers_paths_lead_no_further_than_the_box() -> Outcome {
    // Not in /tmp, which is a directory of the box by its name.
    let secrets = tempfile::tempdir_in("/var/tmp")?;
    let secret = secrets.path().join("secret");
    std::fs::write(&secret, "secret")?;
    use std::os::unix::fs::PermissionsExt;
    for path in [secrets.path(), &secret] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777))?;
    }
    let work = tempfile::tempdir_in("/var/tmp")?;
    let work_dir = work.path().to_string_lossy().into_owned();
    let Some(daemon) = start(&["--park", "0", "--work-dir", &work_dir])? else {
        return Ok(());
    };
    let mut held = boxes(&daemon).await?;
    for id in ["one", "two"] {
        held.create(small(id)).await?;
        shell(&held, id, &format!("echo of {id} > note; echo $PWD > where")).await?;
    }
    assert_eq!(read(&held, "one", "/work/note").await.as_deref(), Some("of one\n"));
    let other = read(&held, "two", "where").await.ok_or("nowhere")?.trim().to_owned();
    let line = format!(
        "ln -s {}/note theirs; ln -s {} link; ln -s {} directory",
        other,
        secret.display(),
        secrets.path().display()
    );
    shell(&held, "one", &line).await?;
    let secret = secret.to_string_lossy().into_owned();
    let numbered = other
        .trim_end_matches("/work")
        .rsplit('/')
        .next()
        .ok_or("no number")?
        .to_owned();
    let up = format!("../../{numbered}/work/note");
    for path in [
        &secret,
        "link",
        "directory/secret",
        "theirs",
        &format!("{other}/note"),
        &up,
        "/proc/1/environ",
    ] {
        assert_eq!(read(&held, "one", path).await, None, "{path}");
        let written = WriteFileRequest {
            r#box: "one".to_owned(),
            path: path.to_owned(),
            data: b"mine".as_slice().into(),
            end: true,
            ..WriteFileRequest::default()
        };
        assert!(held.write_file(tokio_stream::iter([written])).await.is_err(), "{path}");
        let request = RemoveRequest {
            r#box: "one".to_owned(),
            path: path.to_owned(),
            recursive: true,
        };
        // A link belongs to the box, and its target stays.
        let removed = held.remove(request).await.is_ok();
        assert!(!removed || ["link", "theirs"].contains(&path), "{path}");
    }
    assert_eq!(std::fs::read_to_string(&secret)?, "secret");
    assert_eq!(read(&held, "two", "note").await.as_deref(), Some("of two\n"));
    // No file is larger than the box may be.
    let parts = (0..17).map(|at| WriteFileRequest {
        r#box: if at == 0 { "one" } else { "" }.to_owned(),
        path: if at == 0 { "large" } else { "" }.to_owned(),
        data: vec![0; 1 << 20].into(),
        end: at == 16,
        ..WriteFileRequest::default()
    });
    let large = held.write_file(tokio_stream::iter(parts.collect::<Vec<_>>())).await;
    assert!(large.is_err_and(|status| status.message().contains("File too large")));
    daemon.stop()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_box_of_the_process_tier_begins_where_another_was() -> Outcome {
    let Some(daemon) = start(&["--park", "0"])? else {
        return Ok(());
    };
    let mut held = boxes(&daemon).await?;
    held.create(small("first")).await?;
    let line =
        "mkdir -p kept/deep; echo mine > kept/deep/file; echo tmp > $TMPDIR/t; ln -s kept link; ln -s /etc outside";
    shell(&held, "first", line).await?;
    let request = SnapshotRequest {
        r#box: "first".to_owned(),
        id: "s".to_owned(),
        ..SnapshotRequest::default()
    };
    held.snapshot(request).await?;
    shell(&held, "first", "echo changed > kept/deep/file").await?;
    let request = CreateRequest {
        from_snapshot: "s".to_owned(),
        ..small("second")
    };
    held.create(request).await?;
    let line =
        "cat link/deep/file $TMPDIR/t; readlink outside; echo more >> kept/deep/file && rm -r kept && echo owned";
    let found = shell(&held, "second", line).await?;
    assert_eq!(text(&found.stdout), "mine\ntmp\n/etc\nowned\n", "{}", describe(&found));
    daemon.stop()
}
