//! Processes that do not want to end, and processes that look at others.

use prl_sandbox_proto::{Cause, RunOnceResult};

use crate::cases::Defence::{By, Layers};
use crate::cases::Program::{Call, Py, Sh};
use crate::cases::{Case, case, exit_code, limits, signal, soon_over};

/// The program met no limit.
fn by_itself(result: &RunOnceResult, number: i32) -> Result<(), String> {
    match result.limits_hit().next() {
        None => signal(result, number),
        Some(limit) => Err(format!("it met {limit:?}")),
    }
}

pub(crate) const CASES: &[Case] = &[
    // ---- ending ----
    case(
        "daemon that holds the output",
        Layers("everybody dies with the command, by init and by the end of its namespace"),
        Sh("(setsid sleep 1000 &) ; echo gone"),
        "gone",
    )
    .checked(soon_over),
    case(
        "outlives its parents",
        Layers("pid namespace"),
        Py(r#"
libc.prctl(36, 1); libc.prctl(1, 0)
if os.fork() == 0:
    os.setsid()
    import time; time.sleep(1000)
print('ok')"#),
        "ok",
    )
    .checked(soon_over),
    case(
        "orphans",
        Layers("init reaps"),
        Py(r#"
import time
for i in range(100):
    while True:
        try: child = os.fork(); break
        except BlockingIOError: time.sleep(.05)
    if child == 0:
        if os.fork() == 0: os._exit(0)
        os._exit(0)
    os.wait()
    if i % 20 == 19: time.sleep(.02)
print('reaped')"#),
        "reaped",
    ),
    case(
        "deaf to signals",
        By("wall"),
        Py("import signal, time\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\ntime.sleep(2)"),
        "",
    )
    .with(|r| limits(r, |l| l.wall_ms = Some(300)))
    .ends(Cause::WallTimeout),
    case(
        "ignores every signal",
        By("wall"),
        Sh("trap '' HUP INT QUIT TERM USR1 USR2 PIPE ALRM; sleep 2"),
        "",
    )
    .with(|r| limits(r, |l| l.wall_ms = Some(300)))
    .ends(Cause::WallTimeout),
    case(
        "stops itself",
        By("wall"),
        Py(r#"
import time
me = os.getpid()
if os.fork() == 0: time.sleep(2); os.kill(me, 18); os._exit(0)
os.kill(me, 19)"#),
        "",
    )
    .with(|r| limits(r, |l| l.wall_ms = Some(300)))
    .ends(Cause::WallTimeout),
    case(
        "its main thread is gone",
        By("wall"),
        Py(r#"
import threading, time
threading.Thread(target=lambda: (time.sleep(2), os._exit(0))).start()
libc.syscall(60, 0)"#),
        "",
    )
    .with(|r| limits(r, |l| l.wall_ms = Some(300)))
    .ends(Cause::WallTimeout),
    case(
        "replaces itself for ever",
        By("wall"),
        Sh("n=${1:-0}; [ $SECONDS -gt 2 ] && exit; exec bash -c 'SECONDS='$SECONDS'; sleep 2'"),
        "",
    )
    .with(|r| limits(r, |l| l.wall_ms = Some(300)))
    .ends(Cause::WallTimeout),
    case(
        "waits in vfork",
        By("wall"),
        Py("import subprocess\nsubprocess.run(['sleep', '2'])"),
        "",
    )
    .with(|r| limits(r, |l| l.wall_ms = Some(300)))
    .ends(Cause::WallTimeout),
    // ---- how it ended ----
    case("exits like a kill", Layers("the wait status"), Sh("exit 137"), "").checked(|r| exit_code(r, 137)),
    case(
        "exits like a termination",
        Layers("the wait status"),
        Sh("exit 143"),
        "",
    )
    .checked(|r| exit_code(r, 143)),
    case("exits like a timeout", Layers("the wait status"), Sh("exit 124"), "").checked(|r| exit_code(r, 124)),
    case(
        "exits with the highest code",
        Layers("the wait status"),
        Sh("exit 255"),
        "",
    )
    .checked(|r| exit_code(r, 255)),
    case("kills itself", Layers("the wait status"), Sh("kill -9 $$"), "")
        .ends(Cause::Signaled)
        .checked(|r| signal(r, 9)),
    case("bad access", Layers("the wait status"), Py("ctypes.string_at(0)"), "")
        .ends(Cause::Signaled)
        .checked(|r| signal(r, 11)),
    case(
        "dies of the processor signal",
        Layers("the wait status, the cgroup counts"),
        Sh("kill -XCPU $$"),
        "",
    )
    .ends(Cause::Signaled)
    .checked(|r| by_itself(r, 24)),
    case(
        "dies of the file size signal",
        Layers("no file has a separate limit"),
        Sh("kill -XFSZ $$"),
        "",
    )
    .ends(Cause::Signaled)
    .checked(|r| by_itself(r, 25)),
    case(
        "dies of the filter's signal",
        Layers("the wait status"),
        Sh("kill -SYS $$"),
        "",
    )
    .ends(Cause::Signaled)
    .checked(|r| by_itself(r, 31)),
    // ---- other processes ----
    case(
        "kill everybody",
        Layers("pid namespace"),
        Py("import signal\nsignal.signal(15, signal.SIG_IGN)\nprint(attempt(os.kill, -1, 15))"),
        "E",
    ),
    case(
        "kill init",
        By("privileges"),
        Call("attempt(os.kill, 1, 9), attempt(os.kill, 1, 19)"),
        "EPERM EPERM",
    ),
    case("ptrace", By("filter"), Call("sc(101, 0, 0, 0, 0)"), "EPERM"),
    case(
        "memory of another process read",
        By("filter"),
        Call("sc(310, os.getpid(), 0, 0, 0, 0, 0)"),
        "EPERM",
    ),
    case(
        "memory of another process written",
        By("filter"),
        Call("sc(311, os.getpid(), 0, 0, 0, 0, 0)"),
        "EPERM",
    ),
    case(
        "memory hints for another process",
        By("filter"),
        Call("sc(440, -1, 0, 0, 0, 0)"),
        "EPERM",
    ),
    case(
        "memory of a dying process",
        By("filter"),
        Call("sc(448, -1, 0)"),
        "EPERM",
    ),
    case(
        "descriptor of another process",
        By("filter"),
        Call("sc(438, 0, 0, 0)"),
        "EPERM",
    ),
    case(
        "comparison of processes",
        By("filter"),
        Call("sc(312, os.getpid(), os.getpid(), 1, 0, 0)"),
        "EPERM",
    ),
    case(
        "layout of the program's memory",
        By("filter"),
        Call("sc(157, 35, 0, 0, 0, 1)"),
        "EPERM",
    ),
    case(
        "memory of init",
        By("other-processes"),
        Call("attempt(open, '/proc/1/mem'), attempt(os.listdir, '/proc/1/fd')"),
        "ENOENT ENOENT",
    ),
    case(
        "root directory of init",
        By("other-processes"),
        Call("attempt(os.listdir, '/proc/1/root'), attempt(os.listdir, '/proc/1/cwd')"),
        "ENOENT ENOENT",
    ),
    case(
        "typing into a terminal",
        Layers("the kernel, filter"),
        Py("import fcntl, pty\nm, s = pty.openpty()\nprint(attempt(fcntl.ioctl, s, 0x5412, b'x'))"),
        "EPERM",
    ),
    case(
        "typing into a console",
        By("filter"),
        Py("import fcntl, pty\nm, s = pty.openpty()\nprint(attempt(fcntl.ioctl, s, 0x541C, b'x'))"),
        "EPERM",
    ),
    case(
        "line discipline of a terminal",
        By("filter"),
        Py("import fcntl, pty\nm, s = pty.openpty()\nprint(attempt(fcntl.ioctl, s, 0x5423, b'\\x00' * 4))"),
        "EPERM",
    ),
    case(
        "session of somebody else",
        By("session"),
        Call("os.getsid(0) == os.getpid(), os.getpgid(0) == os.getpid()"),
        "True True",
    ),
    case(
        "signals that are ignored already",
        By("default-signals"),
        Sh("grep -E 'Sig(Blk|Ign)' /proc/self/status | grep -c '0000000$'"),
        "2\n",
    ),
];
