//! The config.json of models.

use prl_engine::ModelConfig;
use prl_fuzz::Target;
use prl_packing::FlopModel;

use crate::answer;

const WORDS: [&str; 34] = [
    "null",
    "true",
    "false",
    "[]",
    "{}",
    "\"\"",
    "-1",
    "1e999",
    "0.5",
    "\"hidden_size\":",
    "\"num_hidden_layers\":",
    "\"num_attention_heads\":",
    "\"num_key_value_heads\":",
    "\"head_dim\":",
    "\"vocab_size\":",
    "\"intermediate_size\":",
    "\"rope_theta\":",
    "\"rope_scaling\":",
    "\"rope_parameters\":",
    "\"rope_type\":\"yarn\"",
    "\"rope_type\":\"llama3\"",
    "\"rope_type\":\"dynamic\"",
    "\"factor\":",
    "\"sliding_window\":",
    "\"layer_types\":",
    "\"max_window_layers\":",
    "\"num_experts\":",
    "\"num_experts_per_tok\":",
    "\"moe_intermediate_size\":",
    "\"decoder_sparse_step\":",
    "\"mlp_only_layers\":",
    "\"eos_token_id\":",
    "\"tie_word_embeddings\":",
    "\"original_max_position_embeddings\":",
];

const MODELS: [&str; 4] = [
    r#"{"architectures":["LlamaForCausalLM"],"model_type":"llama","hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,
    "num_key_value_heads":2,"head_dim":16,"vocab_size":128,"intermediate_size":96,"max_position_embeddings":256,"rms_norm_eps":1e-5,"hidden_act":"silu",
    "rope_theta":10000.0,"rope_scaling":{"rope_type":"llama3","factor":8.0,"low_freq_factor":1.0,"high_freq_factor":4.0,"original_max_position_embeddings":64},
    "eos_token_id":[2,3],"tie_word_embeddings":true,"torch_dtype":"float32"}"#,
    r#"{"architectures":["Qwen2ForCausalLM"],"model_type":"qwen2","hidden_size":64,"num_hidden_layers":3,"num_attention_heads":4,
    "num_key_value_heads":2,"vocab_size":128,"intermediate_size":96,"max_position_embeddings":256,"rms_norm_eps":1e-6,"hidden_act":"silu","rope_theta":10000.0,
    "use_sliding_window":true,"sliding_window":32,"max_window_layers":1,"rope_scaling":{"rope_type":"yarn","factor":4.0,"original_max_position_embeddings":64}}"#,
    r#"{"architectures":["Qwen3MoeForCausalLM"],"model_type":"qwen3_moe","hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,
    "num_key_value_heads":2,"head_dim":16,"vocab_size":128,"intermediate_size":96,"moe_intermediate_size":32,"num_experts":8,"num_experts_per_tok":2,
    "norm_topk_prob":true,"decoder_sparse_step":1,"mlp_only_layers":[0],"max_position_embeddings":256,"rms_norm_eps":1e-6,"hidden_act":"silu","rope_theta":1e6}"#,
    r#"{"architectures":["DeepseekV3ForCausalLM"],"model_type":"deepseek_v3","hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"vocab_size":128,
    "intermediate_size":96,"kv_lora_rank":16,"q_lora_rank":8,"qk_nope_head_dim":8,"qk_rope_head_dim":8,"v_head_dim":8,"n_routed_experts":4,
    "num_experts_per_tok":2,"n_shared_experts":1,"moe_intermediate_size":16,"first_k_dense_replace":1}"#,
];

fn target(name: &'static str) -> Target {
    MODELS
        .into_iter()
        .fold(Target::new(name).words(&WORDS).inputs(8000), Target::start)
}

#[test]
fn model_configs() {
    target("model-config").run(|bytes| {
        let text = String::from_utf8_lossy(bytes);
        answer(ModelConfig::from_json(&text), |config| {
            format!("{:?}", config.architecture)
        })
    });
}

#[test]
fn costs_of_models() {
    target("flop-model").run(|bytes| {
        let text = String::from_utf8_lossy(bytes);
        answer(FlopModel::from_config(&text), |model| {
            assert!(model.linear.is_finite() && model.quadratic.is_finite(), "{model:?}");
            String::new()
        })
    });
}
