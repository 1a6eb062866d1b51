//! Layouts by rule: how tensors are cut, by their names.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{Layout, TensorShape};
use crate::WeightsError;

/// Far more ranks than any run has.
const MAX_RANKS: usize = 65_536;

/// How a rule divides its tensors among the ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cut {
    /// Cuts along this axis into as many runs as there are ranks: 0 cuts rows, 1 columns.
    Split(usize),
    /// As [`Cut::Split`], but refuses runs of different lengths, because ranks that multiply shares of a matrix need equal ones.
    SplitEvenly(usize),
    /// Gives every rank the whole tensor.
    Replicate,
    /// Divides the experts, by the number after `experts.` in the name, into runs of the same length.
    Experts,
}

/// A rule for all tensors whose name fits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// A name in which each `*` stands for anything.
    pub tensors: String,
    /// How they are divided.
    pub cut: Cut,
}

/// A layout over some ranks. The first rule that fits a tensor decides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LayoutRules {
    /// How many ranks there are.
    pub ranks: usize,
    /// Rules in order. A tensor that none fits is an error.
    pub rules: Vec<Rule>,
}

/// Matrices of which each rank of an engine has some rows: their outputs are the rank's heads, hidden units or tokens.
const BY_ROWS: [&str; 9] = [
    "*.q_proj.*",
    "*.k_proj.*",
    "*.v_proj.*",
    "*.gate_proj.*",
    "*.up_proj.*",
    "*.w1.*",
    "*.w3.*",
    "*embed_tokens.*",
    "lm_head.*",
];
/// Matrices of which each rank has some columns: their inputs are the outputs of the matrices above.
const BY_COLUMNS: [&str; 3] = ["*.o_proj.weight", "*.down_proj.weight", "*.w2.weight"];

impl LayoutRules {
    /// One rank that has everything.
    pub fn whole() -> Self {
        Self::of(1, [("*", Cut::Replicate)])
    }

    /// Rows of every tensor, as FSDP and `torch.chunk` cut them.
    pub fn fsdp(ranks: usize) -> Self {
        Self::of(ranks, [("*", Cut::Split(0))])
    }

    /// Tensor parallelism over models whose matrices are named as in Llama, Qwen and Mixtral. Heads must be divisible by
    /// the ranks, which only the model's config can tell.
    pub fn tensor_parallel(ranks: usize) -> Self {
        let rows = BY_ROWS.map(|tensors| (tensors, Cut::SplitEvenly(0)));
        let columns = BY_COLUMNS.map(|tensors| (tensors, Cut::SplitEvenly(1)));
        Self::of(ranks, rows.into_iter().chain(columns).chain([("*", Cut::Replicate)]))
    }

    fn of<'a>(ranks: usize, rules: impl IntoIterator<Item = (&'a str, Cut)>) -> Self {
        let rules = rules.into_iter().map(|(tensors, cut)| Rule {
            tensors: tensors.to_owned(),
            cut,
        });
        Self {
            ranks,
            rules: rules.collect(),
        }
    }

    /// How a tensor is cut.
    ///
    /// # Errors
    /// [`WeightsError::Plan`] when no rule fits.
    pub fn cut(&self, name: &str) -> Result<Cut, WeightsError> {
        let fitting = self.rules.iter().find(|rule| fits(&rule.tensors, name));
        fitting.map(|rule| rule.cut).ok_or_else(|| WeightsError::Plan {
            name: name.to_owned(),
            reason: "no rule of the layout fits its name".to_owned(),
        })
    }

    /// The layout of `tensors`.
    ///
    /// # Errors
    /// [`WeightsError::Plan`] when no rule fits a tensor, or it cannot be cut as its rule says.
    pub fn layout(&self, tensors: &[TensorShape]) -> Result<Layout, WeightsError> {
        let mut layout = Layout::new(tensors, self.ranks);
        let ranks: Vec<usize> = (0..self.ranks).collect();
        let last = tensors.iter().filter_map(|tensor| expert(&tensor.name)).max();
        let experts = last.unwrap_or(0).saturating_add(1);
        for (index, tensor) in tensors.iter().enumerate() {
            match self.cut(&tensor.name)? {
                Cut::Replicate => layout.replicate(index, &ranks)?,
                // A scalar has no rows, so every rank has it.
                Cut::Split(_) if tensor.shape.is_empty() => layout.replicate(index, &ranks)?,
                Cut::Split(axis) => layout.split(index, axis, &ranks)?,
                Cut::SplitEvenly(axis) => {
                    let length = tensor.shape.get(axis).copied().unwrap_or(0);
                    if !length.is_multiple_of(self.ranks) {
                        let count = self.ranks;
                        return Err(tensor.fault(format!(
                            "its {length} along axis {axis} are not divisible by {count} ranks"
                        )));
                    }
                    layout.split(index, axis, &ranks)?;
                }
                Cut::Experts => {
                    let number = expert(&tensor.name)
                        .ok_or_else(|| tensor.fault("its name has no experts.<number>".to_owned()))?;
                    let run = experts.div_ceil(self.ranks.max(1));
                    layout.replicate(index, &[number / run])?;
                }
            }
        }
        Ok(layout)
    }
}

/// Writes the text that [`FromStr`] reads: the layout's name where it has one, else JSON.
impl fmt::Display for LayoutRules {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ranks = self.ranks;
        if *self == Self::whole() {
            out.write_str("whole")
        } else if *self == Self::fsdp(ranks) {
            write!(out, "fsdp:{ranks}")
        } else if *self == Self::tensor_parallel(ranks) {
            write!(out, "tp:{ranks}")
        } else {
            out.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
        }
    }
}

/// `whole`, `fsdp:<ranks>`, `tp:<ranks>`, or the JSON of [`LayoutRules`].
impl FromStr for LayoutRules {
    type Err = WeightsError;

    fn from_str(text: &str) -> Result<Self, WeightsError> {
        let wrong = |reason: String| WeightsError::Plan {
            name: text.to_owned(),
            reason,
        };
        let ranks = |ranks: &str| match ranks.parse() {
            Ok(ranks) if (1..=MAX_RANKS).contains(&ranks) => Ok(ranks),
            _ => Err(wrong(format!("the number of ranks must be from 1 to {MAX_RANKS}"))),
        };
        if text.trim_start().starts_with('{') {
            let rules: Self = serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
            ranks(&rules.ranks.to_string())?;
            return Ok(rules);
        }
        match text.split_once(':') {
            None if text == "whole" => Ok(Self::whole()),
            Some(("fsdp", count)) => Ok(Self::fsdp(ranks(count)?)),
            Some(("tp", count)) => Ok(Self::tensor_parallel(ranks(count)?)),
            _ => Err(wrong(
                "a layout is whole, fsdp:<ranks>, tp:<ranks> or rules as JSON".to_owned(),
            )),
        }
    }
}

/// The number in `...experts.<number>...`.
fn expert(name: &str) -> Option<usize> {
    let (_, rest) = name.split_once("experts.")?;
    let digits = rest.split('.').next()?;
    digits.parse().ok()
}

/// Whether `name` fits `pattern`, in which each `*` stands for any text.
fn fits(pattern: &str, name: &str) -> bool {
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else {
        return false;
    };
    let pieces: Vec<&str> = pieces.collect();
    let Some((last, between)) = pieces.split_last() else {
        return rest.is_empty();
    };
    for piece in between {
        match rest.find(piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_anything() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("*", "a.b", true),
            ("a.*", "a.", true),
            ("a.*", "b.a.", false),
            ("*.w1.*", "x.w1.weight", true),
            ("*.w1.*", "x.w12.weight", false),
            ("*.a.*.b", "m.a.a.b", true),
            ("*ab", "ab", true),
            ("a*a", "a", false),
            ("exact", "exact", true),
            ("exact", "exactly", false),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn an_expert_of_any_number_has_a_rank_or_an_error() {
        let rules = |ranks| LayoutRules::of(ranks, [("*", Cut::Experts)]);
        let tensor = TensorShape {
            name: format!("mlp.experts.{}.w1", usize::MAX),
            dtype: crate::Dtype::U8,
            shape: vec![1],
        };
        let layout = rules(2).layout(std::slice::from_ref(&tensor)).unwrap();
        assert_eq!(layout.parts(0)[0].rank, 1);
        assert_eq!(rules(1).layout(&[tensor]).unwrap_err().code(), "PRL_WEIGHTS_PLAN");
    }

    #[test]
    fn the_first_rule_that_fits_holds() {
        let rules = LayoutRules::tensor_parallel(2);
        for (name, cut) in [
            ("model.layers.0.self_attn.q_proj.weight", Cut::SplitEvenly(0)),
            ("model.layers.0.self_attn.q_proj.bias", Cut::SplitEvenly(0)),
            ("model.layers.0.self_attn.o_proj.weight", Cut::SplitEvenly(1)),
            ("model.layers.0.self_attn.o_proj.bias", Cut::Replicate),
            ("model.layers.0.self_attn.q_norm.weight", Cut::Replicate),
            ("model.layers.3.mlp.down_proj.weight", Cut::SplitEvenly(1)),
            ("model.embed_tokens.weight", Cut::SplitEvenly(0)),
            ("model.norm.weight", Cut::Replicate),
        ] {
            assert_eq!(rules.cut(name).unwrap(), cut, "{name}");
        }
        let none = LayoutRules {
            ranks: 1,
            rules: Vec::new(),
        };
        assert_eq!(none.cut("w").unwrap_err().code(), "PRL_WEIGHTS_PLAN");
    }
}
