//! exp and log in f32, in operations that vectorise the same way in every loop.
//!
//! Trainer and sampler must agree to the bit, so neither calls the system's mathematics library. Polynomials: Cephes `expf`, `logf`.

use super::Lanes;

const LOG2_E: f32 = std::f32::consts::LOG2_E;
/// ln 2 in two parts; the first has so few bits that its product with an exponent is exact.
const LN_2_HIGH: f32 = 0.693_359_4;
const LN_2_LOW: f32 = -2.121_944_4e-4;
/// 1.5 * 2^23: adding it rounds to a whole number, which then sits in the low bits.
const ROUND: f32 = 12_582_912.0;
/// Below this `exp` is 0, a little before results would lose bits as subnormals.
const EXP_LOWEST: f32 = -86.5;
/// Above this `exp` is infinite: the logarithm of the largest f32.
const EXP_HIGHEST: f32 = 88.722_84;

/// e^x within 2 ulp; 0 below -86.5, infinite above 88.72, NaN for NaN.
#[inline(always)]
pub(crate) fn exp<L: Lanes>(x: f32) -> f32 {
    let shifted = L::mul_add(x, LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = L::mul_add(n, -LN_2_LOW, L::mul_add(n, -LN_2_HIGH, x));
    let mut p = 1.987_569_1e-4;
    p = L::mul_add(p, r, 1.398_2e-3);
    p = L::mul_add(p, r, 8.333_452e-3);
    p = L::mul_add(p, r, 4.166_579_6e-2);
    p = L::mul_add(p, r, 0.166_666_65);
    p = L::mul_add(p, r, 0.5);
    p = L::mul_add(p, r * r, r) + 1.0;
    // 2^(n-1), then twice: n reaches 128, which has no power of two in f32.
    let scale = f32::from_bits(shifted.to_bits().wrapping_add(126) << 23);
    let y = p * scale * 2.0;
    let y = if x < EXP_LOWEST { 0.0 } else { y };
    if x > EXP_HIGHEST { f32::INFINITY } else { y }
}

/// Natural logarithm of a positive normal x within 1 ulp; anything else as the standard library has it.
#[inline(always)]
pub(crate) fn log<L: Lanes>(x: f32) -> f32 {
    if !(f32::MIN_POSITIVE..f32::INFINITY).contains(&x) {
        return x.ln();
    }
    // x = m * 2^e with m in [sqrt(1/2), sqrt(2))
    let bits = x.to_bits().wrapping_sub(0x3f35_04f3);
    let e = (bits as i32 >> 23) as f32;
    let m = f32::from_bits((bits & 0x007f_ffff) + 0x3f35_04f3) - 1.0;
    let square = m * m;
    let mut p = 7.037_683_6e-2;
    p = L::mul_add(p, m, -0.115_146_1);
    p = L::mul_add(p, m, 0.116_769_98);
    p = L::mul_add(p, m, -0.124_201_41);
    p = L::mul_add(p, m, 0.142_493_23);
    p = L::mul_add(p, m, -0.166_680_57);
    p = L::mul_add(p, m, 0.200_007_14);
    p = L::mul_add(p, m, -0.249_999_94);
    p = L::mul_add(p, m, 0.333_333_3);
    let mut y = p * m * square;
    y = L::mul_add(e, LN_2_LOW, y);
    y = L::mul_add(-0.5, square, y);
    L::mul_add(e, LN_2_HIGH, m + y)
}

/// x / (1 + e^-x).
#[inline(always)]
pub(crate) fn sigmoid<L: Lanes>(x: f32) -> f32 {
    1.0 / (1.0 + exp::<L>(-x))
}

#[cfg(test)]
mod tests {
    use super::super::{Fused, Plain};
    use super::*;

    fn ulps(got: f32, want: f64) -> f64 {
        let unit = f64::from((want as f32).abs().next_up()) - f64::from((want as f32).abs());
        ((f64::from(got) - want) / unit).abs()
    }

    #[test]
    fn exp_is_within_two_ulps() {
        let mut worst = 0f64;
        for step in 0..2_000_000 {
            let x = -86.0 + 174.0 * step as f32 / 2_000_000.0;
            worst = worst
                .max(ulps(exp::<Plain>(x), f64::from(x).exp()))
                .max(ulps(exp::<Fused>(x), f64::from(x).exp()));
        }
        assert!(worst <= 2.0, "{worst} ulp");
    }

    #[test]
    fn exp_has_the_limits_of_exp() {
        assert_eq!(exp::<Fused>(0.0), 1.0);
        assert_eq!(exp::<Fused>(-0.0), 1.0);
        assert_eq!(exp::<Fused>(-1000.0), 0.0);
        assert_eq!(exp::<Fused>(f32::NEG_INFINITY), 0.0);
        assert_eq!(exp::<Fused>(f32::INFINITY), f32::INFINITY);
        assert_eq!(exp::<Fused>(89.0), f32::INFINITY);
        assert!(exp::<Fused>(88.7).is_finite());
        assert!(exp::<Plain>(f32::NAN).is_nan());
    }

    #[test]
    fn log_is_within_two_ulps_or_tiny_near_one() {
        let mut worst = 0f64;
        let mut bits = f32::MIN_POSITIVE.to_bits();
        while bits < f32::INFINITY.to_bits() {
            let x = f32::from_bits(bits);
            worst = worst
                .max(ulps(log::<Plain>(x), f64::from(x).ln()))
                .max(ulps(log::<Fused>(x), f64::from(x).ln()));
            bits += 997;
        }
        assert!(worst <= 2.0, "{worst} ulp");
        assert_eq!(log::<Fused>(1.0), 0.0);
    }
}
