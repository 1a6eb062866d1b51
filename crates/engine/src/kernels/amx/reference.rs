//! The computation of TDPBF16PS, in portable Rust.

/// The element `first` with the products of `left` and `right` added: numbers of the format bfloat16, one of each for every k.
pub(crate) fn chain(first: f32, products: impl IntoIterator<Item = (f32, f32)>) -> f32 {
    let (mut sum, mut partial) = (first, [0f32; 2]);
    let mut count = 0;
    for (left, right) in products {
        let even_or_odd = &mut partial[count % 2];
        *even_or_odd = flushed(flushed(left).mul_add(flushed(right), *even_or_odd));
        count += 1;
        if count % 32 == 0 {
            sum = added(sum, partial);
            partial = [0.0; 2];
        }
    }
    if count % 32 > 0 { added(sum, partial) } else { sum }
}

fn added(sum: f32, [even, odd]: [f32; 2]) -> f32 {
    flushed(flushed(sum) + flushed(even + odd))
}

/// Numbers below the smallest normal one become zeros of their sign.
pub(crate) fn flushed(value: f32) -> f32 {
    if value.is_subnormal() {
        0f32.copysign(value)
    } else {
        value
    }
}
