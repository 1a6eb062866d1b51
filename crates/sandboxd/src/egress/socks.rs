//! SOCKS5 (RFC 1928) as far as programs need it: no authentication, CONNECT, names and addresses.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

use super::policy::{Destination, Host};
use super::reach::{Reach, Refusal};
use super::{GREETING, relay};

/// How long a program may take to close its connection after a refusal.
const PARTING: Duration = Duration::from_secs(1);
pub(crate) const VERSION: u8 = 5;
const NO_AUTHENTICATION: u8 = 0;
const NO_METHOD: u8 = 0xFF;
const CONNECT: u8 = 1;
const IPV4: u8 = 1;
const NAME: u8 = 3;
const IPV6: u8 = 4;

/// Reply codes.
const DONE: u8 = 0;
const NOT_ALLOWED: u8 = 2;
const HOST_UNREACHABLE: u8 = 4;
const REFUSED: u8 = 5;
const NO_SUCH_COMMAND: u8 = 7;
const NO_SUCH_ADDRESS: u8 = 8;

/// Serves one program to the end of its connection.
pub(crate) async fn serve(mut stream: impl AsyncRead + AsyncWrite + Unpin, reach: Reach) {
    let wanted = match timeout(GREETING, negotiate(&mut stream)).await {
        Ok(Ok(wanted)) => wanted,
        Ok(Err(error)) => return tracing::debug!(%error, "a SOCKS greeting ended early"),
        Err(_) => return,
    };
    let connected = match wanted {
        Ok(destination) => reach.connect(destination).await.map_err(|refusal| {
            tracing::debug!(%refusal, "refused a box's connection");
            match refusal {
                Refusal::NotAllowed(_) | Refusal::Private(_) => NOT_ALLOWED,
                Refusal::Unknown(..) => HOST_UNREACHABLE,
                Refusal::Unreachable(..) => REFUSED,
            }
        }),
        Err(code) => Err(code),
    };
    let code = connected.as_ref().err().copied().unwrap_or(DONE);
    // No client uses the bound address in the reply, so it is 0 and reveals nothing about this machine.
    let reply = [VERSION, code, 0, IPV4, 0, 0, 0, 0, 0, 0];
    if stream.write_all(&reply).await.is_err() {
        return;
    }
    match connected {
        Ok(target) => relay(stream, target).await,
        Err(_) => part(stream).await,
    }
}

/// Closes the stream so that the reply arrives: a socket with unread bytes would be reset.
async fn part(mut stream: impl AsyncRead + AsyncWrite + Unpin) {
    let rest = async {
        stream.shutdown().await?;
        let mut ignored = [0; 512];
        while stream.read(&mut ignored).await? > 0 {}
        io::Result::Ok(())
    };
    // It does not matter whether the program has read the reply.
    let _ended = timeout(PARTING, rest).await;
}

/// The program's destination, or the reply code of the refusal.
async fn negotiate(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> io::Result<Result<Destination, u8>> {
    let _version = stream.read_u8().await?;
    let mut methods = vec![0; stream.read_u8().await?.into()];
    stream.read_exact(&mut methods).await?;
    if !methods.contains(&NO_AUTHENTICATION) {
        stream.write_all(&[VERSION, NO_METHOD]).await?;
        return Err(io::ErrorKind::Unsupported.into());
    }
    stream.write_all(&[VERSION, NO_AUTHENTICATION]).await?;
    let mut head = [0; 4];
    stream.read_exact(&mut head).await?;
    let [_version, command, _reserved, kind] = head;
    let host = match kind {
        IPV4 => {
            let mut octets = [0; 4];
            stream.read_exact(&mut octets).await?;
            Host::parse(&IpAddr::from(Ipv4Addr::from(octets)).to_string())
        }
        IPV6 => {
            let mut octets = [0; 16];
            stream.read_exact(&mut octets).await?;
            Host::parse(&IpAddr::from(Ipv6Addr::from(octets)).to_string())
        }
        NAME => {
            let mut name = vec![0; stream.read_u8().await?.into()];
            stream.read_exact(&mut name).await?;
            Host::parse(&String::from_utf8_lossy(&name))
        }
        _ => return Ok(Err(NO_SUCH_ADDRESS)),
    };
    let port = stream.read_u16().await?;
    if command != CONNECT {
        return Ok(Err(NO_SUCH_COMMAND));
    }
    Ok(host.map(|host| Destination { host, port }).map_err(|_| NOT_ALLOWED))
}
