//! The options of an adapter, under the names that `peft` gives them.

use crate::config::ModelConfig;
use crate::error::EngineError;

/// Larger ranks are no low-rank adapters; the bound keeps a wrong number from taking all memory.
const MOST_RANK: usize = 4096;

/// A projection of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LoraTarget {
    /// `self_attn.q_proj`.
    Q,
    /// `self_attn.k_proj`.
    K,
    /// `self_attn.v_proj`.
    V,
    /// `self_attn.o_proj`.
    O,
    /// `mlp.gate_proj`.
    Gate,
    /// `mlp.up_proj`.
    Up,
    /// `mlp.down_proj`.
    Down,
}

impl LoraTarget {
    /// All projections.
    pub const ALL: [Self; 7] = [Self::Q, Self::K, Self::V, Self::O, Self::Gate, Self::Up, Self::Down];

    /// The module's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Q => "q_proj",
            Self::K => "k_proj",
            Self::V => "v_proj",
            Self::O => "o_proj",
            Self::Gate => "gate_proj",
            Self::Up => "up_proj",
            Self::Down => "down_proj",
        }
    }

    /// The target of this name.
    ///
    /// # Errors
    /// [`EngineError::ConfigUnsupported`] for any other module.
    pub fn from_name(name: &str) -> Result<Self, EngineError> {
        Self::ALL
            .into_iter()
            .find(|target| target.name() == name)
            .ok_or_else(|| {
                let known = Self::ALL.map(Self::name).join(", ");
                EngineError::ConfigUnsupported(format!("target module {name:?}: the engine adapts {known}"))
            })
    }

    /// Whether it belongs to the feed-forward network.
    pub(crate) fn is_feed_forward(self) -> bool {
        matches!(self, Self::Gate | Self::Up | Self::Down)
    }
}

/// Rank, scale and targets.
#[derive(Debug, Clone, PartialEq)]
pub struct LoraConfig {
    /// Rows of A.
    pub rank: usize,
    /// The product is scaled by alpha / rank.
    pub alpha: f64,
    /// Scale by alpha / sqrt(rank) instead.
    pub rslora: bool,
    /// Share of the inputs of A that is zeroed in training, 0 to below 1. Each token's inputs of q, k and v (and of gate and up) lose the
    /// same elements. Sampling and scoring never drop.
    pub dropout: f64,
    /// The projections that are adapted, in every layer. Empty: all of a dense model's, those of attention in a mixture of experts.
    pub targets: Vec<LoraTarget>,
}

impl Default for LoraConfig {
    fn default() -> Self {
        Self {
            rank: 16,
            alpha: 32.0,
            rslora: false,
            dropout: 0.0,
            targets: Vec::new(),
        }
    }
}

impl LoraConfig {
    /// The options for a model, with its usual targets where none are named.
    pub(crate) fn for_model(&self, model: &ModelConfig) -> Self {
        let mut config = self.clone();
        if config.targets.is_empty() {
            config.targets = LoraTarget::ALL.to_vec();
            config
                .targets
                .retain(|target| !(has_experts(model) && target.is_feed_forward()));
        }
        config
    }

    /// The factor of the product.
    pub(crate) fn scale(&self) -> f32 {
        let rank = self.rank as f64;
        (self.alpha / if self.rslora { rank.sqrt() } else { rank }) as f32
    }

    /// Its options in one line.
    pub(crate) fn summary(&self) -> String {
        let targets: Vec<&str> = self.targets.iter().map(|target| target.name()).collect();
        let rslora = if self.rslora { ", rslora" } else { "" };
        format!(
            "rank {}, alpha {}{rslora}, targets {}",
            self.rank,
            self.alpha,
            targets.join(" ")
        )
    }

    /// Refuses numbers and targets that give no adapter of a model of this config.
    pub(crate) fn check(&self, model: &ModelConfig) -> Result<(), EngineError> {
        let wrong = |what: String| Err(EngineError::Input(format!("lora.{what}")));
        if self.rank == 0 || self.rank > MOST_RANK {
            return wrong(format!("rank is {}: it must be from 1 to {MOST_RANK}", self.rank));
        }
        if !(self.alpha.is_finite() && self.alpha > 0.0) {
            return wrong(format!("alpha is {}: it must be above 0", self.alpha));
        }
        if !(0.0..1.0).contains(&self.dropout) {
            return wrong(format!("dropout is {}: it must be from 0 to below 1", self.dropout));
        }
        match self.targets.iter().find(|target| target.is_feed_forward()) {
            Some(target) if has_experts(model) => Err(EngineError::ConfigUnsupported(format!(
                "lora.targets has {}, which each expert of this model has: the engine adapts the projections of attention in a mixture \
                 of experts (q_proj, k_proj, v_proj, o_proj)",
                target.name()
            ))),
            _ => Ok(()),
        }
    }
}

fn has_experts(model: &ModelConfig) -> bool {
    (0..model.num_layers).any(|layer| model.moe(layer).is_some())
}
