//! Finding the first bad value of a long column, in blocks that the compiler turns into vector instructions.

const BLOCK: usize = 256;

/// Index of the first value for which `bad` is true.
pub(crate) fn first<T: Copy>(values: &[T], bad: impl Fn(T) -> bool) -> Option<usize> {
    let block = values
        .chunks(BLOCK)
        .position(|block| block.iter().fold(false, |any, &value| any | bad(value)))?;
    let start = block * BLOCK;
    values[start..]
        .iter()
        .position(|&value| bad(value))
        .map(|at| start + at)
}

/// Index of the first pair for which `bad` is true; both columns have the same length.
pub(crate) fn first_pair<A: Copy, B: Copy>(left: &[A], right: &[B], bad: impl Fn(A, B) -> bool) -> Option<usize> {
    let mut blocks = left.chunks(BLOCK).zip(right.chunks(BLOCK));
    let block = blocks.position(|(left, right)| left.iter().zip(right).fold(false, |any, (&a, &b)| any | bad(a, b)))?;
    let start = block * BLOCK;
    left[start..]
        .iter()
        .zip(&right[start..])
        .position(|(&a, &b)| bad(a, b))
        .map(|at| start + at)
}

/// For how many values `counted` is true.
pub(crate) fn count<T: Copy>(values: &[T], counted: impl Fn(T) -> bool) -> u64 {
    let block = |block: &[T]| block.iter().map(|&value| u32::from(counted(value))).sum::<u32>();
    values.chunks(BLOCK).map(|values| u64::from(block(values))).sum()
}

/// For how many pairs `counted` is true; both columns have the same length.
pub(crate) fn count_pairs<A: Copy, B: Copy>(left: &[A], right: &[B], counted: impl Fn(A, B) -> bool) -> u64 {
    let block = |(left, right): (&[A], &[B])| {
        left.iter()
            .zip(right)
            .map(|(&a, &b)| u32::from(counted(a, b)))
            .sum::<u32>()
    };
    left.chunks(BLOCK)
        .zip(right.chunks(BLOCK))
        .map(|pair| u64::from(block(pair)))
        .sum()
}
