/**
 * Reads the body of `POST /inference/v1/generate`: vLLM's request, checked field by field.
 *
 * It uses no schema library, because it runs once per sample on the server's event loop. A field that would change what is sampled and
 * is not implemented is refused, never ignored; fields of vLLM that only concern text output are accepted and have no effect.
 */
import { PrlError } from "../../errors.ts";
import type { StructuredOutput } from "../../native/index.ts";
import type { SamplingDefaults } from "../generation-config.ts";
import { badRequest, HttpError, unsupported } from "../errors.ts";
import { flag, integer, isAbsent, isTokenId, number, object, shown, text } from "./fields/checks.ts";
import { LOGIT_FIELDS, logitControls, type LogitControls } from "./fields/logit-controls.ts";
import { structuredOutput } from "./fields/structured-outputs.ts";

/** Facts about the model that the checks need. */
export interface RequestLimits {
  vocabSize: number;
  maxModelLen: number;
  /** Allowed values of `model`; empty: any. */
  servedModelNames: readonly string[];
  /** Answers have the experts that tokens went to. */
  returnsRoutedExperts: boolean;
  /** Values of parameters that requests of the text endpoints leave out. */
  samplingDefaults?: SamplingDefaults;
  /** Adapters that `model` may name too. */
  adapters: { has(name: string): boolean };
}

/** Most of the most probable tokens that a request gets for each place (OpenAI's and vLLM's limit). */
const MAX_TOP_LOGPROBS = 20;
/** Most samples of one prompt. */
export const MAX_CHOICES = 128;

export interface ParsedRequest extends LogitControls {
  /** The adapter that computes the request; null: the model as it is. */
  adapter: string | null;
  /** The client's id; null when it gave none. */
  requestId: string | null;
  promptTokenIds: Uint32Array;
  maxTokens: number;
  minTokens: number;
  temperature: number;
  topP: number;
  topK: number;
  minP: number;
  /** What the text has to match; null: nothing. */
  structuredOutput: StructuredOutput | null;
  seed: number | null;
  stopTokenIds: number[];
  stop: string[];
  /** Stop strings are looked for in the text without special tokens. */
  skipSpecialTokens: boolean;
  ignoreEos: boolean;
  /** Entries wanted in `top_logprobs`; null: no log-probabilities in the answer. */
  logprobs: number | null;
  /** The same for the prompt. */
  promptLogprobs: number | null;
  /** The experts of tokens from this one of the prompt on are wanted; null: none. */
  routedExpertsFrom: number | null;
  /** Number of samples. */
  choices: number;
  cacheSalt: string | null;
  priority: number;
  stream: boolean;
  /** A last chunk with the usage. */
  includeUsage: boolean;
  /** Usage in every chunk. */
  continuousUsage: boolean;
}

const REQUEST_FIELDS = new Set([
  "model",
  "token_ids",
  "sampling_params",
  "cache_salt",
  "priority",
  "stream",
  "stream_options",
  "request_id",
  "features",
  "kv_transfer_params",
]);

const STREAM_FIELDS = new Set(["include_usage", "continuous_usage_stats"]);

const SAMPLING_FIELDS = new Set([
  "max_tokens",
  "min_tokens",
  "temperature",
  "top_p",
  "top_k",
  "seed",
  "n",
  "min_p",
  ...LOGIT_FIELDS,
  "structured_outputs",
  "logprobs",
  "prompt_logprobs",
  "routed_experts_prompt_start",
  "stop",
  "stop_token_ids",
  "ignore_eos",
  "skip_special_tokens",
]);

/** Fields of vLLM that change only the text, which this endpoint does not send. */
const TEXT_FIELDS = new Set([
  "detokenize",
  "spaces_between_special_tokens",
  "include_stop_str_in_output",
  "output_kind",
]);

/** Fields that are refused unless they have the value that changes nothing. */
const NEUTRAL: Record<string, unknown> = { length_penalty: 1, best_of: 1, use_beam_search: false };

/** Lists and maps that do nothing when they are empty. */
const NEUTRAL_WHEN_EMPTY = new Set(["logits_processors", "logprob_token_ids", "extra_args"]);

/**
 * Parses `body` into a request. Errors: PRL_INFERENCE_REQUEST or PRL_INFERENCE_UNSUPPORTED naming the field.
 *
 * @param options `echoes`: the answer has the prompt, so that it may have nothing else
 */
export function parseGenerateRequest(
  body: unknown,
  limits: RequestLimits,
  { echoes = false }: { readonly echoes?: boolean } = {},
): ParsedRequest {
  const request = object(body, "body");
  for (const name in request) if (!REQUEST_FIELDS.has(name)) refuseUnknown(name, request[name], REQUEST_FIELDS);
  const adapter = servedAdapter(request["model"], limits);
  for (const name of ["features", "kv_transfer_params"]) {
    if (!isAbsent(request[name])) throw unsupported(`${name}: the embedded engine has no such thing; leave it out`);
  }
  const params = object(request["sampling_params"] ?? {}, "sampling_params");
  for (const name in params) checkSamplingField(name, params[name]);

  const promptTokenIds = tokenIds(request["token_ids"], limits);
  const promptLogprobs = logprobCount(params["prompt_logprobs"], "sampling_params.prompt_logprobs");
  const stream = flag(request["stream"], "stream");
  if (adapter !== null && promptLogprobs !== null)
    throw unsupported("sampling_params.prompt_logprobs: prompts are scored without the adapter that model names");
  if (stream && promptLogprobs !== null)
    throw badRequest("sampling_params.prompt_logprobs", "not available when stream is true");
  const streamOptions = object(request["stream_options"] ?? {}, "stream_options");
  for (const name in streamOptions)
    if (!STREAM_FIELDS.has(name)) refuseUnknown(`stream_options.${name}`, streamOptions[name], STREAM_FIELDS);
  return {
    adapter,
    requestId: text(request["request_id"], "request_id"),
    promptTokenIds,
    maxTokens: maxTokens(params["max_tokens"], promptTokenIds.length, echoes || promptLogprobs !== null, limits),
    minTokens: integer(params["min_tokens"], "sampling_params.min_tokens", 0, 0),
    temperature: number(params["temperature"], "sampling_params.temperature", 1, { least: 0, most: Number.MAX_VALUE }),
    topP: topP(params["top_p"]),
    topK: integer(params["top_k"], "sampling_params.top_k", -1, -1),
    minP: number(params["min_p"], "sampling_params.min_p", 0, { least: 0, most: 1 }),
    ...logitControls(params, limits.vocabSize),
    structuredOutput: structuredOutput(params["structured_outputs"]),
    seed: isAbsent(params["seed"]) ? null : integer(params["seed"], "sampling_params.seed", 0, 0),
    stopTokenIds: stopTokenIds(params["stop_token_ids"], limits.vocabSize),
    stop: stopStrings(params["stop"]),
    skipSpecialTokens: flag(params["skip_special_tokens"] ?? true, "sampling_params.skip_special_tokens"),
    ignoreEos: flag(params["ignore_eos"], "sampling_params.ignore_eos"),
    logprobs: logprobCount(params["logprobs"], "sampling_params.logprobs"),
    promptLogprobs,
    routedExpertsFrom: routedExpertsFrom(params["routed_experts_prompt_start"], promptTokenIds.length, limits),
    choices: choices(params["n"]),
    cacheSalt: text(request["cache_salt"], "cache_salt"),
    priority: integer(request["priority"], "priority", 0, -Number.MAX_SAFE_INTEGER),
    stream,
    includeUsage: flag(streamOptions["include_usage"], "stream_options.include_usage"),
    continuousUsage: flag(streamOptions["continuous_usage_stats"], "stream_options.continuous_usage_stats"),
  };
}

// ---- one check per kind of field ----

/** The adapter that `model` names; null when it names the model. Errors: 404 for a model that is not served here. */
export function servedAdapter(value: unknown, { servedModelNames: served, adapters }: RequestLimits): string | null {
  const model = text(value, "model");
  if (model === null || served.includes(model)) return null;
  if (adapters.has(model)) return model;
  if (served.length > 0) {
    const names = served.map((name) => `"${name}"`).join(", ");
    throw new HttpError(404, "PRL_INFERENCE_REQUEST", `model: "${model}" is not served here, but ${names}`);
  }
  return null;
}

function checkSamplingField(name: string, value: unknown): void {
  if (SAMPLING_FIELDS.has(name) || TEXT_FIELDS.has(name) || value === null) return;
  if (Object.hasOwn(NEUTRAL, name) && value === NEUTRAL[name]) return;
  if (NEUTRAL_WHEN_EMPTY.has(name) && isEmpty(value)) return;
  const known = Object.hasOwn(NEUTRAL, name) ? ` other than ${JSON.stringify(NEUTRAL[name])}` : "";
  throw badRequest(`sampling_params.${name}`, `not supported${known}: it could change what is sampled`);
}

function refuseUnknown(name: string, value: unknown, known: ReadonlySet<string>): void {
  if (value === null) return;
  throw badRequest(name, `unknown field; known are ${[...known].join(", ")}`);
}

/** `[]` or `{}`. */
function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

function tokenIds(value: unknown, { vocabSize, maxModelLen }: RequestLimits): Uint32Array {
  if (!Array.isArray(value) || value.length === 0)
    throw badRequest("token_ids", "must be a non-empty list of token ids");
  if (value.length > maxModelLen) {
    throw tooLong(`${value.length} tokens are more than max_model_len, ${maxModelLen}`);
  }
  const ids = new Uint32Array(value.length);
  for (let index = 0; index < ids.length; index++) {
    const id: unknown = value[index];
    if (!isTokenId(id, vocabSize)) {
      throw badRequest(`token_ids[${index}]`, `must be an integer from 0 to ${vocabSize - 1}, got ${shown(id)}`);
    }
    ids[index] = id;
  }
  return ids;
}

function tooLong(problem: string): PrlError {
  return new PrlError("PRL_INFERENCE_CONTEXT", `token_ids: ${problem}`);
}

/**
 * vLLM's rule: absent means the rest of the context, a larger value is cut to that. 0 only repeats the prompt, which vLLM does for a text, or scores it, which
 * is our addition.
 */
function maxTokens(value: unknown, promptLength: number, mayBeNone: boolean, { maxModelLen }: RequestLimits): number {
  const field = "sampling_params.max_tokens";
  const room = maxModelLen - promptLength;
  const asked = isAbsent(value) ? Math.max(room, 1) : integer(value, field, 0, 0);
  if (asked === 0) {
    if (mayBeNone) return 0;
    throw badRequest(
      field,
      "must be at least 1 (0 only scores a prompt, with prompt_logprobs, or repeats a text, with echo)",
    );
  }
  if (room === 0) {
    throw tooLong(`${promptLength} tokens leave no room to sample: max_model_len is ${maxModelLen}`);
  }
  return Math.min(asked, room);
}

function stopTokenIds(value: unknown, vocabSize: number): number[] {
  if (isAbsent(value)) return [];
  if (!Array.isArray(value)) throw badRequest("sampling_params.stop_token_ids", "must be a list of token ids");
  return value.map((id: unknown, index) => {
    if (isTokenId(id, vocabSize)) return id;
    const problem = `must be an integer from 0 to ${vocabSize - 1}, got ${shown(id)}`;
    throw badRequest(`sampling_params.stop_token_ids[${index}]`, problem);
  });
}

function stopStrings(value: unknown): string[] {
  const field = "sampling_params.stop";
  const list: unknown[] = isAbsent(value) ? [] : Array.isArray(value) ? value : [value];
  return list.map((entry) => {
    if (typeof entry === "string" && entry !== "") return entry;
    throw badRequest(field, `must be a non-empty string or a list of such, got ${shown(value)}`);
  });
}

function topP(value: unknown): number {
  const p = number(value, "sampling_params.top_p", 1, { least: 0, most: 1 });
  if (p === 0) throw badRequest("sampling_params.top_p", "must be above 0 and at most 1, got 0");
  return p;
}

function choices(value: unknown): number {
  const count = integer(value, "sampling_params.n", 1, 1);
  if (count <= MAX_CHOICES) return count;
  throw badRequest("sampling_params.n", `must be at most ${MAX_CHOICES}, got ${count}`);
}

/** vLLM's rule: the server's flag decides, and a request may leave out experts that it has. */
function routedExpertsFrom(
  value: unknown,
  promptLength: number,
  { returnsRoutedExperts }: RequestLimits,
): number | null {
  const field = "sampling_params.routed_experts_prompt_start";
  const first = integer(value, field, 0, 0);
  if (first > promptLength) throw badRequest(field, `is ${first}, and token_ids has ${promptLength} tokens`);
  if (first > 0 && !returnsRoutedExperts) {
    throw unsupported(`${field}: this server returns no experts; start it with --enable-return-routed-experts`);
  }
  return returnsRoutedExperts ? first : null;
}

function logprobCount(value: unknown, field: string): number | null {
  if (isAbsent(value)) return null;
  if (value === -1) throw unsupported(`${field}: those of the whole vocabulary; at most ${MAX_TOP_LOGPROBS}`);
  const count = integer(value, field, 0, 0);
  if (count <= MAX_TOP_LOGPROBS) return count;
  throw badRequest(field, `must be at most ${MAX_TOP_LOGPROBS}, got ${count}`);
}
