//! One training sample, borrowed from whoever made it.

use crate::scan::{first, first_pair};

/// One training sample; every slice but `version_spans` has one entry per token.
#[derive(Debug, Clone, Copy)]
pub struct SampleRef<'a> {
    /// Prompt and completion.
    pub token_ids: &'a [u32],
    /// 1 for tokens that train, else 0; the first is 0, as nothing predicts it.
    pub mask: &'a [u8],
    /// Log-probabilities by the sampling policy in nats; 0 where nothing was sampled. The first is taken as 0.
    pub logprobs: &'a [f32],
    /// Advantages.
    pub advantages: &'a [f32],
    /// Sampling temperature.
    pub temperature: f32,
    /// Index into the step's environment names.
    pub env_id: u16,
    /// Rows (first token, version) ascending from token 0, [`crate::UNSAMPLED`] where nothing was sampled; empty means
    /// that nothing was.
    pub version_spans: &'a [(u32, u32)],
    /// Weights of the policy loss; absent means 1 on the mask.
    pub rl_weights: Option<&'a [f32]>,
    /// Weights of the cross-entropy loss; absent means 0. The first is 0.
    pub ce_weights: Option<&'a [f32]>,
    /// Weights of the reference KL loss; absent means 0. The first is 0.
    pub ref_kl_weights: Option<&'a [f32]>,
    /// Log-probabilities by the reference policy; absent means 0.
    pub reference_logprobs: Option<&'a [f32]>,
}

impl SampleRef<'_> {
    /// That the columns fit together and claim nothing about the first token.
    pub(crate) fn check(&self) -> Result<(), String> {
        let tokens = self.token_ids.len();
        if tokens == 0 || u32::try_from(tokens).is_err() {
            return Err(format!("it has {tokens} tokens"));
        }
        let optional = |stream: Option<&[f32]>| stream.map_or(tokens, <[f32]>::len);
        let columns = [
            ("mask", self.mask.len()),
            ("logprobs", self.logprobs.len()),
            ("advantages", self.advantages.len()),
            ("rl_weights", optional(self.rl_weights)),
            ("ce_weights", optional(self.ce_weights)),
            ("ref_kl_weights", optional(self.ref_kl_weights)),
            ("reference_logprobs", optional(self.reference_logprobs)),
        ];
        if let Some((name, length)) = columns.iter().find(|(_, length)| *length != tokens) {
            return Err(format!("{name} has {length} entries for {tokens} tokens"));
        }
        if let Some(token) = first(self.mask, |&mask| mask > 1) {
            return Err(format!(
                "mask is {} at token {token}, expected 0 or 1",
                self.mask[token]
            ));
        }
        if self.mask[0] != 0 {
            return Err("mask is 1 at the first token, which nothing predicts".to_owned());
        }
        for (name, stream) in [("ce_weights", self.ce_weights), ("ref_kl_weights", self.ref_kl_weights)] {
            if stream.is_some_and(|stream| stream[0] != 0.0) {
                return Err(format!("{name} is not 0 at the first token, which nothing predicts"));
            }
        }
        self.check_values()?;
        check_spans(self.version_spans, tokens)
    }

    /// That every number is finite where it counts.
    fn check_values(&self) -> Result<(), String> {
        if !self.temperature.is_finite() || self.temperature < 0.0 {
            return Err(format!("its temperature is {}", self.temperature));
        }
        for (name, column) in [("logprobs", self.logprobs), ("advantages", self.advantages)] {
            if let Some(token) = first_pair(column, self.mask, |value, mask| mask != 0 && !value.is_finite()) {
                return Err(format!("{name} is {} at token {token}, which trains", column[token]));
            }
        }
        let weights = [
            ("rl_weights", self.rl_weights),
            ("ce_weights", self.ce_weights),
            ("ref_kl_weights", self.ref_kl_weights),
            ("reference_logprobs", self.reference_logprobs),
        ];
        for (name, stream) in weights {
            let Some(stream) = stream else { continue };
            if let Some(token) = first(stream, |value| !value.is_finite()) {
                return Err(format!("{name} is {} at token {token}", stream[token]));
            }
        }
        Ok(())
    }
}

fn check_spans(spans: &[(u32, u32)], tokens: usize) -> Result<(), String> {
    let (Some((first, _)), Some((last, _))) = (spans.first(), spans.last()) else {
        return Ok(());
    };
    if *first != 0 {
        return Err(format!("version_spans begin at token {first}, expected 0"));
    }
    if let Some(pair) = spans.windows(2).find(|pair| pair[0].0 >= pair[1].0) {
        return Err(format!(
            "version_spans do not ascend from {} to {}",
            pair[0].0, pair[1].0
        ));
    }
    if *last as usize >= tokens {
        return Err(format!("version_spans reach token {last} of {tokens}"));
    }
    Ok(())
}
