/**
 * Bodies of the OpenAI endpoints, turned into requests of the generate endpoint, which checks everything about sampling.
 *
 * Fields that would change what is sampled and are not implemented are refused by their name; those that only concern an account
 * (`user`, `metadata`, `store`, ...) have no effect.
 */
import { z } from "zod";

import { onlyFunction } from "../../renderers/index.ts";
import { badRequest, unsupported } from "../errors.ts";
import { parseGenerateRequest, type ParsedRequest, type RequestLimits } from "../request.ts";

/** Samples of one request at most. */
const MAX_CHOICES = 128;

const stop = z.union([z.string(), z.array(z.string())]).nullish();
const nothing = z.unknown().optional();

/** What both endpoints take. Penalties and the like are known to be refused unless they do nothing. */
const shared = {
  model: z.string().nullish(),
  n: z.int().min(1).max(MAX_CHOICES).nullish(),
  max_tokens: z.number().nullish(),
  min_tokens: z.number().nullish(),
  temperature: z.number().nullish(),
  top_p: z.number().nullish(),
  top_k: z.number().nullish(),
  min_p: z.number().nullish(),
  presence_penalty: z.number().nullish(),
  frequency_penalty: z.number().nullish(),
  repetition_penalty: z.number().nullish(),
  logit_bias: z.unknown().optional(),
  seed: z.number().nullish(),
  stop,
  stop_token_ids: z.unknown().optional(),
  ignore_eos: z.unknown().optional(),
  priority: z.unknown().optional(),
  cache_salt: z.unknown().optional(),
  stream: z.boolean().nullish(),
  stream_options: z.unknown().optional(),
  return_token_ids: z.boolean().nullish(),
  user: nothing,
  metadata: nothing,
  store: nothing,
  service_tier: nothing,
  safety_identifier: nothing,
  prompt_cache_key: nothing,
};

const messageSchema = z.looseObject({ role: z.string() });

export const chatSchema = z.strictObject({
  ...shared,
  messages: z.array(messageSchema).min(1),
  max_completion_tokens: z.number().nullish(),
  tools: z.array(z.looseObject({ type: z.literal("function") })).nullish(),
  tool_choice: z.unknown().optional(),
  parallel_tool_calls: z.boolean().nullish(),
  response_format: z.unknown().optional(),
  logprobs: z.boolean().nullish(),
  top_logprobs: z.int().nullish(),
  chat_template_kwargs: z.record(z.string(), z.unknown()).nullish(),
  reasoning_effort: z.unknown().optional(),
});

export const completionSchema = z.strictObject({
  ...shared,
  prompt: z.union([
    z.string(),
    z.array(z.string()).min(1),
    z.array(z.int()).min(1),
    z.array(z.array(z.int()).min(1)).min(1),
  ]),
  logprobs: z.int().nullish(),
  echo: z.boolean().nullish(),
  best_of: z.int().nullish(),
  suffix: z.unknown().optional(),
});

export type ChatBody = z.output<typeof chatSchema>;
export type CompletionBody = z.output<typeof completionSchema>;

/** The body as its schema has it. Errors: PRL_INFERENCE_REQUEST naming every field that is wrong. */
export function readBody<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  throw badRequest("body", z.prettifyError(parsed.error).replace(/\s+/gu, " "));
}

/** Refuses what the embedded engine cannot do. Errors: PRL_INFERENCE_UNSUPPORTED. */
export function refuseUnsupported(body: Readonly<Record<string, unknown>>): void {
  const { response_format: format, tool_choice: choice, suffix, echo, best_of: bestOf, top_logprobs: top } = body;
  const isText = typeof format === "object" && format !== null && "type" in format && format.type === "text";
  if (format !== undefined && format !== null && !isText) throw unsupported('response_format: only { type: "text" }');
  if (choice !== undefined && choice !== null && !isToolChoice(choice))
    throw unsupported('tool_choice: only "auto", "none", "required" and a function');
  if ((suffix ?? null) !== null) throw unsupported("suffix: filling in is not implemented");
  if (echo === true) throw unsupported("echo: the prompt is not repeated");
  if ((bestOf ?? 1) !== 1) throw unsupported("best_of: only 1; use n");
  if (typeof top === "number" && top > 1)
    throw unsupported("top_logprobs: only 0 and 1; the token itself is what there is");
}

const namedChoice = z.looseObject({ type: z.literal("function"), function: z.looseObject({ name: z.string() }) });

function isToolChoice(choice: unknown): boolean {
  return ["auto", "none", "required"].some((one) => one === choice) || namedChoice.safeParse(choice).success;
}

/** The function that the reply has to call, null for any of several; undefined where it may do as it likes. Errors: PRL_INFERENCE_REQUEST. */
export function forcedCall({ tools, tool_choice: choice }: ChatBody): string | null | undefined {
  const named = namedChoice.safeParse(choice).data?.function.name;
  if (choice !== "required" && named === undefined) return undefined;
  const names = (tools ?? []).map((tool) => (tool["function"] as { name?: unknown } | undefined)?.name);
  if (names.length === 0) throw badRequest("tool_choice", "there are no tools to choose from");
  if (named !== undefined && !names.includes(named)) throw badRequest("tool_choice", `there is no tool "${named}"`);
  return named ?? onlyFunction(tools ?? []);
}

/** The request of one prompt, with the stop tokens of the model's turns; `seed` moves on by one with each choice. */
export function toGenerate(
  body: ChatBody | CompletionBody,
  promptIds: Uint32Array,
  stopTokenIds: readonly number[],
  limits: RequestLimits,
  choice: number,
): ParsedRequest {
  const { model, stream, stream_options, priority, cache_salt } = body;
  const maxTokens = ("max_completion_tokens" in body ? body.max_completion_tokens : null) ?? body.max_tokens;
  const wantsLogprobs = body.logprobs === true || typeof body.logprobs === "number";
  const asked = Array.isArray(body.stop_token_ids) ? (body.stop_token_ids as unknown[]) : [];
  const parameters = {
    max_tokens: maxTokens,
    min_tokens: body.min_tokens,
    temperature: body.temperature,
    top_p: body.top_p,
    top_k: body.top_k,
    seed: typeof body.seed === "number" ? body.seed + choice : null,
    stop: body.stop,
    stop_token_ids: [...asked, ...(body.ignore_eos === true ? [] : stopTokenIds)],
    ignore_eos: body.ignore_eos,
    logprobs: wantsLogprobs ? 0 : null,
    min_p: body.min_p,
    presence_penalty: body.presence_penalty,
    frequency_penalty: body.frequency_penalty,
    repetition_penalty: body.repetition_penalty,
    logit_bias: body.logit_bias,
  };
  const known = Object.fromEntries(
    Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null),
  );
  const request = {
    model,
    token_ids: [...promptIds],
    sampling_params: known,
    stream,
    stream_options,
    priority,
    cache_salt,
  };
  return parseGenerateRequest(
    Object.fromEntries(Object.entries(request).filter(([, value]) => value !== undefined)),
    limits,
  );
}
