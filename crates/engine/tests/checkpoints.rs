//! Reading checkpoints: dtypes, shards, tied heads, and tensors that are missing, too many or of another shape.

#[allow(
    dead_code,
    clippy::allow_attributes,
    reason = "this binary needs models, not batches"
)]
mod support;

use std::path::{Path, PathBuf};

use prl_engine::{EngineError, Model, Tier, Trainer, TrainerOptions};
use prl_weights::{Checkpoint, Dtype, TensorToWrite, write_checkpoint};
use support::{EXPERTS, LLAMA, QWEN2, QWEN3, bits, compute, write_model};

const EMBEDDING: &str = "model.embed_tokens.weight";
const HEAD: &str = "lm_head.weight";

#[derive(Clone)]
struct Tensor {
    name: String,
    dtype: Dtype,
    shape: Vec<usize>,
    data: Vec<u8>,
}

/// A model's folder and its tensors, to be changed and written again.
struct Folder {
    folder: tempfile::TempDir,
    tensors: Vec<Tensor>,
}

impl Folder {
    fn new(config: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        write_model(folder.path(), config, 3);
        let checkpoint = Checkpoint::open(folder.path()).expect("it opens");
        let tensors = checkpoint
            .names()
            .map(|name| {
                let tensor = checkpoint.tensor(name).expect("it is there");
                Tensor {
                    name: name.to_owned(),
                    dtype: tensor.dtype,
                    shape: tensor.shape.to_vec(),
                    data: tensor.data.to_vec(),
                }
            })
            .collect();
        drop(checkpoint);
        Self { folder, tensors }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn tensor(&mut self, name: &str) -> &mut Tensor {
        let found = self.tensors.iter_mut().find(|tensor| tensor.name == name);
        found.expect("the tensor is there")
    }

    fn copy(&mut self, from: &str, to: &str) {
        let copy = Tensor {
            name: to.to_owned(),
            ..self.tensor(from).clone()
        };
        self.tensors.push(copy);
    }

    fn write(&self, max_shard_bytes: u64) {
        let list: Vec<TensorToWrite<'_>> = self
            .tensors
            .iter()
            .map(|tensor| TensorToWrite {
                name: &tensor.name,
                dtype: tensor.dtype,
                shape: &tensor.shape,
                data: &tensor.data,
            })
            .collect();
        write_checkpoint(self.path(), &list, max_shard_bytes).expect("it is written");
    }

    fn logits(&self) -> Result<Vec<u32>, EngineError> {
        let pool = compute(1, Tier::Portable);
        let model = Model::load(self.path(), &pool)?;
        let logits = model.logits(&pool, &[1, 5, 2, 20, 7], &[0, 3, 5])?;
        assert!(logits.iter().all(|logit| logit.is_finite()));
        Ok(bits(&logits))
    }

    fn refusal(&self) -> EngineError {
        self.write(u64::MAX);
        self.logits().expect_err("refused")
    }
}

#[test]
fn shards_hold_the_same_model_as_one_file() {
    for config in [QWEN3, QWEN2, LLAMA, EXPERTS] {
        let folder = Folder::new(config);
        let whole = folder.logits().expect("it loads");
        folder.write(4_000);
        let index: PathBuf = folder.path().join("model.safetensors.index.json");
        assert!(index.exists() && !folder.path().join("model.safetensors").exists());
        assert_eq!(folder.logits().expect("the shards load"), whole);
    }
}

#[test]
fn bfloat16_is_read_as_the_f32_of_the_same_value() {
    let mut folder = Folder::new(QWEN2);
    for tensor in &mut folder.tensors {
        // The upper half of each value, then the same value as an f32.
        tensor.data = tensor
            .data
            .as_chunks::<4>()
            .0
            .iter()
            .flat_map(|b| [0, 0, b[2], b[3]])
            .collect();
    }
    folder.write(u64::MAX);
    let wide = folder.logits().expect("it loads");
    for tensor in &mut folder.tensors {
        tensor.dtype = Dtype::BF16;
        tensor.data = tensor
            .data
            .as_chunks::<4>()
            .0
            .iter()
            .flat_map(|b| [b[2], b[3]])
            .collect();
    }
    folder.write(u64::MAX);
    assert_eq!(folder.logits().expect("it loads"), wide);
}

#[test]
fn float16_is_read_as_the_f32_of_the_same_value() {
    let mut folder = Folder::new(QWEN2);
    let mut bits = Vec::new();
    for tensor in &mut folder.tensors {
        // Whole multiples of 2^-10 below 2: a float16 holds each, with the exponent and the upper bits of its fraction.
        let halves: Vec<u16> = (0..tensor.data.len() / 4)
            .map(|index| {
                let sign = u16::try_from(index % 2).unwrap() << 15;
                sign | (0x3000 + u16::try_from(index * 37 % 0x0c00).unwrap())
            })
            .collect();
        tensor.data = halves
            .iter()
            .flat_map(|half| {
                let wide = (u32::from(half & 0x8000) << 16) | ((u32::from(half & 0x7fff) << 13) + (112 << 23));
                wide.to_le_bytes()
            })
            .collect();
        bits.push(halves);
    }
    folder.write(u64::MAX);
    let wide = folder.logits().expect("it loads");
    for (tensor, halves) in folder.tensors.iter_mut().zip(bits) {
        tensor.dtype = Dtype::F16;
        tensor.data = halves.iter().flat_map(|half| half.to_le_bytes()).collect();
    }
    folder.write(u64::MAX);
    assert_eq!(folder.logits().expect("it loads"), wide);
}

#[test]
fn a_tied_head_may_be_stored_once_under_either_name_or_twice_alike_but_not_twice_with_other_values() {
    let mut folder = Folder::new(QWEN3);
    let once = folder.logits().expect("it loads");
    folder.copy(EMBEDDING, HEAD);
    folder.write(u64::MAX);
    assert_eq!(folder.logits().expect("it loads"), once);
    folder.tensors.retain(|tensor| tensor.name != EMBEDDING);
    folder.write(u64::MAX);
    assert_eq!(folder.logits().expect("it loads"), once);
    folder.copy(HEAD, EMBEDDING);
    folder.tensor(HEAD).data[5] ^= 1;
    let error = folder.refusal();
    assert_eq!(error.code(), "PRL_ENGINE_WEIGHTS");
    assert!(error.to_string().contains(HEAD) && error.to_string().contains("tie_word_embeddings"));
}

#[test]
fn tensors_that_do_not_fit_the_config_are_named() {
    let mut folder = Folder::new(LLAMA);
    folder.copy("model.norm.weight", "model.layers.0.self_attn.q_norm.weight");
    let error = folder.refusal();
    assert_eq!(error.code(), "PRL_ENGINE_WEIGHTS");
    assert!(
        error.to_string().contains("model.layers.0.self_attn.q_norm.weight"),
        "{error}"
    );

    let mut folder = Folder::new(LLAMA);
    folder.copy("model.norm.weight", "model.layers.0.self_attn.rotary_emb.inv_freq");
    folder.write(u64::MAX);
    folder.logits().expect("a stored buffer changes nothing");

    let name = "model.layers.1.mlp.up_proj.weight";
    let mut folder = Folder::new(LLAMA);
    folder.tensors.retain(|tensor| tensor.name != name);
    assert!(folder.refusal().to_string().contains(name));

    let mut folder = Folder::new(LLAMA);
    folder.tensor(name).shape.reverse();
    let error = folder.refusal();
    assert_eq!(error.code(), "PRL_ENGINE_WEIGHTS");
    assert!(
        error.to_string().contains(name) && error.to_string().contains("[16, 36]"),
        "{error}"
    );

    let mut folder = Folder::new(LLAMA);
    let tensor = folder.tensor(name);
    tensor.dtype = Dtype::I32;
    let error = folder.refusal();
    assert!(
        error.to_string().contains(name) && error.to_string().contains("I32"),
        "{error}"
    );
}

#[test]
fn a_config_that_asks_for_more_than_the_files_hold_takes_no_memory() {
    let folder = Folder::new(LLAMA);
    // 2^35 parameters: 128 GiB.
    let config = LLAMA.replace(r#""vocab_size": 41"#, r#""vocab_size": 1073741824"#);
    std::fs::write(folder.path().join("config.json"), config).expect("it is written");
    let error = folder.logits().expect_err("refused");
    assert_eq!(error.code(), "PRL_ENGINE_WEIGHTS", "{error}");
}

#[test]
fn a_config_without_a_model_type_is_saved_with_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = LLAMA.replace(r#""model_type": "llama","#, "");
    write_model(folder.path(), &config, 1);
    let saved = std::fs::read_to_string(folder.path().join("config.json")).expect("it is there");
    let saved: serde_json::Value = serde_json::from_str(&saved).expect("it parses");
    assert_eq!(saved["model_type"], "llama");
    assert_eq!(saved["dtype"], "float32");
}

const COMPANIONS: [&str; 3] = ["tokenizer.json", "chat_template.jinja", "generation_config.json"];

fn with_companions(config: &str) -> Folder {
    let folder = Folder::new(config);
    for name in COMPANIONS {
        std::fs::write(folder.path().join(name), format!("{{\"of\": \"{name}\"}}")).expect("it is written");
    }
    folder
}

/// Written by the reference implementation of the format, not by this workspace's.
fn tensors_by_reference(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let bytes = std::fs::read(dir.join("model.safetensors")).expect("there are weights");
    let read = safetensors::SafeTensors::deserialize(&bytes).expect("they are sound");
    let mut tensors: Vec<_> = read
        .tensors()
        .into_iter()
        .map(|(name, view)| (name, view.data().to_vec()))
        .collect();
    tensors.sort();
    tensors
}

#[test]
fn a_chain_of_saves_and_openings_keeps_every_companion_though_each_link_is_removed() {
    for config in [QWEN3, LLAMA, EXPERTS] {
        let base = with_companions(config);
        let weights = tensors_by_reference(base.path());
        let pool = compute(1, Tier::Portable);
        let root = tempfile::tempdir().expect("a folder");
        let mut opened = base.path().to_path_buf();
        for link in 0..4 {
            let options = TrainerOptions {
                companions: Some(base.path().to_path_buf()),
                ..TrainerOptions::default()
            };
            let trainer = Trainer::open(&opened, &pool, options).expect("it opens");
            if link > 0 {
                // A run removes a checkpoint in this way when there is a newer one.
                std::fs::remove_dir_all(&opened).expect("it goes");
            }
            opened = root.path().join(format!("link-{link}"));
            trainer.save(&opened).expect("it is saved");
            for name in COMPANIONS {
                let [saved, given] =
                    [&opened, base.path()].map(|dir| std::fs::read(dir.join(name)).expect("it is there"));
                assert_eq!(saved, given, "{name} of link {link}");
            }
            assert_eq!(tensors_by_reference(&opened), weights);
        }
    }
}

#[test]
fn companions_are_those_of_the_opening_even_when_the_folder_goes() {
    let folder = with_companions(QWEN2);
    let pool = compute(1, Tier::Portable);
    let trainer = Trainer::open(folder.path(), &pool, TrainerOptions::default()).expect("it opens");
    drop(folder);
    let out = tempfile::tempdir().expect("a folder");
    trainer.save(out.path()).expect("it is saved");
    for name in COMPANIONS {
        assert!(out.path().join(name).exists(), "{name}");
    }
}

#[test]
fn a_model_without_a_tokenizer_cannot_give_its_companions() {
    let (with, without) = (with_companions(QWEN3), Folder::new(QWEN3));
    let options = TrainerOptions {
        companions: Some(without.path().to_path_buf()),
        ..TrainerOptions::default()
    };
    let refused = Trainer::open(with.path(), &compute(1, Tier::Portable), options)
        .err()
        .expect("refused");
    assert_eq!(refused.code(), "PRL_WEIGHTS_IO");
    assert!(refused.to_string().contains("tokenizer.json"), "{refused}");
}

#[test]
fn a_model_with_named_chat_templates_is_refused_because_it_could_not_be_saved_whole() {
    let folder = with_companions(QWEN3);
    let templates = folder.path().join("chat_templates");
    std::fs::create_dir(&templates).expect("a folder");
    std::fs::write(templates.join("tool_use.jinja"), "{{ messages }}").expect("it is written");
    let refused = Trainer::open(folder.path(), &compute(1, Tier::Portable), TrainerOptions::default())
        .err()
        .expect("refused");
    assert_eq!(refused.code(), "PRL_ENGINE_CONFIG_UNSUPPORTED");
    assert!(refused.to_string().contains("chat_templates"), "{refused}");
}
