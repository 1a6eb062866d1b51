/**
 * What the examples' model folders have in common: the architecture of about 1.5 million parameters, and a byte-level tokenizer without
 * merges. The `make-model.mjs` of a folder gives it its vocabulary.
 */
import { mkdir, writeFile } from "node:fs/promises";

/**
 * The printable stand-in of each byte in byte-level BPE (GPT-2's table): a byte that is a visible Latin-1 character
 * stands for itself, the others take the characters from U+0100 on, in order.
 */
export function byteCharacters() {
  const visible = (byte) => (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(visible(byte) ? byte : next++));
}

/** How byte-level BPE cuts a text into words (GPT-2's pattern). */
export const WORD = /'(?:[stmd]|re|ve|ll)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+/gu;

/** A token that the text is cut at before anything else. */
export function addedToken(id, content, special = true) {
  return { id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special };
}

/**
 * Writes `folder`. `plain` are the tokens from id 0 on; `added` those that `addedToken` made; `pad` and `eos` are of them, `stops` too: what ends
 * a completion. With `words` a word of the vocabulary is taken whole and all others fall into their bytes; without, every byte is a token.
 */
export async function writeSmallModel(folder, { plain, added, pad, eos, stops, context, words, chatTemplate }) {
  const byteLevel = { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: words };
  const files = {
    "config.json": modelConfig(plain.length + added.length, { pad, eos, context }),
    "generation_config.json": { bos_token_id: null, eos_token_id: stops, pad_token_id: pad.id },
    "tokenizer.json": {
      version: "1.0",
      truncation: null,
      padding: null,
      added_tokens: added,
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
        ignore_merges: words,
        vocab: Object.fromEntries([
          ...plain.map((token, id) => [token, id]),
          ...added.map(({ id, content }) => [content, id]),
        ]),
        merges: [],
      },
    },
    "tokenizer_config.json": {
      tokenizer_class: "PreTrainedTokenizerFast",
      pad_token: pad.content,
      eos_token: eos.content,
      padding_side: "left",
      clean_up_tokenization_spaces: false,
      model_max_length: context,
      ...(chatTemplate === undefined ? {} : { chat_template: chatTemplate }),
      added_tokens_decoder: Object.fromEntries(added.map(({ id, ...token }) => [id, token])),
    },
  };
  await mkdir(folder, { recursive: true });
  for (const [name, content] of Object.entries(files)) {
    await writeFile(new URL(name, folder), `${JSON.stringify(content, null, 2)}\n`);
  }
}

function modelConfig(vocabSize, { pad, eos, context }) {
  return {
    architectures: ["Qwen3ForCausalLM"],
    model_type: "qwen3",
    vocab_size: vocabSize,
    hidden_size: 192,
    intermediate_size: 576,
    num_hidden_layers: 3,
    num_attention_heads: 4,
    num_key_value_heads: 2,
    head_dim: 64,
    max_position_embeddings: context,
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
    eos_token_id: eos.id,
    pad_token_id: pad.id,
    torch_dtype: "float32",
  };
}
