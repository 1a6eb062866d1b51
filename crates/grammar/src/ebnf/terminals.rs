//! Which parts of a grammar become one terminal each.
//!
//! llguidance follows all terminals that can come at a place at the same time and ends one where no longer text is one of any of them. That is
//! exact for a terminal if, wherever it can come,
//!
//! - no character behind one of its texts can also go on in it, and
//! - no other terminal that can come there begins with the same character, except that both are single characters or literals that do not begin
//!   one another.
//!
//! At first the largest parts without recursion are terminals. Those that break a rule are opened: their parts become terminals. Single
//! characters keep both rules.

use std::collections::{BTreeMap, HashSet};

use super::charset::CharSet;
use super::expression::{Expression, least_fixpoint};
use super::facts::Facts;
use super::occurrences::Occurrences;

/// Most terminals that are examined. In a larger grammar each is a character.
const MAX_EXAMINED: usize = 512;
/// Most rules that are examined; the cost is quadratic in them.
const MAX_EXAMINED_RULES: usize = 1000;
/// Most times that terminals are opened and examined again, before all are opened.
const MAX_ROUNDS: usize = 64;

/// A rule of the grammar that is written.
#[derive(Debug)]
pub(super) enum Part<'rules> {
    /// A part without recursion, and its number among all terminals.
    Terminal(&'rules Expression, usize),
    Rule(usize),
    Sequence(Vec<Part<'rules>>),
    Choice(Vec<Part<'rules>>),
    Repeat {
        of: Box<Part<'rules>>,
        least: u32,
        most: Option<u32>,
    },
}

/// The rules that are written, by their index, 0 first. Rules that only terminals name are not among them.
pub(super) type Plan<'rules> = BTreeMap<usize, Part<'rules>>;

/// Decides for a grammar of which no part matches nothing.
pub(super) fn plan(rules: &[Expression]) -> Plan<'_> {
    let planner = Planner::new(rules);
    let mut plan = Plan::new();
    planner.add(0, &mut plan);
    for _ in 0..MAX_ROUNDS {
        let terminals = number(&mut plan);
        if terminals.len() > MAX_EXAMINED || plan.len() > MAX_EXAMINED_RULES {
            break;
        }
        let opened = planner.broken(&plan, &terminals);
        if opened.is_empty() {
            return plan;
        }
        planner.open(&mut plan, &|number| opened.contains(&number));
    }
    while !number(&mut plan).iter().all(|terminal| is_single(terminal)) {
        planner.open(&mut plan, &|_| true);
    }
    plan
}

/// Numbers the terminals in the order of the plan.
fn number<'rules>(plan: &mut Plan<'rules>) -> Vec<&'rules Expression> {
    let mut terminals = Vec::new();
    plan.values_mut().for_each(|part| number_part(part, &mut terminals));
    terminals
}

fn number_part<'rules>(part: &mut Part<'rules>, terminals: &mut Vec<&'rules Expression>) {
    match part {
        Part::Terminal(of, number) => {
            *number = terminals.len();
            terminals.push(of);
        }
        Part::Rule(_) => {}
        Part::Sequence(parts) | Part::Choice(parts) => {
            parts.iter_mut().for_each(|part| number_part(part, terminals));
        }
        Part::Repeat { of, .. } => number_part(of, terminals),
    }
}

fn is_single(part: &Expression) -> bool {
    matches!(part, Expression::Class(_)) || matches!(part, Expression::Sequence(parts) if parts.is_empty())
}

struct Planner<'rules> {
    rules: &'rules [Expression],
    /// Whether a rule comes to no recursion.
    is_regular: Vec<bool>,
    is_nullable: Vec<bool>,
    /// Facts about regular rules.
    facts: Vec<Facts>,
}

impl<'rules> Planner<'rules> {
    fn new(rules: &'rules [Expression]) -> Self {
        let (is_regular, order) = least_fixpoint(rules, is_regular);
        let (is_nullable, _) = least_fixpoint(rules, |rule, known| rule.is_nullable(&|named| known[named]));
        let mut facts = vec![Facts::default(); rules.len()];
        for rule in order {
            facts[rule] = Facts::of(&rules[rule], &facts);
        }
        Planner {
            rules,
            is_regular,
            is_nullable,
            facts,
        }
    }

    /// Adds a rule and those that it names.
    fn add(&self, rule: usize, plan: &mut Plan<'rules>) {
        let mut open = vec![rule];
        while let Some(rule) = open.pop() {
            if plan.contains_key(&rule) {
                continue;
            }
            let part = self.part(&self.rules[rule]);
            named(&part, &mut open);
            plan.insert(rule, part);
        }
    }

    /// The largest terminals of a part.
    fn part(&self, of: &'rules Expression) -> Part<'rules> {
        if is_regular(of, &self.is_regular) {
            return Part::Terminal(of, 0);
        }
        self.opened(of)
    }

    fn opened(&self, of: &'rules Expression) -> Part<'rules> {
        let parts = |parts: &'rules [Expression]| parts.iter().map(|part| self.part(part)).collect();
        match of {
            Expression::Class(_) => Part::Terminal(of, 0),
            Expression::Rule(rule) => Part::Rule(*rule),
            Expression::Sequence(of) => Part::Sequence(parts(of)),
            Expression::Choice(of) => Part::Choice(parts(of)),
            Expression::Repeat { of, least, most } => Part::Repeat {
                of: Box::new(self.part(of)),
                least: *least,
                most: *most,
            },
        }
    }

    fn open(&self, plan: &mut Plan<'rules>, wanted: &impl Fn(usize) -> bool) {
        let mut rules = Vec::new();
        for part in plan.values_mut() {
            self.open_part(part, wanted, &mut rules);
        }
        for rule in rules {
            self.add(rule, plan);
        }
    }

    fn open_part(&self, part: &mut Part<'rules>, wanted: &impl Fn(usize) -> bool, rules: &mut Vec<usize>) {
        match part {
            Part::Terminal(of, number) if wanted(*number) => {
                *part = self.opened(of);
                named(part, rules);
            }
            Part::Terminal(..) | Part::Rule(_) => {}
            Part::Sequence(parts) | Part::Choice(parts) => {
                parts.iter_mut().for_each(|part| self.open_part(part, wanted, rules));
            }
            Part::Repeat { of, .. } => self.open_part(of, wanted, rules),
        }
    }

    /// The numbers of the terminals that break a rule.
    fn broken(&self, plan: &Plan<'rules>, terminals: &[&'rules Expression]) -> HashSet<usize> {
        if let (Some(Part::Terminal(..)), 1) = (plan.get(&0), plan.len()) {
            return HashSet::new();
        }
        let terminals: Vec<Terminal<'_>> = terminals.iter().map(|of| Terminal::new(of, &self.facts)).collect();
        let meet = |one: usize, other: usize| terminals[one].facts.first.overlaps(&terminals[other].facts.first);
        let nullable = |number: usize| terminals[number].facts.is_nullable;
        let occurrences = Occurrences::of(plan, &self.is_nullable, terminals.len(), &nullable, &meet);
        let mut broken = HashSet::new();
        for (number, terminal) in terminals.iter().enumerate().filter(|(_, terminal)| !terminal.is_single) {
            let behind = CharSet::union(occurrences.behind(number).map(|next| &terminals[next].facts.first)).0;
            let is_broken = terminal.facts.more.overlaps(&behind)
                || occurrences
                    .beside(number)
                    .any(|other| meet(number, other) && !terminal.goes_with(&terminals[other]));
            if is_broken {
                broken.insert(number);
            }
        }
        broken
    }
}

/// Whether a part comes to no recursion, if `rules` says so of rules.
fn is_regular(part: &Expression, rules: &[bool]) -> bool {
    let mut regular = true;
    part.each_rule(&mut |rule| regular &= rules[rule]);
    regular
}

fn named(part: &Part<'_>, rules: &mut Vec<usize>) {
    match part {
        Part::Rule(rule) => rules.push(*rule),
        Part::Terminal(..) => {}
        Part::Sequence(parts) | Part::Choice(parts) => parts.iter().for_each(|part| named(part, rules)),
        Part::Repeat { of, .. } => named(of, rules),
    }
}

struct Terminal<'rules> {
    of: &'rules Expression,
    facts: Facts,
    is_single: bool,
    literal: Option<String>,
}

impl<'rules> Terminal<'rules> {
    fn new(of: &'rules Expression, rules: &[Facts]) -> Self {
        Terminal {
            of,
            facts: Facts::of(of, rules),
            is_single: is_single(of),
            literal: of.as_literal(),
        }
    }

    /// Although both can begin with the same character.
    fn goes_with(&self, other: &Terminal<'_>) -> bool {
        match (&self.literal, &other.literal) {
            (Some(one), Some(two)) => one == two || !(one.starts_with(two.as_str()) || two.starts_with(one.as_str())),
            _ => self.of == other.of,
        }
    }
}
