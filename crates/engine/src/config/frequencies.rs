//! Rotary frequencies and the factor of their cosines and sines, rounded to f32 where transformers rounds (`modeling_rope_utils.py`).

use super::{ModelConfig, RopeScaling};

impl ModelConfig {
    /// The rotary frequencies of the `head_dim / 2` pairs, in radians per token.
    pub fn inverse_frequencies(&self) -> Vec<f32> {
        let powers = (0..self.head_dim / 2).map(|pair| {
            let exponent = (2 * pair) as f32 / self.head_dim as f32;
            self.rope_theta.powf(f64::from(exponent))
        });
        match self.rope_scaling {
            // Up to `max_position_embeddings` tokens, which is all that the engine computes, dynamic scaling changes nothing.
            RopeScaling::None | RopeScaling::Dynamic { .. } => powers.map(|power| (1.0 / power) as f32).collect(),
            RopeScaling::Linear { factor } => powers.map(|power| (1.0 / power) as f32 / factor as f32).collect(),
            RopeScaling::Llama3(scaling) => powers.map(|power| scaling.frequency((1.0 / power) as f32)).collect(),
            RopeScaling::Yarn(scaling) => {
                let range = scaling.interpolated_pairs(self.head_dim as f64, self.rope_theta);
                let pairs = powers.enumerate();
                pairs
                    .map(|(pair, power)| scaling.frequency(pair, power as f32, range))
                    .collect()
            }
        }
    }

    /// The factor of rotary cosines and sines; 1 but for yarn.
    pub fn rope_attention_factor(&self) -> f32 {
        match self.rope_scaling {
            RopeScaling::Yarn(Yarn { attention_factor, .. }) => attention_factor as f32,
            _ => 1.0,
        }
    }
}

/// The numbers of Llama 3's scaling.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Llama3 {
    /// The divisor of low frequencies.
    pub factor: f64,
    /// Wavelengths above `original_max_position_embeddings / low_freq_factor` are low frequencies.
    pub low_freq_factor: f64,
    /// Wavelengths below `original_max_position_embeddings / high_freq_factor` are high frequencies.
    pub high_freq_factor: f64,
    /// The context length before scaling.
    pub original_max_position_embeddings: f64,
}

impl Llama3 {
    fn frequency(&self, base: f32) -> f32 {
        let Self {
            factor,
            low_freq_factor,
            high_freq_factor,
            original_max_position_embeddings,
        } = *self;
        let frequency = f64::from(base);
        let wavelength = 2.0 * std::f64::consts::PI / frequency;
        if wavelength > original_max_position_embeddings / low_freq_factor {
            (frequency / factor) as f32
        } else if wavelength < original_max_position_embeddings / high_freq_factor {
            base
        } else {
            let smooth = (original_max_position_embeddings / wavelength - low_freq_factor)
                / (high_freq_factor - low_freq_factor);
            ((1.0 - smooth) * frequency / factor + smooth * frequency) as f32
        }
    }
}

/// The numbers of YaRN (Peng et al. 2023).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Yarn {
    /// The divisor of low frequencies.
    pub factor: f64,
    /// The factor of cosines and sines, which makes attention sharper.
    pub attention_factor: f64,
    /// Frequencies that turn so many times or more in the original context are kept.
    pub beta_fast: f64,
    /// Frequencies that turn so many times or less in the original context are divided.
    pub beta_slow: f64,
    /// Whether the range of pairs between the two is widened to whole pairs.
    pub truncate: bool,
    /// The context length before scaling.
    pub original_max_position_embeddings: f64,
}

impl Yarn {
    /// The factor of cosines and sines that follows from the scale when the config names none.
    pub(super) fn attention_factor(factor: f64, mscale: f64, mscale_all_dim: f64) -> f64 {
        let magnitude = |mscale: f64| {
            if factor <= 1.0 {
                1.0
            } else {
                0.1 * mscale * factor.ln() + 1.0
            }
        };
        if mscale != 0.0 && mscale_all_dim != 0.0 {
            magnitude(mscale) / magnitude(mscale_all_dim)
        } else {
            magnitude(1.0)
        }
    }

    /// The pairs between which frequencies go over from kept to divided.
    fn interpolated_pairs(&self, dim: f64, theta: f64) -> (f32, f32) {
        let pair_of = |turns: f64| {
            let wavelength = self.original_max_position_embeddings / (turns * 2.0 * std::f64::consts::PI);
            dim * wavelength.ln() / (2.0 * theta.ln())
        };
        let (mut low, mut high) = (pair_of(self.beta_fast), pair_of(self.beta_slow));
        if self.truncate {
            (low, high) = (low.floor(), high.ceil());
        }
        (low, high) = (low.max(0.0), high.min(dim - 1.0));
        if low == high {
            high += 0.001;
        }
        (low as f32, (high - low) as f32)
    }

    fn frequency(&self, pair: usize, power: f32, (low, width): (f32, f32)) -> f32 {
        let (kept, divided) = (1.0 / power, 1.0 / (self.factor as f32 * power));
        let share_kept = 1.0 - ((pair as f32 - low) / width).clamp(0.0, 1.0);
        divided * (1.0 - share_kept) + kept * share_kept
    }
}
