//! The element types a safetensors header can name.

use std::fmt;

macro_rules! dtypes {
    ($($name:ident = $bits:literal, $doc:literal;)*) => {
        /// Type of a tensor's elements; variants are spelled as in the header of the file.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[expect(non_camel_case_types, reason = "variants are the header's spelling")]
        pub enum Dtype {
            $(#[doc = $doc] $name,)*
        }

        impl Dtype {
            /// Every dtype that a header may name.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The header's spelling.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)* }
            }

            /// Bits of one element; 4 and 6 exist.
            pub const fn bits(self) -> usize {
                match self { $(Self::$name => $bits,)* }
            }

            /// The dtype of a header's spelling, which is case-sensitive.
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $(stringify!($name) => Some(Self::$name),)* _ => None }
            }
        }
    };
}

dtypes! {
    BOOL = 8, "Boolean, one byte per element.";
    F4 = 4, "MX FP4 (E2M1), two elements per byte.";
    F6_E2M3 = 6, "MX FP6 with 2 exponent bits.";
    F6_E3M2 = 6, "MX FP6 with 3 exponent bits.";
    U8 = 8, "Unsigned 8-bit integer.";
    I8 = 8, "Signed 8-bit integer.";
    F8_E5M2 = 8, "FP8 with 5 exponent bits.";
    F8_E4M3 = 8, "FP8 with 4 exponent bits.";
    F8_E8M0 = 8, "MX scale: 8 exponent bits, no mantissa.";
    F8_E4M3FNUZ = 8, "FP8 E4M3 without infinities and negative zero.";
    F8_E5M2FNUZ = 8, "FP8 E5M2 without infinities and negative zero.";
    I16 = 16, "Signed 16-bit integer.";
    U16 = 16, "Unsigned 16-bit integer.";
    F16 = 16, "IEEE half precision.";
    BF16 = 16, "bfloat16: the upper half of an F32.";
    I32 = 32, "Signed 32-bit integer.";
    U32 = 32, "Unsigned 32-bit integer.";
    F32 = 32, "IEEE single precision.";
    C64 = 64, "Complex number of two F32.";
    F64 = 64, "IEEE double precision.";
    I64 = 64, "Signed 64-bit integer.";
    U64 = 64, "Unsigned 64-bit integer.";
}

impl Dtype {
    /// Bytes of a tensor of this dtype and `shape`; `None` when that overflows or is no whole number of bytes.
    pub fn byte_len(self, shape: &[usize]) -> Option<usize> {
        let elements = shape
            .iter()
            .try_fold(1usize, |product, &dim| product.checked_mul(dim))?;
        let bits = elements.checked_mul(self.bits())?;
        bits.is_multiple_of(8).then_some(bits / 8)
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
