"""From a zygote to a process like any other: the groups that it enters and the rights that it gives up.

A template prepares the calls, each zygote puts its own numbers in.
"""
import ctypes
import os
import resource
import signal

SYS_WRITE, SYS_CLOSE, SYS_DUP2, SYS_SETSID = 1, 3, 33, 112
SYS_SETGROUPS, SYS_SETRESUID, SYS_SETRESGID = 116, 117, 119
SYS_CAPSET, SYS_PRCTL, SYS_UNSHARE, SYS_PRLIMIT = 126, 157, 272, 302
LIMITS = {
    resource.RLIMIT_CORE: 0,
    resource.RLIMIT_MEMLOCK: 64 << 10,
    resource.RLIMIT_MSGQUEUE: 819_200,
    resource.RLIMIT_SIGPENDING: 1024,
    resource.RLIMIT_NICE: 0,
    resource.RLIMIT_RTPRIO: 0,
}
# By the name under which a test switches it off.
OF_LIMITS = {
    'core-size': resource.RLIMIT_CORE,
    'locked-memory': resource.RLIMIT_MEMLOCK,
    'pending-signals': resource.RLIMIT_SIGPENDING,
}
# What a test has switched off: names of `defence.rs`. A daemon that is built for use says none.
OFF = set()
# What is written into a group's file by a process that means itself.
ITSELF = ctypes.create_string_buffer(b'0')


def stands(name):
    return name not in OFF


def give_up_for_all():
    """What a template does once for all its zygotes, beside installing most of the filter."""
    if stands('privileges') and stands('capabilities'):
        kernel.drop_bounding_set()
    kept = [number for name, number in OF_LIMITS.items() if not stands(name)]
    for number, value in LIMITS.items():
        if number not in kept:
            resource.setrlimit(number, (lower(number, value),) * 2)
    if stands('no-new-privileges'):
        kernel.no_new_privileges()


def lower(number, value):
    """What a limit can be set to."""
    _, hard = resource.getrlimit(number)
    return value if hard == resource.RLIM_INFINITY else min(value, hard)


def go_first():
    """Where memory is short this process and those that it bears are ended first."""
    if stands('oom-score'):
        score = os.open('/proc/self/oom_score_adj', os.O_WRONLY)
        os.write(score, b'1000')
        os.close(score)


class Passage:
    """The calls by which a zygote enters its groups, and becomes its user without capabilities behind the whole filter."""

    def __init__(self, filters, groups, alone):
        """`alone`: there is no other user, and no other group to leave."""
        self.groups, self.alone = groups, alone
        if alone:
            # Programs can send it to the first process of the next zygote, which shares this one's memory: a handler there
            # would act here.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        write = 'cgroup', SYS_WRITE, 0, ctypes.addressof(ITSELF), 1
        join = [call for _ in range(groups) for call in (write, ('cgroup', SYS_CLOSE, 0))]
        if stands('cgroup-namespace'):
            # In the sandbox's groups, so that they are the roots of what can be seen.
            join.append(('cgroup namespace', SYS_UNSHARE, kernel.CLONE_NEWCGROUP))
        self.join = calls.Calls(*join)
        become = [('session', SYS_SETSID)] if stands('session') else []
        self._users = range(0)
        if stands('privileges'):
            if not alone:
                become.append(('groups', SYS_SETGROUPS, 0, 0))
            self._users = range(len(become), len(become) + 2)
            become += ('group', SYS_SETRESGID), ('user', SYS_SETRESUID)
            become.append(('capabilities', SYS_CAPSET, *map(ctypes.addressof, kernel.NO_CAPABILITIES)))
        for filter in filters:
            place = ctypes.addressof(filter)
            become.append(('filter', SYS_PRCTL, kernel.PR_SET_SECCOMP, kernel.SECCOMP_MODE_FILTER, place))
        # Its own files in proc are its own from here on.
        become.append(('dumpable', SYS_PRCTL, kernel.PR_SET_DUMPABLE, 1))
        self._become = calls.Calls(*become)
        self._filters = filters
        self._open_files = (ctypes.c_uint64 * 2)()
        self._most = lower(resource.RLIMIT_NOFILE, 1 << 63)
        limit = 'limits', SYS_PRLIMIT, 0, resource.RLIMIT_NOFILE, ctypes.addressof(self._open_files), 0
        self._streams = calls.Calls(*(('streams', SYS_DUP2, 0, target) for target in range(3)), limit)

    def put(self, entrances, user):
        for place, entrance in enumerate(entrances):
            self.join.put(2 * place, 1, entrance)
            self.join.put(2 * place + 1, 1, entrance)
        for place in self._users:
            for argument in (1, 2, 3):
                self._become.put(place, argument, user)

    def become(self):
        """Gives up everything that the program must not have."""
        if self.alone:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if self.alone and stands('privileges'):
            try:
                os.setgroups([])
            except PermissionError:
                # A user namespace of one user has no groups to set, and none to drop.
                pass
        self._become.make()

    def take(self, streams, open_files):
        for place, stream in enumerate(streams):
            self._streams.put(place, 1, stream)
        self._open_files[:] = (min(open_files, self._most),) * 2
        self._streams.make()
