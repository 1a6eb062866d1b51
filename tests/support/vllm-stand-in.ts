/**
 * A server that answers as `vllm serve` does (VLLM_SERVER_DEV_MODE=1), over the embedded engine, for what cannot be installed here.
 *
 * Written after vLLM's sources, main of 2026 (`vllm/entrypoints/serve/disagg/{api_router,protocol,serving}.py`, `serve/dev/rlhf/api_router.py`,
 * `serve/dev/rpc/api_router.py`, `serve/exception_handling/error_response.py`, `serve/instrumentator/health.py`,
 * `openai/completion/protocol.py`): statuses, error bodies and fields as there. It has no `policy_versions`, takes no `max_tokens` of 0 and no
 * priority unless it is started so, prefixes the ids of requests, and answers `/health` with nothing. What it does not know it refuses.
 */
import Fastify, { type FastifyInstance, type FastifyReply } from "fastify";

import type { Model } from "../../ts/native/index.ts";

interface Sampling {
  max_tokens?: number | null;
  temperature?: number;
  top_p?: number;
  top_k?: number;
  seed?: number;
  logprobs?: number | null;
  prompt_logprobs?: number | null;
  ignore_eos?: boolean;
  stop_token_ids?: number[];
  min_tokens?: number;
}

interface GenerateBody {
  request_id?: string;
  model?: string;
  token_ids: number[];
  sampling_params: Sampling;
  priority?: number;
  cache_salt?: string;
  stream?: boolean;
}

interface CompletionBody extends Sampling {
  model?: string;
  prompt: number[];
}

const GENERATE_FIELDS = new Set([
  "request_id",
  "model",
  "token_ids",
  "sampling_params",
  "priority",
  "cache_salt",
  "stream",
]);

export interface StandInOptions {
  modelName: string;
  /** `VLLM_SERVER_DEV_MODE=1`. Default true. */
  devMode?: boolean;
  /** Leaves out the log-probabilities. */
  withoutLogprobs?: boolean;
  /** Samples with log-probabilities that are no numbers, `null` in JSON. */
  nanLogprobs?: boolean;
  /** Says that it took new weights, and goes on with those that it has. */
  keepsWeights?: boolean;
}

export class VllmStandIn {
  readonly #app: FastifyInstance = Fastify({ bodyLimit: 64 * 1024 * 1024, forceCloseConnections: true });
  readonly #model: Model;
  readonly #options: StandInOptions;
  readonly #running = new Map<string, AbortController>();
  /** Of each call but /metrics and /weight_info: method and path. */
  readonly calls: string[] = [];
  weightVersion: string | null = "default";
  /** While set, everything that asks the engine fails like this. */
  dead = false;
  #paused = false;
  #resumed: Promise<void> = Promise.resolve();
  #resume: () => void = () => undefined;
  #ids = 0;

  constructor(model: Model, options: StandInOptions) {
    this.#model = model;
    this.#options = options;
    this.#routes();
  }

  async listen(): Promise<string> {
    return this.#app.listen({ host: "127.0.0.1", port: 0 });
  }

  async close(): Promise<void> {
    this.#resume();
    for (const abort of this.#running.values()) abort.abort();
    await this.#app.close();
  }

  #routes(): void {
    const app = this.#app;
    app.addContentTypeParser("application/json", { parseAs: "string" }, (_request, text, done) => {
      done(null, text === "" ? {} : JSON.parse(String(text)));
    });
    app.addHook("onRequest", async ({ method, url }) => {
      if (!url.startsWith("/metrics") && !url.startsWith("/weight_info")) this.calls.push(`${method} ${url}`);
    });
    app.setNotFoundHandler((_request, reply) => reply.code(404).send({ detail: "Not Found" }));
    app.get("/health", (_request, reply) => reply.code(this.dead ? 503 : 200).send());
    app.get("/version", () => ({ version: "0.99.0" }));
    app.get("/metrics", (_request, reply) => reply.type("text/plain").send(this.#metrics()));
    app.get("/v1/models", () => {
      const { maxModelLen } = this.#model.config;
      const model = {
        id: this.#options.modelName,
        object: "model",
        created: 1,
        owned_by: "vllm",
        max_model_len: maxModelLen,
      };
      return { object: "list", data: [model] };
    });
    app.post<{ Body: GenerateBody }>("/inference/v1/generate", ({ body }, reply) => this.#generate(body, reply));
    app.post<{ Body: CompletionBody }>("/v1/completions", ({ body }, reply) => this.#completions(body, reply));
    if (this.#options.devMode ?? true) this.#devRoutes();
  }

  #devRoutes(): void {
    const app = this.#app;
    app.post<{ Querystring: { mode?: string } }>("/pause", async ({ query: { mode = "abort" } }, reply) => {
      if (mode !== "wait" && mode !== "keep" && mode !== "abort") return reply.code(422).send({ detail: [] });
      if (!this.#paused) this.#resumed = new Promise((resolve) => (this.#resume = resolve));
      this.#paused = true;
      await this.#model.pause(mode);
      return { status: "paused" };
    });
    app.post("/resume", async () => {
      await this.#model.resume();
      this.#paused = false;
      this.#resume();
      return { status: "resumed" };
    });
    app.get("/is_paused", () => ({ is_paused: this.#paused }));
    app.post<{ Body: { request_ids?: string[] } }>("/abort_requests", ({ body: { request_ids: ids = [] } }) => {
      for (const id of ids) this.#running.get(id)?.abort();
      return { status: "aborted", aborted: ids.length };
    });
    app.post<{ Body: { method?: string; kwargs?: { weights_path?: string } } }>(
      "/collective_rpc",
      async ({ body: { method, kwargs } }, reply) => {
        if (method === undefined) return reply.code(400).send({ detail: "Missing 'method' in request body" });
        if (method !== "reload_weights" || kwargs?.weights_path === undefined)
          return reply.code(500).send({ error: { message: `no ${method}`, type: "InternalServerError", code: 500 } });
        if (this.#options.keepsWeights !== true) await this.#model.swapWeights(kwargs.weights_path);
        return { results: [null] };
      },
    );
    app.post("/reset_prefix_cache", async (_request, reply) => {
      await this.#model.resetPrefixCache();
      return reply.code(200).send();
    });
    app.post<{ Body: { new_version: string } }>("/update_weight_version", ({ body: { new_version: version } }) => {
      this.weightVersion = version;
      return { success: true, new_version: version };
    });
    app.get("/weight_info", () => ({ weight_version: this.weightVersion }));
  }

  async #generate(body: GenerateBody, reply: FastifyReply): Promise<unknown> {
    const strange = Object.keys(body).find((key) => !GENERATE_FIELDS.has(key));
    if (strange !== undefined) return refused(reply, 400, `the stand-in does not know ${strange}`);
    const problem = this.#problem(body.model, body.token_ids, body.sampling_params, body.priority);
    if (problem !== null) return refused(reply, ...problem);
    const id = `generate-tokens-${body.request_id ?? this.#ids++}`;
    const { sampling_params: sampling } = body;
    const { tokenIds, logprobs, reason } = await this.#sample(id, body.token_ids, sampling, body.cache_salt);
    const content = tokenIds.map((token, t) => ({
      token: `token_id:${token}`,
      logprob: this.#options.nanLogprobs === true ? Number.NaN : logprobs[t],
      bytes: null,
      top_logprobs: [],
    }));
    const hasLogprobs = typeof sampling.logprobs === "number" && this.#options.withoutLogprobs !== true;
    const choice = {
      index: 0,
      logprobs: hasLogprobs ? { content } : null,
      finish_reason: reason,
      token_ids: tokenIds,
      routed_experts: null,
    };
    return {
      request_id: id,
      choices: [choice],
      prompt_logprobs: await this.#promptLogprobs(body.token_ids, sampling),
      kv_transfer_params: null,
      usage: usageOf(body.token_ids, tokenIds),
    };
  }

  async #completions(body: CompletionBody, reply: FastifyReply): Promise<unknown> {
    const problem = this.#problem(body.model, body.prompt, body, 0);
    if (problem !== null) return refused(reply, ...problem);
    const { tokenIds, reason } = await this.#sample(`cmpl-${this.#ids++}`, body.prompt, body, undefined);
    const prompt_logprobs = await this.#promptLogprobs(body.prompt, body);
    const choice = { index: 0, text: "", logprobs: null, finish_reason: reason, stop_reason: null, prompt_logprobs };
    const id = "cmpl-1";
    return { id, object: "text_completion", choices: [choice], usage: usageOf(body.prompt, tokenIds) };
  }

  #problem(model: string | undefined, prompt: number[], sampling: Sampling, priority = 0): [number, string] | null {
    const { maxModelLen } = this.#model.config;
    if (this.dead) return [500, "EngineCore encountered an issue. See stack trace (above) for the root cause."];
    if (model !== undefined && model !== this.#options.modelName)
      return [404, `The model \`${model}\` does not exist.`];
    if (priority !== 0) return [400, `Got priority ${priority} but Priority scheduling is not enabled.`];
    if (sampling.max_tokens === 0) return [400, "max_tokens must be at least 1, got 0."];
    if (prompt.length >= maxModelLen) {
      const sizes = `${maxModelLen} tokens. However, your request has ${prompt.length} input tokens`;
      return [400, `This model's maximum context length is ${sizes}. Please reduce the length of the input messages.`];
    }
    return null;
  }

  async #sample(id: string, prompt: number[], sampling: Sampling, cacheSalt: string | undefined) {
    const abort = new AbortController();
    this.#running.set(id, abort);
    // New requests wait where the engine is paused.
    while (this.#paused) await this.#resumed;
    const tokenIds: number[] = [];
    const logprobs: number[] = [];
    let reason: string = "abort";
    const request = {
      id,
      promptTokenIds: Uint32Array.from(prompt),
      maxTokens: Math.min(sampling.max_tokens ?? Infinity, this.#model.config.maxModelLen - prompt.length),
      temperature: sampling.temperature ?? 1,
      topP: sampling.top_p ?? 1,
      topK: sampling.top_k ?? -1,
      seed: sampling.seed ?? 0,
      ignoreEos: sampling.ignore_eos ?? false,
      ...(cacheSalt !== undefined && { cacheSalt }),
    };
    try {
      for await (const increment of this.#model.generate([request], { signal: abort.signal })) {
        tokenIds.push(...increment.tokenIds);
        logprobs.push(...increment.logprobs);
        reason = increment.finishReason ?? reason;
      }
    } catch (error) {
      if (!abort.signal.aborted) throw error;
    } finally {
      this.#running.delete(id);
    }
    return { tokenIds, logprobs, reason };
  }

  async #promptLogprobs(prompt: number[], { prompt_logprobs: wanted }: Sampling): Promise<unknown> {
    if (typeof wanted !== "number") return null;
    const scores = await this.#model.logprobs(Uint32Array.from(prompt), Uint32Array.of(0, prompt.length));
    return prompt.map((id, t) => (t === 0 ? null : { [id]: { logprob: scores[t], rank: 1, decoded_token: "" } }));
  }

  #metrics(): string {
    const { running, waiting, kvCacheUsage, preemptions } = this.#model.stats();
    const labels = `{engine="0",model_name="${this.#options.modelName}"}`;
    return [
      `vllm:num_requests_running${labels} ${running}.0`,
      `vllm:num_requests_waiting${labels} ${waiting}.0`,
      `vllm:kv_cache_usage_perc${labels} ${kvCacheUsage}`,
      `vllm:num_preemptions_total${labels} ${preemptions}.0`,
      "",
    ].join("\n");
  }
}

const TYPES: Record<number, string> = { 400: "BadRequestError", 404: "NotFoundError" };

function refused(reply: FastifyReply, status: number, message: string): unknown {
  const type = TYPES[status] ?? "InternalServerError";
  return reply.code(status).send({ error: { message, type, param: null, code: status } });
}

function usageOf(prompt: number[], completion: number[]) {
  const [p, c] = [prompt.length, completion.length];
  return { prompt_tokens: p, total_tokens: p + c, completion_tokens: c, prompt_tokens_details: null };
}
