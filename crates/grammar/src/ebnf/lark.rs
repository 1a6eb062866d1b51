//! Writes a plan in llguidance's Lark.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use super::charset::CharSet;
use super::expression::Expression;
use super::terminals::{Part, Plan};

/// The grammar in Lark: `start` is rule 0, `r<n>` rule n, `R<n>` rule n as a terminal, `T<n>` another terminal.
pub(super) fn write(rules: &[Expression], plan: &Plan<'_>) -> String {
    let mut writer = Writer::default();
    let mut lines = vec!["start: r0".to_owned()];
    for (rule, part) in plan {
        lines.push(format!("r{rule}: {}", writer.part(part)));
    }
    let mut written = HashSet::new();
    while let Some(rule) = writer.open.pop() {
        if written.insert(rule) {
            lines.push(format!("R{rule}: {}", writer.terminal(&rules[rule])));
        }
    }
    let mut terminals: Vec<(&String, &usize)> = writer.terminals.iter().collect();
    terminals.sort_unstable_by_key(|(_, number)| **number);
    lines.extend(terminals.into_iter().map(|(body, number)| format!("T{number}: {body}")));
    lines.push(String::new());
    lines.join("\n")
}

#[derive(Default)]
struct Writer {
    /// Terminals without a rule, by what they are.
    terminals: HashMap<String, usize>,
    /// Rules that terminals name.
    open: Vec<usize>,
}

impl Writer {
    fn part(&mut self, part: &Part<'_>) -> String {
        match part {
            Part::Terminal(Expression::Rule(rule), _) => {
                self.open.push(*rule);
                format!("R{rule}")
            }
            Part::Terminal(of, _) => {
                let body = self.terminal(of);
                if body == EMPTY {
                    return body;
                }
                let next = self.terminals.len();
                format!("T{}", self.terminals.entry(body).or_insert(next))
            }
            Part::Rule(rule) => format!("r{rule}"),
            Part::Sequence(parts) => joined(parts.iter().map(|part| self.part(part)), " "),
            Part::Choice(parts) => joined(parts.iter().map(|part| self.part(part)), " | "),
            Part::Repeat { of, least, most } => format!("({}){}", self.part(of), times(*least, *most)),
        }
    }

    fn terminal(&mut self, of: &Expression) -> String {
        match of {
            Expression::Class(set) => set.only().map_or_else(|| class(set), |sign| literal(&sign.to_string())),
            Expression::Rule(rule) => {
                self.open.push(*rule);
                format!("R{rule}")
            }
            Expression::Sequence(parts) => {
                if let Some(text) = of.as_literal() {
                    return literal(&text);
                }
                joined(parts.iter().map(|part| self.terminal(part)), " ")
            }
            Expression::Choice(parts) => joined(parts.iter().map(|part| self.terminal(part)), " | "),
            Expression::Repeat { of, least, most } => format!("({}){}", self.terminal(of), times(*least, *most)),
        }
    }
}

const EMPTY: &str = "\"\"";

fn joined(parts: impl Iterator<Item = String>, between: &str) -> String {
    let parts: Vec<String> = parts.collect();
    if parts.is_empty() {
        return EMPTY.to_owned();
    }
    format!("({})", parts.join(between))
}

fn times(least: u32, most: Option<u32>) -> String {
    match (least, most) {
        (0, None) => "*".to_owned(),
        (1, None) => "+".to_owned(),
        (0, Some(1)) => "?".to_owned(),
        (_, None) => format!("{{{least},}}"),
        (_, Some(most)) if most == least => format!("{{{least}}}"),
        (_, Some(most)) => format!("{{{least},{most}}}"),
    }
}

fn literal(text: &str) -> String {
    serde_json::Value::String(text.to_owned()).to_string()
}

/// As a regular expression in which every character is written as its number.
fn class(set: &CharSet) -> String {
    let mut text = "/[".to_owned();
    for (low, high) in set.ranges() {
        // Writing to a text cannot fail.
        let _ = write!(text, "\\x{{{:x}}}-\\x{{{:x}}}", u32::from(*low), u32::from(*high));
    }
    text + "]/"
}
