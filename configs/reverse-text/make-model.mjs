/**
 * Makes `model/`: the architecture and the byte-level tokenizer of the reverse-text example. No weights: a run draws
 * them from its seed.
 *
 *     node configs/reverse-text/make-model.mjs
 *
 * Vocabulary of 260: ids 0 to 255 are the byte values, 256 `<pad>`, 257 `<eos>` (ends every answer), 258 `<|im_start|>`
 * and 259 `<|im_end|>`: of the chat template, which the example does not use. It is the one that prl has for ChatML
 * (`ts/renderers/families.ts`), there so that other servers render conversations as prl does.
 */
import { addedToken, byteCharacters, writeSmallModel } from "../small-model.mjs";

const CONTEXT = 128;

const CHAT_TEMPLATE = [
  "{%- if tools -%}",
  "{{- '<|im_start|>system\\nYou can call these functions, one JSON schema per line:\\n<tools>' -}}",
  "{%- for tool in tools -%}{{- '\\n' + (tool | tojson) -}}{%- endfor -%}",
  '{{- \'\\n</tools>\\nWrite each call as <tool_call>\\n{"name": ..., "arguments": {...}}\\n</tool_call><|im_end|>\\n\' -}}',
  "{%- endif -%}",
  "{%- for message in messages -%}",
  "{%- if message.role == 'tool' -%}",
  "{%- if loop.first or messages[loop.index0 - 1].role != 'tool' -%}{{- '<|im_start|>user' -}}{%- endif -%}",
  "{{- '\\n<tool_response>\\n' + message.content + '\\n</tool_response>' -}}",
  "{%- if loop.last or messages[loop.index0 + 1].role != 'tool' -%}{{- '<|im_end|>\\n' -}}{%- endif -%}",
  "{%- else -%}",
  "{{- '<|im_start|>' + message.role + '\\n' + (message.content or '') -}}",
  "{%- for call in message.tool_calls or [] -%}",
  "{%- set call = call.function if call.function else call -%}",
  "{{- '\\n' if message.content or not loop.first else '' -}}",
  '{{- \'<tool_call>\\n{"name": "\' + call.name + \'", "arguments": \' -}}',
  "{{- call.arguments if call.arguments is string else call.arguments | tojson -}}{{- '}\\n</tool_call>' -}}",
  "{%- endfor -%}",
  "{{- '<|im_end|>\\n' -}}",
  "{%- endif -%}",
  "{%- endfor -%}",
  "{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}",
].join("");

const plain = byteCharacters();
const [pad, eos, ...ofChat] = ["<pad>", "<eos>", "<|im_start|>", "<|im_end|>"].map((content, index) =>
  addedToken(plain.length + index, content),
);
await writeSmallModel(new URL("model/", import.meta.url), {
  plain,
  added: [pad, eos, ...ofChat],
  pad,
  eos,
  stops: eos.id,
  context: CONTEXT,
  words: false,
  chatTemplate: CHAT_TEMPLATE,
});
