//! Where the terminals of a plan can stand: behind which others, and beside which others at the same place.

use std::collections::BTreeMap;

use super::terminals::{Part, Plan};

/// A set of terminals.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Bits(Vec<u64>);

impl Bits {
    fn none(size: usize) -> Self {
        Bits(vec![0; size.div_ceil(64)])
    }

    fn insert(&mut self, number: usize) {
        self.0[number / 64] |= 1 << (number % 64);
    }

    /// Whether it grew.
    fn add(&mut self, other: &Bits) -> bool {
        let mut grew = false;
        for (here, there) in self.0.iter_mut().zip(&other.0) {
            grew |= *here | there != *here;
            *here |= there;
        }
        grew
    }

    fn without(&self, other: &Bits) -> Bits {
        Bits(self.0.iter().zip(&other.0).map(|(here, there)| here & !there).collect())
    }

    fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(at, word)| {
            let rest = std::iter::successors(Some(*word), |rest| Some(rest & rest.wrapping_sub(1)));
            rest.take_while(|rest| *rest != 0)
                .map(move |rest| at * 64 + rest.trailing_zeros() as usize)
        })
    }
}

/// Neighbours of terminals. There may be too many of them, never too few.
#[derive(Debug)]
pub(super) struct Occurrences {
    behind: Vec<Bits>,
    beside: Vec<Bits>,
}

impl Occurrences {
    /// `rules`: which can be empty; `nullable`: which terminals can; `meet`: which two can have the same text.
    pub(super) fn of(
        plan: &Plan<'_>,
        rules: &[bool],
        size: usize,
        nullable: &impl Fn(usize) -> bool,
        meet: &impl Fn(usize, usize) -> bool,
    ) -> Self {
        let mut walk = Walk {
            plan,
            rules,
            nullable,
            size,
            first: plan.keys().map(|rule| (*rule, Bits::none(size))).collect(),
            after: plan.keys().map(|rule| (*rule, Bits::none(size))).collect(),
            behind: vec![Bits::none(size); size],
        };
        walk.find_first();
        walk.find_behind();
        let beside = beside(&walk.first[&0], &walk.behind, meet);
        Occurrences {
            behind: walk.behind,
            beside,
        }
    }

    /// The terminals that can stand directly behind one.
    pub(super) fn behind(&self, number: usize) -> impl Iterator<Item = usize> + '_ {
        self.behind[number].iter()
    }

    /// The terminals that can stand where one can, itself included.
    pub(super) fn beside(&self, number: usize) -> impl Iterator<Item = usize> + '_ {
        self.beside[number].iter()
    }
}

/// Two terminals are at the same place if they are in the beginning, or behind two that were read as the same text.
fn beside(beginning: &Bits, behind: &[Bits], meet: &impl Fn(usize, usize) -> bool) -> Vec<Bits> {
    let mut beside = vec![Bits::none(behind.len()); behind.len()];
    let mut open = Vec::new();
    let mut place = |ones: &Bits, others: &Bits, open: &mut Vec<(usize, usize)>| {
        for one in ones.iter() {
            let new = others.without(&beside[one]);
            beside[one].add(&new);
            open.extend(new.iter().map(|other| (one, other)));
        }
    };
    place(beginning, beginning, &mut open);
    while let Some((one, other)) = open.pop() {
        if one == other || meet(one, other) {
            place(&behind[one], &behind[other], &mut open);
        }
    }
    beside
}

struct Walk<'plan, Nullable> {
    plan: &'plan Plan<'plan>,
    rules: &'plan [bool],
    nullable: &'plan Nullable,
    size: usize,
    /// With which a rule begins.
    first: BTreeMap<usize, Bits>,
    /// The characters that may follow a rule.
    after: BTreeMap<usize, Bits>,
    behind: Vec<Bits>,
}

impl<Nullable: Fn(usize) -> bool> Walk<'_, Nullable> {
    fn find_first(&mut self) {
        loop {
            let mut grew = false;
            for (rule, part) in self.plan.iter().rev() {
                let first = self.first_of(part);
                grew |= self.first.get_mut(rule).is_some_and(|known| known.add(&first));
            }
            if !grew {
                return;
            }
        }
    }

    fn find_behind(&mut self) {
        loop {
            let mut grew = false;
            for (rule, part) in self.plan {
                let after = self.after[rule].clone();
                grew |= self.follow(part, &after);
            }
            if !grew {
                return;
            }
        }
    }

    fn is_nullable(&self, part: &Part<'_>) -> bool {
        match part {
            Part::Terminal(_, number) => (self.nullable)(*number),
            Part::Rule(rule) => self.rules[*rule],
            Part::Sequence(parts) => parts.iter().all(|part| self.is_nullable(part)),
            Part::Choice(parts) => parts.iter().any(|part| self.is_nullable(part)),
            Part::Repeat { of, least, .. } => *least == 0 || self.is_nullable(of),
        }
    }

    fn first_of(&self, part: &Part<'_>) -> Bits {
        let mut first = Bits::none(self.size);
        match part {
            Part::Terminal(_, number) => first.insert(*number),
            Part::Rule(rule) => {
                first.add(&self.first[rule]);
            }
            Part::Sequence(parts) => {
                for part in parts {
                    first.add(&self.first_of(part));
                    if !self.is_nullable(part) {
                        break;
                    }
                }
            }
            Part::Choice(parts) => {
                for part in parts {
                    first.add(&self.first_of(part));
                }
            }
            Part::Repeat { of, .. } => first = self.first_of(of),
        }
        first
    }

    /// Notes that `after` stands behind a part; says whether that was new anywhere.
    fn follow(&mut self, part: &Part<'_>, after: &Bits) -> bool {
        match part {
            Part::Terminal(_, number) => self.behind[*number].add(after),
            Part::Rule(rule) => self.after.get_mut(rule).is_some_and(|known| known.add(after)),
            Part::Choice(parts) => parts.iter().fold(false, |grew, part| self.follow(part, after) | grew),
            Part::Sequence(parts) => {
                let mut after = after.clone();
                let mut grew = false;
                for part in parts.iter().rev() {
                    grew |= self.follow(part, &after);
                    let mut first = self.first_of(part);
                    if self.is_nullable(part) {
                        first.add(&after);
                    }
                    after = first;
                }
                grew
            }
            Part::Repeat { of, most, .. } => {
                let mut after = after.clone();
                if *most != Some(1) {
                    after.add(&self.first_of(of));
                }
                self.follow(of, &after)
            }
        }
    }
}
