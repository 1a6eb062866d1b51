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
import { loadEnvironment } from "prl-lm/environments";

import { addedToken, byteCharacters, WORD, writeSmallModel } from "../small-model.mjs";

const ENVIRONMENTS = ["alphabet-sort", "tool-lookup"];
const CONVERSATIONS = 1000;
/** A word is one token when it stands in so large a share of an environment's conversations. */
const SHARE = 0.02;
const CONTEXT = 1024;

const SPECIAL = ["<pad>", "<|endoftext|>", "<|im_start|>", "<|im_end|>"];
const TAGS = ["<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"];

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

const bytes = byteCharacters();
const spelled = (word) => Array.from(Buffer.from(word), (byte) => bytes[byte]).join("");
const words = new Set((await Promise.all(ENVIRONMENTS.map(frequentWords))).flat().map(spelled));
for (const character of bytes) words.delete(character);
const plain = [...bytes, ...[...words].sort()];
const added = [...SPECIAL, ...TAGS].map((content, index) =>
  addedToken(plain.length + index, content, SPECIAL.includes(content)),
);
const [pad, end, , close] = added;

await writeSmallModel(new URL("model/", import.meta.url), {
  plain,
  added,
  pad,
  eos: close,
  stops: [close.id, end.id],
  context: CONTEXT,
  words: true,
  chatTemplate: CHAT_TEMPLATE,
});
