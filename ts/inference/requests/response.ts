/**
 * Writes answers of `POST /inference/v1/generate` as JSON text: vLLM's shapes plus `policy_versions`.
 *
 * It builds the text directly, because nearly all of it is numbers: no intermediate objects per token. Log-probabilities are printed so
 * that a reader gets the same f32 bits back; like vLLM's they are never below -9999.
 */
import type { GenerateIncrement } from "../../native/index.ts";
import { PrlError } from "../../errors.ts";

/** The result of one request so far, or one chunk of it. */
export interface Completion {
  tokenIds: Uint32Array;
  logprobs: Float32Array;
  /** `[first token, version]`, counting within `tokenIds`; the first entry is at 0 unless there are no tokens. */
  policyVersions: [number, number][];
  finishReason: GenerateIncrement["finishReason"];
  stopReason: number | string | null;
}

export interface Usage {
  promptTokens: number;
  completionTokens: number;
  cachedTokens: number;
}

const LEAST_LOGPROB = -9999;

export interface WholeAnswer {
  requestId: string;
  completion: Completion;
  topLogprobs: 0 | 1 | null;
  /** As JSON; null: not requested. */
  promptLogprobs: string | null;
  usage: Usage;
}

/** The whole answer to a request that does not stream. */
export function responseJson({ requestId, completion, topLogprobs, promptLogprobs, usage }: WholeAnswer): string {
  return (
    `{"request_id":${JSON.stringify(requestId)},"choices":[${choiceJson(completion, topLogprobs)}],` +
    `"prompt_logprobs":${promptLogprobs ?? "null"},"kv_transfer_params":null,"usage":${usageJson(usage)}}`
  );
}

/** One chunk of a stream; a null completion gives the last chunk, which has only the usage. */
export function chunkJson(
  requestId: string,
  completion: Completion | null,
  topLogprobs: 0 | 1 | null,
  usage: Usage | null,
): string {
  const choices = completion === null ? "" : choiceJson(completion, topLogprobs);
  const tail = usage === null ? "" : `,"usage":${usageJson(usage)}`;
  return `{"request_id":${JSON.stringify(requestId)},"choices":[${choices}]${tail}}`;
}

/**
 * vLLM's `prompt_logprobs`: null for the first token, then one object per token with its own id as the only key.
 * `logprobs[t]` is the value of `tokenIds[t]` given its predecessors.
 */
export function promptLogprobsJson(tokenIds: Uint32Array, logprobs: Float32Array): string {
  let json = "[null";
  for (let index = 1; index < tokenIds.length; index++) {
    const logprob = logprobText(logprobs[index] ?? Number.NaN);
    json += `,{"${tokenIds[index] ?? 0}":{"logprob":${logprob},"rank":null,"decoded_token":null}}`;
  }
  return `${json}]`;
}

function choiceJson(completion: Completion, topLogprobs: 0 | 1 | null): string {
  const { tokenIds, finishReason, stopReason, policyVersions } = completion;
  const logprobs = topLogprobs === null ? "null" : logprobsJson(completion, topLogprobs);
  return (
    `{"index":0,"token_ids":[${tokenIds.join(",")}],"logprobs":${logprobs},"finish_reason":${quoted(finishReason)},` +
    `"stop_reason":${typeof stopReason === "string" ? JSON.stringify(stopReason) : String(stopReason)},` +
    `"routed_experts":null,"policy_versions":${JSON.stringify(policyVersions)}}`
  );
}

/**
 * vLLM puts the sampled token first into `top_logprobs`, also for `logprobs: 0`, where this server leaves it out. The engine does not
 * rank tokens.
 */
function logprobsJson({ tokenIds, logprobs }: Completion, topLogprobs: 0 | 1): string {
  let json = '{"content":[';
  for (let index = 0; index < tokenIds.length; index++) {
    const entry = `"token_id":${tokenIds[index] ?? 0},"logprob":${logprobText(logprobs[index] ?? Number.NaN)},"rank":null`;
    const top = topLogprobs === 0 ? "" : `{${entry}}`;
    json += `${index === 0 ? "" : ","}{${entry},"top_logprobs":[${top}]}`;
  }
  return `${json}]}`;
}

function usageJson({ promptTokens, completionTokens, cachedTokens }: Usage): string {
  return (
    `{"prompt_tokens":${promptTokens},"completion_tokens":${completionTokens},` +
    `"total_tokens":${promptTokens + completionTokens},"prompt_tokens_details":{"cached_tokens":${cachedTokens}}}`
  );
}

function quoted(reason: string | null): string {
  return reason === null ? "null" : `"${reason}"`;
}

function logprobText(value: number): string {
  const logprobOnWire = wireLogprob(value);
  return Object.is(logprobOnWire, -0) ? "-0" : String(logprobOnWire);
}

/** A log-probability for an answer: finite. Errors: PRL_INFERENCE_FAILED for NaN. */
export function wireLogprob(value: number): number {
  if (!Number.isNaN(value)) return Math.max(value, LEAST_LOGPROB);
  throw new PrlError(
    "PRL_INFERENCE_FAILED",
    "the engine computed a log-probability that is not a number: check the weights",
  );
}
