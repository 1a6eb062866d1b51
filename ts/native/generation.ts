/** Requests to the engine and what it gives back, and their conversion to and from native code. */

import type { NativeEngine, NativeGrammar, NativeIncrement } from "#native";
import { z } from "zod";

import { PrlError } from "../errors.ts";
import { checkOptions, number, numbers, only } from "../options.ts";
import type { RoutedExperts } from "./batches/columns.ts";
import { expertsFromNative } from "./batches/routed-experts.ts";
import { whole, wholes } from "./checks.ts";
import { carriedError } from "./errors.ts";
import { type StructuredOutput, structuredOutputSchema } from "./formats/structured-output.ts";

/** Exactly one prompt to continue. */
export interface GenerateRequest {
  /** Names the request in its increments; unique within its `generate` call. */
  id: string;
  promptTokenIds: Uint32Array | number[];
  /** Most tokens to sample, the stop token included. */
  maxTokens: number;
  /** End-of-sequence and stop tokens cannot be sampled before this many tokens. Default 0. */
  minTokens?: number;
  /** 0 is argmax (lowest id on ties) and reports log-probabilities at temperature 1. Default 1. */
  temperature?: number;
  /** Default 1 (off). */
  topP?: number;
  /** Default -1 (off). */
  topK?: number;
  /** Leaves out tokens less probable than this share of the most probable one. Default 0 (off). */
  minP?: number;
  /** Divides positive and multiplies negative logits of tokens in prompt or completion. Default 1 (off). */
  repetitionPenalty?: number;
  /** Taken off a token's logit for each time it is in the completion, -2 to 2. Default 0. */
  frequencyPenalty?: number;
  /** Taken off the logits of tokens in the completion, -2 to 2. Default 0. */
  presencePenalty?: number;
  /** Numbers to add to the logits of tokens, at most 1,024. */
  logitBias?: ReadonlyMap<number, number>;
  /** The only tokens that can be sampled. */
  allowedTokenIds?: Uint32Array | number[];
  /** Token sequences that are not completed: at most 128 with 1,024 tokens. */
  badWords?: readonly (Uint32Array | number[])[];
  /** The format that the text of the completion has to match. The model's folder needs its tokenizer.json. Default: nothing. */
  structuredOutput?: StructuredOutput;
  /** Reports each token's rank and so many of the most probable tokens, 0 to 20. Default: neither. */
  topLogprobs?: number;
  /** Reports the experts that tokens went to, from this token of the prompt on; only models with mixtures of experts. Default: none. */
  routedExpertsFrom?: number;
  /** Up to 2^53 - 1. The same seed gives the same tokens, whatever else runs. Default 0. */
  seed?: number;
  stopTokenIds?: number[];
  ignoreEos?: boolean;
  /** Requests share cached prefixes only within one salt. */
  cacheSalt?: string;
  /** Name of a loaded adapter that computes the request. Default: the model's current weights. */
  adapter?: string;
  /** Lower runs earlier. Default 0. */
  priority?: number;
  /** One increment at the end instead of one per step. Default false. */
  finalOnly?: boolean;
}

/** Where tokens stand among all tokens of their places. */
export interface TokenRanking {
  /** One per token: how many tokens are at least as probable, itself included. */
  ranks: Uint32Array;
  /** The most probable tokens of each place, falling: one row per token, all of one length. */
  topTokenIds: Uint32Array;
  /** Their log-probabilities. */
  topLogprobs: Float32Array;
}

/** Seconds that the parts of a request took. */
export interface RequestTimes {
  /** Before its first step. */
  queued: number;
  /** From there to the first token. */
  prefill: number;
  /** From there to the last token so far. */
  decode: number;
}

export interface GenerateIncrement {
  id: string;
  tokenIds: Uint32Array;
  /** Log-probabilities of the processed distribution (after a format, penalties, biases, temperature and truncation), one per token. */
  logprobs: Float32Array;
  /** Set for requests with `topLogprobs`, unless there are no tokens. */
  ranking?: TokenRanking;
  /** Set for requests with `routedExpertsFrom`: further rows. All have one row fewer than there are tokens, because the last is not computed. */
  routedExperts?: RoutedExperts;
  /** `[first token, version]`: which policy version sampled from which token of the completion on. */
  policyVersions: [number, number][];
  finishReason: null | "stop" | "length" | "abort";
  /** The stop token, when one ended it. */
  stopReason: number | null;
  /** Prompt tokens whose keys and values came from the prefix cache. */
  cachedTokens: number;
  /** Set with the first token, and at the end of a request that has one. */
  times?: RequestTimes;
  /**
   * Set when this request was refused (PRL_ENGINE_INPUT, PRL_GRAMMAR_*, PRL_ENGINE_CAPACITY where too many are held) or could not be
   * computed (PRL_ENGINE_FAILED); the others go on. PRL_NATIVE_PANIC ends all.
   */
  error?: PrlError;
}

export type NativeRequest = Parameters<NativeEngine["submit"]>[0][number];

const CODE = "PRL_ENGINE_INPUT";
const MAX_SEED = Number.MAX_SAFE_INTEGER;
const NO_TOKENS = new Uint32Array(0);
const NO_LOGPROBS = new Float32Array(0);

/** The engine's limit, which is vLLM's too. */
const MAX_TOP_LOGPROBS = 20;
const penalty = z.number().min(-2).max(2);
const someNumbers = numbers.refine(({ length }) => length > 0, "must not be empty");

const requestSchema = only<GenerateRequest>({
  id: z.string(),
  promptTokenIds: numbers,
  maxTokens: number,
  minTokens: number.optional(),
  temperature: z.number().optional(),
  topP: z.number().optional(),
  topK: number.optional(),
  minP: z.number().min(0).max(1).optional(),
  repetitionPenalty: z.number().positive().optional(),
  frequencyPenalty: penalty.optional(),
  presencePenalty: penalty.optional(),
  logitBias: z.map(number, z.number(), "must be a Map from token ids to numbers").optional(),
  allowedTokenIds: someNumbers.optional(),
  badWords: z.array(someNumbers).optional(),
  structuredOutput: structuredOutputSchema.optional(),
  topLogprobs: z.int().min(0).max(MAX_TOP_LOGPROBS).optional(),
  routedExpertsFrom: number.optional(),
  seed: number.optional(),
  stopTokenIds: numbers.optional(),
  ignoreEos: z.boolean().optional(),
  cacheSalt: z.string().optional(),
  adapter: z.string().optional(),
  priority: number.optional(),
  finalOnly: z.boolean().optional(),
});

/** The request under the engine's `id`, with its compiled format. Errors: PRL_ENGINE_INPUT naming what is wrong. */
export function toNativeRequest(request: GenerateRequest, id: string, format: NativeGrammar | null): NativeRequest {
  checkOptions(CODE, "generate", requestSchema, request);
  return {
    id,
    promptTokenIds: wholes(CODE, "promptTokenIds", request.promptTokenIds),
    maxTokens: whole(CODE, "maxTokens", request.maxTokens),
    minTokens: whole(CODE, "minTokens", request.minTokens ?? 0),
    temperature: request.temperature ?? 1,
    topP: request.topP ?? 1,
    topK: whole(CODE, "topK", request.topK ?? -1, { min: -1 }),
    minP: request.minP ?? 0,
    controls: toNativeControls(request),
    format,
    topLogprobs: request.topLogprobs === undefined ? null : whole(CODE, "topLogprobs", request.topLogprobs),
    routedExpertsFrom:
      request.routedExpertsFrom === undefined ? null : whole(CODE, "routedExpertsFrom", request.routedExpertsFrom),
    seed: whole(CODE, "seed", request.seed ?? 0, { max: MAX_SEED }),
    stopTokenIds: [...wholes(CODE, "stopTokenIds", request.stopTokenIds ?? [])],
    ignoreEos: request.ignoreEos ?? false,
    cacheSalt: request.cacheSalt ?? null,
    adapter: request.adapter ?? null,
    priority: whole(CODE, "priority", request.priority ?? 0, { min: -MAX_SEED, max: MAX_SEED }),
    finalOnly: request.finalOnly ?? false,
  };
}

/** The changes that a request makes to logits; null when there are none. */
function toNativeControls(request: GenerateRequest): NativeRequest["controls"] {
  const { allowedTokenIds, badWords = [], logitBias = new Map<number, number>() } = request;
  const { repetitionPenalty = 1, frequencyPenalty = 0, presencePenalty = 0 } = request;
  const isPenalised = repetitionPenalty !== 1 || frequencyPenalty !== 0 || presencePenalty !== 0;
  if (allowedTokenIds === undefined && badWords.length === 0 && logitBias.size === 0 && !isPenalised) return null;
  return {
    allowedTokenIds: allowedTokenIds === undefined ? null : wholes(CODE, "allowedTokenIds", allowedTokenIds),
    badWords: badWords.map((word, index) => [...wholes(CODE, `badWords[${index}]`, word)]),
    biasTokenIds: wholes(CODE, "logitBias", [...logitBias.keys()]),
    biases: Float32Array.from(logitBias.values()),
    repetitionPenalty,
    frequencyPenalty,
    presencePenalty,
  };
}

/** An increment under the caller's `id`. */
export function fromNativeIncrement(increment: NativeIncrement, id: string): GenerateIncrement {
  const pairs = increment.policyVersions;
  const policyVersions: [number, number][] = [];
  for (let i = 0; i + 1 < pairs.length; i += 2) policyVersions.push([pairs[i] ?? 0, pairs[i + 1] ?? 0]);
  return {
    id,
    tokenIds: increment.tokenIds,
    logprobs: increment.logprobs,
    ...(increment.ranking === null ? {} : { ranking: increment.ranking }),
    ...(increment.routedExperts === null ? {} : { routedExperts: expertsFromNative(increment.routedExperts) }),
    policyVersions,
    finishReason: increment.finishReason as GenerateIncrement["finishReason"],
    stopReason: increment.stopReason,
    cachedTokens: increment.cachedTokens,
    ...(increment.times === null ? {} : { times: increment.times }),
    ...(increment.error === null ? {} : { error: carriedError(increment.error) }),
  };
}

export function invalidRequest(message: string): PrlError {
  return new PrlError(CODE, message);
}

/** The only increment of a request that never reached the engine. */
export function refusedIncrement(id: string, error: PrlError): GenerateIncrement {
  return {
    id,
    tokenIds: NO_TOKENS,
    logprobs: NO_LOGPROBS,
    policyVersions: [],
    finishReason: null,
    stopReason: null,
    cachedTokens: 0,
    error,
  };
}
