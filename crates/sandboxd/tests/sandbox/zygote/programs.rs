//! Programs whose outward behaviour must be the same when they are executed and when a zygote becomes them.

/// Name and code.
pub(crate) const PROGRAMS: &[(&str, &str)] = &[
    ("print", "print(1)"),
    ("input", "import sys\nprint(sum(map(int, sys.stdin)))"),
    (
        "input by one line and a child",
        "print(input())\nimport subprocess\nsubprocess.run(['cat'])",
    ),
    (
        "output without a newline",
        "import sys\nsys.stdout.write('a'); sys.stderr.write('b')",
    ),
    (
        "output through files",
        "open('/dev/stdout','w').write('x'); open('/dev/stderr','w').write('y')",
    ),
    (
        "an exception",
        "def f(x):\n    return 1 / x\ndef g():\n    return f(0)\ng()",
    ),
    (
        "chained exceptions",
        "try:\n    {}['a']\nexcept KeyError as e:\n    raise ValueError('x') from e",
    ),
    (
        "an exception while another is handled",
        "try:\n    {}['a']\nexcept KeyError:\n    int('x')",
    ),
    (
        "an exception group",
        "raise ExceptionGroup('g', [ValueError(1), TypeError(2)])",
    ),
    (
        "an exception with notes",
        "e = ValueError('x'); e.add_note('n'); raise e",
    ),
    ("a syntax error", "print(1)\nif x\n"),
    ("an indentation error", "if 1:\nprint(1)"),
    ("a tab error", "if 1:\n\tx = 1\n        y = 2"),
    ("a warning of the compiler", "x = 1 is 1\nprint('\\d')"),
    ("a null byte in eval", "eval('a\\0b')"),
    ("exit with a number", "import sys\nprint('x')\nsys.exit(7)"),
    ("exit with a large number", "raise SystemExit(1000)"),
    ("exit with a huge number", "raise SystemExit(10 ** 30)"),
    ("exit with a negative number", "raise SystemExit(-3)"),
    ("exit with a boolean", "raise SystemExit(True)"),
    ("exit with text", "import sys\nsys.exit('done for')"),
    ("exit with nothing", "exit()"),
    ("exit with an object", "raise SystemExit([1, 2])"),
    (
        "exit in a thread",
        "import threading, sys\nt = threading.Thread(target=lambda: sys.exit(3)); t.start(); t.join(); print('on')",
    ),
    (
        "exit while an exception is handled",
        "import sys\ntry:\n    1 / 0\nexcept ZeroDivisionError:\n    sys.exit(4)",
    ),
    (
        "exit in finally",
        "import sys\ntry:\n    print('a')\nfinally:\n    sys.exit(5)",
    ),
    ("exit at once", "import os\nprint('lost'); os._exit(9)"),
    ("exit status 137", "raise SystemExit(137)"),
    ("an interrupt raised", "raise KeyboardInterrupt"),
    (
        "an interrupt by signal",
        "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(5)",
    ),
    (
        "an interrupt that is handled",
        "import os, signal\ntry:\n    os.kill(os.getpid(), signal.SIGINT)\n    while True: pass\nexcept KeyboardInterrupt:\n    print('caught')",
    ),
    (
        "a subclass of the interrupt",
        "class K(KeyboardInterrupt): pass\nraise K",
    ),
    ("abort", "import os\nprint('x', flush=True)\nos.abort()"),
    ("killed", "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"),
    ("terminated", "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)"),
    (
        "a broken pipe",
        "import os, sys\nr, w = os.pipe(); os.dup2(w, 1); os.close(w); os.close(r)\nprint('x')",
    ),
    ("a closed output", "import os\nos.close(1)\nprint('x')"),
    (
        "output closed by the program",
        "import sys\nprint('x')\nsys.stdout.close()",
    ),
    ("no output object", "import sys\nsys.stdout = None\nprint('x')"),
    (
        "an output object that the program made",
        "import sys\nclass O:\n    def write(self, s): sys.__stdout__.write(s.upper())\n    def flush(self): sys.__stdout__.write('!')\nsys.stdout = O()\nprint('x')",
    ),
    (
        "an error object that the program made",
        "import sys, io\nsys.stderr = io.StringIO()\n1 / 0",
    ),
    (
        "exit functions",
        "import atexit\natexit.register(print, 'b'); atexit.register(print, 'a')\nprint('main')",
    ),
    (
        "exit functions that fail",
        "import atexit\ndef f(): raise ValueError('late')\natexit.register(print, 'still'); atexit.register(f)",
    ),
    (
        "exit functions after a failure",
        "import atexit\natexit.register(lambda: print('bye'))\n1 / 0",
    ),
    (
        "objects of the main module at the end",
        "class A:\n    def __init__(self, n): self.n = n\n    def __del__(self): print('del', self.n)\na, _b, c = A(1), A(2), A(3)\nd = [A(4)]; d.append(d)\nprint('end')",
    ),
    (
        "objects of an exception at the end",
        "class A:\n    def __del__(self): print('del')\ndef f():\n    a = A()\n    1 / 0\nf()",
    ),
    (
        "objects that need others at the end",
        "import json\nclass A:\n    def __del__(self): print(json.dumps([1]), len('x'), B)\nclass B: pass\na = A()",
    ),
    (
        "objects kept by a module of the program",
        "import sys, types\nclass A:\n    def __del__(self): print('del')\nm = types.ModuleType('m'); sys.modules['m'] = m; m.a = A()\nprint('end')",
    ),
    (
        "objects kept by sys",
        "import sys\nclass A:\n    def __del__(self): print('del')\nsys.mine = A()",
    ),
    (
        "a failing finaliser at the end",
        "class A:\n    def __del__(self): raise ValueError('in del')\na = A()",
    ),
    (
        "a finaliser that collections do not see",
        "import gc\nclass A:\n    def __del__(self): print('del')\na = A()\ngc.freeze()\nprint('end')",
    ),
    (
        "a finaliser of an object without attributes",
        "class A:\n    __slots__ = ()\n    def __del__(self): print('del')\na = [A()]\nprint('end')",
    ),
    (
        "a finaliser in a function's attribute",
        "def f(): pass\ndef hide():\n    class A:\n        def __del__(self): print('del')\n    f.a = A()\nhide()",
    ),
    (
        "a callback of a weak reference",
        "import weakref\nf = lambda: 1\nw = weakref.ref(f, lambda w: print('gone'))\nprint('end')",
    ),
    (
        "a file that is not closed",
        "import sys\nf = open('/dev/stdout', 'w')\nf.write('buffered')",
    ),
    (
        "a suspended generator in a list",
        "def g():\n    try:\n        yield 1\n    finally:\n        print('closed')\nx = [g()]; next(x[0])",
    ),
    (
        "an unfinished generator",
        "def g():\n    try:\n        yield 1\n    finally:\n        print('closed')\nx = g(); next(x)\nprint('end')",
    ),
    (
        "an unflushed file",
        "f = open('/work/f', 'w'); f.write('kept')\nimport atexit, os\nprint(os.path.getsize('/work/f'))",
    ),
    (
        "weak finalisers",
        "import weakref\nclass A: pass\na = A()\nweakref.finalize(a, print, 'gone')\nprint('end')",
    ),
    (
        "a temporary directory at the end",
        "import tempfile, os\nd = tempfile.TemporaryDirectory()\nprint(os.path.isdir(d.name))",
    ),
    (
        "threads that outlive the main one",
        "import threading, time\ndef f():\n    time.sleep(.05); print('thread')\nthreading.Thread(target=f).start()\nprint('main')",
    ),
    (
        "daemon threads",
        "import threading, time\nthreading.Thread(target=lambda: time.sleep(9), daemon=True).start()\nprint('main')",
    ),
    (
        "a failing thread",
        "import threading\nt = threading.Thread(target=lambda: 1 / 0, name='T'); t.start(); t.join()",
    ),
    (
        "a pool of threads",
        "from concurrent.futures import ThreadPoolExecutor as P\np = P(3)\nprint(list(p.map(abs, [-1, -2])))",
    ),
    (
        "a pool of processes",
        "from multiprocessing import Pool\nif __name__ == '__main__':\n    with Pool(2) as p: print(p.map(abs, [-1, -2]))",
    ),
    (
        "processes by fork",
        "import os\nif os.fork() == 0:\n    print('child')\nelse:\n    os.wait(); print('parent')",
    ),
    (
        "children that end by themselves",
        "import os, sys\npid = os.fork()\nif not pid: sys.exit(6)\nprint(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))",
    ),
    (
        "children",
        "import subprocess, sys\nprint(subprocess.run([sys.executable, '-c', 'import sys; print(sys.flags, len(sys.path))'], capture_output=True, text=True).stdout)",
    ),
    (
        "asyncio",
        "import asyncio\nasync def f():\n    await asyncio.sleep(.01)\n    p = await asyncio.create_subprocess_exec('echo', 'x', stdout=-1)\n    return await p.communicate()\nprint(asyncio.run(f()))",
    ),
    (
        "a hook for exceptions",
        "import sys\nsys.excepthook = lambda *a: print('hook', a[0], a[1])\n1 / 0",
    ),
    (
        "a hook that fails",
        "import sys\ndef h(*a): raise KeyError('h')\nsys.excepthook = h\n1 / 0",
    ),
    (
        "a hook that exits",
        "import sys\nsys.excepthook = lambda *a: sys.exit(3)\n1 / 0",
    ),
    ("no hook", "import sys\ndel sys.excepthook\n1 / 0"),
    (
        "an unraisable hook",
        "import sys\nsys.unraisablehook = lambda u: print('unraisable', u.exc_type)\nclass A:\n    def __del__(self): 1 / 0\nA()\na = A()",
    ),
    (
        "deep recursion",
        "def f(): f()\ntry:\n    f()\nexcept RecursionError as e:\n    print(e)",
    ),
    ("what main holds", "print({k: repr(v) for k, v in globals().items()})"),
    ("annotations", "x: int = 1\nprint(__annotations__)"),
    (
        "arguments",
        "import sys\nprint(sys.argv, sys.orig_argv, sys.path, sys.executable, sys.prefix, sys.flags)",
    ),
    (
        "flags and hooks",
        "import sys\nprint(sys.warnoptions, sys._xoptions, sys.platlibdir, sys.dont_write_bytecode, sys.getrecursionlimit(), sys.getswitchinterval(), sys.gettrace(), sys.getprofile())",
    ),
    ("modules", "import sys\nprint(sorted(sys.modules))"),
    (
        "modules of json",
        "import sys, json\nprint(sorted(sys.modules), json.__spec__, json.__loader__, dir(json))",
    ),
    (
        "modules of asyncio",
        "import sys, asyncio, unittest, decimal, typing\nprint(sorted(sys.modules), dir(unittest), dir(asyncio))",
    ),
    (
        "order of modules",
        "import sys\nb = len(sys.modules)\nimport json, random\nprint(list(sys.modules)[b:])",
    ),
    (
        "a module of the program among those that another needs",
        "import sys, types, numbers\nmine = types.ModuleType('numbers'); vars(mine).update(vars(numbers)); sys.modules['numbers'] = mine\nimport fractions, statistics\nprint(sys.modules['numbers'] is mine, fractions.Fraction(1, 3))",
    ),
    (
        "a file of the program that is not a file",
        "import os, sys\nos.mkfifo('numbers.py'); open('heapq.txt', 'w').close()\nb = len(sys.modules)\nimport statistics\nprint(list(sys.modules)[b:])",
    ),
    (
        "modules that were removed",
        "import re, sys\ndel sys.modules['enum'], sys.modules['functools']\nimport string\nprint('enum' in sys.modules, 'functools' in sys.modules)",
    ),
    (
        "a path of bytes",
        "import sys\nsys.path[0] = b'/work'\nimport json\nprint(json.dumps([1]))",
    ),
    (
        "a lost directory",
        "import os, sys\nos.mkdir('d'); os.chdir('d'); os.rmdir('../d')\nb = len(sys.modules)\nimport statistics\nprint(list(sys.modules)[b:])",
    ),
    (
        "an attribute of a package that is not what was loaded",
        "import collections, sys\ncollections.abc = 'mine'\nimport typing, statistics\nprint(collections.abc)",
    ),
    (
        "a separate file that a module needs",
        "open('bisect.py', 'w').write('print(__file__)\\ndef bisect(*a): pass\\ninsort = bisect')\nimport sys, random\nprint(sys.modules['bisect'].__file__)",
    ),
    (
        "a separate directory that is called as a module",
        "import os\nos.mkdir('bisect')\nimport bisect, random\nprint(bisect.__spec__.origin)",
    ),
    (
        "a separate finder",
        "import sys\nseen = []\nclass F:\n    def find_spec(self, name, path=None, target=None): seen.append(name)\nsys.meta_path.insert(0, F())\nimport json, random\nprint(sorted(set(seen)))",
    ),
    (
        "submodules that were not imported",
        "import concurrent, importlib, xml, os\nfor m, n in [(concurrent, 'futures'), (importlib, 'util'), (xml, 'etree'), (os, 'path')]: print(hasattr(m, n))",
    ),
    (
        "reloading",
        "import importlib, json\nm = importlib.reload(json)\nprint(m is json, json.dumps([1]))",
    ),
    (
        "all modules that are kept",
        "import random, re, uuid, logging, statistics, fractions, secrets, inspect, shutil, socket, csv\nprint(re.sub('a', 'b', 'aaa'), statistics.mean([1, 2]), fractions.Fraction(1, 3), len(secrets.token_hex()))",
    ),
    (
        "module level stack",
        "import inspect, traceback, sys\nprint(len(inspect.getmodule(sys._getframe()).__name__))",
    ),
    (
        "logging",
        "import logging\nlogging.basicConfig(level=0, format='%(levelname)s %(name)s %(funcName)s')\nlogging.getLogger('a').info('x')\nr = logging.makeLogRecord({})\nprint(r.relativeCreated < 5000)",
    ),
    (
        "unittest",
        "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): self.assertEqual(1, 1)\n    def test_b(self): self.fail('no')\nimport io\nr = unittest.TextTestRunner(stream=io.StringIO()).run(unittest.defaultTestLoader.loadTestsFromTestCase(T))\nprint(r)",
    ),
    (
        "pickles of main",
        "import pickle\nclass A: pass\nprint(type(pickle.loads(pickle.dumps(A()))))",
    ),
    (
        "the main thread's number is the process's",
        "import os, threading\nprint(threading.main_thread().native_id == os.getpid() == threading.get_native_id())",
    ),
    (
        "dataclasses and typing",
        "import dataclasses, typing\n@dataclasses.dataclass\nclass A:\n    x: 'typing.List[int]'\nprint(A([1]), typing.get_type_hints(A))",
    ),
    (
        "standard streams",
        "import sys\nfor f in (sys.stdin, sys.stdout, sys.stderr): print(f.name, f.mode, f.encoding, f.errors, f.line_buffering, f.write_through, f.isatty(), f.seekable(), f.fileno(), f.buffer, type(f.buffer.raw))",
    ),
    (
        "environment",
        "import os\nprint(sorted(os.environ.items()), sorted(os.environb.items()), os.getenv('HOME'))\nos.environ['A'] = 'b'\nos.system('echo $A $TZ')",
    ),
    (
        "time zone",
        "import time\nprint(time.tzname, time.localtime(0).tm_hour)",
    ),
    (
        "locale",
        "import locale, sys\nprint(locale.setlocale(locale.LC_ALL), locale.getpreferredencoding(), sys.getfilesystemencoding(), 'ä€😀')",
    ),
    ("surrogates", "import sys\nprint('\\udcff')"),
    ("bytes", "import sys\nsys.stdout.buffer.write(bytes(range(256)))"),
    (
        "the process",
        "import os\nprint(os.getcwd(), os.getsid(0) == os.getpid(), os.getpgrp() == os.getpid(), os.getuid() > 1000, os.getgroups(), os.umask(0), os.nice(0))",
    ),
    (
        "rights",
        "for l in open('/proc/self/status'):\n    if l.split(':')[0] in ('Name', 'State', 'Uid', 'Gid', 'Groups', 'Threads', 'SigPnd', 'ShdPnd', 'SigBlk', 'SigIgn', 'SigCgt', 'CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb', 'NoNewPrivs', 'Seccomp', 'Seccomp_filters', 'TracerPid'): print(l.split()[0], len(l.split()), '' if 'id:' in l else l.split()[1:])",
    ),
    (
        "limits",
        "import resource\nfor n in sorted(n for n in dir(resource) if n.startswith('RLIMIT_')): print(n, resource.getrlimit(getattr(resource, n)))",
    ),
    (
        "descriptors",
        "import os\nprint(sorted(os.listdir('/proc/self/fd')))\nfor n in range(3): print(os.fstat(n).st_uid == os.getuid(), os.get_inheritable(n), os.get_blocking(n))",
    ),
    (
        "files in proc",
        "import os\nfor n in ('oom_score_adj', 'comm', 'mountinfo', 'limits', 'loginuid'):\n    t = open('/proc/self/' + n).read()\n    print(n, t if n != 'mountinfo' else len(t.splitlines()))\nprint(os.readlink('/proc/self/exe'), os.readlink('/proc/self/root'), os.access('/proc/self/mem', os.R_OK))",
    ),
    (
        "seccomp",
        "import ctypes, os\nl = ctypes.CDLL(None, use_errno=True)\nfor n in (272, 165, 101, 321, 425, 248, 41): print(n, l.syscall(n, 0, 0, 0, 0, 0), ctypes.get_errno())",
    ),
    (
        "signals",
        "import signal\nfor s in sorted(signal.valid_signals()): print(s, signal.getsignal(s))",
    ),
    (
        "garbage collector",
        "import gc\nprint(gc.isenabled(), gc.get_threshold(), gc.get_debug(), gc.callbacks, gc.garbage)",
    ),
    (
        "warnings",
        "import warnings\nwarnings.warn('w')\nwarnings.warn('d', DeprecationWarning)\nopen('/work/x', 'w')\nprint(len(warnings.filters))",
    ),
    (
        "tracing",
        "import sys\ndef t(f, e, a): print(e, f.f_code.co_name); return None\nsys.settrace(t)\ndef f(): pass\nf()\nsys.settrace(None)",
    ),
    (
        "import hooks",
        "import sys\nprint(len(sys.path_hooks), sys.path_importer_cache.get('/work') is not None)",
    ),
    (
        "code objects",
        "import sys\nf = sys._getframe()\nprint(f.f_code.co_name, f.f_code.co_filename, f.f_lineno, f.f_globals is globals(), f.f_locals is globals())",
    ),
    (
        "sqlite, zlib, ssl",
        "import sqlite3, zlib, ssl, hashlib\nprint(sqlite3.connect(':memory:').execute('select 1').fetchall(), zlib.crc32(b'x'), ssl.OPENSSL_VERSION, hashlib.sha256(b'x').hexdigest())",
    ),
    (
        "sockets",
        "import socket, threading\ns = socket.create_server(('127.0.0.1', 0))\nc = socket.create_connection(s.getsockname())\nc.send(b'x'); print(s.accept()[0].recv(1))",
    ),
    (
        "doctest",
        "import doctest\ndef f():\n    '''\n    >>> f()\n    2\n    '''\n    return 1\nprint(doctest.testmod())",
    ),
    ("memory that is too much", "x = bytearray(1 << 40)"),
    (
        "random state",
        "import random\na = random.random(); random.seed(1)\nprint(random.random(), a != random.random())",
    ),
];
