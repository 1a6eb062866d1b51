//! The options of a trainer.

use std::path::PathBuf;

use serde_json::Value;

use crate::config::{BaseDtype, ModelConfig, WeightDtype};
use crate::error::EngineError;
use crate::model::lora::LoraConfig;

/// A loss and its parameters.
#[derive(Debug, Clone)]
pub struct LossConfig {
    /// A name that [`crate::loss::policy_loss`] knows.
    pub name: String,
    /// An object of the loss's keys, or null.
    pub params: Value,
}

impl Default for LossConfig {
    fn default() -> Self {
        Self {
            name: crate::loss::LOSS_DEFAULT.into(),
            params: Value::Null,
        }
    }
}

/// How gradients become steps.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum OptimMethod {
    /// torch.optim.AdamW: decoupled weight decay.
    #[default]
    AdamW,
    /// torch.optim.SGD: weight decay joins the gradient; reads neither `betas` nor `eps`.
    Sgd {
        /// Decay of the momentum buffer; 0 for no momentum.
        momentum: f64,
        /// Look ahead by one step of the buffer; without momentum it changes nothing.
        nesterov: bool,
    },
    /// Orthogonal updates for the matrices inside the layers, AdamW for everything else.
    Muon {
        /// Decay of the momentum buffer, used as in Nesterov's method.
        momentum: f64,
    },
}

/// The optimizer, with clipping by the global gradient norm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OptimConfig {
    /// How gradients become steps.
    pub method: OptimMethod,
    /// Learning rate of steps that are given none.
    pub lr: f64,
    /// Decay of the first and second moment.
    pub betas: (f64, f64),
    /// Added to the root of the second moment.
    pub eps: f64,
    /// Weight decay, per unit of learning rate.
    pub weight_decay: f64,
    /// Gradients are scaled down to this global norm; None for no clipping.
    pub max_norm: Option<f64>,
    /// Whether norms and biases decay too.
    pub decay_1d: bool,
    /// The format of the moments between steps. In bfloat16 they are rounded stochastically, by noise that follows from the step, the
    /// parameter's name and the element.
    pub state_dtype: WeightDtype,
}

impl Default for OptimConfig {
    fn default() -> Self {
        Self {
            method: OptimMethod::AdamW,
            lr: 1e-6,
            betas: (0.9, 0.999),
            eps: 1e-8,
            weight_decay: 0.01,
            max_norm: Some(1.0),
            decay_1d: true,
            state_dtype: WeightDtype::F32,
        }
    }
}

impl OptimConfig {
    /// Refuses numbers with which the method is not defined.
    pub(crate) fn check(&self) -> Result<(), EngineError> {
        let wrong = |what: &str, value: f64| Err(EngineError::Input(format!("optim.{what} is {value}")));
        let at_least_zero = |value: f64| value >= 0.0 && value.is_finite();
        if !at_least_zero(self.lr) {
            return wrong("lr", self.lr);
        }
        for beta in [self.betas.0, self.betas.1] {
            if !(0.0..1.0).contains(&beta) {
                return wrong("betas", beta);
            }
        }
        if let OptimMethod::Sgd { momentum, .. } | OptimMethod::Muon { momentum } = self.method
            && !(0.0..1.0).contains(&momentum)
        {
            return wrong("momentum", momentum);
        }
        if !at_least_zero(self.eps) {
            return wrong("eps", self.eps);
        }
        if !at_least_zero(self.weight_decay) {
            return wrong("weight_decay", self.weight_decay);
        }
        match self.max_norm {
            Some(norm) if !(norm > 0.0 && norm.is_finite()) => wrong("max_norm", norm),
            _ => Ok(()),
        }
    }
}

/// How the routers of mixtures of experts are trained.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RouterOptions {
    /// Factor of the loss that balances the experts (transformers' `router_aux_loss_coef`); 0 for none. Each call of
    /// [`crate::Trainer::forward_backward`] has the whole factor: n calls for one step take an n-th of it.
    pub aux_loss_coef: f64,
    /// The routers' weights stay as they are: they have no gradient and do not decay.
    pub frozen: bool,
}

impl RouterOptions {
    /// Refuses numbers without a meaning, and models without a router.
    pub(crate) fn check(&self, config: &ModelConfig) -> Result<(), EngineError> {
        let Self { aux_loss_coef, frozen } = *self;
        if !(aux_loss_coef >= 0.0 && aux_loss_coef.is_finite()) {
            return Err(EngineError::Input(format!("router.aux_loss_coef is {aux_loss_coef}")));
        }
        if config.moe.is_none() && (aux_loss_coef > 0.0 || frozen) {
            return Err(EngineError::Input(
                "the options of the router are set, and the model has no mixture of experts".to_owned(),
            ));
        }
        Ok(())
    }
}

/// Which activations of the forward pass are kept for the backward pass. The choice does not change a bit of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ActivationPolicy {
    /// Keep the activations of as many layers as fit in [`ACTIVATION_BUDGET_BYTES`], recompute the others.
    #[default]
    Auto,
    /// Keep all.
    Keep,
    /// Keep each layer's input only and run the layer again.
    Recompute,
}

/// Most bytes that [`ActivationPolicy::Auto`] keeps.
pub const ACTIVATION_BUDGET_BYTES: usize = 1 << 30;

impl ActivationPolicy {
    /// How many of `layers` layers keep `bytes` bytes of activations each.
    pub(crate) fn kept_layers(self, layers: usize, bytes: usize) -> usize {
        match self {
            Self::Keep => layers,
            Self::Recompute => 0,
            Self::Auto => layers.min(ACTIVATION_BUDGET_BYTES / bytes.max(1)),
        }
    }
}

/// Options of [`crate::Trainer::open`].
#[derive(Debug, Clone, Default)]
pub struct TrainerOptions {
    /// The loss.
    pub loss: LossConfig,
    /// The optimizer.
    pub optim: OptimConfig,
    /// How the routers are trained.
    pub router: RouterOptions,
    /// Which activations are kept.
    pub activations: ActivationPolicy,
    /// The format of the weights that the model computes with and that [`crate::Trainer::save`] writes. The trainer's own copy, which the
    /// optimizer changes, is f32 in any case.
    pub dtype: WeightDtype,
    /// The format of the frozen projections under [`TrainerOptions::lora`]; None for `dtype`.
    pub base_dtype: Option<BaseDtype>,
    /// The model whose tokenizer, chat template and generation config are copied into every saved folder: the model that a run began with.
    /// They are read when the trainer is opened. `None` takes those beside the weights, if there are any.
    pub companions: Option<PathBuf>,
    /// Trains an adapter and leaves the weights as they are; None trains all weights.
    pub lora: Option<LoraOptions>,
}

/// The adapter that a trainer trains.
#[derive(Debug, Clone, Default)]
pub struct LoraOptions {
    /// Rank, scale, targets, dropout.
    pub config: LoraConfig,
    /// Seed of a new adapter's matrices and of the dropout.
    pub seed: u64,
    /// The folder of an adapter to continue with; None begins a new one.
    pub from: Option<PathBuf>,
    /// Name or folder of the model, which is saved with the adapter.
    pub base: String,
}
