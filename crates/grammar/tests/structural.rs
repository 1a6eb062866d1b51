//! Structural tags: tokens without text in them, white space around JSON, what is refused. `xgrammar_oracle.rs` compares their texts.

use prl_grammar::{Grammar, GrammarError, Source, SourceKind, Vocabulary};
use serde_json::{Value, json};

const END: u32 = 256;
const CALL: u32 = 257;
const CALLED: u32 = 258;

fn vocabulary() -> Vocabulary {
    let mut words: Vec<Vec<u8>> = (0..=255u8).map(|byte| vec![byte]).collect();
    words.extend([&b"<|end|>"[..], b"<call>", b"</call>"].map(<[u8]>::to_vec));
    Vocabulary::of(words, &[END, CALL, CALLED]).unwrap()
}

fn compile(tag: &Value) -> Result<Grammar, GrammarError> {
    vocabulary().compile(&Source {
        kind: SourceKind::StructuralTag(tag.to_string()),
        compact: false,
        after: None,
    })
}

fn tokens(text: &str) -> Vec<u32> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(sign) = rest.chars().next() {
        let mark = [("<call>", CALL), ("</call>", CALLED)]
            .into_iter()
            .find(|(name, _)| rest.starts_with(name));
        let length = mark.map_or(sign.len_utf8(), |(name, _)| name.len());
        match mark {
            Some((_, id)) => tokens.push(id),
            None => tokens.extend(rest[..length].bytes().map(u32::from)),
        }
        rest = &rest[length..];
    }
    tokens
}

fn has(grammar: &Grammar, text: &[u32]) -> bool {
    let mut progress = grammar.start(&[END]);
    let mut completion = Vec::new();
    text.iter().copied().chain([END]).all(|next| {
        let mut logits = vec![0.0; 259];
        let possible = progress.restrict(&completion, &mut logits) == Ok(true);
        completion.push(next);
        possible && logits[next as usize] == 0.0
    })
}

fn check(tag: &Value, inside: &[&str], outside: &[&str]) {
    let grammar = compile(tag).unwrap_or_else(|error| panic!("{tag}: {error}"));
    for text in inside {
        assert!(has(&grammar, &tokens(text)), "{tag} has {text:?}");
    }
    for text in outside {
        assert!(!has(&grammar, &tokens(text)), "{tag} does not have {text:?}");
    }
}

fn any() -> Value {
    json!({"type": "any_text"})
}

fn integer() -> Value {
    json!({"type": "json_schema", "json_schema": {"type": "integer", "minimum": 0}})
}

fn tag(begin: &str, content: &Value, end: &str) -> Value {
    json!({"type": "tag", "begin": begin, "content": content, "end": end})
}

fn format(format: &Value) -> Value {
    json!({"type": "structural_tag", "format": format})
}

#[test]
fn vllms_earlier_form_is_free_text_with_tags() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": false});
    let tag = json!({
        "structures": [{"begin": "<f>", "schema": schema, "end": "</f>"}, {"begin": "<g>", "schema": {"const": 1}, "end": "\n</g>"}],
        "triggers": ["<f", "<g"],
    });
    check(
        &tag,
        &["", "text <", "<f>{}</f>", "é<f>{\"a\": 1}</f> <g>1\n</g><f>{ }</f>"],
        &["<f", "<f>", "<f>{\"b\": 1}</f>", "<g>2\n</g>", "<g>1</g>", "<h><g>1"],
    );
}

#[test]
fn a_part_that_is_a_token_without_text_is_that_token() {
    let calls = format(&json!({
        "type": "triggered_tags",
        "triggers": ["<call", "<f>"],
        "tags": [tag("<call>\n", &integer(), "\n</call>"), tag("<f>", &any(), "</call>")],
    }));
    let whole = [
        "",
        "so <call>\n12\n</call>",
        "<call>\n1\n</call> x <call>\n2\n</call>",
        "<f></call>",
        "<f>x</call>y",
    ];
    check(
        &calls,
        &whole,
        &[
            "<call>\n1",
            "<call>1\n</call>",
            "</call>",
            "<call>\n1\n</call></call>",
            "<f>",
            "<f>x",
        ],
    );
    let grammar = compile(&calls).unwrap();
    let spelled: Vec<u32> = "a <call>b</call> c".bytes().map(u32::from).collect();
    assert!(has(&grammar, &spelled), "the signs of a token's name are free text");
    let thought = json!({"type": "sequence", "elements": [tag("<call>", &any(), "\n</call>\n"), integer()]});
    check(
        &format(&thought),
        &["<call>a\nb\n</call>\n7", "<call>\n</call>\n0"],
        &["<call>a</call>\n7", "<call>a\n</call>7"],
    );
}

#[test]
fn what_is_excluded_can_still_be_in_the_end() {
    let lines = json!({"type": "any_text", "excludes": ["\n"]});
    check(
        &format(&tag("<call>", &lines, "\n</call>")),
        &["<call>a\n</call>", "<call>\n</call>"],
        &["<call>a\nb\n</call>", "<call>a</call>"],
    );
    check(
        &format(&tag("<f>", &lines, "\n</f>")),
        &["<f>a\n</f>"],
        &["<f>a\nb\n</f>", "<f>\n\n</f>"],
    );
    let unclear = json!({"type": "tag", "begin": "<f>", "content": any(), "end": ["\n", "x\n</call>"]});
    assert!(matches!(compile(&format(&unclear)), Err(GrammarError::Invalid(_))));
}

#[test]
fn it_can_begin_behind_a_text() {
    let source = Source {
        kind: SourceKind::StructuralTag(format(&tag("<t>", &integer(), "</t>")).to_string()),
        compact: false,
        after: Some("</think>".to_owned()),
    };
    let grammar = vocabulary().compile(&source).unwrap();
    assert!(has(&grammar, &tokens("well </think>\n<t>5</t>")));
    assert!(!has(&grammar, &tokens("<t>5</t>")));
}

#[test]
fn what_cannot_act_is_refused_by_its_path() {
    let triggered =
        |triggers: Value, tags: Value| json!({"type": "triggered_tags", "triggers": triggers, "tags": tags});
    let one = tag("<f>", &any(), "</f>");
    let cases = [
        (json!([]), "structural_tag: must be an object"),
        (
            json!({"type": "structural_tag"}),
            "structural_tag.structures: is missing",
        ),
        (
            json!({"format": any(), "triggers": ["x"]}),
            "structural_tag.triggers: not together with format",
        ),
        (
            json!({"structures": [{"begin": "<f>", "end": ""}], "triggers": ["<"]}),
            "structural_tag.structures[0].end: is empty",
        ),
        (
            format(&json!({"type": "dispatch"})),
            "structural_tag.format.type: \"dispatch\" is not available",
        ),
        (
            format(&json!({"type": "any_text", "max_tokens": 3})),
            "structural_tag.format.max_tokens: not available",
        ),
        (
            format(&json!({"type": "json_schema", "json_schema": {}, "style": "qwen_xml"})),
            "format.style: only json",
        ),
        (
            format(&json!({"type": "tag", "begin": {"type": "token"}, "content": any(), "end": ""})),
            "format.begin: must be a text",
        ),
        (format(&tag("<f>", &any(), "")), ""),
        (
            format(&triggered(json!(["<g"]), json!([one]))),
            "format.tags[0].begin: must begin with exactly one of the triggers",
        ),
        (
            format(&triggered(json!(["<f", "<"]), json!([one]))),
            "format.tags[0].begin: must begin with exactly one",
        ),
        (
            format(&triggered(json!(["<"]), json!([one, tag("<f>x", &any(), "</f>")]))),
            "format.tags[1]: one of its texts begins like",
        ),
        (
            format(&tag("<t>", &triggered(json!(["<"]), json!([one])), "</t>")),
            "another trigger or end is in \"</t>\"",
        ),
        (
            format(&json!({"type": "sequence", "elements": [any(), integer()]})),
            "format.elements[0]: something follows",
        ),
        (
            format(&json!({"type": "sequence", "elements": [integer(), {"type": "const_string", "value": "1"}]})),
            "format.elements[0]: what follows can be a part of a number",
        ),
        (
            format(&json!({"type": "or", "elements": [one, integer()]})),
            "format.elements[1]: an alternative begins with a text",
        ),
    ];
    for (tag, expected) in cases {
        match compile(&tag) {
            Ok(_) if expected.is_empty() => {}
            Err(GrammarError::Invalid(problem)) if !expected.is_empty() => {
                assert!(problem.contains(expected), "{tag}: {problem}")
            }
            other => panic!("{tag}: {other:?}"),
        }
    }
    let deep = (0..40).fold(any(), |inside, _| tag("<", &inside, ">"));
    assert!(matches!(compile(&format(&deep)), Err(GrammarError::TooLarge(_))));
    let empty = format(&json!({"type": "json_schema", "json_schema": {"enum": []}}));
    assert!(
        matches!(compile(&empty), Err(GrammarError::Empty(_))),
        "{:?}",
        compile(&empty)
    );
}

#[test]
fn a_pattern_of_white_space_says_what_can_be_between_the_parts_of_json() {
    let spaced = |white_space: &str, compact| {
        vocabulary().compile(&Source {
            kind: SourceKind::SpacedJson {
                schema: json!({"type": "array", "items": {"type": "integer"}}).to_string(),
                white_space: white_space.to_owned(),
            },
            compact,
            after: None,
        })
    };
    for (pattern, inside, outside) in [
        (" ?", vec!["[1,2]", "[1, 2]", "[ 1 ,2 ]"], vec!["[1,  2]", "[1,\n2]"]),
        ("[ \\n]*", vec!["[1,2]", "[ \n 1]"], vec!["[1,\t2]"]),
        ("\\t", vec!["[1,2]", "[1,\t2]"], vec!["[1, 2]", "[1,\t\t2]"]),
        ("", vec!["[1,2]"], vec!["[1, 2]"]),
    ] {
        let grammar = spaced(pattern, false).unwrap_or_else(|error| panic!("{pattern:?}: {error}"));
        for text in inside {
            assert!(has(&grammar, &tokens(text)), "{pattern:?} has {text:?}");
        }
        for text in outside {
            assert!(!has(&grammar, &tokens(text)), "{pattern:?} does not have {text:?}");
        }
    }
    for (pattern, compact) in [("(", false), (" ", true)] {
        assert!(
            matches!(spaced(pattern, compact), Err(GrammarError::Invalid(_))),
            "{pattern:?}"
        );
    }
}
