/**
 * Makes `model/`: architecture, tokenizer and chat template of the examples that hold conversations. No weights: a run
 * draws them from its seed.
 *
 *     npm run build:ts && node configs/small-chat/make-model.mjs
 *
 * The tokenizer knows the 256 bytes and, as one token each, the words that the examples' conversations are made of
 * (instructions, names of tools, JSON around a call); whatever a task draws at random, names and numbers, is spelled in
 * bytes. The template is ChatML with Qwen's tool calls; of a tool it shows only the name, because a model of this size
 * learns what tools take from demonstrations.
 */
import { mkdir, writeFile } from "node:fs/promises";

import { loadEnvironment } from "prl/environments";

const ENVIRONMENTS = ["alphabet-sort", "tool-lookup"];
const CONVERSATIONS = 1000;
/** A word is one token when it stands in so large a share of an environment's conversations. */
const SHARE = 0.02;
const CONTEXT = 1024;

const SPECIAL = ["<pad>", "<|endoftext|>", "<|im_start|>", "<|im_end|>"];
const TAGS = ["<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"];
const [PAD, END, , CLOSE] = SPECIAL;

const CHAT_TEMPLATE = [
  "{%- if tools -%}",
  "{{- '<|im_start|>system\\ntools:' -}}",
  "{%- for tool in tools -%}{{- ' ' + tool.function.name -}}{%- endfor -%}",
  "{{- '<|im_end|>\\n' -}}",
  "{%- endif -%}",
  "{%- for message in messages -%}",
  "{%- if message.role == 'tool' -%}",
  "{%- if messages[loop.index0 - 1].role != 'tool' -%}{{- '<|im_start|>user' -}}{%- endif -%}",
  "{{- '\\n<tool_response>\\n' + message.content + '\\n</tool_response>' -}}",
  "{%- if loop.last or messages[loop.index0 + 1].role != 'tool' -%}{{- '<|im_end|>\\n' -}}{%- endif -%}",
  "{%- else -%}",
  "{{- '<|im_start|>' + message.role + '\\n' + message.content -}}",
  "{%- for call in message.tool_calls or [] -%}",
  "{{- '\\n' if message.content or not loop.first else '' -}}",
  "{{- '<tool_call>\\n{\"name\": \"' + call.function.name + '\", \"arguments\": ' + call.function.arguments + '}\\n</tool_call>' -}}",
  "{%- endfor -%}",
  "{{- '<|im_end|>\\n' -}}",
  "{%- endif -%}",
  "{%- endfor -%}",
  "{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}",
].join("");

/** How byte-level BPE cuts a text into words (GPT-2's pattern), which `use_regex` below applies. */
const WORD = /'(?:[stmd]|re|ve|ll)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+/gu;

/** The texts that a conversation adds to the template. */
function textsOf({ messages, tools = [] }) {
  const calls = messages.flatMap(({ tool_calls: list = [] }) => list.map((call) => call.function));
  return [
    `system\ntools:${tools.map((tool) => ` ${tool.function.name}`).join("")}`,
    ...messages.map(({ role, content }) => `${role}\n${content}`),
    ...calls.map(({ name, arguments: args }) => `\n{"name": "${name}", "arguments": ${args}}\n`),
  ];
}

async function frequentWords(id) {
  const counts = new Map();
  let taken = 0;
  for (const conversation of (await loadEnvironment(id)).configure().demonstrations(0)) {
    const words = new Set(textsOf(conversation).flatMap((text) => text.match(WORD)));
    for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
    if (++taken === CONVERSATIONS) break;
  }
  return [...counts].filter(([, count]) => count >= SHARE * CONVERSATIONS).map(([word]) => word);
}

/**
 * The printable stand-in of each byte in byte-level BPE (GPT-2's table): a byte that is a visible Latin-1 character
 * stands for itself, the others take the characters from U+0100 on, in order.
 */
function byteCharacters() {
  const visible = (byte) => (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(visible(byte) ? byte : next++));
}

const bytes = byteCharacters();
const spelled = (word) => Array.from(Buffer.from(word), (byte) => bytes[byte]).join("");
const words = new Set((await Promise.all(ENVIRONMENTS.map(frequentWords))).flat().map(spelled));
for (const character of bytes) words.delete(character);
const plain = [...bytes, ...[...words].sort()];
const added = [...SPECIAL, ...TAGS].map((content, index) => ({
  id: plain.length + index,
  content,
  single_word: false,
  lstrip: false,
  rstrip: false,
  normalized: false,
  special: SPECIAL.includes(content),
}));
const idOf = (token) => added.find(({ content }) => content === token).id;

const byteLevel = { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: true };

const tokenizer = {
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
    // A word of the vocabulary is taken whole; without merges all others fall into their bytes.
    ignore_merges: true,
    vocab: Object.fromEntries([
      ...plain.map((token, id) => [token, id]),
      ...added.map(({ id, content }) => [content, id]),
    ]),
    merges: [],
  },
};

const tokenizerConfig = {
  tokenizer_class: "PreTrainedTokenizerFast",
  pad_token: PAD,
  eos_token: CLOSE,
  padding_side: "left",
  clean_up_tokenization_spaces: false,
  model_max_length: CONTEXT,
  chat_template: CHAT_TEMPLATE,
  added_tokens_decoder: Object.fromEntries(added.map(({ id, ...flags }) => [id, flags])),
};

/** About 1.5 million parameters. */
const config = {
  architectures: ["Qwen3ForCausalLM"],
  model_type: "qwen3",
  vocab_size: plain.length + added.length,
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
  eos_token_id: idOf(CLOSE),
  pad_token_id: idOf(PAD),
  torch_dtype: "float32",
};

const generationConfig = {
  bos_token_id: null,
  eos_token_id: [idOf(CLOSE), idOf(END)],
  pad_token_id: idOf(PAD),
};

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
