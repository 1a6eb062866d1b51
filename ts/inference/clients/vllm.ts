/**
 * Control of a vLLM server (`vllm serve`, VLLM_SERVER_DEV_MODE=1), with the calls of `InferenceAdmin`.
 *
 * Read from vLLM's sources, main of 2026 (its routers `serve/disagg`, `serve/dev/rlhf`, `serve/dev/rpc` and `serve/dev/cache`; no release with
 * `/weight_info` was met, and no live server): a stand-in written after them is what the tests run against.
 *
 * - Weights come from a folder that both machines see: `/collective_rpc reload_weights`, then the prefix cache is emptied, then
 *   `/update_weight_version` notes `<version> <digest>`. A server without that note holds weights that nobody can name.
 * - Which version samples is asked before and after each request (`InferenceClient`), not told per token. So a request must not live through a
 *   swap: `pause` waits for those that run, whatever mode is asked for, and the server holds new ones back.
 * - Log-probabilities are those of sampling only with `--logprobs-mode processed_logprobs`.
 */
import { Pool } from "undici";

import { PrlError } from "../../errors.ts";
import { exchange, InferenceHttpError, PromptScorer, readWeightInfo, weightNote } from "../../transports/index.ts";
import { type EngineLoad, parseEngineLoad } from "../engine-load.ts";
import type { AdminDeadlines, EngineHealth, InferenceAdmin, ServedModel, WeightVersion } from "./embedded.ts";

const DEFAULT_DEADLINES: AdminDeadlines = { controlMs: 300_000, updateMs: 720_000, statusMs: 10_000 };
const CONNECTIONS = 4;
const RETRIES = 5;

/** What is asked of a server beside rollouts. */
type Admin = Pick<
  InferenceAdmin,
  | "prefetchWeights"
  | "pause"
  | "updateWeights"
  | "resume"
  | "promptLogprobs"
  | "health"
  | "load"
  | "about"
  | "models"
  | "close"
>;

/** Errors of every call as those of `InferenceAdmin`. */
export class VllmAdmin implements Admin {
  readonly url: string;
  readonly #pool: Pool;
  readonly #scorer: PromptScorer;
  readonly #deadlines: AdminDeadlines;
  readonly #retries: number;

  constructor(options: { url: string; deadlines?: Partial<AdminDeadlines>; retries?: number }) {
    this.url = options.url.replace(/\/+$/, "");
    this.#deadlines = { ...DEFAULT_DEADLINES, ...options.deadlines };
    this.#retries = options.retries ?? RETRIES;
    this.#pool = new Pool(this.url, { connections: CONNECTIONS });
    this.#scorer = new PromptScorer({ url: this.url, deadlineMs: this.#deadlines.controlMs, connections: 1 });
  }

  /** Requests that run are awaited, also where they were to be kept. */
  async pause(_mode: "keep" | "wait" | "abort", signal?: AbortSignal): Promise<void> {
    await this.#post("/pause?mode=wait", undefined, this.#deadlines.controlMs, signal);
  }

  async resume(signal?: AbortSignal): Promise<void> {
    await this.#post("/resume", undefined, this.#deadlines.controlMs, signal);
  }

  /** Errors besides: PRL_INFERENCE_UNSUPPORTED for weights that do not come from a folder. */
  async updateWeights({ version, digest, source }: WeightVersion, signal?: AbortSignal): Promise<{ skipped: boolean }> {
    if (!("dir" in source)) throw this.#noGrpc();
    const note = weightNote(version, digest);
    if ((await this.#weightInfo(signal)) === note) return { skipped: true };
    const { updateMs, controlMs } = this.#deadlines;
    const reload = { method: "reload_weights", kwargs: { weights_path: source.dir } };
    await this.#post("/collective_rpc", reload, updateMs, signal);
    await this.#post("/reset_prefix_cache", undefined, controlMs, signal);
    await this.#post("/update_weight_version", { new_version: note }, controlMs, signal);
    return { skipped: false };
  }

  async prefetchWeights(): Promise<void> {
    throw this.#noGrpc();
  }

  /** Asks for one token besides, which vLLM wants; so not while it is paused. */
  async promptLogprobs(tokenIds: Uint32Array | readonly number[], signal?: AbortSignal): Promise<Float32Array> {
    return this.#scorer.score(Uint32Array.from(tokenIds), signal);
  }

  /** `policyVersion` is -1 and `digest` null where the weights are none that were brought by `updateWeights`. */
  async health(signal?: AbortSignal): Promise<EngineHealth> {
    await this.#get("/health", signal);
    const [note, paused, load] = await Promise.all([
      this.#weightInfo(signal),
      this.#get("/is_paused", signal),
      this.load(signal),
    ]);
    const { is_paused: isPaused } = this.#parse("/is_paused", paused) as { is_paused?: boolean };
    const [version = "", digest = null] = note?.split(" ") ?? [];
    return {
      status: "ok",
      paused: isPaused === true,
      policyVersion: digest === null ? -1 : Number(version),
      digest,
      running: load?.running ?? 0,
      waiting: load?.waiting ?? 0,
    };
  }

  async load(signal?: AbortSignal): Promise<EngineLoad | null> {
    return parseEngineLoad(await this.#get("/metrics", signal));
  }

  /** vLLM tells no instruction set. Errors besides: PRL_INFERENCE_UNSUPPORTED for a server that cannot note its weights. */
  async about(signal?: AbortSignal): Promise<{ isa: string; dtype: string; weights: null }> {
    await this.#get("/version", signal);
    await this.#weightInfo(signal);
    return { isa: "", dtype: "", weights: null };
  }

  async models(signal?: AbortSignal): Promise<ServedModel[]> {
    const { data = [] } = this.#parse("/v1/models", await this.#get("/v1/models", signal)) as {
      data?: { id: string; max_model_len: number }[];
    };
    return data.map(({ id, max_model_len: maxModelLen }) => ({ id, maxModelLen }));
  }

  async close(): Promise<void> {
    await Promise.all([this.#pool.destroy(), this.#scorer.close()]);
  }

  async #weightInfo(signal: AbortSignal | undefined): Promise<string | null> {
    try {
      return readWeightInfo(await this.#get("/weight_info", signal));
    } catch (cause) {
      if (!(cause instanceof InferenceHttpError) || cause.status !== 404) throw cause;
      const advice = "start vLLM with VLLM_SERVER_DEV_MODE=1, in a version that has this endpoint";
      throw new PrlError("PRL_INFERENCE_UNSUPPORTED", `${this.url} has no /weight_info: ${advice}`, { cause });
    }
  }

  #noGrpc(): PrlError {
    const message = `${this.url}: vLLM loads weights from a folder: set weight_broadcast.type = "filesystem"`;
    return new PrlError("PRL_INFERENCE_UNSUPPORTED", message);
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
