//! The seccomp filter of every program: the system calls that it may make.
//!
//! Calls that set up or inspect isolation, or through which programs have escaped before, fail with EPERM. Calls that
//! libraries try and can do without fail with ENOSYS, and so do numbers beyond the known table. Entry through the i386
//! or x32 tables kills the process by SIGSYS. The filter is compiled once, in the spawner.

use std::collections::BTreeMap;
use std::io;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Len, SeccompCmpOp as Op, SeccompCondition as Condition,
    SeccompFilter, SeccompRule, TargetArch, sock_filter,
};

/// Classic BPF for seccomp(2). The programs are installed in this order.
pub type Program = Vec<BpfProgram>;

/// System calls above this number are newer than this table.
const LAST_KNOWN: i64 = 471;
/// Marks a call through the x32 table.
const X32_BIT: u32 = 0x4000_0000;
/// Every namespace flag of clone(2).
const NAMESPACES: u64 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET) as u64
    | 0x80;
/// Flags that clone(2) refuses. With CLONE_PARENT the child would get the parent of the program. It would belong to no
/// exec, and survive the exec of its maker.
const NOT_CLONED: u64 = NAMESPACES | libc::CLONE_PARENT as u64;

/// These are forbidden last, because the steps before a program need them.
const OF_NAMESPACES: [i64; 2] = [libc::SYS_setns, libc::SYS_unshare];

/// These fail with EPERM, whatever their arguments are.
const FORBIDDEN: &[i64] = &[
    // namespaces and mounts
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    457, // statmount
    458, // listmount
    467, // open_tree_attr
    470, // listns
    // other processes
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_process_mrelease,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // files by handle
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    // keyrings
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    // kernel surface
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_lookup_dcookie,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
    libc::SYS_vmsplice,
    // the machine
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_nfsservctl,
    libc::SYS_uselib,
    libc::SYS_ustat,
    libc::SYS_sysfs,
    libc::SYS__sysctl,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    // NUMA: affects neighbours
    libc::SYS_mbind,
    libc::SYS_set_mempolicy,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
];

/// Without namespaces these would act on the machine.
const OF_THE_MACHINE: &[i64] = &[
    libc::SYS_socket,
    libc::SYS_shmget,
    libc::SYS_semget,
    libc::SYS_msgget,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];
/// These reach another process of the same user when this argument is not 0.
const OF_OTHERS: [(i64, u8); 8] = [
    (libc::SYS_prlimit64, 0),
    (libc::SYS_setpriority, 1),
    (libc::SYS_ioprio_set, 1),
    (libc::SYS_sched_setaffinity, 0),
    (libc::SYS_sched_setattr, 0),
    (libc::SYS_sched_setparam, 0),
    (libc::SYS_sched_setscheduler, 0),
    (libc::SYS_get_robust_list, 0),
];
/// These reach every process of the same user when the first argument has this value, whatever the second one is.
const OF_A_USER: [(i64, u64); 2] = [
    (libc::SYS_setpriority, 2), // PRIO_USER
    (libc::SYS_ioprio_set, 3),  // IOPRIO_WHO_USER
];
/// These change a file's attributes by its path, which Landlock does not check.
const OF_FILES: &[i64] = &[
    libc::SYS_chmod,
    libc::SYS_fchmodat,
    452, // fchmodat2
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_fchownat,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    463, // setxattrat
    466, // removexattrat
    469, // file_setattr
];

/// These fail with ENOSYS, so that callers use something older.
const ABSENT: &[i64] = &[
    libc::SYS_io_uring_enter,
    // Its flags are in memory, where a filter cannot see them; the C library falls back to clone.
    libc::SYS_clone3,
    libc::SYS_memfd_secret,
    // Its requests are counted for the whole machine (fs.aio-max-nr).
    libc::SYS_io_setup,
];

/// Huge pages that the machine has reserved do not count as memory of a sandbox. These calls take one when this
/// argument has this bit.
const HUGE_PAGES: [(i64, u8, u64); 3] = [
    (libc::SYS_mmap, 3, libc::MAP_HUGETLB as u64),
    (libc::SYS_memfd_create, 1, libc::MFD_HUGETLB as u64),
    (libc::SYS_shmget, 2, libc::SHM_HUGETLB as u64),
];

/// Builds the filter.
pub fn build() -> io::Result<Program> {
    let (mut filter, last) = build_in_two()?;
    filter.extend(last);
    Ok(filter)
}

/// Builds the filter in two parts. A template interpreter installs the first, which its children inherit at no cost.
/// The second forbids what they do before they run a program: entering namespaces, and pinning pages.
pub fn build_in_two() -> io::Result<(Program, Program)> {
    let mut forbidden: BTreeMap<i64, Vec<SeccompRule>> = FORBIDDEN.iter().map(|call| (*call, Vec::new())).collect();
    forbidden.insert(libc::SYS_clone, vec_of(any_bit(0, NOT_CLONED)?)?);
    forbidden.insert(libc::SYS_ioctl, terminal_injection()?);
    forbidden.insert(libc::SYS_personality, other_personality()?);
    forbidden.insert(libc::SYS_socket, other_sockets()?);
    forbidden.insert(
        libc::SYS_socketpair,
        vec![rule(vec![compare(0, Len::Dword, Op::Ne, libc::AF_UNIX as u64)?])?],
    );
    forbidden.insert(
        libc::SYS_prctl,
        vec![rule(vec![compare(0, Len::Dword, Op::Eq, libc::PR_SET_MM as u64)?])?],
    );
    for (call, argument, bit) in HUGE_PAGES {
        forbidden.insert(call, vec_of(any_bit(argument, bit)?)?);
    }
    let mut absent: BTreeMap<i64, Vec<SeccompRule>> = ABSENT.iter().map(|call| (*call, Vec::new())).collect();
    absent.extend((LAST_KNOWN + 1..LAST_KNOWN + 40).map(|call| (call, Vec::new())));
    for call in OF_NAMESPACES {
        forbidden.remove(&call);
    }
    let first = vec![
        foreign_tables(),
        compile(absent, libc::ENOSYS)?,
        compile(forbidden, libc::EPERM)?,
    ];
    Ok((first, vec![before_a_program()]))
}

/// The filter where there are no namespaces. It also forbids every socket except a pair, shared memory with a name, and
/// access to other processes. `shared_user`: the guest is the daemon's user, whose files it could change by path.
pub(crate) fn build_without_namespaces(shared_user: bool) -> io::Result<Program> {
    let mut forbidden: BTreeMap<i64, Vec<SeccompRule>> =
        OF_THE_MACHINE.iter().map(|call| (*call, Vec::new())).collect();
    for (call, argument) in OF_OTHERS {
        forbidden.insert(call, vec![rule(vec![compare(argument, Len::Dword, Op::Ne, 0)?])?]);
    }
    for (call, everybody) in OF_A_USER {
        let of_user = rule(vec![compare(0, Len::Dword, Op::Eq, everybody)?])?;
        forbidden.entry(call).or_default().push(of_user);
    }
    if shared_user {
        forbidden.extend(OF_FILES.iter().map(|call| (*call, Vec::new())));
        // Without a path the call acts on an open file.
        let by_path = rule(vec![compare(1, Len::Qword, Op::Ne, 0)?])?;
        forbidden.insert(libc::SYS_utimensat, vec![by_path]);
    }
    let mut program = build()?;
    program.push(compile(forbidden, libc::EPERM)?);
    Ok(program)
}

fn compile(rules: BTreeMap<i64, Vec<SeccompRule>>, errno: i32) -> io::Result<BpfProgram> {
    let denied = SeccompAction::Errno(errno.unsigned_abs());
    SeccompFilter::new(rules, SeccompAction::Allow, denied, TargetArch::x86_64)
        .and_then(BpfProgram::try_from)
        .map_err(io::Error::other)
}

/// Kills on a call through another table than that of x86-64, and on numbers far beyond every table.
fn foreign_tables() -> BpfProgram {
    const AUDIT_ARCH_X86_64: u32 = 0xC000_003E;
    vec![
        load(ARCH),
        jump(EQUAL, AUDIT_ARCH_X86_64, 0, 3),
        load(NUMBER),
        jump(AT_LEAST, X32_BIT, 1, 0),
        give(libc::SECCOMP_RET_ALLOW),
        give(libc::SECCOMP_RET_KILL_PROCESS),
    ]
}

/// Forbids calls that are made only before a program begins. One filter gives both answers, because each installed
/// filter costs every run.
fn before_a_program() -> BpfProgram {
    vec![
        load(NUMBER),
        jump(EQUAL, number(libc::SYS_setns), 5, 0),
        jump(EQUAL, number(libc::SYS_unshare), 4, 0),
        jump(EQUAL, number(libc::SYS_io_uring_setup), 2, 0),
        jump(EQUAL, number(libc::SYS_io_uring_register), 1, 0),
        give(libc::SECCOMP_RET_ALLOW),
        give(libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs()),
        give(libc::SECCOMP_RET_ERRNO | libc::EPERM.unsigned_abs()),
    ]
}

/// Offsets of the fields of a call, and instructions that test them.
const NUMBER: u32 = 0;
const ARCH: u32 = 4;
const EQUAL: u16 = 0x15;
const AT_LEAST: u16 = 0x35;

fn load(offset: u32) -> sock_filter {
    sock_filter {
        code: 0x20,
        jt: 0,
        jf: 0,
        k: offset,
    }
}

/// Skips `jt` instructions when the test holds, and `jf` when it does not.
fn jump(code: u16, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

fn give(k: u32) -> sock_filter {
    sock_filter {
        code: 0x06,
        jt: 0,
        jf: 0,
        k,
    }
}

fn number(call: i64) -> u32 {
    u32::try_from(call).unwrap_or(u32::MAX)
}

fn rule(conditions: Vec<Condition>) -> io::Result<SeccompRule> {
    SeccompRule::new(conditions).map_err(io::Error::other)
}

fn compare(argument: u8, length: Len, operator: Op, value: u64) -> io::Result<Condition> {
    Condition::new(argument, length, operator, value).map_err(io::Error::other)
}

/// One condition for each bit: a rule matches when its bit is set.
fn any_bit(argument: u8, mask: u64) -> io::Result<Vec<Condition>> {
    (0..64)
        .map(|bit| 1_u64 << bit)
        .filter(|bit| mask & bit != 0)
        .map(|bit| compare(argument, Len::Qword, Op::MaskedEq(bit), bit))
        .collect()
}

fn vec_of(conditions: Vec<Condition>) -> io::Result<Vec<SeccompRule>> {
    conditions.into_iter().map(|condition| rule(vec![condition])).collect()
}

/// Requests that put input into a terminal that another process reads.
fn terminal_injection() -> io::Result<Vec<SeccompRule>> {
    const TIOCLINUX: u64 = 0x541C;
    [libc::TIOCSTI, TIOCLINUX, libc::TIOCSETD]
        .into_iter()
        .map(|request| rule(vec![compare(1, Len::Dword, Op::Eq, request)?]))
        .collect()
}

/// All but the default personality and the query.
fn other_personality() -> io::Result<Vec<SeccompRule>> {
    Ok(vec![rule(vec![
        compare(0, Len::Dword, Op::Ne, 0)?,
        compare(0, Len::Dword, Op::Ne, 8)?, // PER_LINUX32
        compare(0, Len::Dword, Op::Ne, 0xFFFF_FFFF)?,
    ])?])
}

/// All families but Unix, IPv4 and IPv6; of netlink only the routing part is allowed, which lists the sandbox's
/// interfaces.
fn other_sockets() -> io::Result<Vec<SeccompRule>> {
    let not = |family: i32| compare(0, Len::Dword, Op::Ne, family as u64);
    Ok(vec![
        rule(vec![
            not(libc::AF_UNIX)?,
            not(libc::AF_INET)?,
            not(libc::AF_INET6)?,
            not(libc::AF_NETLINK)?,
        ])?,
        rule(vec![
            compare(0, Len::Dword, Op::Eq, libc::AF_NETLINK as u64)?,
            compare(2, Len::Dword, Op::Ne, libc::NETLINK_ROUTE as u64)?,
        ])?,
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A user that no machine has.
    const UNUSED: libc::uid_t = 1_878_000_000;

    /// The errno of each call in a new thread with the filter of the process tier; 0 when it succeeds.
    fn answers(shared_user: bool, calls: Vec<(i64, [i64; 4])>) -> Vec<i32> {
        let program = build_without_namespaces(shared_user).expect("a filter");
        let thread = std::thread::spawn(move || {
            // SAFETY: numbers; it holds for this thread. Root becomes a user that has no other process.
            unsafe {
                libc::syscall(libc::SYS_setresuid, UNUSED, UNUSED, UNUSED);
                libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
            }
            for part in &program {
                seccompiler::apply_filter(part).expect("installed");
            }
            let answer = |(number, [a, b, c, d]): (i64, [i64; 4])| {
                // SAFETY: numbers, and null pointers, which the kernel refuses.
                let done = unsafe { libc::syscall(number, a, b, c, d) };
                if done < 0 {
                    io::Error::last_os_error().raw_os_error().unwrap_or(-1)
                } else {
                    0
                }
            };
            calls.into_iter().map(answer).collect()
        });
        thread.join().expect("the thread")
    }

    /// Every call here leaves the values as they are where it is not refused.
    #[test]
    fn a_program_of_the_process_tier_does_not_reach_its_user() {
        // SAFETY: numbers.
        let nice = i64::from(unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) });
        // SAFETY: numbers.
        let io = unsafe { libc::syscall(libc::SYS_ioprio_get, 1, 0) };
        let calls = vec![
            (libc::SYS_setpriority, [0, 0, nice, 0]),
            (libc::SYS_setpriority, [2, 0, nice, 0]),
            (libc::SYS_ioprio_set, [1, 0, io, 0]),
            (libc::SYS_ioprio_set, [3, 0, io, 0]),
        ];
        assert_eq!(answers(false, calls), [0, libc::EPERM, 0, libc::EPERM]);
        // Whether the kernel has the call or not, the filter answers.
        assert_eq!(answers(true, vec![(469, [-1, 0, 0, 0])]), [libc::EPERM]);
    }
}
