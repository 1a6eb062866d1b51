//! Texts of grammars in EBNF and of structural tags as xgrammar sees them. `tests/fixtures/make/grammars.py` asked it.

use std::path::Path;

use prl_grammar::{Source, SourceKind, Vocabulary};
use serde_json::Value;

const END: u32 = 256;

#[test]
fn grammars_have_the_texts_that_xgrammar_finds() {
    compare("ebnf", |case| {
        SourceKind::grammar(case["grammar"].as_str().unwrap().to_owned())
    });
}

#[test]
fn structural_tags_have_the_texts_that_xgrammar_finds() {
    compare("structural_tag", |case| {
        SourceKind::StructuralTag(case["tag"].to_string())
    });
}

fn compare(name: &str, kind: impl Fn(&Value) -> SourceKind) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/grammar/xgrammar.json");
    let cases: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut words: Vec<Vec<u8>> = (0..=255u8).map(|byte| vec![byte]).collect();
    words.push(b"<|end|>".to_vec());
    let vocabulary = Vocabulary::of(words, &[END]).unwrap();
    let mut wrong = Vec::new();
    for case in cases[name].as_array().unwrap() {
        let kind = kind(case);
        let grammar = vocabulary.compile(&Source {
            kind: kind.clone(),
            compact: false,
            after: None,
        });
        for (field, expected) in [("inside", true), ("outside", false)] {
            for text in case[field].as_array().unwrap() {
                let text = text.as_str().unwrap();
                let found = grammar.as_ref().is_ok_and(|grammar| has(grammar, text));
                if found != expected {
                    wrong.push(format!("{text:?} is {field} of {kind:?}: {:?}", grammar.as_ref().err()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
}

fn has(grammar: &prl_grammar::Grammar, text: &str) -> bool {
    let mut progress = grammar.start(&[END]);
    let mut completion = Vec::new();
    text.bytes().map(u32::from).chain([END]).all(|next| {
        let mut logits = vec![0.0; 257];
        let possible = progress.restrict(&completion, &mut logits) == Ok(true);
        completion.push(next);
        possible && logits[next as usize] == 0.0
    })
}
