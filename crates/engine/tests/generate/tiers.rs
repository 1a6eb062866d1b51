//! The trainer's log-probabilities on every instruction set of this machine.

use std::sync::Arc;

use prl_engine::generate::{GenerateRequest, Generator, GeneratorOptions};
use prl_engine::{Compute, Model, Tier, WeightDtype};

use crate::generate_support::{Family, checkpoint, complete};

/// In both formats of the weights, with blocks that requests share and copy, and too few of them for all.
#[test]
fn parity_holds_on_every_instruction_set_of_this_machine() {
    let dir = tempfile::tempdir().unwrap();
    let source = checkpoint(dir.path(), Family::Qwen3, 11);
    let cases = Tier::ALL
        .into_iter()
        .filter(|tier| tier.is_available())
        .flat_map(|tier| [WeightDtype::F32, WeightDtype::Bf16].map(|dtype| (tier, dtype)));
    for (tier, dtype) in cases {
        let compute = Compute::new(2, Some(tier)).unwrap();
        let model = Arc::new(Model::load_as(&source, dtype, &compute).unwrap());
        let options = GeneratorOptions {
            max_num_seqs: 9,
            max_batched_tokens: 31,
            max_model_len: Some(48),
            kv_blocks: Some(14),
            ..GeneratorOptions::default()
        };
        let generator = Generator::start(Arc::clone(&model), Arc::clone(&compute), options).unwrap();
        let request = GenerateRequest {
            ignore_eos: true,
            ..GenerateRequest::new("", vec![1, 2, 3], 40)
        };
        let batch = (0..20)
            .map(|seed| GenerateRequest {
                id: seed.to_string(),
                seed,
                ..request.clone()
            })
            .collect();
        for completion in complete(&generator, batch).values() {
            let ids = [&[1, 2, 3], completion.token_ids.as_slice()].concat();
            let expected = model.logprobs(&compute, &ids, &[0, ids.len() as u32], &[1.0]).unwrap();
            assert_eq!(expected[3..], completion.logprobs, "{} {dtype:?}", tier.name());
        }
        assert!(generator.stats().preemptions > 0, "the blocks are too few");
    }
}
