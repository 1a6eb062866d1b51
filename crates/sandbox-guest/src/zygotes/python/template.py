"""The template interpreter: it loads modules, forks a zygote for each sandbox that wants one, and runs nothing else.

Messages are fields separated by NUL bytes. The daemon first sends the filters and the names of the modules. For each
zygote it then sends an id and a user, with a link to the sandbox's init, that init's pidfd or its namespaces, and the
files by which its cgroups are entered. Over the link the zygote says that it is ready. Then init sends it, once, a
program with its streams, and the namespaces that it still has to enter.

A zygote that is asked to fork others is a nursery from then on: it forks a zygote for each link that init sends, for
programs that run one after the other in one sandbox, and reports the end of each.

Every page that a zygote writes to is copied while a request waits. So work that is the same for all zygotes is done
once, in the template: limits, the bounding set, and all of the filter except for the calls that a zygote still needs.
"""
import _thread
import gc
import os
import resource
import select
import signal
import sys
import time

# How many namespaces come, one by one, where the user is 0: without root an init cannot be entered by its pidfd.
ONE_BY_ONE = 5
# Init's answer to `ended`.
STAY = b's'
# From init: a link for another zygote.
BEAR = b'bear'
SYS_SETNS = 308
# After this many runs the interpreter has adapted its instructions to their work.
REHEARSALS = 20
TRIED = 'print(end="")\n'


def message(*fields):
    return b'\0'.join(field if isinstance(field, bytes) else str(field).encode() for field in fields)


def serve(number):
    """Serves until the daemon is gone. Returns only in a zygote that has its program: the program."""
    daemon = kernel.Socket(fileno=number)
    first, last, off, libraries, *names = daemon.recv(kernel.MESSAGE_BYTES).split(b'\0')
    rights.OFF.update(off.decode().split())
    if not rights.stands('filter') or not rights.stands('no-new-privileges'):
        first = last = b''
    last = kernel.filters(last)
    libraries, names = libraries.decode().split(), [name.decode() for name in names]
    left_by = closure.ask(libraries, born)
    for name in names:
        try:
            __import__(name)
        except ImportError:
            pass
    stash.RECORDER.stop()
    birth.HOOKS.stop()
    if _thread._count():
        birth.HOOKS.leave_to_the_interpreter()
    else:
        huge.settle()
    kept = stash.Stash(born, stash.RECORDER.needs, names, left_by)
    for name in kept.anew:
        birth.HOOKS.leave_out(name)
    sys.path[:] = guest.PATH
    kernel.prctl('not dumpable', kernel.PR_SET_DUMPABLE, 0)
    os.umask(0o022)
    rights.give_up_for_all()
    first = kernel.filters(first)
    # Collections skip frozen objects, also during the rehearsals.
    gc.collect()
    gc.freeze()
    for _ in range(REHEARSALS):
        guest.ORDINARY.update(guest.rehearse(kept))
    birth.fill_pools()
    gc.freeze()
    tried = ''.join(f'import {name}\n' for name in libraries) + TRIED
    passage = rights.Passage(last, 0, False)
    passage.put((), os.geteuid())
    gc.freeze()
    pages = hot.find(lambda writer: try_out(passage, writer, kept, tried))
    hot.OF_CASES = hot.find(lambda writer: try_out(passage, writer, kept, tried, nursed=True))
    ring = hot.pin(pages)
    kernel.install(first)
    gc.freeze()
    passage = None
    daemon.send(message('ready', '.'.join(map(str, sys.version_info[:3])), sys.executable, *kept.names()))
    while True:
        order, descriptors = kernel.receive(daemon)
        if not order:
            os._exit(0)
        name, user, sole = order.split(b'\0')
        link, *rest = descriptors
        count = ONE_BY_ONE if user == b'0' else 1
        namespaces, entrances = rest[:count], rest[count:]
        if passage is None or (passage.groups, passage.alone) != (len(entrances), user == b'0'):
            passage = rights.Passage(last, len(entrances), user == b'0')
            gc.freeze()
        try:
            kernel.enter(namespaces[0], kernel.CLONE_NEWPID)
            if birth.orphan():
                if ring is not None:
                    os.close(ring)
                os.close(daemon.detach())
                passage.put(entrances, int(user))
                return live(kernel.socket(link), namespaces, sole == b'1', passage, kept)
            daemon.send(message(name, 'forked'))
        except OSError as error:
            daemon.send(message(name, error.filename or 'fork', error.errno))
        for descriptor in descriptors:
            os.close(descriptor)


def live(link, namespaces, sole, passage, kept):
    """The zygote. A sole one becomes the sandbox's user at once, and its program when init sends it. Any other enters
    the cgroups at that moment, and forks the program's process unless a nursery forked it. Returns only in the
    program's process."""
    try:
        if len(namespaces) == 1:
            kernel.enter(namespaces[0], kernel.OF_A_SANDBOX)
        for namespace in namespaces[1:]:
            kernel.enter(namespace, 0)
        for namespace in namespaces:
            os.close(namespace)
        if sole:
            passage.join.make()
            rights.go_first()
            passage.become()
        link.send(message('ready', os.getpid()))
        order, descriptors = kernel.receive(link)
        nursed = order == BEAR
        if nursed:
            rights.go_first()
            link, arrive = nurse(link, descriptors)
            link.send(message('ready', os.getpid()))
            arrive.make()
            guest.rehearse(kept, False)
            order, descriptors = kernel.receive(link)
        if not order:
            os._exit(0)
        given, open_files, cpu_seconds, directory, count, *strings = order.split(b'\0')
        command, environment = strings[: int(count)], strings[int(count) :]
        streams, rest = descriptors[: int(given)], descriptors[int(given) :]
        if sole:
            for rules in rest if rights.stands('no-new-privileges') else ():
                kernel.restrict(rules)
        else:
            passage.join.make()
            if nursed:
                live_in(rest)
            else:
                lead(link, streams, rest, passage.alone)
                rights.go_first()
            passage.become()
        passage.take(streams[:3], int(open_files))
        if cpu_seconds != b'0':
            # As for executed programs: the signal of the warning shows that the limit was the reason.
            warned, killed = (rights.lower(resource.RLIMIT_CPU, int(cpu_seconds) + more) for more in (0, 1))
            resource.setrlimit(resource.RLIMIT_CPU, (warned, killed))
        refuse(link, 'working directory', go_to, directory)
        guest.set_environment(environment)
        guest.forget_the_template()
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


def try_out(passage, writer, kept, tried, nursed=False):
    """Does what a sole zygote, or one for a case, does up to the end of its program. Returns the descriptor's new
    number."""
    init, link = kernel.pair()
    streams = [0, 1, 2, writer]
    if nursed:
        above, (init, own) = init, kernel.pair()
        kernel.send(above, BEAR, (own.fileno(),))
        # The zygote that it forks has the only other end of the nursery's link, so the nursery ends with that zygote.
        streams.append(above.fileno())
    fields = len(streams), 1024, 0, '/', 3, 'python3', '-c', tried, *guest.ENVIRONMENT
    kernel.send(init, message(*fields), streams)
    if nursed:
        above.close()
    program = live(link, (), not nursed, passage, kept)
    exec(program.compiled(), program.namespace)
    guest.flushed()
    return 3


def refuse(link, step, act, *arguments):
    """Calls a function that may fail through the program's fault."""
    try:
        return act(*arguments)
    except OSError as error:
        link.send(message('refused', step, error.errno))
        os._exit(1)


def nurse(link, theirs):
    """Returns only in the zygotes: the link of each, and the calls by which it leaves the nursery for its layer, if it
    has one yet."""
    hot.pin(hot.OF_CASES)
    children = {}
    poll = select.poll()
    poll.register(link, select.POLLIN)
    away = ('link', rights.SYS_CLOSE, link.fileno())
    to_layer = ('layer', SYS_SETNS, 0, kernel.CLONE_NEWNS), ('layer', rights.SYS_CLOSE)
    arrivals = calls.Calls(away), calls.Calls(*to_layer, away)
    while True:
        if theirs:
            own, *layer = theirs
            arrive = arrivals[len(layer)]
            for place in range(2 * len(layer)):
                arrive.put(place, 1, layer[0])
            child = birth.fork()
            if not child:
                link.detach()
                return kernel.socket(own), arrive
            for descriptor in theirs:
                os.close(descriptor)
            theirs = None
            children[child] = kernel.pidfd(child)
            poll.register(children[child], select.POLLIN)
        for ready, _ in poll.poll():
            if ready == link.fileno():
                order, theirs = kernel.receive(link)
                if order != BEAR:
                    os._exit(0)
        bury(link, children, poll)


def bury(link, children, poll):
    """Reaps children that have ended, and reports the end of those that were forked here. Other processes were killed
    by init and are not the main process of a program."""
    while children:
        child, status, usage = os.wait4(-1, os.WNOHANG)
        if not child:
            return
        pidfd = children.pop(child, None)
        if pidfd is not None:
            poll.unregister(pidfd)
            os.close(pidfd)
            micros = int((usage.ru_utime + usage.ru_stime) * 1e6)
            link.send(message('buried', child, status, micros))


def live_in(namespaces):
    for namespace in namespaces:
        kernel.enter(namespace, 0)
        os.close(namespace)


def lead(link, streams, namespaces, mortal):
    """Forks, and returns in the child. The parent keeps the orphans of the program below it, reports the program's end,
    and waits for the order to leave them to init or to wait for them. `mortal`: programs can kill the parent, and the
    child does not go on without it."""
    kernel.prctl('subreaper', kernel.PR_SET_CHILD_SUBREAPER, 1)
    live_in(namespaces)
    began, own = time.monotonic(), os.getpid()
    child = refuse(link, 'fork', birth.fork)
    if not child:
        if mortal:
            kernel.prctl('leader', kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != own:
                os._exit(1)
        return
    for stream in streams:
        os.close(stream)
    if rights.stands('privileges'):
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


def go_to(directory):
    try:
        os.chdir(directory)
    except FileNotFoundError:
        os.makedirs(directory)
        os.chdir(directory)
