//! PEFT adapters: published, received and refused whole.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use prl_weights::{
    ADAPTER_CONFIG_FILE, ADAPTER_WEIGHTS_FILE, Adapter, BaseVersion, Checkpoint, Dtype, Encoding, LoadedWeights,
    MANIFEST_FILE, MANIFEST_FORMAT, Manifest, PublisherOptions, SparseOptions, Staged, TensorToWrite, WeightPublisher,
    WeightReceiver, WeightsError, WriteOptions, diff_folders, read_manifest, reshard_folders, version_directory,
    version_files, write_checkpoint, write_manifest, write_safetensors, write_sparse,
};
use proptest::prelude::*;
use safetensors::SafeTensors;
use tempfile::TempDir;

const OPTIONS: PublisherOptions = PublisherOptions {
    keep: 8,
    sparse: true,
    threads: 1,
};
/// Spaces, order and characters that our serializer would not reproduce.
const CONFIG: &str = "{ \"r\":2,\n\t\"lora_alpha\" : 4.0, \"peft_type\": \"LORA\", \"target_modules\": [\"q_proj\"], \"\\u00e9\": null,\r\n \"task_type\":null,\"base_model_name_or_path\": null}";
const TOKENIZER: &str = "{\"é\": 1}";

/// A: [2, 3] and B: [4, 2] of one module, in 16 bits; `seed` makes versions differ.
fn write_adapter(folder: &Path, config: &str, seed: u8) {
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join(ADAPTER_CONFIG_FILE), config).unwrap();
    fs::write(folder.join("tokenizer.json"), TOKENIZER).unwrap();
    let data: Vec<u8> = (0..16).map(|byte| byte + seed).collect();
    let tensor = |name, shape, data| TensorToWrite {
        name,
        dtype: Dtype::BF16,
        shape,
        data,
    };
    let tensors = [
        tensor("base_model.model.q_proj.lora_A.weight", &[2, 3], &data[..12]),
        tensor("base_model.model.q_proj.lora_B.weight", &[4, 2], &data),
    ];
    let metadata = [("format".to_owned(), "pt".to_owned())];
    let path = folder.join(ADAPTER_WEIGHTS_FILE);
    write_safetensors(&path, &tensors, &metadata, WriteOptions::default()).unwrap();
}

fn write_model(folder: &Path, seed: u8) {
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("config.json"), "{}").unwrap();
    let data: Vec<u8> = (0..4096_u32)
        .flat_map(|at| (at as u16 ^ if at == 0 { u16::from(seed) } else { 0 }).to_le_bytes())
        .collect();
    let tensor = TensorToWrite {
        name: "w",
        dtype: Dtype::BF16,
        shape: &[4096],
        data: &data,
    };
    write_checkpoint(folder, &[tensor], u64::MAX).unwrap();
}

fn contents(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let names = version_files(directory).unwrap();
    names
        .into_iter()
        .map(|name| (name.clone(), fs::read(directory.join(name)).unwrap()))
        .collect()
}

fn code<T>(result: Result<T, WeightsError>) -> &'static str {
    result.err().expect("it is refused").code()
}

struct Place {
    dir: TempDir,
    publisher: WeightPublisher,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let publisher = WeightPublisher::open(&dir.path().join("root"), OPTIONS).unwrap();
        Self { dir, publisher }
    }

    fn folder(&self, name: &str) -> std::path::PathBuf {
        self.dir.path().join(name)
    }

    fn publish(&mut self, version: u64, folder: &str) -> Result<Manifest, WeightsError> {
        let folder = self.folder(folder);
        let published = self.publisher.publish_folder(version, &folder, None, false)?;
        Ok(published.manifest)
    }

    fn version(&self, version: u64) -> std::path::PathBuf {
        version_directory(&self.folder("root"), version)
    }
}

#[test]
fn every_version_is_the_folder_byte_for_byte_and_builds_on_nothing() {
    let mut place = Place::new();
    for version in 0..3 {
        let name = format!("adapter{version}");
        write_adapter(&place.folder(&name), CONFIG, version as u8);
        fs::write(place.folder(&name).join(".hidden"), "").unwrap();
        let manifest = place.publish(version, &name).unwrap();
        assert_eq!((manifest.encoding, &manifest.base), (Encoding::Peft, &None));
        let files: Vec<&str> = manifest.shards.iter().map(|shard| shard.file.as_str()).collect();
        assert_eq!(files, [ADAPTER_CONFIG_FILE, ADAPTER_WEIGHTS_FILE]);
        let mut receiver = WeightReceiver::open(&place.folder("root"), &place.folder("state"), 1).unwrap();
        let received = receiver.receive(version).unwrap();
        assert_eq!(received.manifest, manifest);
        received.manifest.verify_shards_once(&received.directory).unwrap();
        received.manifest.verify_version(&received.directory).unwrap();
        let mut expected = contents(&place.folder(&name));
        expected.remove(".hidden");
        assert_eq!(contents(&received.directory), expected);
        let text = fs::read_to_string(received.directory.join(MANIFEST_FILE)).unwrap();
        assert!(text.contains("\"encoding\": \"peft\""), "{text}");
        // The reference reader.
        let bytes = fs::read(received.directory.join(ADAPTER_WEIGHTS_FILE)).unwrap();
        let tensors = SafeTensors::deserialize(&bytes).unwrap();
        let lora_b = tensors.tensor("base_model.model.q_proj.lora_B.weight").unwrap();
        assert_eq!((lora_b.shape(), lora_b.data()[0]), (&[4, 2][..], version as u8));
    }
    assert_eq!(place.publisher.make_newest_full().unwrap(), None);
}

#[test]
fn the_digest_is_of_config_and_tensors() {
    let dir = tempfile::tempdir().unwrap();
    let digest = |config: &str, seed| {
        write_adapter(dir.path(), config, seed);
        Adapter::open(dir.path()).unwrap().version_digest().unwrap()
    };
    let digests = [
        digest(CONFIG, 0),
        digest(&CONFIG.replace("4.0", "8.0"), 0),
        digest(CONFIG, 1),
    ];
    assert!(digests[0] != digests[1] && digests[0] != digests[2] && digests[1] != digests[2]);
    assert_eq!(digest(CONFIG, 0), digests[0]);
    assert_eq!(Adapter::open(dir.path()).unwrap().peft_type(), "LORA");
}

#[test]
fn an_adapter_that_is_not_whole_is_named_and_never_a_version() {
    let mut place = Place::new();
    let folder = place.folder("adapter");
    let mut refused = |what: &str, file: &str| {
        let error = place.publish(1, "adapter").expect_err(what);
        assert_eq!(error.code(), "PRL_WEIGHTS_ADAPTER", "{what}: {error}");
        assert!(error.to_string().contains(file), "{what}: {error}");
        assert!(!place.version(1).exists(), "{what}");
    };
    write_adapter(&folder, CONFIG, 0);
    fs::remove_file(folder.join(ADAPTER_CONFIG_FILE)).unwrap();
    refused("no config", ADAPTER_CONFIG_FILE);
    for config in ["", "{", "[\"LORA\"]", "{}", "{\"peft_type\": 1}", "\"LORA\"", "\u{0}"] {
        write_adapter(&folder, config, 0);
        refused(config, ADAPTER_CONFIG_FILE);
    }
    write_adapter(&folder, CONFIG, 0);
    fs::rename(folder.join(ADAPTER_WEIGHTS_FILE), folder.join("adapter_model.bin")).unwrap();
    refused("tensors in another format", ADAPTER_WEIGHTS_FILE);
    let tensor = TensorToWrite {
        name: ADAPTER_CONFIG_FILE,
        dtype: Dtype::U8,
        shape: &[1],
        data: &[0],
    };
    write_safetensors(
        &folder.join(ADAPTER_WEIGHTS_FILE),
        &[tensor],
        &[],
        WriteOptions::default(),
    )
    .unwrap();
    refused("a tensor that stands for the config", ADAPTER_WEIGHTS_FILE);
    fs::write(folder.join(ADAPTER_WEIGHTS_FILE), "no tensors").unwrap();
    assert_eq!(code(place.publish(1, "adapter")), "PRL_WEIGHTS_FORMAT");
    write_adapter(&folder, CONFIG, 0);
    place.publish(1, "adapter").unwrap();
}

#[test]
fn models_and_adapters_do_not_mix() {
    let mut place = Place::new();
    write_adapter(&place.folder("adapter"), CONFIG, 0);
    for version in 0..2 {
        write_model(&place.folder("model"), version);
        place.publish(version.into(), "model").unwrap();
    }
    let error = place.publish(2, "adapter").unwrap_err();
    assert_eq!(error.code(), "PRL_WEIGHTS_ADAPTER");
    assert!(
        error
            .to_string()
            .contains("version 2 is a PEFT adapter and version 1 a model's weights")
    );
    // The chain of changes continues as if nothing had been tried.
    write_model(&place.folder("model"), 2);
    let manifest = place.publish(2, "model").unwrap();
    assert_eq!(
        (manifest.encoding, manifest.base.unwrap().version),
        (Encoding::Sparse, 1)
    );
    // A model cannot replace the last version either; that one is still there.
    assert_eq!(code(place.publish(2, "adapter")), "PRL_WEIGHTS_ADAPTER");
    assert_eq!(read_manifest(&place.version(2)).unwrap().encoding, Encoding::Sparse);

    let mut adapters = Place::new();
    write_adapter(&adapters.folder("adapter"), CONFIG, 0);
    write_model(&adapters.folder("model"), 0);
    adapters.publish(5, "adapter").unwrap();
    assert_eq!(code(adapters.publish(6, "model")), "PRL_WEIGHTS_ADAPTER");
    // A folder has both: a model, and an adapter that is no shard of it.
    write_adapter(&adapters.folder("model"), CONFIG, 0);
    assert!(!Adapter::is_in(&adapters.folder("model")));
    assert_eq!(code(Adapter::open(&adapters.folder("model"))), "PRL_WEIGHTS_ADAPTER");
}

#[test]
fn a_full_version_is_still_asked_for_when_another_kind_was_refused() {
    let mut place = Place::new();
    for version in 0..2 {
        write_model(&place.folder("model"), version);
        place.publish(version.into(), "model").unwrap();
    }
    let receiver = WeightReceiver::open(&place.folder("root"), &place.folder("state"), 1).unwrap();
    receiver.request_full().unwrap();
    let staging = place.publisher.stage(2).unwrap();
    write_adapter(&staging, CONFIG, 0);
    let staged = Staged::of_folder(&staging).unwrap();
    assert_eq!(
        code(place.publisher.publish(2, staged, None, false)),
        "PRL_WEIGHTS_ADAPTER"
    );
    for (version, encoding) in [(2, Encoding::Full), (3, Encoding::Sparse)] {
        write_model(&place.folder("model"), version);
        assert_eq!(place.publish(version.into(), "model").unwrap().encoding, encoding);
    }
}

#[test]
fn an_adapter_is_no_models_weights() {
    let dir = tempfile::tempdir().unwrap();
    write_adapter(dir.path(), CONFIG, 0);
    assert_eq!(code(Checkpoint::open(dir.path())), "PRL_WEIGHTS_ADAPTER");
    assert_eq!(code(LoadedWeights::read(dir.path(), 1)), "PRL_WEIGHTS_ADAPTER");
    let (whole, rows) = ("whole".parse().unwrap(), "fsdp:2".parse().unwrap());
    let cut = reshard_folders(dir.path(), &whole, &dir.path().join("cut"), &rows, u64::MAX);
    assert_eq!(code(cut), "PRL_WEIGHTS_ADAPTER");
    assert!(!dir.path().join("cut").exists());
    // Two of them can be compared all the same, their configs too.
    let other = tempfile::tempdir().unwrap();
    write_adapter(other.path(), &CONFIG.replace("4.0", "8.0"), 1);
    let changed = diff_folders(dir.path(), other.path(), 1).unwrap();
    let changed: Vec<_> = changed
        .iter()
        .map(|tensor| (&tensor.name[..7], tensor.changed))
        .collect();
    assert_eq!(changed, [("adapter", 1), ("base_mo", 6), ("base_mo", 8)]);
    let model = tempfile::tempdir().unwrap();
    write_model(model.path(), 0);
    for (old, new) in [(dir.path(), model.path()), (model.path(), dir.path())] {
        assert_eq!(code(diff_folders(old, new, 1)), "PRL_WEIGHTS_ADAPTER");
    }
}

#[test]
fn manifests_name_both_files_of_an_adapter_or_none() {
    let dir = tempfile::tempdir().unwrap();
    write_adapter(dir.path(), CONFIG, 0);
    let adapter = Adapter::open(dir.path()).unwrap();
    let sound = Manifest {
        format: MANIFEST_FORMAT.to_owned(),
        version: 1,
        digest: adapter.version_digest().unwrap(),
        base: None,
        encoding: Encoding::Peft,
        shards: adapter.shards(),
        files: None,
        canary: None,
    };
    write_manifest(dir.path(), &sound).unwrap();
    let wrong: [&dyn Fn(&mut Manifest); 5] = [
        &|manifest| drop(manifest.shards.pop()),
        &|manifest| drop(manifest.shards.remove(0)),
        &|manifest| manifest.shards[0].file = "config.json".to_owned(),
        &|manifest| manifest.encoding = Encoding::Full,
        &|manifest| {
            manifest.base = Some(BaseVersion {
                version: 0,
                digest: manifest.digest.clone(),
            });
        },
    ];
    for (number, change) in wrong.iter().enumerate() {
        let mut manifest = sound.clone();
        change(&mut manifest);
        assert_eq!(
            code(write_manifest(dir.path(), &manifest)),
            "PRL_WEIGHTS_MANIFEST",
            "{number}"
        );
    }
    assert_eq!(read_manifest(dir.path()).unwrap(), sound);
}

#[test]
fn nothing_builds_on_an_adapter() {
    let mut place = Place::new();
    write_adapter(&place.folder("adapter"), CONFIG, 0);
    let base = place.publish(1, "adapter").unwrap();
    write_model(&place.folder("old"), 0);
    write_model(&place.folder("new"), 1);
    let new = Checkpoint::open(&place.folder("new")).unwrap();
    let view = new.tensor("w").unwrap();
    let tensor = TensorToWrite {
        name: "w",
        dtype: view.dtype,
        shape: view.shape,
        data: view.data,
    };
    let directory = place.version(2);
    fs::create_dir(&directory).unwrap();
    let options = SparseOptions {
        max_shard_bytes: u64::MAX,
        max_bytes: u64::MAX,
        threads: 1,
    };
    let old = Checkpoint::open(&place.folder("old")).unwrap();
    let written = write_sparse(&directory, &old, &[tensor], options).unwrap().unwrap();
    let manifest = Manifest {
        version: 2,
        digest: written.digest,
        base: Some(BaseVersion {
            version: 1,
            digest: base.digest.clone(),
        }),
        encoding: Encoding::Sparse,
        shards: written.shards,
        ..base
    };
    write_manifest(&directory, &manifest).unwrap();
    let mut receiver = WeightReceiver::open(&place.folder("root"), &place.folder("state"), 1).unwrap();
    let error = receiver.receive(2).unwrap_err();
    assert_eq!(error.code(), "PRL_WEIGHTS_BASE");
    assert!(error.to_string().contains("PEFT adapter"), "{error}");
}

#[test]
fn folders_of_others_are_published_through_links_and_by_their_changes() {
    let mut place = Place::new();
    for version in 0..2 {
        write_model(&place.folder("blobs"), version);
        let snapshot = place.folder(&format!("snapshot{version}"));
        fs::create_dir(&snapshot).unwrap();
        for name in ["config.json", "model.safetensors"] {
            std::os::unix::fs::symlink(place.folder("blobs").join(name), snapshot.join(name)).unwrap();
        }
        let manifest = place.publish(version.into(), &format!("snapshot{version}")).unwrap();
        let expected = if version == 0 { Encoding::Full } else { Encoding::Sparse };
        assert_eq!(manifest.encoding, expected);
        let mut receiver = WeightReceiver::open(&place.folder("root"), &place.folder("state"), 1).unwrap();
        let received = receiver.receive(version.into()).unwrap();
        assert_eq!(contents(&received.directory), contents(&place.folder("blobs")));
    }
    fs::create_dir(place.folder("empty")).unwrap();
    assert_eq!(code(place.publish(2, "empty")), "PRL_WEIGHTS_IO");
}

#[test]
fn a_version_of_the_root_can_be_published_in_place_of_itself_and_of_earlier_ones() {
    let mut place = Place::new();
    for version in 0..4 {
        write_adapter(&place.folder("adapter"), CONFIG, version);
        place.publish(version.into(), "adapter").unwrap();
    }
    let newest = contents(&place.version(3));
    for version in [3, 1] {
        place.publish(version, "root/step_3").unwrap();
        assert_eq!(contents(&place.version(version)), newest);
    }
    assert!(!place.version(2).exists() && !place.version(3).exists());
    // A folder that cannot be copied whole removes nothing.
    write_adapter(&place.folder("adapter"), CONFIG, 9);
    fs::write(place.folder("adapter").join(ADAPTER_WEIGHTS_FILE), "no tensors").unwrap();
    assert_eq!(code(place.publish(0, "adapter")), "PRL_WEIGHTS_FORMAT");
    assert_eq!(contents(&place.version(1)), newest);

    // The same holds for a model, with the folder that the publisher keeps to compute changes from.
    let mut models = Place::new();
    for version in 0..3 {
        write_model(&models.folder("model"), version);
        models.publish(version.into(), "model").unwrap();
    }
    models.publish(2, "model").unwrap();
    models.publish(1, "root/step_0").unwrap();
    assert!(!models.version(2).exists());
    let [first, again] = [0, 1].map(|version| read_manifest(&models.version(version)).unwrap());
    assert_eq!((first.digest, again.encoding), (again.digest, Encoding::Sparse));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_config_arrives_and_any_changed_byte_is_found(
        key in "\\PC{0,12}", spaces in "[ \n\t]{0,5}", data in prop::collection::vec(any::<u8>(), 0..200),
        of_config in any::<bool>(), at in any::<prop::sample::Index>(), change in 1..=255_u8,
    ) {
        let mut place = Place::new();
        let folder = place.folder("adapter");
        let key = serde_json::to_string(&format!("x{key}")).unwrap();
        let config = format!("{spaces}{{{key}:{spaces}[1e-3],\"peft_type\":{spaces}\"IA3\"}}{spaces}");
        write_adapter(&folder, &config, 0);
        let tensor = TensorToWrite { name: "base_model.model.v.ia3_l", dtype: Dtype::U8, shape: &[data.len()], data: &data };
        write_safetensors(&folder.join(ADAPTER_WEIGHTS_FILE), &[tensor], &[], WriteOptions::default()).unwrap();
        let manifest = place.publish(1, "adapter").unwrap();
        let version = place.version(1);
        prop_assert_eq!(contents(&version), contents(&folder));
        manifest.verify_shards(&version).unwrap();
        manifest.verify_version(&version).unwrap();
        let file = if of_config { ADAPTER_CONFIG_FILE } else { ADAPTER_WEIGHTS_FILE };
        let mut bytes = fs::read(version.join(file)).unwrap();
        let at = at.index(bytes.len());
        let header = 8 + usize::try_from(u64::from_le_bytes(bytes[..8].try_into().unwrap())).unwrap_or(0);
        // The version digest is of the tensors and does not contain the blanks in the header of a weights file.
        let is_weights = of_config || at >= header;
        bytes[at] ^= change;
        fs::write(version.join(file), bytes).unwrap();
        let error = manifest.verify_shards(&version).unwrap_err();
        prop_assert_eq!(error.code(), "PRL_WEIGHTS_DIGEST");
        prop_assert!(error.to_string().contains(file));
        if is_weights {
            manifest.verify_version(&version).unwrap_err();
        }
    }
}

const READ: &str = r#"
import sys
try:
    import torch
    from safetensors.torch import load_file
except ImportError as missing:
    print(missing, file=sys.stderr)
    sys.exit(77)
tensors = load_file(sys.argv[1] + "/adapter_model.safetensors")
a, b = (tensors[f"base_model.model.q_proj.lora_{part}.weight"].float() for part in "AB")
assert a.shape == (2, 3) and b.shape == (4, 2), tensors
try:
    from peft import PeftModel
except ImportError as missing:
    print(missing, file=sys.stderr)
    sys.exit(77)
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.q_proj = torch.nn.Linear(3, 4, bias=False)
    def forward(self, x):
        return self.q_proj(x)
model = Model()
x = torch.ones(1, 3)
base = model(x)
adapted = PeftModel.from_pretrained(model, sys.argv[1])(x)
torch.testing.assert_close(adapted, base + 2.0 * (x @ a.T @ b.T))
"#;

/// Reads with the programs that define the format: `peft` where that is installed, elsewhere safetensors alone.
#[test]
fn a_received_adapter_is_loaded_by_python() {
    let mut place = Place::new();
    write_adapter(&place.folder("adapter"), CONFIG, 16);
    place.publish(1, "adapter").unwrap();
    let python = std::env::var_os("PRL_TEST_PYTHON").unwrap_or("python3".into());
    let Ok(output) = Command::new(python).args(["-c", READ]).arg(place.version(1)).output() else {
        return; // There is no such interpreter.
    };
    if output.status.code() == Some(77) {
        return; // It lacks the libraries.
    }
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
