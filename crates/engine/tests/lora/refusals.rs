//! Adapters and options that the engine refuses, and the names that it gives them.

use crate::adapters::{lora, options};
use crate::support::{CONFIGS, compute, write_model};
use prl_engine::{Adapter, EngineError, LoraConfig, LoraTarget, Model, Tier, Trainer};
use prl_weights::{TensorToWrite, WriteOptions, write_safetensors};
use serde_json::{Value, json};
use std::path::Path;

#[test]
fn adapters_that_the_engine_cannot_compute_are_refused_by_name() {
    let (_, config) = CONFIGS[0];
    let [folder, saved] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    write_model(folder.path(), config, 5);
    let pool = compute(1, Tier::Portable);
    let trainer = Trainer::open(folder.path(), &pool, options(lora())).expect("the trainer opens");
    trainer.save(saved.path()).expect("the adapter is written");
    let path = saved.path().join("adapter_config.json");
    let text = std::fs::read_to_string(&path).expect("it is there");
    let model = Model::load(folder.path(), &pool).expect("the model loads");
    let open = |change: &[(&str, Value)]| {
        let mut config: Value = serde_json::from_str(&text).expect("it parses");
        for (key, value) in change {
            config[key] = value.clone();
        }
        std::fs::write(&path, config.to_string()).expect("it is written");
        Adapter::open(saved.path(), model.config(), &pool)
            .map(drop)
            .map_err(|error| (error.code(), error.to_string()))
    };
    open(&[]).expect("the adapter is sound");
    open(&[
        ("use_dora", json!(false)),
        ("alpha_pattern", json!({})),
        ("modules_to_save", Value::Null),
    ])
    .expect("all are off");
    for (key, value) in [
        ("use_dora", json!(true)),
        ("modules_to_save", json!(["lm_head"])),
        ("alpha_pattern", json!({"q_proj": 3})),
        ("bias", json!("all")),
        ("fan_in_fan_out", json!(true)),
        ("layers_to_transform", json!([0])),
        ("peft_type", json!("LOHA")),
    ] {
        let (code, message) = open(&[(key, value)]).expect_err(key);
        assert_eq!(code, "PRL_ENGINE_CONFIG_UNSUPPORTED", "{message}");
        assert!(
            message.contains(key) && message.contains("adapter_config.json"),
            "{message}"
        );
    }
    let (code, message) = open(&[("r", json!(4))]).expect_err("the rank is another");
    assert_eq!(code, "PRL_ENGINE_WEIGHTS");
    assert!(
        message.contains("lora_A.weight") && message.contains("shape"),
        "{message}"
    );
    assert_eq!(
        open(&[("r", json!("4"))]).expect_err("the rank is a text").0,
        "PRL_ENGINE_CONFIG"
    );
    assert_eq!(
        open(&[("r", json!(0))]).expect_err("the rank is 0").0,
        "PRL_ENGINE_INPUT"
    );
    open(&[]).expect("the adapter is sound");

    let other = tempfile::tempdir().expect("a folder");
    write_model(other.path(), CONFIGS[2].1, 5);
    let other = Model::load(other.path(), &pool).expect("the model loads");
    let error = Adapter::open(saved.path(), other.config(), &pool).expect_err("the model is another");
    assert_eq!(error.code(), "PRL_ENGINE_WEIGHTS", "{error}");
}

/// Tensors in the form in which they are written: name, shape, bytes.
type Tensors = Vec<(String, Vec<usize>, Vec<u8>)>;

/// Writes the adapter of a model of `config` into `dir`, with the tensors and keys of its config that `change` makes of them.
fn changed_adapter(dir: &Path, config: &str, change: impl Fn(&mut Tensors, &mut Value)) {
    let folder = tempfile::tempdir().expect("a folder");
    write_model(folder.path(), config, 5);
    let pool = compute(1, Tier::Portable);
    let trainer = Trainer::open(folder.path(), &pool, options(lora())).expect("the trainer opens");
    trainer.save(dir).expect("the adapter is written");
    let weights = prl_weights::Adapter::open(dir).expect("the adapter opens");
    let mut tensors: Tensors = Vec::new();
    for name in weights.weights().names() {
        let tensor = weights.weights().tensor(name).expect("the tensor is there");
        tensors.push((name.to_owned(), tensor.shape.to_vec(), tensor.data.to_vec()));
    }
    let path = dir.join("adapter_config.json");
    let mut keys: Value = serde_json::from_slice(weights.config()).expect("it parses");
    change(&mut tensors, &mut keys);
    let written: Vec<TensorToWrite<'_>> = tensors
        .iter()
        .map(|(name, shape, data)| TensorToWrite {
            name,
            dtype: prl_weights::Dtype::F32,
            shape,
            data,
        })
        .collect();
    drop(weights);
    write_safetensors(
        &dir.join("adapter_model.safetensors"),
        &written,
        &[],
        WriteOptions::default(),
    )
    .expect("it is written");
    std::fs::write(&path, keys.to_string()).expect("it is written");
}

fn without_target(keys: &mut Value, target: &str) {
    if let Some(targets) = keys["target_modules"].as_array_mut() {
        targets.retain(|found| found != target);
    }
}

type Change<'a> = &'a dyn Fn(&mut Tensors, &mut Value);
/// A name, the config of the adapter's base, the change of the adapter, and parts of the refusal.
type Case<'a> = (&'a str, &'a str, Change<'a>, &'a [&'a str]);

/// Opens adapters of other bases, changed, beside the model of the first config.
fn opened(config: &str, change: Change<'_>) -> Result<(), String> {
    let [folder, dir] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    write_model(folder.path(), CONFIGS[0].1, 5);
    let pool = compute(1, Tier::Portable);
    let model = Model::load(folder.path(), &pool).expect("the model loads");
    changed_adapter(dir.path(), config, change);
    Adapter::open(dir.path(), model.config(), &pool)
        .map(drop)
        .map_err(|error| format!("{} {error}", error.code()))
}

fn assert_refused(cases: &[Case<'_>]) {
    for (case, config, change, parts) in cases {
        let message = opened(config, change).expect_err(case);
        for part in *parts {
            assert!(message.contains(part), "{case}: {part:?} is not in {message}");
        }
    }
}

#[test]
fn adapters_of_another_base_are_refused_by_the_tensors_that_do_not_fit() {
    let config = CONFIGS[0].1;
    let of = |key: &str| {
        serde_json::from_str::<Value>(config).expect("it parses")[key]
            .as_u64()
            .expect("a number")
    };
    let (layers, hidden) = (of("num_hidden_layers"), of("hidden_size"));
    let deeper = config.replace(
        &format!("\"num_hidden_layers\": {layers}"),
        &format!("\"num_hidden_layers\": {}", layers + 1),
    );
    let wider = config.replace(
        &format!("\"hidden_size\": {hidden}"),
        &format!("\"hidden_size\": {}", 2 * hidden),
    );
    assert!(deeper != config && wider != config, "{config}");
    let unchanged = |_: &mut Tensors, _: &mut Value| {};
    assert_refused(&[
        (
            "a deeper base",
            &deeper,
            &unchanged,
            &["PRL_ENGINE_WEIGHTS", &format!("layers.{layers}."), "no place"],
        ),
        (
            "a wider base",
            &wider,
            &unchanged,
            &["PRL_ENGINE_WEIGHTS", "lora_A.weight", "this model asks for", "made for"],
        ),
        (
            "another rank",
            config,
            &|_, keys| keys["r"] = json!(5),
            &["PRL_ENGINE_WEIGHTS", "r = 5", "lora_A.weight", "[3, "],
        ),
    ]);
}

#[test]
fn modules_that_are_missing_or_not_of_the_model_are_refused_by_their_names() {
    let config = CONFIGS[0].1;
    opened(config, &|_, _| {}).expect("the adapter is sound");
    opened(config, &|_, keys| keys["target_modules"] = json!(".*_proj")).expect("a pattern is not evaluated");
    opened(config, &|tensors, keys| {
        tensors.retain(|(name, ..)| !name.contains("k_proj"));
        without_target(keys, "k_proj");
    })
    .expect("a module may be left out");
    let unknown = |tensors: &mut Tensors, keys: &mut Value| {
        for (name, ..) in tensors {
            *name = name.replace("down_proj", "experts_proj");
        }
        without_target(keys, "down_proj");
    };
    assert_refused(&[
        (
            "a tensor is missing",
            config,
            &|tensors, _| tensors.retain(|(name, ..)| !name.ends_with("layers.1.self_attn.v_proj.lora_B.weight")),
            &[
                "PRL_ENGINE_WEIGHTS",
                "layers.1.self_attn.v_proj.lora_B.weight is missing",
            ],
        ),
        (
            "a module is missing",
            config,
            &|tensors, _| tensors.retain(|(name, ..)| !name.contains("k_proj")),
            &[
                "PRL_ENGINE_WEIGHTS",
                "adapter_config.json",
                "target_modules has \"k_proj\"",
            ],
        ),
        (
            "an unknown module",
            config,
            &unknown,
            &[
                "PRL_ENGINE_CONFIG_UNSUPPORTED",
                "experts_proj",
                "the engine adapts q_proj",
            ],
        ),
        (
            "a module of another model",
            config,
            &|_, keys| keys["target_modules"] = json!(["q_proj", "c_attn"]),
            &["PRL_ENGINE_WEIGHTS", "target_modules has \"c_attn\""],
        ),
    ]);
}

#[test]
fn an_adapter_that_names_another_model_of_the_hub_is_refused() {
    let root = tempfile::tempdir().expect("a folder");
    let folder = root.path().join("models--Owner--Small-1B/snapshots/0a1b");
    std::fs::create_dir_all(&folder).expect("the folder is made");
    write_model(&folder, CONFIGS[0].1, 5);
    let pool = compute(1, Tier::Portable);
    let model = Model::load(&folder, &pool).expect("the model loads");
    let dir = tempfile::tempdir().expect("a folder");
    for (base, is_taken) in [
        (json!("Owner/Small-1B"), true),
        (json!("mirror/small-1b"), true),
        (json!(folder), true),
        (json!("/somewhere/else"), true),
        (Value::Null, true),
        (json!("Owner/Small-1B-Base"), false),
        (json!("/cache/models--Owner--Large-8B/snapshots/2c3d"), false),
    ] {
        changed_adapter(dir.path(), CONFIGS[0].1, |_, keys| {
            keys["base_model_name_or_path"] = base.clone()
        });
        let opened = Adapter::open(dir.path(), model.config(), &pool);
        assert_eq!(opened.is_ok(), is_taken, "{base}");
        if let Err(error) = opened {
            let message = error.to_string();
            assert!(
                error.code() == "PRL_ENGINE_WEIGHTS" && message.contains("Owner/Small-1B\""),
                "{message}"
            );
            assert!(message.contains("base_model_name_or_path"), "{message}");
        }
    }
    let plain = tempfile::tempdir().expect("a folder");
    write_model(plain.path(), CONFIGS[0].1, 5);
    let plain = Model::load(plain.path(), &pool).expect("the model loads");
    Adapter::open(dir.path(), plain.config(), &pool).expect("a folder of any name may have the model's weights");
}

#[test]
fn options_that_give_no_adapter_are_refused_before_training() {
    let folders = [CONFIGS[0].1, CONFIGS[8].1].map(|config| {
        let folder = tempfile::tempdir().expect("a folder");
        write_model(folder.path(), config, 5);
        folder
    });
    let pool = compute(1, Tier::Portable);
    let open = |at: usize, config: LoraConfig| match Trainer::open(folders[at].path(), &pool, options(config)) {
        Ok(_) => panic!("the trainer opened"),
        Err(error) => error,
    };
    let plain = || lora();
    for (config, part) in [
        (LoraConfig { rank: 0, ..plain() }, "rank is 0"),
        (
            LoraConfig {
                rank: 1 << 40,
                ..plain()
            },
            "rank is",
        ),
        (LoraConfig { alpha: -1.0, ..plain() }, "alpha is -1"),
        (
            LoraConfig {
                alpha: f64::NAN,
                ..plain()
            },
            "alpha is NaN",
        ),
        (
            LoraConfig {
                dropout: 1.0,
                ..plain()
            },
            "dropout is 1",
        ),
    ] {
        let error = open(0, config);
        assert!(
            matches!(error, EngineError::Input(_)) && error.to_string().contains(part),
            "{error}"
        );
    }
    let all = LoraConfig {
        targets: LoraTarget::ALL.to_vec(),
        ..plain()
    };
    let error = open(1, all);
    assert!(matches!(error, EngineError::ConfigUnsupported(_)), "{error}");
    assert!(error.to_string().contains("gate_proj"), "{error}");
}

#[test]
fn an_adapter_to_continue_with_must_have_the_options() {
    let (_, config) = CONFIGS[0];
    let [folder, saved] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    write_model(folder.path(), config, 5);
    let pool = compute(1, Tier::Portable);
    Trainer::open(folder.path(), &pool, options(lora()))
        .expect("it opens")
        .save(saved.path())
        .expect("it is written");
    let mut other = options(LoraConfig { alpha: 8.0, ..lora() });
    if let Some(lora) = &mut other.lora {
        lora.from = Some(saved.path().into());
    }
    let error = Trainer::open(folder.path(), &pool, other)
        .map(drop)
        .expect_err("alpha is another");
    assert!(
        error.to_string().contains("alpha 7") && error.to_string().contains("alpha 8"),
        "{error}"
    );
}
