//! The number type of a loss: `f32` inside the trainer, `f64` for callers and for finite-difference checks.
//!
//! It has only the few operations that losses use. `exp` is that of the standard library: losses need no equality with the kernels.

use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

/// A floating-point type that a loss can be computed in.
pub trait Real:
    Copy
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + Send
    + Sync
    + 'static
{
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;
    /// e to the power of `self`.
    fn exp(self) -> Self;
    /// `self` limited to `low..=high`; NaN stays NaN.
    fn clamp(self, low: Self, high: Self) -> Self;
    /// The nearest value of this type.
    fn from_f64(value: f64) -> Self;
    /// Exact widening.
    fn to_f64(self) -> f64;
}

macro_rules! real {
    ($type:ty) => {
        impl Real for $type {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            fn exp(self) -> Self {
                self.exp()
            }
            fn clamp(self, low: Self, high: Self) -> Self {
                self.clamp(low, high)
            }
            fn from_f64(value: f64) -> Self {
                value as Self
            }
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
        }
    };
}

real!(f32);
real!(f64);
