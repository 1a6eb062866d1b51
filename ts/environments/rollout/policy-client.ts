/** How environment code reaches the policy: token ids in, token ids out. This file knows no transport. */

import type { TextFormat } from "../../message.ts";
import type { RoutedExperts } from "../../native/index.ts";
import { number, only } from "../../options.ts";

/** How completions are drawn. Log-probabilities are of this distribution. */
export interface Sampling {
  /** 0 is greedy, with the log-probabilities of temperature 1. */
  temperature: number;
  /** Most tokens of one completion; null leaves it to the engine's context length. */
  maxCompletionTokens: number | null;
  /** Nucleus sampling, 1 is off. */
  topP: number;
  /** Sample among the k likeliest tokens, -1 or 0 is off. */
  topK: number;
}

/** Some of the settings; the others keep their defaults. */
export const partialSamplingSchema = only<Partial<Sampling>>({
  temperature: number.optional(),
  maxCompletionTokens: number.nullable().optional(),
  topP: number.optional(),
  topK: number.optional(),
});

export interface PolicyRequest {
  tokenIds: Uint32Array;
  sampling: Sampling;
  seed: number;
  signal: AbortSignal;
  /** Texts that end the completion, which holds the tokens up to the end of the first. */
  stop?: readonly string[];
  /** The text is JSON of this JSON Schema or has this format, from the beginning on or behind the text `after`. */
  format?: ({ readonly jsonSchema: object | boolean } | TextFormat) & { readonly after?: string };
  /** Where the engine returns experts: those of the tokens from this one of `tokenIds` on. Default 0. */
  routedExpertsFrom?: number;
  /** A cancelled request resolves with the tokens so far, as `abort`, where the engine can give them. */
  keepsPartial?: boolean;
  /** Called with the tokens as they are sampled, where the client streams; a call that has passed tokens on is not tried again. */
  onTokens?: (tokenIds: readonly number[]) => void;
}

export interface PolicyCompletion {
  /** Sampled tokens, the stop token included. */
  tokenIds: Uint32Array;
  /** Log-probability of each sampled token, same length. */
  logprobs: Float32Array;
  /** `[first token, version]`: which policy version sampled the tokens from that index on; ascending, from 0. */
  policyVersions: readonly (readonly [number, number])[];
  finishReason: "stop" | "length" | "abort";
  /** Where the engine returns them: the experts of prompt and completion from `routedExpertsFrom` to the last token but one. */
  routedExperts?: RoutedExperts;
  /** The text of `stop`, or the token, that ended it. */
  stopReason?: number | string | null;
}

export interface PolicyClient {
  /** One completion. Rejects with the PRL_INFERENCE_ code of what went wrong. */
  generate(request: PolicyRequest): Promise<PolicyCompletion>;
}
