//! Random bits in vector operations, for rounding. As in `counter.rs`, they are a function of a key and an index; here of 32 bits.

/// 32 random bits of the number `index` under a key. A mixture of 32-bit operations, which vectorise: two multiplications (the constants are
/// those of Wellons, "Prospecting for Hash Functions", 2018), with half of the key before the first and half before the second.
#[inline(always)]
pub(crate) fn bits_at(key: u64, index: u32) -> u32 {
    let mut x = index.wrapping_mul(0x9e37_79b9).wrapping_add(key as u32);
    x = (x ^ x >> 16).wrapping_mul(0x7feb_352d);
    x = x.wrapping_add((key >> 32) as u32);
    x = (x ^ x >> 15).wrapping_mul(0x846c_a68b);
    x ^ x >> 16
}
