/**
 * Control of one embedded inference server: pause, resume, weights, health, metrics.
 *
 * It has connections of its own, so that no control call waits behind generation, and a deadline per kind of call. Everything here may
 * safely be repeated: each call names the state that it wants.
 */

import { PrlError } from "../../errors.ts";
import { Connections, exchange, InferenceClient, type WeightSource } from "../../transports/index.ts";
import { type EngineLoad, parseEngineLoad } from "../engine-load.ts";

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

export interface ServedModel {
  id: string;
  maxModelLen: number;
}

export interface AdminDeadlines {
  /** Pause, resume, cache reset. Default 5 minutes. */
  controlMs: number;
  /** Loading weights. Default 12 minutes. */
  updateMs: number;
  /** Health, models, metrics. Default 10 s. */
  statusMs: number;
}

type WireHealth = Omit<EngineHealth, "policyVersion"> & { policy_version: number };

interface WireModels {
  data: { id: string; max_model_len: number }[];
}

const DEFAULT_DEADLINES: AdminDeadlines = { controlMs: 300_000, updateMs: 720_000, statusMs: 10_000 };
const CONNECTIONS = 4;
const KEEP_ALIVE_MS = 30_000;
const RETRIES = 5;

/** Controls one inference server. Errors of every call: PRL_INFERENCE_UNREACHABLE, _TIMEOUT, _REQUEST, _UNSUPPORTED, _FAILED. */
export class InferenceAdmin {
  readonly url: string;
  readonly #pool: Connections;
  readonly #scoring: InferenceClient;
  readonly #deadlines: AdminDeadlines;
  readonly #retries: number;

  /** `retries`: of each call that reaches nobody. */
  constructor(options: { url: string; deadlines?: Partial<AdminDeadlines>; retries?: number }) {
    this.url = options.url.replace(/\/+$/, "");
    this.#deadlines = { ...DEFAULT_DEADLINES, ...options.deadlines };
    this.#retries = options.retries ?? RETRIES;
    this.#pool = new Connections(this.url, { connections: CONNECTIONS, keepAliveTimeout: KEEP_ALIVE_MS });
    this.#scoring = new InferenceClient({ url: this.url, connections: 1, deadlineMs: this.#deadlines.controlMs });
  }

  /** keep freezes running requests until `resume`, wait lets them end, abort ends them. */
  async pause(mode: "keep" | "wait" | "abort", signal?: AbortSignal): Promise<void> {
    await this.#post(`/pause?mode=${mode}`, undefined, this.#deadlines.controlMs, signal);
  }

  /** Does nothing when the engine is not paused. */
  async resume(signal?: AbortSignal): Promise<void> {
    await this.#post("/resume", undefined, this.#deadlines.controlMs, signal);
  }

  /** Makes the engine sample with a version; `skipped` when it has it already. */
  async updateWeights(weights: WeightVersion, signal?: AbortSignal): Promise<{ skipped: boolean }> {
    const answer = await this.#post("/update_weights", weights, this.#deadlines.updateMs, signal);
    const { skipped } = this.#parse("/update_weights", answer) as { skipped?: boolean };
    return { skipped: skipped === true };
  }

  /** Makes the engine pull a version and serve it to others; it goes on sampling with what it has. */
  async prefetchWeights(weights: WeightVersion, signal?: AbortSignal): Promise<void> {
    await this.#post("/prefetch_weights", weights, this.#deadlines.updateMs, signal);
  }

  async resetPrefixCache(signal?: AbortSignal): Promise<void> {
    await this.#post("/reset_prefix_cache", undefined, this.#deadlines.controlMs, signal);
  }

  /** Log-probabilities of a prompt under the current weights, paused or not: the canary. */
  async promptLogprobs(tokenIds: Uint32Array | readonly number[], signal?: AbortSignal): Promise<Float32Array> {
    const { logprobs } = await this.#scoring.promptLogprobs(tokenIds, signal === undefined ? {} : { signal });
    return logprobs;
  }

  async health(signal?: AbortSignal): Promise<EngineHealth> {
    const answer = this.#parse("/health", await this.#get("/health", signal)) as WireHealth;
    const { policy_version: policyVersion, ...rest } = answer;
    return { ...rest, policyVersion };
  }

  /** What the engine is, and where it serves weights; "" and null where it does not say. */
  async about(signal?: AbortSignal): Promise<{ isa: string; dtype: string; weights: string | null }> {
    const answer = this.#parse("/version", await this.#get("/version", signal));
    const {
      isa = "",
      dtype = "",
      weights = null,
    } = answer as { isa?: string; dtype?: string; weights?: string | null };
    return { isa, dtype, weights };
  }

  async models(signal?: AbortSignal): Promise<ServedModel[]> {
    const { data } = this.#parse("/v1/models", await this.#get("/v1/models", signal)) as WireModels;
    return data.map(({ id, max_model_len: maxModelLen }) => ({ id, maxModelLen }));
  }

  /** Every metric by its name without labels and without the prefix `vllm:`. */
  async metrics(signal?: AbortSignal): Promise<Map<string, number>> {
    const values = new Map<string, number>();
    for (const line of (await this.#get("/metrics", signal)).split("\n")) {
      const match = /^(?:vllm:)?([^\s{#]+)(?:\{.*\})? (\S+)$/.exec(line);
      if (match?.[1] !== undefined) values.set(match[1], Number(match[2]));
    }
    return values;
  }

  /** How busy the server is; null when its metrics do not say. */
  async load(signal?: AbortSignal): Promise<EngineLoad | null> {
    return parseEngineLoad(await this.#get("/metrics", signal));
  }

  /** Ends all connections. */
  async close(): Promise<void> {
    await Promise.all([this.#pool.destroy(), this.#scoring.close()]);
  }

  #get(path: string, signal: AbortSignal | undefined): Promise<string> {
    const deadlineMs = this.#deadlines.statusMs;
    return exchange(this.#pool, this.url, { method: "GET", path, deadlineMs, signal, retries: this.#retries });
  }

  #post(path: string, body: unknown, deadlineMs: number, signal: AbortSignal | undefined): Promise<string> {
    const text = body === undefined ? {} : { body: JSON.stringify(body) };
    return exchange(this.#pool, this.url, {
      method: "POST",
      path,
      ...text,
      deadlineMs,
      signal,
      retries: this.#retries,
    });
  }

  #parse(path: string, text: string): unknown {
    try {
      return JSON.parse(text) as unknown;
    } catch (cause) {
      throw new PrlError("PRL_INFERENCE_FAILED", `${this.url}${path}: the answer is not JSON`, { cause });
    }
  }
}
