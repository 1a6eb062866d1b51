/**
 * Sampling over HTTP: the client of `POST /inference/v1/generate` for env workers and the orchestrator.
 *
 * Token ids in, token ids with log-probabilities and policy versions out. A request is a pure function of its seed and the weights, so it
 * is sent again when a connection breaks. Control calls are elsewhere and have separate connections (`ts/inference/clients`).
 */

import { PrlError } from "../errors.ts";
import type { TextFormat } from "../message.ts";
import { expertsFromText, type RoutedExperts } from "../native/index.ts";
import { CompletionChunks, isWireResponse, type WireResponse } from "./completion-chunks.ts";
import { Connections } from "./connections.ts";
import { exchange, type Exchange, httpError } from "./http-json.ts";
import { notedVersion, readWeightInfo } from "./weight-note.ts";

export interface SamplingOptions {
  /** Most tokens, the stop token included. Default: the rest of the context. */
  maxTokens?: number;
  minTokens?: number;
  /** 0 is greedy, with the log-probabilities of temperature 1. Default 1. */
  temperature?: number;
  /** Default 1 (off). */
  topP?: number;
  /** Default -1 (off). */
  topK?: number;
  /** 0 to 2^53 - 1. */
  seed?: number;
  stopTokenIds?: readonly number[];
  /** Strings that end the completion; the server needs the model's tokenizer for them. */
  stop?: readonly string[];
  ignoreEos?: boolean;
  /** The text is JSON of this JSON Schema or has this format, from the beginning on or behind the text `after`, which only our server knows. */
  format?: ({ readonly jsonSchema: object | boolean } | TextFormat) & { readonly after?: string };
}

export interface GenerateOptions {
  tokenIds: Uint32Array | readonly number[];
  sampling?: SamplingOptions;
  /** Where the server returns experts: those of the tokens from this one of the prompt on. Default 0. */
  routedExpertsFrom?: number;
  /** Requests share cached prefixes only within one salt. */
  cacheSalt?: string;
  /** Lower runs earlier. Default 0. */
  priority?: number;
  requestId?: string;
  signal?: AbortSignal;
  /** Deadline of the whole request, with its wait. Default: the client's. */
  deadlineMs?: number;
  /** Called with the tokens as they are sampled, all of them by the end. A request that has passed tokens on is not sent again. */
  onTokens?: (tokenIds: readonly number[]) => void;
  /**
   * An abort makes the server end the request and answer with the tokens so far (`finishReason` is `abort`); a server that has not answered
   * `CUT_MS` later, or cannot cut, is left like one whose request was aborted. Needs `requestId`.
   */
  cut?: AbortSignal;
}

export interface Completion {
  /** Sampled tokens, the stop token included. */
  tokenIds: Uint32Array;
  /** Log-probability of each sampled token under the distribution it was drawn from. */
  logprobs: Float32Array;
  /** `[first token, version]`: which policy version sampled from which token on; the first entry is at 0. */
  policyVersions: [number, number][];
  finishReason: "stop" | "length" | "abort";
  /** Where the server returns them: the experts of prompt and completion from `routedExpertsFrom` to the last token but one. */
  routedExperts?: RoutedExperts;
  /** The stop token or stop string that ended it, if one did. */
  stopReason: number | string | null;
  usage: { promptTokens: number; completionTokens: number; cachedTokens: number };
}

export interface PromptLogprobs {
  /** `[t]` is the value of token t given its predecessors at temperature 1; 0 for the first. */
  logprobs: Float32Array;
  /** Policy version of the weights that computed them. */
  policyVersion: number;
}

/** `frozen`: a model other than the policy, on any server. */
export type InferenceApi = "prl" | "vllm" | "frozen";

export interface InferenceClientOptions {
  /** Base address, `http://127.0.0.1:8000`. */
  url: string;
  /** Model named in requests; the server checks it. Default: none. */
  model?: string;
  /**
   * How the client learns which version sampled. `vllm` names the weights by their notes (`weight_versions`); a server that does
   * not (before 0.32) is asked for the note before and after each request, and one during which it changed is PRL_INFERENCE_FAILED. What
   * `frozen` sampled has no version of the policy and gets version 0. Neither gets priorities. Default `prl`.
   */
  api?: InferenceApi;
  /** API key of the server. Default: none. */
  apiKey?: string;
  /** Number of the model's token ids: an answer with an id that is not below it is PRL_INFERENCE_FAILED. Default: unknown. */
  vocabSize?: number;
  /** Most connections, and so most requests under way; further ones wait here. Default 1024. */
  connections?: number;
  /** Default deadline of a request. Default 10 minutes. */
  deadlineMs?: number;
}

const DEFAULT_CONNECTIONS = 1024;
const DEFAULT_DEADLINE_MS = 600_000;
/** Idle connections are closed before the server's keep-alive ends (75 s). */
const KEEP_ALIVE_MS = 30_000;
/** Servers write this for minus infinity, and vLLM for NaN; a sampled token can have neither. */
const NO_LOGPROB = -9999;
const RETRIES = 3;
const GENERATE = "/inference/v1/generate";
const ABORT_REQUESTS = "/abort_requests";
/** How long a server may take to answer a request that was cut. */
const CUT_MS = 1_000;

/** Samples from one inference server. */
export class InferenceClient {
  readonly url: string;
  readonly #model: string | undefined;
  readonly #api: InferenceApi;
  readonly #pool: Connections;
  readonly #deadlineMs: number;
  readonly #vocabSize: number;
  readonly #headers: Record<string, string>;
  /** The server has reported which weights sampled. */
  #tellsWeights = false;

  constructor(options: InferenceClientOptions) {
    this.url = options.url.replace(/\/+$/, "");
    this.#model = options.model;
    this.#api = options.api ?? "prl";
    this.#deadlineMs = options.deadlineMs ?? DEFAULT_DEADLINE_MS;
    this.#vocabSize = options.vocabSize ?? Infinity;
    this.#headers = options.apiKey === undefined ? {} : { authorization: `Bearer ${options.apiKey}` };
    this.#pool = new Connections(this.url, {
      connections: options.connections ?? DEFAULT_CONNECTIONS,
      keepAliveTimeout: KEEP_ALIVE_MS,
    });
  }

  /**
   * One completion. Errors: PRL_INFERENCE_REQUEST (the request is wrong), PRL_INFERENCE_UNREACHABLE, PRL_INFERENCE_TIMEOUT,
   * PRL_INFERENCE_FAILED (the server's failure, or an answer that makes no sense); an abort rejects with its reason.
   */
  async generate(options: GenerateOptions): Promise<Completion> {
    const { sampling = {} } = options;
    const params = {
      max_tokens: sampling.maxTokens,
      min_tokens: sampling.minTokens,
      temperature: sampling.temperature,
      top_p: sampling.topP,
      top_k: sampling.topK,
      seed: sampling.seed,
      stop_token_ids: sampling.stopTokenIds,
      stop: sampling.stop,
      ignore_eos: sampling.ignoreEos,
      structured_outputs: structuredOutputs(sampling.format),
      // 0 is the default.
      routed_experts_prompt_start: options.routedExpertsFrom === 0 ? undefined : options.routedExpertsFrom,
      logprobs: 0,
    };
    const { cut } = options;
    if (cut === undefined) return this.#completed(options, params);
    const ending = new AbortController();
    const follow = (): void => ending.abort(options.signal?.reason);
    options.signal?.addEventListener("abort", follow, { once: true });
    if (options.signal?.aborted === true) follow();
    let late: NodeJS.Timeout | undefined;
    const onCut = (): void => {
      const end = (): void => ending.abort(cut.reason);
      late = setTimeout(end, CUT_MS);
      this.#cut(options.requestId, ending.signal).catch(end);
    };
    if (cut.aborted) ending.abort(cut.reason);
    else cut.addEventListener("abort", onCut, { once: true });
    try {
      return await this.#completed({ ...options, signal: ending.signal }, params);
    } finally {
      clearTimeout(late);
      cut.removeEventListener("abort", onCut);
      options.signal?.removeEventListener("abort", follow);
    }
  }

  async #completed(options: GenerateOptions, params: Record<string, unknown>): Promise<Completion> {
    const { onTokens } = options;
    const ask = () => (onTokens ? this.#stream(options, params, onTokens) : this.#post(options, params));
    const completion = (answer: WireResponse, versions?: [number, number][]): Completion => ({
      ...this.#completion(answer, versions),
      ...this.#experts(answer, options),
    });
    if (this.#api === "prl") return completion(await ask());
    if (this.#api === "frozen") return this.#completion(await ask(), [[0, 0]]);
    const before = this.#tellsWeights ? null : await this.#weights(options);
    const answer = await ask();
    const spans = answer.choices?.[0]?.weight_versions ?? null;
    this.#tellsWeights ||= spans !== null;
    if (this.#tellsWeights) return completion(answer, this.#versionsOf(spans ?? []));
    const after = await this.#weights(options);
    if (before === null || before !== after) throw this.#notOurs([before, after]);
    return completion(answer, [[0, Number.parseInt(before, 10)]]);
  }

  #versionsOf(spans: readonly { version: string; start: number }[]): [number, number][] {
    return spans.map(({ version: note, start }) => {
      const version = notedVersion(note);
      if (version === null) throw this.#notOurs([note]);
      return [start, version];
    });
  }

  #notOurs(notes: readonly (string | null)[]): PrlError {
    const said = notes.map((note) => note ?? "nothing").join(", then ");
    const message = `${this.url}: a request was sampled by weights that are not those of one version of the run (noted: ${said})`;
    return new PrlError("PRL_INFERENCE_FAILED", message);
  }

  /** vLLM's note of its weights. */
  async #weights({ signal, deadlineMs = this.#deadlineMs }: GenerateOptions): Promise<string | null> {
    const text = await exchange(this.#pool, this.url, {
      method: "GET",
      path: "/weight_info",
      headers: this.#headers,
      deadlineMs,
      signal,
      retries: RETRIES,
    });
    try {
      return readWeightInfo(text);
    } catch (cause) {
      throw this.#nonsense("/weight_info is not JSON", cause);
    }
  }

  async #cut(requestId: string | undefined, signal: AbortSignal): Promise<void> {
    await exchange(this.#pool, this.url, {
      method: "POST",
      path: ABORT_REQUESTS,
      headers: this.#headers,
      // Our server knows the id itself; vLLM knows ids of its generate endpoint with a prefix, and ignores unknown ones.
      body: JSON.stringify({ request_ids: [requestId, `generate-tokens-${requestId}`] }),
      deadlineMs: CUT_MS,
      signal,
      retries: 0,
    });
  }

  /** Log-probabilities of a prompt under the current weights; works while the engine is paused. Errors as `generate`. */
  async promptLogprobs(
    tokenIds: Uint32Array | readonly number[],
    options: { signal?: AbortSignal; deadlineMs?: number } = {},
  ): Promise<PromptLogprobs> {
    const answer = await this.#post({ tokenIds, ...options }, { max_tokens: 0, prompt_logprobs: 0 });
    const entries = answer.prompt_logprobs;
    if (!Array.isArray(entries) || entries.length !== tokenIds.length)
      throw this.#nonsense("prompt_logprobs do not fit the prompt");
    const logprobs = new Float32Array(tokenIds.length);
    for (let index = 1; index < logprobs.length; index++) {
      const logprob = entries[index]?.[String(tokenIds[index])]?.logprob;
      if (typeof logprob !== "number") throw this.#nonsense(`prompt_logprobs[${index}] lacks the prompt's own token`);
      logprobs[index] = logprob;
    }
    const policyVersion = answer.choices?.[0]?.policy_versions?.[0]?.[1];
    if (policyVersion === undefined) throw this.#nonsense("choices[0].policy_versions is missing");
    return { logprobs, policyVersion };
  }

  /** Ends all connections; requests under way fail with PRL_INFERENCE_UNREACHABLE. */
  async close(): Promise<void> {
    await this.#pool.destroy();
  }

  async #post(options: GenerateOptions, samplingParams: Record<string, unknown>): Promise<WireResponse> {
    return this.#json(await exchange(this.#pool, this.url, this.#request(options, samplingParams)));
  }

  async #stream(
    options: GenerateOptions,
    samplingParams: Record<string, unknown>,
    onTokens: (tokenIds: readonly number[]) => void,
  ): Promise<WireResponse> {
    const chunks = new CompletionChunks();
    const request = this.#request(options, samplingParams, {
      stream: true,
      stream_options: { include_usage: true },
    });
    let failure: string | null = null;
    const onEvent = (data: string): void => {
      if (data === "[DONE]") return;
      const chunk = this.#json(data);
      if ("error" in chunk) failure = data;
      const ids = chunks.push(chunk);
      if (ids.length > 0) onTokens(ids);
    };
    await exchange(this.#pool, this.url, { ...request, onEvent });
    if (failure !== null) throw httpError(`POST ${this.url}${GENERATE}`, 500, failure);
    const { whole } = chunks;
    if (whole !== null) return whole;
    throw new PrlError("PRL_INFERENCE_UNREACHABLE", `POST ${this.url}${GENERATE}: the stream broke off`);
  }

  #request(options: GenerateOptions, samplingParams: Record<string, unknown>, more: object = {}): Exchange {
    return {
      method: "POST",
      path: GENERATE,
      headers: this.#headers,
      body: JSON.stringify({
        model: this.#model,
        token_ids: Array.from(options.tokenIds),
        sampling_params: samplingParams,
        cache_salt: options.cacheSalt,
        ...(this.#api === "prl" && { priority: options.priority }),
        request_id: options.requestId,
        ...more,
      }),
      deadlineMs: options.deadlineMs ?? this.#deadlineMs,
      signal: options.signal,
      retries: RETRIES,
    };
  }

  #json(text: string): WireResponse {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (cause) {
      throw this.#nonsense("it is not JSON", cause);
    }
    if (isWireResponse(value)) return value;
    throw this.#nonsense("a field that is read has another type");
  }

  #completion(answer: WireResponse, versionSpans?: [number, number][]): Completion {
    const choice = answer.choices?.[0];
    if (choice === undefined || !Array.isArray(choice.token_ids))
      throw this.#nonsense("choices[0].token_ids is missing");
    const content = choice.logprobs?.content;
    if (!Array.isArray(content) || content.length !== choice.token_ids.length) {
      throw this.#nonsense("choices[0].logprobs.content does not fit token_ids");
    }
    const foreign = choice.token_ids.find((id) => !(Number.isInteger(id) && id >= 0 && id < this.#vocabSize));
    if (foreign !== undefined) {
      throw this.#nonsense(`choices[0].token_ids has ${String(foreign)}, which is no token of the model`);
    }
    const { finish_reason: finishReason } = choice;
    const policyVersions = versionSpans ?? choice.policy_versions;
    if (!Array.isArray(policyVersions) || (content.length > 0 && policyVersions[0]?.[0] !== 0)) {
      throw this.#nonsense("it does not say which version sampled the first token");
    }
    if (finishReason !== "stop" && finishReason !== "length" && finishReason !== "abort") {
      throw this.#nonsense(`choices[0].finish_reason is ${JSON.stringify(finishReason)}`);
    }
    const logprobs = new Float32Array(content.length);
    for (let index = 0; index < logprobs.length; index++) {
      const logprob = content[index]?.logprob ?? Number.NaN;
      logprobs[index] = logprob > NO_LOGPROB ? logprob : Number.NaN;
    }
    return {
      tokenIds: Uint32Array.from(choice.token_ids),
      logprobs,
      policyVersions,
      finishReason,
      stopReason: choice.stop_reason ?? null,
      usage: {
        promptTokens: answer.usage?.prompt_tokens ?? 0,
        completionTokens: answer.usage?.completion_tokens ?? 0,
        cachedTokens: answer.usage?.prompt_tokens_details?.cached_tokens ?? 0,
      },
    };
  }

  #experts(
    { choices }: WireResponse,
    { tokenIds, routedExpertsFrom = 0 }: GenerateOptions,
  ): Pick<Completion, "routedExperts"> {
    const [choice] = choices ?? [];
    const text = choice?.routed_experts ?? null;
    if (text === null) return {};
    const experts = expertsFromText(text);
    const expected = tokenIds.length + (choice?.token_ids?.length ?? 0) - 1 - routedExpertsFrom;
    if (experts === null || experts.ids.length !== expected * experts.layers * experts.topK) {
      throw this.#nonsense(`choices[0].routed_experts are not those of ${expected} tokens`);
    }
    return { routedExperts: experts };
  }

  #nonsense(problem: string, cause?: unknown): PrlError {
    return new PrlError("PRL_INFERENCE_FAILED", `${this.url}: the answer to a generate request is wrong: ${problem}`, {
      cause,
    });
  }
}

/** The format in vLLM's words. */
function structuredOutputs(format: SamplingOptions["format"]): object | undefined {
  if (format === undefined) return undefined;
  const { after, ...required } = format;
  return { ...inVllmsWords(required), ...(after !== undefined && { after }) };
}

function inVllmsWords(format: { readonly jsonSchema: object | boolean } | TextFormat): object {
  if ("jsonSchema" in format) return { json: format.jsonSchema };
  return "structuralTag" in format ? { structural_tag: JSON.stringify(format.structuralTag) } : format;
}
