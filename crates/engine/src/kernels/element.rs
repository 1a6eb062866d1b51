//! The number formats in which weights, keys and values can be kept. A kernel widens each number as it reads it, which is exact, so its results are those of an
//! f32 operand with the same values. The kernels of the AVX-512-BF16 tier multiply pairs of bfloat16 numbers instead (`pairs.rs`).

use super::{Lanes, tiered};

/// An element of a buffer.
///
/// # Safety
/// Every bit pattern is a value, zero bits are the default, and the size divides a cache line.
pub(crate) unsafe trait Element: Copy + Default + Send + Sync + 'static {}

/// A number that f32 can hold exactly.
pub(crate) trait Number: Element {
    /// The same number as f32.
    fn widen(self) -> f32;
}

// SAFETY: f32 has four bytes, any of which are a value; zero bits are 0.0.
unsafe impl Element for f32 {}

impl Number for f32 {
    #[inline(always)]
    fn widen(self) -> f32 {
        self
    }
}

// SAFETY: one byte, any bits of which are a value; zero bits are 0.
unsafe impl Element for i8 {}

/// A number of the format bfloat16: the upper half of an f32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Bf16(u16);

// SAFETY: two bytes without padding, any of which are a value; zero bits are 0.
unsafe impl Element for Bf16 {}

impl Number for Bf16 {
    #[inline(always)]
    fn widen(self) -> f32 {
        f32::from_bits(u32::from(self.0) << 16)
    }
}

impl Bf16 {
    pub(crate) fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    pub(crate) fn to_bits(self) -> u16 {
        self.0
    }

    /// The nearest number, the even one of two that are equally near, as torch rounds. Values that are not finite are the caller's to refuse.
    #[inline(always)]
    pub(crate) fn nearest(value: f32) -> Self {
        let bits = value.to_bits();
        let half = 0x7fff + (bits >> 16 & 1);
        Self((bits.wrapping_add(half) >> 16) as u16)
    }
}

impl Bf16 {
    /// [`Self::nearest`] of any number: what is not a number stays so.
    #[inline(always)]
    pub(crate) fn rounded(value: f32) -> Self {
        const NOT_A_NUMBER: Bf16 = Bf16(0x7fc0);
        if value.is_nan() {
            NOT_A_NUMBER
        } else {
            Self::nearest(value)
        }
    }
}

/// The format that an optimizer keeps a moment in.
pub(crate) trait Moment: Number {
    /// The number that is kept of `value`. `noise` is uniform in 0..2^16 and decides between the two numbers around a value that the format
    /// does not have.
    fn kept(value: f32, noise: u32) -> Self;
}

impl Moment for f32 {
    #[inline(always)]
    fn kept(value: f32, _noise: u32) -> Self {
        value
    }
}

impl Moment for Bf16 {
    /// Stochastic rounding: away from zero with the probability that makes the expected number the value itself. The format's numbers stay as
    /// they are, and what is finite stays finite.
    #[inline(always)]
    fn kept(value: f32, noise: u32) -> Self {
        const EXPONENT: u32 = 0x7f80_0000;
        let bits = value.to_bits();
        let raised = bits.wrapping_add(noise);
        let bits = if raised & EXPONENT == EXPONENT { bits } else { raised };
        Self((bits >> 16) as u16)
    }
}

tiered! {
    /// `to[i]` is the number nearest to `from[i]`.
    pub(crate) fn narrow(from: &[f32], to: &mut [Bf16]) = narrow_body
}

#[inline(always)]
fn narrow_body<L: Lanes>(from: &[f32], to: &mut [Bf16]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = Bf16::nearest(*from);
    }
}

tiered! {
    /// Makes each number the one that bfloat16 keeps of it.
    pub(crate) fn round(numbers: &mut [f32]) = round_body
}

#[inline(always)]
fn round_body<L: Lanes>(numbers: &mut [f32]) {
    for number in numbers {
        *number = Bf16::rounded(*number).widen();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::Tier;
    use std::hint::black_box;

    #[test]
    fn rounds_to_the_nearest_and_ties_to_the_even_number() {
        let cases = [
            (0.0, 0x0000),
            (-0.0, 0x8000),
            (1.0, 0x3f80),
            // One unit in the last place is 2^-7 at 1.0.
            (1.0 + 1.0 / 256.0, 0x3f80),
            (1.0 + 3.0 / 256.0, 0x3f82),
            (1.0 + 1.1 / 256.0, 0x3f81),
            (-1.0 - 1.1 / 256.0, 0xbf81),
            (f32::MIN_POSITIVE / 2.0, 0x0040),
            (f32::MAX, 0x7f80),
        ];
        for (value, bits) in cases {
            assert_eq!(Bf16::nearest(value).to_bits(), bits, "{value}");
        }
    }

    /// All noises once: the mean is the value, to the rounding of the f64 sum.
    #[test]
    fn what_is_kept_is_the_value_on_average() {
        let values = [
            1.0,
            1.000_001,
            -1.003_9,
            0.1,
            -5.3,
            1.999_999_9,
            7.3e-39,
            -f32::from_bits(1),
            2.2e-38,
            1.0e38,
        ];
        for value in values {
            // The compiler must not know the noise: rustc 1.95 folds the loop over constants to a sum in which no number is raised.
            let sum: f64 = (0..1 << 16)
                .map(|noise| f64::from(Bf16::kept(value, black_box(noise)).widen()))
                .sum();
            let (mean, value) = (sum / 65_536.0, f64::from(value));
            assert!((mean - value).abs() <= 1e-12 * value.abs(), "{value}: {mean}");
        }
    }

    #[test]
    fn what_is_kept_stays_finite_and_what_is_not_finite_stays() {
        for noise in [0, 1, 0x7fff, 0xffff] {
            for value in [f32::MAX, -f32::MAX, 0.0, -0.0] {
                let kept = Bf16::kept(value, noise).widen();
                assert!(
                    kept.is_finite() && kept.is_sign_negative() == value.is_sign_negative(),
                    "{value}: {kept}"
                );
            }
            assert_eq!(Bf16::kept(0.0, noise).to_bits(), 0);
            assert_eq!(Bf16::kept(f32::INFINITY, noise).widen(), f32::INFINITY);
            assert!(Bf16::kept(f32::NAN, noise).widen().is_nan());
        }
    }

    #[test]
    fn rounding_keeps_what_is_not_a_number() {
        for bits in [0x7f80_0001, 0x7fff_ffff, 0xff80_0001, 0xffff_ffff] {
            assert!(Bf16::rounded(f32::from_bits(bits)).widen().is_nan(), "{bits:x}");
        }
        assert_eq!(Bf16::rounded(f32::NEG_INFINITY).widen(), f32::NEG_INFINITY);
        assert_eq!(Bf16::rounded(1.0 + 3.0 / 256.0).to_bits(), 0x3f82);
        let mut numbers = [1.0 + 1.1 / 256.0; 33];
        round(Tier::detect(), &mut numbers);
        assert_eq!(numbers, [1.0 + 2.0 / 256.0; 33]);
    }

    #[test]
    fn every_number_of_the_format_survives() {
        for bits in 0..=u16::MAX {
            let wide = Bf16::from_bits(bits).widen();
            if !wide.is_nan() {
                assert_eq!(Bf16::nearest(wide).to_bits(), bits);
                assert_eq!(Bf16::kept(wide, 0xffff).to_bits(), bits);
            }
        }
    }
}
