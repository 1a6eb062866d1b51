//! Samples and batches that the tests share.

use prl_packing::{
    Advantages, Batch, BatchMetadata, BuildOptions, PackError, RoutedExpertsBuf, SampleRef, UNSAMPLED, build_batch,
};

/// Owned columns of a sample.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sample {
    pub(crate) token_ids: Vec<u32>,
    pub(crate) mask: Vec<u8>,
    pub(crate) logprobs: Vec<f32>,
    pub(crate) advantages: Vec<f32>,
    pub(crate) temperature: f32,
    pub(crate) env_id: u16,
    pub(crate) version_spans: Vec<[u32; 2]>,
    pub(crate) unbroken: Vec<[u32; 2]>,
    pub(crate) rl_weights: Option<Vec<f32>>,
    pub(crate) ce_weights: Option<Vec<f32>>,
    pub(crate) ref_kl_weights: Option<Vec<f32>>,
    pub(crate) reference_logprobs: Option<Vec<f32>>,
    pub(crate) routed_experts: Option<RoutedExpertsBuf>,
}

impl Sample {
    /// Tokens `first..`, of which the last `sampled` train.
    pub(crate) fn new(first: u32, length: usize, sampled: usize, env_id: u16) -> Self {
        let prompt = length - sampled;
        let on = |value: f32| (0..length).map(|at| if at < prompt { 0.0 } else { value }).collect();
        Self {
            token_ids: (first..).take(length).collect(),
            mask: (0..length).map(|at| u8::from(at >= prompt)).collect(),
            logprobs: on(-0.5),
            advantages: on(2.0),
            temperature: 0.7,
            env_id,
            version_spans: if sampled == 0 {
                vec![]
            } else {
                vec![[0, UNSAMPLED], [u32::try_from(prompt).unwrap(), 4]]
            },
            ..Self::default()
        }
    }

    pub(crate) fn borrowed(&self) -> SampleRef<'_> {
        SampleRef {
            token_ids: &self.token_ids,
            mask: &self.mask,
            logprobs: &self.logprobs,
            advantages: Advantages::PerToken(&self.advantages),
            temperature: self.temperature,
            env_id: self.env_id,
            version_spans: &self.version_spans,
            unbroken: &self.unbroken,
            rl_weights: self.rl_weights.as_deref(),
            ce_weights: self.ce_weights.as_deref(),
            ref_kl_weights: self.ref_kl_weights.as_deref(),
            reference_logprobs: self.reference_logprobs.as_deref(),
            routed_experts: self.routed_experts.as_ref().map(RoutedExpertsBuf::view),
        }
    }
}

pub(crate) const OPTIONS: BuildOptions = BuildOptions {
    ranks: 1,
    seq_len: 8,
    pad_to_multiple_of: 1,
    pad_token_id: 99,
};

pub(crate) fn build(samples: &[Sample], plan: &[Vec<u32>], options: BuildOptions) -> Result<Vec<Batch>, PackError> {
    let samples: Vec<_> = samples.iter().map(Sample::borrowed).collect();
    build_batch(&samples, plan, options)
}

pub(crate) fn metadata() -> BatchMetadata {
    BatchMetadata {
        run_id: "run-1".to_owned(),
        attempt: 1,
        step: 5,
        rank: 0,
        env_names: vec!["reverse".to_owned(), "math \"x\"".to_owned()],
    }
}

pub(crate) fn valid_batch() -> Batch {
    let mut samples = [
        Sample::new(10, 4, 2, 1),
        Sample::new(20, 3, 1, 0),
        Sample::new(30, 5, 3, 1),
    ];
    samples[1].ce_weights = Some(vec![0.0, 1.0, 0.0]);
    samples[2].ref_kl_weights = Some(vec![0.0, 0.0, 1.0, 1.0, 1.0]);
    samples[2].reference_logprobs = Some(vec![0.0, 0.0, -1.0, -2.0, -3.0]);
    samples[2].rl_weights = Some(vec![1.0; 5]);
    let options = BuildOptions {
        pad_to_multiple_of: 4,
        ..OPTIONS
    };
    build(&samples, &[vec![0, 1], vec![2]], options).unwrap().remove(0)
}
