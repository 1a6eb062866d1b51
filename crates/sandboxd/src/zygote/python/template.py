"""The template interpreter: it loads modules, forks a zygote for each sandbox that wants one, and runs nothing else.

Messages are fields separated by NUL bytes. The daemon sends the filters and the names of the modules, then per zygote
an id and a user, with a link to the sandbox's init and the sandbox's namespaces, that of processes first; the answer
comes with a pidfd. Over the link the zygote says that it is ready, and init sends it a program with its streams, and the
mount namespace that it is to have, once.
"""
import gc
import os
import resource
import signal
import socket
import sys
import time

MESSAGE_BYTES = 1 << 18
DESCRIPTORS = 16
# Init's answer to `ended`.
STAY = b's'
LIMITS = {
    resource.RLIMIT_CORE: 0,
    resource.RLIMIT_MEMLOCK: 64 << 10,
    resource.RLIMIT_MSGQUEUE: 819_200,
    resource.RLIMIT_SIGPENDING: 1024,
    resource.RLIMIT_NICE: 0,
    resource.RLIMIT_RTPRIO: 0,
}


def message(*fields):
    return b'\0'.join(field if isinstance(field, bytes) else str(field).encode() for field in fields)


def serve(number):
    """Serves until the daemon is gone. Returns only in a zygote whose program is to run: that program."""
    daemon = socket.socket(fileno=number)
    filters, *names = daemon.recv(MESSAGE_BYTES).split(b'\0')
    filters = [bytes.fromhex(text.decode()) for text in filters.split(b',') if text]
    for name in names:
        try:
            __import__(name.decode())
        except ImportError:
            pass
    stash.RECORDER.stop()
    kept = stash.Stash(born, stash.RECORDER.needs)
    sys.path[:] = guest.PATH
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    kernel.prctl('not dumpable', kernel.PR_SET_DUMPABLE, 0)
    os.umask(0o022)
    gc.collect()
    gc.freeze()
    daemon.send(message('ready', '.'.join(map(str, sys.version_info[:3])), sys.executable, *kept.names()))
    while True:
        order, descriptors, _, _ = socket.recv_fds(daemon, MESSAGE_BYTES, DESCRIPTORS)
        if not order:
            os._exit(0)
        name, user, sole = order.split(b'\0')
        link, *namespaces = descriptors
        try:
            kernel.enter(namespaces[0])
            parent = os.fork()
        except OSError as error:
            daemon.send(message(name, error.filename or 'fork', error.errno))
            parent = True
        if not parent:
            beget(daemon, name)
            os.close(daemon.detach())
            return live(socket.socket(fileno=link), namespaces, int(user), sole == b'1', filters, kept)
        for descriptor in descriptors:
            os.close(descriptor)


def beget(daemon, name):
    """In a first process of the sandbox: begets the zygote and ends, so that init becomes its parent."""
    try:
        # Else a zygote that ends before this process does would be reaped here, and init not know of it.
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        child = os.fork()
        if not child:
            return
        socket.send_fds(daemon, [message(name, 'forked')], [os.pidfd_open(child)])
    except OSError as error:
        daemon.send(message(name, error.filename or 'fork', error.errno))
    os._exit(0)


def live(link, namespaces, user, sole, filters, kept):
    """The zygote. A sole one becomes the sandbox's user at once and a program when it is told to; any other forks the
    program's process then. Returns only in that."""
    try:
        for namespace in namespaces:
            kernel.enter(namespace)
            os.close(namespace)
        if sole:
            become(user, filters)
        link.send(message('ready', os.getpid()))
        order, descriptors, _, _ = socket.recv_fds(link, MESSAGE_BYTES, DESCRIPTORS)
        if not order:
            os._exit(0)
        given, open_files, cpu_seconds, directory, count, *strings = order.split(b'\0')
        command, environment = strings[: int(count)], strings[int(count) :]
        streams, layer = descriptors[: int(given)], descriptors[int(given) :]
        if not sole:
            lead(link, streams, layer)
            become(user, filters)
        for target, stream in enumerate(streams[:3]):
            os.dup2(stream, target)
        limit(int(open_files), int(cpu_seconds))
        refuse(link, 'working directory', go_to, directory)
        guest.set_environment(environment)
        guest.forget_the_template(kept)
        try:
            program = guest.Program(command, kept)
        except guest.MustExecute as reason:
            program = None
            link.send(message('executing', reason))
        link.send(message('started', os.getpid()))
    except OSError as error:
        link.send(message('failed', error.filename or 'zygote', error.errno))
        os._exit(1)
    link.detach()
    for target, stream in enumerate(streams[3:], 3):
        os.dup2(stream, target)
    kernel.close_from(len(streams))
    if program is None:
        guest.execute(command)
    return program


def refuse(link, step, act, *arguments):
    """Does what may fail by the program's fault."""
    try:
        return act(*arguments)
    except OSError as error:
        link.send(message('refused', step, error.errno))
        os._exit(1)


def lead(link, streams, layer):
    """Forks, and returns in the child. The parent keeps what the program leaves behind below itself, tells of its end
    and waits to be told whether that is to be given to init or waited for."""
    kernel.prctl('subreaper', kernel.PR_SET_CHILD_SUBREAPER, 1)
    for namespace in layer:
        kernel.enter(namespace)
    began = time.monotonic()
    child = refuse(link, 'fork', os.fork)
    if not child:
        return
    for descriptor in (*streams, *layer):
        os.close(descriptor)
    kernel.drop_capabilities()
    ended = None
    while ended != child:
        ended, status = os.wait()
    took = time.monotonic() - began
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    disk = os.statvfs('/work')
    full = [int(disk.f_bavail == 0), int(disk.f_ffree == 0)]
    micros = [int(seconds * 1e6) for seconds in (took, usage.ru_utime + usage.ru_stime)]
    link.send(message('ended', status, *micros, *full))
    if link.recv(1) == STAY:
        try:
            while True:
                os.wait()
        except ChildProcessError:
            pass
    os._exit(0)


def become(user, filters):
    """Gives up everything that the program must not have."""
    os.setsid()
    with open('/proc/self/oom_score_adj', 'wb', buffering=0) as score:
        score.write(b'1000')
    kernel.drop_bounding_set()
    try:
        os.setgroups([])
    except PermissionError:
        # A user namespace of one user has no groups to set, and none to drop.
        if user:
            raise
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    kernel.drop_capabilities()
    kernel.install(filters)
    # Its own files in proc are its own from here on.
    kernel.prctl('dumpable', kernel.PR_SET_DUMPABLE, 1)


def limit(open_files, cpu_seconds):
    wanted = {**LIMITS, resource.RLIMIT_NOFILE: open_files}
    if cpu_seconds:
        wanted[resource.RLIMIT_CPU] = cpu_seconds
    for number, value in wanted.items():
        _, hard = resource.getrlimit(number)
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(number, (value, value))


def go_to(directory):
    try:
        os.chdir(directory)
    except FileNotFoundError:
        os.makedirs(directory)
        os.chdir(directory)
