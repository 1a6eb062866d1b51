/** Requests of OpenAI's Responses API: every field acts, changes no answer, or is refused by its name. */
import { z } from "zod";

import { responses } from "../../dialects/index.ts";
import { refuseUnlessNeutral } from "../openai/neutral.ts";
import { chatSchema } from "../openai/request.ts";
import { readAs } from "../read-as.ts";
import { anything, chatOf, type DialectCall, EXTRA_FIELDS, readDialect } from "./call.ts";

const { shape } = chatSchema;

/** Fields that the engine does not have, with the values that change nothing. */
const NEUTRAL: Readonly<Record<string, readonly unknown[]>> = {
  background: [false],
  context_management: [[]],
  conversation: [],
  include: [[]],
  moderation: [],
  prompt: [],
  "reasoning.context": [],
  "reasoning.effort": [],
  "reasoning.generate_summary": [],
  "reasoning.mode": [],
  "reasoning.summary": [],
  "text.verbosity": ["medium"],
  top_logprobs: [0],
  truncation: ["disabled"],
};

const schema = z.strictObject({
  ...EXTRA_FIELDS,
  background: anything,
  context_management: anything,
  conversation: anything,
  include: anything,
  input: anything,
  instructions: anything,
  max_output_tokens: anything,
  // It counts calls of built-in tools, which are refused.
  max_tool_calls: anything,
  metadata: z.record(z.string(), z.string()).nullish(),
  model: shape.model,
  moderation: anything,
  parallel_tool_calls: anything,
  previous_response_id: anything,
  prompt: anything,
  prompt_cache_key: anything,
  prompt_cache_options: anything,
  prompt_cache_retention: anything,
  reasoning: z
    .strictObject({
      context: anything,
      effort: anything,
      generate_summary: anything,
      mode: anything,
      summary: anything,
    })
    .nullish(),
  safety_identifier: anything,
  service_tier: anything,
  stop: shape.stop,
  store: z.boolean().nullish(),
  stream: anything,
  stream_options: z.strictObject({ include_obfuscation: anything }).nullish(),
  temperature: shape.temperature,
  text: z.strictObject({ format: anything, verbosity: anything }).nullish(),
  tool_choice: anything,
  tools: z.array(z.unknown()).nullish(),
  top_k: shape.top_k,
  top_logprobs: anything,
  top_p: shape.top_p,
  truncation: anything,
  user: anything,
});

/** `defaultModel` answers requests that name none. Errors: PRL_INFERENCE_REQUEST, PRL_INFERENCE_UNSUPPORTED. */
export function readResponses(value: unknown, defaultModel: string): DialectCall {
  const request = readAs("body", schema, value);
  const { reasoning, text } = request;
  const nested = {
    ...Object.fromEntries(Object.entries(reasoning ?? {}).map(([name, one]) => [`reasoning.${name}`, one])),
    "text.verbosity": text?.verbosity,
  };
  refuseUnlessNeutral({ ...request, ...nested }, NEUTRAL);
  const asked = readDialect(() => responses.read({ ...request, model: request.model ?? defaultModel }));
  const { temperature, top_p, top_k, stop, store } = request;
  const extra = Object.fromEntries(
    Object.keys(EXTRA_FIELDS).map((name) => [name, request[name as keyof typeof request]]),
  );
  const format = asked.format === null ? undefined : chatFormat(text?.format);
  const body = chatOf(asked, { ...extra, temperature, top_p, top_k, stop, response_format: format });
  return { asked, body, echoed: echoOf(request), store: store ?? true, withoutThinking: false };
}

/** The format of a text in the shape of chat completions. */
function chatFormat(format: unknown): object {
  const { type, ...rest } = format as { type: string };
  return type === "json_schema" ? { type, json_schema: rest } : { type };
}

/** What an answer says about its request. */
function echoOf(request: z.output<typeof schema>): Record<string, unknown> {
  return {
    background: false,
    instructions: request.instructions ?? null,
    max_output_tokens: request.max_output_tokens ?? null,
    metadata: request.metadata ?? {},
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    previous_response_id: request.previous_response_id ?? null,
    reasoning: { effort: null, summary: null },
    store: request.store ?? true,
    temperature: request.temperature ?? 1,
    text: { format: request.text?.format ?? { type: "text" } },
    tool_choice: request.tool_choice ?? "auto",
    tools: request.tools ?? [],
    top_p: request.top_p ?? 1,
    truncation: "disabled",
  };
}
