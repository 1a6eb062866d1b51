//! Reads a grammar in EBNF into rules.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::expression::{Expression, Rules};
use super::scanner::{Place, Token, scan};
use crate::error::GrammarError;

/// The rule that is the whole text.
const ROOT: &str = "root";
/// Most groups inside each other.
const MAX_NESTING: usize = 100;
/// Most repetitions of one part, as in `a+?`.
const MAX_STACKED: usize = 4;
/// Most rules.
const MAX_RULES: usize = 10_000;
/// Most places where rules are named: the cost of some steps is quadratic in them.
const MAX_REFERENCES: usize = 20_000;

/// The rules of a grammar, `root` first.
///
/// # Errors
/// `Invalid` and `TooLarge`, with line and column where there is one.
pub(super) fn parse(text: &str) -> Result<Rules, GrammarError> {
    let tokens = scan(text)?;
    let mut parser = Parser::new(&tokens)?;
    let mut rules = vec![Expression::nothing(); parser.index.len()];
    while let Some((token, place)) = parser.next() {
        let (Token::Name(name), Some((Token::Is, _))) = (token, parser.next()) else {
            return Err(place.invalid("a rule begins with its name and ::="));
        };
        let index = parser.index[name.as_str()];
        rules[index] = parser.choice(0)?;
        if let Some((Token::Close, place)) = parser.peek() {
            return Err(place.invalid("this bracket closes nothing"));
        }
    }
    let Some(root) = parser.index.get(ROOT).copied() else {
        return Err(GrammarError::Invalid(format!(
            "the grammar has no rule that is named {ROOT}"
        )));
    };
    if root != 0 {
        rules.swap(0, root);
        for rule in &mut rules {
            renumber(rule, root);
        }
    }
    Ok(rules)
}

/// After the rules 0 and `root` have changed places.
fn renumber(part: &mut Expression, root: usize) {
    match part {
        Expression::Rule(index) if *index == root => *index = 0,
        Expression::Rule(index) if *index == 0 => *index = root,
        _ => part.parts_mut().iter_mut().for_each(|part| renumber(part, root)),
    }
}

struct Parser<'tokens> {
    tokens: &'tokens [(Token, Place)],
    at: usize,
    index: HashMap<&'tokens str, usize>,
    references: usize,
}

impl<'tokens> Parser<'tokens> {
    /// Knows all names of rules, which can be used before their rule comes.
    fn new(tokens: &'tokens [(Token, Place)]) -> Result<Self, GrammarError> {
        let mut index = HashMap::new();
        for pair in tokens.windows(2) {
            let [(Token::Name(name), place), (Token::Is, _)] = pair else {
                continue;
            };
            let next = index.len();
            if next == MAX_RULES {
                return Err(place.too_large(&format!("at most {MAX_RULES} rules are possible")));
            }
            match index.entry(name.as_str()) {
                Entry::Occupied(_) => return Err(place.invalid(&format!("the rule {name} is there already"))),
                Entry::Vacant(entry) => entry.insert(next),
            };
        }
        Ok(Parser {
            tokens,
            at: 0,
            index,
            references: 0,
        })
    }

    fn peek(&self) -> Option<(&'tokens Token, Place)> {
        self.tokens.get(self.at).map(|(token, place)| (token, *place))
    }

    fn next(&mut self) -> Option<(&'tokens Token, Place)> {
        let next = self.peek();
        self.at += 1;
        next
    }

    fn begins_rule(&self) -> bool {
        matches!(self.tokens.get(self.at + 1), Some((Token::Is, _)))
    }

    fn choice(&mut self, depth: usize) -> Result<Expression, GrammarError> {
        let mut parts = vec![self.sequence(depth)?];
        while let Some((Token::Or, _)) = self.peek() {
            self.next();
            parts.push(self.sequence(depth)?);
        }
        Ok(one_or(parts, Expression::Choice))
    }

    fn sequence(&mut self, depth: usize) -> Result<Expression, GrammarError> {
        let mut parts = Vec::new();
        while let Some((token, place)) = self.peek() {
            let part = match token {
                Token::Or | Token::Close => break,
                Token::Name(_) if self.begins_rule() => break,
                Token::Is => return Err(place.invalid("a name must stand before ::=")),
                Token::Times(..) => return Err(place.invalid("there is nothing that could be repeated")),
                Token::Text(text) => Expression::literal(text),
                Token::Class(set) => Expression::Class(set.clone()),
                Token::Name(name) => self.reference(name, place)?,
                Token::Open => self.group(depth, place)?,
            };
            self.next();
            parts.push(self.repeated(part)?);
        }
        Ok(one_or(parts, Expression::Sequence))
    }

    fn reference(&mut self, name: &str, place: Place) -> Result<Expression, GrammarError> {
        self.references += 1;
        if self.references > MAX_REFERENCES {
            let problem = format!("rules can be named at most {MAX_REFERENCES} times");
            return Err(place.too_large(&problem));
        }
        match self.index.get(name) {
            Some(rule) => Ok(Expression::Rule(*rule)),
            None => Err(place.invalid(&format!("there is no rule {name}"))),
        }
    }

    /// Leaves the closing bracket to be taken.
    fn group(&mut self, depth: usize, place: Place) -> Result<Expression, GrammarError> {
        if depth == MAX_NESTING {
            return Err(place.too_large(&format!("at most {MAX_NESTING} groups can be inside each other")));
        }
        self.next();
        let inside = self.choice(depth + 1)?;
        match self.peek() {
            Some((Token::Close, _)) => Ok(inside),
            _ => Err(place.invalid("this bracket is not closed")),
        }
    }

    /// With the repetitions that follow it.
    fn repeated(&mut self, mut part: Expression) -> Result<Expression, GrammarError> {
        let mut stacked = 0;
        while let Some((Token::Times(least, most), place)) = self.peek() {
            if stacked == MAX_STACKED {
                return Err(place.too_large(&format!("one part can have at most {MAX_STACKED} repetitions")));
            }
            stacked += 1;
            self.next();
            part = Expression::Repeat {
                of: Box::new(part),
                least: *least,
                most: *most,
            };
        }
        Ok(part)
    }
}

fn one_or(mut parts: Vec<Expression>, many: fn(Vec<Expression>) -> Expression) -> Expression {
    if parts.len() == 1
        && let Some(part) = parts.pop()
    {
        return part;
    }
    many(parts)
}
