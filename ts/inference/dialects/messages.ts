/** Requests of Anthropic's Messages API: every field acts, changes no answer, or is refused by its name. */
import { z } from "zod";

import { messages } from "../../dialects/index.ts";
import { unsupported } from "../errors.ts";
import { refuseUnlessNeutral } from "../openai/neutral.ts";
import { chatSchema } from "../openai/request.ts";
import { readAs } from "../read-as.ts";
import { checkMessageFields } from "./message-fields.ts";
import { anything, chatOf, type DialectCall, EXTRA_FIELDS, readDialect } from "./call.ts";

const { shape } = chatSchema;

/** Fields that the engine does not have, with the values that change nothing. */
const NEUTRAL: Readonly<Record<string, readonly unknown[]>> = {
  container: [],
  diagnostics: [],
  inference_geo: [],
  "output_config.effort": [],
  "output_config.task_budget": [],
  speed: ["standard"],
};

const prompt = {
  ...EXTRA_FIELDS,
  // Prompts that begin alike always share the cache.
  cache_control: anything,
  messages: anything,
  model: shape.model,
  output_config: z
    .strictObject({
      effort: anything,
      format: z.strictObject({ type: z.literal("json_schema"), schema: z.unknown() }).nullish(),
      task_budget: anything,
    })
    .nullish(),
  speed: anything,
  system: anything,
  thinking: z.looseObject({ type: z.string() }).nullish(),
  tool_choice: anything,
  tools: anything,
  user_profile_id: anything,
  workspace_id: anything,
};

const countSchema = z.strictObject(prompt);
const schema = z.strictObject({
  ...prompt,
  container: anything,
  diagnostics: anything,
  inference_geo: anything,
  max_tokens: z.int().positive(),
  metadata: anything,
  service_tier: anything,
  stop_sequences: anything,
  stream: anything,
  temperature: z.number().min(0).max(1).nullish(),
  top_k: shape.top_k,
  top_p: shape.top_p,
});

/** `defaultModel` answers requests that name none. Errors: PRL_INFERENCE_REQUEST, PRL_INFERENCE_UNSUPPORTED. */
export function readMessages(value: unknown, defaultModel: string): DialectCall {
  const request = readAs("body", schema, value);
  const { temperature, top_p, top_k } = request;
  return callOf(request, { temperature, top_p, top_k }, defaultModel);
}

/** The same for a request to count tokens, which has fewer fields. */
export function readCount(value: unknown, defaultModel: string): DialectCall {
  return callOf(readAs("body", countSchema, value), {}, defaultModel);
}

function callOf(request: z.output<typeof countSchema>, sampling: object, defaultModel: string): DialectCall {
  const { output_config: output, thinking } = request;
  const nested = Object.entries(output ?? {}).map(([name, one]) => [`output_config.${name}`, one]);
  refuseUnlessNeutral({ ...request, ...Object.fromEntries(nested) }, NEUTRAL);
  checkMessageFields(request);
  const asked = readDialect(() => messages.read({ ...request, model: request.model ?? defaultModel }));
  const extra = Object.fromEntries(
    Object.keys(EXTRA_FIELDS).map((name) => [name, request[name as keyof typeof request]]),
  );
  const format = output?.format ?? null;
  const body = chatOf(asked, {
    ...extra,
    ...sampling,
    chat_template_kwargs: { ...request.chat_template_kwargs, ...thinkingVariables(thinking?.type ?? null) },
    ...(format !== null && {
      response_format: { type: "json_schema", json_schema: { name: "output", schema: format.schema } },
    }),
  });
  return { asked, body, echoed: {}, store: false, withoutThinking: thinking?.type === "disabled" };
}

/** The variable with which templates of models that can think switch it off. */
function thinkingVariables(type: string | null): { enable_thinking?: false } {
  if (type === null || type === "adaptive") return {};
  if (type === "disabled") return { enable_thinking: false };
  const why = 'nothing ends the thinking after a number of tokens (only "disabled" and "adaptive")';
  throw unsupported(`thinking.budget_tokens: ${why}`);
}
