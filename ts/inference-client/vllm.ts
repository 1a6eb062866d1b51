/**
 * Control of a vLLM server with the calls of `InferenceAdmin`: `vllm serve` with VLLM_SERVER_DEV_MODE=1, --enable-scale-out (token ids in and
 * out) and --logprobs-mode processed_logprobs (those of sampling). Run against vLLM 0.32.0.
 *
 * - Weights come from a folder that both machines see: `/collective_rpc reload_weights`, then the results of the old weights are dropped, then
 *   `/update_weight_version` notes `<version> <digest>`. During the load the note says so: a failed reload has removed the old weights,
 *   and the weights of a server without our note are unknown.
 * - Adapters come by `/v1/load_lora_adapter` in place of the reload (VLLM_ALLOW_RUNTIME_LORA_UPDATING=1, --enable-lora), under the name that
 *   requests ask for; the model itself has another one.
 * - A server that was started with --enable-sleep-mode sleeps: level 1 keeps the weights in the machine's memory, level 2 drops them, so that the
 *   note says "loading" until a version was loaded. It schedules requests again as soon as weights and KV cache are awake, without /resume.
 * - From 0.32 on vLLM reports which note sampled which tokens (`weight_versions`): requests survive a swap, and their keys and
 *   values are computed anew. Older servers (0.29 has `/weight_info`, 0.26 does not) are asked for the note before and after each request
 *   (`InferenceClient`), so there a request must not survive a swap, and `pause` waits for running requests in every mode.
 */
import { z } from "zod";

import { PrlError } from "../errors.ts";
import { InferenceHttpError } from "./http-json.ts";
import { PromptScorer } from "./prompt-scorer.ts";
import { notedIn, weightInfoSchema, weightNote } from "./weight-note.ts";
import type { EngineLoad } from "./engine-load.ts";
import { type AdminOptions, ControlCalls, type ServedModel } from "./control-calls.ts";
import { type EngineHealth, type InferenceAdmin, isSleeping, type WeightVersion } from "./embedded.ts";

/** Requests to a server besides rollouts. */
type Admin = Pick<
  InferenceAdmin,
  | "prefetchWeights"
  | "pause"
  | "updateWeights"
  | "resume"
  | "sleep"
  | "wakeUp"
  | "isSleeping"
  | "promptLogprobs"
  | "health"
  | "load"
  | "about"
  | "models"
  | "close"
>;

export interface VllmAdminOptions extends AdminOptions {
  /** Versions are adapters, and requests ask for them by this name; null: versions are whole models. Default null. */
  adapter?: string | null;
}

const successSchema = z.object({ success: z.boolean().optional() });
const pausedSchema = z.object({ is_paused: z.boolean().optional() });
const versionSchema = z.object({ version: z.string().optional() });
const modelConfigSchema = z.object({ logprobs_mode: z.string().optional(), dtype: z.string().optional() });
const infoSchema = z.object({ vllm_config: z.object({ model_config: modelConfigSchema.optional() }).optional() });

/** The note while weights are loaded. */
const LOADING = "loading";
const GENERATE = "/inference/v1/generate";
const LOAD_ADAPTER = "/v1/load_lora_adapter";
/** This also preempts kept requests, so that they are computed anew. */
const RESET_CACHE = "/reset_prefix_cache?reset_running_requests=true";
const SERVER_INFO = "/server_info?config_format=json";
const NOT_FOUND = 404;
/** Major and minor of the first release with `weight_versions`. */
const TELLS_VERSIONS: readonly [number, number] = [0, 32];

/** The errors of every call are those of `InferenceAdmin`. */
export class VllmAdmin implements Admin {
  readonly #calls: ControlCalls;
  readonly #scorer: PromptScorer;
  readonly #adapter: string | null;

  /** `token`: its `--api-key`. */
  constructor({ adapter = null, ...options }: VllmAdminOptions) {
    this.#calls = new ControlCalls(options);
    this.#adapter = adapter;
    const { url, deadlines } = this.#calls;
    const key = options.token ?? null;
    const limits = { deadlineMs: deadlines.controlMs, connections: 1 };
    const model = adapter === null ? {} : { model: adapter };
    this.#scorer = new PromptScorer({ url, ...limits, ...model, ...(key !== null && { apiKey: key }) });
  }

  get url(): string {
    return this.#calls.url;
  }

  /** A server that does not report versions lets requests end, also when they should be kept. */
  async pause(mode: "keep" | "wait" | "abort", signal?: AbortSignal): Promise<void> {
    const allowed = (await this.#tellsVersions(signal)) ? mode : "wait";
    await this.#calls.post(`/pause?mode=${allowed}`, undefined, signal);
  }

  async resume(signal?: AbortSignal): Promise<void> {
    await this.#calls.post("/resume", undefined, signal);
  }

  /** Requests are kept as `pause` keeps them. Additional error: PRL_INFERENCE_UNSUPPORTED for a server that cannot sleep. */
  async sleep(level: number, signal?: AbortSignal): Promise<void> {
    if (level > 1) await this.#note(LOADING, signal);
    try {
      await this.#calls.post(`/sleep?level=${level}&mode=keep`, undefined, signal);
    } catch (cause) {
      if (!hasStatus(cause, NOT_FOUND)) throw cause;
      throw this.#unsupported("has no /sleep: start vLLM with --enable-sleep-mode", cause);
    }
  }

  async wakeUp(what: "weights" | "kv_cache", signal?: AbortSignal): Promise<void> {
    await this.#calls.post(`/wake_up?tags=${what}`, undefined, signal);
  }

  /** Also true when it is paused only. */
  async isSleeping(signal?: AbortSignal): Promise<boolean> {
    return isSleeping(this.#calls, signal);
  }

  /** Additional error: PRL_INFERENCE_UNSUPPORTED for weights that do not come from a folder. */
  async updateWeights({ version, digest, source }: WeightVersion, signal?: AbortSignal): Promise<{ skipped: boolean }> {
    if (!("dir" in source)) throw this.#noGrpc();
    const note = weightNote(version, digest);
    if ((await this.#weightInfo(signal)) === note) return { skipped: true };
    await this.#note(LOADING, signal);
    await this.#load(source.dir, signal);
    const answer = await this.#calls.post(RESET_CACHE, undefined, signal);
    // Versions before 0.32 may send an empty answer.
    const { success = true } = answer === "" ? {} : this.#calls.parse(RESET_CACHE, answer, successSchema);
    if (!success) {
      const message = `${this.url} did not drop what it had computed with the weights before version ${version}`;
      throw new PrlError("PRL_INFERENCE_FAILED", message);
    }
    await this.#note(note, signal);
    return { skipped: false };
  }

  async #load(dir: string, signal: AbortSignal | undefined): Promise<void> {
    const { updateMs } = this.#calls.deadlines;
    if (this.#adapter === null) {
      const reload = { method: "reload_weights", kwargs: { weights_path: dir } };
      await this.#calls.post("/collective_rpc", reload, signal, updateMs);
      return;
    }
    const adapter = { lora_name: this.#adapter, lora_path: dir, load_inplace: true };
    try {
      await this.#calls.post(LOAD_ADAPTER, adapter, signal, updateMs);
    } catch (cause) {
      if (!hasStatus(cause, NOT_FOUND)) throw cause;
      const advice = "start vLLM with VLLM_ALLOW_RUNTIME_LORA_UPDATING=1 and --enable-lora";
      throw this.#unsupported(`has no ${LOAD_ADAPTER}: ${advice}`, cause);
    }
  }

  async prefetchWeights(): Promise<void> {
    throw this.#noGrpc();
  }

  /** It also asks for one token, because vLLM requires it; so it does not work while the engine is paused. */
  async promptLogprobs(tokenIds: Uint32Array | readonly number[], signal?: AbortSignal): Promise<Float32Array> {
    return this.#scorer.score(Uint32Array.from(tokenIds), signal);
  }

  /** `policyVersion` is -1 and `digest` null where the weights did not come from `updateWeights`. */
  async health(signal?: AbortSignal): Promise<EngineHealth> {
    await this.#calls.get("/health", signal);
    const [note, paused, loads] = await Promise.all([
      this.#weightInfo(signal),
      this.#calls.get("/is_paused", signal),
      this.load(signal),
    ]);
    const { is_paused: isPaused } = this.#calls.parse("/is_paused", paused, pausedSchema);
    const [version = "", digest = null] = note?.split(" ") ?? [];
    return {
      status: "ok",
      paused: isPaused === true,
      policyVersion: digest === null ? -1 : Number(version),
      digest,
      running: loads.reduce((sum, { running }) => sum + running, 0),
      waiting: loads.reduce((sum, { waiting }) => sum + waiting, 0),
    };
  }

  async load(signal?: AbortSignal): Promise<EngineLoad[]> {
    return this.#calls.load(signal);
  }

  /**
   * vLLM does not report an instruction set. Additional error: PRL_INFERENCE_UNSUPPORTED for a server without the options that a run
   * needs.
   */
  async about(signal?: AbortSignal): Promise<{ isa: string; dtype: string; weights: null }> {
    await this.#weightInfo(signal);
    await this.#checkGenerate(signal);
    const { logprobs_mode: mode, dtype = "" } = await this.#modelConfig(signal);
    if (mode !== undefined && mode !== "processed_logprobs") {
      throw this.#unsupported(`has ${mode}, not those of sampling: start vLLM with --logprobs-mode processed_logprobs`);
    }
    return { isa: "", dtype: dtype.replace("torch.", ""), weights: null };
  }

  async models(signal?: AbortSignal): Promise<ServedModel[]> {
    return this.#calls.models(signal);
  }

  async close(): Promise<void> {
    await Promise.all([this.#calls.close(), this.#scorer.close()]);
  }

  async #tellsVersions(signal: AbortSignal | undefined): Promise<boolean> {
    const { version = "" } = this.#calls.parse("/version", await this.#calls.get("/version", signal), versionSchema);
    const [, major, minor] = /^(\d+)\.(\d+)/u.exec(version) ?? [];
    if (major === undefined || minor === undefined) return false;
    const [firstMajor, firstMinor] = TELLS_VERSIONS;
    return Number(major) > firstMajor || (Number(major) === firstMajor && Number(minor) >= firstMinor);
  }

  async #weightInfo(signal: AbortSignal | undefined): Promise<string | null> {
    try {
      const text = await this.#calls.get("/weight_info", signal);
      return notedIn(this.#calls.parse("/weight_info", text, weightInfoSchema));
    } catch (cause) {
      if (!hasStatus(cause, NOT_FOUND)) throw cause;
      const advice = "start vLLM with VLLM_SERVER_DEV_MODE=1, in a version that has this endpoint";
      throw this.#unsupported(`has no /weight_info: ${advice}`, cause);
    }
  }

  async #note(note: string, signal: AbortSignal | undefined): Promise<void> {
    await this.#calls.post("/update_weight_version", { new_version: note }, signal);
  }

  /** Sends a request that every server refuses, to see whether it is refused for the expected reason. */
  async #checkGenerate(signal: AbortSignal | undefined): Promise<void> {
    const { statusMs } = this.#calls.deadlines;
    try {
      await this.#calls.post(GENERATE, { token_ids: [], sampling_params: {} }, signal, statusMs);
    } catch (cause) {
      if (hasStatus(cause, 400) || hasStatus(cause, 422)) return;
      if (!hasStatus(cause, 403) && !hasStatus(cause, NOT_FOUND)) throw cause;
      throw this.#unsupported(`does not answer ${GENERATE}: start vLLM with --enable-scale-out`, cause);
    }
  }

  async #modelConfig(
    signal: AbortSignal | undefined,
  ): Promise<{ logprobs_mode?: string | undefined; dtype?: string | undefined }> {
    try {
      const answer = await this.#calls.get(SERVER_INFO, signal, this.#calls.deadlines.controlMs);
      return this.#calls.parse(SERVER_INFO, answer, infoSchema).vllm_config?.model_config ?? {};
    } catch (cause) {
      if (hasStatus(cause, NOT_FOUND)) return {};
      throw cause;
    }
  }

  #noGrpc(): PrlError {
    return this.#unsupported('loads weights from a folder: set weight_broadcast.type = "filesystem"');
  }

  #unsupported(problem: string, cause?: unknown): PrlError {
    return new PrlError("PRL_INFERENCE_UNSUPPORTED", `${this.url} ${problem}`, { cause });
  }
}

function hasStatus(error: unknown, status: number): boolean {
  return error instanceof InferenceHttpError && error.status === status;
}
