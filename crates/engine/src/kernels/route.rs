//! Rows of a mixture of experts: the router's softmax and choice, and sums of scaled rows.

use super::attention::exponentials;
use super::{LANES, Lanes, sum_lanes, tiered};

tiered! {
    /// Overwrites a row of logits by its softmax.
    pub(crate) fn softmax_row(row: &mut [f32]) = softmax_row_body
}

tiered! {
    /// `y[i] += a * x[i]`.
    pub(crate) fn add_scaled(y: &mut [f32], a: f32, x: &[f32]) = add_scaled_body
}

tiered! {
    /// `y[i] *= a`.
    pub(crate) fn scale(y: &mut [f32], a: f32) = scale_body
}

tiered! {
    /// `sum a[i] * b[i]`.
    pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 = dot_body
}

/// Writes the indices of the `chosen.len()` largest probabilities, ascending. Of equal ones the lower index is taken.
pub(crate) fn choose(probabilities: &[f32], chosen: &mut [u32]) {
    for at in 0..chosen.len() {
        let (taken, rest) = chosen.split_at_mut(at);
        let mut best: Option<(usize, f32)> = None;
        for (index, &probability) in probabilities.iter().enumerate() {
            let is_better = best.is_none_or(|(_, most)| probability > most);
            if is_better && !taken.contains(&(index as u32)) {
                best = Some((index, probability));
            }
        }
        rest[0] = best.map_or(0, |(index, _)| index as u32);
    }
    chosen.sort_unstable();
}

#[inline(always)]
fn softmax_row_body<L: Lanes>(row: &mut [f32]) {
    let (_, sum) = exponentials::<L>(row);
    for x in row {
        *x /= sum;
    }
}

#[inline(always)]
fn add_scaled_body<L: Lanes>(y: &mut [f32], a: f32, x: &[f32]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y = L::mul_add(a, *x, *y);
    }
}

#[inline(always)]
fn scale_body<L: Lanes>(y: &mut [f32], a: f32) {
    for y in y {
        *y *= a;
    }
}

#[inline(always)]
fn dot_body<L: Lanes>(a: &[f32], b: &[f32]) -> f32 {
    let ((a, a_tail), (b, b_tail)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut lanes = [0f32; LANES];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            lanes[lane] = L::mul_add(a[lane], b[lane], lanes[lane]);
        }
    }
    for (lane, (a, b)) in a_tail.iter().zip(b_tail).enumerate() {
        lanes[lane] = L::mul_add(*a, *b, lanes[lane]);
    }
    sum_lanes(lanes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_choice_is_the_first_of_a_stable_descending_order(
            probabilities in prop::collection::vec((0u8..5).prop_map(f32::from), 1..20), count in 1usize..20,
        ) {
            let count = count.min(probabilities.len());
            let mut chosen = vec![0; count];
            choose(&probabilities, &mut chosen);
            let mut order: Vec<u32> = (0..probabilities.len() as u32).collect();
            order.sort_by(|&a, &b| probabilities[b as usize].total_cmp(&probabilities[a as usize]));
            order.truncate(count);
            order.sort_unstable();
            prop_assert_eq!(chosen, order);
        }
    }

    #[test]
    fn a_row_without_numbers_chooses_distinct_experts() {
        let mut chosen = [0; 3];
        choose(&[f32::NAN; 4], &mut chosen);
        assert_eq!(chosen, [0, 1, 2]);
    }
}
