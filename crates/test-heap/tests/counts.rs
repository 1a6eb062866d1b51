//! What the allocator counts, in a binary that has it.

use std::hint::black_box;
use std::thread;

use prl_test_heap::{Heap, Measured, held, measure, turn};

const MEBIBYTE: usize = 1 << 20;
/// What a thread takes by itself, and the test runner meanwhile.
const SMALL: usize = MEBIBYTE / 16;

#[global_allocator]
static HEAP: Heap = Heap::counting();

#[track_caller]
fn assert_about(found: [usize; 2], expected: [usize; 2]) {
    let is_near = |(found, expected): (usize, usize)| found.abs_diff(expected) < SMALL;
    let all = found.into_iter().zip(expected).all(is_near);
    assert!(all, "{found:?} in place of {expected:?}");
}

#[test]
fn what_is_left_and_the_most_that_was_held_are_counted_apart() {
    let _turn = turn();
    let before = held();
    let Measured { value, left, peak } = measure(|| {
        drop(black_box(vec![1u8; 2 * MEBIBYTE]));
        black_box(vec![0u8; MEBIBYTE])
    });
    assert_about([left, peak], [MEBIBYTE, 2 * MEBIBYTE]);
    let with_it = held();
    drop(value);
    assert_about([with_it, held()], [before + MEBIBYTE, before]);
}

#[test]
fn what_was_held_before_and_is_freed_makes_room() {
    let _turn = turn();
    let old = black_box(vec![1u8; 3 * MEBIBYTE]);
    let measured = measure(move || {
        drop(old);
        black_box(vec![1u8; MEBIBYTE])
    });
    assert_about([measured.left, measured.peak], [0, 0]);
    assert_eq!(measured.value.len(), MEBIBYTE);
}

#[test]
fn a_block_that_grows_or_shrinks_counts_as_the_difference() {
    let _turn = turn();
    let mut block: Vec<u8> = Vec::with_capacity(MEBIBYTE);
    let grown = measure(|| block.reserve_exact(3 * MEBIBYTE));
    assert_about([grown.left, grown.peak], [2 * MEBIBYTE, 2 * MEBIBYTE]);
    let before = held();
    let shrunk = measure(|| block.shrink_to(MEBIBYTE));
    assert_about([shrunk.left, shrunk.peak], [0, 0]);
    assert_about([held(), block.capacity()], [before - 2 * MEBIBYTE, MEBIBYTE]);
}

#[test]
fn other_threads_are_counted() {
    let _turn = turn();
    let measured = measure(|| {
        let thread = thread::spawn(|| drop(black_box(vec![1u8; MEBIBYTE])));
        thread.join().expect("the thread ends");
    });
    assert_about([measured.left, measured.peak], [0, MEBIBYTE]);
}
