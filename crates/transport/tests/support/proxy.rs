//! A TCP proxy with planned faults for the bytes of each connection.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use proptest::prelude::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A fault in one direction of one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// No fault.
    None,
    /// The connection breaks after so many bytes.
    Cut(u64),
    /// No more bytes come through after so many, without a sign to either end.
    Hang(u64),
    /// The byte at this position is changed.
    Corrupt(u64),
    /// Every piece is held back for so many milliseconds.
    Delay(u64),
    /// The piece that holds this byte comes twice.
    Repeat(u64),
    /// The piece that holds this byte comes after the next one.
    Reorder(u64),
}

/// Any fault, in the first `head` bytes, which describe the rest, or anywhere below `length`.
pub fn any_fault(head: u64, length: u64) -> impl Strategy<Value = Fault> {
    let at = prop_oneof![0..head.min(length), 0..length];
    prop_oneof![
        Just(Fault::None),
        at.clone().prop_map(Fault::Cut),
        at.clone().prop_map(Fault::Hang),
        at.clone().prop_map(Fault::Corrupt),
        (0..3u64).prop_map(Fault::Delay),
        at.clone().prop_map(Fault::Repeat),
        at.prop_map(Fault::Reorder),
    ]
}

/// The faults of one connection.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// From the connecting end.
    pub up: Fault,
    /// To the connecting end.
    pub down: Fault,
}

impl Plan {
    pub fn up(up: Fault) -> Self {
        Self { up, down: Fault::None }
    }

    pub fn down(down: Fault) -> Self {
        Self { up: Fault::None, down }
    }
}

/// Forwards to one address. Connections take the plans in order; those after the last have no faults.
pub struct Proxy {
    address: SocketAddr,
    target: Arc<Mutex<SocketAddr>>,
    carried: Arc<AtomicU64>,
    task: JoinHandle<()>,
}

impl Proxy {
    pub async fn start(target: SocketAddr, plans: impl IntoIterator<Item = Plan>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let target = Arc::new(Mutex::new(target));
        let mut plans = plans.into_iter().collect::<VecDeque<_>>();
        let carried = Arc::new(AtomicU64::new(0));
        let (to, count) = (Arc::clone(&target), Arc::clone(&carried));
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let plan = plans.pop_front().unwrap_or(Plan::up(Fault::None));
                let to = *to.lock().expect("a target");
                tokio::spawn(connection(client, to, plan, Arc::clone(&count)));
            }
        });
        Self {
            address,
            target,
            carried,
            task,
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// New connections go elsewhere.
    pub fn retarget(&self, target: SocketAddr) {
        *self.target.lock().expect("a target") = target;
    }

    /// Bytes that went through, both ways.
    pub fn carried(&self) -> u64 {
        self.carried.load(Ordering::Relaxed)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn connection(client: TcpStream, target: SocketAddr, plan: Plan, carried: Arc<AtomicU64>) {
    let Ok(server) = TcpStream::connect(target).await else {
        return;
    };
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    // When one direction ends, both are dropped: the connection breaks.
    tokio::select! {
        () = pump(from_client, to_server, plan.up, &carried) => {}
        () = pump(from_server, to_client, plan.down, &carried) => {}
    }
}

async fn pump(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, fault: Fault, carried: &AtomicU64) {
    let mut buffer = vec![0; 16 << 10];
    let mut position = 0u64;
    let mut held: Option<Vec<u8>> = None;
    loop {
        let Ok(count) = from.read(&mut buffer).await else {
            return;
        };
        if count == 0 {
            return;
        }
        let mut piece = buffer[..count].to_vec();
        let end = position + count as u64;
        let holds = |at: u64| (position..end).contains(&at);
        match fault {
            Fault::Cut(at) if end >= at => {
                piece.truncate(usize::try_from(at.saturating_sub(position)).expect("a length"));
                let _ = to.write_all(&piece).await;
                let _ = to.flush().await;
                return;
            }
            Fault::Hang(at) if end >= at => {
                piece.truncate(usize::try_from(at.saturating_sub(position)).expect("a length"));
                let _ = to.write_all(&piece).await;
                std::future::pending::<()>().await;
            }
            Fault::Corrupt(at) if holds(at) => {
                piece[usize::try_from(at - position).expect("an index")] ^= 0x5A;
            }
            Fault::Delay(ms) => tokio::time::sleep(Duration::from_millis(ms)).await,
            Fault::Repeat(at) if holds(at) => piece.extend_from_within(..),
            Fault::Reorder(at) if holds(at) => {
                position = end;
                held = Some(piece);
                continue;
            }
            _ => {}
        }
        position = end;
        carried.fetch_add(piece.len() as u64, Ordering::Relaxed);
        if to.write_all(&piece).await.is_err() {
            return;
        }
        if let Some(late) = held.take()
            && to.write_all(&late).await.is_err()
        {
            return;
        }
    }
}
