//! Resharding plans, executed on real bytes, and their refusals.

use prl_weights::{Dtype, Layout, Region, ReshardPlan, TensorShape, WeightsError};
use proptest::prelude::*;

fn tensor(name: &str, dtype: Dtype, shape: &[usize]) -> TensorShape {
    TensorShape {
        name: name.to_owned(),
        dtype,
        shape: shape.to_vec(),
    }
}

/// The elements of `region` of a row-major tensor, one after the other: the definition, element by element.
fn local(tensor: &TensorShape, whole: &[u8], region: &Region) -> Vec<u8> {
    let width = tensor.dtype.bits() / 8;
    let axes = tensor.shape.len();
    let mut bytes = Vec::new();
    for element in 0..whole.len() / width {
        let mut rest = element;
        let mut inside = true;
        for axis in (0..axes).rev() {
            inside &= region.axis(axis).contains(&(rest % tensor.shape[axis]));
            rest /= tensor.shape[axis];
        }
        if inside {
            bytes.extend_from_slice(&whole[element * width..(element + 1) * width]);
        }
    }
    bytes
}

fn content(tensor: &TensorShape, seed: usize) -> Vec<u8> {
    let bytes = tensor.dtype.byte_len(&tensor.shape).unwrap();
    (0..bytes)
        .map(|index| (((index + 1) * 2_654_435_761 + seed * 40_503) >> 13) as u8)
        .collect()
}

/// Runs a plan: every target must end with exactly its regions, and every byte needed is sent once.
fn execute(tensors: &[TensorShape], source: &Layout, target: &Layout) -> ReshardPlan {
    let plan = ReshardPlan::new(tensors, source, target).unwrap();
    let mut needed = 0;
    for (index, tensor) in tensors.iter().enumerate() {
        let whole = content(tensor, index);
        let mut received: Vec<(Vec<u8>, Vec<bool>)> = Vec::new();
        for part in target.parts(index) {
            let bytes = local(tensor, &whole, &part.region).len();
            received.push((vec![0; bytes], vec![false; bytes]));
        }
        let width = tensor.dtype.bits() / 8;
        let union = (0..whole.len() / width).filter(|&element| {
            let mut rest = element;
            let position: Vec<usize> = (0..tensor.shape.len())
                .rev()
                .map(|axis| {
                    let at = rest % tensor.shape[axis];
                    rest /= tensor.shape[axis];
                    at
                })
                .collect();
            target.parts(index).iter().any(|part| {
                position
                    .iter()
                    .rev()
                    .enumerate()
                    .all(|(axis, at)| part.region.axis(axis).contains(at))
            })
        });
        needed += union.count() * width;
        for transfer in plan.transfers().iter().filter(|transfer| transfer.tensor == index) {
            let holder = source
                .parts(index)
                .iter()
                .find(|part| part.rank == transfer.source && part.region.contains(&transfer.region))
                .unwrap();
            let mut wire = Vec::new();
            transfer.pack(&local(tensor, &whole, &holder.region), &mut wire);
            assert_eq!(wire.len(), transfer.byte_len());
            assert!(wire == local(tensor, &whole, &transfer.region));
            for &rank in &transfer.targets {
                let number = target
                    .parts(index)
                    .iter()
                    .position(|part| part.rank == rank && part.region.contains(&transfer.region))
                    .unwrap();
                let (bytes, seen) = &mut received[number];
                transfer.unpack(rank, &wire, bytes);
                let mut marks: Vec<u8> = seen.iter().map(|&seen| u8::from(seen)).collect();
                let before: usize = seen.iter().filter(|&&seen| seen).count();
                transfer.unpack(rank, &vec![1; wire.len()], &mut marks);
                *seen = marks.iter().map(|&mark| mark == 1).collect();
                assert_eq!(
                    seen.iter().filter(|&&seen| seen).count(),
                    before + wire.len(),
                    "a byte came twice"
                );
            }
        }
        for (part, (bytes, seen)) in target.parts(index).iter().zip(received) {
            assert!(
                seen.into_iter().all(|seen| seen),
                "{} of rank {} is incomplete",
                part.region,
                part.rank
            );
            assert!(
                bytes == local(tensor, &whole, &part.region),
                "{} of rank {}",
                part.region,
                part.rank
            );
        }
    }
    assert_eq!(plan.bytes(), needed as u64);
    plan
}

#[test]
fn rows_columns_experts_and_replicas_arrive_with_every_byte_sent_once() {
    let tensors = [
        tensor("embed", Dtype::BF16, &[10, 6]),
        tensor("up", Dtype::F32, &[7, 8]),
        tensor("norm", Dtype::BF16, &[5]),
        tensor("experts.0", Dtype::F8_E4M3, &[4, 4]),
        tensor("experts.1", Dtype::F8_E4M3, &[4, 4]),
        tensor("scale", Dtype::F64, &[]),
    ];
    // FSDP over three ranks; two engines of two ranks each, tensor and expert parallel.
    let mut source = Layout::new(&tensors, 3);
    for index in 0..5 {
        source.split(index, 0, &[0, 1, 2]).unwrap();
    }
    source.replicate(5, &[0, 1, 2]).unwrap();
    let mut target = Layout::new(&tensors, 4);
    for engine in [[0, 1], [2, 3]] {
        target.split(0, 0, &engine).unwrap();
        target.split(1, 1, &engine).unwrap();
        target.replicate(2, &engine).unwrap();
        target.replicate(3, &engine[..1]).unwrap();
        target.replicate(4, &engine[1..]).unwrap();
        target.replicate(5, &engine).unwrap();
    }
    let plan = execute(&tensors, &source, &target);
    let total: usize = tensors
        .iter()
        .map(|tensor| tensor.dtype.byte_len(&tensor.shape).unwrap())
        .sum();
    assert_eq!(plan.bytes(), total as u64);
    let of = |tensor| {
        plan.transfers()
            .iter()
            .filter(move |transfer| transfer.tensor == tensor)
    };
    assert!(of(5).count() == 1 && of(5).all(|transfer| transfer.targets == [0, 1, 2, 3]));
    assert!(of(3).all(|transfer| transfer.targets == [0, 2]));
    // Rows 0..4, 4..8, 8..10 against rows 0..5, 5..10.
    let rows: Vec<_> = of(0)
        .map(|transfer| (transfer.source, transfer.region.axis(0)))
        .collect();
    assert_eq!(rows, [(0, 0..4), (1, 4..5), (1, 5..8), (2, 8..10)]);
    assert_eq!(plan, ReshardPlan::new(&tensors, &source, &target).unwrap());
}

#[test]
fn replicas_of_the_source_share_the_sending() {
    let tensors: Vec<_> = (0..8)
        .map(|layer| tensor(&format!("w{layer}"), Dtype::BF16, &[64, 8]))
        .collect();
    let (mut source, mut target) = (Layout::new(&tensors, 4), Layout::new(&tensors, 1));
    for index in 0..tensors.len() {
        source.replicate(index, &[0, 1, 2, 3]).unwrap();
        target.replicate(index, &[0]).unwrap();
    }
    let plan = execute(&tensors, &source, &target);
    for rank in 0..4 {
        assert_eq!(
            plan.transfers()
                .iter()
                .filter(|transfer| transfer.source == rank)
                .count(),
            2
        );
    }
}

#[test]
fn shards_that_do_not_fit_are_refused_by_name() {
    let tensors = [tensor("w", Dtype::BF16, &[4, 4]), tensor("packed", Dtype::F4, &[4, 3])];
    let mut source = Layout::new(&tensors, 2);
    let fails = |result: Result<(), WeightsError>, reason: &str| {
        let error = result.unwrap_err();
        assert_eq!(error.code(), "PRL_WEIGHTS_PLAN");
        assert!(error.to_string().contains(reason), "{error} does not mention {reason}");
    };
    fails(source.split(0, 2, &[0, 1]), "no axis 2");
    fails(source.replicate(0, &[2]), "rank 2");
    fails(source.place(0, 0, Region::whole(&[5, 4])), "reach beyond");
    fails(source.place(0, 0, Region::whole(&[4])), "reach beyond");
    source.place(0, 0, Region::whole(&[2, 4])).unwrap();
    fails(source.replicate(0, &[0]), "overlap");
    source.replicate(1, &[0]).unwrap();
    let mut target = Layout::new(&tensors, 2);
    target.replicate(0, &[1]).unwrap();
    fails(
        ReshardPlan::new(&tensors, &source, &target).map(drop),
        "no source has elements [2..4, 0..4], which rank 1",
    );
    let mut target = Layout::new(&tensors, 2);
    target.split(1, 1, &[0, 1]).unwrap();
    fails(ReshardPlan::new(&tensors, &source, &target).map(drop), "no whole bytes");
    // The region that is sent consists of whole bytes in the target, but not in the source.
    let tensors = [tensor("packed", Dtype::F4, &[2, 8])];
    let (mut source, mut target) = (Layout::new(&tensors, 1), Layout::new(&tensors, 1));
    source.place(0, 0, Region::whole(&[2, 8]).cut(1, 1..7)).unwrap();
    target.place(0, 0, Region::whole(&[2, 8]).cut(1, 2..4)).unwrap();
    fails(ReshardPlan::new(&tensors, &source, &target).map(drop), "no whole bytes");
}

fn layout(tensors: &[TensorShape], ranks: usize, choices: &[usize]) -> Layout {
    let mut layout = Layout::new(tensors, ranks);
    for (index, tensor) in tensors.iter().enumerate() {
        let choice = choices[index % choices.len()];
        let all: Vec<usize> = (0..ranks).collect();
        let (first, second) = all.split_at(ranks.div_ceil(2));
        let axes = tensor.shape.len().max(1);
        let axis = choice / 4 % axes;
        match choice % 4 {
            0 => layout.replicate(index, &all).unwrap(),
            1 => layout.replicate(index, &[choice % ranks]).unwrap(),
            2 => layout.split(index, axis, &all).unwrap(),
            // Groups of ranks that cut the same tensor along different axes.
            _ => {
                layout.split(index, axis, first).unwrap();
                if !second.is_empty() {
                    layout.split(index, (axis + 1) % axes, second).unwrap();
                }
            }
        }
    }
    layout
}

proptest! {
    #[test]
    fn any_layout_reaches_any_other(
        shapes in prop::collection::vec(prop::collection::vec(0usize..7, 1..4), 1..4),
        (sources, targets) in (1usize..6, 1usize..6),
        from in prop::collection::vec(0usize..64, 4),
        to in prop::collection::vec(0usize..64, 4),
    ) {
        let dtypes = [Dtype::BF16, Dtype::F32, Dtype::U8];
        let tensors: Vec<_> = shapes
            .iter()
            .enumerate()
            .map(|(index, shape)| tensor(&index.to_string(), dtypes[index % 3], shape))
            .collect();
        execute(&tensors, &layout(&tensors, sources, &from), &layout(&tensors, targets, &to));
    }
}
