/**
 * Fields of OpenAI and vLLM that the embedded engine does not have: they are accepted with values that change nothing, which clients
 * send as their defaults, and refused by name with any other.
 */
import { isDeepStrictEqual } from "node:util";

import { unsupported } from "../errors.ts";

const NONE: readonly unknown[] = [[], {}];

/** Fields of both endpoints; null and absence change nothing either. */
const SHARED: Readonly<Record<string, readonly unknown[]>> = {
  ec_transfer_params: NONE,
  kv_transfer_params: NONE,
  length_penalty: [1],
  logits_processors: NONE,
  logprob_token_ids: NONE,
  repetition_detection: NONE,
  return_mm_kwargs: [true],
  return_token_offsets: [false],
  routed_experts_prompt_start: [0],
  stream_interval: [1],
  thinking_token_budget: [-1],
  use_beam_search: [false],
  vllm_xargs: NONE,
  watermarking: [false],
};

export const CHAT_NEUTRAL: Readonly<Record<string, readonly unknown[]>> = {
  ...SHARED,
  add_generation_prompt: [true],
  add_special_tokens: [false],
  audio: [],
  chat_template: [],
  continue_final_message: [false],
  documents: NONE,
  function_call: ["none", "auto"],
  functions: NONE,
  include_reasoning: [true],
  media_io_kwargs: NONE,
  mm_processor_kwargs: NONE,
  modalities: [["text"]],
  moderation: [],
  reasoning_effort: [],
  return_prompt_text: [false],
  // It has no effect on text without special tokens.
  spaces_between_special_tokens: [true, false],
  verbosity: ["medium"],
  web_search_options: [],
};

export const COMPLETION_NEUTRAL: Readonly<Record<string, readonly unknown[]>> = {
  ...SHARED,
  best_of: [1],
  prompt_embeds: NONE,
  suffix: [],
};

/** Advice for some of the fields. */
const ADVICE: Readonly<Record<string, string>> = {
  best_of: "; use n",
  functions: "; use tools",
  function_call: "; use tool_choice",
  reasoning_effort: "; give the variable that the model's template reads in chat_template_kwargs",
};

/** Errors: PRL_INFERENCE_UNSUPPORTED for the first field with a value that would have to do something. */
export function refuseUnlessNeutral(
  body: Readonly<Record<string, unknown>>,
  neutral: Readonly<Record<string, readonly unknown[]>>,
): void {
  for (const [name, values] of Object.entries(neutral)) {
    const value = body[name] ?? null;
    if (value === null || values.some((harmless) => isDeepStrictEqual(harmless, value))) continue;
    const only = values.length === 0 ? "" : ` (only ${values.map((one) => JSON.stringify(one)).join(" or ")})`;
    throw unsupported(`${name}: the embedded engine does not have this${only}${ADVICE[name] ?? ""}`);
  }
}
