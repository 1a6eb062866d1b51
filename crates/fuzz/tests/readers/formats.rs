//! Formats that requests bring: JSON Schemas, regular expressions, choices and grammars. Each one that compiles is also followed for a few tokens.

use prl_fuzz::Target;
use prl_grammar::{Source, SourceKind, Vocabulary};

use crate::answer;

/// Tokens that a completion takes.
const STEPS: usize = 4;
/// A compiler may take this much whatever its format is; llguidance bounds its work, not its memory.
const HEAP_BYTES: usize = 192 << 20;
const SIZE: usize = 257;

fn vocabulary() -> Vocabulary {
    let mut words: Vec<Vec<u8>> = (0..=255u8).map(|byte| vec![byte]).collect();
    words[0xff] = Vec::new();
    words.push(b"<|end|>".to_vec());
    Vocabulary::of(words, &[256]).expect("a vocabulary")
}

/// Compiles the format and takes the first token that may follow, a few times.
fn follow(vocabulary: &Vocabulary, kind: SourceKind, options: u8) -> String {
    let source = Source {
        kind,
        compact: options & 1 != 0,
        after: (options & 6 == 6).then(|| "</think>".to_owned()),
    };
    answer(vocabulary.compile(&source), |grammar| {
        let mut progress = grammar.start(&[256]);
        let mut completion = Vec::new();
        for _ in 0..STEPS {
            let mut logits = [0f32; SIZE];
            match progress.restrict(&completion, &mut logits) {
                Err(reason) => return reason,
                Ok(false) => break,
                Ok(true) => {}
            }
            let Some(token) = (0u32..)
                .zip(logits)
                .find_map(|(id, value)| (value == 0.0 && id < 256).then_some(id))
            else {
                break;
            };
            completion.push(token);
        }
        completion.len().to_string()
    })
}

fn run(target: Target, kind: impl Fn(String) -> SourceKind) {
    let vocabulary = vocabulary();
    target.most_bytes(4096).heap(HEAP_BYTES, 4096).run(|bytes| {
        let options = bytes.first().copied().unwrap_or_default();
        let text = String::from_utf8_lossy(bytes.get(1..).unwrap_or_default()).into_owned();
        follow(&vocabulary, kind(text), options)
    });
}

#[test]
fn json_schemas() {
    let words = [
        "{\"type\":\"object\"}",
        "\"properties\":",
        "\"required\":[\"a\"]",
        "\"additionalProperties\":",
        "\"items\":",
        "\"prefixItems\":[",
        "\"minItems\":",
        "\"maxItems\":",
        "\"minLength\":",
        "\"maxLength\":",
        "\"pattern\":\"^(a|b)*$\"",
        "\"enum\":[",
        "\"const\":",
        "\"anyOf\":[",
        "\"allOf\":[",
        "\"oneOf\":[",
        "\"not\":",
        "\"$ref\":\"#\"",
        "\"$ref\":\"#/$defs/a\"",
        "\"$defs\":{\"a\":",
        "\"minimum\":",
        "\"exclusiveMaximum\":",
        "\"multipleOf\":",
        "\"format\":\"date-time\"",
        "\"patternProperties\":",
        "\"x-guidance\":",
        "\"if\":",
        "true",
        "false",
        "null",
    ];
    let target = Target::new("json-schema").words(&words).inputs(500);
    let target = target.start(r#"0{"type":"object","properties":{"a":{"type":"integer","minimum":3},"b":{"type":"array","items":{"type":"string"}}},"required":["a"]}"#);
    let target =
        target.start(r##"1{"$defs":{"a":{"anyOf":[{"type":"null"},{"$ref":"#/$defs/a"}]}},"$ref":"#/$defs/a"}"##);
    run(target.start(r#"6{"enum":["x",1,null]}"#), SourceKind::JsonSchema);
}

#[test]
fn regular_expressions() {
    let words = [
        "(",
        ")",
        "(?:",
        "(?i)",
        "(?s:.)",
        "(?P<a>",
        "[",
        "[^",
        "]",
        "{1000}",
        "{0,99999}",
        "*",
        "+?",
        "|",
        "\\p{L}",
        "\\b",
        "\\x{10ffff}",
        "^",
        "$",
        ".*",
        "\\1",
        "(?=",
    ];
    let target = Target::new("regex")
        .words(&words)
        .start("0[a-z]{3,8}(x|y)*")
        .start("6\\d+(\\.\\d+)?")
        .inputs(500);
    run(target, SourceKind::Regex);
}

#[test]
fn grammars() {
    let words = [
        "start:",
        "\n",
        "|",
        "\"a\"",
        "/[a-z]+/",
        "~3..5",
        "*",
        "?",
        "+",
        "(",
        ")",
        "[",
        "]",
        "%ignore",
        "%import common.INT",
        "%json {",
        "%regex {",
        "&",
        "~",
        "@answer",
        "<[256]>",
        "<[0-99]>",
        "[lazy]",
        "[suffix=\"x\"]",
        "[max_tokens=3]",
        "[capture]",
        "%llguidance {}",
        "\"x\"i",
        "start",
    ];
    let target = Target::new("lark").words(&words).inputs(500);
    let target = target.start("0start: \"a\" b+\nb: /[0-9]+/ | \"x\" start");
    run(
        target.start("1start: <[256]> | %json {\"type\":\"integer\"}"),
        SourceKind::Lark,
    );
}

#[test]
fn choices() {
    let target = Target::new("choice")
        .start("0yes\nno\nperhaps")
        .start("6\"quoted\\\"\n\n")
        .inputs(300);
    run(target, |text| {
        SourceKind::Choice(text.lines().map(str::to_owned).collect())
    });
}
