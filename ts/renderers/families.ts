/**
 * Model families and their ways to write a conversation: the token that closes a turn, the format of thinking and tool calls.
 *
 * Full conversations are rendered by the model's own chat template, so these facts only serve bridging and parsing. A folder without a
 * template gets the family's plain template below.
 */
import type { Tokenizer } from "./tokenizer.ts";

export type RendererName = "chatml" | "qwen2.5" | "qwen3" | "llama3" | "default";

export interface Family {
  readonly name: RendererName;
  /** The single token that ends a turn. Null: turns cannot be separated, so nothing is bridged. */
  readonly close: string | null;
  /** Tokens at which sampling stops, besides the close token. */
  readonly stop: readonly string[];
  /** Format of tool calls; null when the family has none. `xml` is `tagged` with Qwen3-Coder's elements in place of JSON. */
  readonly toolCalls: "tagged" | "json" | "xml" | null;
  /** Replies may begin with a `<think>` block. */
  readonly thinks: boolean;
  /** Every reply begins with thinking, although nothing opens it. */
  readonly thinksFirst?: boolean;
  /** The template drops thinking of earlier turns when a new user message comes, so such a turn cannot be bridged. */
  readonly forgetsThinking: boolean;
  readonly template: string | null;
}

const CHATML_TURNS = [
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
].join("");

const CHATML_TOOLS = [
  "{%- if tools -%}",
  "{{- '<|im_start|>system\\nYou can call these functions, one JSON schema per line:\\n<tools>' -}}",
  "{%- for tool in tools -%}{{- '\\n' + (tool | tojson) -}}{%- endfor -%}",
  '{{- \'\\n</tools>\\nWrite each call as <tool_call>\\n{"name": ..., "arguments": {...}}\\n</tool_call><|im_end|>\\n\' -}}',
  "{%- endif -%}",
].join("");

const CHATML = `${CHATML_TOOLS}${CHATML_TURNS}{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}`;

const QWEN3 = [
  CHATML_TOOLS,
  CHATML_TURNS,
  "{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}",
  "{%- if enable_thinking is defined and enable_thinking is false -%}{{- '<think>\\n\\n</think>\\n\\n' -}}{%- endif -%}",
  "{%- endif -%}",
].join("");

const LLAMA3 = [
  "{{- bos_token -}}",
  "{%- for message in messages -%}",
  "{%- set role = 'ipython' if message.role == 'tool' else message.role -%}",
  "{{- '<|start_header_id|>' + role + '<|end_header_id|>\\n\\n' + (message.content or '') | trim -}}",
  "{%- for call in message.tool_calls or [] -%}",
  "{%- set call = call.function if call.function else call -%}",
  "{{- '; ' if not loop.first else '' -}}{{- '{\"name\": \"' + call.name + '\", \"parameters\": ' -}}",
  "{{- call.arguments if call.arguments is string else call.arguments | tojson -}}{{- '}' -}}",
  "{%- endfor -%}",
  "{{- '<|eot_id|>' -}}",
  "{%- endfor -%}",
  "{%- if add_generation_prompt -%}{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' -}}{%- endif -%}",
].join("");

const CHATML_FACTS = { close: "<|im_end|>", stop: ["<|endoftext|>"], thinks: false, forgetsThinking: false } as const;

export const FAMILIES: Readonly<Record<RendererName, Family>> = {
  chatml: { name: "chatml", ...CHATML_FACTS, toolCalls: "tagged", template: CHATML },
  "qwen2.5": { name: "qwen2.5", ...CHATML_FACTS, toolCalls: "tagged", template: CHATML },
  qwen3: { name: "qwen3", ...CHATML_FACTS, thinks: true, forgetsThinking: true, toolCalls: "tagged", template: QWEN3 },
  llama3: {
    name: "llama3",
    close: "<|eot_id|>",
    stop: ["<|end_of_text|>", "<|eom_id|>"],
    toolCalls: "json",
    thinks: false,
    forgetsThinking: false,
    template: LLAMA3,
  },
  default: {
    name: "default",
    close: null,
    stop: [],
    toolCalls: null,
    thinks: false,
    forgetsThinking: false,
    template: null,
  },
};

/** The format of tool calls that a template shows. */
export function callsOf(template: string): Family["toolCalls"] {
  if (!template.includes("<tool_call>")) return null;
  return template.includes("<function=") ? "xml" : "tagged";
}

/** The family that a tokenizer's special tokens and template belong to. */
export function detectFamily(tokenizer: Pick<Tokenizer, "tokenToId">, template: string | null): Family {
  const family = knownFamily(tokenizer, template);
  const isXml = family.toolCalls === "tagged" && template !== null && callsOf(template) === "xml";
  return isXml ? { ...family, toolCalls: "xml" } : family;
}

function knownFamily(tokenizer: Pick<Tokenizer, "tokenToId">, template: string | null): Family {
  if (tokenizer.tokenToId("<|im_end|>") !== null && (template === null || template.includes("<|im_start|>"))) {
    if (template?.includes("enable_thinking") === true) return FAMILIES.qwen3;
    return template?.includes("<tool_call>") === true ? FAMILIES["qwen2.5"] : FAMILIES.chatml;
  }
  if (tokenizer.tokenToId("<|eot_id|>") !== null && (template === null || template.includes("<|start_header_id|>"))) {
    return FAMILIES.llama3;
  }
  return FAMILIES.default;
}
