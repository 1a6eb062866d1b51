"""From a zygote to a process like any other: the groups that it enters and the rights that it gives up.

A template prepares the calls; each zygote fills in its numbers.
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
# Limits, by the name under which a test switches each off.
OF_LIMITS = {
    'core-size': resource.RLIMIT_CORE,
    'locked-memory': resource.RLIMIT_MEMLOCK,
    'pending-signals': resource.RLIMIT_SIGPENDING,
}
# Defences that a test has switched off: names of `defence.rs`. Empty in a daemon that is built for use.
OFF = set()
# The text with which a process enters a group: it stands for the process that writes it.
ITSELF = ctypes.create_string_buffer(b'0')


def stands(name):
    return name not in OFF


def give_up_for_all():
    """Gives up rights once in the template for all its zygotes, besides installing most of the filter."""
    if stands('privileges') and stands('capabilities'):
        kernel.drop_bounding_set()
    kept = [number for name, number in OF_LIMITS.items() if not stands(name)]
    for number, value in LIMITS.items():
        if number not in kept:
            resource.setrlimit(number, (lower(number, value),) * 2)
    if stands('no-new-privileges'):
        kernel.no_new_privileges()


def lower(number, value):
    """The nearest value to which a limit can be set."""
    _, hard = resource.getrlimit(number)
    return value if hard == resource.RLIM_INFINITY else min(value, hard)


def go_first():
    """When memory is short, this process and those that it forks are ended first."""
    if stands('oom-score'):
        score = os.open('/proc/self/oom_score_adj', os.O_WRONLY)
        os.write(score, b'1000')
        os.close(score)


class Passage:
    """The calls by which a zygote enters its groups, becomes its user without capabilities, and installs the rest of
    the filter."""

    def __init__(self, filters, groups, alone):
        """`alone`: no other user exists, and there is no other group to leave."""
        self.groups, self.alone = groups, alone
        if alone:
            # Programs can send SIGINT to the first process of the next zygote, which shares this one's memory: a
            # handler there would act here.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        write = 'cgroup', SYS_WRITE, 0, ctypes.addressof(ITSELF), 1
        join = [call for _ in range(groups) for call in (write, ('cgroup', SYS_CLOSE, 0))]
        if stands('cgroup-namespace'):
            # After the zygote is in the sandbox's groups, so that they are the roots of the visible groups.
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
        # From here on the process owns its files in proc.
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
        """Gives up every right that the program must not have."""
        if self.alone:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if self.alone and stands('privileges'):
            try:
                os.setgroups([])
            except PermissionError:
                # A user namespace with one user has no groups to set, and none to drop.
                pass
        self._become.make()

    def take(self, streams, open_files):
        for place, stream in enumerate(streams):
            self._streams.put(place, 1, stream)
        self._open_files[:] = (min(open_files, self._most),) * 2
        self._streams.make()
