//! The rules of a grammar as they were read.

use super::charset::CharSet;

/// A part of a rule. Literals are sequences of classes of one character.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Expression {
    /// One character of the set; of an empty set nothing.
    Class(CharSet),
    /// One after the other; the empty text if there is none.
    Sequence(Vec<Expression>),
    /// One of them.
    Choice(Vec<Expression>),
    /// From `least` to `most` times, without an end if `most` is `None`.
    Repeat {
        of: Box<Expression>,
        least: u32,
        most: Option<u32>,
    },
    /// The rule at this index.
    Rule(usize),
}

impl Expression {
    pub(super) fn empty() -> Self {
        Expression::Sequence(Vec::new())
    }

    pub(super) fn nothing() -> Self {
        Expression::Class(CharSet::default())
    }

    pub(super) fn literal(text: &str) -> Self {
        let signs = text
            .chars()
            .map(|sign| Expression::Class(CharSet::of(vec![(sign, sign)])));
        Expression::Sequence(signs.collect())
    }

    /// The one text that it has, if it was written as a literal.
    pub(super) fn as_literal(&self) -> Option<String> {
        let Expression::Sequence(parts) = self else { return None };
        let signs = parts.iter().map(|part| match part {
            Expression::Class(set) => set.only(),
            _ => None,
        });
        signs.collect()
    }

    /// The parts directly inside.
    pub(super) fn parts(&self) -> &[Expression] {
        match self {
            Expression::Sequence(parts) | Expression::Choice(parts) => parts,
            Expression::Repeat { of, .. } => std::slice::from_ref(of),
            Expression::Class(_) | Expression::Rule(_) => &[],
        }
    }

    pub(super) fn parts_mut(&mut self) -> &mut [Expression] {
        match self {
            Expression::Sequence(parts) | Expression::Choice(parts) => parts,
            Expression::Repeat { of, .. } => std::slice::from_mut(of),
            Expression::Class(_) | Expression::Rule(_) => &mut [],
        }
    }

    /// Calls `visit` with every rule that it names, as often as it does.
    pub(super) fn each_rule(&self, visit: &mut impl FnMut(usize)) {
        if let Expression::Rule(rule) = self {
            visit(*rule);
        }
        for part in self.parts() {
            part.each_rule(visit);
        }
    }

    /// Whether it can be the empty text, if `rule` says so of rules.
    pub(super) fn is_nullable(&self, rule: &impl Fn(usize) -> bool) -> bool {
        match self {
            Expression::Class(_) => false,
            Expression::Rule(index) => rule(*index),
            Expression::Sequence(parts) => parts.iter().all(|part| part.is_nullable(rule)),
            Expression::Choice(parts) => parts.iter().any(|part| part.is_nullable(rule)),
            Expression::Repeat { of, least, .. } => *least == 0 || of.is_nullable(rule),
        }
    }
}

/// Rules; the first one is the whole text.
pub(super) type Rules = Vec<Expression>;

/// The rules that become true when `holds` is asked with what is true already, from nothing on; in the order in which they do. What `holds`
/// says must stay true.
pub(super) fn least_fixpoint(
    rules: &[Expression],
    holds: impl Fn(&Expression, &[bool]) -> bool,
) -> (Vec<bool>, Vec<usize>) {
    let users = users(rules);
    let mut known = vec![false; rules.len()];
    let mut order = Vec::new();
    let mut open: Vec<usize> = (0..rules.len()).rev().collect();
    while let Some(rule) = open.pop() {
        if !known[rule] && holds(&rules[rule], &known) {
            known[rule] = true;
            order.push(rule);
            open.extend(users[rule].iter().filter(|user| !known[**user]));
        }
    }
    (known, order)
}

/// For each rule the rules that name it, each once.
pub(super) fn users(rules: &[Expression]) -> Vec<Vec<usize>> {
    let mut users = vec![Vec::new(); rules.len()];
    for (user, rule) in rules.iter().enumerate() {
        rule.each_rule(&mut |used| {
            if users[used].last() != Some(&user) {
                users[used].push(user);
            }
        });
    }
    users
}
