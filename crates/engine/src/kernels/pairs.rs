//! Pairs of bfloat16 numbers, neighbours along k: what the instructions VDPBF16PS and TDPBF16PS multiply.
//!
//! Rounding is to the nearest, ties to even, and numbers below the smallest normal one become 0, as in the instruction. All places that round
//! use one conversion, so that a number's bits depend on the number alone.

use std::arch::x86_64::{
    __m128bh, __m128i, __m256, __m512, __m512bh, __m512i, _MM_HINT_T0, _mm_prefetch, _mm_storeu_si128,
    _mm_unpackhi_epi32, _mm_unpackhi_epi64, _mm_unpacklo_epi32, _mm_unpacklo_epi64, _mm256_cvtneps_pbh,
    _mm256_loadu_ps, _mm256_loadu_si256, _mm256_maskz_loadu_epi16, _mm256_maskz_loadu_ps, _mm512_castsi256_si512,
    _mm512_cvtne2ps_pbh, _mm512_inserti64x4, _mm512_loadu_ps, _mm512_loadu_si512, _mm512_mask_storeu_epi32,
    _mm512_maskz_loadu_ps, _mm512_permutexvar_epi16, _mm512_setzero_ps, _mm512_setzero_si512, _mm512_shuffle_i32x4,
    _mm512_storeu_si512, _mm512_unpackhi_epi32, _mm512_unpackhi_epi64, _mm512_unpacklo_epi32, _mm512_unpacklo_epi64,
};

use std::ops::Range;

use super::element::{Bf16, Element};

/// Two bfloat16 numbers; the one with the lower k is in the low half.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Pair(u32);

impl Pair {
    /// The pair as the instructions take it.
    pub(crate) fn bits(self) -> i32 {
        self.0.cast_signed()
    }
}

// SAFETY: four bytes without padding, any of which are a value; zero bits are two zeros.
unsafe impl Element for Pair {}

/// Most columns that [`pair_columns`] takes, and most rows that [`pair_turned`] does.
pub(crate) const VECTOR: usize = 16;
/// So many rows ahead columns are fetched: their lines lie too far from each other for the processor to foresee them.
pub(crate) const AHEAD: usize = 32;

/// Makes `out[at / 2][row]` of `height` rows of `length` numbers each, `stride` apart.
#[target_feature(enable = "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw,avx512bf16")]
pub(crate) fn pair_rows(rows: &[f32], (stride, length): (usize, usize), height: usize, out: &mut [Pair]) {
    let out = &mut out[..length.div_ceil(2) * height];
    let row = |i: usize| &rows[i * stride..][..length];
    let fours = height - height % 4;
    for i in (0..fours).step_by(4) {
        let rows = [row(i), row(i + 1), row(i + 2), row(i + 3)];
        for at in (0..length).step_by(8) {
            let pairs = [0, 1, 2, 3].map(|i| four_pairs(&rows[i][at..]));
            let columns = columns_of(pairs);
            let steps = 4.min((length - at).div_ceil(2));
            for (step, column) in columns[..steps].iter().enumerate() {
                let to = &mut out[(at / 2 + step) * height + i..][..4];
                // SAFETY: a vector is four pairs.
                unsafe { _mm_storeu_si128(to.as_mut_ptr().cast(), *column) };
            }
        }
    }
    for i in fours..height {
        let row = row(i);
        for at in (0..length).step_by(8) {
            // SAFETY: a vector is four pairs, any bits of which are a value.
            let pairs = unsafe { std::mem::transmute::<__m128i, [Pair; 4]>(four_pairs(&row[at..])) };
            let steps = 4.min((length - at).div_ceil(2));
            for (step, pair) in pairs[..steps].iter().enumerate() {
                out[(at / 2 + step) * height + i] = *pair;
            }
        }
    }
}

/// Makes `out[at / 2][column]` of the first `count`, at most 16, columns of `length` rows, `stride` apart. Rows of `out` have `width` pairs.
#[target_feature(enable = "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw,avx512bf16")]
pub(crate) fn pair_columns(
    rows: &[f32],
    (stride, length): (usize, usize),
    count: usize,
    (out, width): (&mut [Pair], usize),
) {
    assert!(count <= VECTOR, "a vector of columns");
    let mask = ((1u32 << count) - 1) as u16;
    let load = |at: usize| {
        let row = &rows[at * stride..][..count];
        // SAFETY: the mask leaves out what is behind the row's end.
        unsafe { _mm512_maskz_loadu_ps(mask, row.as_ptr()) }
    };
    for step in 0..length.div_ceil(2) {
        let odd = 2 * step + 1;
        for ahead in [odd + AHEAD - 1, odd + AHEAD] {
            _mm_prefetch::<_MM_HINT_T0>(rows.as_ptr().wrapping_add(ahead * stride).cast());
        }
        let odd = if odd < length { load(odd) } else { _mm512_setzero_ps() };
        let to = &mut out[step * width..][..count];
        // SAFETY: the mask leaves out what is behind the end.
        unsafe { _mm512_mask_storeu_epi32(to.as_mut_ptr().cast(), mask, sixteen_pairs(load(2 * step), odd)) };
    }
}

/// Makes pieces of at most 16 columns each of `length` rows, `stride` apart: the columns `piece.columns` at `out[piece.first + step * piece.width..]` for each
/// two rows. A last row without a partner stands beside zeros. All pieces of a row are read together, because they share its cache lines.
///
/// # Panics
/// When a row is too short, or a piece has more than 16 columns or does not lie in `out`.
#[target_feature(enable = "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw,avx512bf16")]
pub(crate) fn pair_pieces(rows: &[f32], (stride, length): (usize, usize), pieces: &[Piece], out: &mut [Pair]) {
    let steps = length.div_ceil(2);
    for Piece { columns, first, width } in pieces {
        assert!(columns.len() <= VECTOR.min(*width), "a vector of columns");
        assert!(
            length == 0 || (length - 1) * stride + columns.end <= rows.len(),
            "rows have the columns"
        );
        assert!(
            steps == 0 || first + (steps - 1) * width + columns.len() <= out.len(),
            "a place for each pair"
        );
    }
    for step in 0..steps {
        let row = |at: usize| rows.as_ptr().wrapping_add(at * stride);
        let (even, odd) = (row(2 * step), row(2 * step + 1));
        let has_odd = 2 * step + 1 < length;
        let ahead = [2 * step + AHEAD, 2 * step + AHEAD + 1].map(row);
        for Piece { columns, first, width } in pieces {
            for row in ahead {
                _mm_prefetch::<_MM_HINT_T0>(row.wrapping_add(columns.start).cast());
            }
            let mask = ((1u32 << columns.len()) - 1) as u16;
            // SAFETY: the rows and `out` are long enough, as asserted above; the mask leaves out what is behind a piece.
            unsafe {
                let low = _mm512_maskz_loadu_ps(mask, even.add(columns.start));
                let high = if has_odd {
                    _mm512_maskz_loadu_ps(mask, odd.add(columns.start))
                } else {
                    _mm512_setzero_ps()
                };
                let to = out.as_mut_ptr().add(first + step * width);
                _mm512_mask_storeu_epi32(to.cast(), mask, sixteen_pairs(low, high));
            }
        }
    }
}

/// Columns of [`pair_pieces`], and where they go.
pub(crate) struct Piece {
    pub(crate) columns: Range<usize>,
    /// The place of the first pair of the first column.
    pub(crate) first: usize,
    /// Pairs from one step to the next.
    pub(crate) width: usize,
}

/// Makes `out[at / 2][row]` of at most 16 rows of `length` numbers each. Rows of `out` have `width` pairs.
#[target_feature(enable = "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw,avx512bf16")]
pub(crate) fn pair_turned(rows: &[f32], length: usize, (out, width): (&mut [Pair], usize)) {
    let count = rows.len() / length.max(1);
    assert!(count <= VECTOR, "a vector of rows");
    let mask = ((1u32 << count) - 1) as u16;
    for at in (0..length).step_by(2 * VECTOR) {
        let mut pairs = [_mm512_setzero_si512(); VECTOR];
        for (pairs, row) in pairs.iter_mut().zip(rows.chunks_exact(length)) {
            *pairs = consecutive_pairs(&row[at..]);
        }
        let steps = (length - at).div_ceil(2);
        for (step, pairs) in turned(pairs).into_iter().take(steps).enumerate() {
            let to = &mut out[(at / 2 + step) * width..][..count];
            // SAFETY: the mask leaves out what is behind the end.
            unsafe { _mm512_mask_storeu_epi32(to.as_mut_ptr().cast(), mask, pairs) };
        }
    }
}

/// The first 32 numbers, zeros where there are fewer, as pairs of neighbours.
#[inline]
#[target_feature(enable = "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw,avx512bf16")]
pub(crate) fn consecutive_pairs(values: &[f32]) -> __m512i {
    let (low, high) = values.split_at(values.len().min(VECTOR));
    // SAFETY: both are 512 bits, of which any are a value.
    unsafe { std::mem::transmute::<__m512bh, __m512i>(_mm512_cvtne2ps_pbh(sixteen(high), sixteen(low))) }
}

/// The first sixteen numbers, zeros where there are fewer.
#[inline]
#[target_feature(enable = "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw,avx512bf16")]
pub(crate) fn sixteen(values: &[f32]) -> __m512 {
    if values.len() >= VECTOR {
        // SAFETY: there are sixteen numbers.
        unsafe { _mm512_loadu_ps(values.as_ptr()) }
    } else {
        let mask = ((1u32 << values.len()) - 1) as u16;
        // SAFETY: the mask leaves out what is behind the end.
        unsafe { _mm512_maskz_loadu_ps(mask, values.as_ptr()) }
    }
}

/// Writes sixteen pairs to the beginning of `to`.
#[inline]
#[target_feature(enable = "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw,avx512bf16")]
pub(crate) fn store(pairs: __m512i, to: &mut [Pair]) {
    let to = &mut to[..VECTOR];
    // SAFETY: sixteen pairs are 512 bits.
    unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), pairs) };
}

/// The first eight numbers, zeros where there are fewer.
#[target_feature(enable = "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw,avx512bf16")]
fn four_pairs(values: &[f32]) -> __m128i {
    let wide: __m256 = if values.len() >= 8 {
        // SAFETY: there are eight numbers.
        unsafe { _mm256_loadu_ps(values.as_ptr()) }
    } else {
        let mask = ((1u32 << values.len()) - 1) as u8;
        // SAFETY: the mask leaves out what is behind the end.
        unsafe { _mm256_maskz_loadu_ps(mask, values.as_ptr()) }
    };
    // SAFETY: both are 128 bits, of which any are a value.
    unsafe { std::mem::transmute::<__m128bh, __m128i>(_mm256_cvtneps_pbh(wide)) }
}

#[inline]
#[target_feature(enable = "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw,avx512bf16")]
pub(crate) fn sixteen_pairs(even: __m512, odd: __m512) -> __m512i {
    // SAFETY: both are 512 bits, of which any are a value.
    in_turn(unsafe { std::mem::transmute::<__m512bh, __m512i>(_mm512_cvtne2ps_pbh(odd, even)) })
}

/// The numbers of the lower half and those of the upper one in turn.
#[inline]
#[target_feature(enable = "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw,avx512bf16")]
fn in_turn(halves: __m512i) -> __m512i {
    /// The even numbers are the lower 16 of 32, the odd ones the upper.
    static ORDER: [u16; 2 * VECTOR] = {
        let mut order = [0; 2 * VECTOR];
        let mut at = 0;
        while at < VECTOR {
            order[2 * at] = at as u16;
            order[2 * at + 1] = (VECTOR + at) as u16;
            at += 1;
        }
        order
    };
    // SAFETY: the order is 512 bits.
    let order = unsafe { _mm512_loadu_si512(ORDER.as_ptr().cast()) };
    _mm512_permutexvar_epi16(order, halves)
}

/// The first sixteen numbers of each, zeros where there are fewer, as pairs.
#[inline]
#[target_feature(enable = "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw,avx512bf16")]
pub(crate) fn interleaved(even: &[Bf16], odd: &[Bf16]) -> __m512i {
    let sixteen = |values: &[Bf16]| {
        if values.len() >= VECTOR {
            // SAFETY: there are sixteen numbers of 16 bits.
            unsafe { _mm256_loadu_si256(values.as_ptr().cast()) }
        } else {
            let mask = ((1u32 << values.len()) - 1) as u16;
            // SAFETY: the mask leaves out what is behind the end.
            unsafe { _mm256_maskz_loadu_epi16(mask, values.as_ptr().cast()) }
        }
    };
    in_turn(_mm512_inserti64x4::<1>(
        _mm512_castsi256_si512(sixteen(even)),
        sixteen(odd),
    ))
}

/// The columns of four rows of four.
#[target_feature(enable = "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw,avx512bf16")]
fn columns_of([a, b, c, d]: [__m128i; 4]) -> [__m128i; 4] {
    let (ab_low, ab_high) = (_mm_unpacklo_epi32(a, b), _mm_unpackhi_epi32(a, b));
    let (cd_low, cd_high) = (_mm_unpacklo_epi32(c, d), _mm_unpackhi_epi32(c, d));
    [
        _mm_unpacklo_epi64(ab_low, cd_low),
        _mm_unpackhi_epi64(ab_low, cd_low),
        _mm_unpacklo_epi64(ab_high, cd_high),
        _mm_unpackhi_epi64(ab_high, cd_high),
    ]
}

/// The columns of sixteen rows of sixteen.
#[inline]
#[target_feature(enable = "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw,avx512bf16")]
pub(crate) fn turned(rows: [__m512i; 16]) -> [__m512i; 16] {
    // In each quarter of the vectors, the columns of four rows of four.
    let mut quarters = rows;
    for i in (0..16).step_by(4) {
        let [a, b, c, d] = [rows[i], rows[i + 1], rows[i + 2], rows[i + 3]];
        let (ab_low, ab_high) = (_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
        let (cd_low, cd_high) = (_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
        quarters[i] = _mm512_unpacklo_epi64(ab_low, cd_low);
        quarters[i + 1] = _mm512_unpackhi_epi64(ab_low, cd_low);
        quarters[i + 2] = _mm512_unpacklo_epi64(ab_high, cd_high);
        quarters[i + 3] = _mm512_unpackhi_epi64(ab_high, cd_high);
    }
    // Then the quarters themselves.
    let mut columns = rows;
    for i in 0..4 {
        let [a, b, c, d] = [quarters[i], quarters[i + 4], quarters[i + 8], quarters[i + 12]];
        let (ab_low, ab_high) = (_mm512_shuffle_i32x4::<0x44>(a, b), _mm512_shuffle_i32x4::<0xee>(a, b));
        let (cd_low, cd_high) = (_mm512_shuffle_i32x4::<0x44>(c, d), _mm512_shuffle_i32x4::<0xee>(c, d));
        columns[i] = _mm512_shuffle_i32x4::<0x88>(ab_low, cd_low);
        columns[i + 4] = _mm512_shuffle_i32x4::<0xdd>(ab_low, cd_low);
        columns[i + 8] = _mm512_shuffle_i32x4::<0x88>(ab_high, cd_high);
        columns[i + 12] = _mm512_shuffle_i32x4::<0xdd>(ab_high, cd_high);
    }
    columns
}
