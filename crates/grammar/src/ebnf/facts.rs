//! Facts about the texts of a part without recursion: enough to see whether the longest match of it is the only one.

use super::charset::CharSet;
use super::expression::Expression;

/// Facts about the texts of a part. Sets of characters may be too large, never too small.
#[derive(Debug, Clone, Default)]
pub(super) struct Facts {
    pub(super) is_nullable: bool,
    /// With which a text begins.
    pub(super) first: CharSet,
    /// Which can stand behind a text, so that it is the beginning of a longer one. Empty: no text begins another.
    pub(super) more: CharSet,
    /// All characters.
    all: CharSet,
}

impl Facts {
    /// `rules` has the facts of every rule that the part names.
    pub(super) fn of(part: &Expression, rules: &[Facts]) -> Facts {
        match part {
            Expression::Class(set) => Facts {
                is_nullable: false,
                first: set.clone(),
                more: CharSet::default(),
                all: set.clone(),
            },
            Expression::Rule(rule) => rules[*rule].clone(),
            Expression::Sequence(parts) => sequence(parts.iter().map(|part| Facts::of(part, rules))),
            Expression::Choice(parts) => choice(&parts.iter().map(|part| Facts::of(part, rules)).collect::<Vec<_>>()),
            Expression::Repeat { of, least, most } => repeat(Facts::of(of, rules), *least, *most),
        }
    }
}

fn sequence(parts: impl Iterator<Item = Facts>) -> Facts {
    let mut is_nullable = true;
    let (mut first, mut all) = (Vec::new(), Vec::new());
    let mut more = CharSet::default();
    let mut is_ambiguous = false;
    for part in parts {
        // A text can be cut in two ways, so that what follows one of them is not what follows the other.
        is_ambiguous |= more.overlaps(&part.first);
        if part.is_nullable {
            more.add(&part.more);
            more.add(&part.first);
        } else {
            more = part.more;
        }
        if is_nullable {
            first.push(part.first);
        }
        is_nullable &= part.is_nullable;
        all.push(part.all);
    }
    let (all, _) = CharSet::union(&all);
    Facts {
        is_nullable,
        first: CharSet::union(&first).0,
        more: if is_ambiguous { all.clone() } else { more },
        all,
    }
}

fn choice(parts: &[Facts]) -> Facts {
    let (first, are_apart) = CharSet::union(parts.iter().map(|part| &part.first));
    let (all, _) = CharSet::union(parts.iter().map(|part| &part.all));
    let is_nullable = parts.iter().any(|part| part.is_nullable);
    let more = if are_apart {
        let (mut more, _) = CharSet::union(parts.iter().map(|part| &part.more));
        if is_nullable {
            more.add(&first);
        }
        more
    } else {
        all.clone()
    };
    Facts {
        is_nullable,
        first,
        more,
        all,
    }
}

fn repeat(of: Facts, least: u32, most: Option<u32>) -> Facts {
    let is_fixed = most == Some(least) && of.more.is_empty() && !of.is_nullable;
    let more = if is_fixed {
        CharSet::default()
    } else if of.more.overlaps(&of.first) && most != Some(1) {
        of.all.clone()
    } else {
        CharSet::union([&of.more, &of.first]).0
    };
    Facts {
        is_nullable: least == 0 || of.is_nullable,
        first: of.first,
        more,
        all: of.all,
    }
}
