//! Random structural tags: each is refused by a path or followed without a dead end, and a completion that ends has the parts that it must have.

use prl_grammar::{GrammarError, Source, SourceKind, Vocabulary};
use proptest::prelude::*;
use serde_json::{Value, json};

const END: u32 = 256;
const TOKEN: u32 = 257;
const SIZE: usize = 258;

fn text() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "<a>", "</a>", "<b>", "</b>", "<", "x", "\n", "é", "<tok>", "<tok>\n", "\n<tok>", "7", "",
    ])
    .prop_map(str::to_owned)
}

fn format() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        text().prop_map(|value| json!({"type": "const_string", "value": value})),
        prop::sample::select(vec![
            json!({"type": "integer"}),
            json!({"enum": ["x", 7]}),
            json!({"type": "array", "items": {"type": "null"}})
        ])
        .prop_map(|schema| json!({"type": "json_schema", "json_schema": schema})),
        prop::sample::select(vec!["[ab]+", "(x|<)*", "a/b?"])
            .prop_map(|pattern| json!({"type": "regex", "pattern": pattern})),
        prop::collection::vec(text(), 0..2).prop_map(|excludes| json!({"type": "any_text", "excludes": excludes})),
    ];
    leaf.prop_recursive(4, 16, 3, |inner| {
        let tag = (text(), inner.clone(), text())
            .prop_map(|(begin, content, end)| json!({"type": "tag", "begin": begin, "content": content, "end": end})).boxed();
        let tags = prop::collection::vec(tag.clone(), 1..3).boxed();
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(|elements| json!({"type": "sequence", "elements": elements})),
            prop::collection::vec(inner, 1..3).prop_map(|elements| json!({"type": "or", "elements": elements})),
            tag,
            (tags.clone(), prop::collection::vec(text(), 1..3), any::<bool>(), any::<bool>()).prop_map(|(tags, triggers, one, stop)| {
                json!({"type": "triggered_tags", "triggers": triggers, "tags": tags, "at_least_one": one, "stop_after_first": stop})
            }),
            (tags, text(), any::<bool>(), any::<bool>()).prop_map(|(tags, separator, one, stop)| {
                json!({"type": "tags_with_separator", "separator": separator, "tags": tags, "at_least_one": one, "stop_after_first": stop})
            }),
        ]
    })
}

fn vocabulary() -> Vocabulary {
    let mut words: Vec<Vec<u8>> = (0..=255u8).map(|byte| vec![byte]).collect();
    words.extend([&b"<|end|>"[..], b"<tok>"].map(<[u8]>::to_vec));
    Vocabulary::of(words, &[END, TOKEN]).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if std::env::var_os("PRL_TEST_LONG").is_some() { 5_000 } else { 64 }, ..ProptestConfig::default() })]

    #[test]
    fn a_tag_is_refused_or_followed_without_a_dead_end(format in format(), choices in prop::collection::vec(any::<u32>(), 60)) {
        let tag = json!({"type": "structural_tag", "format": format});
        let source = Source { kind: SourceKind::StructuralTag(tag.to_string()), compact: false, after: None };
        let grammar = match vocabulary().compile(&source) {
            Ok(grammar) => grammar,
            Err(GrammarError::Invalid(problem)) => {
                prop_assert!(problem.starts_with("structural_tag."), "{problem}: {tag}");
                return Ok(());
            }
            Err(GrammarError::Empty(_)) => return Ok(()),
            Err(error) => return Err(TestCaseError::fail(format!("{error}: {tag}"))),
        };
        let mut progress = grammar.start(&[END]);
        let mut completion = Vec::new();
        for choice in choices {
            let mut logits = vec![0.0; SIZE];
            let possible = progress.restrict(&completion, &mut logits);
            prop_assert_eq!(&possible, &Ok(true), "behind {:?}: {}", completion, tag);
            let ids: Vec<u32> = (0..).zip(&logits).filter(|(_, logit)| **logit == 0.0).map(|(id, _)| id).collect();
            // Signs that mean something come more often.
            let likely: Vec<u32> = ids.iter().copied().filter(|id| b"<a>/bx7\n[],".iter().any(|sign| u32::from(*sign) == *id) || *id >= END).collect();
            let from = if likely.is_empty() || choice % 8 == 0 { &ids } else { &likely };
            let next = from[choice as usize / 8 % from.len()];
            if next == END {
                break;
            }
            completion.push(next);
        }
    }
}
