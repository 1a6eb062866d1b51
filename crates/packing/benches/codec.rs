//! A rank's batch into bytes and out of its file, beside msgspec on micro-batches of boxed lists as prime-rl sends them
//! (when `PRL_BENCH_PYTHON` names an interpreter that has it) and beside a copy of the bytes.
//!
//! Encoding validates the columns and digests them. Decoding is timed with and without these checks; the rival makes
//! none.

use prl_packing::{
    Advantages, BatchFile, BatchMetadata, BuildOptions, PackOptions, SampleRef, UNSAMPLED, batch_to_bytes,
    batch_to_file, build_batch, pack_sequences,
};

#[path = "../../weights/benches/support/report.rs"]
mod report;
#[path = "support/mod.rs"]
mod support;

use report::{report, shortest};
use support::python;

const ROUNDS: usize = 21;
/// The same size as the rival's: sequences of 1024 tokens, 512 Ki tokens in all.
const LENGTH: usize = 1024;
const SEQUENCES: usize = 512;

fn main() {
    let ids: Vec<u32> = (0..).take(LENGTH).collect();
    let logprobs: Vec<f32> = ids.iter().map(|&id| -(id as f32) / 1000.0).collect();
    let mask: Vec<u8> = ids.iter().map(|&id| u8::from(id > 300)).collect();
    let sample = SampleRef {
        token_ids: &ids,
        mask: &mask,
        logprobs: &logprobs,
        advantages: Advantages::Uniform(0.5),
        temperature: 1.0,
        env_id: 0,
        version_spans: &[[0, UNSAMPLED], [301, 3]],
        unbroken: &[],
        rl_weights: None,
        ce_weights: None,
        ref_kl_weights: None,
        reference_logprobs: None,
        routed_experts: None,
    };
    let samples = vec![sample; SEQUENCES];
    let lengths: Vec<u32> = vec![LENGTH as u32; SEQUENCES];
    let plan = pack_sequences(&lengths, PackOptions::new(32_768, 1)).expect("a plan");
    let options = BuildOptions {
        ranks: 1,
        seq_len: 32_768,
        pad_to_multiple_of: 1,
        pad_token_id: 0,
    };
    let batch = build_batch(&samples, &plan, options).expect("a batch").remove(0);
    let metadata = BatchMetadata {
        env_names: vec!["reverse-text".to_owned()],
        ..BatchMetadata::default()
    };
    let megatokens = batch.view().tokens() as f64 / 1e6;
    let rival = python("packing.py", &["codec"]);
    let msgspec = |name: &str| Some(1.0 / rival.as_ref()?[name].as_f64()?);
    let beside = |name: &str, copy: f64| {
        let mut rivals = vec![("memcpy", megatokens / copy)];
        rivals.extend(msgspec(name).map(|speed| ("msgspec", speed)));
        rivals
    };

    let bytes = batch_to_bytes(&batch.view(), &metadata).expect("bytes");
    let copy = shortest(ROUNDS, || bytes.clone());
    let ours = shortest(ROUNDS, || batch_to_bytes(&batch.view(), &metadata).expect("bytes"));
    report(
        "packing-encode",
        "Mtokens/s",
        megatokens / ours,
        &beside("encode", copy),
    );
    let per_token = bytes.len() as f64 / batch.view().tokens() as f64;
    let boxed = rival.as_ref().and_then(|rival| rival["bytes per token"].as_f64());
    report_size(per_token, boxed);

    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("batch.safetensors");
    batch_to_file(&path, &batch.view(), &metadata).expect("a file");
    let ours = shortest(ROUNDS, || BatchFile::open(&path).expect("a batch"));
    report(
        "packing-decode",
        "Mtokens/s",
        megatokens / ours,
        &beside("decode", copy),
    );
}

#[expect(clippy::print_stdout, reason = "a bench reports on the terminal")]
fn report_size(ours: f64, boxed: Option<f64>) {
    println!(
        "bytes per token: {ours:.3}, msgspec {}",
        boxed.map_or("-".to_owned(), |size| format!("{size:.1}"))
    );
}
