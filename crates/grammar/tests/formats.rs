//! Formats over a vocabulary of bytes and some longer tokens: what can come, what ends, and what is refused.

use prl_grammar::{Grammar, GrammarError, Source, SourceKind, Vocabulary};

/// Ends a text.
const END: u32 = 256;
const MORE: [&str; 10] = [
    "{\"",
    "\":",
    "true",
    "false",
    "null",
    "ab",
    "abc",
    " ",
    "é",
    "</tool_call>",
];

fn vocabulary() -> Vocabulary {
    let mut words: Vec<Vec<u8>> = (0..=255u8).map(|byte| vec![byte]).collect();
    words[0xff] = Vec::new();
    words.push(b"<|end|>".to_vec());
    words.extend(MORE.iter().map(|word| word.as_bytes().to_vec()));
    words.push(Vec::new());
    Vocabulary::of(words, &[END, 266]).unwrap()
}

fn source(kind: SourceKind) -> Source {
    Source {
        kind,
        compact: false,
        after: None,
    }
}

fn compile(kind: SourceKind) -> Result<Grammar, GrammarError> {
    vocabulary().compile(&source(kind))
}

fn regex(text: &str) -> SourceKind {
    SourceKind::Regex(text.to_owned())
}

fn schema(text: &str) -> SourceKind {
    SourceKind::JsonSchema(text.to_owned())
}

fn lark(text: &str) -> SourceKind {
    SourceKind::Lark(text.to_owned())
}

/// Tokens that can follow, and whether any can.
fn next(grammar: &Grammar, completion: &[u32]) -> (Vec<u32>, bool) {
    let mut logits = vec![0.0; 268];
    let possible = grammar.start(&[END]).restrict(completion, &mut logits).unwrap();
    let ids = (0..268).filter(|id| logits[*id as usize] == 0.0).collect();
    (ids, possible)
}

fn bytes(text: &str) -> Vec<u32> {
    text.bytes().map(u32::from).collect()
}

#[test]
fn a_choice_allows_every_way_to_write_its_texts_and_ends_behind_them_only() {
    let grammar = compile(SourceKind::Choice(vec!["abc".into(), "ab".into(), "x\"y".into()])).unwrap();
    let [ab, abc] = [262, 263];
    assert_eq!(next(&grammar, &[]).0, [u32::from(b'a'), u32::from(b'x'), ab, abc]);
    assert_eq!(next(&grammar, &[ab]).0, [u32::from(b'c'), END]);
    assert_eq!(next(&grammar, &[abc]), (vec![END], true));
    assert_eq!(next(&grammar, &bytes("x\"")).0, bytes("y"));
    let mut without_end = grammar.start(&[]);
    let mut logits = vec![0.0; 268];
    assert_eq!(without_end.restrict(&[abc], &mut logits), Ok(false));
    assert!(logits.iter().all(|logit| *logit == f32::NEG_INFINITY));
}

#[test]
fn the_end_comes_only_where_the_text_is_whole() {
    for (kind, whole, open) in [
        (regex("[0-9]+"), "17", ""),
        (regex("a*"), "", "b"),
        (schema(r#"{"type":"integer"}"#), "-12", "-"),
        (schema(r#"{"type":"object"}"#), "{\"a\": [1, {}]}", "{\"a\": "),
        (lark("start: \"(\" start \")\" | \"x\""), "((x))", "((x)"),
    ] {
        let grammar = compile(kind.clone()).unwrap();
        assert!(next(&grammar, &bytes(whole)).0.contains(&END), "{kind:?} at {whole:?}");
        if open != "b" {
            assert!(!next(&grammar, &bytes(open)).0.contains(&END), "{kind:?} at {open:?}");
        }
    }
}

#[test]
fn a_token_that_ends_is_no_text_even_if_it_looks_like_text() {
    let mut words: Vec<Vec<u8>> = (0..=254u8).map(|byte| vec![byte]).collect();
    words.push(b"!".to_vec());
    let vocabulary = Vocabulary::of(words, &[255]).unwrap();
    let grammar = vocabulary.compile(&source(regex("!!"))).unwrap();
    let mut logits = vec![0.0; 256];
    assert_eq!(grammar.start(&[255]).restrict(&[33], &mut logits), Ok(true));
    assert_eq!((logits[33], logits[255]), (0.0, f32::NEG_INFINITY));
}

#[test]
fn a_token_that_is_too_long_for_the_index_never_comes() {
    let mut words: Vec<Vec<u8>> = (0..=255u8).map(|byte| vec![byte]).collect();
    words.extend([vec![b' '; 1024], vec![b' '; 1025], vec![b'x'; 8000]]);
    let vocabulary = Vocabulary::of(words, &[255]).unwrap();
    let grammar = vocabulary.compile(&source(regex(" +x+"))).unwrap();
    let mut logits = vec![0.0; 259];
    assert_eq!(grammar.start(&[255]).restrict(&[], &mut logits), Ok(true));
    let allowed: Vec<usize> = (0..logits.len()).filter(|token| logits[*token] == 0.0).collect();
    assert_eq!(allowed, [usize::from(b' '), 256]);
}

#[test]
fn tokens_with_more_bytes_than_the_index_has_room_for_are_refused() {
    let words = (0..4200u32).map(|token| token.to_le_bytes().repeat(250)).collect();
    let error = Vocabulary::of(words, &[]).unwrap_err().to_string();
    assert_eq!(
        error,
        "the tokens have 4200000 bytes together; fewer than 4194304 are possible"
    );
}

#[test]
fn an_ordinary_stop_token_is_as_the_format_says() {
    let grammar = compile(regex("a+b")).unwrap();
    let (a, b) = (u32::from(b'a'), u32::from(b'b'));
    let mut logits = vec![0.0; 268];
    assert_eq!(grammar.start(&[a, END]).restrict(&[a], &mut logits), Ok(true));
    assert_eq!((logits[a as usize], logits[b as usize]), (0.0, 0.0));
    logits.fill(0.0);
    assert_eq!(grammar.start(&[a, END]).restrict(&[a, b], &mut logits), Ok(true));
    assert_eq!((logits[a as usize], logits[END as usize]), (f32::NEG_INFINITY, 0.0));
}

#[test]
fn marks_are_named_by_their_id_and_are_no_text() {
    let mark = 266;
    let grammar = compile(lark("start: \"x\" <[266]>")).unwrap();
    assert_eq!(next(&grammar, &bytes("x")).0, [mark]);
    assert_eq!(next(&grammar, &[u32::from(b'x'), mark]).0, [END]);
    let any = compile(regex("(?s:.*)")).unwrap();
    assert!(!next(&any, &[]).0.contains(&mark));
    assert!(next(&any, &bytes("</tool_call>")).0.contains(&END));
}

#[test]
fn a_format_can_begin_behind_a_text() {
    let after = |kind| Source {
        kind,
        compact: true,
        after: Some("</think>".to_owned()),
    };
    for kind in [
        regex("[0-9]"),
        SourceKind::Choice(vec!["7".into(), "8".into()]),
        schema(r#"{"type":"integer","minimum":7,"maximum":8}"#),
        lark("start: digit\ndigit: \"7\""),
    ] {
        let grammar = vocabulary().compile(&after(kind)).unwrap();
        let thought = next(&grammar, &bytes("so <b> 1\n")).0;
        assert!(thought.contains(&u32::from(b'{')) && !thought.contains(&END));
        let behind = next(&grammar, &bytes("so </think>\n")).0;
        assert!(behind.contains(&u32::from(b'7')) && !behind.contains(&u32::from(b'{')) && !behind.contains(&END));
        assert_eq!(next(&grammar, &bytes("</think>7")).0, [END]);
    }
}

#[test]
fn compact_json_has_no_white_space() {
    let text =
        schema(r#"{"type":"object","properties":{"a":{"type":"null"}},"required":["a"],"additionalProperties":false}"#);
    let compact = Source {
        compact: true,
        ..source(text.clone())
    };
    let space = u32::from(b' ');
    assert!(next(&compile(text).unwrap(), &bytes("{")).0.contains(&space));
    assert!(
        !next(&vocabulary().compile(&compact).unwrap(), &bytes("{"))
            .0
            .contains(&space)
    );
}

#[test]
fn options_inside_a_schema_cannot_switch_off_its_checks() {
    let text = schema(r#"{"type":"array","uniqueItems":true,"x-guidance":{"lenient":true}}"#);
    assert!(compile(text).is_err());
}

#[test]
fn every_wrong_format_is_refused_by_its_kind() {
    let cases = [
        ("invalid", schema("{")),
        ("invalid", schema("[]")),
        ("invalid", schema(r#"{"type":"int"}"#)),
        ("invalid", schema(r##"{"$ref":"#/$defs/none"}"##)),
        ("invalid", schema(r#"{"type":"string","pattern":"("}"#)),
        ("invalid", schema(r#"{"type":"array","uniqueItems":true}"#)),
        ("invalid", regex("(")),
        ("invalid", regex(r"(a)\1")),
        ("invalid", lark("start: other")),
        ("invalid", lark("start ::= x")),
        ("invalid", lark("")),
        ("empty", schema("false")),
        ("empty", schema(r#"{"enum":[]}"#)),
        ("empty", schema(r#"{"type":"integer","minimum":3,"maximum":2}"#)),
        ("empty", SourceKind::Choice(vec![])),
        ("empty", regex(r"[^\s\S]")),
        ("large", regex(&"a".repeat(300_000))),
        (
            "large",
            lark(&format!("start: {}\"a\"{}", "(".repeat(5000), ")".repeat(5000))),
        ),
    ];
    let kind_of = |compiled: &Result<Grammar, GrammarError>| match compiled {
        Err(GrammarError::Invalid(_)) => "invalid",
        Err(GrammarError::Empty(_)) => "empty",
        Err(GrammarError::TooLarge(_)) => "large",
        _ => "none",
    };
    let wrong: Vec<String> = cases
        .into_iter()
        .map(|(expected, kind)| (expected, format!("{kind:.100?}"), compile(kind)))
        .filter(|(expected, _, compiled)| kind_of(compiled) != *expected)
        .map(|(expected, kind, compiled)| format!("{expected}: {kind:.100}: {compiled:?}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_text_that_the_tokens_cannot_write_is_refused_or_fails_where_it_ends() {
    let vocabulary = Vocabulary::of(vec![b"a".to_vec(), b"b".to_vec(), b"<end>".to_vec()], &[2]).unwrap();
    let refused = vocabulary.compile(&source(regex("c+")));
    assert!(matches!(refused, Err(GrammarError::Empty(_))), "{refused:?}");
    let grammar = vocabulary.compile(&source(regex("a+c"))).unwrap();
    let mut logits = vec![0.0; 3];
    assert_eq!(grammar.start(&[2]).restrict(&[0], &mut logits), Ok(true));
    assert_eq!(logits, [0.0, f32::NEG_INFINITY, f32::NEG_INFINITY]);
    assert!(vocabulary.compile(&source(regex("b?c?"))).is_ok());
}

#[test]
fn a_chain_of_many_rules_does_not_exhaust_the_stack() {
    let rules: Vec<String> = (0..8000).map(|at| format!("r{at}: r{}", at + 1)).collect();
    let text = format!("start: r0\n{}\nr8000: \"x\"", rules.join("\n"));
    let compiled = compile(lark(&text));
    assert!(
        compiled.is_ok() || matches!(compiled, Err(GrammarError::TooLarge(_))),
        "{compiled:?}"
    );
}

#[test]
fn a_tokenizer_without_texts_is_refused() {
    assert!(matches!(
        Vocabulary::of(vec![Vec::new(); 4], &[0]),
        Err(GrammarError::Tokenizer(_))
    ));
}

#[test]
fn a_tokenizer_with_a_huge_id_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokenizer.json");
    let read = |added: u64, word: u64, size: usize| {
        let added = format!(r#"[{{"id":{added},"content":"<end>","special":true}}]"#);
        let vocabulary = format!(r#"{{"a":0,"far":{word}}}"#);
        let text =
            format!(r#"{{"added_tokens":{added},"decoder":{{"type":"ByteLevel"}},"model":{{"vocab":{vocabulary}}}}}"#);
        std::fs::write(&path, text).unwrap();
        Vocabulary::read(&path, size, &[]).map_err(|error| error.to_string())
    };
    // 100 GB of memory would be needed for the places of the ids below.
    for (added, word, name) in [(1 << 32, 1, "<end>"), (2, 1 << 32, "far"), (2, u64::MAX, "far")] {
        let error = read(added, word, 4).unwrap_err();
        assert!(error.contains(name) && error.contains("at most 2097152"), "{error}");
    }
    assert!(read(2, 1, usize::MAX).is_err_and(|error| error.contains("its model has")));
    read(2, 1, 4).unwrap();
}

#[test]
fn an_ambiguous_grammar_fails_at_its_limit() {
    let grammar = compile(lark("start: e\ne: e e | e e e | /[a-z]/")).unwrap();
    let mut progress = grammar.start(&[END]);
    let mut completion = Vec::new();
    let failed = (0..200).find_map(|_| {
        let problem = progress.restrict(&completion, &mut vec![0.0; 268]).err();
        completion.push(u32::from(b'a'));
        problem
    });
    assert!(failed.is_some_and(|problem| problem.contains("too complex") || problem.contains("max is")));
}

#[test]
fn a_thousand_choices_are_followed() {
    let texts = (0..1000).map(|at| format!("option number {at} of many")).collect();
    let grammar = compile(SourceKind::Choice(texts)).unwrap();
    assert!(next(&grammar, &bytes("option number 77 of many")).0.contains(&END));
    assert_eq!(next(&grammar, &bytes("option number 999")).0, [u32::from(b' '), 264]);
}

#[test]
fn a_format_can_begin_behind_a_mark() {
    let behind = Source {
        after: Some("</tool_call>".to_owned()),
        ..source(regex("[0-9]"))
    };
    let grammar = vocabulary().compile(&behind).unwrap();
    let (mark, seven) = (266, u32::from(b'7'));
    let thought = next(&grammar, &bytes("so\n")).0;
    assert!(thought.contains(&mark) && thought.contains(&seven) && !thought.contains(&END));
    assert!(next(&grammar, &[]).0.contains(&mark));
    assert!(!next(&grammar, &bytes("so</tool_call>7")).0.contains(&END));
    let digits: Vec<u32> = (b'0'..=b'9').map(u32::from).collect();
    let answer = next(&grammar, &[u32::from(b'x'), mark]).0;
    assert!(digits.iter().all(|digit| answer.contains(digit)) && !answer.contains(&u32::from(b'x')));
    assert_eq!(next(&grammar, &[mark, seven]).0, [END]);
}
