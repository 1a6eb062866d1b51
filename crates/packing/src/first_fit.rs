//! First-fit decreasing with a segment tree over the room left in each bin: O(n log n), at most 11/9 OPT + 6/9 bins.

/// Bins of sample indices, each with a total length of at most `capacity`; lengths must not exceed `capacity`.
pub(crate) fn first_fit_decreasing(lengths: &[u32], capacity: u32) -> Vec<Vec<u32>> {
    let mut order: Vec<u32> = (0u32..).take(lengths.len()).collect();
    order.sort_by_key(|&sample| (std::cmp::Reverse(lengths[sample as usize]), sample));
    let mut room = RoomTree::new(lengths.len(), capacity);
    let mut bins: Vec<Vec<u32>> = Vec::new();
    for sample in order {
        let bin = room.take_first(lengths[sample as usize]);
        if bin == bins.len() {
            bins.push(Vec::new());
        }
        bins[bin].push(sample);
    }
    bins
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

    /// Takes `length` from the leftmost bin that has the room; there is always one, as there are as many bins as
    /// samples and each sample fits an empty bin.
    fn take_first(&mut self, length: u32) -> usize {
        let mut node = 1;
        while node < self.leaves {
            node *= 2;
            if self.nodes[node] < length {
                node += 1;
            }
        }
        let bin = node - self.leaves;
        self.nodes[node] -= length;
        while node > 1 {
            node /= 2;
            self.nodes[node] = self.nodes[2 * node].max(self.nodes[2 * node + 1]);
        }
        bin
    }
}
