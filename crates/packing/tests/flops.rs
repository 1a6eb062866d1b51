//! Costs from a model's config, against counts that were worked out separately.

use prl_packing::{FlopModel, PackError};
use serde_json::{Value, json};

fn qwen2_7b() -> Value {
    json!({
        "model_type": "qwen2", "hidden_size": 3584, "num_hidden_layers": 28, "num_attention_heads": 28,
        "num_key_value_heads": 4, "intermediate_size": 18944, "vocab_size": 152064, "use_sliding_window": false,
        "sliding_window": 131072,
    })
}

fn with(mut config: Value, changes: &Value) -> Value {
    for (key, value) in changes.as_object().unwrap() {
        config[key] = value.clone();
    }
    config
}

fn model(config: &Value) -> FlopModel {
    FlopModel::from_config(&config.to_string()).unwrap()
}

#[test]
fn a_dense_model_costs_twice_its_matrices_per_token() {
    let FlopModel { linear, quadratic } = model(&qwen2_7b());
    let attention = 2 * 3584 * 3584 + 2 * 3584 * 512;
    let parameters = 28u64 * (attention + 3 * 3584 * 18944) + 3584 * 152_064;
    assert_eq!(linear, 2.0 * parameters as f64);
    assert_eq!(quadratic, 28.0 * 2.0 * 28.0 * 128.0);
    // A squared token weighs as much as the rest of the layers near 33k tokens.
    let layers = linear - 2.0 * 3584.0 * 152_064.0;
    assert!(
        (30_000.0..70_000.0).contains(&(layers / quadratic)),
        "{}",
        layers / quadratic
    );
    assert_eq!(model(&qwen2_7b()).flops(10), 10.0 * linear + 100.0 * quadratic);
}

#[test]
fn of_a_mixture_only_the_chosen_experts_count() {
    let config = json!({
        "model_type": "qwen3_moe", "hidden_size": 2048, "num_hidden_layers": 48, "num_attention_heads": 32,
        "num_key_value_heads": 4, "head_dim": 128, "intermediate_size": 6144, "moe_intermediate_size": 768,
        "num_experts": 128, "num_experts_per_tok": 8, "decoder_sparse_step": 1, "mlp_only_layers": [],
        "vocab_size": 151_936,
    });
    let attention = 2 * 2048 * 4096 + 2 * 2048 * 512;
    let experts = 2048 * 128 + 3 * 2048 * 8 * 768;
    let parameters = 48u64 * (attention + experts) + 2048 * 151_936;
    assert_eq!(model(&config).linear, 2.0 * parameters as f64);
    // The model's name promises about 3 billion active parameters.
    assert!(
        (3.0e9..3.4e9).contains(&(model(&config).linear / 2.0)),
        "{}",
        model(&config).linear
    );
    let dense = with(config, &json!({ "mlp_only_layers": [0, 1] }));
    let parameters = parameters - 2 * experts + 2 * 3 * 2048 * 6144;
    assert_eq!(model(&dense).linear, 2.0 * parameters as f64);
}

#[test]
fn latent_attention_counts_its_low_ranks_and_its_unequal_heads() {
    let config = json!({
        "model_type": "deepseek_v3", "hidden_size": 7168, "num_hidden_layers": 61, "num_attention_heads": 128,
        "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
        "intermediate_size": 18432, "moe_intermediate_size": 2048, "n_routed_experts": 256, "n_shared_experts": 1,
        "num_experts_per_tok": 8, "first_k_dense_replace": 3, "vocab_size": 129_280,
    });
    let FlopModel { linear, quadratic } = model(&config);
    assert_eq!(quadratic, 61.0 * 128.0 * (192.0 + 128.0));
    // 37 billion active parameters with the input embedding, which costs nothing.
    let active = linear / 2.0 + 7168.0 * 129_280.0;
    assert!((37.0e9..38.0e9).contains(&active), "{active}");
}

#[test]
fn shapes_outside_the_formula_are_refused() {
    for (changes, code, reason) in [
        (json!({ "model_type": "mamba2" }), "PRL_PACKING_UNSUPPORTED", "mamba2"),
        (json!({ "model_type": null }), "PRL_PACKING_UNSUPPORTED", "model_type"),
        (
            json!({ "layer_types": ["full_attention", "linear_attention"] }),
            "PRL_PACKING_UNSUPPORTED",
            "linear_attention",
        ),
        (
            json!({ "use_sliding_window": true }),
            "PRL_PACKING_UNSUPPORTED",
            "sliding-window",
        ),
        (
            json!({ "hidden_size": null }),
            "PRL_PACKING_CONFIG",
            "lacks hidden_size",
        ),
        (json!({ "vocab_size": 0 }), "PRL_PACKING_CONFIG", "vocab_size is 0"),
        (
            json!({ "num_hidden_layers": -1 }),
            "PRL_PACKING_CONFIG",
            "num_hidden_layers is -1",
        ),
        (
            json!({ "num_experts": 8, "decoder_sparse_step": 0 }),
            "PRL_PACKING_CONFIG",
            "decoder_sparse_step is 0",
        ),
        (json!({ "head_dim": 1.5 }), "PRL_PACKING_CONFIG", "head_dim is 1.5"),
    ] {
        let error = FlopModel::from_config(&with(qwen2_7b(), &changes).to_string()).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        assert!(error.to_string().contains(reason), "{error} does not mention {reason}");
    }
    let error = FlopModel::from_config("[").unwrap_err();
    assert!(matches!(error, PackError::Config(_)), "{error}");
}

#[test]
fn a_text_model_inside_another_is_found() {
    let outer = json!({ "model_type": "some_vl", "text_config": qwen2_7b() });
    assert_eq!(model(&outer), model(&qwen2_7b()));
}
