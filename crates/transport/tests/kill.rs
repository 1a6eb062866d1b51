//! Processes are killed at any moment: nothing is lost, nothing arrives twice, and an incomplete file is never visible.
//!
//! The processes run this test binary with one of the ignored tests below, which are the work of the children.

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use prl_transport::{Credentials, Inbox, RolloutReceiver, RolloutSender, SenderOptions, Wanted, WeightNode};
use support::{QUICK, batch_path, contents, publish, write_batch};
use tempfile::TempDir;

const STEPS: u64 = 6;
const BATCH_BYTES: usize = 6 << 20;
const DEADLINE: Duration = Duration::from_secs(120);

fn setting(name: &str) -> String {
    std::env::var(name).expect("the parent sets it")
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime")
}

#[test]
#[ignore = "the work of a child"]
fn child_receives() {
    runtime().block_on(async {
        let inbox = Inbox::new(setting("KILL_INBOX"), "run");
        let receiver = RolloutReceiver::listen(&setting("KILL_LISTEN"), inbox, &Credentials::default(), QUICK).await;
        let _receiver = receiver.expect("a receiver");
        std::future::pending::<()>().await;
    });
}

#[test]
#[ignore = "the work of a child"]
fn child_sends() {
    runtime().block_on(async {
        let sender = RolloutSender::new(SenderOptions {
            spool: PathBuf::from(setting("KILL_SPOOL")),
            receivers: vec![setting("KILL_LISTEN").parse().expect("an address")],
            credentials: Credentials::default(),
            times: QUICK,
        });
        sender.deliver().await.expect("delivered");
    });
}

#[test]
#[ignore = "the work of a child"]
fn child_pulls() {
    runtime().block_on(async {
        let node = WeightNode::new(setting("KILL_ROOT"), Credentials::default(), QUICK);
        let source = setting("KILL_LISTEN").parse().expect("an address");
        node.pull(&Wanted::default(), &[source]).await.expect("pulled");
    });
}

fn child(work: &str, settings: &[(&str, &str)]) -> Child {
    Command::new(std::env::current_exe().expect("this binary"))
        .args(["--ignored", "--exact", work])
        .envs(settings.iter().copied())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a child")
}

/// Kills a child.
fn kill(mut child: Child) {
    child.kill().expect("killed");
    child.wait().expect("gone");
}

/// Moments from the beginning to nearly the end, the same in each run of the test.
fn moment(round: u32) -> Duration {
    Duration::from_millis(u64::from(round * 37 % 120) + 5)
}

fn rounds() -> u32 {
    if std::env::var_os("PRL_TEST_LONG").is_some() {
        200
    } else {
        12
    }
}

fn free_address() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").to_string()
}

/// Looks at the inbox all the time; every visible batch must be whole.
fn watch(inbox: &Path, sent: &Arc<BTreeMap<u64, Vec<u8>>>) -> (Arc<AtomicBool>, thread::JoinHandle<()>) {
    let done = Arc::new(AtomicBool::new(false));
    let (stop, inbox, sent) = (Arc::clone(&done), inbox.to_owned(), Arc::clone(sent));
    let watching = thread::spawn(move || {
        while !stop.load(Ordering::Relaxed) {
            for (&step, bytes) in sent.iter() {
                if let Ok(seen) = fs::read(batch_path(&inbox, step, 0)) {
                    assert!(seen == *bytes, "step {step} was seen with {} bytes", seen.len());
                }
            }
            thread::sleep(Duration::from_millis(2));
        }
    });
    (done, watching)
}

#[test]
fn killing_sender_and_receiver_loses_and_repeats_nothing() {
    let dir = TempDir::new().expect("a folder");
    let (spool, inbox) = (dir.path().join("spool"), dir.path().join("inbox"));
    let address = free_address();
    let settings = [
        ("KILL_SPOOL", spool.to_str().expect("text")),
        ("KILL_INBOX", inbox.to_str().expect("text")),
        ("KILL_LISTEN", address.as_str()),
    ];
    let sent: BTreeMap<u64, Vec<u8>> = (1..=STEPS)
        .map(|step| (step, write_batch(&spool, (1, step, 0), BATCH_BYTES, step)))
        .collect();
    let sent = Arc::new(sent);
    let (done, watching) = watch(&inbox, &sent);
    for round in 0..rounds() {
        let receiver = child("child_receives", &settings);
        let sender = child("child_sends", &settings);
        thread::sleep(moment(round));
        let [first, second] = if round % 2 == 0 {
            [sender, receiver]
        } else {
            [receiver, sender]
        };
        kill(first);
        thread::sleep(moment(round + 1) / 4);
        kill(second);
        for step in 1..=STEPS {
            let is_kept = batch_path(&spool, step, 0).exists() || batch_path(&inbox, step, 0).exists();
            assert!(is_kept, "step {step} is lost after round {round}");
        }
    }
    let receiver = child("child_receives", &settings);
    let mut sender = child("child_sends", &settings);
    let status = sender.wait().expect("an end");
    kill(receiver);
    done.store(true, Ordering::Relaxed);
    watching.join().expect("never half a batch");
    assert!(status.success(), "the last sender: {status}");
    for (&step, bytes) in sent.iter() {
        assert!(
            fs::read(batch_path(&inbox, step, 0)).expect("a batch") == *bytes,
            "step {step}"
        );
        assert!(
            !batch_path(&spool, step, 0).exists(),
            "step {step} is still in the spool"
        );
        let folder = batch_path(&inbox, step, 0);
        let others = fs::read_dir(folder.parent().expect("a folder"))
            .expect("a folder")
            .count();
        assert_eq!(others, 1, "step {step} left something behind");
    }
}

#[test]
fn killing_a_puller_leaves_no_half_version_and_the_next_one_finishes() {
    let dir = TempDir::new().expect("a folder");
    let (from, into) = (dir.path().join("from"), dir.path().join("into"));
    let published = publish(&from, 1, 3, 24 << 20, 1);
    let runtime = runtime();
    let publisher = WeightNode::new(&from, Credentials::default(), QUICK);
    let address = runtime
        .block_on(publisher.listen("127.0.0.1:0"))
        .expect("listens")
        .to_string();
    let settings = [
        ("KILL_ROOT", into.to_str().expect("text")),
        ("KILL_LISTEN", address.as_str()),
    ];
    let visible = into.join("step_1");
    for round in 0..rounds() {
        let puller = child("child_pulls", &settings);
        thread::sleep(moment(round));
        kill(puller);
        if visible.exists() {
            assert!(contents(&visible) == published, "half a version after round {round}");
            fs::remove_dir_all(&visible).expect("removed");
        }
    }
    let started = Instant::now();
    let mut last = child("child_pulls", &settings);
    while last.try_wait().expect("a state").is_none() {
        assert!(started.elapsed() < DEADLINE, "the last pull hangs");
        thread::sleep(Duration::from_millis(10));
    }
    assert!(contents(&visible) == published);
}
