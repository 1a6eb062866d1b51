//! A program that takes more than it was given.

use prl_sandbox_proto::{Cause, InputFile, Limit, RunOnceRequest};

use crate::cases::Defence::{By, Layers};
use crate::cases::Program::{Py, Sh};
use crate::cases::{Case, case, left_out, limits, signal};

pub(crate) const CASES: &[Case] = &[
    // ---- processes ----
    case("fork bomb", By("processes"), Py(r#"
import time
children = 0
end = time.monotonic() + 3
while children < 120 and time.monotonic() < end:
    try:
        if os.fork() == 0:
            time.sleep(4); os._exit(0)
        children += 1
    except OSError: pass
print('escaped', children); os._exit(0)"#), "").ends(Cause::Pids).hits(Limit::Processes),
    // The sleepers outlive the run: bash gives up, and exits by itself, when ends of children cut short its pauses
    // between attempts.
    case("fork bomb in the shell", By("processes"), Sh("for i in $(seq 150); do sleep 30 & done 2>/dev/null; echo escaped"), "")
        .ends(Cause::Pids).hits(Limit::Processes),
    case("fork bomb of stopped sessions", By("processes"), Py(r#"
import time
end = time.monotonic() + 3
for i in range(60):
    while time.monotonic() < end:
        try: child = os.fork()
        except OSError: continue
        break
    else: break
    if child == 0:
        os.setsid()
        try:
            if os.fork() == 0: os.kill(os.getpid(), 19)
        except OSError: pass
        time.sleep(4); os._exit(0)
else: print('escaped'); sys.stdout.flush()
os._exit(0)"#), "").ends(Cause::Pids),
    case("fork bomb that copes", By("processes"), Py(r#"
import time
try:
    for i in range(60):
        if os.fork() == 0: time.sleep(4); os._exit(0)
except OSError as e: print('refused', errno.errorcode[e.errno]); sys.stdout.flush()
os._exit(0)"#), "refused EAGAIN").hits(Limit::Processes),
    case("thread bomb that copes", By("processes"), Py(r#"
import threading, time
n = 0
try:
    while n < 200: threading.Thread(target=time.sleep, args=(4,), daemon=True).start(); n += 1
except RuntimeError: print('refused', n); sys.stdout.flush()
os._exit(0)"#), "refused 31").hits(Limit::Processes),
    case("forks although they are refused", By("pids-verdict"), Py(r#"
import time
end = time.monotonic() + 2
while time.monotonic() < end:
    try:
        if os.fork() == 0: time.sleep(4); os._exit(0)
    except OSError: time.sleep(0.01)
print('escaped'); os._exit(0)"#), "").ends(Cause::Pids),
    case("forks that are refused by the thousand", By("pids-verdict"), Py(r#"
import time
refused = 0
for i in range(3000):
    try:
        if os.fork() == 0: time.sleep(4); os._exit(0)
    except OSError: refused += 1
print('escaped', refused); os._exit(0)"#), "").ends(Cause::Pids).hits(Limit::Processes),
    case("stopped double forks in new sessions", Layers("pid namespace"), Py(r#"
for i in range(10):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0: os.kill(os.getpid(), 19)
        os._exit(0)
print('left')"#), "left"),
    case("fork and exit for ever", By("wall"), Py(r#"
import time
end = time.monotonic() + 2
while time.monotonic() < end:
    if os.fork() == 0: os._exit(0)
    os.wait()"#), "").with(|r| limits(r, |l| { l.wall_ms = Some(600); l.cpu_ms = Some(60_000); })).ends(Cause::WallTimeout),
    // ---- memory ----
    case("memory bomb", By("memory"), Py("b = [bytearray(b'x' * (1 << 20)) for i in range(250)]"), "").ends(Cause::Oom).hits(Limit::Memory),
    case("memory bomb in a child", By("oom-verdict"), Py(r#"
if os.fork() == 0:
    b = [bytearray(b'x' * (1 << 20)) for i in range(250)]
import time
os.wait(); time.sleep(1); print('survived')"#), "").ends(Cause::Oom),
    case("memory bomb in many children", By("memory"), Py(r#"
for i in range(10):
    if os.fork() == 0:
        b = b'x' * (25 << 20)
        import time; time.sleep(1); os._exit(0)
for i in range(10): os.wait()"#), "").ends(Cause::Oom),
    case("memory by shared mapping", By("memory"), Py("import mmap\nm = mmap.mmap(-1, 256 << 20)\nfor i in range(0, 256 << 20, 4096): m[i] = 1"), "").ends(Cause::Oom),
    case("memory by memfd", By("memory"), Py("fd = os.memfd_create('x')\nfor i in range(250): os.write(fd, bytes(1 << 20))"), "").ends(Cause::Oom),
    case("memory by System V segments", By("memory"), Py(r#"
libc.shmat.restype = ctypes.c_void_p
for i in range(16):
    s = libc.shmget(0, 16 << 20, 0o1600)
    ctypes.memset(libc.shmat(s, None, 0), 1, 16 << 20)
    libc.shmctl(s, 0, None)"#), "").ends(Cause::Oom),
    case("memory by page tables", By("memory"), Py(r#"
import mmap
m = mmap.mmap(-1, 60 << 30, flags=0x4022)
m.madvise(15)
for i in range(0, 60 << 30, 2 << 20): m[i] = 1"#), "").ends(Cause::Oom),
    case("memory by files when the layer is large", By("memory"), Py("f = open('/tmp/x', 'wb')\nfor i in range(250): f.write(bytes(1 << 20))"), "")
        .with(|r| limits(r, |l| l.disk_bytes = Some(1 << 30))).ends(Cause::Oom),
    case("memory after the score was lowered", By("memory"), Py("open('/proc/self/oom_score_adj', 'w').write('1000')\nb = [bytearray(b'x' * (1 << 20)) for i in range(250)]"), "").ends(Cause::Oom),
    case("first to be killed", By("oom-score"), Sh("cat /proc/self/oom_score_adj"), "1000\n"),
    case("memory by socket buffers", By("open-files"), Py(r#"
import socket
keep = []
try:
    for i in range(400):
        a, b = socket.socketpair(); a.setblocking(False); keep.append((a, b))
        try: a.send(bytes(65536))
        except BlockingIOError: pass
except OSError as e: print(errno.errorcode[e.errno])"#), "EMFILE"),
    case("memory by buffers of the network", By("socket-buffers"), Py(r#"
import socket
l = socket.socket(); l.bind(('127.0.0.1', 0)); l.listen(100)
keep, sent = [], 0
for i in range(60):
    c = socket.create_connection(l.getsockname()); keep += [c, l.accept()[0]]
    c.setblocking(False)
    try:
        while True: sent += c.send(bytes(1 << 20))
    except BlockingIOError: pass
print('bounded' if sent < 100 << 20 else sent)"#), "bounded").needs("/sys/fs/cgroup/memory/memory.kmem.tcp.limit_in_bytes"),
    case("terminals", By("terminals"), Py("def f():\n  for i in range(100): os.open('/dev/ptmx', os.O_RDWR)\nprint(attempt(f))"), "ENOSPC"),
    case("memory by locking it", By("locked-memory"), Py("import mmap\nm = mmap.mmap(-1, 4 << 20)\nb = (ctypes.c_char * (4 << 20)).from_buffer(m)\nprint(sc(149, b, 4 << 20))"), "ENOMEM"),
    // ---- disk ----
    case("disk fill", By("layer-bytes"), Py("def f():\n  with open('/tmp/x', 'wb') as f:\n    for i in range(24): f.write(bytes(1 << 20))\nprint(attempt(f))"), "ENOSPC").hits(Limit::Disk),
    case("disk fill of the work directory", By("layer-bytes"), Sh("head -c 20000000 /dev/zero > x 2>/dev/null || echo refused"), "refused").hits(Limit::Disk),
    case("disk fill of shared memory", By("layer-bytes"), Py("def f():\n  with open('/dev/shm/x', 'wb') as f:\n    for i in range(24): f.write(bytes(1 << 20))\nprint(attempt(f))"), "ENOSPC").hits(Limit::Disk),
    case("disk fill in several places at once", By("layer-bytes"), Sh("for d in /work /tmp /dev/shm /run; do head -c 6000000 /dev/zero > $d/x 2>/dev/null || echo refused; done"), "refused").hits(Limit::Disk),
    case("disk fill by a packed file", By("layer-bytes"), Sh("head -c 20000000 /dev/zero | gzip > z; gunzip -c z > x 2>/dev/null || echo refused"), "refused"),
    case("huge allocation of a file", By("layer-bytes"), Py("fd = os.open('/tmp/x', os.O_RDWR | os.O_CREAT)\nprint(attempt(os.posix_fallocate, fd, 0, 64 << 20))"), "ENOSPC"),
    case("inode fill", By("layer-inodes"), Py("def f():\n  for i in range(3000): open(f'/work/{i}', 'w').close()\nprint(attempt(f))"), "ENOSPC").hits(Limit::Inodes),
    case("inode fill by links", By("layer-inodes"), Py("def f():\n  for i in range(3000): os.symlink('x', f'/dev/shm/{i}')\nprint(attempt(f))"), "ENOSPC").hits(Limit::Inodes),
    case("upload too large", By("layer-bytes"), Sh("echo ran"), "").with(|r| {
        limits(r, |l| l.disk_bytes = Some(1 << 20));
        r.files = vec![InputFile { path: "x".to_owned(), content: vec![1; 2 << 20].into(), mode: 0 }];
    }).ends(Cause::DiskFull).hits(Limit::Disk),
    case("too many uploads", By("layer-inodes"), Sh("echo ran"), "").with(|r| {
        limits(r, |l| l.inodes = Some(50));
        r.files = (0..100).map(|n| InputFile { path: format!("d/{n}"), content: b"x".as_slice().into(), mode: 0 }).collect();
    }).ends(Cause::DiskFull),
    case("sparse file collected", By("collect-bytes"), Py("os.truncate(os.open('x', os.O_RDWR | os.O_CREAT), 20 << 20)"), "")
        .with(|r| { limits(r, |l| l.collect_bytes = Some(1 << 20)); r.collect = vec!["*".to_owned()]; }).hits(Limit::Collect).checked(|r| left_out(r, "over the limit")),
    case("deep directories", By("walk-depth"), Py("for i in range(1500): os.mkdir('d'); os.chdir('d')\nopen('x', 'w')\nprint('deep')"), "deep")
        .with(|r| r.collect = vec!["**".to_owned()]).checked(|r| left_out(r, "too deep")),
    // ---- descriptors and signals ----
    case("descriptor exhaustion", By("open-files"), Py("def f():\n  for i in range(1000): os.dup(0)\nprint(attempt(f))"), "EMFILE"),
    case("descriptor exhaustion by watches", By("open-files"), Py("def f():\n  for i in range(400):\n    if libc.eventfd(0, 0) < 0: raise OSError(ctypes.get_errno(), '')\nprint(attempt(f))"), "EMFILE"),
    case("queued signals", By("pending-signals"), Py(r#"
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, [40])
refused = 0
for i in range(3000): refused += libc.sigqueue(os.getpid(), 40, ctypes.c_void_p(0)) != 0
print('refused' if refused else 'done')"#), "refused"),
    case("core dump", By("core-size"), Sh("ulimit -c 1000 2>/dev/null; ulimit -Hc; kill -ABRT $$"), "0\n").ends(Cause::Signaled)
        .with(|r| r.collect = vec!["**".to_owned()]).checked(|r| if r.files.is_empty() { signal(r, 6) } else { Err("a core file".to_owned()) }),
    // ---- processor ----
    case("spin", By("cpu"), Py("import time\nwhile time.process_time() < 1.5: pass"), "").with(|r| spins(r, 300)).ends(Cause::CpuTimeout).hits(Limit::Cpu),
    case("spin in many processes", By("cpu"), Py("import time\nfor i in range(3): os.fork()\nwhile time.process_time() < 0.4: pass"), "").with(|r| spins(r, 600)).ends(Cause::CpuTimeout),
    case("spin in processes that end", By("cpu"), Py(r#"
import time
for i in range(20):
    if os.fork() == 0:
        while time.process_time() < 0.1: pass
        os._exit(0)
    os.wait()"#), "").with(|r| spins(r, 600)).ends(Cause::CpuTimeout),
    case("higher priority", By("privileges"), Py("print(attempt(os.nice, -5))"), "E"),
    case("priority of everybody", By("privileges"), Py("print(attempt(os.setpriority, 0, 0, -10))"), "EACCES"),
    case("idle disk priority of others", By("privileges"), Py("print(sc(251, 1, os.getpid(), 1 << 13))"), "EPERM"),
    // ---- time ----
    case("sleep for ever", By("wall"), Py("import time\ntime.sleep(2)"), "").with(|r| limits(r, |l| l.wall_ms = Some(300))).ends(Cause::WallTimeout).hits(Limit::Wall),
    case("closed output", By("wall"), Py("import time\nos.close(1); os.close(2); time.sleep(2)"), "").with(|r| limits(r, |l| l.wall_ms = Some(300))).ends(Cause::WallTimeout),
    case("waits for input that does not come", By("wall"), Sh("mkfifo p; timeout 2 cat p; true"), "").with(|r| limits(r, |l| l.wall_ms = Some(300))).ends(Cause::WallTimeout),
    // ---- output ----
    case("flood of output", By("output"), Sh("yes | head -c 20000000"), "").ends(Cause::OutputLimit).hits(Limit::Output),
    case("flood of errors", By("output"), Sh("yes | head -c 20000000 1>&2"), "").ends(Cause::OutputLimit),
    case("flood from a child that is left", By("output"), Sh("(yes | head -c 20000000) & wait"), "").ends(Cause::OutputLimit),
    case("alternating bytes", By("output"), Py("for i in range(150000): os.write(1, b'a'); os.write(2, b'b')"), "").with(|r| limits(r, |l| l.output_kill_bytes = Some(5000))).ends(Cause::OutputLimit),
    case("one long line", By("output-window"), Py("sys.stdout.write('x' * 4000000 + 'END')"), "END").hits(Limit::Output).checked(|r| {
        let out = r.stdout.clone().unwrap_or_default();
        let exact = out.total == 4_000_003 && out.gap == 4_000_003 - 65_536 && out.head.len() == 32_768;
        if exact { Ok(()) } else { Err(format!("total {} gap {} head {}", out.total, out.gap, out.head.len())) }
    }),
    case("output that is no text", By("output-window"), Py(r"sys.stdout.buffer.write(b'\xff\x00\x1b[2J' * 20000)"), "").checked(|r| {
        let out = r.stdout.clone().unwrap_or_default();
        let exact = out.total == 120_000 && out.gap == 120_000 - 65_536 && out.head.starts_with(b"\xff\x00\x1b[2J\xff");
        if exact { Ok(()) } else { Err(format!("total {} gap {}", out.total, out.gap)) }
    }),
    case("input that no process reads", Layers("input is fed beside the run"), Sh("echo ok"), "ok").with(|r| r.stdin = vec![b'x'; 4 << 20].into()),
];

/// A limit of processor time that is reached first, even on a machine with no processor time to spare.
fn spins(request: &mut RunOnceRequest, cpu_ms: u64) {
    limits(request, |limits| {
        limits.cpu_ms = Some(cpu_ms);
        limits.wall_ms = Some(60_000);
    });
}
