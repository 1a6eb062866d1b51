//! Adapters and options that the engine refuses, and the names that it gives them.

use crate::adapters::{lora, options};
use crate::support::{CONFIGS, compute, write_model};
use prl_engine::{Adapter, EngineError, LoraConfig, LoraTarget, Model, Tier, Trainer};
use serde_json::{Value, json};

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
