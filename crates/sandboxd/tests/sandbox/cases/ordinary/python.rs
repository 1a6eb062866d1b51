//! Ordinary uses of Python's standard library.

use super::works;
use crate::cases::Case;
use crate::cases::Program::{Py, Sh};

pub(crate) const CASES: &[Case] = &[
    works("thread pool", Py("from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(8) as e: print(sum(e.map(len, ['ab'] * 100)))"), "200"),
    works("locks and conditions", Py(r#"
import threading
c = threading.Condition(); n = []
def f():
    with c: n.append(1); c.notify()
with c: threading.Thread(target=f).start(); print(c.wait(5), n)"#), "True [1]"),
    works("multiprocessing manager", Py("import multiprocessing as m\nif __name__ == '__main__':\n  with m.Manager() as g: d = g.dict(a=1); print(d['a'])"), "1"),
    works("multiprocessing by spawn", Sh("cat > m.py <<'E'\nimport multiprocessing as m\ndef f(q): q.put('spawned')\nif __name__ == '__main__':\n  m.set_start_method('spawn'); q = m.Queue(); p = m.Process(target=f, args=(q,)); p.start(); print(q.get()); p.join()\nE\npython3 m.py"), "spawned"),
    works("multiprocessing by fork server", Sh("cat > m.py <<'E'\nimport multiprocessing as m\ndef f(q): q.put('served')\nif __name__ == '__main__':\n  m.set_start_method('forkserver'); q = m.Queue(); p = m.Process(target=f, args=(q,)); p.start(); print(q.get()); p.join()\nE\npython3 m.py"), "served"),
    works("pipeline of subprocesses", Py("import subprocess as s\na = s.Popen(['seq', '100'], stdout=s.PIPE); b = s.Popen(['tail', '-1'], stdin=a.stdout, stdout=s.PIPE); a.stdout.close(); print(b.communicate()[0], a.wait())"), "b'100\\n' 0"),
    works("subprocess with a time limit", Py("import subprocess\ntry: subprocess.run(['sleep', '9'], timeout=0.2)\nexcept subprocess.TimeoutExpired: print('late')"), "late"),
    works("terminated child", Py("import subprocess\np = subprocess.Popen(['sleep', '9']); p.terminate(); print(p.wait())"), "-15"),
    works("shell from Python", Py("print(os.popen('echo $((6 * 7))').read(), os.system('exit 3') >> 8)"), "42\n 3"),
    works("asyncio server and client", Py(r#"
import asyncio
async def main():
    async def serve(r, w): w.write(await r.readline()); await w.drain(); w.close()
    s = await asyncio.start_server(serve, '127.0.0.1', 0)
    r, w = await asyncio.open_connection(*s.sockets[0].getsockname()); w.write(b'echo\n')
    print(await r.readline())
asyncio.run(main())"#), "b'echo\\n'"),
    works("asyncio tasks and threads", Py("import asyncio, time\nasync def main(): print(await asyncio.gather(asyncio.to_thread(time.sleep, 0.01), asyncio.wait_for(asyncio.sleep(0.01, 'b'), 2)))\nasyncio.run(main())"), "[None, 'b']"),
    works("datagrams on the own loopback", Py("import socket\na = socket.socket(2, 2); a.bind(('127.0.0.1', 0)); b = socket.socket(2, 2); b.sendto(b'dgram', a.getsockname()); print(a.recv(9))"), "b'dgram'"),
    works("name of the own loopback", Py("import socket\nprint(socket.gethostbyname('localhost'), socket.gethostname())"), "127.0.0.1 sandbox"),
    works("descriptors over a socket", Py("import socket, array\na, b = socket.socketpair(); socket.send_fds(a, [b'x'], [1]); m, fds, *_ = socket.recv_fds(b, 9, 1); os.write(fds[0], b'passed')"), "passed"),
    works("named pipes", Py("import threading\nos.mkfifo('p'); threading.Thread(target=lambda: open('p', 'w').write('fifo')).start(); print(open('p').read())"), "fifo"),
    works("memory file", Py("fd = os.memfd_create('x'); os.write(fd, b'abc'); print(os.pread(fd, 9, 1))"), "b'bc'"),
    works("compression", Py("import gzip, bz2, lzma, zipfile, io\nb = io.BytesIO()\nwith zipfile.ZipFile(b, 'w') as z: z.writestr('a', 'zip')\nprint(gzip.decompress(gzip.compress(b'g')), bz2.decompress(bz2.compress(b'b')), lzma.decompress(lzma.compress(b'l')), zipfile.ZipFile(b).read('a'))"), "b'g' b'b' b'l' b'zip'"),
    works("tree of files", Py("import shutil, pathlib, glob\np = pathlib.Path('t/a/b'); p.mkdir(parents=True); (p / 'f').write_text('x'); shutil.copytree('t', 'u'); shutil.rmtree('t'); print(glob.glob('u/**/f', recursive=True))"), "['u/a/b/f']"),
    works("file locks between processes", Py(r#"
import fcntl
f = open('l', 'w'); fcntl.flock(f, 2)
if os.fork() == 0:
    g = open('l'); print(attempt(fcntl.flock, g, 2 | 4)); sys.stdout.flush(); os._exit(0)
os.wait()"#), "EAGAIN"),
    works("resource limits that it sets", Py("import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (10, 10)); import signal; signal.signal(25, signal.SIG_IGN)\nopen('x', 'wb', 0).write(b'a' * 10); print(attempt(lambda: open('x', 'ab', 0).write(b'b')), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > 0)"), "EFBIG True"),
    works("traceback and exit code", Py("1 / 0"), "").checked(|r| {
        let errors = crate::support::text(&r.stderr);
        if r.exit_code == Some(1) && errors.ends_with("ZeroDivisionError: division by zero\n") { Ok(()) } else { Err(errors) }
    }),
    works("exit with a message", Py("sys.exit('told')"), "").checked(|r| if r.exit_code == Some(1) && crate::support::text(&r.stderr) == "told\n" { Ok(()) } else { Err("not 1 with the message".to_owned()) }),
    works("exit handlers", Py("import atexit\natexit.register(print, 'bye'); print('hi')"), "hi\nbye"),
    works("decimal, dates and statistics", Py("import decimal, datetime, statistics, zoneinfo\nprint(decimal.Decimal(1) / 3, datetime.date(2024, 2, 29).isoweekday(), statistics.median([3, 1, 2]), datetime.datetime(2024, 7, 1, tzinfo=zoneinfo.ZoneInfo('Europe/Berlin')).utcoffset())"), "4 2 2:00:00").needs("/usr/share/zoneinfo/Europe/Berlin"),
    works("data formats", Py("import json, csv, configparser, tomllib, pickle, base64, struct, io\nprint(tomllib.loads('a = 1'), pickle.loads(pickle.dumps([1])), list(csv.reader(io.StringIO('a,b'))), struct.unpack('<I', base64.b64decode('AQAAAA==')))"), "{'a': 1} [1] [['a', 'b']] (1,)"),
    works("code that it writes", Py("import ast, inspect, importlib\nopen('mod.py', 'w').write('x = 5'); sys.path.insert(0, '.'); print(importlib.import_module('mod').x, eval(compile(ast.parse('2 + 3', mode='eval'), '', 'eval')))"), "5 5"),
    works("script with arguments", Sh("echo 'import sys; print(sys.argv, __name__, __file__)' > s.py; python3 s.py a b"), "['s.py', 'a', 'b'] __main__ /work/s.py"),
    works("module as a program", Sh("mkdir p; echo 'print(\"package\")' > p/__main__.py; python3 -m p; echo '{\"a\": 1}' | python3 -m json.tool --compact"), "package\n{\"a\":1}"),
    works("program from standard input", Sh("echo 'print(7)' | python3 -"), "7\n"),
    works("virtual environment", Sh("python3 -m venv --without-pip v && v/bin/python -c 'import sys; print(sys.prefix)'"), "/work/v").needs("/usr/lib/python3.11/venv"),
    works("large output that fits", Py("print('x' * 60000)"), "xxxx").checked(|r| if r.stdout.as_ref().is_some_and(|out| out.gap == 0 && out.total == 60_001) { Ok(()) } else { Err("a gap".to_owned()) }),
    works("garbage collector and weak references", Py("import gc, weakref\nclass A: pass\na = A(); r = weakref.ref(a); a.me = a; del a; gc.collect(); print(r())"), "None"),
    works("numpy", Sh("python3 -c 'import numpy as n; a = n.arange(10000.).reshape(100, 100); print((a @ a).sum() > 0, n.random.rand(3).shape)'"), "True (3,)").needs("/usr/lib/python3/dist-packages/numpy"),
];
