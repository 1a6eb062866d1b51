//! Grammars in EBNF, as llama.cpp (GBNF), xgrammar and vLLM write them, for llguidance, which reads Lark.
//!
//! EBNF is a grammar over characters: `root ::= [a-z]+ "b"` has the text "ab". llguidance cuts a text into terminals first and takes the longest
//! one. So a part becomes one terminal only where [`terminals`] shows that the longest match changes nothing; other parts become terminals of one
//! character each. A grammar without recursion is one terminal.
//!
//! Read here: rules `name ::= ...` from `root` on, `|`, groups, `*`, `+`, `?`, `{n}`, `{n,}`, `{n,m}`, texts in double quotes, classes, `.` and
//! comments behind `#`. Refused by name: lookahead `(= ...)` and the macros of xgrammar (`TagDispatch(...)`, ...).

mod charset;
mod expression;
mod facts;
mod lark;
mod occurrences;
mod parser;
mod reduction;
mod scanner;
mod terminals;

use crate::error::GrammarError;

/// Whether the first rule of a grammar is one of EBNF, `name ::=`; if not, the grammar is Lark.
pub(crate) fn is_ebnf(text: &str) -> bool {
    let mut rest = text.trim_start();
    while rest.starts_with('#') || rest.starts_with("//") {
        rest = rest.split_once('\n').map_or("", |(_, after)| after).trim_start();
    }
    let name = rest.trim_start_matches(scanner::is_name_sign);
    name.len() < rest.len() && name.trim_start().starts_with("::=")
}

/// The same grammar in Lark.
///
/// # Errors
/// `Invalid` with line and column, `TooLarge`, `Empty`.
pub(crate) fn to_lark(text: &str) -> Result<String, GrammarError> {
    let rules = reduction::reduced(parser::parse(text)?)?;
    let plan = terminals::plan(&rules);
    Ok(lark::write(&rules, &plan))
}

#[cfg(test)]
mod tests {
    use super::{is_ebnf, to_lark};

    #[test]
    fn the_first_rule_says_which_syntax_a_grammar_has() {
        for text in ["root ::= \"a\"", " # x\n\n// y\na-b.c\n ::= x"] {
            assert!(is_ebnf(text), "{text}");
        }
        for text in [
            "start: \"::=\"",
            "start: /a ::= b/",
            "# a ::= b\nstart: x",
            "",
            "::= \"a\"",
            "%llguidance {}",
        ] {
            assert!(!is_ebnf(text), "{text}");
        }
    }

    #[test]
    fn a_part_is_one_terminal_where_the_longest_match_is_the_only_one() {
        let strings = "root ::= \"[\" (text (\",\" text)*)? \"]\" | text\ntext ::= \"'\" [^']* \"'\" | root";
        assert!(
            to_lark(strings)
                .unwrap()
                .contains(": (\"'\" (/[\\x{0}-\\x{26}\\x{28}-\\x{10ffff}]/)* \"'\")")
        );
        let words = to_lark("root ::= word root? \"b\"\nword ::= [a-z]+").unwrap();
        assert!(words.contains("T1: /[\\x{61}-\\x{7a}]/"), "{words}");
        assert!(
            !to_lark("root ::= word \"b\"\nword ::= [a-z]+").unwrap().contains("T1"),
            "no recursion"
        );
    }
}
