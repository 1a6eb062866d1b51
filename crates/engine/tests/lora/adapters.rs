//! Options of adapters for the models of the tests.

use prl_engine::{LoraConfig, LoraOptions, OptimConfig, TrainerOptions};

/// Options of an adapter of the usual projections.
pub(crate) fn lora() -> LoraConfig {
    LoraConfig {
        rank: 3,
        alpha: 7.0,
        ..LoraConfig::default()
    }
}

pub(crate) fn options(config: LoraConfig) -> TrainerOptions {
    TrainerOptions {
        optim: OptimConfig {
            lr: 3e-2,
            ..OptimConfig::default()
        },
        lora: Some(LoraOptions {
            config,
            seed: 9,
            ..LoraOptions::default()
        }),
        ..TrainerOptions::default()
    }
}
