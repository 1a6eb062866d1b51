/**
 * Bodies of the OpenAI endpoints, turned into requests of the generate endpoint, which checks everything about sampling.
 *
 * A field that is not implemented is refused by its name unless its value changes nothing (`neutral.ts`); unknown fields are refused, too.
 * Fields about an account, a provider's caches or the speed of an answer (`user`, `metadata`, `store`, ...) change no answer: they
 * are accepted and have no effect.
 */
import { z } from "zod";

import { onlyFunction } from "../../renderers/internal.ts";
import { badRequest, unsupported } from "../errors.ts";
import { choicesOf } from "../requests/choices.ts";
import { MAX_CHOICES, parseGenerateRequest, type ParsedRequest, type RequestLimits } from "../requests/request.ts";
import { CHAT_NEUTRAL, COMPLETION_NEUTRAL, refuseUnlessNeutral } from "./neutral.ts";
import { FORMAT_FIELDS, structuredOutputsOf } from "./response-format.ts";

/** Most samples of all prompts of a request together. */
const MAX_SAMPLES = 4096;
/** OpenAI's and vLLM's default for texts. */
const DEFAULT_COMPLETION_TOKENS = 16;

const stop = z.union([z.string(), z.array(z.string())]).nullish();
/** The vocabulary is checked where the request is read; a larger number would be taken for another token there. */
const tokenId = z.uint32();
const nothing = z.unknown().optional();
const fieldsOf = (table: object) => Object.fromEntries(Object.keys(table).map((name) => [name, nothing]));

/** Fields of both endpoints. Those about sampling are checked as those of the generate endpoint. */
const shared = {
  ...FORMAT_FIELDS,
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
  logit_bias: z.record(z.string(), z.number()).nullish(),
  allowed_token_ids: nothing,
  bad_words: nothing,
  prompt_logprobs: z.number().nullish(),
  echo: z.boolean().nullish(),
  include_stop_str_in_output: z.boolean().nullish(),
  return_tokens_as_token_ids: z.boolean().nullish(),
  request_id: z.string().nullish(),
  truncate_prompt_tokens: z.int().min(-1).nullish(),
  truncation_side: z.enum(["left", "right"]).nullish(),
  seed: z.number().nullish(),
  stop,
  stop_token_ids: z.unknown().optional(),
  ignore_eos: z.unknown().optional(),
  priority: z.unknown().optional(),
  cache_salt: z.unknown().optional(),
  stream: z.boolean().nullish(),
  stream_options: z
    .strictObject({
      include_usage: z.boolean().nullish(),
      continuous_usage_stats: z.boolean().nullish(),
      include_obfuscation: nothing,
    })
    .nullish(),
  return_token_ids: z.boolean().nullish(),
  skip_special_tokens: z.boolean().nullish(),
  user: nothing,
  metadata: nothing,
  store: nothing,
  service_tier: nothing,
  safety_identifier: nothing,
  prompt_cache_key: nothing,
  prompt_cache_options: nothing,
  prompt_cache_retention: nothing,
  prediction: nothing,
  session_id: nothing,
};

const messageSchema = z.looseObject({ role: z.string() });

export const chatSchema = z.strictObject({
  ...fieldsOf(CHAT_NEUTRAL),
  ...shared,
  messages: z.array(messageSchema).min(1),
  max_completion_tokens: z.number().nullish(),
  tools: z.array(z.looseObject({ type: z.literal("function") })).nullish(),
  tool_choice: z.unknown().optional(),
  parallel_tool_calls: z.boolean().nullish(),
  logprobs: z.boolean().nullish(),
  top_logprobs: z.int().min(-1).nullish(),
  chat_template_kwargs: z.record(z.string(), z.unknown()).nullish(),
});

export const completionSchema = z.strictObject({
  ...fieldsOf(COMPLETION_NEUTRAL),
  ...shared,
  prompt: z.union([
    z.string(),
    z.array(z.string()).min(1),
    z.array(tokenId).min(1),
    z.array(z.array(tokenId).min(1)).min(1),
  ]),
  logprobs: z.int().min(-1).nullish(),
  // vLLM's default is to add them.
  add_special_tokens: z.boolean().nullish(),
  spaces_between_special_tokens: z.boolean().nullish(),
});

export type ChatBody = z.output<typeof chatSchema>;
export type CompletionBody = z.output<typeof completionSchema>;

/** Refuses what the embedded engine cannot do for a chat. Errors: PRL_INFERENCE_UNSUPPORTED, PRL_INFERENCE_REQUEST. */
export function refuseUnsupportedChat(body: ChatBody): void {
  const { tool_choice: choice, top_logprobs: top } = body;
  refuseUnlessNeutral(body, CHAT_NEUTRAL);
  refuseStreamOptions(body);
  refuseSpaces(body);
  if (choice !== undefined && choice !== null && !isToolChoice(choice))
    throw unsupported('tool_choice: only "auto", "none", "required" and a function');
  if ((top ?? 0) !== 0 && body.logprobs !== true) throw badRequest("top_logprobs", "needs logprobs: true");
  if (maxTokensOf(body) === 0)
    throw badRequest("max_tokens", "must be at least 1 in a chat; a text can be scored alone");
}

/** The same for a completion. */
export function refuseUnsupportedCompletion(body: CompletionBody): void {
  refuseUnlessNeutral(body, COMPLETION_NEUTRAL);
  refuseStreamOptions(body);
  refuseSpaces(body);
}

function refuseSpaces(body: Readonly<Record<string, unknown>>): void {
  if (body["skip_special_tokens"] === false && body["spaces_between_special_tokens"] === false)
    throw unsupported("spaces_between_special_tokens: special tokens are decoded as the tokenizer does (only true)");
}

/** Refuses stream options without a stream, as OpenAI and vLLM do. */
function refuseStreamOptions({ stream, stream_options: options }: ChatBody | CompletionBody): void {
  if (stream !== true && (options ?? null) !== null) throw badRequest("stream_options", "needs stream: true");
}

const namedChoice = z.looseObject({ type: z.literal("function"), function: z.looseObject({ name: z.string() }) });

function isToolChoice(choice: unknown): boolean {
  return ["auto", "none", "required"].some((one) => one === choice) || namedChoice.safeParse(choice).success;
}

/** The function that the reply has to call, null for any of several; undefined where no call is forced. Errors: PRL_INFERENCE_REQUEST. */
export function forcedCall({ tools, tool_choice: choice }: ChatBody): string | null | undefined {
  const named = namedChoice.safeParse(choice).data?.function.name;
  if (choice !== "required" && named === undefined) return undefined;
  const names = (tools ?? []).map((tool) => (tool["function"] as { name?: unknown } | undefined)?.name);
  if (names.length === 0) throw badRequest("tool_choice", "there are no tools to choose from");
  if (named !== undefined && !names.includes(named)) throw badRequest("tool_choice", `there is no tool "${named}"`);
  return named ?? onlyFunction(tools ?? []);
}

/** How many samples each of `prompts` prompts gets. Errors: PRL_INFERENCE_REQUEST for more than one request may ask for. */
export function samplesPerPrompt({ n }: ChatBody | CompletionBody, prompts = 1): number {
  const choices = n ?? 1;
  if (choices * prompts <= MAX_SAMPLES) return choices;
  throw badRequest("n", `${prompts} prompts with ${choices} samples each are more than ${MAX_SAMPLES} samples`);
}

/** The requests of one prompt, with the stop tokens of the model's turns. */
export function toGenerate(
  body: ChatBody | CompletionBody,
  promptIds: Uint32Array,
  stopTokenIds: readonly number[],
  limits: RequestLimits,
): ParsedRequest[] {
  return choicesOf(toGenerateOne(body, truncated(body, promptIds, limits), stopTokenIds, limits));
}

/** The prompt's tokens within `truncate_prompt_tokens`; -1 leaves room for `max_tokens`. vLLM leaves out the beginning by default. */
function truncated(body: ChatBody | CompletionBody, promptIds: Uint32Array, limits: RequestLimits): Uint32Array {
  const { truncate_prompt_tokens: most } = body;
  if (most === null || most === undefined) return promptIds;
  const room = Math.max(limits.maxModelLen - (maxTokensOf(body, limits) ?? 0), 0);
  const count = most === -1 ? room : most;
  if (promptIds.length <= count) return promptIds;
  return body.truncation_side === "right" ? promptIds.subarray(0, count) : promptIds.subarray(promptIds.length - count);
}

/** Most tokens to sample. A text has a default; with 0 nothing is sampled, and the text is echoed or scored alone. */
function maxTokensOf(
  body: ChatBody | CompletionBody,
  { samplingDefaults }: Partial<RequestLimits> = {},
): number | null {
  const asked =
    "messages" in body
      ? (body.max_completion_tokens ?? body.max_tokens ?? null)
      : (body.max_tokens ?? DEFAULT_COMPLETION_TOKENS);
  const most = samplingDefaults?.max_new_tokens ?? null;
  return asked === null || most === null ? (asked ?? most) : Math.min(asked, most);
}

/** How many log-probabilities each token of the answer has beside its own; null: none at all. */
export function logprobsOf(body: ChatBody | CompletionBody): number | null {
  if (!("messages" in body)) return body.logprobs ?? null;
  return body.logprobs === true ? (body.top_logprobs ?? 0) : null;
}

/** Whether the answer repeats the prompt with its log-probabilities. That of a chat has them without being asked, but not in a stream. */
function echoesScores(body: ChatBody | CompletionBody): boolean {
  if (body.echo !== true) return false;
  return "messages" in body ? body.stream !== true : logprobsOf(body) !== null;
}

function toGenerateOne(
  body: ChatBody | CompletionBody,
  promptIds: Uint32Array,
  turnEnds: readonly number[],
  limits: RequestLimits,
): ParsedRequest {
  const { model, stream, stream_options: options, priority, cache_salt } = body;
  const defaults = limits.samplingDefaults ?? {};
  const parameters = {
    n: body.n,
    max_tokens: maxTokensOf(body, limits),
    min_tokens: body.min_tokens,
    temperature: body.temperature ?? defaults.temperature,
    top_p: body.top_p ?? defaults.top_p,
    top_k: body.top_k ?? defaults.top_k,
    seed: body.seed,
    stop: body.stop,
    stop_token_ids: body.stop_token_ids,
    ignore_eos: body.ignore_eos,
    logprobs: logprobsOf(body),
    prompt_logprobs: body.prompt_logprobs,
    min_p: body.min_p ?? defaults.min_p,
    presence_penalty: body.presence_penalty,
    frequency_penalty: body.frequency_penalty,
    repetition_penalty: body.repetition_penalty ?? defaults.repetition_penalty,
    logit_bias: clamped(body.logit_bias),
    allowed_token_ids: body.allowed_token_ids,
    bad_words: body.bad_words,
    structured_outputs: structuredOutputsOf(body),
    skip_special_tokens: body.skip_special_tokens,
  };
  const known = Object.fromEntries(
    Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null),
  );
  const request = {
    model,
    token_ids: [...promptIds],
    sampling_params: known,
    stream,
    stream_options: {
      include_usage: options?.include_usage ?? null,
      continuous_usage_stats: options?.continuous_usage_stats ?? null,
    },
    priority,
    cache_salt,
  };
  const parsed = parseGenerateRequest(
    Object.fromEntries(Object.entries(request).filter(([, value]) => value !== undefined)),
    limits,
    { echoes: body.echo === true },
  );
  if (parsed.adapter !== null && echoesScores(body))
    throw unsupported("echo: it scores the prompt, and prompts are scored without the adapter that model names");
  const further = parsed.ignoreEos ? [] : turnEnds;
  // These endpoints have no place for experts.
  return { ...parsed, routedExpertsFrom: null, stopTokenIds: [...parsed.stopTokenIds, ...further] };
}

const MAX_BIAS = 100;

/** Biases within OpenAI's range, as in vLLM. */
function clamped(biases: Readonly<Record<string, number>> | null | undefined): Record<string, number> | null {
  if (biases === null || biases === undefined) return null;
  const within = (bias: number) => Math.min(MAX_BIAS, Math.max(-MAX_BIAS, bias));
  return Object.fromEntries(Object.entries(biases).map(([id, bias]) => [id, within(bias)]));
}
