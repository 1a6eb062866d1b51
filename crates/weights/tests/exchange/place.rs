//! A root with its publisher, and weights that follow from the number of their version.

use std::fs;
use std::path::{Path, PathBuf};

use prl_weights::{
    Canary, Checkpoint, Dtype, Encoding, PublisherOptions, Received, Staged, TensorToWrite, WeightPublisher,
    WeightReceiver, version_directory, write_checkpoint,
};
use tempfile::TempDir;

pub(crate) const ELEMENTS: usize = 200_000;
pub(crate) const SPARSE: PublisherOptions = PublisherOptions {
    keep: 2,
    sparse: true,
    threads: 2,
};

/// Weights of version `version`: about one in `period` elements differs from the version before. Each change moves the bit
/// pattern by a multiple of `jump`.
pub(crate) fn weights(version: u64, period: u64, jump: u16) -> Vec<u8> {
    let element = |index: u64| {
        let mix = |value: u64| {
            value
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .rotate_left(31)
                .wrapping_mul(0xbf58_476d_1ce4_e5b9)
        };
        let changes = (1..=version)
            .filter(|&step| (mix(index ^ mix(step)) >> 20).is_multiple_of(period))
            .count();
        (mix(index) >> 40) as u16 ^ (changes as u16).wrapping_mul(jump)
    };
    (0..ELEMENTS as u64)
        .flat_map(|index| element(index).to_le_bytes())
        .collect()
}

/// A canary that says of which version it is.
pub(crate) fn canary(version: u64) -> Canary {
    Canary {
        token_ids: vec![1],
        logprobs: vec![-(version as f32)],
        isa: "avx2".to_owned(),
        dtype: "bfloat16".to_owned(),
    }
}

pub(crate) struct Place {
    pub(crate) root: TempDir,
    pub(crate) publisher: WeightPublisher,
    pub(crate) dtype: Dtype,
    pub(crate) period: u64,
    pub(crate) jump: u16,
    pub(crate) config: &'static str,
}

impl Place {
    pub(crate) fn new(options: PublisherOptions) -> Self {
        let root = tempfile::tempdir().unwrap();
        Self {
            publisher: WeightPublisher::open(root.path(), options).unwrap(),
            root,
            dtype: Dtype::BF16,
            period: 60,
            jump: 1,
            config: "{\"rope_theta\": 10000}",
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.root.path()
    }

    pub(crate) fn directory(&self, version: u64) -> PathBuf {
        version_directory(self.path(), version)
    }

    /// Puts a new publisher in the place of the one before, as if that had been killed.
    pub(crate) fn restart(&mut self) {
        // The root is locked as long as its publisher lives.
        let elsewhere = tempfile::tempdir().unwrap();
        self.publisher = WeightPublisher::open(elsewhere.path(), SPARSE).unwrap();
        self.publisher = WeightPublisher::open(self.path(), SPARSE).unwrap();
    }

    pub(crate) fn stage(&mut self, version: u64) -> Staged {
        let directory = self.publisher.stage(version).unwrap();
        self.save(&directory, version)
    }

    /// Writes the weights of `version` and a config.
    pub(crate) fn save(&self, directory: &Path, version: u64) -> Staged {
        fs::write(directory.join("config.json"), self.config).unwrap();
        let data = weights(version, self.period, self.jump);
        let shape = [data.len() * 8 / self.dtype.bits()];
        let tensors = [TensorToWrite {
            name: "w",
            dtype: self.dtype,
            shape: &shape,
            data: &data,
        }];
        let written = write_checkpoint(directory, &tensors, u64::MAX).unwrap();
        Staged {
            digest: written.digest,
            shards: written.shards,
        }
    }

    pub(crate) fn publish(&mut self, version: u64, full: bool) -> Encoding {
        let staged = self.stage(version);
        self.publisher
            .publish(version, staged, Some(canary(version)), full)
            .unwrap()
            .manifest
            .encoding
    }

    pub(crate) fn receiver(&self) -> (TempDir, WeightReceiver) {
        let state = tempfile::tempdir().unwrap();
        let receiver = WeightReceiver::open(self.path(), state.path(), 2).unwrap();
        (state, receiver)
    }

    pub(crate) fn check(&self, received: &Received, version: u64) {
        assert_eq!(
            (received.manifest.version, received.manifest.encoding),
            (version, Encoding::Full)
        );
        assert_eq!(received.manifest.canary.as_ref().unwrap().logprobs, [-(version as f32)]);
        received.manifest.verify_shards(&received.directory).unwrap();
        received.manifest.verify_version(&received.directory).unwrap();
        let checkpoint = Checkpoint::open(&received.directory).unwrap();
        assert!(checkpoint.tensor("w").unwrap().data == weights(version, self.period, self.jump));
        received.manifest.verify_files(&received.directory).unwrap();
        received.manifest.refuse_unlisted(&received.directory).unwrap();
        let config = fs::read_to_string(received.directory.join("config.json")).unwrap();
        assert_eq!(config, self.config);
    }
}
