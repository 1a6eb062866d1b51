//! A system call that fails, as on a broken disk or for want of descriptors.

use std::io;
use std::thread;

/// Runs `work` on a thread on which the system call of this number fails with `EIO`.
pub(crate) fn without<T: Send>(call: libc::c_long, work: impl FnOnce() -> T + Send) -> T {
    let refused = move || {
        refuse(call);
        work()
    };
    thread::scope(|scope| scope.spawn(refused).join().expect("no panic"))
}

fn refuse(call: libc::c_long) {
    let statement = |code: u32, k: u32| libc::sock_filter {
        code: u16::try_from(code).expect("a code"),
        jt: 0,
        jf: 0,
        k,
    };
    let compare = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let mut filter = [
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0),
        libc::sock_filter {
            jf: 1,
            ..statement(compare, u32::try_from(call).expect("a number"))
        },
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ERRNO | libc::EIO as u32),
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog {
        len: u16::try_from(filter.len()).expect("few"),
        filter: filter.as_mut_ptr(),
    };
    let (one, none): (libc::c_ulong, libc::c_ulong) = (1, 0);
    let mode = libc::c_ulong::from(libc::SECCOMP_MODE_FILTER);
    // SAFETY: `program` and the filter that it points to live until the calls are over, and the system copies them.
    let is_set = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, one, none, none, none) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program) == 0
    };
    assert!(is_set, "{}", io::Error::last_os_error());
}
