//! Whether this process may use the processor's tiles (AMX): the processor has them, the operating system keeps them, and it permits them.

use std::arch::x86_64::{__cpuid, __cpuid_count, _xgetbv};
use std::sync::OnceLock;

/// Bits of EDX in leaf 7 of CPUID: tiles, and their products of bfloat16 numbers.
const AMX_TILE: u32 = 1 << 24;
const AMX_BF16: u32 = 1 << 22;
/// Bit of ECX in leaf 1: the operating system saves the state that XCR0 names.
const OSXSAVE: u32 = 1 << 27;
/// Bits of XCR0: the configuration of the tiles, and their contents.
const TILE_STATE: u64 = 0b11 << 17;

/// Whether products of bfloat16 tiles run here. The first call asks the operating system, for the whole process and all its threads.
pub(super) fn multiplies_bf16() -> bool {
    static PERMITTED: OnceLock<bool> = OnceLock::new();
    *PERMITTED.get_or_init(|| has_instructions() && keeps_state() && system::permits())
}

fn has_instructions() -> bool {
    let wanted = AMX_TILE | AMX_BF16;
    __cpuid(0).eax >= 7 && __cpuid_count(7, 0).edx & wanted == wanted
}

fn keeps_state() -> bool {
    // SAFETY: XGETBV exists where the operating system has enabled it, which OSXSAVE says.
    __cpuid(1).ecx & OSXSAVE != 0 && unsafe { enabled_state() } & TILE_STATE == TILE_STATE
}

#[target_feature(enable = "xsave")]
fn enabled_state() -> u64 {
    // SAFETY: register 0 exists wherever the instruction does.
    unsafe { _xgetbv(0) }
}

#[cfg(target_os = "linux")]
mod system {
    /// `ARCH_REQ_XCOMP_PERM` of `asm/prctl.h`.
    const REQUEST_PERMISSION: libc::c_long = 0x1023;
    /// The component of the contents of tiles.
    const TILE_DATA: libc::c_long = 18;

    /// Asks Linux, which gives a thread the room for tiles at their first use. It refuses where it is older than 5.16, where a filter forbids the
    /// call, and while a thread has a signal stack that is too small to save tiles on.
    pub(super) fn permits() -> bool {
        // SAFETY: the call takes two numbers and touches no memory of ours.
        unsafe { libc::syscall(libc::SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0 }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    /// Whether and how other systems give tiles to a process is not known here.
    pub(super) fn permits() -> bool {
        false
    }
}
