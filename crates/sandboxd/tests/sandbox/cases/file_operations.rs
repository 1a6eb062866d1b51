//! Attacks on the file operations of a held box: what a program in it has prepared, what its caller then asks for, and
//! the answer.

use std::time::Duration;

use prl_sandbox_proto::{MoveRequest, PathRequest, ReadFileRequest, RemoveRequest, WriteFileRequest};
use tar::{Builder, EntryType, Header};
use tonic::{Code, Status};

use super::Defence::{self, By, Layers};
use crate::boxes::{Boxes, shell, small};
use crate::support::{describe, text};

/// No operation may wait for a program for longer than this.
const PATIENCE: Duration = Duration::from_secs(8);

/// The caller's request.
#[derive(Clone, Copy)]
pub(crate) enum Ask {
    Read(&'static str),
    Write(&'static str),
    Stat(&'static str),
    Make(&'static str),
    Move(&'static str, &'static str),
    Remove(&'static str),
    /// One entry: kind, name, link target, mode.
    Unpack(EntryType, &'static str, &'static str, u32),
}

/// One case. `@NAME@` is replaced as in programs.
#[derive(Clone, Copy)]
pub(crate) struct FileAttack {
    pub(crate) name: &'static str,
    pub(crate) defence: Defence,
    /// A shell line in the box. Processes that it leaves go on.
    pub(crate) before: &'static str,
    pub(crate) ask: Ask,
    pub(crate) answer: Code,
    /// A shell line in the box, and the output that it must have afterwards.
    pub(crate) after: (&'static str, &'static str),
}

const fn file_attack(name: &'static str, defence: Defence, before: &'static str, ask: Ask, answer: Code) -> FileAttack {
    FileAttack {
        name,
        defence,
        before,
        ask,
        answer,
        after: ("echo fine", "fine\n"),
    }
}

impl FileAttack {
    const fn leaves(mut self, line: &'static str, says: &'static str) -> Self {
        self.after = (line, says);
        self
    }
}

use Ask::{Make, Move, Read, Remove, Stat, Unpack, Write};
use Code::{FailedPrecondition as Refused, NotFound, Ok as Done, OutOfRange};

pub(crate) const CASES: &[FileAttack] = &[
    file_attack(
        "secret read by its path",
        By("file-user"),
        "true",
        Read("/etc/shadow"),
        Refused,
    ),
    file_attack(
        "secret read through a link",
        By("file-user"),
        "ln -s /etc/shadow x",
        Read("x"),
        Refused,
    ),
    file_attack(
        "secret read through linked directories",
        By("file-user"),
        "ln -s /etc a; ln -s a b",
        Read("b/gshadow"),
        Refused,
    ),
    file_attack(
        "directory of root entered",
        By("file-user"),
        "true",
        Stat("/etc/ssl/private/x"),
        Refused,
    ),
    file_attack(
        "unreadable file read",
        By("file-user"),
        "echo x > f; chmod 0 f",
        Read("f"),
        Refused,
    ),
    file_attack(
        "file in a closed directory removed",
        By("file-user"),
        "mkdir d; touch d/f; chmod 500 d",
        Remove("d/f"),
        Refused,
    )
    .leaves("ls d", "f\n"),
    file_attack(
        "file written where no program may",
        By("file-user"),
        "mkdir d; chmod 500 d",
        Write("d/f"),
        Refused,
    )
    .leaves("ls d", ""),
    file_attack(
        "directory made where no program may",
        By("file-user"),
        "mkdir d; chmod 500 d",
        Make("d/e"),
        Refused,
    )
    .leaves("ls d", ""),
    file_attack(
        "file moved out of a closed directory",
        By("file-user"),
        "mkdir d; touch d/f; chmod 500 d",
        Move("d/f", "f"),
        Refused,
    )
    .leaves("ls", "d\n"),
    file_attack(
        "unpacked where no program may",
        By("file-user"),
        "mkdir out; chmod 500 out",
        Unpack(EntryType::Regular, "f", "", 0o644),
        Refused,
    )
    .leaves("ls out", ""),
    file_attack("pipe read", By("regular-files"), "mkfifo p", Read("p"), Refused),
    file_attack(
        "pipe read through a link",
        By("regular-files"),
        "mkfifo p; ln -s p x",
        Read("x"),
        Refused,
    ),
    file_attack(
        "endless file read",
        By("regular-files"),
        "ln -s /dev/zero x",
        Read("x"),
        Refused,
    ),
    file_attack(
        "terminal read",
        Layers("opened without waiting, and by kind"),
        "true",
        Read("/dev/pts/ptmx"),
        Refused,
    ),
    file_attack(
        "socket read",
        Layers("a socket cannot be opened"),
        "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"s\")'",
        Read("s"),
        Refused,
    ),
    file_attack("circle of links", Layers("the kernel"), "ln -s x x", Read("x"), Refused),
    file_attack(
        "file without end",
        Layers("bytes are counted"),
        "truncate -s 1T x",
        Read("x"),
        OutOfRange,
    ),
    file_attack(
        "file of the machine",
        Layers("the root view"),
        "true",
        Read("@FILE@"),
        NotFound,
    ),
    file_attack(
        "out of the box by dots",
        Layers("the root view"),
        "true",
        Read("../../../../@FILE@"),
        NotFound,
    ),
    file_attack(
        "out of the box by init's root",
        Layers("own proc, other user"),
        "ln -s /proc/1/root x",
        Read("x/etc/passwd"),
        NotFound,
    ),
    file_attack(
        "system file written",
        Layers("read-only mounts, other user"),
        "true",
        Write("/usr/bin/env"),
        Refused,
    ),
    file_attack(
        "system file written through a link",
        Layers("read-only mounts, other user"),
        "ln -s /usr u",
        Write("u/x"),
        Refused,
    ),
    file_attack(
        "pipe written",
        Layers("what is there is replaced only when it is a file"),
        "mkfifo p",
        Write("p"),
        Refused,
    )
    .leaves("stat -c %F p", "fifo\n"),
    file_attack(
        "device written",
        Layers("other user"),
        "true",
        Write("/dev/null"),
        Refused,
    ),
    file_attack(
        "kernel setting written",
        Layers("other user, and no file of proc is replaced"),
        "true",
        Write("/proc/sys/kernel/core_pattern"),
        NotFound,
    ),
    file_attack(
        "removal of everything",
        Layers("other user, read-only mounts"),
        "touch /work/f",
        Remove("/"),
        Refused,
    )
    .leaves("ls /usr/bin/env", "/usr/bin/env\n"),
    file_attack(
        "removal through a link",
        Layers("a link is removed as itself"),
        "mkdir d; touch d/f; ln -s d x",
        Remove("x"),
        Done,
    )
    .leaves("ls d", "f\n"),
    file_attack(
        "name that dots begin",
        Layers("names are checked"),
        "true",
        Unpack(EntryType::Regular, "../x", "", 0o644),
        Refused,
    )
    .leaves("ls /tmp", ""),
    file_attack(
        "name that is a path of the system",
        Layers("names are checked"),
        "true",
        Unpack(EntryType::Regular, "/tmp/x", "", 0o644),
        Refused,
    )
    .leaves("ls /tmp", ""),
    file_attack(
        "device in an archive",
        Layers("kinds are checked"),
        "true",
        Unpack(EntryType::Char, "x", "", 0o644),
        Refused,
    ),
    file_attack(
        "pipe in an archive",
        Layers("kinds are checked"),
        "true",
        Unpack(EntryType::Fifo, "x", "", 0o644),
        Refused,
    ),
    file_attack(
        "hard link in an archive",
        Layers("kinds are checked"),
        "true",
        Unpack(EntryType::Link, "x", "/etc/passwd", 0o644),
        Refused,
    ),
    file_attack(
        "set-user-id file in an archive",
        Layers("modes are checked"),
        "true",
        Unpack(EntryType::Regular, "x", "", 0o4755),
        Refused,
    ),
    file_attack(
        "link that leads out in an archive",
        Layers("a link is only a link"),
        "true",
        Unpack(EntryType::Symlink, "x", "/etc/shadow", 0o777),
        Done,
    )
    .leaves("cat out/x 2>/dev/null || echo unreadable", "unreadable\n"),
];

impl FileAttack {
    /// The reason why a case fails.
    pub(crate) async fn verdict(&self, boxes: &Boxes, id: &str, fill: impl Fn(&str) -> String) -> Result<(), String> {
        let failed = |error: Box<dyn std::error::Error>| format!("{}: {error}", self.name);
        boxes
            .clone()
            .create(small(id))
            .await
            .map_err(|status| format!("{}: {status}", self.name))?;
        shell(boxes, id, &fill(self.before)).await.map_err(failed)?;
        let asked = tokio::time::timeout(PATIENCE, self.ask(boxes.clone(), id, &fill)).await;
        let code = match asked {
            Ok(answer) => answer.map_or_else(|status| status.code(), |()| Code::Ok),
            Err(_) => return Err(format!("{}: no answer", self.name)),
        };
        if code != self.answer {
            return Err(format!("{}: {code:?} instead of {:?}", self.name, self.answer));
        }
        let left = shell(boxes, id, self.after.0).await.map_err(failed)?;
        if text(&left.stdout) == self.after.1 {
            return Ok(());
        }
        Err(format!(
            "{}: {:?} expected of {:?}\n{}",
            self.name,
            self.after.1,
            self.after.0,
            describe(&left)
        ))
    }

    async fn ask(&self, mut boxes: Boxes, id: &str, fill: impl Fn(&str) -> String) -> Result<(), Status> {
        let at = |path: &str| PathRequest {
            r#box: id.to_owned(),
            path: fill(path),
        };
        match self.ask {
            Read(path) => {
                let PathRequest { r#box, path } = at(path);
                let request = ReadFileRequest {
                    r#box,
                    path,
                    max_bytes: Some(1 << 20),
                    ..ReadFileRequest::default()
                };
                let mut chunks = boxes.read_file(request).await?.into_inner();
                while chunks.message().await?.is_some() {}
            }
            Write(path) => drop(boxes.write_file(whole(id, path, b"x")).await?),
            Stat(path) => drop(boxes.stat(at(path)).await?),
            Make(path) => drop(boxes.make_directory(at(path)).await?),
            Move(from, to) => {
                let request = MoveRequest {
                    r#box: id.to_owned(),
                    from: from.to_owned(),
                    to: to.to_owned(),
                };
                boxes.r#move(request).await?;
            }
            Remove(path) => {
                let request = RemoveRequest {
                    r#box: id.to_owned(),
                    path: path.to_owned(),
                    recursive: true,
                };
                boxes.remove(request).await?;
            }
            Unpack(kind, name, target, mode) => {
                let bytes = archive(kind, name, target, mode).map_err(|error| Status::internal(error.to_string()))?;
                boxes.write_archive(whole(id, "out", &bytes)).await?;
            }
        }
        Ok(())
    }
}

fn whole(id: &str, path: &str, data: &[u8]) -> tokio_stream::Iter<std::vec::IntoIter<WriteFileRequest>> {
    tokio_stream::iter(vec![WriteFileRequest {
        r#box: id.to_owned(),
        path: path.to_owned(),
        mode: 0,
        data: data.to_vec().into(),
        end: true,
    }])
}

/// Names are written unchanged, also bad ones.
fn archive(kind: EntryType, name: &str, target: &str, mode: u32) -> std::io::Result<Vec<u8>> {
    let content: &[u8] = if kind == EntryType::Regular { b"x" } else { b"" };
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_size(content.len() as u64);
    header.set_mode(mode);
    if !target.is_empty() {
        header.set_link_name(target)?;
    }
    let field = &mut header.as_old_mut().name;
    field[..name.len()].copy_from_slice(name.as_bytes());
    header.set_cksum();
    let mut tar = Builder::new(Vec::new());
    tar.append(&header, content)?;
    tar.into_inner()
}
