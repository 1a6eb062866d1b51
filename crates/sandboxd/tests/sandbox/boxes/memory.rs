//! Boxes whose memory is full of things that dead programs left: the results of programs say so, and the box goes on.

use prl_sandbox_proto::{Cause, CreateRequest, ExecRequest, InputFile, Limits, RemoveRequest};

use super::{boxes, exec, small};
use crate::support::census::{flat, resident_kib};
use crate::support::{Daemon, Outcome, cause, describe, skip, text, until};

const MEMORY_BYTES: u64 = 64 << 20;
const ROUNDS: usize = 10;

/// Makes segments that stay when it is killed. The program itself uses little memory.
pub(crate) const LEAVES_SEGMENTS: [&str; 3] = [
    "perl",
    "-e",
    "my $part = 'x' x 65536; for (1..40) { my $id = shmget(0, 4 << 20, 01600); shmwrite($id, $part, $_ * 65536, 65536) for 0..63 }",
];
pub(crate) const LEAVES_FILES: [&str; 3] = ["sh", "-c", "exec dd if=/dev/zero of=/dev/shm/$$ bs=64k"];

/// Limits with so little memory that files can fill it.
pub(crate) fn limits() -> Limits {
    Limits {
        memory_bytes: Some(MEMORY_BYTES),
        disk_bytes: Some(1 << 30),
        // A program in a full group can wait long for the kernel to find pages, and this search is CPU time of the program.
        wall_ms: Some(120_000),
        cpu_ms: Some(60_000),
        ..Limits::default()
    }
}

/// Whether this cause is a true one for a program that fills memory.
/// The kernel first takes the pages of the running program's code. While the program reads these again and again,
/// the kernel finds a page each time, and the CPU time can end before the kernel calls the group out of memory.
pub(crate) const fn ends_in_full_memory(cause: Cause) -> bool {
    matches!(cause, Cause::Oom | Cause::CpuTimeout | Cause::WallTimeout)
}

fn warm(id: &str, code: &str) -> ExecRequest {
    exec(id, &["python3", "-c", code])
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_filled_by_dead_programs_does_not_end_their_box() -> Outcome {
    let Some(daemon) = Daemon::start(&["--park", "0", "--warm", "python=1"])? else {
        return Ok(());
    };
    if !daemon.is_full() {
        skip("memory of a whole tree is not limited here");
        return daemon.stop();
    }
    let mut client = boxes(&daemon).await?;
    for (id, program) in [("segments", LEAVES_SEGMENTS), ("files", LEAVES_FILES)] {
        let request = CreateRequest {
            limits: Some(limits()),
            // The process that waits for the next program must not be harmed either.
            runtime: "python".to_owned(),
            ..small(id)
        };
        client.create(request).await?;
        let mut counted_as_oom = 0;
        for round in 0..ROUNDS {
            let filled = client.exec(exec(id, &program)).await?.into_inner();
            assert!(
                ends_in_full_memory(cause(&filled)),
                "{id} {round}: {}",
                describe(&filled)
            );
            counted_as_oom += usize::from(cause(&filled) == Cause::Oom);
            // These may also need too much memory, but it is never our failure.
            let after = [exec(id, &["sh", "-c", "echo done"]), warm(id, "print(1)")];
            for request in after {
                let next = client.exec(request).await?.into_inner();
                assert!(
                    cause(&next) == Cause::Exited || ends_in_full_memory(cause(&next)),
                    "{id} {round}: {}",
                    describe(&next)
                );
            }
        }
        assert!(counted_as_oom > 0, "{id}: no round was out of memory");
    }
    let remove = RemoveRequest {
        r#box: "files".to_owned(),
        path: "/dev/shm".to_owned(),
        recursive: true,
    };
    // The program cannot remove the directory itself.
    let _left = client.remove(remove).await.is_err();
    let free = client
        .exec(warm("files", "print(len(bytes(40 << 20)))"))
        .await?
        .into_inner();
    assert_eq!(text(&free.stdout), "41943040\n", "{}", describe(&free));
    daemon.stop()
}

/// Their content is in the boxes, where the memory of each is limited.
#[tokio::test(flavor = "multi_thread")]
async fn the_daemon_does_not_keep_the_files_of_its_boxes() -> Outcome {
    let Some(daemon) = Daemon::start(&["--park", "0"])? else {
        return Ok(());
    };
    let mut client = boxes(&daemon).await?;
    let with = |id: &str, bytes: usize| {
        let mut request = small(id);
        request.limits.get_or_insert_default().disk_bytes = Some(64 << 20);
        request.files.push(InputFile {
            path: "large".to_owned(),
            content: vec![7; bytes].into(),
            mode: 0,
        });
        request
    };
    client.create(with("first", 1)).await?;
    let before = resident_kib(daemon.pid());
    for id in ["a", "b", "c", "d"] {
        client.create(with(id, 40 << 20)).await?;
    }
    until("let go of the files", async || {
        Ok(flat(before, resident_kib(daemon.pid())))
    })
    .await?;
    let size = client
        .exec(exec("d", &["stat", "-c", "%s", "large"]))
        .await?
        .into_inner();
    assert_eq!(text(&size.stdout), "41943040\n", "{}", describe(&size));
    daemon.stop()
}
