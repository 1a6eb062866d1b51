/** Control of one embedded inference server: pause, resume, weights, health, metrics. */

import { z } from "zod";

import { InferenceClient } from "./inference-client.ts";
import { type WeightSource } from "../transports/index.ts";
import type { EngineLoad } from "./engine-load.ts";
import { type AdminOptions, ControlCalls, type ServedModel } from "./control-calls.ts";

export interface WeightVersion {
  /** Policy version. */
  version: number;
  /** Digest of the version, 16 lower-case hex digits. */
  digest: string;
  /** Absolute path of its folder, or nodes to pull it from. */
  source: WeightSource;
}

export interface EngineHealth {
  status: string;
  paused: boolean;
  policyVersion: number;
  digest: string | null;
  running: number;
  waiting: number;
}

const healthSchema = z.object({
  status: z.string(),
  paused: z.boolean(),
  policy_version: z.int(),
  digest: z.string().nullable(),
  running: z.number(),
  waiting: z.number(),
});
const skippedSchema = z.object({ skipped: z.boolean().optional() });
const sleepingSchema = z.object({ is_sleeping: z.boolean().optional() });
const aboutSchema = z.object({
  isa: z.string().default(""),
  dtype: z.string().default(""),
  weights: z.string().nullable().default(null),
});

/** Controls one inference server. Errors of every call: PRL_INFERENCE_UNREACHABLE, _TIMEOUT, _REQUEST, _UNSUPPORTED, _FAILED. */
export class InferenceAdmin {
  readonly #calls: ControlCalls;
  readonly #scoring: InferenceClient;

  constructor(options: AdminOptions) {
    this.#calls = new ControlCalls(options);
    const { url, deadlines } = this.#calls;
    const { token = null } = options;
    const limits = { connections: 1, deadlineMs: deadlines.controlMs };
    this.#scoring = new InferenceClient({ url, ...limits, ...(token !== null && { apiKey: token }) });
  }

  get url(): string {
    return this.#calls.url;
  }

  /** `keep` freezes running requests until `resume`, `wait` lets them end, `abort` ends them. */
  async pause(mode: "keep" | "wait" | "abort", signal?: AbortSignal): Promise<void> {
    await this.#calls.post(`/pause?mode=${mode}`, undefined, signal);
  }

  /** Does nothing when the engine is not paused. */
  async resume(signal?: AbortSignal): Promise<void> {
    await this.#calls.post("/resume", undefined, signal);
  }

  /** Makes the engine sample with a version; `skipped` when it has it already. */
  async updateWeights(weights: WeightVersion, signal?: AbortSignal): Promise<{ skipped: boolean }> {
    const path = "/update_weights";
    const answer = await this.#calls.post(path, weights, signal, this.#calls.deadlines.updateMs);
    const { skipped } = this.#calls.parse(path, answer, skippedSchema);
    return { skipped: skipped === true };
  }

  /** Makes the engine pull a version and serve it to others; it goes on sampling with its present weights. */
  async prefetchWeights(weights: WeightVersion, signal?: AbortSignal): Promise<void> {
    await this.#calls.post("/prefetch_weights", weights, signal, this.#calls.deadlines.updateMs);
  }

  /** Frees the memory of the KV cache, with level 2 of the weights too; requests are kept. Additional error: PRL_INFERENCE_UNSUPPORTED for level 2. */
  async sleep(level: number, signal?: AbortSignal): Promise<void> {
    await this.#calls.post(`/sleep?level=${level}&mode=keep`, undefined, signal);
  }

  /** Takes the memory again; does nothing when the engine is awake. */
  async wakeUp(what: "weights" | "kv_cache", signal?: AbortSignal): Promise<void> {
    await this.#calls.post(`/wake_up?tags=${what}`, undefined, signal);
  }

  async isSleeping(signal?: AbortSignal): Promise<boolean> {
    return isSleeping(this.#calls, signal);
  }

  async resetPrefixCache(signal?: AbortSignal): Promise<void> {
    await this.#calls.post("/reset_prefix_cache", undefined, signal);
  }

  /** Log-probabilities of a prompt under the current weights, paused or not: the canary. */
  async promptLogprobs(tokenIds: Uint32Array | readonly number[], signal?: AbortSignal): Promise<Float32Array> {
    const { logprobs } = await this.#scoring.promptLogprobs(tokenIds, signal === undefined ? {} : { signal });
    return logprobs;
  }

  async health(signal?: AbortSignal): Promise<EngineHealth> {
    const answer = this.#calls.parse("/health", await this.#calls.get("/health", signal), healthSchema);
    const { policy_version: policyVersion, ...rest } = answer;
    return { ...rest, policyVersion };
  }

  /** The engine's instruction set and dtype, and the address where it serves weights; "" and null where it does not report them. */
  async about(signal?: AbortSignal): Promise<{ isa: string; dtype: string; weights: string | null }> {
    return this.#calls.parse("/version", await this.#calls.get("/version", signal), aboutSchema);
  }

  async models(signal?: AbortSignal): Promise<ServedModel[]> {
    return this.#calls.models(signal);
  }

  /** Every metric by its name without labels and without the prefix `vllm:`. */
  async metrics(signal?: AbortSignal): Promise<Map<string, number>> {
    const values = new Map<string, number>();
    for (const line of (await this.#calls.get("/metrics", signal)).split("\n")) {
      const match = /^(?:vllm:)?([^\s{#]+)(?:\{.*\})? (\S+)$/.exec(line);
      if (match?.[1] !== undefined) values.set(match[1], Number(match[2]));
    }
    return values;
  }

  /** Loads of the server's engines; empty when its metrics do not have them. */
  async load(signal?: AbortSignal): Promise<EngineLoad[]> {
    return this.#calls.load(signal);
  }

  /** Ends all connections. */
  async close(): Promise<void> {
    await Promise.all([this.#calls.close(), this.#scoring.close()]);
  }
}

/** As a server of either kind answers. */
export async function isSleeping(calls: ControlCalls, signal: AbortSignal | undefined): Promise<boolean> {
  const path = "/is_sleeping";
  const { is_sleeping: isAsleep } = calls.parse(path, await calls.get(path, signal), sleepingSchema);
  return isAsleep === true;
}
