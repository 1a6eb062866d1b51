/** Everything that is asked of a vLLM server, against a stand-in; `live-vllm.test.ts` asks a live one. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { VllmAdmin } from "../../../../ts/inference-client/index.ts";
import { loadModel, type Model } from "../../../../ts/native/index.ts";
import { EngineFleet, type PlacedEngine } from "../../../../ts/orchestrator/index.ts";
import { type AvailableWeights } from "../../../../ts/transports/index.ts";
import { InferenceClient, PromptScorer } from "../../../../ts/inference-client/index.ts";
import { type StandInOptions, VllmStandIn } from "../../../support/vllm/vllm-stand-in.ts";
import { MAX_MODEL_LEN, publishVersion, scratch, type WeightsFolder } from "../tiny-model.ts";

const PROMPT = [104, 101, 108, 108, 111];

let root: Awaited<ReturnType<typeof scratch>>;
let versions: WeightsFolder[];
let model: Model;
let ends: (() => Promise<unknown>)[];
beforeEach(async () => {
  ends = [];
  root = await scratch();
  versions = [await publishVersion(root.dir, 0), await publishVersion(root.dir, 1)];
  model = await loadModel(versions[0]?.dir ?? "", { threads: 1, kvCacheBytes: 8 * 1024 * 1024 });
});
afterEach(async () => {
  for (const end of ends.toReversed()) await end();
  await model.close();
  await root.remove();
});

async function serving(options: Partial<StandInOptions> = {}, clientOptions = {}) {
  const server = new VllmStandIn(model, { modelName: "tiny", ...options });
  const url = await server.listen();
  const admin = new VllmAdmin({ url, retries: 0 });
  const client = new InferenceClient({ url, model: "tiny", api: "vllm", ...clientOptions });
  ends.push(
    () => server.close(),
    () => client.close(),
    () => admin.close(),
  );
  return { server, url, admin, client };
}

/** Resolves when the engine has sampled more than so many tokens in all. */
async function sampledBeyond(tokens: number): Promise<void> {
  while (model.stats().generationTokens <= tokens) await new Promise((done) => setTimeout(done, 1));
}

const weights = (version: number) => {
  const { dir = "", digest = "" } = versions[version] ?? {};
  return { version, digest, source: { dir } };
};

describe("control", () => {
  test("loads weights from a folder, empties the cache, and notes version and digest", async () => {
    const { server, admin } = await serving();
    expect(await admin.about()).toEqual({ isa: "", dtype: "float32", weights: null });
    expect(await admin.models()).toEqual([{ id: "tiny", maxModelLen: MAX_MODEL_LEN }]);
    expect(await admin.health()).toMatchObject({ policyVersion: -1, digest: null, paused: false, running: 0 });
    server.calls.length = 0;
    await admin.pause("keep");
    expect(await admin.health()).toMatchObject({ paused: true });
    expect(await admin.updateWeights(weights(1))).toEqual({ skipped: false });
    await admin.resume();
    expect(server.calls.filter((call) => call.startsWith("POST"))).toEqual([
      "POST /pause?mode=keep",
      "POST /update_weight_version",
      "POST /collective_rpc",
      "POST /reset_prefix_cache?reset_running_requests=true",
      "POST /update_weight_version",
      "POST /resume",
    ]);
    const { digest } = weights(1);
    expect(await admin.health()).toMatchObject({ policyVersion: 1, digest, paused: false });
    expect(await admin.updateWeights(weights(1))).toEqual({ skipped: true });
    expect(await admin.load()).toEqual([{ engine: "0", running: 0, waiting: 0, kvUsage: 0, preemptions: 0 }]);
  });

  test("the canary's log-probabilities are those of the weights", async () => {
    const { admin } = await serving();
    await admin.updateWeights(weights(1));
    const expected = await model.logprobs(Uint32Array.from(PROMPT), Uint32Array.of(0, PROMPT.length));
    expect(await admin.promptLogprobs(PROMPT)).toEqual(expected);
  });

  test.each<[string, Partial<StandInOptions>]>([
    ["VLLM_SERVER_DEV_MODE=1", { devMode: false }],
    ["--enable-scale-out", { scaleOut: false }],
    ["--logprobs-mode processed_logprobs", { logprobsMode: "raw_logprobs" }],
  ])("says that it was started without %s", async (missing, options) => {
    const { admin } = await serving(options);
    await expect(admin.about()).rejects.toMatchObject({
      code: "PRL_INFERENCE_UNSUPPORTED",
      message: expect.stringContaining(missing) as string,
    });
  });

  test("weights that were not loaded have no version, until others are loaded", async () => {
    const { admin, server, client } = await serving();
    await admin.updateWeights(weights(0));
    const torn = { ...weights(1), source: { dir: "/nowhere" } };
    await expect(admin.updateWeights(torn)).rejects.toMatchObject({ code: "PRL_INFERENCE_FAILED" });
    expect(await admin.health()).toMatchObject({ policyVersion: -1, digest: null });
    expect(server.weightVersion).toBe("loading");
    expect(await admin.updateWeights(weights(0))).toEqual({ skipped: false });
    const completion = await client.generate({ tokenIds: PROMPT, sampling: { maxTokens: 2 } });
    expect(completion).toMatchObject({ policyVersions: [[0, 0]] });
  });

  test("refuses weights by gRPC and reports a dead engine", async () => {
    const { admin: other, server } = await serving();
    const byGrpc = { ...weights(1), source: { grpc: ["127.0.0.1:1"] } };
    await expect(other.updateWeights(byGrpc)).rejects.toMatchObject({ code: "PRL_INFERENCE_UNSUPPORTED" });
    server.dead = true;
    await expect(other.health()).rejects.toMatchObject({ code: "PRL_INFERENCE_FAILED", status: 503 });
  });

  test("a fleet of them swaps with its canary and serves", async () => {
    const { admin, url, client } = await serving();
    const events: string[] = [];
    const metrics = { log: () => undefined, event: (type: string) => void events.push(type), close: () => undefined };
    const engine = { url, isa: "", dtype: "", weights: null, admin, model: "tiny" };
    const placed: PlacedEngine = { name: "inference-0", identity: url, engine };
    const fleet = new EngineFleet([placed], { maxMeanAbs: 1e-6, metrics });
    ends.push(() => fleet.stop());
    await model.swapWeights(weights(1).source.dir);
    const logprobs = [...(await model.logprobs(Uint32Array.from(PROMPT), Uint32Array.of(0, PROMPT.length)))];
    await model.swapWeights(weights(0).source.dir);
    const canary = { tokenIds: PROMPT, logprobs, isa: "avx2", dtype: "float32" };
    const { version, digest, source } = weights(1);
    const manifest = { format: "prl-weights", version, digest, base: null, shards: [], canary, encoding: "full" };
    const available = { manifest, source, acknowledge: async () => undefined, release: async () => undefined };
    await fleet.adopt(available as unknown as AvailableWeights, new AbortController().signal);
    expect(events).toEqual(["canary", "engine_in"]);
    expect(await client.generate({ tokenIds: PROMPT, sampling: { maxTokens: 3 } })).toMatchObject({
      policyVersions: [[0, 1]],
    });
  });
});

describe("sampling", () => {
  test("has token ids, their log-probabilities, and the version that was noted", async () => {
    const { admin, client } = await serving();
    await admin.updateWeights(weights(1));
    const sampling = { maxTokens: 6, temperature: 1, topP: 1, topK: -1, seed: 5, ignoreEos: true };
    const options = { tokenIds: PROMPT, sampling, cacheSalt: "1", priority: 7, requestId: "mine" };
    const completion = await client.generate(options);
    expect(completion).toMatchObject({ policyVersions: [[0, 1]], finishReason: "length", stopReason: null });
    const all = Uint32Array.of(...PROMPT, ...completion.tokenIds);
    const scored = await model.logprobs(all, Uint32Array.of(0, all.length));
    expect(completion.logprobs).toEqual(scored.slice(PROMPT.length));
    expect(completion.usage).toEqual({ promptTokens: 5, completionTokens: 6, cachedTokens: 0 });
  });

  test("refuses tokens of weights without a note", async () => {
    for (const release of ["0.31.0", "0.32.0"]) {
      const { admin, client } = await serving({ release });
      const sampling = { maxTokens: 2 };
      await expect(client.generate({ tokenIds: PROMPT, sampling })).rejects.toMatchObject({
        code: "PRL_INFERENCE_FAILED",
        message: expect.stringContaining("not those of one version of the run") as string,
      });
      await admin.updateWeights(weights(0));
      await client.generate({ tokenIds: PROMPT, sampling });
    }
  });

  test.each([false, true])("a request survives a swap, and its weights are reported (stream: %s)", async (streamed) => {
    const { admin, client } = await serving();
    await admin.updateWeights(weights(0));
    // On a busy machine one may have ended before the pause.
    for (let attempt = 1; ; attempt++) {
      expect(attempt).toBeLessThan(20);
      const [old, next] = [(attempt + 1) % 2, attempt % 2];
      const before = model.stats().generationTokens;
      const heard: number[] = [];
      const onTokens = (ids: readonly number[]): void => void heard.push(...ids);
      const sampling = { maxTokens: 480, ignoreEos: true };
      const running = client.generate({ tokenIds: PROMPT, sampling, ...(streamed && { onTokens }) });
      await sampledBeyond(before);
      await admin.pause("keep");
      const isKept = model.stats().running === 1;
      await admin.updateWeights(weights(next));
      await admin.resume();
      const completion = await running.catch((error: unknown) => error as Error);
      if (completion instanceof Error) {
        // The stand-in notes a token when it is sent: one that was sent late has the mark of what was being loaded then.
        expect(completion.message).toContain("(noted: ");
        expect(completion.message).toContain("loading");
        continue;
      }
      const { tokenIds, logprobs, policyVersions } = completion;
      expect([tokenIds.length, logprobs.length]).toEqual([480, 480]);
      if (streamed) expect(heard).toEqual([...tokenIds]);
      if (!isKept) continue;
      expect(policyVersions).toEqual([
        [0, old],
        [expect.any(Number), next],
      ]);
      return;
    }
  });

  test("a model of somebody else's samples under version 0, whatever it is called there", async () => {
    const { url, server } = await serving();
    const client = new InferenceClient({ url, api: "frozen" });
    ends.push(() => client.close());
    const completion = await client.generate({ tokenIds: PROMPT, sampling: { maxTokens: 3 }, priority: 9 });
    expect(completion.policyVersions).toEqual([[0, 0]]);
    expect(server.weightVersion).toBe("default");
  });

  test("shows the key that a server wants", async () => {
    const { url } = await serving({ apiKey: "s3cret" });
    const ask = (apiKey: string) => {
      const client = new InferenceClient({ url, api: "frozen", apiKey });
      ends.push(() => client.close());
      return client.generate({ tokenIds: PROMPT, sampling: { maxTokens: 1 } });
    };
    expect((await ask("s3cret")).tokenIds).toHaveLength(1);
    await expect(ask("other")).rejects.toMatchObject({ code: "PRL_INFERENCE_AUTH", status: 401 });
  });

  describe("of a release that does not report which weights sampled", () => {
    test("refuses tokens that were sampled while the weights changed", async () => {
      const { server, admin, client } = await serving({ release: "0.31.0" });
      await admin.updateWeights(weights(0));
      await admin.pause("wait");
      // It was asked before the swap and is sampled after it.
      const late = client.generate({ tokenIds: PROMPT, sampling: { maxTokens: 2 } });
      const refused = expect(late).rejects.toMatchObject({ code: "PRL_INFERENCE_FAILED" });
      while (!server.calls.includes("POST /inference/v1/generate")) await new Promise((done) => setTimeout(done, 2));
      await admin.updateWeights(weights(1));
      await admin.resume();
      await refused;
    });

    test("a pause lets requests end, and later requests wait", async () => {
      const { admin, client } = await serving({ release: "0.31.0" });
      await admin.updateWeights(weights(0));
      const before = model.stats().generationTokens;
      const running = client.generate({ tokenIds: PROMPT, sampling: { maxTokens: 200, ignoreEos: true } });
      await sampledBeyond(before);
      await admin.pause("keep");
      expect(model.stats().running).toBe(0);
      expect((await running).tokenIds).toHaveLength(200);
      await admin.resume();
    });
  });

  test("an interrupted request is answered with its tokens so far, by the id that vLLM gave it", async () => {
    const { admin, client } = await serving();
    await admin.updateWeights(weights(0));
    const sampling = { maxTokens: 480, ignoreEos: true };
    // On a busy machine one may have ended before it is cut.
    for (let attempt = 0; ; attempt++) {
      expect(attempt).toBeLessThan(20);
      const cut = new AbortController();
      const before = model.stats().generationTokens;
      const requestId = `mine-${attempt}`;
      const running = client.generate({ tokenIds: PROMPT, sampling, requestId, cut: cut.signal });
      await sampledBeyond(before);
      cut.abort(new Error("too old"));
      const { finishReason, tokenIds, logprobs } = await running;
      if (finishReason === "length") continue;
      expect(finishReason).toBe("abort");
      expect(logprobs).toHaveLength(tokenIds.length);
      expect(tokenIds.length).toBeLessThan(480);
      return;
    }
  });

  test("errors have names: too long, unknown model, an engine that is dead, no log-probabilities", async () => {
    const { server, admin, client, url } = await serving();
    await admin.updateWeights(weights(0));
    const long = Array.from({ length: MAX_MODEL_LEN }, () => 97);
    await expect(client.generate({ tokenIds: long })).rejects.toMatchObject({
      code: "PRL_INFERENCE_CONTEXT",
      status: 400,
    });
    const other = new InferenceClient({ url, model: "other", api: "vllm" });
    ends.push(() => other.close());
    await expect(other.generate({ tokenIds: PROMPT })).rejects.toMatchObject({
      code: "PRL_INFERENCE_REQUEST",
      status: 404,
      message: expect.stringContaining("does not exist") as string,
    });
    server.dead = true;
    await expect(client.generate({ tokenIds: PROMPT })).rejects.toMatchObject({
      code: "PRL_INFERENCE_FAILED",
      status: 500,
    });
    const { admin: silentAdmin, client: silent } = await serving({ withoutLogprobs: true });
    await silentAdmin.updateWeights(weights(0));
    await expect(silent.generate({ tokenIds: PROMPT, sampling: { maxTokens: 2 } })).rejects.toMatchObject({
      code: "PRL_INFERENCE_FAILED",
      message: expect.stringContaining("logprobs") as string,
    });
  });
});

describe("a teacher", () => {
  test.each(["generate", "completions"] as const)(
    "is scored by %s, asked again for the one token that vLLM wants",
    async (api) => {
      const { server, url } = await serving();
      const scorer = new PromptScorer({ url, model: "tiny", api, deadlineMs: 5_000, connections: 2 });
      ends.push(() => scorer.close());
      const ids = Uint32Array.from(PROMPT);
      const expected = await model.logprobs(ids, Uint32Array.of(0, ids.length));
      expect(await scorer.score(ids)).toEqual(expected);
      expect(await scorer.score(ids)).toEqual(expected);
      const path = api === "generate" ? "POST /inference/v1/generate" : "POST /v1/completions";
      expect(server.calls).toEqual([path, path, path]);
      const long = Uint32Array.from({ length: MAX_MODEL_LEN }, () => 97);
      await expect(scorer.score(long)).rejects.toMatchObject({ code: "PRL_INFERENCE_CONTEXT" });
      server.dead = true;
      await expect(scorer.score(ids)).rejects.toMatchObject({ code: "PRL_INFERENCE_FAILED" });
    },
  );
});
