//! Operands for tests of products.

/// Numbers between -1 and 1.
pub(crate) fn numbers(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed | 1;
    let next = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1u32 << 23) as f32 - 1.0
    };
    std::iter::repeat_with(next).take(count).collect()
}
