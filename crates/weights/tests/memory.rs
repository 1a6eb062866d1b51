//! Publishing and applying sparse versions need little memory, however large the weights are. The allocator counts it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use prl_weights::{
    Dtype, Encoding, PublisherOptions, Staged, TensorToWrite, WeightPublisher, WeightReceiver, write_checkpoint,
};

/// Far below the weights, and below the 64 MB that are allowed beside one shard.
const MAX_EXTRA_BYTES: usize = 16 << 20;
const ELEMENTS: usize = 24 << 20;
const TENSORS: usize = 6;

struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on to the system's allocator; counting touches no memory of its callers.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(held, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most that `work` held at once beyond what was held before.
fn peak_of<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let value = work();
    (value, PEAK.load(Ordering::Relaxed) - before)
}

#[test]
fn publishing_and_applying_hold_a_fraction_of_a_shard() {
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
        let (written, writing) = peak_of(|| write_checkpoint(&staged, &tensors, u64::MAX).unwrap());
        let staged = Staged {
            digest: written.digest,
            shards: written.shards,
        };
        let (published, publishing) = peak_of(|| publisher.publish(version, staged, None, false).unwrap());
        let expected = if version == 0 { Encoding::Full } else { Encoding::Sparse };
        assert_eq!(published.manifest.encoding, expected);
        let (received, applying) = peak_of(|| receiver.receive(version).unwrap());
        received.manifest.verify_version(&received.directory).unwrap();
        for (what, bytes) in [("writing", writing), ("publishing", publishing), ("applying", applying)] {
            assert!(bytes < MAX_EXTRA_BYTES, "{what} version {version} held {bytes} bytes");
        }
    }
}
