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
}
