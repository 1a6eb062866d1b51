//! The scheduler alone: a loop that "computes" by advancing, with tokens chosen by the test.

use super::*;
use crate::config::ModelConfig;
use crate::generate::request::GenerateRequest;
use crate::generate::sequence::SampledToken;
use proptest::prelude::*;
use std::collections::HashMap;

const BLOCK: usize = 4;
const CONFIG: &str = r#"{"architectures":["LlamaForCausalLM"],"model_type":"llama","vocab_size":50,"hidden_size":8,
    "intermediate_size":8,"num_hidden_layers":1,"num_attention_heads":1,"num_key_value_heads":1,"head_dim":8,
    "rms_norm_eps":1e-6,"rope_theta":10000.0,"max_position_embeddings":64,"tie_word_embeddings":false,
    "hidden_act":"silu","initializer_range":0.02,"eos_token_id":49}"#;

fn config() -> ModelConfig {
    ModelConfig::from_json(CONFIG).expect("the test's config is valid")
}

fn scheduler(blocks: usize, max_num_seqs: usize, max_batched_tokens: usize, prefix_cache: bool) -> Scheduler {
    let limits = Limits {
        max_num_seqs,
        max_batched_tokens,
        prefix_cache,
    };
    Scheduler::new(BlockManager::new(blocks, BLOCK), limits)
}

fn sequence(arrival: u64, prompt: &[u32], max_tokens: u32, priority: i64) -> Sequence {
    let request = GenerateRequest {
        priority,
        ..GenerateRequest::new(arrival.to_string(), prompt.to_vec(), max_tokens)
    };
    Sequence::new(arrival, request, &config())
}

/// The content of each place of the blocks: a hash of the tokens up to the one whose keys and values would be there.
#[derive(Default)]
struct Memory(HashMap<(u32, usize), u64>);

impl Memory {
    /// Makes a planned step's copies, checks that what its sequences count as computed is there, and computes its shares.
    fn compute(&mut self, scheduler: &Scheduler, shares: &[Share]) {
        for copy in &scheduler.copies {
            for offset in 0..BLOCK {
                let held = self.0.get(&(copy.from, offset)).copied().unwrap_or_default();
                self.0.insert((copy.to, offset), held);
            }
        }
        for share in shares {
            let sequence = &scheduler.running[share.index];
            let mut prefix = 0u64;
            for (at, token) in sequence.tokens[..sequence.computed + share.count].iter().enumerate() {
                prefix = prefix.wrapping_mul(0x9e37_79b9).wrapping_add(u64::from(*token) + 1);
                let place = (sequence.blocks[at / BLOCK], at % BLOCK);
                if at < sequence.computed {
                    assert_eq!(self.0.get(&place), Some(&prefix), "token {at} of {}", sequence.arrival);
                } else {
                    self.0.insert(place, prefix);
                }
            }
        }
    }
}

/// Runs one step in which every complete sequence samples `arrival + position`; returns the arrivals that finished.
fn step(scheduler: &mut Scheduler, shares: &mut Vec<Share>) -> Vec<u64> {
    scheduler.schedule(u64::MAX, shares);
    take_in(scheduler, shares)
}

/// Takes in the results of a step that was planned and computed.
fn take_in(scheduler: &mut Scheduler, shares: &[Share]) -> Vec<u64> {
    let config = config();
    let mut finished = Vec::new();
    for share in shares.iter() {
        let complete = scheduler.running[share.index].pending() == share.count;
        scheduler.advance(*share);
        let sequence = &mut scheduler.running[share.index];
        if complete {
            let id = (sequence.arrival as u32 + sequence.completion_len() as u32) % 40;
            if sequence
                .push(
                    SampledToken {
                        id,
                        logprob: 0.0,
                        ranked: None,
                        version: 0,
                    },
                    &config,
                    64,
                )
                .is_some()
            {
                finished.push(sequence.arrival);
            }
        }
    }
    scheduler.remove_running(|sequence| finished.contains(&sequence.arrival));
    finished
}

#[test]
fn a_long_prompt_is_computed_in_chunks_beside_decodes() {
    let mut scheduler = scheduler(32, 8, 8, false);
    let mut shares = Vec::new();
    scheduler.enqueue(sequence(0, &[1, 2], 20, 0));
    step(&mut scheduler, &mut shares);
    scheduler.enqueue(sequence(1, &[3; 20], 1, 0));
    let counts: Vec<Vec<usize>> = (0..3)
        .map(|_| {
            step(&mut scheduler, &mut shares);
            shares.iter().map(|share| share.count).collect()
        })
        .collect();
    assert_eq!(counts, [[1, 7], [1, 7], [1, 6]]);
}

#[test]
fn admission_goes_by_priority_then_arrival() {
    let mut scheduler = scheduler(32, 2, 64, false);
    for (arrival, priority) in [(0, 5), (1, 0), (2, 0), (3, -1)] {
        scheduler.enqueue(sequence(arrival, &[1], 9, priority));
    }
    let mut shares = Vec::new();
    step(&mut scheduler, &mut shares);
    assert_eq!(scheduler.running.iter().map(|s| s.arrival).collect::<Vec<_>>(), [3, 1]);
    assert_eq!(scheduler.waiting(), 2);
}

#[test]
fn without_blocks_the_youngest_goes_back_with_its_tokens_and_finishes_later() {
    let mut scheduler = scheduler(8, 4, 64, false);
    for arrival in 0..2 {
        scheduler.enqueue(sequence(arrival, &[arrival as u32; 8], 20, 0));
    }
    let mut shares = Vec::new();
    let mut finished = Vec::new();
    let mut preempted_with = None;
    for _ in 0..100 {
        let before: Vec<_> = scheduler
            .running
            .iter()
            .map(|s| (s.arrival, s.completion_len()))
            .collect();
        finished.extend(step(&mut scheduler, &mut shares));
        if scheduler.totals.preemptions == 1 && preempted_with.is_none() {
            preempted_with = before.last().copied();
            let (_, waiting) = scheduler
                .waiting
                .first_key_value()
                .expect("the preempted request waits");
            assert_eq!((waiting.arrival, waiting.completion_len()), before[1]);
        }
    }
    assert_eq!(preempted_with.map(|(arrival, _)| arrival), Some(1));
    assert_eq!(finished, [0, 1]);
    assert_eq!(scheduler.manager.available(), 8);
}

#[test]
fn a_second_request_with_the_same_prompt_finds_all_but_the_last_token() {
    let mut scheduler = scheduler(32, 4, 64, true);
    let mut shares = Vec::new();
    let prompt: Vec<u32> = (0..8).collect();
    scheduler.enqueue(sequence(0, &prompt, 1, 0));
    step(&mut scheduler, &mut shares);
    scheduler.enqueue(sequence(1, &prompt, 1, 0));
    step(&mut scheduler, &mut shares);
    assert_eq!(shares, [Share { index: 0, count: 1 }]);
    assert_eq!(scheduler.totals.prefix_hits, 7, "a block held and three tokens copied");
    scheduler.forget_prefixes();
    scheduler.enqueue(sequence(2, &prompt, 1, 0));
    step(&mut scheduler, &mut shares);
    assert_eq!(shares, [Share { index: 0, count: 8 }]);
}

#[test]
fn blocks_computed_before_a_change_of_weights_are_not_shared_after_it() {
    let mut scheduler = scheduler(32, 4, 4, true);
    let mut shares = Vec::new();
    let prompt: Vec<u32> = (0..12).collect();
    scheduler.enqueue(sequence(0, &prompt, 1, 0));
    step(&mut scheduler, &mut shares);
    scheduler.forget_prefixes();
    step(&mut scheduler, &mut shares);
    step(&mut scheduler, &mut shares);
    scheduler.enqueue(sequence(1, &prompt, 1, 0));
    step(&mut scheduler, &mut shares);
    assert_eq!(scheduler.totals.prefix_hits, 0);
}

#[derive(Debug, Clone)]
enum Event {
    Arrive {
        prompt: Vec<u32>,
        max_tokens: u32,
        priority: i64,
    },
    Abort(usize),
    Forget,
    Step,
}

/// Prompts that are often equal, like those of a group.
fn prompt() -> impl Strategy<Value = Vec<u32>> {
    prop_oneof![
        prop::collection::vec(0u32..3, 1..30),
        (0u32..2, 1usize..14).prop_map(|(token, len)| vec![token; len]),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        3 => (prompt(), 1u32..30, -1i64..2)
            .prop_map(|(prompt, max_tokens, priority)| Event::Arrive { prompt, max_tokens, priority }),
        1 => (0usize..50).prop_map(Event::Abort),
        1 => Just(Event::Forget),
        6 => Just(Event::Step),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_request_ends_once_and_all_blocks_come_back(
        events in prop::collection::vec(event(), 1..120),
        blocks in 16usize..40, max_num_seqs in 1usize..6, budget in 1usize..20, prefix_cache in any::<bool>(),
    ) {
        let mut scheduler = scheduler(blocks, max_num_seqs, budget, prefix_cache);
        let mut shares = Vec::new();
        let mut memory = Memory::default();
        let mut ended = std::collections::BTreeMap::new();
        let mut arrivals = 0u64;
        for event in events.into_iter().chain(std::iter::repeat_n(Event::Step, 4_000)) {
            match event {
                Event::Arrive { prompt, max_tokens, priority } => {
                    scheduler.enqueue(sequence(arrivals, &prompt, max_tokens, priority));
                    arrivals += 1;
                }
                Event::Abort(arrival) => {
                    for sequence in scheduler.remove(|sequence| sequence.arrival == arrival as u64) {
                        *ended.entry(sequence.arrival).or_insert(0) += 1;
                    }
                }
                Event::Forget => scheduler.forget_prefixes(),
                Event::Step => {
                    scheduler.schedule(u64::MAX, &mut shares);
                    memory.compute(&scheduler, &shares);
                    for arrival in take_in(&mut scheduler, &shares) {
                        *ended.entry(arrival).or_insert(0) += 1;
                    }
                    prop_assert!(shares.iter().map(|share| share.count).sum::<usize>() <= budget);
                    prop_assert!(scheduler.running.len() <= max_num_seqs);
                    check_holders(&scheduler)?;
                }
            }
            if ended.len() as u64 == arrivals && scheduler.waiting() == 0 && scheduler.running.is_empty() {
                prop_assert_eq!(scheduler.manager.available(), scheduler.manager.total());
            }
        }
        prop_assert_eq!(ended.len() as u64, arrivals);
        prop_assert!(ended.values().all(|times| *times == 1));
        prop_assert_eq!(scheduler.manager.available(), blocks);
    }
}

/// A block that several running requests hold covers equal prefixes of them, and none of them writes to it.
fn check_holders(scheduler: &Scheduler) -> Result<(), TestCaseError> {
    let mut holders = HashMap::new();
    for sequence in &scheduler.running {
        prop_assert!(sequence.blocks.len() * BLOCK >= sequence.computed);
        for (at, block) in sequence.blocks.iter().enumerate() {
            let end = (at + 1) * BLOCK;
            let Some(prefix) = sequence.tokens.get(..end) else {
                prop_assert!(holders.insert(*block, None).is_none(), "an unfinished block is shared");
                continue;
            };
            match holders.insert(*block, Some(prefix)) {
                None => {}
                Some(other) => prop_assert_eq!(other, Some(prefix)),
            }
        }
    }
    Ok(())
}

#[test]
fn the_prompt_of_a_group_is_computed_once() {
    for prompt_len in 2..14 {
        let prompt: Vec<u32> = (0..prompt_len).collect();
        let mut scheduler = scheduler(64, 8, 64, true);
        for arrival in 0..5 {
            scheduler.enqueue(sequence(arrival, &prompt, 3, 0));
        }
        scheduler.enqueue(sequence(5, &[40, 41], 3, 0));
        let mut shares = Vec::new();
        step(&mut scheduler, &mut shares);
        let arrivals: Vec<_> = scheduler.running.iter().map(|s| s.arrival).collect();
        assert_eq!(
            arrivals,
            [0, 5],
            "the others wait for the first; another prompt does not"
        );
        assert_eq!(scheduler.copies, []);
        step(&mut scheduler, &mut shares);
        assert_eq!(scheduler.running.len(), 6);
        assert!(shares.iter().all(|share| share.count == 1), "{shares:?}");
        let end = scheduler.running[0].blocks[(prompt_len as usize - 1) / BLOCK];
        let copied: Vec<_> = scheduler.copies.iter().map(|copy| copy.from).collect();
        let has_rest = !(prompt_len as usize - 1).is_multiple_of(BLOCK);
        assert_eq!(copied, if has_rest { vec![end; 4] } else { vec![] });
    }
}

#[test]
fn a_prompt_that_is_known_is_taken_over_after_its_request_has_ended_and_not_after_a_change_of_weights() {
    let mut scheduler = scheduler(8, 8, 64, true);
    let mut shares = Vec::new();
    scheduler.enqueue(sequence(0, &[1, 2, 3, 4, 5, 6], 1, 0));
    assert_eq!(step(&mut scheduler, &mut shares), [0]);
    scheduler.enqueue(sequence(1, &[1, 2, 3, 4, 5, 6], 1, 0));
    step(&mut scheduler, &mut shares);
    assert_eq!(shares[0].count, 1);
    scheduler.enqueue(sequence(2, &[1, 2, 3, 4, 5, 7], 1, 0));
    step(&mut scheduler, &mut shares);
    assert_eq!(
        shares[0].count, 2,
        "only a whole prompt is copied; its full block is shared"
    );
    scheduler.weights_changed();
    scheduler.enqueue(sequence(3, &[1, 2, 3, 4, 5, 6], 1, 0));
    step(&mut scheduler, &mut shares);
    assert_eq!((shares[0].count, scheduler.copies.len()), (6, 0));
}
