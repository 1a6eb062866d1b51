//! tokenizer.json, as the grammars read it.

use std::fs;

use prl_fuzz::Target;
use prl_grammar::Vocabulary;

use crate::answer;

const BYTES: &str = r#"{"added_tokens":[{"id":3,"content":"<|end|>","special":true},{"id":4,"content":"<tool_call>","special":false}],
"decoder":{"type":"ByteLevel"},"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":[]}}"#;
const FALLBACK: &str = r#"{"added_tokens":[{"id":0,"content":"<s>","special":true}],
"decoder":{"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"}]},
"model":{"type":"BPE","vocab":{"<0x0A>":1,"▁a":2,"b":3},"merges":[]}}"#;

#[test]
fn tokenizers_of_grammars() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("tokenizer.json");
    let words = [
        "\"id\":",
        "\"special\":true",
        "\"content\":",
        "\"<0xZZ>\"",
        "\"<0x",
        "\"vocab\":",
        "\"added_tokens\":",
        "null",
        "[]",
        "{}",
        "\"ByteFallback\"",
        "\\u0000",
        "99999999999",
        "4294967295",
        "2097152",
    ];
    let target = Target::new("tokenizer-json")
        .words(&words)
        .start(BYTES)
        .start(FALLBACK)
        .inputs(1200)
        .most_bytes(8 << 10);
    // A token of the largest id has 24 bytes for each smaller one, and the index of the tokens as many.
    target.heap(512 << 20, 4096).run(|bytes| {
        fs::write(&path, bytes).expect("the file");
        answer(Vocabulary::read(&path, 8, &[3]), |_| String::new()).replace(&path.display().to_string(), "it")
    });
}
