//! Things of the machine that no program in a sandbox may reach, made for the tests and removed with them.

use std::ffi::CString;
use std::io;
use std::net::{TcpListener, UdpSocket};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

const KEPT: libc::c_int = 0o1666;

/// Listeners, IPC objects and files that every user of the machine may use.
pub(crate) struct Ground {
    tcp4: TcpListener,
    tcp6: TcpListener,
    udp: Arc<UdpSocket>,
    _abstract: UnixListener,
    _socket: UnixListener,
    _mq: OwnedFd,
    directory: tempfile::TempDir,
    key: libc::key_t,
    shm: libc::c_int,
    msg: libc::c_int,
    sem: libc::c_int,
    mark: String,
}

impl Ground {
    pub(crate) fn lay() -> io::Result<Self> {
        let mark = format!("prl-ground-{}-{}", std::process::id(), any_number());
        let directory = tempfile::Builder::new().permissions(open_to_all()).tempdir()?;
        std::fs::write(directory.path().join("secret"), "secret")?;
        let socket = UnixListener::bind(directory.path().join("socket"))?;
        let key = libc::key_t::try_from(any_number() & 0x7fff_ffff).map_err(io::Error::other)? | 1;
        let name = CString::new(format!("/{mark}"))?;
        let none = std::ptr::null::<libc::mq_attr>();
        // SAFETY: plain numbers; a NUL-terminated name; no attributes.
        let (shm, msg, sem, mq) = unsafe {
            (
                libc::shmget(key, 4096, KEPT),
                libc::msgget(key, KEPT),
                libc::semget(key, 1, KEPT),
                libc::mq_open(
                    name.as_ptr(),
                    libc::O_CREAT | libc::O_RDWR | libc::O_CLOEXEC,
                    0o666,
                    none,
                ),
            )
        };
        if [shm, msg, sem, mq].iter().any(|id| *id < 0) {
            return Err(io::Error::last_os_error());
        }
        let udp = Arc::new(UdpSocket::bind("127.0.0.1:0")?);
        let ground = Self {
            tcp4: TcpListener::bind("127.0.0.1:0")?,
            tcp6: TcpListener::bind("[::1]:0")?,
            udp: Arc::clone(&udp),
            _abstract: UnixListener::bind_addr(&SocketAddr::from_abstract_name(&mark)?)?,
            _socket: socket,
            // SAFETY: new and ours.
            _mq: unsafe { OwnedFd::from_raw_fd(mq) },
            directory,
            key,
            shm,
            msg,
            sem,
            mark,
        };
        thread::spawn(move || {
            let mut buffer = [0; 16];
            while let Ok((length, from)) = udp.recv_from(&mut buffer) {
                if length == 0 || udp.send_to(buffer.get(..length).unwrap_or_default(), from).is_err() {
                    return;
                }
            }
        });
        Ok(ground)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The text with `@NAME@` replaced.
    pub(crate) fn fill(&self, text: &str) -> String {
        if !text.contains('@') {
            return text.to_owned();
        }
        let port = |address: io::Result<std::net::SocketAddr>| address.map_or(0, |address| address.port()).to_string();
        let path = |name| self.path(name).display().to_string();
        [
            ("@TCP4@", port(self.tcp4.local_addr())),
            ("@TCP6@", port(self.tcp6.local_addr())),
            ("@UDP@", port(self.udp.local_addr())),
            ("@ABSTRACT@", self.mark.clone()),
            ("@MQ@", self.mark.clone()),
            ("@SOCKET@", path("socket")),
            ("@FILE@", path("secret")),
            ("@DIRECTORY@", self.directory.path().display().to_string()),
            ("@SHM@", self.key.to_string()),
            ("@MSG@", self.key.to_string()),
            ("@SEM@", self.key.to_string()),
        ]
        .into_iter()
        .fold(text.to_owned(), |text, (name, value)| text.replace(name, &value))
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        let name = CString::new(format!("/{}", self.mark)).unwrap_or_default();
        // SAFETY: ids of our own objects, a NUL-terminated name. An error means that they are gone.
        unsafe {
            libc::shmctl(self.shm, libc::IPC_RMID, std::ptr::null_mut());
            libc::msgctl(self.msg, libc::IPC_RMID, std::ptr::null_mut());
            libc::semctl(self.sem, 0, libc::IPC_RMID);
            libc::mq_unlink(name.as_ptr());
        }
        // Ends the echo.
        let _gone = self.udp.local_addr().map(|address| self.udp.send_to(&[], address));
    }
}

fn open_to_all() -> std::fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(0o755)
}

/// A number that differs from run to run.
fn any_number() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::hash::RandomState::new().build_hasher().finish()
}
