/**
 * Makes `model/`: the architecture and the byte-level tokenizer of the reverse-text example. No weights: a run draws
 * them from its seed.
 *
 *     node configs/reverse-text/make-model.mjs
 *
 * Vocabulary of 260: ids 0 to 255 are the byte values, 256 `<pad>`, 257 `<eos>` (ends every answer), 258 `<|im_start|>`
 * and 259 `<|im_end|>`: unused here, they are there so that a model made from this folder can be given a ChatML chat
 * template.
 */
import { mkdir, writeFile } from "node:fs/promises";

const PAD = { id: 256, content: "<pad>" };
const EOS = { id: 257, content: "<eos>" };
const SPECIAL = [PAD, EOS, { id: 258, content: "<|im_start|>" }, { id: 259, content: "<|im_end|>" }];
const CONTEXT = 128;

/**
 * The printable stand-in of each byte in byte-level BPE (GPT-2's table): a byte that is a visible Latin-1 character
 * stands for itself, the others take the characters from U+0100 on, in order.
 */
function byteCharacters() {
  const visible = (byte) => (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(visible(byte) ? byte : next++));
}

const byteLevel = { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: false };
const flags = { single_word: false, lstrip: false, rstrip: false, normalized: false, special: true };

const tokenizer = {
  version: "1.0",
  truncation: null,
  padding: null,
  added_tokens: SPECIAL.map(({ id, content }) => ({ id, content, ...flags })),
  normalizer: null,
  pre_tokenizer: byteLevel,
  post_processor: null,
  decoder: byteLevel,
  model: {
    type: "BPE",
    dropout: null,
    unk_token: null,
    continuing_subword_prefix: null,
    end_of_word_suffix: null,
    fuse_unk: false,
    byte_fallback: false,
    ignore_merges: false,
    vocab: Object.fromEntries([
      ...byteCharacters().map((character, byte) => [character, byte]),
      ...SPECIAL.map(({ id, content }) => [content, id]),
    ]),
    merges: [],
  },
};

const tokenizerConfig = {
  tokenizer_class: "PreTrainedTokenizerFast",
  pad_token: PAD.content,
  eos_token: EOS.content,
  padding_side: "left",
  clean_up_tokenization_spaces: false,
  model_max_length: CONTEXT,
  added_tokens_decoder: Object.fromEntries(SPECIAL.map(({ id, content }) => [id, { content, ...flags }])),
};

/** 1.5 million parameters. */
const config = {
  architectures: ["Qwen3ForCausalLM"],
  model_type: "qwen3",
  vocab_size: 260,
  hidden_size: 192,
  intermediate_size: 576,
  num_hidden_layers: 3,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  head_dim: 64,
  max_position_embeddings: CONTEXT,
  hidden_act: "silu",
  rms_norm_eps: 1e-6,
  rope_theta: 10000,
  rope_scaling: null,
  attention_bias: false,
  attention_dropout: 0,
  use_sliding_window: false,
  sliding_window: null,
  tie_word_embeddings: true,
  initializer_range: 0.02,
  use_cache: true,
  bos_token_id: null,
  eos_token_id: EOS.id,
  pad_token_id: PAD.id,
  torch_dtype: "float32",
};

const generationConfig = { bos_token_id: null, eos_token_id: EOS.id, pad_token_id: PAD.id };

const folder = new URL("model/", import.meta.url);
await mkdir(folder, { recursive: true });
const files = {
  "config.json": config,
  "generation_config.json": generationConfig,
  "tokenizer.json": tokenizer,
  "tokenizer_config.json": tokenizerConfig,
};
for (const [name, content] of Object.entries(files)) {
  await writeFile(new URL(name, folder), `${JSON.stringify(content, null, 2)}\n`);
}
