//! Whether the weights of one folder can replace those of another while requests run.

use super::ModelConfig;

impl ModelConfig {
    /// The first key that gives `other` another shape, other mathematics or other ends of sequences: (key, our value, its value). The format that the
    /// weights are kept in is one: keys and values are kept in it too. Keys that only describe a model (`torch_dtype`, `transformers_version`, `initializer_range`, ...) may differ.
    pub(crate) fn difference(&self, other: &Self) -> Option<(&'static str, String, String)> {
        let differs = |((key, ours), (_, theirs)): ((&'static str, String), (&'static str, String))| {
            (ours != theirs).then_some((key, ours, theirs))
        };
        self.keys().into_iter().zip(other.keys()).find_map(differs)
    }

    fn keys(&self) -> [(&'static str, String); 19] {
        let mut ends = self.eos_token_ids.clone();
        ends.sort_unstable();
        [
            ("vocab_size", self.vocab_size.to_string()),
            ("hidden_size", self.hidden_size.to_string()),
            ("intermediate_size", self.intermediate_size.to_string()),
            ("num_hidden_layers", self.num_layers.to_string()),
            ("num_attention_heads", self.num_heads.to_string()),
            ("num_key_value_heads", self.num_kv_heads.to_string()),
            ("head_dim", self.head_dim.to_string()),
            ("max_position_embeddings", self.max_position_embeddings.to_string()),
            ("tie_word_embeddings", self.tie_word_embeddings.to_string()),
            ("rms_norm_eps", self.rms_norm_eps.to_string()),
            ("rope_theta", self.rope_theta.to_string()),
            ("rope_scaling", format!("{:?}", self.rope_scaling)),
            ("sliding_window", format!("{:?}", self.sliding_windows)),
            ("num_experts", format!("{:?}", self.moe)),
            ("attention_bias", self.attention_bias.to_string()),
            ("mlp_bias", self.mlp_bias.to_string()),
            ("eos_token_id", format!("{ends:?}")),
            ("architectures", format!("{:?}", self.architecture)),
            // The format that the weights are kept in, which `torch_dtype` need not be.
            ("model.dtype", self.dtype.name().to_string()),
        ]
    }
}
