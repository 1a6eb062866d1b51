/** Every field of the openai package's request types and of vLLM's acts, is refused by its name, or is one that changes no answer. */
import type OpenAI from "openai";
import { describe, expect, it } from "vitest";

import { useServing } from "../serving.ts";
import { EOS } from "../tiny-model.ts";

const serving = useServing();

interface Answer {
  status: number;
  /** Without what differs between two equal requests. */
  body: Record<string, unknown>;
}
/** `acts`: another answer than without the field; `same`: an equal one; `refused`: an error that names it. */
type Effect = "acts" | "same" | "refused";
/** What the field is sent as, and other fields that it needs to show its effect. */
interface Row {
  effect: Effect;
  value: unknown;
  beside?: Record<string, unknown>;
}
const acts = (value: unknown, beside = {}): Row => ({ effect: "acts", value, beside });
const refused = (value: unknown, beside = {}): Row => ({ effect: "refused", value, beside });
const same = (value: unknown, beside = {}): Row => ({ effect: "same", value, beside });

const ENDS_AT_ONCE = { logit_bias: { [EOS]: 100 } };
const TWO_LETTERS = { allowed_token_ids: [104, 105] };
const OFTEN_H = { logit_bias: { 104: 100 }, stop: ["hhh"] };

/** Fields of both endpoints: OpenAI's first, then vLLM's. */
const SHARED = {
  model: refused("another"),
  frequency_penalty: acts(2),
  logit_bias: acts({ "104": 100 }),
  max_tokens: acts(3),
  n: acts(2),
  presence_penalty: acts(-2),
  seed: acts(6),
  stop: acts(["hh"], { logit_bias: { 104: 100 } }),
  stream: acts(true),
  stream_options: refused({ include_usage: true }),
  temperature: acts(0),
  top_p: acts(0.2),
  user: same("u"),
};
const VLLM = {
  add_special_tokens: refused(true),
  allowed_token_ids: acts([104, 105]),
  bad_words: acts(["h"], TWO_LETTERS),
  cache_salt: same("s"),
  ec_transfer_params: refused({ a: 1 }),
  ignore_eos: acts(true, ENDS_AT_ONCE),
  include_stop_str_in_output: acts(true, OFTEN_H),
  kv_transfer_params: refused({ a: 1 }),
  length_penalty: refused(2),
  logits_processors: refused(["x"]),
  logprob_token_ids: refused([1]),
  min_p: acts(0.5),
  min_tokens: acts(4, ENDS_AT_ONCE),
  priority: same(3),
  prompt_logprobs: acts(2),
  repetition_detection: refused({ max_pattern_size: 2, min_count: 2 }),
  repetition_penalty: acts(1.9),
  request_id: same("r"),
  return_mm_kwargs: refused(false),
  return_token_ids: acts(false),
  return_token_offsets: refused(true),
  return_tokens_as_token_ids: acts(true),
  routed_experts_prompt_start: refused(3),
  session_id: same("s"),
  skip_special_tokens: acts(false, { allowed_token_ids: [104, 258], temperature: 1.5 }),
  spaces_between_special_tokens: same(false),
  stop_token_ids: acts([104], { logit_bias: { 104: 100 } }),
  stream_interval: refused(4),
  structured_outputs: acts({ regex: "a" }),
  guided_json: acts({ const: 1 }),
  guided_regex: acts("a"),
  guided_choice: acts(["a"]),
  guided_grammar: acts('start: "a"'),
  thinking_token_budget: refused(5),
  top_k: acts(2),
  truncate_prompt_tokens: acts(2),
  truncation_side: acts("right", { truncate_prompt_tokens: 2 }),
  use_beam_search: refused(true),
  vllm_xargs: refused({ a: 1 }),
  watermarking: refused(true),
};

const tool = { type: "function" as const, function: { name: "f", parameters: {} } };
const CHAT: Record<keyof OpenAI.Chat.ChatCompletionCreateParams, Row> = {
  ...SHARED,
  messages: acts([{ role: "user", content: "other" }]),
  audio: refused({ voice: "x", format: "mp3" }),
  function_call: refused({ name: "f" }),
  functions: refused([{ name: "f" }]),
  logprobs: acts(false),
  max_completion_tokens: acts(3),
  metadata: same({ a: "b" }),
  modalities: refused(["audio"]),
  moderation: refused({ model: "x" }),
  parallel_tool_calls: same(false),
  prediction: same({ type: "content", content: "x" }),
  prompt_cache_key: same("k"),
  prompt_cache_options: same({}),
  prompt_cache_retention: same("24h"),
  reasoning_effort: refused("high"),
  response_format: acts({ type: "json_object" }),
  safety_identifier: same("s"),
  service_tier: same("auto"),
  store: same(true),
  tool_choice: acts("required", { tools: [tool] }),
  tools: acts([tool]),
  top_logprobs: acts(3),
  verbosity: refused("low"),
  web_search_options: refused({}),
};
const CHAT_VLLM: Record<string, Row> = {
  ...VLLM,
  add_generation_prompt: refused(false),
  chat_template: refused("x"),
  // The template of this model reads no variable.
  chat_template_kwargs: same({ x: 1 }),
  continue_final_message: refused(true),
  documents: refused([{ text: "x" }]),
  echo: acts(true, { messages: [{ role: "assistant", content: "said" }] }),
  include_reasoning: refused(false),
  media_io_kwargs: refused({ image: {} }),
  mm_processor_kwargs: refused({ a: 1 }),
  return_prompt_text: refused(true),
};
const TEXT: Record<keyof OpenAI.CompletionCreateParams, Row> = {
  ...SHARED,
  prompt: acts("other"),
  best_of: refused(2),
  echo: acts(true),
  logprobs: acts(3),
  suffix: refused("x"),
};
const TEXT_VLLM: Record<string, Row> = {
  ...VLLM,
  // This model's tokenizer adds none to a text.
  add_special_tokens: same(false),
  prompt_embeds: refused(["x"]),
  response_format: acts({ type: "json_object" }),
};

describe.each([
  [
    "/v1/chat/completions",
    { messages: [{ role: "user", content: "hello" }], logprobs: true },
    { ...CHAT, ...CHAT_VLLM },
  ],
  ["/v1/completions", { prompt: "hello", logprobs: 1 }, { ...TEXT, ...TEXT_VLLM }],
])("%s", (path, request, fields) => {
  const base = { model: "tiny", max_tokens: 24, seed: 5, return_token_ids: true, ...request };

  it.each(Object.entries<Row>(fields))("%s", async (name, { effect, value, beside = {} }) => {
    const plain = await ask(path, { ...base, ...beside });
    const { status, body } = await ask(path, { ...base, ...beside, [name]: value });
    if (effect === "refused") {
      expect([400, 404, 501]).toContain(status);
      expect(JSON.stringify(body)).toContain(name);
      return;
    }
    expect({ status, body }).toMatchObject({ status: 200 });
    if (effect === "same") expect(body).toEqual(plain.body);
    else expect(body).not.toEqual(plain.body);
  });
});

async function ask(path: string, request: object): Promise<Answer> {
  const response = await fetch(serving().url + path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(request),
  });
  const text = await response.text();
  if (text.startsWith("data: ")) return { status: response.status, body: { stream: true } };
  const { id: _id, created: _created, usage, ...body } = JSON.parse(text) as Record<string, unknown>;
  const { prompt_tokens: prompt, completion_tokens: completion } = (usage ?? {}) as Record<string, unknown>;
  return { status: response.status, body: { ...body, prompt, completion } };
}
