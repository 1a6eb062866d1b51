//! Publishing and applying sparse versions need little memory, however large the weights are. The allocator counts it.

use prl_test_heap::{Heap, Measured, measure, turn};
use prl_weights::{
    Dtype, Encoding, PublisherOptions, Staged, TensorToWrite, WeightPublisher, WeightReceiver, write_checkpoint,
};

/// Far below the weights, and below the 64 MB that are allowed beside one shard.
const MAX_EXTRA_BYTES: usize = 16 << 20;
const ELEMENTS: usize = 24 << 20;
const TENSORS: usize = 6;

#[global_allocator]
static HEAP: Heap = Heap::counting();

#[test]
fn publishing_and_applying_hold_a_fraction_of_a_shard() {
    let _turn = turn();
    let root = tempfile::tempdir().unwrap();
    let state = tempfile::tempdir().unwrap();
    let options = PublisherOptions {
        keep: 2,
        sparse: true,
        threads: 4,
    };
    let mut publisher = WeightPublisher::open(root.path(), options).unwrap();
    let mut receiver = WeightReceiver::open(root.path(), state.path(), 4).unwrap();
    let mut data = vec![0x3c; ELEMENTS * 2];
    let names: Vec<String> = (0..TENSORS).map(|layer| format!("layers.{layer}")).collect();
    let shape = [ELEMENTS / TENSORS];
    for version in 0..3 {
        // One element in 64, a little more than at a learning rate of 1e-6.
        data.iter_mut()
            .skip(version as usize * 8)
            .step_by(128)
            .for_each(|byte| *byte += 1);
        let staged = publisher.stage(version).unwrap();
        let tensors: Vec<_> = names
            .iter()
            .zip(data.chunks(data.len() / TENSORS))
            .map(|(name, data)| TensorToWrite {
                name,
                dtype: Dtype::BF16,
                shape: &shape,
                data,
            })
            .collect();
        let Measured {
            value: written,
            peak: writing,
            ..
        } = measure(|| write_checkpoint(&staged, &tensors, u64::MAX).unwrap());
        let staged = Staged {
            digest: written.digest,
            shards: written.shards,
        };
        let Measured {
            value: published,
            peak: publishing,
            ..
        } = measure(|| publisher.publish(version, staged, None, false).unwrap());
        let expected = if version == 0 { Encoding::Full } else { Encoding::Sparse };
        assert_eq!(published.manifest.encoding, expected);
        let Measured {
            value: received,
            peak: applying,
            ..
        } = measure(|| receiver.receive(version).unwrap());
        received.manifest.verify_version(&received.directory).unwrap();
        for (what, bytes) in [("writing", writing), ("publishing", publishing), ("applying", applying)] {
            assert!(bytes < MAX_EXTRA_BYTES, "{what} version {version} held {bytes} bytes");
        }
    }
}
