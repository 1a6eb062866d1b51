use super::*;
use serde_json::json;

fn base(architecture: Architecture) -> Value {
    json!({
        "architectures": [architecture.class_name()], "model_type": architecture.model_type(), "vocab_size": 100,
        "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
    })
}

fn with(architecture: Architecture, key: &str, value: Value) -> Result<ModelConfig, EngineError> {
    let mut config = base(architecture);
    config[key] = value;
    ModelConfig::from_json(&config.to_string())
}

#[test]
fn defaults_are_those_of_the_architecture_s_class_in_transformers() {
    let llama = ModelConfig::from_json(&base(Architecture::Llama).to_string()).expect("it parses");
    assert_eq!(
        (llama.head_dim, llama.rope_theta, llama.max_position_embeddings),
        (16, 10_000.0, 2048)
    );
    assert!(!llama.tie_word_embeddings && !llama.qkv_bias() && !llama.qk_norm());
    let qwen2 = ModelConfig::from_json(&base(Architecture::Qwen2).to_string()).expect("it parses");
    assert!(qwen2.qkv_bias() && !qwen2.qk_norm());
    let qwen3 = ModelConfig::from_json(&base(Architecture::Qwen3).to_string()).expect("it parses");
    let mistral = ModelConfig::from_json(&base(Architecture::Mistral).to_string()).expect("it parses");
    assert_eq!((mistral.head_dim, mistral.max_position_embeddings), (16, 131_072));
    assert_eq!(mistral.sliding_windows, [Some(4096); 2]);
    assert!(!mistral.qkv_bias() && !mistral.qk_norm());
    assert_eq!((qwen3.head_dim, qwen3.max_position_embeddings), (128, 32768));
    assert!(!qwen3.qkv_bias() && qwen3.qk_norm());
}

#[test]
fn keys_that_change_the_mathematics_are_named_with_their_value() {
    let cases = [
        ("hidden_act", json!("gelu")),
        ("use_sliding_window", json!(true)),
        ("sliding_window", json!(4096)),
        ("layer_types", json!(["full_attention", "sliding_attention"])),
        ("partial_rotary_factor", json!(0.5)),
        ("logits_scaling", json!(8)),
        ("logit_scale", json!(0.0625)),
        ("residual_multiplier", json!(0.22)),
        ("attention_dropout", json!(0.1)),
        ("quantization_config", json!({"quant_method": "fp8"})),
        ("final_logit_softcapping", json!(30.0)),
        ("num_experts", json!(8)),
    ];
    for (key, value) in cases {
        let error = with(Architecture::Llama, key, value.clone()).expect_err(key);
        assert_eq!(error.code(), "PRL_ENGINE_CONFIG_UNSUPPORTED", "{key}");
        let message = error.to_string();
        assert!(
            message.contains(key) && message.contains(&value.to_string()),
            "{message}"
        );
    }
}

#[test]
fn the_neutral_values_of_such_keys_are_taken() {
    for (key, value) in [
        ("hidden_act", json!("silu")),
        ("attention_bias", json!(false)),
        ("use_sliding_window", json!(false)),
        ("sliding_window", json!(null)),
        ("layer_types", json!(["full_attention", "full_attention"])),
        ("logits_scaling", json!(1.0)),
        ("attention_dropout", json!(0.0)),
        ("rope_scaling", json!(null)),
        ("rope_scaling", json!({"rope_type": "default"})),
        ("quantization_config", json!(null)),
        ("some_tool_s_note", json!("x")),
    ] {
        with(Architecture::Llama, key, value).expect(key);
    }
    // Qwen2 names a window that it does not use.
    with(Architecture::Qwen2, "sliding_window", json!(4096)).expect("the window is off by default");
}

#[test]
fn rotary_parameters_are_read_from_either_place() {
    let old = with(Architecture::Llama, "rope_theta", json!(5e5)).expect("it parses");
    assert_eq!((old.rope_theta, old.rope_scaling), (5e5, RopeScaling::None));
    let new = with(
        Architecture::Llama,
        "rope_parameters",
        json!({"rope_type": "default", "rope_theta": 1e6}),
    );
    assert_eq!(new.expect("it parses").rope_theta, 1e6);
    let linear = with(
        Architecture::Llama,
        "rope_scaling",
        json!({"type": "linear", "factor": 4.0}),
    )
    .expect("it parses");
    assert_eq!(linear.rope_scaling, RopeScaling::Linear { factor: 4.0 });
    let scaled = json!({"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192});
    let llama3 = with(Architecture::Llama, "rope_scaling", scaled).expect("it parses");
    assert!(matches!(
        llama3.rope_scaling,
        RopeScaling::Llama3(Llama3 { factor: 8.0, .. })
    ));
    for (block, code) in [
        (
            json!({"rope_type": "longrope", "factor": 4.0}),
            "PRL_ENGINE_CONFIG_UNSUPPORTED",
        ),
        (json!({"rope_type": "yarn"}), "PRL_ENGINE_CONFIG"),
        (
            json!({"rope_type": "yarn", "factor": 4.0, "truncate": 1}),
            "PRL_ENGINE_CONFIG",
        ),
        (
            json!({"rope_type": "yarn", "factor": 4.0, "mscale": -9.0, "mscale_all_dim": 1.0}),
            "PRL_ENGINE_CONFIG",
        ),
        (json!({"rope_type": "dynamic"}), "PRL_ENGINE_CONFIG"),
        (json!({"rope_type": "linear"}), "PRL_ENGINE_CONFIG"),
        (json!({"rope_type": "llama3", "factor": 8.0}), "PRL_ENGINE_CONFIG"),
        (
            json!({"rope_type": "default", "partial_rotary_factor": 0.25}),
            "PRL_ENGINE_CONFIG_UNSUPPORTED",
        ),
        (json!("linear"), "PRL_ENGINE_CONFIG"),
    ] {
        let error = with(Architecture::Llama, "rope_parameters", block).expect_err("refused");
        assert_eq!(error.code(), code, "{error}");
        assert!(error.to_string().contains("rope_parameters"), "{error}");
    }
}

#[test]
fn other_architectures_are_named() {
    let error = with(Architecture::Qwen3, "model_type", json!("mixtral")).expect_err("refused");
    assert_eq!(error.code(), "PRL_ENGINE_ARCHITECTURE_UNSUPPORTED");
    assert!(error.to_string().contains("mixtral"), "{error}");
    let error = with(Architecture::Qwen3, "architectures", json!(["Gemma2ForCausalLM"])).expect_err("refused");
    assert!(error.to_string().contains("Gemma2ForCausalLM"), "{error}");
    let error = with(Architecture::Qwen3, "model_type", json!("llama")).expect_err("refused");
    assert_eq!(error.code(), "PRL_ENGINE_ARCHITECTURE_UNSUPPORTED");
    let error = ModelConfig::from_json("{}").expect_err("refused");
    assert_eq!(error.code(), "PRL_ENGINE_ARCHITECTURE_UNSUPPORTED");
}

#[test]
fn shapes_that_make_no_model_are_refused() {
    for (key, value) in [
        ("hidden_size", json!(0)),
        ("hidden_size", json!(-4)),
        ("hidden_size", json!(66)),
        ("vocab_size", json!("many")),
        ("num_key_value_heads", json!(3)),
        ("head_dim", json!(15)),
        ("num_hidden_layers", json!(4_000_000_000u64)),
        ("intermediate_size", json!(2_000_000_000)),
        ("rms_norm_eps", json!(0.0)),
        ("tie_word_embeddings", json!("yes")),
        ("eos_token_id", json!([1, -2])),
    ] {
        let error = with(Architecture::Llama, key, value).expect_err(key);
        assert_eq!(error.code(), "PRL_ENGINE_CONFIG", "{error}");
    }
    let mut config = base(Architecture::Llama);
    config.as_object_mut().expect("an object").remove("vocab_size");
    let error = ModelConfig::from_json(&config.to_string()).expect_err("refused");
    assert!(error.to_string().contains("vocab_size"), "{error}");
    assert_eq!(
        ModelConfig::from_json("[1]").expect_err("refused").code(),
        "PRL_ENGINE_CONFIG"
    );
    assert_eq!(
        ModelConfig::from_json("{").expect_err("refused").code(),
        "PRL_ENGINE_CONFIG"
    );
}

#[test]
fn generation_config_names_the_end_of_sequence() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = base(Architecture::Qwen3);
    config["eos_token_id"] = json!(7);
    std::fs::write(folder.path().join("config.json"), config.to_string()).expect("it is written");
    assert_eq!(
        ModelConfig::from_dir(folder.path()).expect("it parses").eos_token_ids,
        [7]
    );
    std::fs::write(
        folder.path().join("generation_config.json"),
        r#"{"eos_token_id": [3, 4]}"#,
    )
    .expect("it is written");
    assert_eq!(
        ModelConfig::from_dir(folder.path()).expect("it parses").eos_token_ids,
        [3, 4]
    );
}

#[test]
fn the_written_config_says_float32_and_keeps_the_rest() {
    let mut config = base(Architecture::Qwen3);
    config["torch_dtype"] = json!("bfloat16");
    config["a_note"] = json!({"kept": true});
    let written = ModelConfig::from_json(&config.to_string())
        .expect("it parses")
        .to_json();
    let written: Value = serde_json::from_str(&written).expect("it parses");
    config["torch_dtype"] = json!("float32");
    assert_eq!(written, config);
}

#[test]
fn rotary_parameters_per_kind_of_layer_are_refused() {
    let block = json!({"full_attention": {"rope_type": "default", "rope_theta": 1e6}});
    let error = with(Architecture::Qwen3, "rope_parameters", block).expect_err("refused");
    assert!(error.to_string().contains("rope_parameters.full_attention"), "{error}");
}

#[test]
fn null_key_value_heads_are_one_per_query_head_and_more_layers_than_memory_holds_are_refused() {
    let config = with(Architecture::Qwen3, "num_key_value_heads", Value::Null).expect("it parses");
    assert_eq!(config.num_kv_heads, 4);
    // A mixture of experts has a list with an element for each layer.
    for architecture in [Architecture::Llama, Architecture::Qwen3Moe] {
        let error = with(architecture, "num_hidden_layers", json!(2_000_000_000)).expect_err("refused");
        assert!(error.to_string().contains("num_hidden_layers"), "{error}");
    }
}

#[test]
fn an_original_context_beside_another_in_the_block_is_refused() {
    let mut config = base(Architecture::Qwen2);
    config["rope_scaling"] = json!({"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096});
    ModelConfig::from_json(&config.to_string()).expect("it parses");
    config["original_max_position_embeddings"] = json!(2048);
    let error = ModelConfig::from_json(&config.to_string()).expect_err("refused");
    assert_eq!(error.code(), "PRL_ENGINE_CONFIG_UNSUPPORTED");
    assert!(
        error.to_string().contains("original_max_position_embeddings = 2048"),
        "{error}"
    );
}

#[test]
fn dynamic_scaling_ends_with_the_positions_of_the_model() {
    let config = with(
        Architecture::Llama,
        "rope_scaling",
        json!({"type": "dynamic", "factor": 4.0}),
    )
    .expect("it parses");
    let plain = ModelConfig::from_json(&base(Architecture::Llama).to_string()).expect("it parses");
    assert_eq!(config.inverse_frequencies(), plain.inverse_frequencies());
    config.check_length(2048).expect("the frequencies are the plain ones");
    plain
        .check_length(5000)
        .expect("plain frequencies do not depend on the length");
    let error = config.check_length(2049).expect_err("refused");
    assert_eq!(error.code(), "PRL_ENGINE_INPUT");
    assert!(error.to_string().contains("max_position_embeddings = 2048"), "{error}");
}

fn windows(architecture: Architecture, keys: &Value) -> Result<Vec<Option<usize>>, EngineError> {
    let mut config = base(architecture);
    let all = config.as_object_mut().expect("an object");
    all.extend(keys.as_object().expect("an object").clone());
    ModelConfig::from_json(&config.to_string()).map(|config| config.sliding_windows)
}

const FULL: &str = "full_attention";
const SLIDES: &str = "sliding_attention";

#[test]
fn windows_are_those_of_the_architecture_s_class_in_transformers() {
    use Architecture::{Llama, Mistral, Qwen2, Qwen3, Qwen3Moe};
    for (architecture, keys, expected) in [
        (
            Llama,
            json!({"use_sliding_window": false, "sliding_window": 64}),
            [None; 2],
        ),
        (Mistral, json!({"sliding_window": 8}), [Some(8); 2]),
        (Mistral, json!({"sliding_window": null}), [None; 2]),
        (
            Mistral,
            json!({"sliding_window": 8, "layer_types": [SLIDES, SLIDES]}),
            [Some(8); 2],
        ),
        (Qwen2, json!({"sliding_window": 8}), [None; 2]),
        (
            Qwen2,
            json!({"sliding_window": 8, "use_sliding_window": true}),
            [None; 2],
        ),
        (
            Qwen2,
            json!({"sliding_window": 8, "use_sliding_window": true, "max_window_layers": 1}),
            [None, Some(8)],
        ),
        (
            Qwen3,
            json!({"use_sliding_window": true, "max_window_layers": 0}),
            [Some(4096); 2],
        ),
        (
            Qwen3,
            json!({"use_sliding_window": true, "sliding_window": null, "max_window_layers": 0}),
            [None; 2],
        ),
        (
            Qwen3,
            json!({"use_sliding_window": true, "sliding_window": 5, "layer_types": [SLIDES, FULL]}),
            [Some(5), None],
        ),
    ] {
        assert_eq!(windows(architecture, &keys).expect("it parses"), expected, "{keys}");
    }
    let moe = json!({"use_sliding_window": true, "sliding_window": 5, "max_window_layers": 1});
    assert_eq!(windows(Qwen3Moe, &moe).expect("it parses"), [Some(5); 2]);
}

#[test]
fn windows_that_the_class_would_not_compute_are_refused() {
    use Architecture::{Mistral, Qwen3};
    for (architecture, keys, code) in [
        (
            Mistral,
            json!({"layer_types": [SLIDES, FULL]}),
            "PRL_ENGINE_CONFIG_UNSUPPORTED",
        ),
        (
            Mistral,
            json!({"use_sliding_window": false}),
            "PRL_ENGINE_CONFIG_UNSUPPORTED",
        ),
        (Mistral, json!({"sliding_window": 0}), "PRL_ENGINE_CONFIG"),
        (
            Qwen3,
            json!({"layer_types": [SLIDES, FULL]}),
            "PRL_ENGINE_CONFIG_UNSUPPORTED",
        ),
        (
            Qwen3,
            json!({"layer_types": ["chunked_attention", FULL]}),
            "PRL_ENGINE_CONFIG_UNSUPPORTED",
        ),
        (Qwen3, json!({"layer_types": [FULL]}), "PRL_ENGINE_CONFIG"),
        (
            Qwen3,
            json!({"use_sliding_window": true, "max_window_layers": -1}),
            "PRL_ENGINE_CONFIG",
        ),
    ] {
        let error = windows(architecture, &keys).expect_err("refused");
        assert_eq!(error.code(), code, "{keys}: {error}");
        let key = keys
            .as_object()
            .and_then(|keys| keys.keys().next_back())
            .expect("a key");
        assert!(error.to_string().contains(key), "{error}");
    }
}

#[test]
fn experts_are_those_of_the_class_in_transformers() {
    let with = |keys: Value| {
        let mut config = base(Architecture::Qwen3Moe);
        let all = config.as_object_mut().expect("an object");
        all.extend(keys.as_object().expect("an object").clone());
        ModelConfig::from_json(&config.to_string())
    };
    let config = with(json!({"router_aux_loss_coef": 0.001})).expect("it parses");
    assert_eq!((config.head_dim, config.num_kv_heads, config.qk_norm()), (16, 2, true));
    let expected = Moe {
        num_experts: 128,
        experts_per_token: 8,
        intermediate_size: 768,
        norm_topk_prob: false,
        layers: vec![true; 2],
    };
    assert_eq!(config.moe.expect("experts"), expected);
    let config = with(
        json!({"num_experts": 4, "num_local_experts": 4, "num_experts_per_tok": 4, "norm_topk_prob": true,
        "moe_intermediate_size": 10, "num_hidden_layers": 6, "decoder_sparse_step": 2, "mlp_only_layers": [3]}),
    )
    .expect("it parses");
    let expected = Moe {
        num_experts: 4,
        experts_per_token: 4,
        intermediate_size: 10,
        norm_topk_prob: true,
        layers: vec![false, true, false, false, false, true],
    };
    assert_eq!(config.moe.expect("experts"), expected);
    for (key, keys) in [
        ("num_experts", json!({"num_experts": 0})),
        (
            "num_local_experts",
            json!({"num_experts": 4, "num_local_experts": 8, "num_experts_per_tok": 1}),
        ),
        (
            "num_experts_per_tok",
            json!({"num_experts": 4, "num_experts_per_tok": 5}),
        ),
        ("mlp_only_layers", json!({"mlp_only_layers": 3})),
        ("parameters", json!({"num_experts": 2_000_000_000u64})),
    ] {
        let error = with(keys).expect_err("refused");
        assert_eq!(error.code(), "PRL_ENGINE_CONFIG", "{error}");
        assert!(error.to_string().contains(key), "{error}");
    }
}

#[test]
fn biases_are_those_that_the_class_in_transformers_reads() {
    use Architecture::{Llama, Mistral, Qwen2, Qwen3, Qwen3Moe};
    for (architecture, qkv, all) in [
        (Llama, true, true),
        (Qwen2, true, false),
        (Qwen3, true, true),
        (Qwen3Moe, true, true),
    ] {
        let config = with(architecture, "attention_bias", json!(true)).expect("it parses");
        assert_eq!(
            (config.qkv_bias(), config.attention_bias),
            (qkv, all),
            "{architecture:?}"
        );
    }
    assert!(with(Llama, "mlp_bias", json!(true)).expect("it parses").mlp_bias);
    for (architecture, key) in [
        (Mistral, "attention_bias"),
        (Mistral, "mlp_bias"),
        (Qwen2, "mlp_bias"),
        (Qwen3, "mlp_bias"),
        (Qwen3Moe, "mlp_bias"),
    ] {
        let error = with(architecture, key, json!(true)).expect_err("refused");
        assert_eq!(error.code(), "PRL_ENGINE_CONFIG_UNSUPPORTED");
        assert!(error.to_string().contains(key), "{error}");
    }
}
