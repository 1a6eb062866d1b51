//! What the loss that balances the experts is a mean of: the bins of a call, each by its rows. Calls add up.

#[expect(dead_code, reason = "other tests use the other models and columns")]
mod support;

use std::path::Path;

use prl_engine::loss::Counts;
use prl_engine::{RouterOptions, Tier, TrainBatch, Trainer, TrainerOptions};
use support::{Columns, EXPERTS, bits, compute, write_model};

const VOCABULARY: usize = 23;
const LENGTH: usize = 17;
const FACTOR: f64 = 0.5;

/// Two sequences as one bin each. The last token of both trains, so that they have as many rows.
fn columns() -> Columns {
    let mut columns = Columns::random(&[LENGTH, LENGTH], VOCABULARY, 6);
    for last in [LENGTH - 1, 2 * LENGTH - 1] {
        columns.loss_mask[last] = 1;
        columns.inference_logprobs[last] = -3.5;
    }
    columns.bin_seq_offsets = Some(vec![0, 1, 2]);
    columns
}

/// The sequence of a batch alone.
fn alone(columns: &Columns, sequence: usize) -> Columns {
    let tokens = sequence * LENGTH..(sequence + 1) * LENGTH;
    Columns {
        input_ids: columns.input_ids[tokens.clone()].to_vec(),
        inference_logprobs: columns.inference_logprobs[tokens.clone()].to_vec(),
        advantages: columns.advantages[tokens.clone()].to_vec(),
        temperatures: columns.temperatures[tokens.clone()].to_vec(),
        loss_mask: columns.loss_mask[tokens].to_vec(),
        cu_seqlens: vec![0, LENGTH as u32],
        ..Columns::default()
    }
}

fn open(folder: &Path, aux_loss_coef: f64) -> Trainer {
    let options = TrainerOptions {
        router: RouterOptions {
            aux_loss_coef,
            frozen: false,
        },
        ..TrainerOptions::default()
    };
    Trainer::open(folder, &compute(2, Tier::detect()), options).expect("the trainer opens")
}

/// The balance of a batch whose gradients are added to the trainer's.
fn balance(trainer: &mut Trainer, batch: TrainBatch<'_>, counts: Counts) -> f64 {
    let stats = trainer
        .forward_backward(&TrainBatch { counts, ..batch })
        .expect("the batch runs");
    let found = stats.metrics.iter().find(|(name, _)| name == "router_aux_loss");
    found.expect("it is reported").1
}

fn gradients(trainer: &Trainer) -> Vec<Vec<u32>> {
    let names = trainer.parameter_names();
    names
        .iter()
        .map(|name| bits(&trainer.gradient(name).expect("it is there")))
        .collect()
}

#[test]
fn it_is_the_mean_of_the_bins_of_a_call_and_calls_add_up() {
    let folder = tempfile::tempdir().expect("a folder");
    write_model(folder.path(), EXPERTS, 31);
    let whole = columns();
    let counts = Counts {
        sequences: Some(2.0),
        ..whole.batch().counts
    };
    let mut at_once = open(folder.path(), FACTOR);
    let mean = balance(&mut at_once, whole.batch(), counts);

    let in_two_calls = |factor: f64| {
        let mut trainer = open(folder.path(), factor);
        let found = [0, 1].map(|sequence| balance(&mut trainer, alone(&whole, sequence).batch(), counts));
        (found, gradients(&trainer))
    };
    let ([first, second], halved) = in_two_calls(FACTOR / 2.0);
    assert_ne!(first, second);
    assert!(
        (mean - (first + second) / 2.0).abs() < 1e-12 * mean,
        "{mean} {first} {second}"
    );
    // Bins of as many rows weigh a half each, so that half of the factor gives the same bits.
    assert_eq!(halved, gradients(&at_once));
    let (_, added) = in_two_calls(FACTOR);
    assert_ne!(added, halved);
}

#[test]
fn it_depends_on_how_a_call_is_cut_into_bins() {
    let folder = tempfile::tempdir().expect("a folder");
    write_model(folder.path(), EXPERTS, 31);
    let cut = columns();
    let whole = Columns {
        bin_seq_offsets: None,
        ..cut.clone()
    };
    let [cut, whole] = [cut, whole].map(|columns| {
        let batch = columns.batch();
        balance(&mut open(folder.path(), FACTOR), batch, batch.counts)
    });
    assert!((cut - whole).abs() > 1e-6 * whole, "{cut} {whole}");
}
