//! A counter-based generator of random numbers.
//!
//! A number is a function of a seed, a name and an index that only this crate's operations compute, so it is the same on every machine,
//! whatever was drawn before.

use crate::kernels::Plain;
use crate::kernels::math::log;

/// The key of a tensor's numbers.
pub(crate) fn key_of(name: &str, seed: u64) -> u64 {
    name.bytes().fold(mix(seed), |key, byte| mix(key ^ u64::from(byte)))
}

/// Fills a tensor with numbers that are uniform in (-bound, bound).
pub(crate) fn fill_uniform(name: &str, seed: u64, bound: f32, out: &mut [f32]) {
    let key = key_of(name, seed);
    for (index, out) in (0u64..).zip(out) {
        let drawn = mix(key ^ mix(index)) >> 40;
        *out = ((drawn as f32 + 0.5) / 8_388_608.0 - 1.0) * bound;
    }
}

/// Marsaglia's polar method: two standard normal numbers from points drawn until one lies in the unit disc.
pub(crate) fn two_normals(key: u64, index: u64) -> [f32; 2] {
    let mut state = mix(key ^ mix(index));
    loop {
        state = mix(state);
        let [u, v] = [state >> 40, state >> 8 & 0xff_ffff].map(|bits| (bits as f32 + 0.5) / 8_388_608.0 - 1.0);
        let square = u * u + v * v;
        if square > 0.0 && square < 1.0 {
            let scale = (-2.0 * log::<Plain>(square) / square).sqrt();
            return [u * scale, v * scale];
        }
    }
}

/// The output function of SplitMix64 (Steele et al. 2014), after its increment.
pub(crate) fn mix(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::noise::bits_at;

    #[test]
    fn numbers_are_standard_normal_and_depend_on_seed_and_index() {
        let numbers: Vec<f64> = (0..50_000).flat_map(|at| two_normals(7, at)).map(f64::from).collect();
        let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
        let variance = numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / numbers.len() as f64;
        let kurtosis =
            numbers.iter().map(|x| (x - mean).powi(4)).sum::<f64>() / numbers.len() as f64 / variance.powi(2);
        assert!(
            mean.abs() < 0.02 && (variance - 1.0).abs() < 0.03 && (kurtosis - 3.0).abs() < 0.1,
            "{mean} {variance} {kurtosis}"
        );
        assert_ne!(two_normals(7, 0), two_normals(8, 0));
        assert_eq!(two_normals(7, 3), two_normals(7, 3));
    }

    /// Bits of 256 keys and 4,096 indices: each bit is set half the time, alone and together with each other bit of the same number, of the
    /// next index and of the next key. A share of 2^20 fair draws deviates from 1/2 by 0.0005 (one standard deviation).
    #[test]
    fn bits_are_fair_and_independent() {
        let (keys, indices) = (256u64, 4096u32);
        let drawn = |key: u64, index: u32| bits_at(mix(key), index);
        let mut set = [0u32; 32];
        let mut equal = [[[0u32; 32]; 32]; 3];
        for key in 0..keys {
            for index in 0..indices {
                let bits = drawn(key, index);
                for (count, at) in set.iter_mut().zip(0..) {
                    *count += bits >> at & 1;
                }
                let others = [bits, drawn(key, index + 1), drawn(key + 1, index)];
                for (counts, other) in equal.iter_mut().zip(others) {
                    for (row, at) in counts.iter_mut().zip(0..) {
                        // Bit `of` of `same` says whether it equals bit `at` of the number.
                        let same = if bits >> at & 1 == 1 { other } else { !other };
                        for (count, of) in row.iter_mut().zip(0..) {
                            *count += same >> of & 1;
                        }
                    }
                }
            }
        }
        let draws = keys as f64 * f64::from(indices);
        let off = |count: u32| (f64::from(count) / draws - 0.5).abs();
        assert!(set.iter().all(|&count| off(count) < 0.003), "{set:?}");
        for (kind, counts) in equal.iter().enumerate() {
            for (at, row) in counts.iter().enumerate() {
                for (of, &count) in row.iter().enumerate() {
                    assert!(off(count) < 0.003 || kind == 0 && at == of, "{kind} {at} {of}: {count}");
                }
            }
        }
    }
}
