//! Instruction-set tiers: which instantiation of every kernel runs. A tier is chosen once, when a [`crate::Compute`] is made.
//!
//! A tier fixes the bits: portable multiplies then adds, the others fuse. Results of two tiers differ in the last places. The two best tiers differ
//! from AVX-512, and from each other, for weights in bfloat16 only: there their products round the other operand too, and attention keys and values. With
//! weights in f32 the three have the same bits.

#[cfg(target_arch = "x86_64")]
mod amx;

use crate::error::EngineError;

/// An instruction-set tier. The variants ascend in ability.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// The instructions that the compilation target guarantees; multiplies, then adds.
    Portable,
    /// 256-bit vectors with fused multiply-add (x86-64 only).
    Avx2,
    /// 512-bit vectors with fused multiply-add (x86-64 only).
    Avx512,
    /// [`Tier::Avx512`], with products of pairs of bfloat16 numbers where the weights are kept in that format (x86-64 only).
    Avx512Bf16,
    /// [`Tier::Avx512Bf16`], with products of whole tiles of bfloat16 numbers (x86-64 with AMX, where Linux permits it to the process).
    Amx,
}

impl Tier {
    /// Every tier, in ascending order.
    pub const ALL: [Self; 5] = [Self::Portable, Self::Avx2, Self::Avx512, Self::Avx512Bf16, Self::Amx];

    /// The best tier that this machine has.
    pub fn detect() -> Self {
        let available = Self::ALL.into_iter().rev().find(|tier| tier.is_available());
        available.unwrap_or(Self::Portable)
    }

    /// Whether this machine can run the tier.
    pub fn is_available(self) -> bool {
        match self {
            Self::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => {
                Self::Avx2.is_available()
                    && std::arch::is_x86_feature_detected!("avx512f")
                    && std::arch::is_x86_feature_detected!("avx512vl")
                    && std::arch::is_x86_feature_detected!("avx512dq")
                    && std::arch::is_x86_feature_detected!("avx512bw")
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Bf16 => Self::Avx512.is_available() && std::arch::is_x86_feature_detected!("avx512bf16"),
            #[cfg(target_arch = "x86_64")]
            Self::Amx => Self::Avx512Bf16.is_available() && amx::multiplies_bf16(),
            #[cfg(not(target_arch = "x86_64"))]
            _ => false,
        }
    }

    /// Whether products with weights in bfloat16 round their other operand to that format too, instead of widening the weights.
    pub fn multiplies_bf16(self) -> bool {
        self >= Self::Avx512Bf16
    }

    /// The tier's name in configs, ready files and manifests.
    pub fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
            Self::Avx512Bf16 => "avx512bf16",
            Self::Amx => "amx",
        }
    }

    /// The tier called `name`.
    ///
    /// # Errors
    /// [`EngineError::Isa`] when no tier has this name or this machine lacks it.
    pub fn from_name(name: &str) -> Result<Self, EngineError> {
        let tier = Self::ALL.into_iter().find(|tier| tier.name() == name).ok_or_else(|| {
            EngineError::Isa(format!(
                "unknown instruction set {name:?}: one of portable, avx2, avx512, avx512bf16, amx"
            ))
        })?;
        tier.checked()
    }

    /// The tier itself when this machine has it.
    ///
    /// # Errors
    /// [`EngineError::Isa`] otherwise.
    pub fn checked(self) -> Result<Self, EngineError> {
        if self.is_available() {
            Ok(self)
        } else {
            let (wanted, best) = (self.name(), Self::detect().name());
            Err(EngineError::Isa(format!(
                "this machine does not have the instruction set {wanted}: use {best}"
            )))
        }
    }
}
