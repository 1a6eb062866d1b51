//! Texts of a structural tag: which parts of them are tokens without text.

use std::fmt::Write;

/// Longest name of a token that is looked for, in bytes.
const MAX_NAME_BYTES: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    /// The token, which is written like this.
    Token(u32, String),
}

/// A text that is not empty, cut into plain texts and tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Literal(Vec<Piece>);

impl Literal {
    pub(super) fn of(text: &str, token: &dyn Fn(&str) -> Option<u32>) -> Self {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(sign) = rest.chars().next() {
            let length = match token_at(rest, token) {
                Some((id, length)) => {
                    if !plain.is_empty() {
                        pieces.push(Piece::Text(std::mem::take(&mut plain)));
                    }
                    pieces.push(Piece::Token(id, rest[..length].to_owned()));
                    length
                }
                None => {
                    plain.push(sign);
                    sign.len_utf8()
                }
            };
            rest = &rest[length..];
        }
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        Literal(pieces)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// In Lark.
    pub(super) fn lark(&self) -> String {
        let pieces = self.0.iter().map(|piece| match piece {
            Piece::Text(text) => quoted(text),
            Piece::Token(id, _) => format!("<[{id}]>"),
        });
        pieces.collect::<Vec<_>>().join(" ")
    }

    /// The plain text before the first token, and what follows; `None` where there is no token.
    pub(super) fn at_token(&self) -> Option<(&str, Literal)> {
        match self.0.as_slice() {
            [Piece::Token(..), ..] => Some(("", self.clone())),
            [Piece::Text(text), rest @ ..] if !rest.is_empty() => Some((text, Literal(rest.to_vec()))),
            _ => None,
        }
    }

    /// The whole text, if no token is in it.
    pub(super) fn plain(&self) -> Option<&str> {
        match self.0.as_slice() {
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }

    pub(super) fn first_sign(&self) -> Option<char> {
        match self.0.first() {
            Some(Piece::Text(text)) => text.chars().next(),
            _ => None,
        }
    }

    /// Cut behind the first `bytes` of the text, or behind the token that these end in.
    pub(super) fn split(&self, bytes: usize) -> (Literal, Literal) {
        let (mut front, mut back) = (Vec::new(), Vec::new());
        let mut left = bytes;
        for piece in &self.0 {
            match piece {
                _ if left == 0 => back.push(piece.clone()),
                Piece::Token(_, name) => {
                    front.push(piece.clone());
                    left = left.saturating_sub(name.len());
                }
                Piece::Text(text) if text.len() <= left => {
                    front.push(piece.clone());
                    left -= text.len();
                }
                Piece::Text(text) => {
                    front.push(Piece::Text(text[..left].to_owned()));
                    back.push(Piece::Text(text[left..].to_owned()));
                    left = 0;
                }
            }
        }
        (Literal(front), Literal(back))
    }

    /// Whether one of the two begins the other.
    pub(super) fn meets(&self, other: &Literal) -> bool {
        for (here, there) in self.0.iter().zip(&other.0) {
            match (here, there) {
                (Piece::Token(one, _), Piece::Token(two, _)) if one == two => {}
                (Piece::Text(one), Piece::Text(two)) if one == two => {}
                (Piece::Text(one), Piece::Text(two)) => {
                    let is_last =
                        |of: &Literal, text: &str| matches!(of.0.last(), Some(Piece::Text(last)) if last == text);
                    return (two.starts_with(one.as_str()) && is_last(self, one))
                        || (one.starts_with(two.as_str()) && is_last(other, two));
                }
                _ => return false,
            }
        }
        true
    }
}

fn token_at(text: &str, token: &dyn Fn(&str) -> Option<u32>) -> Option<(u32, usize)> {
    let close = match text.as_bytes().first()? {
        b'<' => '>',
        b'[' => ']',
        _ => return None,
    };
    let ends = text.match_indices(close).map(|(at, _)| at + 1);
    let names = ends.take_while(|end| *end <= MAX_NAME_BYTES);
    names.filter_map(|end| Some((token(&text[..end])?, end))).last()
}

/// As a literal of Lark.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::String(text.to_owned()).to_string()
}

/// As a part of a regular expression in which every character is written as its number.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for sign in text.chars() {
        // Writing to a text cannot fail.
        let _ = write!(escaped, "\\x{{{:x}}}", u32::from(sign));
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::Literal;

    fn literal(text: &str) -> Literal {
        Literal::of(text, &|name| match name {
            "<call>" => Some(7),
            "[/X]" => Some(8),
            _ => None,
        })
    }

    #[test]
    fn tokens_are_found_in_a_text_and_never_cut() {
        assert_eq!(literal("a<b><call>\n[/X]").lark(), "\"a<b>\" <[7]> \"\\n\" <[8]>");
        let (front, back) = literal("<call>\nx").split(2);
        assert_eq!((front.lark(), back.lark()), ("<[7]>".into(), "\"\\nx\"".into()));
        let (front, back) = literal("<calls").split(5);
        assert_eq!((front.lark(), back.lark()), ("\"<call\"".into(), "\"s\"".into()));
        assert!(
            literal("a<call>")
                .at_token()
                .is_some_and(|(before, rest)| before == "a" && rest.lark() == "<[7]>")
        );
    }

    #[test]
    fn one_text_meets_another_that_it_begins() {
        for (one, other, expected) in [
            ("ab", "abc", true),
            ("abc", "ab", true),
            ("abc", "abd", false),
            ("<call>", "<call>a", true),
            ("<call>", "<calls>", false),
            ("a<call>", "ab", false),
            ("a", "a<call>", true),
            ("ab<call>", "a<call>", false),
            ("a<call>b", "a<call>c", false),
        ] {
            assert_eq!(literal(one).meets(&literal(other)), expected, "{one} {other}");
        }
    }
}
