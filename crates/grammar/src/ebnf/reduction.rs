//! Leaves out of a grammar what no text can come through, so that a completion never goes where it cannot end; and writes what has the empty text
//! only as that, because llguidance refuses terminals that have no other.

use super::expression::{Expression, Rules, least_fixpoint};
use crate::error::GrammarError;

/// The grammar without parts that match nothing.
///
/// # Errors
/// `Empty` when that is the whole of it.
pub(super) fn reduced(rules: Rules) -> Result<Rules, GrammarError> {
    let (is_possible, _) = least_fixpoint(&rules, matches_something);
    if !is_possible[0] {
        return Err(GrammarError::Empty(
            "no text matches the grammar: root never ends".to_owned(),
        ));
    }
    let mut rules: Rules = rules
        .into_iter()
        .map(|rule| without_nothing(rule, &is_possible).unwrap_or_else(Expression::nothing))
        .collect();
    let (has_signs, _) = least_fixpoint(&rules, has_sign);
    rules.iter_mut().for_each(|rule| shorten_empty(rule, &has_signs));
    Ok(rules)
}

/// Whether some text is not empty. In what was reduced every part has a text.
fn has_sign(part: &Expression, rules: &[bool]) -> bool {
    match part {
        Expression::Class(_) => true,
        Expression::Rule(rule) => rules[*rule],
        _ => part.parts().iter().any(|part| has_sign(part, rules)),
    }
}

fn shorten_empty(part: &mut Expression, rules: &[bool]) {
    if !has_sign(part, rules) {
        *part = Expression::empty();
        return;
    }
    if let Expression::Sequence(parts) = part {
        parts.retain(|part| has_sign(part, rules));
    }
    part.parts_mut().iter_mut().for_each(|part| shorten_empty(part, rules));
}

fn matches_something(part: &Expression, rules: &[bool]) -> bool {
    match part {
        Expression::Class(set) => !set.is_empty(),
        Expression::Rule(rule) => rules[*rule],
        Expression::Sequence(parts) => parts.iter().all(|part| matches_something(part, rules)),
        Expression::Choice(parts) => parts.iter().any(|part| matches_something(part, rules)),
        Expression::Repeat { of, least, .. } => *least == 0 || matches_something(of, rules),
    }
}

/// `None` for a part that matches nothing.
fn without_nothing(part: Expression, rules: &[bool]) -> Option<Expression> {
    match part {
        Expression::Class(set) => (!set.is_empty()).then_some(Expression::Class(set)),
        Expression::Rule(rule) => rules[rule].then_some(Expression::Rule(rule)),
        Expression::Sequence(parts) => {
            let parts: Option<Vec<Expression>> = parts.into_iter().map(|part| without_nothing(part, rules)).collect();
            parts.map(Expression::Sequence)
        }
        Expression::Choice(parts) => {
            let parts: Vec<Expression> = parts
                .into_iter()
                .filter_map(|part| without_nothing(part, rules))
                .collect();
            (!parts.is_empty()).then_some(Expression::Choice(parts))
        }
        Expression::Repeat { most: Some(0), .. } => Some(Expression::empty()),
        Expression::Repeat { of, least, most } => match without_nothing(*of, rules) {
            Some(of) => Some(Expression::Repeat {
                of: Box::new(of),
                least,
                most,
            }),
            None => (least == 0).then(Expression::empty),
        },
    }
}
