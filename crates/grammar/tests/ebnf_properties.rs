//! Random grammars in EBNF against a recogniser that tries every way to cut a text.

use std::fmt::Write;

use prl_grammar::{Source, SourceKind, Vocabulary};
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Part {
    Class(&'static str),
    Literal(String),
    Rule(usize),
    Sequence(Vec<Part>),
    Choice(Vec<Part>),
    Repeat(Box<Part>, usize, Option<usize>),
}

const RULES: usize = 3;
const SIGNS: [char; 3] = ['a', 'b', 'é'];
const CLASSES: [&str; 5] = ["[a-b]", "[^a]", "[é]", ".", "[aé]"];
const LONGEST: usize = 4;

fn part() -> impl Strategy<Value = Part> {
    let leaf = prop_oneof![
        3 => prop::sample::select(&CLASSES[..]).prop_map(Part::Class),
        4 => prop::collection::vec(prop::sample::select(&SIGNS[..]), 0..4)
            .prop_map(|signs| Part::Literal(signs.into_iter().collect())),
        4 => (0..RULES).prop_map(Part::Rule),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        let times = prop::sample::select(vec![
            (0, None),
            (1, None),
            (0, Some(1)),
            (2, Some(2)),
            (1, Some(3)),
            (2, None),
        ]);
        prop_oneof![
            3 => prop::collection::vec(inner.clone(), 1..4).prop_map(Part::Sequence),
            3 => prop::collection::vec(inner.clone(), 1..4).prop_map(Part::Choice),
            2 => (inner, times).prop_map(|(of, (least, most))| Part::Repeat(Box::new(of), least, most)),
        ]
    })
}

fn written(rules: &[Part]) -> String {
    let names = ["root", "r-1", "r_2"];
    fn write(part: &Part, names: &[&str], text: &mut String) {
        let mut list = |parts: &[Part], between: &str| {
            text.push('(');
            for (at, part) in parts.iter().enumerate() {
                text.push_str(if at == 0 { "" } else { between });
                write(part, names, text);
            }
            text.push(')');
        };
        match part {
            Part::Class(class) => text.push_str(class),
            Part::Literal(literal) => write!(text, "\"{literal}\"").unwrap(),
            Part::Rule(rule) => text.push_str(names[*rule]),
            Part::Sequence(parts) => list(parts, " "),
            Part::Choice(parts) => list(parts, " | "),
            Part::Repeat(of, least, most) => {
                list(std::slice::from_ref(of), "");
                match most {
                    None => write!(text, "{{{least},}}").unwrap(),
                    Some(most) => write!(text, "{{{least},{most}}}").unwrap(),
                }
            }
        }
    }
    let mut text = String::new();
    for (name, rule) in names.iter().zip(rules) {
        write!(text, "{name} ::= ").unwrap();
        write(rule, &names, &mut text);
        text.push('\n');
    }
    text
}

/// Where rules can end, for each place where they can begin; grown until nothing new comes.
type Ends = Vec<Vec<u32>>;

/// Sets of places as bits.
fn ends(part: &Part, from: u32, text: &[char], known: &Ends) -> u32 {
    let places = |set: u32| (0..=text.len()).filter(move |at| set >> at & 1 == 1);
    let step = |fits: &dyn Fn(char) -> bool| {
        places(from)
            .filter(|at| text.get(*at).is_some_and(|sign| fits(*sign)))
            .fold(0, |set, at| set | 1 << (at + 1))
    };
    match part {
        Part::Class("[a-b]") => step(&|sign| sign != 'é'),
        Part::Class("[^a]") => step(&|sign| sign != 'a'),
        Part::Class("[é]") => step(&|sign| sign == 'é'),
        Part::Class("[aé]") => step(&|sign| sign != 'b'),
        Part::Class(_) => step(&|_| true),
        Part::Literal(literal) => {
            let literal: Vec<char> = literal.chars().collect();
            places(from)
                .filter(|at| text[*at..].starts_with(&literal))
                .fold(0, |set, at| set | 1 << (at + literal.len()))
        }
        Part::Rule(rule) => places(from).fold(0, |set, at| set | known[*rule][at]),
        Part::Sequence(parts) => parts.iter().fold(from, |set, part| ends(part, set, text, known)),
        Part::Choice(parts) => parts.iter().fold(0, |set, part| set | ends(part, from, text, known)),
        Part::Repeat(of, least, most) => {
            let mut set = (0..*least).fold(from, |set, _| ends(of, set, text, known));
            let mut all = set;
            for _ in 0..most.map_or(text.len() + 1, |most| most - least) {
                set = ends(of, set, text, known);
                all |= set;
            }
            all
        }
    }
}

fn is_in(rules: &[Part], text: &[char]) -> bool {
    let mut known: Ends = vec![vec![0; text.len() + 1]; rules.len()];
    loop {
        let before = known.clone();
        for (rule, part) in rules.iter().enumerate() {
            for at in 0..=text.len() {
                known[rule][at] |= ends(part, 1 << at, text, &known);
            }
        }
        if known == before {
            return known[0][0] >> text.len() & 1 == 1;
        }
    }
}

fn every_text() -> Vec<Vec<char>> {
    let mut texts = vec![Vec::new()];
    let mut last = texts.clone();
    for _ in 0..LONGEST {
        last = last
            .iter()
            .flat_map(|text| {
                SIGNS
                    .iter()
                    .map(move |sign| text.iter().copied().chain([*sign]).collect())
            })
            .collect();
        texts.extend(last.clone());
    }
    texts
}

const END: u32 = 256;

fn vocabulary() -> Vocabulary {
    let mut words: Vec<Vec<u8>> = (0..=255u8).map(|byte| vec![byte]).collect();
    words.push(b"<|end|>".to_vec());
    Vocabulary::of(words, &[END]).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if std::env::var_os("PRL_TEST_LONG").is_some() { 5_000 } else { 48 }, ..ProptestConfig::default() })]

    #[test]
    fn a_grammar_has_the_texts_that_the_recogniser_finds(rules in prop::collection::vec(part(), RULES)) {
        let text = written(&rules);
        let compiled = vocabulary().compile(&Source { kind: SourceKind::grammar(text.clone()), compact: false, after: None });
        for wanted in every_text() {
            let expected = is_in(&rules, &wanted);
            let Ok(grammar) = &compiled else {
                prop_assert!(!expected, "{compiled:?}: {text}");
                continue;
            };
            let mut progress = grammar.start(&[END]);
            let wanted: String = wanted.into_iter().collect();
            let mut completion = Vec::new();
            let follows = wanted.bytes().map(u32::from).chain([END]).all(|next| {
                let mut logits = vec![0.0; 257];
                let possible = progress.restrict(&completion, &mut logits).unwrap_or_else(|error| panic!("{error} at {completion:?} in\n{text}"));
                completion.push(next);
                possible && logits[next as usize] == 0.0
            });
            prop_assert_eq!(follows, expected, "{:?} in\n{}", wanted, text);
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "(root ::= )?[ab\"\\\\\\[\\](){}|*+?.:=,0-9xu^\n# -]{0,60}") {
        let _ = vocabulary().compile(&Source { kind: SourceKind::Ebnf(text), compact: false, after: None });
    }
}
