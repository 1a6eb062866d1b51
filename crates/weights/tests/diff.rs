//! What changed between two folders, counted tensor by tensor.

use std::fs;

use prl_weights::{Change, Checkpoint, Dtype, TensorToWrite, diff, write_checkpoint};

const ELEMENTS: usize = 200_000;
/// One element in so many differs.
const PERIOD: usize = 60;

#[test]
fn a_diff_counts_changes_and_the_size_of_a_sparse_version() {
    let root = tempfile::tempdir().unwrap();
    let first: Vec<u8> = (0..ELEMENTS as u32)
        .flat_map(|index| ((index.wrapping_mul(0x9e37_79b9) >> 16) as u16).to_le_bytes())
        .collect();
    let mut second = first.clone();
    for element in (PERIOD / 2..ELEMENTS).step_by(PERIOD) {
        second[2 * element] ^= 1;
    }
    let write = |name: &str, data: &[u8], extra: &'static str, extra_dtype| {
        let directory = root.path().join(name);
        fs::create_dir(&directory).unwrap();
        let tensor = |name, dtype, shape, data| TensorToWrite {
            name,
            dtype,
            shape,
            data,
        };
        let tensors = [
            tensor("kept", Dtype::BF16, &[8][..], &data[..16]),
            tensor("w", Dtype::BF16, &[ELEMENTS][..], data),
            tensor("cast", extra_dtype, &[16][..], &first[..extra_dtype.bits() * 2]),
            tensor(extra, Dtype::F32, &[4][..], &first[..16]),
        ];
        write_checkpoint(&directory, &tensors, u64::MAX).unwrap();
        Checkpoint::open(&directory).unwrap()
    };
    let old = write("old", &first, "gone", Dtype::F32);
    let new = write("new", &second, "more", Dtype::BF16);
    let found = diff(&old, &new, 2).unwrap();
    let changes: Vec<_> = found
        .iter()
        .map(|tensor| (tensor.name.as_str(), tensor.change))
        .collect();
    let expected = [
        ("cast", Change::Layout),
        ("gone", Change::Removed),
        ("kept", Change::Same),
        ("more", Change::Added),
        ("w", Change::Values),
    ];
    assert_eq!(changes, expected);
    let weights = &found[4];
    let changed = (PERIOD / 2..ELEMENTS).step_by(PERIOD).len();
    assert_eq!((weights.changed, weights.elements), (changed as u64, ELEMENTS as u64));
    assert!(
        (1000..10_000).contains(&weights.sparse_bytes),
        "{}",
        weights.sparse_bytes
    );
}
