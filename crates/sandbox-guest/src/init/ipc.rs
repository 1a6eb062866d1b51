//! Objects that programs leave in the sandbox's IPC namespace: System V segments, semaphores and queues, and POSIX
//! queues. They outlive the processes that made them, and count as memory.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;

use crate::sys::check;

/// Files of proc with a headline and a line for each object, and the call that removes one object. A kernel may lack
/// such a file.
const TABLES: [(&str, Remove); 3] = [
    ("/proc/sysvipc/shm", remove_segment),
    ("/proc/sysvipc/sem", remove_semaphores),
    ("/proc/sysvipc/msg", remove_queue),
];
const QUEUES: &str = "/dev/mqueue";
/// The bytes of a table that are read at a time.
const TABLE_BYTES: usize = 16 << 10;

type Remove = fn(libc::c_int) -> libc::c_int;

/// See the module.
pub(super) struct Ipc {
    /// Each shows the namespace in which it was opened.
    tables: Vec<(File, Remove)>,
}

impl Ipc {
    /// The objects of this process's namespace.
    pub(super) fn own() -> io::Result<Self> {
        let mut tables = Vec::new();
        for (path, remove) in TABLES {
            match File::open(path) {
                Ok(file) => tables.push((file, remove)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Self { tables })
    }

    /// Removes all objects. Call it only while no process uses or makes one: then their memory is free when this
    /// returns.
    pub(super) fn clear(&self) -> io::Result<()> {
        for (table, remove) in &self.tables {
            loop {
                let found = objects(table)?;
                if found.is_empty() {
                    break;
                }
                for id in found {
                    check(remove(id))?;
                }
            }
        }
        for queue in fs::read_dir(QUEUES)? {
            fs::remove_file(queue?.path())?;
        }
        Ok(())
    }
}

/// The ids of the first objects of a table.
fn objects(table: &File) -> io::Result<Vec<libc::c_int>> {
    let mut buffer = [0; TABLE_BYTES];
    let length = table.read_at(&mut buffer, 0)?;
    let text = std::str::from_utf8(buffer.get(..length).unwrap_or_default()).map_err(io::Error::other)?;
    // The last line may be incomplete.
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let ids = whole.lines().skip(1).map(|line| line.split_whitespace().nth(1));
    ids.map(|id| {
        id.and_then(|id| id.parse().ok())
            .ok_or_else(|| io::ErrorKind::InvalidData.into())
    })
    .collect()
}

fn remove_segment(id: libc::c_int) -> libc::c_int {
    // SAFETY: removal reads no record.
    unsafe { libc::shmctl(id, libc::IPC_RMID, std::ptr::null_mut()) }
}

fn remove_semaphores(id: libc::c_int) -> libc::c_int {
    // SAFETY: removal has no further argument.
    unsafe { libc::semctl(id, 0, libc::IPC_RMID) }
}

fn remove_queue(id: libc::c_int) -> libc::c_int {
    // SAFETY: removal reads no record.
    unsafe { libc::msgctl(id, libc::IPC_RMID, std::ptr::null_mut()) }
}
