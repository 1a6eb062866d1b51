//! The signs of a grammar in EBNF, with their places.

use super::charset::CharSet;
use crate::error::GrammarError;

/// Where something stands; lines and columns (in characters) from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) line: usize,
    pub(super) column: usize,
}

impl Place {
    pub(super) fn invalid(self, problem: &str) -> GrammarError {
        GrammarError::Invalid(format!("line {}, column {}: {problem}", self.line, self.column))
    }

    pub(super) fn too_large(self, problem: &str) -> GrammarError {
        GrammarError::TooLarge(format!("line {}, column {}: {problem}", self.line, self.column))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    Name(String),
    /// `::=`
    Is,
    Text(String),
    Class(CharSet),
    /// `{least,most}`, and `*`, `+`, `?`.
    Times(u32, Option<u32>),
    Open,
    Close,
    Or,
}

/// The macros of xgrammar.
const MACROS: [&str; 8] = [
    "TagDispatch",
    "TokenTagDispatch",
    "TokenDispatch",
    "Token",
    "ExcludeToken",
    "AnyTokens",
    "Regex",
    "Substring",
];
/// Largest number in braces.
const MAX_TIMES: u32 = 1 << 16;

pub(super) fn is_name_sign(sign: char) -> bool {
    sign.is_ascii_alphanumeric() || matches!(sign, '_' | '-' | '.')
}

/// All tokens of a text.
///
/// # Errors
/// `Invalid` and `TooLarge`, with the place.
pub(super) fn scan(text: &str) -> Result<Vec<(Token, Place)>, GrammarError> {
    let mut scanner = Scanner {
        rest: text,
        place: Place { line: 1, column: 1 },
    };
    let mut tokens = Vec::new();
    while let Some((sign, place)) = scanner.beginning() {
        tokens.push((scanner.token(sign, place)?, place));
    }
    Ok(tokens)
}

struct Scanner<'text> {
    rest: &'text str,
    place: Place,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let sign = self.peek()?;
        self.rest = &self.rest[sign.len_utf8()..];
        if sign == '\n' {
            self.place = Place {
                line: self.place.line + 1,
                column: 1,
            };
        } else {
            self.place.column += 1;
        }
        Some(sign)
    }

    fn skip(&mut self, wanted: impl Fn(char) -> bool) {
        while self.peek().is_some_and(&wanted) {
            self.next();
        }
    }

    /// The first sign of the next token, which is not taken yet, behind blanks and comments.
    fn beginning(&mut self) -> Option<(char, Place)> {
        loop {
            self.skip(char::is_whitespace);
            match self.peek()? {
                '#' => self.skip(|sign| sign != '\n'),
                sign => return Some((sign, self.place)),
            }
        }
    }

    fn token(&mut self, sign: char, place: Place) -> Result<Token, GrammarError> {
        if is_name_sign(sign) && sign != '.' {
            return self.name(place);
        }
        self.next();
        match sign {
            '.' => Ok(Token::Class(CharSet::any())),
            '|' => Ok(Token::Or),
            '*' => Ok(Token::Times(0, None)),
            '+' => Ok(Token::Times(1, None)),
            '?' => Ok(Token::Times(0, Some(1))),
            ')' => Ok(Token::Close),
            '(' if self.peek() == Some('=') => Err(place.invalid("a lookahead, (= ...), is not available")),
            '(' => Ok(Token::Open),
            '"' => self.literal(place),
            '[' => self.class(place),
            '{' => self.times(place),
            ':' if self.rest.starts_with(":=") => {
                self.next();
                self.next();
                Ok(Token::Is)
            }
            _ => Err(place.invalid(&format!("{sign:?} begins nothing that a grammar in EBNF has"))),
        }
    }

    /// A full stop belongs to a name in its middle only.
    fn name(&mut self, place: Place) -> Result<Token, GrammarError> {
        let mut name = String::new();
        while let Some(sign) = self.peek() {
            let is_inside = sign != '.' || self.rest[1..].starts_with(is_name_sign);
            if !is_name_sign(sign) || !is_inside {
                break;
            }
            name.push(sign);
            self.next();
        }
        if self.peek() == Some('(') && MACROS.contains(&name.as_str()) {
            return Err(place.invalid(&format!("the macro {name}(...) is not available")));
        }
        Ok(Token::Name(name))
    }

    fn literal(&mut self, place: Place) -> Result<Token, GrammarError> {
        let mut text = String::new();
        loop {
            match self.next() {
                Some('"') => return Ok(Token::Text(text)),
                Some('\n') | None => return Err(place.invalid("the text has no closing quote in its line")),
                Some('\\') => text.push(self.escape("")?),
                Some(sign) => text.push(sign),
            }
        }
    }

    fn class(&mut self, place: Place) -> Result<Token, GrammarError> {
        let is_negated = self.peek() == Some('^');
        if is_negated {
            self.next();
        }
        let mut ranges = Vec::new();
        loop {
            let at = self.place;
            let Some(low) = self.class_sign(place)? else { break };
            let is_range = self.rest.starts_with('-') && !self.rest.starts_with("-]");
            if !is_range {
                ranges.push((low, low));
                continue;
            }
            self.next();
            let Some(high) = self.class_sign(place)? else { break };
            if high < low {
                return Err(at.invalid(&format!("the range {low:?} to {high:?} goes down")));
            }
            ranges.push((low, high));
        }
        if ranges.is_empty() {
            return Err(place.invalid("a class has at least one character"));
        }
        let set = CharSet::of(ranges);
        Ok(Token::Class(if is_negated { set.complement() } else { set }))
    }

    /// The next character of a class; `None` behind its end.
    fn class_sign(&mut self, class: Place) -> Result<Option<char>, GrammarError> {
        match self.next() {
            Some(']') => Ok(None),
            Some('\n') | None => Err(class.invalid("the class has no closing bracket in its line")),
            Some('\\') => self.escape("-[]^").map(Some),
            Some(sign) => Ok(Some(sign)),
        }
    }

    /// Behind a backslash. `more` stand for themselves.
    fn escape(&mut self, more: &str) -> Result<char, GrammarError> {
        let place = self.place;
        let sign = self
            .next()
            .ok_or_else(|| place.invalid("nothing follows the backslash"))?;
        Ok(match sign {
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'a' => '\u{7}',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'v' => '\u{b}',
            'e' => '\u{1b}',
            '0' => '\0',
            'x' => self.hexadecimal(place, 2)?,
            'u' => self.hexadecimal(place, 4)?,
            'U' => self.hexadecimal(place, 8)?,
            '\\' | '"' | '\'' | '?' | '[' | ']' => sign,
            _ if more.contains(sign) => sign,
            _ => return Err(place.invalid(&format!("\\{sign} is no escape"))),
        })
    }

    fn hexadecimal(&mut self, place: Place, digits: usize) -> Result<char, GrammarError> {
        let problem = || {
            place.invalid(&format!(
                "{digits} hexadecimal digits of a Unicode character must follow"
            ))
        };
        let mut code = 0;
        for _ in 0..digits {
            let digit = self.next().and_then(|sign| sign.to_digit(16)).ok_or_else(problem)?;
            code = code * 16 + digit;
        }
        char::from_u32(code).ok_or_else(problem)
    }

    /// Behind an opening brace.
    fn times(&mut self, place: Place) -> Result<Token, GrammarError> {
        let problem = || place.invalid("braces have one number or two: {2}, {2,}, {2,5}");
        let inside: String = std::iter::from_fn(|| self.next().filter(|sign| *sign != '}')).collect();
        let (least, most) = match inside.split_once(',') {
            None => (inside.trim(), Some(inside.trim())),
            Some((least, most)) => (least.trim(), Some(most.trim()).filter(|most| !most.is_empty())),
        };
        let number = |text: &str| -> Result<u32, GrammarError> {
            let is_number = !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
            if !is_number {
                return Err(problem());
            }
            text.parse()
                .ok()
                .filter(|times| *times <= MAX_TIMES)
                .ok_or_else(|| place.too_large(&format!("at most {MAX_TIMES} repetitions are possible")))
        };
        let (least, most) = (number(least)?, most.map(number).transpose()?);
        if most.is_some_and(|most| most < least) {
            return Err(place.invalid("the second number in the braces is smaller than the first"));
        }
        Ok(Token::Times(least, most))
    }
}
