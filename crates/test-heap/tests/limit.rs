//! The end of a part that takes too much, in a process whose heap has a limit: the test starts its own binary once more.

use std::hint::black_box;
use std::io::{self, Write};
use std::process::{Command, exit};

use prl_test_heap::{Heap, measure, turn};

const LIMIT: usize = 4 << 20;
/// What the test runner takes meanwhile.
const SMALL: usize = 64 << 10;
/// What the process that is started does: how many bytes it takes, in a measured part or outside of one.
const TAKES: &str = "PRL_TEST_HEAP_TAKES";
const MEASURED: &str = "PRL_TEST_HEAP_MEASURED";
const CODE: i32 = 42;

#[global_allocator]
static HEAP: Heap = Heap::limited(LIMIT, beyond);

#[expect(clippy::exit, reason = "an allocator cannot unwind")]
fn beyond() -> ! {
    // It allocates far more than the limit: what ends the process is free to.
    let reason = vec![b'!'; 2 * LIMIT];
    let _ = io::stderr().write_all(&reason[..1]);
    exit(CODE)
}

/// The exit code of a process that takes so many bytes.
fn code_of(takes: usize, is_measured: bool) -> Option<i32> {
    let binary = std::env::current_exe().expect("the test's own binary");
    let mut command = Command::new(binary);
    command.args(["--exact", "takes_what_it_is_asked_to"]);
    command
        .env(TAKES, takes.to_string())
        .env(MEASURED, is_measured.to_string());
    command.output().expect("the process runs").status.code()
}

#[test]
fn takes_what_it_is_asked_to() {
    let Ok(takes) = std::env::var(TAKES) else { return };
    let takes: usize = takes.parse().expect("a number");
    let take = || drop(black_box(vec![1u8; takes]));
    let _turn = turn();
    if std::env::var(MEASURED).is_ok_and(|value| value == "true") {
        // What was held before does not count.
        let old = black_box(vec![1u8; LIMIT]);
        assert!(measure(take).peak.abs_diff(takes) < SMALL);
        drop(old);
    } else {
        take();
    }
}

#[test]
fn a_measured_part_ends_beyond_the_limit_and_nothing_else_does() {
    assert_eq!(code_of(LIMIT + SMALL, true), Some(CODE));
    assert_eq!(code_of(LIMIT - SMALL, true), Some(0));
    assert_eq!(code_of(16 * LIMIT, false), Some(0));
}
