//! Rows to columns: how operands are laid out for the inner loops of products and of attention.

use super::{Lanes, tiered};
use crate::isa::Tier;

/// `out[at * stride + i] = row(i)[at]` for `count` rows of one length.
pub(crate) fn transpose<'a>(
    tier: Tier,
    count: usize,
    row: impl Fn(usize) -> &'a [f32],
    out: &mut [f32],
    stride: usize,
) {
    let fours = count - count % 4;
    for i in (0..fours).step_by(4) {
        interleave(
            tier,
            [row(i), row(i + 1), row(i + 2), row(i + 3)],
            &mut out[i..],
            stride,
        );
    }
    for i in fours..count {
        for (at, &value) in row(i).iter().enumerate() {
            out[at * stride + i] = value;
        }
    }
}

tiered! {
    /// `out[at * stride + i] = rows[i][at]`, four by four.
    fn interleave(rows: [&[f32]; 4], out: &mut [f32], stride: usize) = interleave_body
}

#[inline(always)]
fn interleave_body<L: Lanes>(rows: [&[f32]; 4], out: &mut [f32], stride: usize) {
    let length = rows[0].len();
    let [a, b, c, d] = rows.map(|row| row[..length].as_chunks::<4>().0);
    let (b, c, d) = (&b[..a.len()], &c[..a.len()], &d[..a.len()]);
    for at in 0..a.len() {
        let (a, b, c, d) = (a[at], b[at], c[at], d[at]);
        let out = &mut out[at * 4 * stride..][..3 * stride + 4];
        for (k, column) in columns_of([a, b, c, d]).iter().enumerate() {
            out[k * stride..k * stride + 4].copy_from_slice(column);
        }
    }
    for at in length - length % 4..length {
        for (i, row) in rows.iter().enumerate() {
            out[at * stride + i] = row[at];
        }
    }
}

/// The columns of four rows of four. Without this the compiler moves sixteen single values.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn columns_of(rows: [[f32; 4]; 4]) -> [[f32; 4]; 4] {
    use std::arch::x86_64::{__m128, _mm_movehl_ps, _mm_movelh_ps, _mm_unpackhi_ps, _mm_unpacklo_ps};
    // SAFETY: a vector is four f32, any bits of which are a value; SSE is part of x86_64.
    unsafe {
        let [a, b, c, d] = std::mem::transmute::<[[f32; 4]; 4], [__m128; 4]>(rows);
        let (ab_low, ab_high) = (_mm_unpacklo_ps(a, b), _mm_unpackhi_ps(a, b));
        let (cd_low, cd_high) = (_mm_unpacklo_ps(c, d), _mm_unpackhi_ps(c, d));
        std::mem::transmute::<[__m128; 4], [[f32; 4]; 4]>([
            _mm_movelh_ps(ab_low, cd_low),
            _mm_movehl_ps(cd_low, ab_low),
            _mm_movelh_ps(ab_high, cd_high),
            _mm_movehl_ps(cd_high, ab_high),
        ])
    }
}

/// The columns of four rows of four.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn columns_of(rows: [[f32; 4]; 4]) -> [[f32; 4]; 4] {
    std::array::from_fn(|k| rows.map(|row| row[k]))
}
