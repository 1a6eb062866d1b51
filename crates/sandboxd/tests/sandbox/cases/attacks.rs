//! Hostile programs, by family, each with the defence that stops it.

use prl_sandbox_proto::{Cause, InputFile, Limit, RunOnceRequest, RunOnceResult};

use super::Program::{Py, Sh};
use super::{Case, case};

fn limits(request: &mut RunOnceRequest, set: impl FnOnce(&mut prl_sandbox_proto::Limits)) {
    set(request.limits.get_or_insert_default());
}

fn exit_code(result: &RunOnceResult, wanted: i32) -> Result<(), String> {
    if result.exit_code == Some(wanted) {
        Ok(())
    } else {
        Err(format!("exit code is not {wanted}"))
    }
}

fn signal(result: &RunOnceResult, wanted: i32) -> Result<(), String> {
    if result.signal == Some(wanted) {
        Ok(())
    } else {
        Err(format!("signal is not {wanted}"))
    }
}

fn left_out(result: &RunOnceResult, reason: &str) -> Result<(), String> {
    if result.files.is_empty() && result.uncollected.iter().any(|one| one.reason.contains(reason)) {
        return Ok(());
    }
    Err(format!("{:?} instead of {reason:?}", result.uncollected))
}

/// Every case is bounded by `support::tight` or tighter.
pub(crate) const ATTACKS: &[Case] = &[
    // ---- resource exhaustion ----
    case("fork bomb", "pids.max", Py("while True:\n  try: os.fork()\n  except OSError: pass"), "").ends(Cause::Pids).hits(Limit::Processes),
    case("fork bomb in the shell", "pids.max", Sh("f() { f | f & f; }; f 2>/dev/null; sleep 10"), "").hits(Limit::Processes).ends(Cause::Pids),
    case("thread bomb that copes", "pids.max", Py("import threading, time\nn = 0\ntry:\n  while True:\n    threading.Thread(target=time.sleep, args=(20,), daemon=True).start(); n += 1\nexcept RuntimeError: print('refused', n); sys.stdout.flush(); os._exit(0)"), "refused 31").hits(Limit::Processes),
    case("stopped double forks in new sessions", "pid namespace", Py("import signal\nfor i in range(10):\n  if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: os.kill(os.getpid(), signal.SIGSTOP)\n    os._exit(0)\nprint('left')"), "left"),
    case("memory bomb", "memory limit", Py("b = []\nwhile True: b.append(bytearray(1 << 20))"), "").ends(Cause::Oom).hits(Limit::Memory),
    case("memory bomb in a child", "OOM ends the run", Py("if os.fork() == 0:\n  b = []\n  while True: b.append(bytearray(1 << 20))\nimport time\nos.wait(); time.sleep(3); print('survived')"), "").ends(Cause::Oom),
    case("memory by shared mapping", "memory limit", Py("import mmap\nm = mmap.mmap(-1, 512 << 20)\nfor i in range(0, 512 << 20, 4096): m[i] = 1"), "").ends(Cause::Oom),
    case("memory by memfd", "memory limit", Py("fd = os.memfd_create('x')\nwhile True: os.write(fd, bytes(1 << 20))"), "").ends(Cause::Oom),
    case("memory by System V segments", "memory limit", Py("libc.shmat.restype = ctypes.c_void_p\nfor i in range(40):\n  s = libc.shmget(0, 16 << 20, 0o1600); p = libc.shmat(s, None, 0)\n  if s < 0: print('no segment'); break\n  ctypes.memset(p, 1, 16 << 20)"), "").ends(Cause::Oom),
    case("memory by files when the layer is large", "files count as memory", Py("f = open('/tmp/x', 'wb')\nwhile True: f.write(bytes(1 << 20))"), "").with(|r| limits(r, |l| l.disk_bytes = Some(1 << 30))).ends(Cause::Oom),
    case("memory by socket buffers", "memory limit or refusal", Py("import socket\nkeep = []\ntry:\n  while True:\n    a, b = socket.socketpair(); a.setblocking(False); keep.append((a, b))\n    try:\n      while True: a.send(bytes(65536))\n    except BlockingIOError: pass\nexcept OSError as e: print(errno.errorcode[e.errno])"), "EMFILE"),
    case("mlock", "RLIMIT_MEMLOCK", Py("import mmap\nm = mmap.mmap(-1, 8 << 20)\nb = (ctypes.c_char * (8 << 20)).from_buffer(m)\nprint(sc(149, b, 8 << 20))"), "ENOMEM"),
    case("disk fill", "size of the layer", Py("def f():\n  with open('/tmp/x', 'wb') as f:\n    while True: f.write(bytes(1 << 20))\nprint(attempt(f))"), "ENOSPC").hits(Limit::Disk),
    case("disk fill of shared memory", "size of the layer", Py("def f():\n  with open('/dev/shm/x', 'wb') as f:\n    while True: f.write(bytes(1 << 20))\nprint(attempt(f))"), "ENOSPC").hits(Limit::Disk),
    case("inode fill", "inodes of the layer", Py("def f():\n  for i in range(100000): open(f'/work/{i}', 'w').close()\nprint(attempt(f))"), "ENOSPC").hits(Limit::Inodes),
    case("huge allocation of a file", "size of the layer", Py("fd = os.open('/tmp/x', os.O_RDWR | os.O_CREAT)\nprint(attempt(lambda: os.posix_fallocate(fd, 0, 1 << 50)))"), "ENOSPC"),
    case("sparse file collected", "collect limit", Py("os.truncate(os.open('x', os.O_RDWR | os.O_CREAT), 1 << 40)"), "").with(|r| r.collect = vec!["*".to_owned()]).hits(Limit::Collect).checked(|r| left_out(r, "over the limit")),
    case("deep directories", "bounded walk", Py("for i in range(1500): os.mkdir('d'); os.chdir('d')\nprint('deep')"), "deep").with(|r| r.collect = vec!["**".to_owned()]).checked(|r| left_out(r, "too deep")),
    case("descriptor exhaustion", "RLIMIT_NOFILE", Py("def f():\n  while True: os.dup(0)\nprint(attempt(f))"), "EMFILE"),
    case("spin", "CPU limit", Py("while True: pass"), "").with(|r| limits(r, |l| l.cpu_ms = Some(300))).ends(Cause::CpuTimeout).hits(Limit::Cpu),
    case("spin in many processes", "CPU limit of the tree", Py("for i in range(3): os.fork()\nwhile True: pass"), "").with(|r| limits(r, |l| l.cpu_ms = Some(600))).ends(Cause::CpuTimeout),
    case("real-time priority", "no capabilities", Py("print(attempt(lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))))"), "EPERM"),
    case("higher priority", "RLIMIT_NICE", Py("print(attempt(lambda: os.nice(-5)))"), "E"),
    case("sleep for ever", "wall limit", Py("import time\ntime.sleep(1000)"), "").with(|r| limits(r, |l| l.wall_ms = Some(300))).ends(Cause::WallTimeout).hits(Limit::Wall),
    case("fork and exit for ever", "CPU or wall limit", Py("while True:\n  if os.fork() == 0: os._exit(0)\n  os.wait()"), "").with(|r| limits(r, |l| { l.wall_ms = Some(600); l.cpu_ms = Some(60_000); })).ends(Cause::WallTimeout),
    case("flood of output", "output limit", Sh("yes"), "").ends(Cause::OutputLimit).hits(Limit::Output),
    case("flood of errors", "output limit", Sh("yes 1>&2"), "").ends(Cause::OutputLimit),
    case("alternating bytes", "output limit over both streams", Py("while True: os.write(1, b'a'); os.write(2, b'b')"), "").with(|r| limits(r, |l| l.output_kill_bytes = Some(5000))).ends(Cause::OutputLimit),
    case("one long line", "head and tail", Py("sys.stdout.write('x' * 4000000 + 'END')"), "END").hits(Limit::Output).checked(|r| {
        let out = r.stdout.clone().unwrap_or_default();
        let exact = out.total == 4_000_003 && out.gap == 4_000_003 - 65_536 && out.head.len() == 32_768;
        if exact { Ok(()) } else { Err(format!("total {} gap {} head {}", out.total, out.gap, out.head.len())) }
    }),
    case("closed output", "wall limit", Py("import time\nos.close(1); os.close(2); time.sleep(100)"), "").with(|r| limits(r, |l| l.wall_ms = Some(300))).ends(Cause::WallTimeout),
    case("input that nobody reads", "input is fed beside the run", Sh("echo ok"), "ok").with(|r| r.stdin = vec![b'x'; 4 << 20].into()),
    case("core dump", "RLIMIT_CORE", Sh("ulimit -c; kill -ABRT $$"), "0").ends(Cause::Signaled).with(|r| r.collect = vec!["**".to_owned()]).checked(|r| signal(r, 6)),
    // ---- processes and signals ----
    case("daemon that holds the output", "everybody dies with the command", Sh("(setsid sleep 1000 &) ; echo gone"), "gone").checked(|r| {
        let run = r.timings.unwrap_or_default();
        if run.run_ms + run.drain_ms < 2000.0 { Ok(()) } else { Err("it was waited for".to_owned()) }
    }),
    case("orphans", "init reaps", Py("for i in range(300):\n  if os.fork() == 0:\n    if os.fork() == 0: os._exit(0)\n    os._exit(0)\n  os.wait()\nprint('reaped')"), "reaped"),
    case("kill everybody", "pid namespace", Py("import signal\nsignal.signal(15, signal.SIG_IGN)\nprint(attempt(lambda: os.kill(-1, 15)))"), "E"),
    case("kill init", "init is another user", Py("print(attempt(lambda: os.kill(1, 9)), attempt(lambda: os.kill(1, 19)))"), "EPERM EPERM"),
    case("deaf to signals", "SIGKILL", Py("import signal, time\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\ntime.sleep(100)"), "").with(|r| limits(r, |l| l.wall_ms = Some(300))).ends(Cause::WallTimeout),
    case("stops itself", "wall limit", Py("os.kill(os.getpid(), 19)"), "").with(|r| limits(r, |l| l.wall_ms = Some(300))).ends(Cause::WallTimeout),
    case("ptrace", "seccomp", Py("print(sc(101, 0, 0, 0, 0))"), "EPERM"),
    case("memory of another process", "seccomp", Py("print(sc(310, os.getpid(), 0, 0, 0, 0, 0), sc(311, os.getpid(), 0, 0, 0, 0, 0))"), "EPERM EPERM"),
    case("memory of init", "other user, not dumpable", Py("print(attempt(lambda: open('/proc/1/mem')), attempt(lambda: os.listdir('/proc/1/fd')))"), "ENOENT ENOENT"),
    case("descriptor of another process", "seccomp", Py("print(sc(438, 0, 0, 0))"), "EPERM"),
    case("typing into a terminal", "the kernel, and seccomp before it", Py("import fcntl, pty\nm, s = pty.openpty()\nprint(attempt(lambda: fcntl.ioctl(s, 0x5412, b'x')))"), "EPERM"),
    case("outlives its parents", "pid namespace", Py("libc.prctl(36, 1); libc.prctl(1, 0)\nif os.fork() == 0:\n  os.setsid()\n  import time; time.sleep(1000)\nprint('ok')"), "ok"),
    case("exits like a kill", "wait status", Sh("exit 137"), "").checked(|r| exit_code(r, 137)),
    case("exits like a timeout", "wait status", Sh("exit 124"), "").checked(|r| exit_code(r, 124)),
    case("kills itself", "wait status", Sh("kill -9 $$"), "").ends(Cause::Signaled).checked(|r| signal(r, 9)),
    case("bad access", "wait status", Py("ctypes.string_at(0)"), "").ends(Cause::Signaled).checked(|r| signal(r, 11)),
    case("lowers its OOM score", "OOM kills the guest first", Py("open('/proc/self/oom_score_adj', 'w').write('0')\nb = []\nwhile True: b.append(bytearray(1 << 20))"), "").ends(Cause::Oom),
    // ---- files ----
    case("link to a secret collected", "links are not followed", Sh("ln -s /etc/shadow x; ln -s /etc y"), "").with(|r| r.collect = vec!["**".to_owned()]).checked(|r| left_out(r, "not a regular file")),
    case("pipe collected", "only regular files are opened", Sh("mkfifo x"), "").with(|r| r.collect = vec!["x".to_owned()]).checked(|r| left_out(r, "not a regular file")),
    case("socket collected", "only regular files are opened", Py("import socket\nsocket.socket(socket.AF_UNIX).bind('x')"), "").with(|r| r.collect = vec!["x".to_owned()]).checked(|r| left_out(r, "not a regular file")),
    case("hard link to the system", "other mount", Py("print(attempt(lambda: os.link('/etc/passwd', '/tmp/x')))"), "EXDEV"),
    case("write to the system", "read-only mounts", Py("print(*[attempt(lambda: open(p, 'w')) for p in ('/usr/x', '/etc/hosts', '/x', '/bin/x')])"), "E").checked(|r| if super::text(&r.stdout).contains("done") { Err("written".to_owned()) } else { Ok(()) }),
    case("secrets of the machine", "users and the root view", Py("print(*[attempt(lambda: os.listdir(p) and None) if False else attempt(lambda: open(p)) for p in ('/etc/shadow', '/etc/gshadow', '/root/.bashrc', '/var/run/docker.sock', '/var/run/secrets/x', '/proc/1/environ')])"), "EACCES EACCES ENOENT ENOENT ENOENT ENOENT"),
    case("files of the machine", "root view", Py("print([d for d in ('/home', '/root', '/sys', '/box') if os.listdir(d)], sorted(os.listdir('/var')), os.path.exists('/mnt'), os.path.exists('/srv'))"), "[] ['tmp'] False False"),
    case("other people's temporary files", "own layer", Py("print(os.listdir('/tmp'), os.listdir('/work'), os.listdir('/dev/shm'), os.listdir('/run'))"), "[] [] [] []"),
    case("set-user-id program", "nosuid and no new privileges", Sh("cp /usr/bin/id /tmp/id; chmod 6755 /tmp/id; [ \"$(/tmp/id -u)\" = \"$(id -u)\" ] && echo same"), "same"),
    case("su", "no new privileges", Sh("grep NoNewPrivs /proc/self/status; su root -c id </dev/null 2>/dev/null; echo $?"), "NoNewPrivs:\t1\n1"),
    case("mount", "the kernel, and seccomp before it", Py("print(sc(165, b'x', b'/tmp', b'tmpfs', 0, 0), sc(166, b'/proc', 2), sc(155, b'.', b'.'), sc(161, b'/tmp'))"), "EPERM EPERM EPERM EPERM"),
    case("new mount interface", "seccomp", Py("print(*[sc(n, 0, 0, 0, 0, 0) for n in (428, 429, 430, 431, 432, 433, 442)])"), "EPERM EPERM EPERM EPERM EPERM EPERM EPERM"),
    case("files by handle", "seccomp", Py("print(sc(303, 0, b'/', 0, 0, 0), sc(304, 0, 0, 0))"), "EPERM EPERM"),
    case("devices", "no capabilities", Py("print(attempt(lambda: os.mknod('/tmp/x', 0o20666, os.makedev(1, 1))), attempt(lambda: os.mknod('/tmp/y', 0o60666, os.makedev(254, 0))))"), "EPERM EPERM"),
    case("odd file names collected", "names are data", Py("open('-rf', 'w').write('1'); open('a\\nb', 'w').write('2'); open('n' * 255, 'w').write('3')"), "").with(|r| r.collect = vec!["*".to_owned()]).checked(|r| if r.files.len() == 3 { Ok(()) } else { Err(format!("{} files", r.files.len())) }),
    case("uploads too large", "size of the layer", Sh("echo ran"), "").with(|r| {
        limits(r, |l| l.disk_bytes = Some(1 << 20));
        r.files = vec![InputFile { path: "x".to_owned(), content: vec![1; 2 << 20].into(), mode: 0 }];
    }).ends(Cause::DiskFull).hits(Limit::Disk),
    // ---- kernel surface ----
    case("new namespaces", "seccomp", Py("print(*[sc(272, f) for f in (0x10000000, 0x20000, 0x40000000, 0x2000000)])"), "EPERM EPERM EPERM EPERM"),
    case("clone into a user namespace", "seccomp", Py("print(sc(56, 0x10000000 | 17, 0, 0, 0, 0))"), "EPERM"),
    case("clone3", "seccomp", Py("print(sc(435, 0, 0))"), "ENOSYS"),
    case("enter a namespace", "the kernel, and seccomp before it", Py("print(sc(308, os.open('/proc/self/ns/net', 0), 0))"), "EPERM"),
    case("io_uring", "seccomp", Py("print(sc(425, 1, ctypes.create_string_buffer(120)), sc(426, 0, 0, 0, 0, 0), sc(427, 0, 0, 0, 0))"), "ENOSYS ENOSYS ENOSYS"),
    case("userfaultfd", "seccomp", Py("print(sc(323, 1))"), "EPERM"),
    case("keyrings", "seccomp", Py("print(sc(248, b'user', b'x', b'y', 1, -3), sc(249, b'user', b'x', 0, -3), sc(250, 0, -3, 1))"), "EPERM EPERM EPERM"),
    case("bpf and perf", "seccomp", Py("print(sc(321, 5, 0, 0), sc(298, 0, 0, -1, -1, 0))"), "EPERM EPERM"),
    case("kernel modules and kexec", "seccomp", Py("print(*[sc(n, 0, 0, 0, 0, 0) for n in (175, 313, 176, 246, 320)])"), "EPERM EPERM EPERM EPERM EPERM"),
    case("the machine's controls", "seccomp", Py("print(*[sc(n, 0, 0, 0, 0) for n in (169, 167, 168, 163, 164, 227, 172, 173, 103)])"), "EPERM EPERM EPERM EPERM EPERM EPERM EPERM EPERM EPERM"),
    case("personality", "seccomp", Py("print(sc(135, 0x0040000), sc(135, 0xffffffff))"), "EPERM done"),
    case("local descriptor table", "seccomp", Py("print(sc(154, 0, 0, 0))"), "EPERM"),
    case("x32 calls", "seccomp", Py("sc(0x40000000 | 39); print('alive')"), "").ends(Cause::Policy),
    case("i386 calls", "seccomp", Py("import mmap\nm = mmap.mmap(-1, 4096, prot=7)\nm.write(b'\\xb8\\x14\\x00\\x00\\x00\\xcd\\x80\\xc3')\nctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))()\nprint('alive')"), "").ends(Cause::Policy),
    case("unknown calls", "the kernel, and seccomp before it", Py("print(sc(480), sc(500))"), "ENOSYS ENOSYS"),
    case("kernel settings", "proc is root's", Py("print(*[attempt(lambda: open(p, 'w')) for p in ('/proc/sys/kernel/core_pattern', '/proc/sysrq-trigger', '/proc/sys/vm/overcommit_memory', '/proc/sys/kernel/hostname')])"), "E").checked(|r| if super::text(&r.stdout).contains("done") { Err("opened".to_owned()) } else { Ok(()) }),
    case("control groups", "not mounted", Py("print(os.listdir('/sys'), [l.split(':')[2].strip() for l in open('/proc/self/cgroup') if 'prl-' in l or '..' in l])"), "[] []"),
    case("inherited descriptors", "close_range", Py("print(sorted(os.listdir('/proc/self/fd')))"), "['0', '1', '2', '3']"),
    case("socket families", "seccomp", Py("import socket\nprint(*[sc(41, f, 3, 0) for f in (17, 40, 38, 31, 44, 29)], sc(41, 16, 3, 12), sc(41, 16, 3, 9))"), "EPERM EPERM EPERM EPERM EPERM EPERM EPERM EPERM"),
    case("capabilities", "dropped", Sh("grep Cap /proc/self/status | awk '{print $2}' | sort -u"), "0000000000000000\n").checked(|r| if super::text(&r.stdout).lines().count() == 1 { Ok(()) } else { Err("not all are zero".to_owned()) }),
    case("environment of the daemon", "own environment", Py("print(sorted(os.environ))"), "['HOME', 'LANG', 'LOGNAME', 'PATH', 'PYTHONDONTWRITEBYTECODE', 'TMPDIR', 'USER']"),
    // ---- network ----
    case("out by TCP", "network namespace", Py("import socket\ndef go(f, a):\n  s = socket.socket(f); s.settimeout(2); s.connect(a)\nprint(attempt(lambda: go(2, ('1.1.1.1', 53))), attempt(lambda: go(2, ('169.254.169.254', 80))), attempt(lambda: go(2, ('10.0.0.1', 443))), attempt(lambda: go(10, ('2606:4700::1', 53))))"), "ENETUNREACH ENETUNREACH ENETUNREACH"),
    case("out by UDP", "network namespace", Py("import socket\nprint(attempt(lambda: socket.socket(2, 2).sendto(b'x', ('8.8.8.8', 53))))"), "ENETUNREACH"),
    case("names", "network namespace", Py("import socket\ntry: socket.gethostbyname('example.com'); print('found')\nexcept OSError: print('unknown')"), "unknown"),
    case("raw sockets", "no capabilities", Py("print(sc(41, 2, 3, 1), sc(41, 10, 3, 58))"), "EPERM EPERM"),
    case("interfaces", "network namespace", Py("import socket\nprint([n for _, n in socket.if_nameindex() if n != 'lo'])"), "[]"),
    // ---- information ----
    case("processes of others", "proc of the own namespace", Py("print([p for p in os.listdir('/proc') if p.isdigit()] == [str(os.getpid())])"), "True"),
    case("host name", "own", Py("print(os.uname().nodename)"), "sandbox\n"),
    case("kernel symbols and keys", "masked", Py("print(len(open('/proc/kallsyms').read()), len(open('/proc/keys').read()))"), "0 0"),
    case("kernel log", "the kernel, and seccomp before it", Py("print(sc(103, 3, ctypes.create_string_buffer(100), 100))"), "EPERM"),
    case("IPC objects of others", "IPC namespace", Py("print(len(open('/proc/sysvipc/shm').readlines()), len(open('/proc/sysvipc/msg').readlines()))"), "1 1"),
    // ---- reward hacking ----
    case("result forged by text", "causes do not come from output", Sh("echo '{\"cause\":\"EXITED\",\"exit_code\":0}'; exit 3"), "").checked(|r| exit_code(r, 3)),
    case("leaves before the tests", "exit code is the program's", Py("os._exit(0)\nprint('tests')"), "").checked(|r| if super::text(&r.stdout).is_empty() { Ok(()) } else { Err("output".to_owned()) }),
    case("artifact changed after the end", "files are read when all are dead", Sh("echo first > x; (setsid sh -c 'while :; do echo later > x; done' &); sleep 0.05; exit 0"), "").with(|r| r.collect = vec!["x".to_owned()]).checked(|r| if r.files.len() == 1 { Ok(()) } else { Err("no file".to_owned()) }),
];
