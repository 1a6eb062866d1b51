//! First-fit decreasing: at most 11/9 OPT + 6/9 bins, O(n log n) to sort and O(log bins) for each run of equal lengths
//! that goes into one bin.

/// Bins of sample indices, each with a total length of at most `capacity`. `samples` index `lengths`, which must not
/// exceed `capacity` nor be 0. Samples of equal length go by their index.
pub(crate) fn first_fit_decreasing(samples: &[u32], lengths: &[u32], capacity: u32) -> Vec<Vec<u32>> {
    let mut order: Vec<u64> = samples
        .iter()
        .map(|&sample| u64::from(!lengths[sample as usize]) << 32 | u64::from(sample))
        .collect();
    order.sort_unstable();
    let total: u64 = samples.iter().map(|&sample| u64::from(lengths[sample as usize])).sum();
    let mut room = RoomTree::new(most_bins(total, capacity, samples.len()), capacity);
    let mut bins: Vec<Vec<u32>> = Vec::new();
    for run in order.chunk_by(|left, right| left >> 32 == right >> 32) {
        let length = !((run[0] >> 32) as u32);
        let mut left = run;
        // A sample of the run fits no earlier bin than the sample before it, so each bin takes all that fit at once.
        while !left.is_empty() {
            let (bin, count) = room.take_first(length, left.len());
            let (taken, rest) = left.split_at(count);
            if bin == bins.len() {
                bins.push(Vec::new());
            }
            bins[bin].extend(taken.iter().map(|&key| key as u32));
            left = rest;
        }
    }
    bins
}

/// Bound on the number of bins. Any two bins of first-fit together hold more than one bin's capacity, so there are at most twice as
/// many bins as the total needs, and one more.
fn most_bins(total: u64, capacity: u32, samples: usize) -> usize {
    let full = usize::try_from(total / u64::from(capacity)).unwrap_or(samples);
    full.saturating_mul(2).saturating_add(1).min(samples)
}

/// A complete binary tree whose leaves are the room left per bin and whose inner nodes are the larger child.
struct RoomTree {
    nodes: Vec<u32>,
    leaves: usize,
}

impl RoomTree {
    fn new(bins: usize, capacity: u32) -> Self {
        let leaves = bins.next_power_of_two();
        Self {
            nodes: vec![capacity; 2 * leaves],
            leaves,
        }
    }

    /// Puts samples of `length`, `count` of them or as many as fit, into the leftmost bin with room for one; there always is such a
    /// bin. Returns the bin and how many samples it took, at least one.
    fn take_first(&mut self, length: u32, count: usize) -> (usize, usize) {
        let mut node = 1;
        while node < self.leaves {
            node = 2 * node + usize::from(self.nodes[2 * node] < length);
        }
        let bin = node - self.leaves;
        let fit = (self.nodes[node] / length).min(u32::try_from(count).unwrap_or(u32::MAX));
        self.nodes[node] -= fit * length;
        while node > 1 {
            node /= 2;
            let larger = self.nodes[2 * node].max(self.nodes[2 * node + 1]);
            if self.nodes[node] == larger {
                break;
            }
            self.nodes[node] = larger;
        }
        (bin, fit as usize)
    }
}
