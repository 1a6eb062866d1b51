//! TCP sockets on the sandbox's loopback for the daemon, which is in another network namespace.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::sys::check;
use crate::template::{Step, at};
use crate::wire::OpenSocket;

/// Connections that may wait for the daemon to accept them.
const BACKLOG: libc::c_int = 128;

/// A listening socket, or one that has begun to connect; it never blocks.
pub(super) fn open(wanted: &OpenSocket) -> Result<OwnedFd, Step> {
    let port = at("port", u16::try_from(wanted.port).map_err(io::Error::other))?;
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: plain numbers.
    let socket = at("socket", check(unsafe { libc::socket(libc::AF_INET, kind, 0) }))?;
    // SAFETY: new and ours.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    let address = libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: port.to_be(),
        sin_addr: libc::in_addr {
            s_addr: u32::from(std::net::Ipv4Addr::LOCALHOST).to_be(),
        },
        sin_zero: [0; 8],
    };
    let length = size_of::<libc::sockaddr_in>() as libc::socklen_t;
    let raw = socket.as_raw_fd();
    if wanted.listen {
        let one: libc::c_int = 1;
        at(
            "reuse the address",
            // SAFETY: a live int of the stated size.
            check(unsafe {
                libc::setsockopt(
                    raw,
                    libc::SOL_SOCKET,
                    libc::SO_REUSEADDR,
                    (&raw const one).cast(),
                    size_of::<libc::c_int>() as libc::socklen_t,
                )
            }),
        )?;
        let named = (&raw const address).cast();
        // SAFETY: a live address of the stated size.
        at("bind", check(unsafe { libc::bind(raw, named, length) }))?;
        // SAFETY: a live socket.
        at("listen", check(unsafe { libc::listen(raw, BACKLOG) }))?;
        return Ok(socket);
    }
    // SAFETY: a live address of the stated size.
    let connected = check(unsafe { libc::connect(raw, (&raw const address).cast(), length) });
    match connected {
        Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(("connect", error)),
        _ => Ok(socket),
    }
}
