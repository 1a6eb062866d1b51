//! Two ends joined by channels, with a random service and a random program behind them.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use proptest::prelude::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;

use super::*;

const PATIENCE: Duration = Duration::from_secs(20);

type Ended = Result<(), Broken>;

/// The most bytes of one direction that were on the way at a time, and what is on the way now.
#[derive(Default)]
struct Way {
    now: AtomicUsize,
    most: AtomicUsize,
}

/// One direction of the line: passes pieces on, and counts by both ways what was sent and reported.
fn line(own: Arc<Way>, other: Arc<Way>) -> (mpsc::Sender<Piece>, ReceiverStream<Result<Piece, Status>>) {
    let (sender, mut pieces) = mpsc::channel::<Piece>(WAITING_PIECES);
    let (passed, arrived) = mpsc::channel(1);
    tokio::spawn(async move {
        while let Some(piece) = pieces.recv().await {
            let now = own.now.fetch_add(piece.data.len(), Ordering::Relaxed) + piece.data.len();
            own.most.fetch_max(now, Ordering::Relaxed);
            other.now.fetch_sub(piece.taken as usize, Ordering::Relaxed);
            if passed.send(Ok(piece)).await.is_err() {
                return;
            }
        }
    });
    (sender, ReceiverStream::new(arrived))
}

/// The streams of a program and a service that are joined, and how each end ends.
struct Joined {
    program: DuplexStream,
    service: DuplexStream,
    ends: [JoinHandle<Ended>; 2],
    ways: [Arc<Way>; 2],
}

fn join(buffer: usize) -> Joined {
    let ways = [Arc::new(Way::default()), Arc::new(Way::default())];
    let (to_caller, from_daemon) = line(Arc::clone(&ways[0]), Arc::clone(&ways[1]));
    let (to_daemon, from_caller) = line(Arc::clone(&ways[1]), Arc::clone(&ways[0]));
    let (program, in_daemon) = duplex(buffer);
    let (service, in_caller) = duplex(buffer);
    let end = |mut stream: DuplexStream, mut incoming, outgoing| {
        tokio::spawn(async move { carry(&mut stream, &mut incoming, &outgoing).await })
    };
    Joined {
        program,
        service,
        ends: [
            end(in_daemon, from_caller, to_caller),
            end(in_caller, from_daemon, to_daemon),
        ],
        ways,
    }
}

/// Writes these chunks, ends its side, and reads the other to its end, at the same time or afterwards.
async fn talk(stream: DuplexStream, chunks: Vec<Vec<u8>>, is_in_turn: bool) -> Vec<u8> {
    let (mut reader, mut writer) = split(stream);
    let speak = async {
        for chunk in chunks {
            writer.write_all(&chunk).await.expect("write");
            tokio::task::yield_now().await;
        }
        writer.shutdown().await.expect("end");
    };
    let mut heard = Vec::new();
    if is_in_turn {
        speak.await;
        reader.read_to_end(&mut heard).await.expect("read");
    } else {
        let (_, length) = tokio::join!(speak, reader.read_to_end(&mut heard));
        length.expect("read");
    }
    heard
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime")
}

fn chunks() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let size = prop_oneof![1_usize..40, 1000_usize..3000, 30_000_usize..90_000];
    prop::collection::vec((size, any::<u8>()), 0..12).prop_map(|drawn| {
        let chunk = |(length, seed): (usize, u8)| (0..length).map(|i| (i as u8).wrapping_mul(31) ^ seed).collect();
        drawn.into_iter().map(chunk).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Each side gets the bytes of the other and their end, however they are cut, whichever ends first, and however little the
    /// local streams keep. Never is more than a window on the way.
    #[test]
    fn both_sides_get_what_the_other_sent(up in chunks(), down in chunks(), buffer in 1_usize..70_000, in_turn: bool) {
        // One that reads only after it has written would wait for a service that does the same.
        let fits = up.iter().map(Vec::len).sum::<usize>() <= WINDOW_BYTES;
        runtime().block_on(async {
            let Joined { program, service, ends, ways } = join(buffer);
            let both = async { tokio::join!(talk(program, up.clone(), in_turn && fits), talk(service, down.clone(), false)) };
            let (of_program, of_service) = timeout(PATIENCE, both).await.expect("in time");
            prop_assert!(of_program == down.concat());
            prop_assert!(of_service == up.concat());
            for end in ends {
                let ended = timeout(PATIENCE, end).await.expect("in time").expect("no panic");
                prop_assert!(ended.is_ok(), "{:?}", ended);
            }
            for way in ways {
                prop_assert!(way.most.load(Ordering::Relaxed) <= WINDOW_BYTES);
            }
            Ok(())
        })?;
    }

    /// No piece from the other end makes this end keep more than a window, or fail otherwise than by a named error.
    #[test]
    fn a_wrong_other_end_is_refused(pieces in prop::collection::vec((0_usize..200_000, any::<u32>(), any::<bool>()), 1..12)) {
        runtime().block_on(async {
            let (local, mut stream) = duplex(1);
            let drawn = pieces.iter().map(|(length, taken, end)| Ok(Piece {
                data: vec![0; *length].into(),
                taken: if *taken % 2 == 0 { 0 } else { *taken },
                end: *end,
                ..Piece::default()
            }));
            let (outgoing, _kept) = mpsc::channel(WAITING_PIECES);
            let mut incoming = tokio_stream::iter(drawn.collect::<Vec<_>>());
            let ended = timeout(PATIENCE, carry(&mut stream, &mut incoming, &outgoing)).await.expect("in time");
            prop_assert!(matches!(ended, Err(Broken::Protocol(_) | Broken::Gone)), "{:?}", ended);
            drop(local);
            Ok(())
        })?;
    }
}

#[test]
fn a_side_that_does_not_read_stops_only_its_sender() {
    runtime().block_on(async {
        let Joined {
            program,
            service,
            ends,
            ways,
        } = join(1024);
        let (mut from_program, mut to_service) = split(program);
        let (mut from_service, mut to_program) = split(service);
        // The program never reads, and the service sends as much as it can.
        let flood = tokio::spawn(async move { while to_program.write_all(&[7; 4096]).await.is_ok() {} });
        let up = vec![3_u8; 3 << 20];
        let all = async {
            to_service.write_all(&up).await.expect("write");
            to_service.shutdown().await.expect("end");
        };
        let mut got = Vec::new();
        let (_, read) = timeout(PATIENCE, async {
            tokio::join!(all, from_service.read_to_end(&mut got))
        })
        .await
        .expect("the other direction goes on");
        read.expect("read");
        assert!(got == up, "{} of {} bytes", got.len(), up.len());
        assert_eq!(ways[1].most.load(Ordering::Relaxed), WINDOW_BYTES, "the window is full");
        // Now it reads, and the rest comes.
        let mut some = vec![0; 1 << 20];
        timeout(PATIENCE, from_program.read_exact(&mut some))
            .await
            .expect("in time")
            .expect("read");
        assert!(some.iter().all(|byte| *byte == 7));
        flood.abort();
        for end in ends {
            end.abort();
        }
    });
}

#[test]
fn a_line_that_is_cut_is_no_end() {
    runtime().block_on(async {
        for cut in [0, 1] {
            let Joined {
                mut program,
                mut service,
                ends: [daemon, caller],
                ..
            } = join(1024);
            program.write_all(b"half a requ").await.expect("write");
            let mut got = [0; 11];
            timeout(PATIENCE, service.read_exact(&mut got))
                .await
                .expect("in time")
                .expect("read");
            let (gone, left) = if cut == 0 { (daemon, caller) } else { (caller, daemon) };
            gone.abort();
            let ended = timeout(PATIENCE, left).await.expect("in time").expect("no panic");
            assert!(matches!(ended, Err(Broken::Gone)), "{ended:?}");
        }
    });
}
