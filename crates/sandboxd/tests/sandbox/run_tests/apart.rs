//! Things that a case leaves besides its files reach no later case: processes, IPC objects, connections and memory.

use prl_sandbox_proto::{Cause, Forward, Limits, Network, RunOnceRequest};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

use super::{judge, on_each, on_each_with, tests};
use crate::support::{Outcome, cause, command, describe, text, tight};

/// Tries to become a child of a process that does not end with its case. The child looks for the output of others,
/// writes to it and burns CPU time.
const FUGITIVES: &str = r"
import ctypes, os, signal, time
libc = ctypes.CDLL(None, use_errno=True)
kind = input()

def stay():
    os.setsid()
    libc.prctl(15, b'fugitive', 0, 0, 0)
    for descriptor in range(3): os.close(descriptor)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    end = time.monotonic() + 30
    while time.monotonic() < end:
        for name in os.listdir('/proc'):
            if not name.isdigit() or int(name) == os.getpid(): continue
            try:
                descriptor = os.open(f'/proc/{name}/fd/1', os.O_WRONLY | os.O_NONBLOCK)
                os.write(descriptor, b'forged')
                os.close(descriptor)
            except OSError: pass
    os._exit(0)

def child(flags):
    if libc.syscall(56, flags, 0, 0, 0, 0) == 0: stay()

if kind == 'sibling': child(0x8000 | 17)
if kind == 'sibling without a signal': child(0x8000)
if kind == 'orphan':
    if os.fork() == 0:
        child(17)
        os._exit(0)
    os.wait()
if kind == 'subreaper':
    if os.fork() == 0:
        libc.prctl(36, 1, 0, 0, 0)
        if os.fork() == 0:
            child(0x8000 | 17)
            child(17)
            os._exit(0)
        stay()
if kind == 'parent killed':
    child(17)
    try: os.kill(os.getppid(), 9)
    except OSError: pass
if kind == 'look':
    time.sleep(0.3)
    names = []
    for name in os.listdir('/proc'):
        try: process = open(f'/proc/{name}/stat').read()
        except OSError: continue
        if ') Z ' not in process: names.append(process)
    print('fugitive' in str(names))
";

#[tokio::test(flavor = "multi_thread")]
async fn no_process_of_a_case_lives_on() -> Outcome {
    let mut daemons: Vec<&[&str]> = vec![&[], &["--tier", "rootless"]];
    if cfg!(feature = "switch-off") {
        daemons.push(&["--without", "filter"]);
    }
    for more in daemons {
        on_each_with(more, async |_, client| {
            for kind in [
                "sibling",
                "sibling without a signal",
                "orphan",
                "subreaper",
                "parent killed",
            ] {
                let run = command(&["python3", "-c", FUGITIVES]);
                let judged = judge(client, tests(run, &[kind, "look", kind, "look"])).await?;
                for looked in [&judged.cases[1], &judged.cases[3]] {
                    assert_eq!(text(&looked.stdout), "False\n", "{kind} {more:?}: {}", describe(looked));
                    assert_eq!(cause(looked), Cause::Exited, "{kind} {more:?}: {}", describe(looked));
                }
            }
            Ok(())
        })
        .await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn no_case_finds_ipc_objects_of_another() -> Outcome {
    // Each case leaves 30 MB of its 128.
    let program = r"
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
print([len(open(f'/proc/sysvipc/{kind}').readlines()) - 1 for kind in ('shm', 'sem', 'msg')], os.listdir('/dev/mqueue'))
segment = libc.shmget(7, 30 << 20, 0o1600)
assert segment >= 0, ctypes.get_errno()
ctypes.memset(libc.shmat(segment, None, 0), 1, 30 << 20)
for key in range(300):
    assert libc.semget(key + 1, 1, 0o1000) >= 0, ctypes.get_errno()
queue = libc.msgget(7, 0o1600)
assert queue >= 0 and libc.msgsnd(queue, ctypes.byref((ctypes.c_long * 100)(1)), 700, 0) == 0, ctypes.get_errno()
assert libc.mq_open(b'/left', os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600, None) >= 0, ctypes.get_errno()
";
    on_each(async |_, client| {
        let judged = judge(client, tests(command(&["python3", "-c", program]), &[""; 7])).await?;
        for case in &judged.cases {
            assert_eq!(text(&case.stdout), "[0, 0, 0] []\n", "{}", describe(case));
            assert_eq!(
                (cause(case), case.exit_code),
                (Cause::Exited, Some(0)),
                "{}",
                describe(case)
            );
        }
        Ok(())
    })
    .await
}

/// A server whose port stays taken for a minute, because it closes first. Prints the answer of a forward, if there is
/// one.
const SERVER: &str = r"
import socket, sys
server = socket.socket()
server.bind(('127.0.0.1', 8000))
server.listen()
client = socket.create_connection(('127.0.0.1', 8000))
connection, _ = server.accept()
connection.close()
assert client.recv(1) == b''
client.close()
for port in sys.argv[1:]:
    print(socket.create_connection(('127.0.0.1', int(port))).makefile().read())
";

#[tokio::test(flavor = "multi_thread")]
async fn every_case_may_listen_on_the_same_port() -> Outcome {
    on_each(async |runtime, client| {
        let inputs = [""; 6];
        let judged = judge(client, tests(command(&["python3", "-c", SERVER]), &inputs)).await?;
        for case in &judged.cases {
            assert_eq!(case.exit_code, Some(0), "{}", describe(case));
            assert_eq!(case.runtime, runtime);
        }
        // The ways out are open in every network.
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                // A client that leaves early fails the test elsewhere.
                let _written = stream.write_all(b"machine").await;
            }
        });
        let request = RunOnceRequest {
            network: Some(Network {
                forward: vec![Forward {
                    listen: 9000,
                    to: format!("127.0.0.1:{port}"),
                    ..Forward::default()
                }],
                ..Network::default()
            }),
            ..command(&["python3", "-c", SERVER, "9000"])
        };
        let judged = judge(client, tests(request, &inputs)).await?;
        assert_eq!(judged.outputs(), ["machine\n"; 6], "{}", describe(&judged.cases[1]));
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_filled_by_one_case_is_free_for_the_next() -> Outcome {
    let program = "import sys\n\
        kind = input()\n\
        if kind == 'fill':\n    with open('/tmp/full', 'wb') as file:\n        while True: file.write(bytes(1 << 20))\n\
        held = bytearray(32 << 20)\n\
        print(len(held))";
    on_each(async |_, client| {
        for _ in 0..8 {
            let mut run = command(&["python3", "-c", program]);
            run.limits = Some(Limits {
                memory_bytes: Some(64 << 20),
                disk_bytes: Some(256 << 20),
                ..tight()
            });
            let judged = judge(client, tests(run, &["fill", "right", "fill", "right", "fill", "right"])).await?;
            for pair in judged.cases.chunks(2) {
                assert_eq!(cause(&pair[0]), Cause::Oom, "{}", describe(&pair[0]));
                assert_eq!(cause(&pair[1]), Cause::Exited, "{}", describe(&pair[1]));
            }
        }
        Ok(())
    })
    .await
}
