//! Files, streams, processes and sockets of ordinary programs. They need only a shell, the core utilities and Python's
//! standard library.

use prl_sandbox_proto::InputFile;

use super::works;
use crate::cases::Case;
use crate::cases::Program::{Py, Sh};
use crate::support::text;

pub(crate) const CASES: &[Case] = &[
    works("print", Py("print(1)"), "1\n"),
    works("input", Py("print(sum(map(int, sys.stdin)))"), "6\n").with(|r| r.stdin = b"1\n2\n3\n".as_slice().into()),
    works(
        "message queues with a name",
        Py(
            "import ctypes, os\nq = ctypes.CDLL('librt.so.1').mq_open(b'/own', os.O_CREAT | os.O_RDWR, 0o600, None)\nprint(q > 2, os.listdir('/dev/mqueue'))",
        ),
        "True ['own']",
    ),
    works("large input", Py("print(len(sys.stdin.buffer.read()))"), "3000000")
        .with(|r| r.stdin = vec![7; 3_000_000].into()),
    works(
        "files in",
        Py("print(open('in.txt').read(), open('a/b/c.txt').read())"),
        "one two",
    )
    .with(|r| {
        r.files = vec![
            InputFile {
                path: "in.txt".to_owned(),
                content: b"one".as_slice().into(),
                mode: 0,
            },
            InputFile {
                path: "a/b/c.txt".to_owned(),
                content: b"two".as_slice().into(),
                mode: 0,
            },
        ];
    }),
    works("script that is executable", Sh("./run.sh"), "ran").with(|r| {
        r.files = vec![InputFile {
            path: "run.sh".to_owned(),
            content: b"#!/bin/sh\necho ran\n".as_slice().into(),
            mode: 0o755,
        }];
    }),
    works(
        "files out",
        Sh("mkdir out; echo 1 > out/a; echo 2 > out/b; echo 3 > c"),
        "",
    )
    .with(|r| r.collect = vec!["out/*".to_owned()])
    .checked(|r| {
        let found: Vec<_> = r
            .files
            .iter()
            .map(|file| (file.path.as_str(), &file.content[..]))
            .collect();
        if found == [("out/a", &b"1\n"[..]), ("out/b", b"2\n")] {
            Ok(())
        } else {
            Err(format!("{found:?}"))
        }
    }),
    works("environment", Sh("echo $GREETING $HOME"), "hello /work").with(|r| {
        r.env.insert("GREETING".to_owned(), "hello".to_owned());
    }),
    works("working directory", Sh("pwd; touch here; ls"), "/work/deep/down\nhere")
        .with(|r| r.cwd = "deep/down".to_owned()),
    works("exit code", Sh("exit 3"), "").checked(|r| {
        if r.exit_code == Some(3) {
            Ok(())
        } else {
            Err("not 3".to_owned())
        }
    }),
    works("both streams", Sh("echo out; echo err >&2"), "out").checked(|r| {
        if text(&r.stderr) == "err\n" {
            Ok(())
        } else {
            Err("no err".to_owned())
        }
    }),
    works(
        "streams by name",
        Sh("echo a > /dev/stdout; echo b > /dev/stderr; echo c | cat /dev/stdin"),
        "a\nc",
    ),
    works(
        "pipelines",
        Sh("seq 1000 | sort -rn | head -3 | tr '\\n' ' '"),
        "1000 999 998",
    ),
    works(
        "here documents and substitution",
        Sh("cat <<E\n$(expr 2 + 3)\nE\ndiff <(echo 1) <(echo 1) && echo equal"),
        "5\nequal",
    ),
    works(
        "threads",
        Py(
            "import threading\nx = []\nt = [threading.Thread(target=x.append, args=(i,)) for i in range(10)]\n[i.start() for i in t]; [i.join() for i in t]\nprint(sorted(x))",
        ),
        "[0, 1, 2",
    ),
    works(
        "multiprocessing pool",
        Py(
            "from multiprocessing import Pool\nif __name__ == '__main__':\n  with Pool(4) as p: print(p.map(abs, [-1, -2, -3]))",
        ),
        "[1, 2, 3]",
    ),
    works(
        "shared memory",
        Py(
            "from multiprocessing import shared_memory\ns = shared_memory.SharedMemory(create=True, size=100)\ns.buf[0] = 5\nprint(s.buf[0]); s.close(); s.unlink()",
        ),
        "5",
    ),
    works(
        "semaphores and queues",
        Py(
            "import multiprocessing as m\nq = m.Queue()\np = m.Process(target=q.put, args=('hi',)); p.start(); print(q.get()); p.join()",
        ),
        "hi",
    ),
    works(
        "process pool executor",
        Py(
            "from concurrent.futures import ProcessPoolExecutor\nwith ProcessPoolExecutor(2) as e: print(list(e.map(abs, [-4])))",
        ),
        "[4]",
    ),
    works(
        "subprocesses",
        Py(
            "import subprocess\nprint(subprocess.run(['tr', 'a', 'b'], input='aaa', capture_output=True, text=True).stdout)",
        ),
        "bbb",
    ),
    works(
        "asyncio",
        Py(
            "import asyncio\nasync def f():\n  p = await asyncio.create_subprocess_exec('echo', 'sub', stdout=-1)\n  print((await p.communicate())[0]); await asyncio.gather(*[asyncio.sleep(0.01)] ) if False else await asyncio.sleep(0.01)\nasyncio.run(f())",
        ),
        "sub",
    ),
    works(
        "sqlite",
        Py(
            "import sqlite3\nc = sqlite3.connect('x.db'); c.execute('create table t(a)'); c.execute('insert into t values(7)'); c.commit()\nprint(c.execute('select * from t').fetchall())",
        ),
        "[(7,)]",
    ),
    works(
        "sockets on the own loopback",
        Py(
            "import socket, threading\ns = socket.create_server(('127.0.0.1', 8080))\nthreading.Thread(target=lambda: s.accept()[0].sendall(b'pong'), daemon=True).start()\nprint(socket.create_connection(('localhost', 8080)).recv(9))",
        ),
        "pong",
    ),
    works(
        "sockets over IPv6",
        Py(
            "import socket\ns = socket.create_server(('::1', 8080), family=socket.AF_INET6)\nc = socket.create_connection(('::1', 8080)); print('six')",
        ),
        "six",
    ),
    works(
        "Unix sockets",
        Py(
            "import socket\na, b = socket.socketpair(); a.send(b'x'); s = socket.socket(socket.AF_UNIX); s.bind('/tmp/s'); s.listen(); c = socket.socket(socket.AF_UNIX); c.connect('/tmp/s'); print(b.recv(1))",
        ),
        "b'x'",
    ),
    works(
        "HTTP server and client",
        Py(
            "import http.server, threading, urllib.request\nh = http.server.HTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)\nthreading.Thread(target=h.handle_request, daemon=True).start()\nprint(urllib.request.urlopen(f'http://127.0.0.1:{h.server_port}/').status)",
        ),
        "200",
    ),
    works(
        "temporary files",
        Py(
            "import tempfile\nwith tempfile.NamedTemporaryFile() as f, tempfile.TemporaryDirectory() as d: print(f.name.startswith('/tmp/'), d.startswith('/tmp/'))",
        ),
        "True True",
    ),
    works(
        "unicode",
        Py("print('é ü 漢字 🎉'); open('漢.txt', 'w').write('字'); print(os.listdir('.'))"),
        "漢字 🎉\n['漢.txt']",
    ),
    works(
        "locale",
        Py("import locale\nprint(locale.setlocale(locale.LC_ALL, ''), sys.getfilesystemencoding())"),
        "C.UTF-8 utf-8",
    ),
    works(
        "time and zones",
        Py(
            "import time, datetime\nprint(time.localtime().tm_year > 2000, datetime.datetime.now().year > 2000, time.monotonic() > 0)",
        ),
        "True True True",
    ),
    works(
        "random sources",
        Py(
            "import secrets, random, uuid\nprint(len(secrets.token_bytes(8)), random.random() < 1, len(str(uuid.uuid4())), len(open('/dev/urandom', 'rb').read(5)))",
        ),
        "8 True 36 5",
    ),
    works(
        "signals",
        Py("import signal\nsignal.signal(signal.SIGALRM, lambda *a: print('rang'))\nsignal.alarm(1); signal.pause()"),
        "rang",
    ),
    works(
        "broken pipes end writers",
        Sh("yes | head -1; echo ${PIPESTATUS[0]}"),
        "y\n141",
    ),
    works(
        "pseudo-terminals",
        Py(
            "import pty, os\nm, s = pty.openpty(); os.write(s, b'tty'); print(os.read(m, 9), os.ttyname(s).startswith('/dev/pts/'))",
        ),
        "b'tty' True",
    ),
    works(
        "memory maps of files",
        Py(
            "import mmap\nopen('f', 'wb').write(b'abc' * 5000)\nwith open('f', 'r+b') as f: m = mmap.mmap(f.fileno(), 0); m[0] = 90; print(m[:3])",
        ),
        "b'Zbc'",
    ),
    works(
        "file locks",
        Py(
            "import fcntl\nf = open('l', 'w'); fcntl.flock(f, fcntl.LOCK_EX); fcntl.lockf(f, fcntl.LOCK_EX); print('locked')",
        ),
        "locked",
    ),
    works(
        "links and permissions",
        Sh("echo 1 > a; ln -s a b; ln a c; chmod 600 a; cat b c; stat -c %a a"),
        "1\n1\n600",
    ),
    works(
        "archives",
        Sh("echo 1 > a; tar czf t.tgz a; rm a; tar xzf t.tgz; cat a; gzip -c a | gunzip"),
        "1\n1",
    ),
    works(
        "awk, sed, grep, find",
        Sh("seq 5 | awk '{s += $1} END {print s}'; echo abc | sed s/b/x/; find /usr/bin -name sh; ls / | grep -c usr"),
        "15\naxc",
    ),
    works(
        "processes see each other",
        Sh("sleep 5 & sleep 0.3; ps -o comm= | grep -c sleep; kill %1; wait"),
        "1",
    ),
    works(
        "parent is a process",
        Py("print(os.getppid(), os.getpid() > 1, os.getpgid(0) == os.getpid())"),
        "True True",
    ),
    works(
        "processor count",
        Py("print(os.cpu_count() >= 1, len(os.sched_getaffinity(0)) >= 1)"),
        "True True",
    ),
    works(
        "memory information",
        Py(
            "print(any(l.startswith('MemTotal') for l in open('/proc/meminfo')), len(open('/proc/self/maps').read()) > 100)",
        ),
        "True True",
    ),
    works("execv", Py("os.execv('/bin/echo', ['echo', 'replaced'])"), "replaced"),
    works(
        "event files",
        Py(
            "import select\ne = select.epoll(); r, w = os.pipe(); e.register(r, 1); os.write(w, b'x'); print(len(e.poll(1)), os.eventfd(3) > 0)",
        ),
        "1 True",
    ),
    works(
        "file watches",
        Py("fd = libc.inotify_init(); print(fd > 0, libc.inotify_add_watch(fd, b'/work', 0x100) > 0)"),
        "True True",
    ),
    works(
        "timers",
        Py("import threading\nthreading.Timer(0.05, lambda: print('fired')).start()"),
        "fired",
    ),
    works(
        "standard library in one go",
        Py(
            "import json, re, collections, itertools, decimal, fractions, hashlib, zlib, csv, xml.etree.ElementTree, heapq, bisect, functools, statistics, unittest\nprint(json.dumps({'a': decimal.Decimal('1.5').as_integer_ratio()}), hashlib.sha256(b'x').hexdigest()[:4])",
        ),
        "[3, 2]} 2d71",
    ),
    works(
        "unittest",
        Py(
            "import unittest\nclass T(unittest.TestCase):\n  def test(self): self.assertEqual(1, 1)\nunittest.main(argv=['x'], exit=False); print('done')",
        ),
        "done",
    ),
    works(
        "recursion and big numbers",
        Py("sys.setrecursionlimit(5000)\nf = lambda n: 1 if n == 0 else n * f(n - 1)\nprint(len(hex(f(1000))))"),
        "2",
    ),
    works("command that is not there", Sh("exec /no/such/thing"), "").checked(|r| {
        if r.exit_code == Some(127) {
            Ok(())
        } else {
            Err("not 127".to_owned())
        }
    }),
];
