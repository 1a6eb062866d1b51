//! Compute, training and generation for small decoder models (Llama, Mistral, Qwen2/2.5, Qwen3, Qwen3-MoE) on CPUs, in f32 with weights in
//! f32 or bfloat16.
//!
//! Every forward reduction has one order per output element, whatever the batch, the chunking of a prompt and the number of threads:
//! for the same weights and tier, [`Model::logprobs`], [`Model::forward_cached`] with [`Model::head_logits`] and the trainer agree bit for
//! bit. Gradients do not depend on the number of threads. The crate handles token ids, never text, and does not know its host language.

mod companions;
mod compute;
mod config;
mod counter;
mod error;
pub mod generate;
pub mod head;
mod isa;
mod kernels;
pub mod loss;
mod merge;
mod model;
mod pool;
mod random;
mod train;

pub use compute::Compute;
pub use config::{Architecture, BaseDtype, Llama3, ModelConfig, Moe, RopeScaling, WeightDtype, WeightFormat, Yarn};
pub use error::EngineError;
pub use isa::Tier;
pub use merge::merge;
pub use model::lora::{Adapter, LoraConfig, LoraTarget};
pub use model::routes::{NO_EXPERT, RecordedExperts, RoutedExperts};
pub use model::{CachedSequence, KvCache, Model};
pub use random::random_checkpoint;
#[doc(hidden)]
pub use train::measured;
pub use train::{
    ACTIVATION_BUDGET_BYTES, ActivationPolicy, FrozenModel, LoraOptions, LossConfig, OptimConfig, OptimMethod,
    RouterOptions, SavedWeights, StepStats, TrainBatch, Trainer, TrainerOptions,
};
