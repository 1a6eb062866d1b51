//! Batches arrive once, whole and under their key, whatever happens to the connection.

mod support;

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use prl_transport::{
    CHUNK_BYTES, Credentials, Inbox, RolloutReceiver, RolloutSender, SenderOptions, Times, TlsOptions, TransportError,
};
use proptest::prelude::*;
use support::proxy::{Fault, Plan, Proxy, any_fault};
use support::{QUICK, batch_path, cases, write_batch};
use tempfile::TempDir;

/// Headers and the offer of a batch.
const HEAD: u64 = 600;

struct Place {
    _dir: TempDir,
    spool: PathBuf,
    inbox: PathBuf,
}

fn place() -> Place {
    let dir = TempDir::new().expect("a folder");
    let (spool, inbox) = (dir.path().join("spool"), dir.path().join("inbox"));
    Place {
        _dir: dir,
        spool,
        inbox,
    }
}

async fn receiver(inbox: &Path) -> RolloutReceiver {
    RolloutReceiver::listen("127.0.0.1:0", Inbox::new(inbox, "run"), &Credentials::default(), QUICK)
        .await
        .expect("a receiver")
}

fn sender(spool: &Path, receivers: &[SocketAddr], times: Times) -> RolloutSender {
    RolloutSender::new(SenderOptions {
        spool: spool.to_owned(),
        receivers: receivers
            .iter()
            .map(|address| address.to_string().parse().expect("an address"))
            .collect(),
        credentials: Credentials::default(),
        times,
    })
}

/// Everything below a folder.
fn files(root: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(root) else {
        return Vec::new();
    };
    entries
        .flat_map(|entry| {
            let path = entry.expect("an entry").path();
            if path.is_dir() { files(&path) } else { vec![path] }
        })
        .collect()
}

#[tokio::test]
async fn delivers_every_rank_in_order_and_empties_the_spool() {
    let place = place();
    let inboxes = [place.inbox.join("a"), place.inbox.join("b")];
    let receivers = [receiver(&inboxes[0]).await, receiver(&inboxes[1]).await];
    let mut sent = Vec::new();
    for step in 1..=3 {
        for rank in 0..2 {
            let bytes = write_batch(&place.spool, (1, step, rank), 3_000_000 * rank as usize + 17, step);
            sent.push((step, rank, bytes));
        }
    }
    let sender = sender(&place.spool, &receivers.each_ref().map(RolloutReceiver::address), QUICK);
    assert_eq!(sender.deliver().await.expect("delivered"), 6);
    for (step, rank, bytes) in sent {
        let path = batch_path(&inboxes[rank as usize], step, rank);
        assert!(fs::read(path).expect("a batch") == bytes, "step {step} rank {rank}");
    }
    assert_eq!(files(&place.inbox).len(), 6, "nothing else is left in the inboxes");
    assert_eq!(files(&place.spool), [] as [PathBuf; 0]);
    assert_eq!(sender.deliver().await.expect("nothing to do"), 0);
}

#[tokio::test]
async fn acknowledges_the_same_batch_again_and_refuses_another_with_its_key() {
    let place = place();
    let receiver = receiver(&place.inbox).await;
    let sender = sender(&place.spool, &[receiver.address()], QUICK);
    let first = write_batch(&place.spool, (1, 5, 0), 5000, 1);
    sender.deliver().await.expect("delivered");
    write_batch(&place.spool, (1, 5, 0), 5000, 1);
    sender.deliver().await.expect("acknowledged again");
    write_batch(&place.spool, (1, 5, 0), 5000, 2);
    let error = sender.deliver().await.expect_err("another batch");
    assert_eq!(error.code(), "PRL_TRANSPORT_CONFLICT");
    assert!(error.to_string().contains("attempt 1, step 5, rank 0"), "{error}");
    assert!(fs::read(batch_path(&place.inbox, 5, 0)).expect("a batch") == first);
    assert_eq!(files(&place.spool).len(), 1, "what was refused is kept");
}

#[tokio::test]
async fn a_newer_attempt_supersedes_and_an_older_one_is_refused() {
    let place = place();
    let receiver = receiver(&place.inbox).await;
    let sender = sender(&place.spool, &[receiver.address()], QUICK);
    write_batch(&place.spool, (1, 2, 0), 4000, 1);
    sender.deliver().await.expect("delivered");
    let newer = write_batch(&place.spool, (2, 2, 0), 4000, 2);
    sender.deliver().await.expect("supersedes");
    write_batch(&place.spool, (1, 2, 0), 4000, 1);
    let error = sender.deliver().await.expect_err("an old attempt");
    assert_eq!(error.code(), "PRL_TRANSPORT_SUPERSEDED");
    assert!(fs::read(batch_path(&place.inbox, 2, 0)).expect("a batch") == newer);
    assert_eq!(files(&place.spool), [] as [PathBuf; 0], "the old one is removed");
}

#[tokio::test]
async fn a_batch_takes_the_place_of_a_file_that_is_none() {
    let place = place();
    let receiver = receiver(&place.inbox).await;
    let times = Times {
        patience: Duration::from_secs(1),
        ..QUICK
    };
    let sender = sender(&place.spool, &[receiver.address()], times);
    let bytes = write_batch(&place.spool, (1, 1, 0), 4000, 1);
    let path = batch_path(&place.inbox, 1, 0);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(&path, &bytes[..1000]).expect("a damaged file");
    sender.deliver().await.expect("delivered");
    assert!(fs::read(path).expect("a batch") == bytes);
}

#[tokio::test]
async fn refuses_another_runs_batch_and_a_file_that_says_another_key() {
    let place = place();
    let receiver = RolloutReceiver::listen(
        "127.0.0.1:0",
        Inbox::new(&place.inbox, "other"),
        &Credentials::default(),
        QUICK,
    )
    .await
    .expect("a receiver");
    let sender = sender(&place.spool, &[receiver.address()], QUICK);
    write_batch(&place.spool, (1, 1, 0), 100, 1);
    let error = sender.deliver().await.expect_err("of another run");
    assert_eq!(error.code(), "PRL_TRANSPORT_KEY");
    fs::rename(
        batch_path(&place.spool, 1, 0).parent().expect("a folder"),
        place.spool.join("step_9"),
    )
    .expect("moved");
    let error = sender.deliver().await.expect_err("under another step");
    assert_eq!(error.code(), "PRL_TRANSPORT_KEY");
    assert!(error.to_string().contains("step 1"), "{error}");
}

#[tokio::test]
async fn demands_the_token_and_refuses_to_be_reachable_without_one() {
    let place = place();
    let token = Credentials::new(Some("secret"), TlsOptions::default()).expect("a token");
    let receiver = RolloutReceiver::listen("127.0.0.1:0", Inbox::new(&place.inbox, "run"), &token, QUICK)
        .await
        .expect("a receiver");
    write_batch(&place.spool, (1, 1, 0), 100, 1);
    let error = sender(&place.spool, &[receiver.address()], QUICK)
        .deliver()
        .await
        .expect_err("no token");
    assert_eq!(error.code(), "PRL_TRANSPORT_AUTH");
    let with_token = RolloutSender::new(SenderOptions {
        spool: place.spool.clone(),
        receivers: vec![receiver.address().to_string().parse().expect("an address")],
        credentials: token,
        times: QUICK,
    });
    with_token.deliver().await.expect("delivered");
    let open = RolloutReceiver::listen(
        "0.0.0.0:0",
        Inbox::new(&place.inbox, "run"),
        &Credentials::default(),
        QUICK,
    )
    .await;
    assert_eq!(open.expect_err("open to all").code(), "PRL_TRANSPORT_ADDRESS");
}

#[tokio::test]
async fn names_a_receiver_that_does_not_answer() {
    let place = place();
    write_batch(&place.spool, (1, 1, 0), 100, 1);
    let nobody = std::net::TcpListener::bind("127.0.0.1:0")
        .expect("a port")
        .local_addr()
        .expect("an address");
    let times = Times {
        patience: Duration::from_millis(200),
        ..QUICK
    };
    let error = sender(&place.spool, &[nobody], times)
        .deliver()
        .await
        .expect_err("nobody");
    assert_eq!(error.code(), "PRL_TRANSPORT_UNREACHABLE");
    assert!(error.to_string().contains(&nobody.to_string()), "{error}");
    assert_eq!(files(&place.spool).len(), 1);
}

#[tokio::test]
async fn resumes_where_the_connection_broke_instead_of_sending_all_again() {
    let place = place();
    let receiver = receiver(&place.inbox).await;
    // A cut connection loses the bytes that a slow receiver has not read, and they are sent again. Some of the tries lose almost nothing.
    let mut carried = Vec::new();
    for step in 1..=20 {
        let bytes = write_batch(&place.spool, (1, step, 0), 12 * CHUNK_BYTES as usize + 5, 1);
        let proxy = Proxy::start(receiver.address(), [Plan::up(Fault::Cut(10 * CHUNK_BYTES))]).await;
        sender(&place.spool, &[proxy.address()], QUICK)
            .deliver()
            .await
            .expect("delivered");
        assert!(fs::read(batch_path(&place.inbox, step, 0)).expect("a batch") == bytes);
        carried.push(proxy.carried());
        if proxy.carried() < bytes.len() as u64 + 3 * CHUNK_BYTES {
            return;
        }
    }
    panic!("every time too much was sent again: {carried:?} bytes");
}

#[tokio::test]
async fn a_transfer_that_takes_longer_than_the_patience_is_resumed_after_a_cut() {
    let place = place();
    let times = Times {
        patience: Duration::from_secs(1),
        stall: Duration::from_secs(10),
        ..QUICK
    };
    let inbox = Inbox::new(&place.inbox, "run");
    let receiver = RolloutReceiver::listen("127.0.0.1:0", inbox, &Credentials::default(), times)
        .await
        .expect("a receiver");
    let bytes = write_batch(&place.spool, (1, 1, 0), 12 * CHUNK_BYTES as usize + 5, 1);
    // 16 KiB every 5 ms: the cut comes after 2.5 s or more.
    let cut = Proxy::start(receiver.address(), [Plan::up(Fault::Cut(8 * CHUNK_BYTES))]).await;
    let slow = Proxy::start(cut.address(), [Plan::up(Fault::Delay(5))]).await;
    sender(&place.spool, &[slow.address()], times)
        .deliver()
        .await
        .expect("delivered");
    assert!(fs::read(batch_path(&place.inbox, 1, 0)).expect("a batch") == bytes);
}

#[tokio::test]
async fn a_returning_receiver_goes_on_with_its_partial_download() {
    let place = place();
    let first = receiver(&place.inbox).await;
    let bytes = write_batch(&place.spool, (1, 1, 0), 6 * CHUNK_BYTES as usize, 1);
    let proxy = Proxy::start(first.address(), [Plan::up(Fault::Hang(4 * CHUNK_BYTES))]).await;
    let sender = sender(&place.spool, &[proxy.address()], QUICK);
    let delivery = async { sender.deliver().await };
    let restart = async {
        tokio::time::sleep(Duration::from_millis(150)).await;
        first.close().await;
        let second = receiver(&place.inbox).await;
        proxy.retarget(second.address());
        second
    };
    let (delivered, _second) = tokio::join!(delivery, restart);
    delivered.expect("delivered");
    assert!(fs::read(batch_path(&place.inbox, 1, 0)).expect("a batch") == bytes);
    assert_eq!(files(&place.inbox).len(), 1);
}

#[tokio::test]
async fn a_damaged_beginning_from_an_earlier_process_is_not_believed() {
    let place = place();
    let bytes = write_batch(&place.spool, (1, 1, 0), 3 * CHUNK_BYTES as usize, 1);
    let first = receiver(&place.inbox).await;
    // The connection hangs instead of breaking, because a cut one loses what the receiver has not read yet.
    let proxy = Proxy::start(first.address(), [Plan::up(Fault::Hang(2 * CHUNK_BYTES + 5000))]).await;
    let times = Times {
        stall: Duration::from_secs(60),
        ..QUICK
    };
    let interrupted = sender(&place.spool, &[proxy.address()], times);
    let arrived = async {
        let length = |path: &PathBuf| fs::metadata(path).map_or(0, |file| file.len());
        while files(&place.inbox).iter().map(length).sum::<u64>() < CHUNK_BYTES {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::select! {
        outcome = interrupted.deliver() => panic!("not interrupted: {outcome:?}"),
        outcome = tokio::time::timeout(Duration::from_secs(20), arrived) => outcome.expect("a beginning arrives"),
    }
    drop(proxy);
    first.close().await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    let parts = files(&place.inbox);
    let [part] = parts.as_slice() else {
        panic!("one part: {parts:?}")
    };
    let mut damaged = fs::read(part).expect("a part");
    damaged[1000] ^= 1;
    fs::write(part, damaged).expect("damaged");
    let second = receiver(&place.inbox).await;
    sender(&place.spool, &[second.address()], QUICK)
        .deliver()
        .await
        .expect("delivered");
    assert!(fs::read(batch_path(&place.inbox, 1, 0)).expect("a batch") == bytes);
}

#[tokio::test]
async fn a_changed_spool_file_is_an_error_that_names_it() {
    let place = place();
    write_batch(&place.spool, (1, 1, 0), 3 * CHUNK_BYTES as usize, 1);
    let path = batch_path(&place.spool, 1, 0);
    let receiver = receiver(&place.inbox).await;
    // The connection hangs until the damage is done, however late that is.
    let hangs: [Plan; 50] = std::array::from_fn(|_| Plan::up(Fault::Hang(CHUNK_BYTES)));
    let proxy = Proxy::start(receiver.address(), hangs).await;
    let sender = sender(&place.spool, &[proxy.address()], QUICK);
    let arriving = batch_path(&place.inbox, 1, 0).with_file_name("");
    let damage = async {
        while !arriving.exists() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        // The file is damaged in place, because the sender may be reading it, and a rewritten file is empty for a moment.
        let bytes = fs::read(&path).expect("a batch");
        let last = bytes.len() - 1;
        let file = fs::File::options().write(true).open(&path).expect("opened");
        file.write_all_at(&[bytes[last] ^ 1], last as u64).expect("damaged");
    };
    let (delivered, ()) = tokio::join!(sender.deliver(), damage);
    let error = delivered.expect_err("damaged");
    assert!(matches!(error, TransportError::Corrupt { .. }), "{error}");
    assert!(error.to_string().contains("rank_0.safetensors"), "{error}");
}

fn any_plan(length: u64) -> impl Strategy<Value = Plan> {
    // Answers are short, so most faults must be in their first bytes.
    (any_fault(HEAD, length), any_fault(HEAD, 400)).prop_map(|(up, down)| Plan { up, down })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), max_shrink_iters: 20, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_the_network_does_each_batch_arrives_once_and_whole(
        length in 1..2_500_000usize,
        plans in prop::collection::vec(any_plan(3_000_000), 0..5),
    ) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
        runtime.block_on(async move {
            let place = place();
            let receiver = receiver(&place.inbox).await;
            let proxy = Proxy::start(receiver.address(), plans).await;
            let mut sent = Vec::new();
            for step in 1..=2 {
                sent.push((step, write_batch(&place.spool, (1, step, 0), length, step)));
            }
            sender(&place.spool, &[proxy.address()], QUICK).deliver().await.expect("delivered");
            for (step, bytes) in sent {
                assert!(fs::read(batch_path(&place.inbox, step, 0)).expect("a batch") == bytes);
            }
            assert_eq!(files(&place.inbox).len(), 2);
            assert_eq!(files(&place.spool).len(), 0);
        });
    }
}
