//! One training sample, borrowed from its owner.

use crate::experts::RoutedExperts;
use crate::scan::{first, first_pair};

/// One training sample. Slices have one entry per token unless their docs say otherwise.
#[derive(Debug, Clone, Copy)]
pub struct SampleRef<'a> {
    /// Prompt and completion.
    pub token_ids: &'a [u32],
    /// 1 for tokens that train, else 0. The first is 0, because nothing predicts the first token.
    pub mask: &'a [u8],
    /// Log-probabilities by the sampling policy in nats; 0 where nothing was sampled. The first is read as 0.
    pub logprobs: &'a [f32],
    /// The advantages of the tokens that train.
    pub advantages: Advantages<'a>,
    /// Sampling temperature.
    pub temperature: f32,
    /// Index into the step's environment names.
    pub env_id: u16,
    /// Rows (first token, version) ascending from token 0, [`crate::UNSAMPLED`] where nothing was sampled; empty means
    /// that nothing was.
    pub version_spans: &'a [[u32; 2]],
    /// Rows (first token, token after the last), ascending, not empty, without overlap. Such a run, for example the tokens of an
    /// image, is kept whole or not at all when the sample is cut.
    pub unbroken: &'a [[u32; 2]],
    /// Weights of the policy loss; absent means 1 on the mask.
    pub rl_weights: Option<&'a [f32]>,
    /// Weights of the cross-entropy loss; absent means 0. The first is 0.
    pub ce_weights: Option<&'a [f32]>,
    /// Weights of the reference KL loss; absent means 0. The first is 0.
    pub ref_kl_weights: Option<&'a [f32]>,
    /// Log-probabilities by the reference policy; absent means 0.
    pub reference_logprobs: Option<&'a [f32]>,
    /// The experts that each token went to; absent means that none are recorded.
    pub routed_experts: Option<RoutedExperts<'a>>,
}

/// Advantages of a sample's tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Advantages<'a> {
    /// The same for every token on the mask, 0 elsewhere.
    Uniform(f32),
    /// One per token.
    PerToken(&'a [f32]),
}

impl SampleRef<'_> {
    /// How many tokens are left when the sample is cut at its end to at most `seq_len`. They are fewer when the cut
    /// would go through a run that must stay unbroken.
    pub fn kept_tokens(&self, seq_len: u32) -> usize {
        let end = self.token_ids.len().min(seq_len as usize);
        let holds_cut = |run: &&[u32; 2]| (run[0] as usize) < end && end < run[1] as usize;
        self.unbroken.iter().find(holds_cut).map_or(end, |run| run[0] as usize)
    }

    /// Checks that the columns fit together and are 0 at the first token where they must be.
    pub(crate) fn check(&self) -> Result<(), String> {
        let tokens = self.token_ids.len();
        if tokens == 0 || u32::try_from(tokens).is_err() {
            return Err(format!("it has {tokens} tokens"));
        }
        self.check_lengths(tokens)?;
        if let Some(token) = first(self.mask, |mask| mask > 1) {
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
        check_spans(self.version_spans, tokens)?;
        check_unbroken(self.unbroken, tokens)
    }

    fn check_lengths(&self, tokens: usize) -> Result<(), String> {
        let optional = |stream: Option<&[f32]>| stream.map_or(tokens, <[f32]>::len);
        let advantages = match self.advantages {
            Advantages::Uniform(_) => tokens,
            Advantages::PerToken(advantages) => advantages.len(),
        };
        let columns = [
            ("mask", self.mask.len()),
            ("logprobs", self.logprobs.len()),
            ("advantages", advantages),
            ("rl_weights", optional(self.rl_weights)),
            ("ce_weights", optional(self.ce_weights)),
            ("ref_kl_weights", optional(self.ref_kl_weights)),
            ("reference_logprobs", optional(self.reference_logprobs)),
        ];
        match columns.iter().find(|(_, length)| *length != tokens) {
            Some((name, length)) => Err(format!("{name} has {length} entries for {tokens} tokens")),
            None => self.routed_experts.map_or(Ok(()), |experts| experts.check(tokens)),
        }
    }

    /// Checks that every number that is used is finite.
    fn check_values(&self) -> Result<(), String> {
        if !self.temperature.is_finite() || self.temperature < 0.0 {
            return Err(format!("its temperature is {}", self.temperature));
        }
        let on_mask = |name: &str, column: &[f32]| match first_pair(column, self.mask, |value, mask| {
            (mask != 0) & !value.is_finite()
        }) {
            Some(token) => Err(format!("{name} is {} at token {token}, which trains", column[token])),
            None => Ok(()),
        };
        on_mask("logprobs", self.logprobs)?;
        match self.advantages {
            Advantages::PerToken(advantages) => on_mask("advantages", advantages)?,
            Advantages::Uniform(advantage) if !advantage.is_finite() => {
                return Err(format!("its advantage is {advantage}"));
            }
            Advantages::Uniform(_) => {}
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

fn check_spans(spans: &[[u32; 2]], tokens: usize) -> Result<(), String> {
    let (Some([first, _]), Some([last, _])) = (spans.first(), spans.last()) else {
        return Ok(());
    };
    if *first != 0 {
        return Err(format!("version_spans begin at token {first}, expected 0"));
    }
    if let Some(pair) = spans.windows(2).find(|pair| pair[0][0] >= pair[1][0]) {
        let [before, after] = [pair[0][0], pair[1][0]];
        return Err(format!("version_spans do not ascend from {before} to {after}"));
    }
    if *last as usize >= tokens {
        return Err(format!("version_spans reach token {last} of {tokens}"));
    }
    Ok(())
}

fn check_unbroken(runs: &[[u32; 2]], tokens: usize) -> Result<(), String> {
    let mut end = 0;
    for &[first, after] in runs {
        if first < end || after <= first || after as usize > tokens {
            return Err(format!(
                "unbroken runs have {first}..{after} after {end}, of {tokens} tokens"
            ));
        }
        end = after;
    }
    Ok(())
}
