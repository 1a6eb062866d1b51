//! System calls that no program needs. Where the kernel itself would refuse a call with the filter's answer, the
//! arguments are such that the kernel would report another error first. So the answer shows which of the two has
//! refused.

use prl_sandbox_proto::Cause;

use crate::cases::Defence::{By, Layers};
use crate::cases::Program::{Call, Py, Sh};
use crate::cases::{Case, case, signal};

/// A call that the filter answers.
const fn filtered(name: &'static str, call: &'static str, answer: &'static str) -> Case {
    case(name, By("filter"), Call(call), answer)
}

pub(crate) const CASES: &[Case] = &[
    // ---- namespaces and mounts ----
    filtered("new user namespace", "sc(272, 0x10000000)", "EPERM"),
    filtered(
        "new namespaces with it",
        "sc(272, 0x10000000 | 0x20000 | 0x40000000)",
        "EPERM",
    ),
    filtered(
        "clone into a user namespace",
        "sc(56, 0x10000000 | 17, 0, 0, 0, 0)",
        "EPERM",
    ),
    filtered(
        "clone into a time namespace",
        "sc(56, 0x10000000 | 0x80, 0, 0, 0, 0)",
        "EPERM",
    ),
    filtered("child of its parent", "sc(56, 0x8000 | 0x10000, 0, 0, 0, 0)", "EPERM"),
    filtered("clone with flags out of sight", "sc(435, 0, 0)", "ENOSYS"),
    filtered("enter a namespace", "sc(308, -1, 0)", "EPERM"),
    filtered("mount", "sc(165, 1, 1, 1, 0, 1)", "EPERM"),
    filtered("unmount", "sc(166, 1, 0)", "EPERM"),
    filtered(
        "change of the root directory",
        "sc(161, b'/no/such/directory')",
        "EPERM",
    ),
    filtered("open of a mount tree", "sc(428, -1, b'', 0)", "EPERM"),
    filtered("set-up of a file system", "sc(431, -1, 99, 0, 0, 0)", "EPERM"),
    filtered("attributes of a mount", "sc(442, -1, b'', 1, 0, 0)", "EPERM"),
    filtered(
        "lists of mounts",
        "sc(457, 1, 1, 1, 1), sc(458, 1, 1, 1, 1)",
        "EPERM EPERM",
    ),
    case(
        "exchange of the root",
        Layers("no capabilities, filter"),
        Call("sc(155, b'.', b'.')"),
        "EPERM",
    ),
    case(
        "new mount interface",
        Layers("no capabilities, filter"),
        Call("*[sc(n, 0, 0, 0, 0, 0) for n in (429, 430, 432, 433)]"),
        "EPERM EPERM EPERM EPERM",
    ),
    // ---- surface ----
    filtered("io_uring", "sc(425, 1, ctypes.create_string_buffer(120))", "ENOSYS"),
    filtered(
        "io_uring of others",
        "sc(426, -1, 0, 0, 0, 0, 0), sc(427, -1, 0, 0, 0)",
        "ENOSYS ENOSYS",
    ),
    filtered("userfaultfd", "sc(323, 1)", "EPERM"),
    filtered("key added", "sc(248, b'user', b'x', b'y', 1, -3)", "EPERM"),
    filtered("key asked for", "sc(249, b'user', b'x', 0, -3)", "EPERM"),
    filtered("keyring", "sc(250, 0, -3, 1)", "EPERM"),
    filtered("bpf", "sc(321, 0, ctypes.create_string_buffer(8192), 1 << 20)", "EPERM"),
    filtered(
        "perf events",
        "sc(298, ctypes.create_string_buffer(128), 0, -1, -1, 1 << 20)",
        "EPERM",
    ),
    filtered("watch of a whole file system", "sc(300, 0x200, 0)", "EPERM"),
    filtered("marks of such a watch", "sc(301, -1, 0, 0, -1, 0)", "EPERM"),
    filtered("local descriptor table", "sc(154, 0, 0, 0)", "EPERM"),
    filtered(
        "input and output level",
        "sc(172, 9), sc(173, 70000, 1, 1)",
        "EPERM EPERM",
    ),
    filtered("pages into a pipe", "sc(278, -1, 0, 0, 0)", "EPERM"),
    filtered(
        "no address space randomisation",
        "sc(135, 0x0040000), sc(135, 0xffffffff)",
        "EPERM done",
    ),
    filtered("readable memory is executable", "sc(135, 0x0400000)", "EPERM"),
    filtered(
        "calls of earlier kernels",
        "*[sc(n, 0, 0, 0) for n in (156, 180, 134, 139)]",
        "EPERM EPERM EPERM EPERM",
    ),
    filtered("device numbers of file systems", "sc(136, -1, 0)", "EPERM"),
    case(
        "calls of later kernels",
        Layers("the kernel, and the filter before it"),
        Call("sc(480), sc(500)"),
        "ENOSYS ENOSYS",
    ),
    case(
        "secret memory",
        Layers("the kernel's settings, and the filter before it"),
        Call("sc(447, 0)"),
        "ENOSYS",
    ),
    case(
        "kernel modules and kexec",
        Layers("no capabilities, filter"),
        Call("*[sc(n, 0, 0, 0, 0, 0) for n in (175, 313, 176, 246, 320)]"),
        "EPERM EPERM EPERM EPERM EPERM",
    ),
    case("x32 calls", By("filter"), Py("sc(0x40000000 | 39); print('alive')"), "")
        .ends(Cause::Signaled)
        .checked(|r| signal(r, 31)),
    case(
        "i386 calls",
        By("filter"),
        Py(r#"
import mmap
m = mmap.mmap(-1, 4096, prot=7)
m.write(b'\xb8\x14\x00\x00\x00\xcd\x80\xc3')
ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))()
print('alive')"#),
        "",
    )
    .ends(Cause::Signaled)
    .checked(|r| signal(r, 31)),
    case(
        "i386 calls of a child",
        By("filter"),
        Py(r#"
import mmap
if os.fork() == 0:
    m = mmap.mmap(-1, 4096, prot=7)
    m.write(b'\xb8\x14\x00\x00\x00\xcd\x80\xc3')
    ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))()
    os._exit(0)
print('child died of', os.waitstatus_to_exitcode(os.wait()[1]))"#),
        "child died of -31",
    ),
    case(
        "filter of a program that is executed",
        By("filter"),
        Sh(
            "python3 -I -S -c \"import ctypes, os; print(ctypes.CDLL(None).unshare(0x10000000))\"; grep Seccomp: /proc/self/status",
        ),
        "-1\nSeccomp:\t2",
    ),
    // ---- resources of which the machine has a limited number ----
    filtered(
        "requests of asynchronous files",
        "sc(206, 1, ctypes.byref(ctypes.c_ulong(0)))",
        "ENOSYS",
    ),
    filtered(
        "huge pages that are set aside",
        "sc(9, 0, 2 << 20, 3, 0x40022, -1, 0), sc(319, b'x', 4), sc(29, 0, 2 << 20, 0o5600)",
        "EPERM EPERM EPERM",
    ),
    // ---- the machine ----
    filtered("clock set", "sc(164, 1, 0), sc(227, 0, 1)", "EPERM EPERM"),
    filtered("clock adjusted", "sc(159, 1), sc(305, 0, 1)", "EPERM EPERM"),
    filtered(
        "disk quotas",
        "sc(179, 0xff, 0, 0, 0), sc(443, -1, 0, 0, 0)",
        "EPERM EPERM",
    ),
    filtered(
        "memory policies",
        "sc(237, 0, 0, 99, 0, 0, 1 << 30), sc(238, 99, 0, 0)",
        "EPERM EPERM",
    ),
    filtered("pages moved between nodes", "sc(279, 0, 0, 0, 0, 0, 0)", "EPERM"),
    case(
        "the machine's controls",
        Layers("no capabilities, filter"),
        Call("*[sc(n, 0, 0, 0, 0) for n in (169, 167, 168, 163, 153, 170, 171)]"),
        "EPERM EPERM EPERM EPERM EPERM EPERM EPERM",
    ),
    case(
        "kernel log",
        Layers("the kernel's settings, filter"),
        Call("sc(103, 3, ctypes.create_string_buffer(100), 100)"),
        "EPERM",
    ),
    case(
        "kernel settings",
        By("privileges"),
        Call(
            "*[attempt(open, p, 'r+') for p in ('/proc/sys/kernel/core_pattern', '/proc/sys/vm/overcommit_memory', '/proc/sys/kernel/hostname')]",
        ),
        "EACCES EACCES EACCES",
    ),
    case(
        "control groups",
        By("cgroup-namespace"),
        Call(
            "os.listdir('/sys'), [l.split(':')[2].strip() for l in open('/proc/self/cgroup') if 'prl-' in l or '..' in l]",
        ),
        "[] []",
    ),
    case(
        "capabilities",
        By("capabilities"),
        Sh("grep Cap /proc/self/status | awk '{print $2}' | sort -u | tr '\\n' ' '; echo end"),
        "0000000000000000 end",
    ),
    case(
        "capabilities gained by executing",
        By("capabilities"),
        Call("hex(libc.prctl(27))"),
        "0xcf",
    ),
    // ---- sockets ----
    filtered("sockets of virtual machines", "sc(41, 40, 1, 0)", "EPERM"),
    filtered("sockets into the kernel's ciphers", "sc(41, 38, 5, 0)", "EPERM"),
    filtered(
        "sockets of rare families",
        "*[sc(41, f, 3, 0) for f in (31, 29, 30, 41)]",
        "EPERM EPERM EPERM EPERM",
    ),
    filtered("generic netlink", "sc(41, 16, 3, 16)", "EPERM"),
    filtered("firewall netlink", "sc(41, 16, 3, 12)", "EPERM"),
    filtered(
        "audit and device netlink",
        "sc(41, 16, 3, 9), sc(41, 16, 3, 15)",
        "EPERM EPERM",
    ),
    filtered("pairs of other sockets", "sc(53, 2, 1, 0, 0)", "EPERM"),
    case(
        "packet sockets",
        Layers("no capabilities, filter"),
        Call("sc(41, 17, 3, 0), sc(41, 44, 3, 0)"),
        "EPERM EPERM",
    ),
    case(
        "raw sockets",
        By("privileges"),
        Call("sc(41, 2, 3, 1), sc(41, 10, 3, 58)"),
        "EPERM EPERM",
    ),
    // ---- inherited descriptors ----
    case(
        "inherited descriptors",
        Layers("close-on-exec and closing"),
        Call("sorted(os.listdir('/proc/self/fd'))"),
        "['0', '1', '2', '3']",
    ),
    case(
        "environment of the daemon",
        By("own-environment"),
        Call("sorted(os.environ)"),
        "['HOME', 'LANG', 'LOGNAME', 'PATH', 'PYTHONDONTWRITEBYTECODE', 'TMPDIR', 'USER']",
    ),
];
