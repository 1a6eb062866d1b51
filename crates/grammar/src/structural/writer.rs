//! Writes a format in Lark.
//!
//! llguidance takes the longest terminal that can come. So no terminal here begins another one that can come at the same place, except the free
//! text up to the end and free text before a token.

use std::collections::HashMap;

use serde_json::Value;

use super::Structure;
use super::fields::invalid;
use super::format::{Format, Kind, Separated, Tag, Triggered};
use super::literal::{Literal, escaped, quoted};
use crate::error::GrammarError;

/// Any text.
const ANY: &str = "(?s:.*)";

/// The text that ends a format.
#[derive(Clone, Copy)]
enum End<'end> {
    /// Nothing: the text ends.
    Whole,
    /// One of these texts, which is written with the format.
    One(&'end [Literal]),
    /// Something that is written elsewhere, and begins with this character if it is known.
    Elsewhere(Option<char>),
}

pub(super) fn write(format: &Format, token: &dyn Fn(&str) -> Option<u32>) -> Result<Structure, GrammarError> {
    let mut writer = Writer {
        token,
        terminals: HashMap::new(),
        lines: Vec::new(),
        schemas: Vec::new(),
    };
    let start = writer.format(format, End::Whole)?;
    writer.lines.push(format!("start: {start}\n"));
    Ok(Structure {
        lark: writer.lines.join("\n"),
        schemas: writer.schemas,
    })
}

struct Writer<'token> {
    token: &'token dyn Fn(&str) -> Option<u32>,
    /// Names by what they are.
    terminals: HashMap<String, String>,
    lines: Vec<String>,
    schemas: Vec<Value>,
}

impl Writer<'_> {
    fn literal(&self, text: &str) -> Literal {
        Literal::of(text, self.token)
    }

    fn literals(&self, texts: &[String]) -> Vec<Literal> {
        texts.iter().map(|text| self.literal(text)).collect()
    }

    fn terminal(&mut self, body: String) -> String {
        let next = format!("T{}", self.terminals.len());
        let name = self.terminals.entry(body.clone()).or_insert_with(|| next.clone());
        if *name == next {
            self.lines.push(format!("{name}: {body}"));
        }
        name.clone()
    }

    fn format(&mut self, format: &Format, end: End<'_>) -> Result<String, GrammarError> {
        let path = format.path.as_str();
        match &format.kind {
            Kind::Literal(text) => Ok(closed(self.literal(text).lark(), end)),
            Kind::Json(schema) => self.json(schema, end, path),
            Kind::Regex(pattern) => self.regex(pattern, end, path),
            Kind::AnyText { excludes } => self.free(&[], excludes, end, path),
            Kind::Sequence(parts) => self.sequence(parts, end),
            Kind::Or(parts) => self.or(parts, end),
            Kind::Tag(tag) => self.tag(tag, None, end),
            Kind::Triggered(triggered) => self.triggered(triggered, end, path),
            Kind::Separated(separated) => self.separated(separated, end, path),
        }
    }

    fn json(&mut self, schema: &Value, end: End<'_>, path: &str) -> Result<String, GrammarError> {
        let continues =
            |sign: Option<char>| sign.is_some_and(|sign| sign.is_ascii_digit() || "+-.eE \t\r\n".contains(sign));
        let is_unclear = match end {
            End::Whole => false,
            // White space before a text that begins with it: the text has one of them, and JSON ends before.
            End::One(ends) => ends
                .iter()
                .any(|end| continues(end.first_sign().filter(|sign| !sign.is_whitespace()))),
            End::Elsewhere(sign) => sign.is_none() || continues(sign.filter(|sign| !sign.is_whitespace())),
        };
        if is_unclear {
            return Err(invalid(
                path,
                "what follows can be a part of a number, so that nothing says where the JSON ends",
            ));
        }
        self.schemas.push(schema.clone());
        Ok(closed(format!("@s{}", self.schemas.len() - 1), end))
    }

    fn regex(&mut self, pattern: &str, end: End<'_>, path: &str) -> Result<String, GrammarError> {
        let body = format!("/(?:{})/", in_slashes(pattern));
        match end {
            End::Whole => Ok(self.terminal(body)),
            End::One(ends) => self.until(&body, ends, &Stops::of(ends, &[], &[]), path),
            End::Elsewhere(_) => Err(unclear(path)),
        }
    }

    /// Free text, `stops` and what closes it not included.
    fn free(&mut self, stops: &[&str], excludes: &[String], end: End<'_>, path: &str) -> Result<String, GrammarError> {
        match end {
            End::Whole => {
                let stops = Stops::of(&[], stops, excludes);
                let free = self.terminal(format!("/(?s:.+)/{}", stops.nowhere()));
                Ok(format!("({free})?"))
            }
            End::One(ends) => self.until(&format!("/{ANY}/"), ends, &Stops::of(ends, stops, excludes), path),
            End::Elsewhere(_) => Err(unclear(path)),
        }
    }

    /// A text of `body` and then one of `ends`, none of the stops in it before.
    fn until(&mut self, body: &str, ends: &[Literal], stops: &Stops<'_>, path: &str) -> Result<String, GrammarError> {
        let mut ways = Vec::with_capacity(ends.len());
        for end in ends {
            let Some((before, rest)) = end.at_token() else {
                let text = end.plain().unwrap_or_default();
                ways.push(self.terminal(format!("({body} {}){}", quoted(text), stops.first_at(text))));
                continue;
            };
            if stops.are_in(before) {
                let problem = format!("another trigger or end is in {before:?}, so that nothing says which one it is");
                return Err(invalid(path, &problem));
            }
            let rest = rest.lark();
            ways.push(if before.is_empty() {
                let free = self.terminal(format!("({body} & /(?s:.+)/){}", stops.nowhere()));
                format!("(({free})? {rest})")
            } else {
                let free = self.terminal(format!("({body} {}){}", quoted(before), stops.nowhere_before(before)));
                format!("({free} {rest})")
            });
        }
        Ok(either(&ways))
    }

    fn sequence(&mut self, parts: &[Format], end: End<'_>) -> Result<String, GrammarError> {
        let mut written = Vec::with_capacity(parts.len());
        for (at, part) in parts.iter().enumerate() {
            let end = match parts.get(at + 1) {
                None => end,
                Some(next) => End::Elsewhere(self.head(next).and_then(|head| head.first_sign())),
            };
            written.push(self.format(part, end)?);
        }
        Ok(format!("({})", written.join(" ")))
    }

    fn or(&mut self, parts: &[Format], end: End<'_>) -> Result<String, GrammarError> {
        let mut heads = Vec::with_capacity(parts.len());
        for part in parts {
            let head = self.head(part);
            heads.push((
                head.ok_or_else(|| {
                    invalid(
                        &part.path,
                        "an alternative begins with a text that shows which one it is",
                    )
                })?,
                &part.path,
            ));
        }
        apart(&heads)?;
        let written: Result<Vec<String>, GrammarError> = parts.iter().map(|part| self.format(part, end)).collect();
        Ok(either(&written?))
    }

    /// The text with which a format begins always.
    fn head(&self, format: &Format) -> Option<Literal> {
        match &format.kind {
            Kind::Literal(text) => Some(self.literal(text)),
            Kind::Tag(tag) => Some(self.literal(&tag.begin)),
            Kind::Sequence(parts) => self.head(parts.first()?),
            _ => None,
        }
    }

    /// `begin`: what of its beginning is still to come; `None`: all of it.
    fn tag(&mut self, tag: &Tag, begin: Option<&Literal>, end: End<'_>) -> Result<String, GrammarError> {
        let begin = match begin {
            Some(begin) => begin.lark(),
            None => self.literal(&tag.begin).lark(),
        };
        let ends = self.literals(&tag.ends);
        let places: Vec<(Literal, &String)> = ends.iter().map(|end| (end.clone(), &tag.path)).collect();
        apart(&places)?;
        if ends.is_empty() {
            return Ok(format!("({begin} {})", self.format(&tag.content, end)?));
        }
        let content = self.format(&tag.content, End::One(&ends))?;
        Ok(closed(format!("({begin} {content})"), end))
    }

    fn triggered(&mut self, of: &Triggered, end: End<'_>, path: &str) -> Result<String, GrammarError> {
        let begins = self.begins(&of.tags)?;
        // The tags of each trigger, in the order of the tags.
        let mut groups: Vec<(Literal, Vec<String>)> = Vec::new();
        for (tag, (begin, _)) in of.tags.iter().zip(&begins) {
            let mut matching = of
                .triggers
                .iter()
                .filter(|trigger| tag.begin.starts_with(trigger.as_str()));
            let (Some(trigger), None) = (matching.next(), matching.next()) else {
                return Err(invalid(
                    &format!("{}.begin", tag.path),
                    "must begin with exactly one of the triggers",
                ));
            };
            let (trigger, rest) = begin.split(trigger.len());
            let written = self.tag(tag, Some(&rest), End::Elsewhere(None))?;
            match groups.iter_mut().find(|(known, _)| *known == trigger) {
                Some((_, tags)) => tags.push(written),
                None => groups.push((trigger, vec![written])),
            }
        }
        let triggers: Vec<Literal> = groups.iter().map(|(trigger, _)| trigger.clone()).collect();
        let stops: Vec<&str> = triggers.iter().filter_map(Literal::plain).collect();
        let ends = match end {
            End::One(ends) => ends,
            End::Whole => &[],
            End::Elsewhere(_) => return Err(unclear(path)),
        };
        let all: Vec<&str> = stops
            .iter()
            .copied()
            .chain(ends.iter().filter_map(Literal::plain))
            .collect();
        let overlapping = all.iter().enumerate().find_map(|(at, one)| {
            all.iter()
                .enumerate()
                .find(|(other, two)| at != *other && two.contains(one))
        });
        if let Some((_, text)) = overlapping {
            return Err(invalid(
                path,
                &format!("another trigger or end is in {text:?}, so that nothing says which one it is"),
            ));
        }
        let known = Stops::of(ends, &stops, &of.excludes);
        let mut tags = Vec::with_capacity(groups.len());
        for (trigger, group) in &groups {
            let before = self.until(&format!("/{ANY}/"), std::slice::from_ref(trigger), &known, path)?;
            tags.push(format!("({before} {})", either(group)));
        }
        let tags = self.rule("tags", &either(&tags));
        let last = self.free(&stops, &of.excludes, end, path)?;
        let behind = if of.stop_after_first {
            closed(String::new(), end)
        } else {
            format!("({tags})* {last}")
        };
        if !of.at_least_one {
            return Ok(if of.stop_after_first {
                format!("(({tags} {behind}) | {last})")
            } else {
                format!("({behind})")
            });
        }
        let first: Result<Vec<String>, GrammarError> = of
            .tags
            .iter()
            .map(|tag| self.tag(tag, None, End::Elsewhere(None)))
            .collect();
        Ok(format!("({} {behind})", either(&first?)))
    }

    fn separated(&mut self, of: &Separated, end: End<'_>, path: &str) -> Result<String, GrammarError> {
        let begins = self.begins(&of.tags)?;
        let separator = self.literal(&of.separator);
        let ends = match end {
            End::One(ends) => ends,
            End::Whole => &[],
            End::Elsewhere(_) => return Err(unclear(path)),
        };
        let followers = if separator.is_empty() {
            begins.iter().map(|(begin, _)| begin).collect()
        } else {
            vec![&separator]
        };
        let firsts = begins.iter().map(|(begin, _)| begin).filter(|_| !of.at_least_one);
        if followers
            .into_iter()
            .chain(firsts)
            .any(|one| ends.iter().any(|end| one.meets(end)))
        {
            return Err(invalid(
                path,
                "what follows begins like a tag or the separator, so that nothing says which one it is",
            ));
        }
        let next = if separator.is_empty() {
            begins.first().and_then(|(begin, _)| begin.first_sign())
        } else {
            separator.first_sign()
        };
        let tags: Result<Vec<String>, GrammarError> = of
            .tags
            .iter()
            .map(|tag| self.tag(tag, None, End::Elsewhere(next)))
            .collect();
        let tags = self.rule("tags", &either(&tags?));
        let many = if of.stop_after_first {
            tags
        } else {
            format!("{tags} ({} {tags})*", separator.lark())
        };
        Ok(closed(
            format!("({many}){}", if of.at_least_one { "" } else { "?" }),
            end,
        ))
    }

    /// How the tags begin, where they stand. Each must be known by its beginning, and end by itself.
    fn begins<'tags>(&self, tags: &'tags [Tag]) -> Result<Vec<(Literal, &'tags String)>, GrammarError> {
        if let Some(tag) = tags.iter().find(|tag| tag.ends.is_empty()) {
            return Err(invalid(
                &format!("{}.end", tag.path),
                "is empty, so that nothing says where the tag ends",
            ));
        }
        let begins: Vec<(Literal, &String)> = tags.iter().map(|tag| (self.literal(&tag.begin), &tag.path)).collect();
        apart(&begins)?;
        Ok(begins)
    }

    fn rule(&mut self, name: &str, body: &str) -> String {
        let name = format!("{name}{}", self.lines.len());
        self.lines.push(format!("{name}: {body}"));
        name
    }
}

/// Texts that end free text, and texts that cannot be in it.
struct Stops<'texts> {
    stops: Vec<&'texts str>,
    excludes: &'texts [String],
}

impl<'texts> Stops<'texts> {
    fn of(ends: &'texts [Literal], more: &[&'texts str], excludes: &'texts [String]) -> Self {
        let ends = ends.iter().filter_map(Literal::plain);
        Stops {
            stops: ends.chain(more.iter().copied()).collect(),
            excludes,
        }
    }

    fn are_in(&self, text: &str) -> bool {
        self.stops.iter().any(|stop| text.contains(stop))
    }

    /// None of them at all.
    fn nowhere(&self) -> String {
        without(self.stops.iter().copied(), ANY) + &self.without_excludes(ANY)
    }

    /// No stop at all, and nothing that is excluded before the `text` with which the whole ends.
    fn nowhere_before(&self, text: &str) -> String {
        without(self.stops.iter().copied(), ANY) + &self.without_excludes(&format!("{ANY}{}", escaped(text)))
    }

    /// The first stop is the `text` with which the whole ends, and nothing that is excluded comes before.
    fn first_at(&self, text: &str) -> String {
        without(self.stops.iter().copied(), "(?s:.+)") + &self.without_excludes(&format!("{ANY}{}", escaped(text)))
    }

    fn without_excludes(&self, behind: &str) -> String {
        without(self.excludes.iter().map(String::as_str), behind)
    }
}

/// The condition that none of the texts is anywhere with `behind`, a regular expression, up to the end.
fn without<'texts>(texts: impl Iterator<Item = &'texts str>, behind: &str) -> String {
    let texts: Vec<String> = texts.map(escaped).collect();
    if texts.is_empty() {
        return String::new();
    }
    format!(" & ~/{ANY}(?:{}){behind}/", texts.join("|"))
}

/// With what closes it.
fn closed(written: String, end: End<'_>) -> String {
    match end {
        End::One(ends) => {
            let ends: Vec<String> = ends.iter().map(Literal::lark).collect();
            format!("{written} {}", either(&ends))
        }
        End::Whole | End::Elsewhere(_) => written,
    }
}

fn either(ways: &[String]) -> String {
    format!("({})", ways.join(" | "))
}

fn unclear(path: &str) -> GrammarError {
    invalid(
        path,
        "something follows, and nothing says where this ends; put it into a tag with an end",
    )
}

/// No text begins another one.
fn apart(texts: &[(Literal, &String)]) -> Result<(), GrammarError> {
    for (at, (one, path)) in texts.iter().enumerate() {
        if let Some((_, other)) = texts[..at].iter().find(|(before, _)| before.meets(one)) {
            return Err(invalid(
                path,
                &format!("one of its texts begins like one of {other}, so that nothing says which one it is"),
            ));
        }
    }
    Ok(())
}

/// A pattern between the slashes of Lark.
fn in_slashes(pattern: &str) -> String {
    let mut written = String::with_capacity(pattern.len());
    let mut signs = pattern.chars();
    while let Some(sign) = signs.next() {
        match sign {
            '/' => written.push_str("\\x2f"),
            '\n' => written.push_str("\\n"),
            '\r' => written.push_str("\\r"),
            '\\' => match signs.next() {
                Some('/') => written.push_str("\\x2f"),
                Some(escaped) => written.extend(['\\', escaped]),
                None => written.push('\\'),
            },
            _ => written.push(sign),
        }
    }
    written
}
