//! Grammars in EBNF: which texts they have, against a recogniser that knows neither terminals nor tables; and what is refused.

use prl_grammar::{Grammar, GrammarError, Source, SourceKind, Vocabulary};

const END: u32 = 256;

fn vocabulary() -> Vocabulary {
    let mut words: Vec<Vec<u8>> = (0..=255u8).map(|byte| vec![byte]).collect();
    words[0xff] = Vec::new();
    words.push(b"<|end|>".to_vec());
    Vocabulary::of(words, &[END]).unwrap()
}

fn compile(text: &str) -> Result<Grammar, GrammarError> {
    let kind = SourceKind::grammar(text.to_owned());
    assert!(matches!(kind, SourceKind::Ebnf(_)), "{text}");
    vocabulary().compile(&Source {
        kind,
        compact: false,
        after: None,
    })
}

/// Whether each of its bytes can follow, and then the end.
fn has(grammar: &Grammar, text: &str) -> bool {
    let mut progress = grammar.start(&[END]);
    let mut completion = Vec::new();
    for next in text.bytes().map(u32::from).chain([END]) {
        let mut logits = vec![0.0; 257];
        if progress.restrict(&completion, &mut logits) != Ok(true) || logits[next as usize] != 0.0 {
            return false;
        }
        completion.push(next);
    }
    true
}

#[test]
fn texts_are_those_of_a_grammar_over_characters() {
    let cases: &[(&str, &[&str], &[&str])] = &[
        ("root ::= [a-z]+ \"b\"", &["ab", "bb", "abb"], &["a", "b", "abc"]),
        (
            "root ::= \"(\" root \")\" | [a-z]+ \"b\"",
            &["(ab)", "bb", "((zb))"],
            &["(b)", "(ab", "()"],
        ),
        (
            "root ::= \"ab\" root \"cd\" | \"abc\" | \"\"",
            &["", "abc", "ababccd", "abcd"],
            &["ab", "abcc"],
        ),
        (
            "root ::= e\ne ::= e \"+\" t | t\nt ::= [0-9]+ | \"(\" e \")\"",
            &["1+22", "(1+2)+3"],
            &["1+", "+1", "()"],
        ),
        (
            "root ::= \"\\x41\" | \"\\u00e9\" [^a-z\\n] | \"\\U0001F600\"",
            &["A", "éA", "😀"],
            &["a", "éa", "é"],
        ),
        (
            "# said first\nroot ::= a-b c.d # and last\n\n a-b ::=\n \"x\"\n | \"y\"\nc.d ::= .",
            &["xé", "y\n"],
            &["x", "é"],
        ),
        (
            "x ::= \"a\" x? \nroot ::= x{2,3} [\\]\\-^]{2}",
            &["aa]-", "aaaaa^^"],
            &["a]]", "aa]", "aa]]]"],
        ),
        ("root ::= s s\ns ::= \"\" | s \"a\"", &["", "aaaa"], &["b"]),
        (
            "root ::= (\"a\"*)* root? \"b\"",
            &["b", "aab", "abbb", "bb"],
            &["a", "abab"],
        ),
        (
            "root ::= \"x\" never | \"y\" root?\nnever ::= \"z\" never",
            &["y", "yy"],
            &["x", "yx"],
        ),
    ];
    for (text, inside, outside) in cases {
        let grammar = compile(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        for one in *inside {
            assert!(has(&grammar, one), "{text} has {one:?}");
        }
        for one in *outside {
            assert!(!has(&grammar, one), "{text} does not have {one:?}");
        }
    }
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let cases: &[(&str, &str)] = &[
        ("root ::= \"a", "line 1, column 10: the text has no closing quote"),
        (
            "root ::= \"a\"\n  | (\"b\"",
            "line 2, column 5: this bracket is not closed",
        ),
        ("root ::= \"a\")", "line 1, column 13: this bracket closes nothing"),
        ("root ::= other", "line 1, column 10: there is no rule other"),
        ("start ::= \"a\"", "no rule that is named root"),
        (
            "root ::= \"a\"\nroot ::= \"b\"",
            "line 2, column 1: the rule root is there already",
        ),
        ("root ::= [z-a]", "line 1, column 11: the range 'z' to 'a' goes down"),
        ("root ::= []", "line 1, column 10: a class has at least one character"),
        ("root ::= [a", "line 1, column 10: the class has no closing bracket"),
        ("root ::= \"\\q\"", "line 1, column 12: \\q is no escape"),
        ("root ::= \"\\uD800\"", "line 1, column 12: 4 hexadecimal digits"),
        ("root ::= \"a\"{3,2}", "line 1, column 13: the second number"),
        ("root ::= \"a\"{x}", "line 1, column 13: braces have one number or two"),
        (
            "root ::= * \"a\"",
            "line 1, column 10: there is nothing that could be repeated",
        ),
        ("root ::= \"a\" (= \"b\")", "line 1, column 14: a lookahead"),
        (
            "root ::= TagDispatch((\"a\", root))",
            "line 1, column 10: the macro TagDispatch(...) is not available",
        ),
        ("root ::= 'a'", "line 1, column 10: '\\'' begins nothing"),
        (
            "root ::= \"é\" ::= \"a\"",
            "line 1, column 14: a name must stand before ::=",
        ),
    ];
    for (text, expected) in cases {
        match compile(text) {
            Err(GrammarError::Invalid(problem)) => assert!(problem.contains(expected), "{text}: {problem}"),
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[test]
fn sizes_have_limits_and_a_grammar_without_texts_is_refused() {
    let chain: String = (0..9_000).map(|at| format!("r{at} ::= r{}\n", at + 1)).collect();
    let large = [
        format!("root ::= {}\"a\"{}", "(".repeat(101), ")".repeat(101)),
        "root ::= \"a\"+++++".to_owned(),
        "root ::= \"a\"{70000}".to_owned(),
        format!("root ::= {}", "root ".repeat(20_001)),
        (0..=10_000).map(|at| format!("r{at} ::= \"\"\n")).collect(),
        format!("root ::= \"{}\"", "a".repeat(300_000)),
    ];
    for text in large {
        let compiled = compile(&text);
        assert!(
            matches!(compiled, Err(GrammarError::TooLarge(_))),
            "{text:.40}: {compiled:?}"
        );
    }
    let compiled = compile(&format!("root ::= r0\n{chain}r9000 ::= \"a\" r0? | \"b\""));
    assert!(
        compiled.is_ok() || matches!(compiled, Err(GrammarError::TooLarge(_))),
        "{compiled:?}"
    );
    for text in [
        "root ::= root",
        "root ::= \"a\" b\nb ::= b | \"c\" b",
        "root ::= [^\\x00-\\U0010FFFF]",
    ] {
        let compiled = compile(text);
        assert!(matches!(compiled, Err(GrammarError::Empty(_))), "{text}: {compiled:?}");
    }
}

/// The grammar of JSON that llama.cpp's users begin with.
const JSON: &str = r#"
root   ::= object
value  ::= object | array | string | number | ("true" | "false" | "null") ws
object ::= "{" ws ( string ":" ws value ("," ws string ":" ws value)* )? "}" ws
array  ::= "[" ws ( value ("," ws value)* )? "]" ws
string ::= "\"" ( [^"\\\x7F\x00-\x1F] | "\\" (["\\bfnrt] | "u" [0-9a-fA-F]{4}) )* "\"" ws
number ::= ("-"? ([0-9] | [1-9] [0-9]{0,15})) ("." [0-9]+)? ([eE] [-+]? [0-9] [1-9]{0,15})? ws
ws     ::= | " " | "\n" [ \t]{0,20}
"#;

#[test]
fn a_recursive_grammar_is_followed_within_the_limits_with_many_tokens() {
    let letters = (b'a'..=b'z').chain(b'A'..=b'Z');
    let mut words: Vec<Vec<u8>> = (0..=255u8).map(|byte| vec![byte]).collect();
    words.push(b"<|end|>".to_vec());
    for one in letters.clone() {
        for two in letters.clone() {
            words.extend(letters.clone().map(|three| vec![one, two, three]));
        }
    }
    let size = words.len();
    let vocabulary = Vocabulary::of(words, &[END]).unwrap();
    let grammar = vocabulary
        .compile(&Source {
            kind: SourceKind::grammar(JSON.to_owned()),
            compact: false,
            after: None,
        })
        .unwrap();
    let mut progress = grammar.start(&[END]);
    let mut completion: Vec<u32> = Vec::new();
    for next in "{\"some name\": [-1.5e3, \"\\u00e9 é\", {}, true]\n}".bytes() {
        let mut logits = vec![0.0; size];
        assert_eq!(progress.restrict(&completion, &mut logits), Ok(true), "{completion:?}");
        assert_eq!(logits[usize::from(next)], 0.0, "{completion:?}");
        completion.push(u32::from(next));
    }
    let mut logits = vec![0.0; size];
    assert_eq!(progress.restrict(&completion, &mut logits), Ok(true));
    assert_eq!(logits[END as usize], 0.0);
}
