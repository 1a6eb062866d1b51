/**
 * A server that answers as `vllm serve` does (VLLM_SERVER_DEV_MODE=1, --enable-scale-out, --logprobs-mode processed_logprobs), over the
 * embedded engine, where no vLLM is installed.
 *
 * Statuses, error bodies and fields are those of vLLM 0.32.0; `tests/integration/inference/vllm/live-vllm.test.ts` asks the live one the same. What it
 * does not know it refuses.
 */
import { Readable } from "node:stream";

import Fastify, { type FastifyInstance, type FastifyReply } from "fastify";

import { expertsToText, type Model, type RoutedExperts } from "../../../ts/native/index.ts";

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
  routed_experts_prompt_start?: number;
}

interface GenerateBody {
  request_id?: string;
  model?: string;
  token_ids: number[];
  sampling_params: Sampling;
  priority?: number;
  cache_salt?: string;
  stream?: boolean;
  stream_options?: { include_usage?: boolean };
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
  "stream_options",
]);

const RELEASE = "0.32.0";

export interface StandInOptions {
  modelName: string;
  /** Default 0.32.0; those before it do not tell which weights sampled. */
  release?: string;
  /** `VLLM_SERVER_DEV_MODE=1`. Default true. */
  devMode?: boolean;
  /** `--enable-scale-out`. Default true. */
  scaleOut?: boolean;
  /** `--api-key`. Default: none is wanted. */
  apiKey?: string;
  /** `--logprobs-mode`. Default processed_logprobs. */
  logprobsMode?: string;
  /** Leaves out the log-probabilities. */
  withoutLogprobs?: boolean;
  /** Samples with log-probabilities that are no numbers: -9999, as those of minus infinity. */
  nanLogprobs?: boolean;
  /** `--enable-return-routed-experts`. Default false. */
  returnsExperts?: boolean;
  /** `--enable-lora` and VLLM_ALLOW_RUNTIME_LORA_UPDATING=1. Default false. */
  loadsAdapters?: boolean;
  /** `--enable-sleep-mode`. Default false. */
  sleepMode?: boolean;
  /** Called with each call but /metrics and /weight_info, and when a request for samples begins and ends. */
  onCall?: (call: string) => void;
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
  weightVersion = "default";
  /** The name of the adapter that was loaded. The engine then computes with it alone: requests for the model itself are refused. */
  #adapter: string | null = null;
  /** Of the engine's versions. */
  readonly #notes = new Map<number, string>();
  /** A reload has failed: the old weights are gone. */
  #isEmpty = false;
  /** While set, everything that asks the engine fails like this. */
  dead = false;
  #paused = false;
  /** What is asleep. */
  readonly #asleep = new Set<string>();
  #resumed: Promise<void> = Promise.resolve();
  #resume: () => void = () => undefined;
  #ids = 0;

  constructor(model: Model, options: StandInOptions) {
    this.#model = model;
    this.#options = options;
    this.#routes();
  }

  async listen(port = 0): Promise<string> {
    return this.#app.listen({ host: "127.0.0.1", port });
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
      if (url.startsWith("/metrics") || url.startsWith("/weight_info")) return;
      this.calls.push(`${method} ${url}`);
      this.#options.onCall?.(`${method} ${url}`);
    });
    app.addHook("onRequest", async ({ url, headers }, reply) => {
      const { apiKey } = this.#options;
      const isGuarded = url.startsWith("/v1") || url.startsWith("/inference");
      if (apiKey !== undefined && isGuarded && headers.authorization !== `Bearer ${apiKey}`)
        await reply.code(401).send({ error: "Unauthorized" });
    });
    app.setNotFoundHandler((_request, reply) => reply.code(404).send({ detail: "Not Found" }));
    app.get("/health", (_request, reply) => reply.code(this.dead ? 503 : 200).send());
    app.get("/version", () => ({ version: this.#options.release ?? RELEASE }));
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
    if (this.#options.loadsAdapters === true) this.#adapterRoutes();
    if (this.#options.devMode ?? true) this.#devRoutes();
    if (this.#options.devMode ?? true) this.#sleepRoutes();
  }

  #adapterRoutes(): void {
    type Adapter = { lora_name: string; lora_path: string; load_inplace?: boolean };
    this.#app.post<{ Body: Adapter }>("/v1/load_lora_adapter", async ({ body }, reply) => {
      const { lora_name: name, lora_path: dir, load_inplace: replaces = false } = body;
      if (name === this.#options.modelName)
        return refused(reply, 400, `The lora adapter '${name}' conflicts with a served base model.`);
      if (this.#adapter === name && !replaces)
        return refused(reply, 400, `The lora adapter '${name}' has already been loaded.`);
      try {
        if (this.#options.keepsWeights !== true) await this.#model.swapWeights(dir);
      } catch (error) {
        return refused(reply, 500, String(error));
      }
      this.#adapter = name;
      return reply.type("application/json").send(`Success: LoRA adapter '${name}' added successfully.`);
    });
  }

  /** As EngineCore of 0.32 does: a partial wake-up leaves the scheduler paused, a full one resumes it, also after a pause. */
  #sleepRoutes(): void {
    const app = this.#app;
    type Sleep = { Querystring: { level?: string; mode?: string } };
    app.post<Sleep>("/sleep", async ({ query: { level = "1", mode = "abort" } }, reply) => {
      if (this.#options.sleepMode !== true) return refused(reply, 500, "Sleep mode is not enabled in the model config");
      if (mode !== "wait" && mode !== "keep" && mode !== "abort") return reply.code(422).send({ detail: [] });
      await this.#pause(mode);
      if (this.#asleep.size > 0) return { status: "sleeping", level: Number(level) };
      await this.#model.sleep();
      this.#asleep.add("weights").add("kv_cache");
      if (level === "2") this.#isEmpty = true;
      return { status: "sleeping", level: Number(level) };
    });
    app.post<{ Querystring: { tags?: string | string[] } }>("/wake_up", async ({ query: { tags } }) => {
      const woken = tags === undefined ? ["weights", "kv_cache"] : [tags].flat();
      for (const tag of woken) if (this.#asleep.delete(tag) && tag === "kv_cache") await this.#model.wakeUp();
      if (this.#asleep.size === 0) await this.#goOn();
      return { status: this.#asleep.size === 0 ? "awake" : "sleeping", tags_woken: tags ?? null };
    });
    app.get("/is_sleeping", () => ({ is_sleeping: this.#paused || this.#asleep.size > 0 }));
  }

  async #pause(mode: "wait" | "keep" | "abort"): Promise<void> {
    if (!this.#paused) this.#resumed = new Promise((resolve) => (this.#resume = resolve));
    this.#paused = true;
    await this.#model.pause(mode);
  }

  async #goOn(): Promise<void> {
    await this.#model.resume();
    this.#paused = false;
    this.#resume();
  }

  #devRoutes(): void {
    const app = this.#app;
    app.post<{ Querystring: { mode?: string } }>("/pause", async ({ query: { mode = "abort" } }, reply) => {
      if (mode !== "wait" && mode !== "keep" && mode !== "abort") return reply.code(422).send({ detail: [] });
      await this.#pause(mode);
      return { status: "paused" };
    });
    app.post("/resume", async () => {
      await this.#goOn();
      return { status: "resumed" };
    });
    app.get("/server_info", () => {
      const logprobs_mode = this.#options.logprobsMode ?? "processed_logprobs";
      return { vllm_config: { model_config: { dtype: "torch.float32", logprobs_mode } }, vllm_env: {}, system_env: {} };
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
          return refused(reply, 500, `Call to collective_rpc method failed: no ${method}`);
        this.#isEmpty = true;
        try {
          if (this.#options.keepsWeights !== true) await this.#model.swapWeights(kwargs.weights_path);
        } catch {
          return refused(
            reply,
            500,
            "Call to collective_rpc method failed: Worker failed with error 'Repo id must be'",
          );
        }
        this.#isEmpty = false;
        return { results: [null] };
      },
    );
    app.post("/reset_prefix_cache", async () => {
      await this.#model.resetPrefixCache();
      return { success: true };
    });
    app.post<{ Body: { new_version: string } }>("/update_weight_version", ({ body: { new_version: version } }) => {
      this.weightVersion = version;
      this.#notes.set(this.#model.stats().version, version);
      return { success: true, new_version: version };
    });
    app.get("/weight_info", () => ({ weight_version: this.weightVersion }));
  }

  async #generate(body: GenerateBody, reply: FastifyReply): Promise<unknown> {
    if (this.#options.scaleOut === false)
      return refused(reply, 403, "Scale-out endpoints are disabled. Restart vllm serve with --enable-scale-out.");
    const strange = Object.keys(body).find((key) => !GENERATE_FIELDS.has(key));
    if (strange !== undefined) return refused(reply, 400, `the stand-in does not know ${strange}`);
    const problem = this.#problem(body.model, body.token_ids, body.sampling_params);
    if (problem !== null) return refused(reply, ...problem);
    const id = `generate-tokens-${body.request_id ?? this.#ids++}`;
    if (body.stream === true) return this.#stream(id, body, reply);
    let whole = NOTHING;
    for await (const next of this.#sample(id, body.token_ids, body.sampling_params, body.cache_salt))
      whole = joined(whole, next);
    return {
      request_id: id,
      model: this.#adapter ?? this.#options.modelName,
      created: 1,
      usage: usageOf(body.token_ids, whole.ids),
      prompt_logprobs: await this.#promptLogprobs(body.token_ids, body.sampling_params),
      prompt_token_ids: null,
      metrics: null,
      kv_transfer_params: null,
      ec_transfer_params: null,
      output_mode: "tokens",
      choices: [this.#choice(body, whole, whole)],
    };
  }

  /** A chunk for each step, the spans with the last one, then the usage. */
  async #stream(id: string, body: GenerateBody, reply: FastifyReply): Promise<unknown> {
    const events = this.#events(id, body);
    const text = async function* (): AsyncGenerator<string> {
      for await (const event of events) yield `data: ${JSON.stringify(event)}\n\n`;
      yield "data: [DONE]\n\n";
    };
    return reply.type("text/event-stream").send(Readable.from(text()));
  }

  async *#events(id: string, body: GenerateBody): AsyncGenerator {
    let whole = NOTHING;
    for await (const next of this.#sample(id, body.token_ids, body.sampling_params, body.cache_salt)) {
      whole = joined(whole, next);
      const end = next.reason === null ? null : whole;
      yield { request_id: id, usage: null, output_mode: "tokens", choices: [this.#choice(body, next, end)] };
    }
    if (body.stream_options?.include_usage === true)
      yield { request_id: id, usage: usageOf(body.token_ids, whole.ids), output_mode: "tokens", choices: [] };
  }

  /** `end`: with the last tokens, all of the sample. */
  #choice({ sampling_params: sampling }: GenerateBody, { ids, logprobs, reason }: Sampled, end: Sampled | null) {
    const content = ids.map((token_id, t) => {
      const logprob = this.#options.nanLogprobs === true ? -9999 : logprobs[t];
      const entry = { token_id, logprob, rank: 1 };
      return { ...entry, top_logprobs: [entry] };
    });
    const hasLogprobs = typeof sampling.logprobs === "number" && this.#options.withoutLogprobs !== true;
    const reported = (this.#options.release ?? RELEASE) === RELEASE ? { weight_versions: end?.spans ?? null } : {};
    const experts = end?.experts ?? [];
    const [first] = experts;
    return {
      index: 0,
      finish_reason: reason,
      stop_reason: null,
      token_ids: ids,
      routed_experts: first
        ? expertsToText({ ...first, ids: Uint8Array.from(experts.flatMap((one) => [...one.ids])) })
        : null,
      sampling_mask: null,
      ...reported,
      logprobs: hasLogprobs ? { content } : null,
    };
  }

  async #completions(body: CompletionBody, reply: FastifyReply): Promise<unknown> {
    const isFull = body.prompt.length === this.#model.config.maxModelLen;
    const problem = this.#problem(body.model, body.prompt, isFull ? { ...body, max_tokens: 0 } : body);
    if (problem !== null) return refused(reply, ...problem);
    let { ids, reason }: Pick<Sampled, "ids" | "reason"> = { ids: [], reason: null };
    for await (const next of this.#sample(`cmpl-${this.#ids++}`, body.prompt, body, undefined)) {
      ids = [...ids, ...next.ids];
      reason = next.reason;
    }
    const prompt_logprobs = await this.#promptLogprobs(body.prompt, body);
    const choice = { index: 0, text: "", logprobs: null, finish_reason: reason, stop_reason: null, prompt_logprobs };
    const id = "cmpl-1";
    return { id, object: "text_completion", choices: [choice], usage: usageOf(body.prompt, ids) };
  }

  #problem(model: string | undefined, prompt: number[], sampling: Sampling): [number, string] | null {
    const { maxModelLen, vocabSize } = this.#model.config;
    if (prompt.length === 0)
      return [400, "1 validation error: 'List should have at least 1 item after validation, not 0'"];
    if (sampling.max_tokens === 0)
      return [400, "max_tokens must be at least 1, got 0. (parameter=max_tokens, value=0)"];
    if (model !== undefined && model !== (this.#adapter ?? this.#options.modelName))
      return [404, `The model \`${model}\` does not exist. Valid aliases: ${this.#options.modelName}.`];
    if (prompt.length >= maxModelLen) {
      const [what, limit] = [`The decoder prompt (length ${prompt.length})`, `maximum model length of ${maxModelLen}`];
      const plus = prompt.length === maxModelLen ? " plus the number of requested output tokens (at least 1)" : "";
      return [400, `${what}${plus} is longer than the ${limit}. Make sure that \`max_model_len\` is no smaller.`];
    }
    const strange = prompt.find((id) => id >= vocabSize);
    if (strange !== undefined) return [400, `Token id ${strange} is out of vocabulary`];
    // What arrives while it sleeps waits.
    this.dead ||= this.#isEmpty && this.#asleep.size === 0;
    if (this.dead) return [500, "EngineCore encountered an issue. See stack trace (above) for the root cause."];
    return null;
  }

  async *#sample(
    id: string,
    prompt: number[],
    sampling: Sampling,
    cacheSalt: string | undefined,
  ): AsyncGenerator<Sampled> {
    const abort = new AbortController();
    this.#running.set(id, abort);
    // New requests wait where the engine is paused.
    while (this.#paused) await this.#resumed;
    this.#options.onCall?.(`begin ${id}`);
    let ended: Sampled["reason"] = null;
    let length = 0;
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
      ...(this.#options.returnsExperts === true && { routedExpertsFrom: sampling.routed_experts_prompt_start ?? 0 }),
    };
    try {
      for await (const increment of this.#model.generate([request], { signal: abort.signal })) {
        const { tokenIds, logprobs, policyVersions, finishReason, routedExperts } = increment;
        const end = length + tokenIds.length;
        const spans = policyVersions.map(([first, version], i) => ({
          version: this.#notes.get(version) ?? "default",
          start: length + first,
          end: policyVersions[i + 1] === undefined ? end : length + (policyVersions[i + 1]?.[0] ?? 0),
        }));
        this.#options.onCall?.(`tokens ${id}`);
        length = end;
        ended = finishReason;
        const experts = routedExperts === undefined ? [] : [routedExperts];
        yield { ids: [...tokenIds], logprobs: [...logprobs], spans, reason: finishReason, experts };
      }
    } catch (error) {
      if (!abort.signal.aborted) throw error;
    } finally {
      this.#running.delete(id);
    }
    if (ended === null) yield { ...NOTHING, reason: "abort" };
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

interface Span {
  version: string;
  start: number;
  end: number;
}

interface Sampled {
  ids: number[];
  logprobs: number[];
  spans: Span[];
  reason: "stop" | "length" | "abort" | null;
  /** Rows of the tokens, one array after the other. */
  experts: RoutedExperts[];
}

const NOTHING: Sampled = { ids: [], logprobs: [], spans: [], reason: null, experts: [] };

/** One after the other; spans of the same weights are one. */
function joined(before: Sampled, next: Sampled): Sampled {
  const spans = [...before.spans];
  for (const span of next.spans) {
    const last = spans.at(-1);
    if (last?.version === span.version) spans[spans.length - 1] = { ...last, end: span.end };
    else spans.push(span);
  }
  const [ids, logprobs] = [
    [...before.ids, ...next.ids],
    [...before.logprobs, ...next.logprobs],
  ];
  return { ids, logprobs, spans, reason: next.reason, experts: [...before.experts, ...next.experts] };
}

const TYPES: Record<number, string> = { 400: "BadRequestError", 403: "PermissionDeniedError", 404: "NotFoundError" };

function refused(reply: FastifyReply, status: number, message: string): unknown {
  const type = TYPES[status] ?? "InternalServerError";
  return reply.code(status).send({ error: { message, type, param: null, code: status } });
}

function usageOf(prompt: number[], completion: number[]) {
  const [p, c] = [prompt.length, completion.length];
  return { prompt_tokens: p, total_tokens: p + c, completion_tokens: c, prompt_tokens_details: null };
}
