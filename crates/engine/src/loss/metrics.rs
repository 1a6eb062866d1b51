//! Metrics as sums beside counts, so that the bins of a step combine exactly.
//!
//! A flat list holds two entries per metric, `<name>/sum` and `<name>/count`, both `f64`. Bins combine by adding entries
//! of equal name ([`merge_metrics`]); the reported number is the quotient ([`mean_metrics`]). A metric whose count is 0 has no value
//! and is left out.

const SUM: &str = "/sum";
const COUNT: &str = "/count";

/// Log ratios are limited to plus and minus this before `exp`: one outlier would make a mean infinite.
const LOG_RATIO_LIMIT: f64 = 20.0;

/// The k3 estimate `r - log r - 1` of a token's share in the divergence of trainer and sampler, independent of the loss.
pub(crate) fn mismatch_kl(logprob: f64, inference_logprob: f64) -> f64 {
    let log = (logprob - inference_logprob).clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT);
    log.exp_m1() - log
}

/// A sum over tokens and the number of tokens in it.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub struct MeanSum {
    /// Sum of the values.
    pub sum: f64,
    /// Number of values.
    pub count: f64,
}

impl MeanSum {
    /// Adds one value.
    pub fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1.0;
    }

    /// Appends `<name>/sum` and `<name>/count` to `out`.
    pub fn push_to(self, out: &mut Vec<(String, f64)>, name: &str) {
        out.push((format!("{name}{SUM}"), self.sum));
        out.push((format!("{name}{COUNT}"), self.count));
    }
}

/// Metrics of all streams; a metric without a member is not reported.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    pub(super) mismatch_kl: MeanSum,
    pub(super) masked_mismatch_kl: MeanSum,
    pub(super) unmasked_mismatch_kl: MeanSum,
    pub(super) is_masked: MeanSum,
    pub(super) is_masked_low: MeanSum,
    pub(super) is_masked_high: MeanSum,
    pub(super) masked_advantage_positive: MeanSum,
    pub(super) masked_advantage_negative: MeanSum,
    pub(super) clip_low: MeanSum,
    pub(super) clip_high: MeanSum,
    pub(super) correction: MeanSum,
    pub(super) correction_dropped: MeanSum,
    pub(super) reference_kl: MeanSum,
    pub(super) nll: MeanSum,
    pub(super) ref_kl_kl: MeanSum,
    pub(super) ref_kl_is_masked: MeanSum,
}

impl Metrics {
    /// The flat list of the metrics that have a member.
    pub(super) fn entries(&self) -> Vec<(String, f64)> {
        let all = [
            ("mismatch_kl", self.mismatch_kl),
            ("masked_mismatch_kl", self.masked_mismatch_kl),
            ("unmasked_mismatch_kl", self.unmasked_mismatch_kl),
            ("is_masked", self.is_masked),
            ("is_masked_low", self.is_masked_low),
            ("is_masked_high", self.is_masked_high),
            ("masked_advantage_positive", self.masked_advantage_positive),
            ("masked_advantage_negative", self.masked_advantage_negative),
            ("clip_ratio/low", self.clip_low),
            ("clip_ratio/high", self.clip_high),
            ("correction/weight", self.correction),
            ("correction/is_dropped", self.correction_dropped),
            ("reference_kl", self.reference_kl),
            ("nll", self.nll),
            ("ref_kl/kl", self.ref_kl_kl),
            ("ref_kl/is_masked", self.ref_kl_is_masked),
        ];
        let mut out = Vec::with_capacity(2 * all.len());
        for (name, sum) in all.into_iter().filter(|(_, sum)| sum.count > 0.0) {
            sum.push_to(&mut out, name);
        }
        out
    }
}

/// Adds the entries of `other` to those of equal name in `total`; new names are appended in their order.
pub fn merge_metrics(total: &mut Vec<(String, f64)>, other: &[(String, f64)]) {
    for (name, value) in other {
        match total.iter_mut().find(|(known, _)| known == name) {
            Some((_, sum)) => *sum += value,
            None => total.push((name.clone(), *value)),
        }
    }
}

/// Turns each pair `<name>/sum`, `<name>/count` into `(name, sum / count)`, leaving out those with count 0. Entries that
/// are not part of a pair pass through unchanged.
pub fn mean_metrics(metrics: &[(String, f64)]) -> Vec<(String, f64)> {
    let find = |name: &str| metrics.iter().find(|(known, _)| known == name).map(|(_, value)| *value);
    let mut out = Vec::with_capacity(metrics.len() / 2);
    for (name, value) in metrics {
        if let Some(base) = name.strip_suffix(SUM)
            && let Some(count) = find(&format!("{base}{COUNT}"))
        {
            if count > 0.0 {
                out.push((base.to_owned(), value / count));
            }
        } else if let Some(base) = name.strip_suffix(COUNT)
            && find(&format!("{base}{SUM}")).is_some()
        {
            continue;
        } else {
            out.push((name.clone(), *value));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(list: &[(&str, f64)]) -> Vec<(String, f64)> {
        list.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
    }

    #[test]
    fn bins_combine_to_the_mean_over_all_tokens() {
        let mut total = entries(&[("nll/sum", 3.0), ("nll/count", 1.0)]);
        merge_metrics(&mut total, &entries(&[("nll/sum", 1.0), ("nll/count", 3.0)]));
        assert_eq!(mean_metrics(&total), entries(&[("nll", 1.0)]));
    }

    #[test]
    fn a_metric_without_members_is_left_out_and_single_entries_stay() {
        let metrics = entries(&[("a/sum", 0.0), ("a/count", 0.0), ("tokens", 7.0)]);
        assert_eq!(mean_metrics(&metrics), entries(&[("tokens", 7.0)]));
    }
}
