/** Readers of a model's folder (chat templates, the tokenizer's config, headers of weights, sizes), and of the text that a model writes. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { adapterBase } from "../../../ts/models/adapter-folder.ts";
import { describeModel } from "../../../ts/models/describe.ts";
import { localTensors } from "../../../ts/models/headers.ts";
import { shardNames } from "../../../ts/models/model-files.ts";
import { renderChatWithSpans } from "../../../ts/renderers/chat-template.ts";
import { FAMILIES } from "../../../ts/renderers/families.ts";
import { loadTokenizer } from "../../../ts/renderers/index.ts";
import { createRenderer } from "../../../ts/renderers/renderer.ts";
import { readTokenizerConfig } from "../../../ts/renderers/tokenizer-config.ts";
import { CHATML, LLAMA2_LIKE, QWEN_LIKE_TOOLS } from "../../unit/renderers/templates.ts";
import { holds, type Target, textOf } from "../engine/target.ts";
import { fileOf, folderOf } from "./place.ts";

const folder = folderOf("models");
const SPECIAL = ["<think>", "</think>", "<tool_call>", "</tool_call>", "<|im_end|>", "<|eot_id|>", "<|python_tag|>"];
const CONVERSATION = [
  { role: "system", content: "Be brief." },
  { role: "user", content: "How warm is it?" },
  {
    role: "assistant",
    content: "",
    tool_calls: [{ id: "a", type: "function", function: { name: "weather", arguments: { city: "Bern", days: 2 } } }],
  },
  { role: "tool", content: '{"celsius": 21.5}', tool_call_id: "a" },
  { role: "assistant", content: "21.5 °C", reasoning_content: "Read the tool." },
];
const TOOLS = [
  {
    type: "function",
    function: {
      name: "weather",
      parameters: { type: "object", properties: { city: { type: "string" }, days: { type: "integer" } } },
    },
  },
];

/** A byte-level tokenizer with the marks of all families. */
function tokenizerJson(): object {
  const printable = (byte: number): boolean => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
  let next = 256;
  const letters = Array.from({ length: 256 }, (_, byte) => String.fromCharCode(printable(byte) ? byte : next++));
  const flags = { single_word: false, lstrip: false, rstrip: false, normalized: false, special: true };
  const bytes = { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: false };
  return {
    version: "1.0",
    truncation: null,
    padding: null,
    normalizer: null,
    post_processor: null,
    pre_tokenizer: bytes,
    decoder: bytes,
    added_tokens: SPECIAL.map((content, id) => ({ id, content, ...flags })),
    model: {
      type: "BPE",
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      vocab: Object.fromEntries([...SPECIAL, ...letters].map((token, id) => [token, id])),
      merges: [],
    },
  };
}

mkdirSync(join(folder, "tokenizer"));
writeFileSync(join(folder, "tokenizer", "tokenizer.json"), JSON.stringify(tokenizerJson()));
const tokenizer = await loadTokenizer(join(folder, "tokenizer"));
const replyFamilies = [
  FAMILIES.qwen3,
  FAMILIES["qwen2.5"],
  { ...FAMILIES.qwen3, toolCalls: "xml" as const },
  FAMILIES.llama3,
  FAMILIES.default,
];
const renderers = replyFamilies.map((family) => createRenderer(tokenizer, family, undefined));

/**
 * Reads a reply whole and as it grows, which gives the same text. The exception is a reply whose end shows that its beginning was thinking, after it was
 * given as content.
 */
function readReply(input: Uint8Array): void {
  const ids = tokenizer.encode(textOf(input));
  for (const renderer of renderers) {
    const whole = renderer.parse(ids);
    const growing = renderer.grow({ thinks: false, tools: true, stop: [] });
    let [content, reasoning] = ["", ""];
    const take = (delta: { content?: string; reasoning?: string } | null): void => {
      content += delta?.content ?? "";
      reasoning += delta?.reasoning ?? "";
    };
    for (const id of ids) take(growing.push([id]));
    const turnsOut = content !== "" && whole.reasoning?.startsWith(content) === true;
    take(growing.rest(whole));
    holds(
      turnsOut || content === whole.content,
      `${renderer.name}: the content was given as ${JSON.stringify(content)}`,
    );
    holds(turnsOut || reasoning === (whole.reasoning ?? ""), `${renderer.name}: other thinking was given`);
    for (const { status, arguments: args } of whole.toolCalls)
      holds(status !== "ok" || args !== null, "a call has no arguments");
  }
}

const HEADER = '{"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}}';
const JSON_WORDS = ['"', ":", ",", "{", "}", "[", "]", "null", "true", "-1", "1e999", '"__proto__":', "\\ud800"];

export const MODEL_TARGETS: readonly Target[] = [
  {
    name: "chat-template",
    starts: [
      CHATML,
      LLAMA2_LIKE,
      QWEN_LIKE_TOOLS,
      "{% generation %}{{ messages | tojson(indent=2) }}{% endgeneration %}",
    ],
    words: [
      "{{ ",
      " }}",
      "{% ",
      " %}",
      "{%- for m in messages %}",
      "{% endfor %}",
      "{% if x is defined %}",
      "{% endif %}",
      "{% set n = namespace(a=1) %}",
      "{% macro f(a) %}",
      "{% endmacro %}",
      "{% generation %}",
      "{% endgeneration %}",
      "range(1000000000)",
      " | tojson",
      " | map(attribute='role') | join(', ')",
      " | replace('', 'y')",
      "'a' * 100000",
      ".split('')",
      "[::-1]",
      " ** 9999",
      "'%s' % ",
      "loop.",
      ".items()",
      "strftime_now('%Y')",
      " ~ ",
      " in ",
      "(",
      ")",
      "[",
      "not ",
    ],
    mostBytes: 8192,
    inputs: 150,
    read: (input) => renderChatWithSpans(textOf(input), CONVERSATION, { tools: TOOLS, addGenerationPrompt: true }),
  },
  {
    name: "model-replies",
    starts: [
      '<think>\nhm\n</think>\n\nYes.<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call><|im_end|>',
      "<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>",
      '<|python_tag|>{"name": "f", "parameters": {"a": "{"}}; {"name": "g", "parameters": {}}<|eot_id|>',
    ],
    words: [
      ...SPECIAL,
      '{"name": "f", ',
      '"arguments": {',
      '"parameters": ',
      "}",
      "; ",
      "<function=f>",
      "</function>",
      "<parameter=a>",
      "</parameter>",
      "\\",
      "\ufffd",
      "👍",
      "\n\n",
      "1e999",
    ],
    mostBytes: 8192,
    read: readReply,
  },
  {
    name: "tokenizer-config",
    starts: [
      '{"eos_token":{"content":"</s>"},"bos_token":"<s>","chat_template":[{"name":"default","template":"{{ messages }}"},{"name":"tool_use","template":"x"}]}',
      '{"chat_template":"{{ bos_token }}","eos_token":null}',
    ],
    words: [...JSON_WORDS, '"chat_template":', '"name":', '"template":', '"content":', '"eos_token":'],
    async read(input) {
      fileOf(folder, "tokenizer_config.json", input);
      const { specialTokens, chatTemplates } = await readTokenizerConfig(folder);
      for (const text of [...Object.values(specialTokens), ...chatTemplates.values()])
        holds(typeof text === "string", "a special token or a template is no text");
    },
  },
  {
    name: "safetensors-header",
    starts: [Buffer.concat([Buffer.from([HEADER.length, 0, 0, 0, 0, 0, 0, 0]), Buffer.from(HEADER), Buffer.alloc(16)])],
    words: [
      ...JSON_WORDS,
      '"shape":',
      '"dtype":',
      '"data_offsets":',
      '"__metadata__":',
      "\0\0\0\0",
      "\xff\xff\xff\xff",
    ],
    async read(input) {
      fileOf(folder, "model.safetensors", input);
      for (const { shape } of await localTensors(folder, "model.safetensors"))
        holds(
          shape.every((side) => Number.isSafeInteger(side) && side >= 0),
          "a shape is no list of sizes",
        );
    },
  },
  {
    name: "model-sizes",
    starts: [
      '{"architectures":["Qwen3ForCausalLM"],"model_type":"qwen3","hidden_size":64,"intermediate_size":128,"num_hidden_layers":2,"num_attention_heads":4,"num_key_value_heads":2,"head_dim":16,"vocab_size":100,"rms_norm_eps":1e-6,"rope_theta":1000000,"max_position_embeddings":512,"tie_word_embeddings":true,"torch_dtype":"bfloat16","hidden_act":"silu"}',
    ],
    words: [
      ...JSON_WORDS,
      '"model_type":"llama"',
      '"num_experts":8',
      '"rope_scaling":{"rope_type":"yarn"}',
      '"dtype":',
      "9007199254740993",
    ],
    async read(input) {
      const dir = join(folder, "described");
      mkdirSync(dir, { recursive: true });
      fileOf(dir, "config.json", input);
      await describeModel(dir);
    },
  },
  {
    name: "model-files",
    starts: [
      '{"metadata":{"total_size":3},"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}}',
      '{"base_model_name_or_path":"owner/base","r":8,"target_modules":["q_proj"]}',
    ],
    words: [...JSON_WORDS, '"weight_map":', '"base_model_name_or_path":', "../", ".safetensors"],
    async read(input) {
      const dir = join(folder, "adapter");
      mkdirSync(dir, { recursive: true });
      fileOf(dir, "adapter_config.json", input);
      await adapterBase(dir);
      for (const name of shardNames(textOf(input), "the index"))
        holds(!name.includes("/"), `${name} leaves its folder`);
    },
  },
];
