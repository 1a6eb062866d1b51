/**
 * Everything that is asked of a vLLM server, asked of a live one: `PRL_TEST_VLLM=<env>/bin/vllm`. The embedded engine is the judge.
 *
 * The output layer is its own tensor: vLLM 0.32.0 on a CPU goes on with the packed copy of a tied one after a reload, and the canary says so.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { createInferenceServer } from "../../../../ts/inference/index.ts";
import { VllmAdmin } from "../../../../ts/inference-client/index.ts";
import { loadModel, type Model } from "../../../../ts/native/index.ts";
import { InferenceClient, PromptScorer } from "../../../../ts/inference-client/index.ts";
import { type LiveVllm, serveVllm, VLLM, VLLM_STARTS_MS } from "../../../support/vllm/live-vllm.ts";
import { EOS, MAX_MODEL_LEN, publishVersion, scratch, VOCAB_SIZE, type WeightsFolder } from "../tiny-model.ts";

const PROMPT = [104, 101, 108, 108, 111];
/** Head sizes below 32 are none of its CPU kernels'. */
const SHAPE = { hidden_size: 64, num_attention_heads: 2, num_key_value_heads: 1, head_dim: 32 };
/** Two engines in float32, nats. */
const BAND = 2e-4;

/** What the embedded server answers and vLLM does not. */
const OURS = /\.(policy_versions|reasoning_content|logprobs\.refusal|cached_tokens)\b/u;
/** Who answers, and when; and bytes that are no character: alone they are one of replacement here, and nothing, or part of the next, there. */
const PARTICULAR =
  /\.(id|request_id|created|owned_by|root|permission|prompt_tokens_details|rank|decoded_token|bytes|text_offset|\uFFFD)$/u;

/** Differences of two answers: fields that only ours has, and values. Numbers may differ by the band. */
function differences(theirs: unknown, ours: unknown, path = ""): string[] {
  if (typeof ours === "object" && ours !== null && typeof theirs === "object" && theirs !== null) {
    if (Array.isArray(ours) && Array.isArray(theirs) && ours.length !== theirs.length)
      return [`${path}: ${theirs.length} entries, ours ${ours.length}`];
    return Object.entries(ours).flatMap(([key, value]) => {
      const at = `${path}.${key}`;
      if (OURS.test(at) || PARTICULAR.test(at)) return [];
      return key in theirs ? differences((theirs as Record<string, unknown>)[key], value, at) : [`${at} is ours alone`];
    });
  }
  if (typeof ours === "string" && ours.endsWith("\uFFFD"))
    return String(theirs).startsWith(ours.replace(/\uFFFD+$/u, "")) ? [] : [path];
  const isClose = typeof theirs === "number" && typeof ours === "number" && Math.abs(theirs - ours) < BAND;
  return theirs === ours || isClose ? [] : [`${path}: ${JSON.stringify(theirs)}, ours ${JSON.stringify(ours)}`];
}

describe.skipIf(VLLM === undefined)("a live vLLM (PRL_TEST_VLLM)", () => {
  let root: Awaited<ReturnType<typeof scratch>>;
  let versions: WeightsFolder[];
  let models: Model[];
  let server: LiveVllm;
  let admin: VllmAdmin;
  let client: InferenceClient;
  let ends: (() => Promise<unknown>)[];

  beforeAll(async () => {
    root = await scratch();
    const shape = { ...SHAPE, tie_word_embeddings: false };
    versions = [await publishVersion(root.dir, 0, shape), await publishVersion(root.dir, 1, shape)];
    models = await Promise.all(versions.map(({ dir }) => loadModel(dir, { threads: 1 })));
    server = await serveVllm(versions[0]?.dir ?? "");
  }, VLLM_STARTS_MS);
  afterAll(async () => {
    await server?.stop();
    await Promise.all(models.map((model) => model.close()));
    await root.remove();
  });
  beforeEach(async () => {
    const { url } = server;
    admin = new VllmAdmin({ url, retries: 0 });
    client = new InferenceClient({ url, model: "tiny", api: "vllm" });
    ends = [() => client.close(), () => admin.close()];
    await admin.updateWeights(weights(0));
  });
  afterEach(async () => {
    await admin.resume();
    for (const end of ends) await end();
  });

  const weights = (version: number) => {
    const { dir = "", digest = "" } = versions[version] ?? {};
    return { version, digest, source: { dir } };
  };
  const scored = async (version: number, ids: readonly number[]) => {
    const scores = await models[version]?.logprobs(Uint32Array.from(ids), Uint32Array.of(0, ids.length));
    return scores ?? new Float32Array();
  };
  const apart = (a: ArrayLike<number>, b: ArrayLike<number>) =>
    Math.max(0, ...Array.from(a, (value, i) => Math.abs(value - (b[i] ?? Number.NaN))));
  const running = async () => {
    for (let polls = 0; polls < 2_000; polls++) {
      if ((await admin.load())[0]?.running === 1) return;
      await new Promise((done) => setTimeout(done, 5));
    }
    throw new Error("nothing runs");
  };

  test("reports its version, its health and its load", async () => {
    expect(await admin.about()).toEqual({ isa: "", dtype: "float32", weights: null });
    expect(await admin.models()).toEqual([{ id: "tiny", maxModelLen: MAX_MODEL_LEN }]);
    const { digest } = weights(0);
    expect(await admin.health()).toEqual({
      status: "ok",
      paused: false,
      policyVersion: 0,
      digest,
      running: 0,
      waiting: 0,
    });
    expect(await admin.load()).toEqual([
      { engine: "0", running: 0, waiting: 0, kvUsage: expect.any(Number), preemptions: 0 },
    ]);
  });

  test("takes each version's weights: the canary's log-probabilities are theirs", async () => {
    for (const version of [1, 0, 1]) {
      await admin.pause("keep");
      expect(await admin.health()).toMatchObject({ paused: true });
      expect(await admin.updateWeights(weights(version))).toEqual({ skipped: false });
      await admin.resume();
      expect(await admin.updateWeights(weights(version))).toEqual({ skipped: true });
      expect(apart(await admin.promptLogprobs(PROMPT), await scored(version, PROMPT))).toBeLessThan(BAND);
      expect(await admin.health()).toMatchObject({ policyVersion: version, paused: false });
    }
  });

  test("samples: token ids, their log-probabilities at the temperature, the version, why it ended", async () => {
    const sampling = { maxTokens: 40, temperature: 0.7, topP: 1, topK: -1, seed: 5, ignoreEos: true };
    const options = { tokenIds: PROMPT, sampling, cacheSalt: "1", priority: 7, requestId: "mine" };
    const completion = await client.generate(options);
    expect(completion).toMatchObject({ policyVersions: [[0, 0]], finishReason: "length", stopReason: null });
    const all = Uint32Array.of(...PROMPT, ...completion.tokenIds);
    const judged = await models[0]?.logprobs(all, Uint32Array.of(0, all.length), { temperature: 0.7 });
    expect(apart(completion.logprobs, judged?.slice(PROMPT.length) ?? [])).toBeLessThan(BAND);
    expect(completion.usage).toEqual({ promptTokens: 5, completionTokens: 40, cachedTokens: 0 });
    expect((await client.generate(options)).tokenIds).toEqual(completion.tokenIds);
    const [stop = 0] = completion.tokenIds.slice(7);
    const first = [...completion.tokenIds].indexOf(stop);
    const stopped = await client.generate({ ...options, sampling: { ...sampling, stopTokenIds: [stop] } });
    expect(stopped).toMatchObject({ finishReason: "stop", stopReason: stop });
    expect(stopped.tokenIds).toEqual(completion.tokenIds.slice(0, first + 1));
  });

  test("greedy, it gives the same tokens as the embedded engine", async () => {
    const sampling = { maxTokens: 60, temperature: 0, ignoreEos: true };
    const { tokenIds } = await client.generate({ tokenIds: PROMPT, sampling });
    const ours: number[] = [];
    const request = {
      id: "a",
      promptTokenIds: Uint32Array.from(PROMPT),
      ignoreEos: true,
      maxTokens: 60,
      temperature: 0,
    };
    for await (const increment of models[0]?.generate([request]) ?? []) ours.push(...increment.tokenIds);
    expect([...tokenIds]).toEqual(ours);
  });

  /** A request that was under way when the weights were swapped; on a fast machine one may end before, and the next is asked. */
  async function swappedUnder(onTokens: ((ids: readonly number[]) => void) | undefined, tries = 20) {
    const sampling = { maxTokens: 480, ignoreEos: true, seed: 3 };
    const asked = client.generate({ tokenIds: PROMPT, sampling, ...(onTokens !== undefined && { onTokens }) });
    await Promise.race([running().catch(() => undefined), asked]);
    await admin.pause("keep");
    await admin.updateWeights(weights(1));
    await admin.resume();
    const completion = await asked;
    if (completion.policyVersions.length > 1 || tries === 0) return completion;
    await admin.updateWeights(weights(0));
    return swappedUnder(onTokens, tries - 1);
  }

  test.each([false, true])("a request survives a swap, and its weights are reported (stream: %s)", async (streamed) => {
    const heard: number[] = [];
    const onTokens = (ids: readonly number[]): void => void heard.push(...ids);
    const { tokenIds, logprobs, policyVersions } = await swappedUnder(streamed ? onTokens : undefined);
    if (streamed) expect(heard.slice(-tokenIds.length)).toEqual([...tokenIds]);
    expect(policyVersions).toEqual([
      [0, 0],
      [expect.any(Number), 1],
    ]);
    const from = policyVersions[1]?.[0] ?? 0;
    const all = [...PROMPT, ...tokenIds];
    const [old, next] = [await scored(0, all), await scored(1, all)].map((scores) => scores.slice(PROMPT.length));
    expect(apart(logprobs.slice(0, from), old?.slice(0, from) ?? [])).toBeLessThan(BAND);
    // Keys and values too are those of the new weights.
    expect(apart(logprobs.slice(from), next?.slice(from) ?? [])).toBeLessThan(BAND);
  });

  test("a request during a pause waits and gets the next weights", async () => {
    await admin.pause("keep");
    const late = client.generate({ tokenIds: PROMPT, sampling: { maxTokens: 3, ignoreEos: true } });
    await new Promise((done) => setTimeout(done, 200));
    await admin.updateWeights(weights(1));
    await admin.resume();
    // Its client had not yet heard that the server tells versions, and asked before it.
    expect((await late).policyVersions).toEqual([[0, 1]]);
  });

  test("an interrupted request is answered with its tokens so far, an aborted one ends", async () => {
    const sampling = { maxTokens: 480, ignoreEos: true };
    const cut = new AbortController();
    const asked = client.generate({ tokenIds: PROMPT, sampling, requestId: "to-be-cut", cut: cut.signal });
    await running();
    cut.abort(new Error("too old"));
    const { finishReason, tokenIds, logprobs, policyVersions } = await asked;
    expect([finishReason, logprobs.length]).toEqual(["abort", tokenIds.length]);
    expect(tokenIds.length).toBeLessThan(480);
    expect(policyVersions.length).toBe(tokenIds.length === 0 ? 0 : 1);
    const abort = new AbortController();
    const aborted = client.generate({ tokenIds: PROMPT, sampling, signal: abort.signal });
    await running();
    abort.abort(new Error("enough"));
    await expect(aborted).rejects.toThrow("enough");
    for (let polls = 0; (await admin.load())[0]?.running !== 0; polls++) {
      expect(polls).toBeLessThan(200);
      await new Promise((done) => setTimeout(done, 5));
    }
  });

  test("errors have names: too long, no such token, no such model, nothing asked", async () => {
    const refused = async (code: string, options: Parameters<InferenceClient["generate"]>[0]) =>
      expect(client.generate(options)).rejects.toMatchObject({ code });
    for (const length of [MAX_MODEL_LEN, MAX_MODEL_LEN + 1])
      await refused("PRL_INFERENCE_CONTEXT", { tokenIds: Array.from({ length }, () => 97) });
    await refused("PRL_INFERENCE_REQUEST", { tokenIds: [VOCAB_SIZE + 7] });
    await refused("PRL_INFERENCE_REQUEST", { tokenIds: [] });
    const other = new InferenceClient({ url: server.url, model: "other", api: "vllm" });
    ends.push(() => other.close());
    await expect(other.generate({ tokenIds: PROMPT })).rejects.toMatchObject({
      code: "PRL_INFERENCE_REQUEST",
      status: 404,
      message: expect.stringContaining("does not exist") as string,
    });
    const stop = { maxTokens: 200, stopTokenIds: [EOS] };
    expect((await client.generate({ tokenIds: PROMPT, sampling: stop })).tokenIds.length).toBeGreaterThan(0);
  });

  test("weights that were not loaded have no version, until others are loaded", async () => {
    const torn = { ...weights(1), source: { dir: "/nowhere/at/all" } };
    await admin.pause("keep");
    await expect(admin.updateWeights(torn)).rejects.toMatchObject({ code: "PRL_INFERENCE_FAILED" });
    expect(await admin.health()).toMatchObject({ policyVersion: -1, digest: null });
    expect(await admin.updateWeights(weights(1))).toEqual({ skipped: false });
    await admin.resume();
    expect(apart(await admin.promptLogprobs(PROMPT), await scored(1, PROMPT))).toBeLessThan(BAND);
  });

  test.each(["generate", "completions"] as const)("scores as a teacher by %s, and gives its token ids", async (api) => {
    const scorer = new PromptScorer({ url: server.url, model: "tiny", api, deadlineMs: 20_000, connections: 2 });
    ends.push(() => scorer.close());
    expect(apart(await scorer.score(Uint32Array.from(PROMPT)), await scored(0, PROMPT))).toBeLessThan(BAND);
    expect([...(await scorer.tokenize("hello"))]).toEqual(PROMPT);
    const long = Uint32Array.from({ length: MAX_MODEL_LEN }, () => 97);
    await expect(scorer.score(long)).rejects.toMatchObject({ code: "PRL_INFERENCE_CONTEXT" });
  });

  test("samples for a run whose weights it never loads", async () => {
    const frozen = new InferenceClient({ url: server.url, api: "frozen" });
    ends.push(() => frozen.close());
    const { policyVersions } = await frozen.generate({ tokenIds: PROMPT, sampling: { maxTokens: 3 }, priority: 9 });
    expect(policyVersions).toEqual([[0, 0]]);
  });

  const MESSAGES = [{ role: "user", content: "hello" }];
  const greedy = { temperature: 0, ignore_eos: true, max_tokens: 24 };
  test.each<[string, string, Record<string, unknown>]>([
    ["chat", "/v1/chat/completions", { ...greedy, messages: MESSAGES, logprobs: true, top_logprobs: 1 }],
    ["chat, token ids", "/v1/chat/completions", { ...greedy, messages: MESSAGES, return_token_ids: true }],
    ["completions", "/v1/completions", { ...greedy, prompt: ["hello", "abc"], logprobs: 1, return_token_ids: true }],
    ["a stop string", "/v1/completions", { ...greedy, prompt: "hello", max_tokens: 60, stop: ["e", "a"] }],
    [
      "generate",
      "/inference/v1/generate",
      { token_ids: PROMPT, sampling_params: { ...greedy, logprobs: 1, prompt_logprobs: 0 } },
    ],
    ["generate, a token that ends it", "/inference/v1/generate", { token_ids: PROMPT, sampling_params: greedy }],
    ["tokenize", "/tokenize", { messages: MESSAGES }],
    ["detokenize", "/detokenize", { tokens: PROMPT }],
    ["models", "/v1/models", {}],
    ["pause", "/is_paused", {}],
  ])("the embedded server says the same, field by field: %s", async (_, path, body) => {
    const [model] = models;
    if (model === undefined) throw new Error("no model");
    const own = await createInferenceServer(model, { modelDir: versions[0]?.dir ?? "", modelNames: ["tiny"] });
    try {
      const ask = async (url: string): Promise<unknown> => {
        const text = JSON.stringify({ ...body, model: "tiny" });
        const post = { method: "POST", headers: { "content-type": "application/json" }, body: text };
        const response = await fetch(`${url}${path}`, Object.keys(body).length === 0 ? {} : post);
        expect(response.status).toBe(200);
        return response.json();
      };
      const [theirs, ours] = [await ask(server.url), await ask(await own.listen("127.0.0.1", 0))];
      expect(differences(theirs, ours)).toEqual([]);
    } finally {
      await own.close();
    }
  });

  test.each<[string, string, Record<string, unknown>]>([
    ["another model", "/v1/chat/completions", { model: "other", messages: MESSAGES }],
    ["no messages", "/v1/chat/completions", {}],
    ["a prompt that is too long", "/v1/completions", { prompt: Array.from({ length: MAX_MODEL_LEN + 1 }, () => 97) }],
    ["no such token", "/inference/v1/generate", { token_ids: [VOCAB_SIZE], sampling_params: {} }],
    ["no tokens", "/inference/v1/generate", { token_ids: [], sampling_params: {} }],
    ["top_p", "/inference/v1/generate", { token_ids: PROMPT, sampling_params: { top_p: 2 } }],
  ])("the embedded server refuses the same: %s", async (_, path, body) => {
    const [model] = models;
    if (model === undefined) throw new Error("no model");
    const own = await createInferenceServer(model, { modelDir: versions[0]?.dir ?? "", modelNames: ["tiny"] });
    try {
      const refused = async (url: string): Promise<unknown> => {
        const post = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
        const response = await fetch(`${url}${path}`, post);
        const { error } = (await response.json()) as { error: object };
        return [response.status, Object.keys(error).toSorted()];
      };
      expect(await refused(await own.listen("127.0.0.1", 0))).toEqual(await refused(server.url));
    } finally {
      await own.close();
    }
  });
});
