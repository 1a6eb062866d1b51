//! What a program may learn about the machine and about others.

use crate::cases::Defence::{By, Layers};
use crate::cases::Program::{Call, Py, Sh};
use crate::cases::{Case, case};

pub(crate) const CASES: &[Case] = &[
    case(
        "processes of others",
        By("other-processes"),
        Call("[p for p in os.listdir('/proc') if p.isdigit()] == [str(os.getpid())]"),
        "True",
    ),
    case(
        "command lines of others",
        By("other-processes"),
        Call("attempt(open, '/proc/1/cmdline'), attempt(open, '/proc/1/environ'), attempt(open, '/proc/1/status')"),
        "ENOENT ENOENT ENOENT",
    ),
    case("host name", By("host-name"), Call("os.uname().nodename"), "sandbox"),
    case(
        "kernel symbols and keys",
        By("masked-proc"),
        Call("len(open('/proc/kallsyms').read()), len(open('/proc/keys').read())"),
        "0 0",
    ),
    case(
        "the kernel's memory",
        By("masked-proc"),
        Call("len(open('/proc/kpagecount', 'rb').read(8))"),
        "0",
    ),
    case(
        "shared memory of the machine",
        By("ipc-namespace"),
        Call("libc.shmget(@SHM@, 0, 0)"),
        "-1",
    ),
    case(
        "message queues of the machine",
        By("ipc-namespace"),
        Call("libc.msgget(@MSG@, 0)"),
        "-1",
    ),
    case(
        "semaphores of the machine",
        By("ipc-namespace"),
        Call("libc.semget(@SEM@, 0, 0)"),
        "-1",
    ),
    case(
        "named queues of the machine",
        By("ipc-namespace"),
        Call("ctypes.CDLL('librt.so.1').mq_open(b'/@MQ@', 0)"),
        "-1",
    ),
    case(
        "lists of IPC objects",
        By("ipc-namespace"),
        Call("*[len(open(f'/proc/sysvipc/{f}').readlines()) for f in ('shm', 'msg', 'sem')]"),
        "1 1 1",
    ),
    case(
        "mounts of the machine",
        Layers("own mount namespace"),
        Call("[l for l in open('/proc/self/mountinfo') if '@DIRECTORY@' in l or ' /home' in l or 'docker' in l]"),
        "[]",
    ),
    case(
        "who else is there",
        Layers("own root view"),
        Sh("who; last 2>/dev/null | head -1; ls /var/log /var/run 2>&1 | grep -v 'No such\\|^$\\|:$' | wc -l"),
        "0",
    ),
    case(
        "settings of the kernel",
        Layers("the kernel: root only"),
        Py(
            "print(attempt(open, '/proc/self/pagemap') == 'done' and int.from_bytes(open('/proc/self/pagemap', 'rb').read(8), 'little') & ((1 << 55) - 1))",
        ),
        "0",
    ),
];
