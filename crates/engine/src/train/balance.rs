//! The auxiliary loss that balances the experts: `load_balancing_loss_func` of transformers (Switch Transformer, arXiv:2101.03961, equations 4 to 6).
//!
//! Over all R rows of the layers with a router, with E experts of which c_e pairs of a row and an expert chose e, and p the router's
//! probabilities: loss = E * sum_e (c_e / R) (sum_rows p_e / R), which is the experts of a token when all are used alike. The choice has no
//! gradient: d loss / d p_e of a row = E c_e / R^2. Rows that the model need not compute are not counted, and rows that sequences share are
//! counted once.
//!
//! R and c are those of a bin. The loss of a call is the mean of its bins' losses, each by its rows, so that it depends on how the call is cut
//! into bins: as in transformers, where each forward pass has its own loss, and as in Megatron-LM's `aux_loss`. The loss over all bins at once
//! (arXiv:2501.11873) takes the c of all bins before the first backward pass, which is one more forward pass of the whole batch; it is not
//! implemented. A run's step is one call. Gradients of several calls add up, and each call has the whole factor: a caller that makes n
//! calls for a step opens the trainer with an n-th of it.

use crate::config::Moe;
use crate::model::experts::Routing;

/// The choices of the routers of a bin.
#[derive(Debug, Default)]
pub(super) struct Balance {
    /// Pairs of a row and an expert, by expert.
    chosen: Vec<u64>,
    /// Sums of probabilities, by expert.
    probability: Vec<f64>,
    /// Rows of all layers with a router.
    rows: usize,
}

impl Balance {
    /// Forgets an earlier bin.
    pub(super) fn begin(&mut self, moe: &Moe) {
        self.chosen.clear();
        self.chosen.resize(moe.num_experts, 0);
        self.probability.clear();
        self.probability.resize(moe.num_experts, 0.0);
        self.rows = 0;
    }

    /// Adds a layer after its forward pass.
    pub(super) fn add(&mut self, routing: &Routing) {
        for (count, ends) in self.chosen.iter_mut().zip(routing.starts.windows(2)) {
            *count += (ends[1] - ends[0]) as u64;
        }
        for row in routing.probabilities.chunks_exact(self.probability.len()) {
            let sums = self.probability.iter_mut().zip(row);
            sums.for_each(|(sum, &probability)| *sum += f64::from(probability));
            self.rows += 1;
        }
    }

    /// The bin's loss; 0 without rows.
    pub(super) fn loss(&self) -> f64 {
        let rows = self.rows.max(1) as f64;
        let pairs = self.chosen.iter().zip(&self.probability);
        let sum: f64 = pairs.map(|(&chosen, probability)| chosen as f64 * probability).sum();
        self.chosen.len() as f64 * sum / (rows * rows)
    }

    /// The gradient of `weight` times the loss by the probabilities of any row: one number for each expert.
    pub(super) fn slopes(&self, weight: f64) -> Vec<f32> {
        let rows = self.rows.max(1) as f64;
        let scale = weight * self.chosen.len() as f64 / (rows * rows);
        self.chosen
            .iter()
            .map(|&chosen| (scale * chosen as f64) as f32)
            .collect()
    }
}
