import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";

import { beforeAll, describe, expect, it } from "vitest";

import { createInferenceServer } from "../../../ts/inference/index.ts";
import { LONG, PROMPT, useServing, type Serving } from "./serving.ts";
import { publishVersion } from "./tiny-model.ts";

const serving = useServing();
let model: Serving["model"];
let client: Serving["client"];
let admin: Serving["admin"];

beforeAll(() => {
  ({ model, client, admin } = serving());
});

const error = (code: string, message: unknown = expect.any(String)) => ({
  error: { code, message, type: expect.stringMatching(/Error$/), param: null },
});

const MIDWAY = { seed: 4, ignoreEos: true };

/** A request that fills the context, frozen after `sampled` tokens. Tried again should it be done before the pause arrives. */
async function pausedMidway() {
  for (let attempt = 0; attempt < 50; attempt++) {
    const start = model.stats().generationTokens;
    const pending = client.generate({ tokenIds: PROMPT, sampling: MIDWAY });
    await serving().untilStats((stats) => stats.generationTokens > start);
    await admin.pause("keep");
    const sampled = model.stats().generationTokens - start;
    if (sampled < LONG) return { pending, sampled };
    await admin.resume();
    await pending;
  }
  throw new Error("every request was done before it could be paused");
}

describe("pause, resume, update_weights", () => {
  it("keeps a request over a swap; its tokens say which version sampled them", async () => {
    const undisturbed = await client.generate({ tokenIds: PROMPT, sampling: MIDWAY });
    const { pending, sampled } = await pausedMidway();
    expect(await admin.updateWeights(serving().update(1))).toEqual({ skipped: false });
    expect(await admin.health()).toMatchObject({ paused: true, policyVersion: 1, digest: serving().folder(1).digest });
    await admin.resume();
    const result = await pending;
    expect(result.tokenIds).toHaveLength(LONG);
    const swappedAt = result.policyVersions[1]?.[0] ?? 0;
    expect(result.policyVersions).toEqual([
      [0, 0],
      [swappedAt, 1],
    ]);
    expect(swappedAt).toBe(sampled);
    expect(result.tokenIds.slice(0, swappedAt)).toEqual(undisturbed.tokenIds.slice(0, swappedAt));
    expect(result.tokenIds).not.toEqual(undisturbed.tokenIds);
  });

  it("goes on exactly where it was after pause and resume", async () => {
    const undisturbed = await client.generate({ tokenIds: PROMPT, sampling: MIDWAY });
    const { pending } = await pausedMidway();
    await admin.resume();
    expect((await pending).tokenIds).toEqual(undisturbed.tokenIds);
  });

  it("a pause with abort ends running requests with their tokens so far", async () => {
    const { pending, sampled } = await pausedMidway();
    await admin.pause("abort");
    const { finishReason, tokenIds } = await pending;
    expect(finishReason).toBe("abort");
    expect(tokenIds).toHaveLength(sampled);
  });

  it("lets running requests end when paused with wait, and holds new ones until resume", async () => {
    const start = model.stats().generationTokens;
    const first = client.generate({ tokenIds: PROMPT, sampling: { seed: 4, ignoreEos: true } });
    await serving().untilStats((stats) => stats.generationTokens > start);
    await admin.pause("wait");
    expect((await first).tokenIds).toHaveLength(LONG);
    let ended = false;
    const second = client.generate({ tokenIds: PROMPT, sampling: { maxTokens: 1 } }).finally(() => (ended = true));
    await serving().untilStats((stats) => stats.waiting + stats.running > 0);
    expect(ended).toBe(false);
    await admin.resume();
    expect((await second).tokenIds).toHaveLength(1);
  });

  it("scores prompts while paused, with the weights that are loaded", async () => {
    await admin.pause("keep");
    await admin.updateWeights(serving().update(1));
    const { policyVersion } = await client.promptLogprobs(PROMPT);
    expect(policyVersion).toBe(1);
    const ids = Uint32Array.from(PROMPT);
    expect(await admin.promptLogprobs(PROMPT)).toEqual(await model.logprobs(ids, Uint32Array.of(0, ids.length)));
  });

  it("skips weights that are loaded already", async () => {
    await admin.updateWeights(serving().update(1));
    expect(await admin.updateWeights(serving().update(1))).toEqual({ skipped: true });
  });

  it("refuses a folder of another version and keeps the weights it has", async () => {
    const { dir } = serving().folder(1);
    await expect(
      admin.updateWeights({ version: 7, digest: serving().folder(1).digest, source: { dir } }),
    ).rejects.toMatchObject({
      status: 409,
      serverCode: "PRL_WEIGHTS_MANIFEST",
    });
    const digest = "0123456789abcdef";
    await expect(admin.updateWeights({ version: 1, digest, source: { dir } })).rejects.toMatchObject({ status: 409 });
    expect(await admin.health()).toMatchObject({ policyVersion: 0, digest: serving().folder(0).digest });
  });

  it("refuses a shard whose bytes are not those of the manifest", async () => {
    const broken = await publishVersion(serving().root.dir, 2);
    const shard = join(broken.dir, "model.safetensors");
    const bytes = await readFile(shard);
    bytes.writeUInt8(bytes.readUInt8(bytes.length - 1) ^ 1, bytes.length - 1);
    await writeFile(shard, bytes);
    const asked = { version: 2, digest: broken.digest, source: { dir: broken.dir } };
    await expect(admin.updateWeights(asked)).rejects.toMatchObject({ status: 422, serverCode: "PRL_WEIGHTS_DIGEST" });
    expect((await admin.health()).policyVersion).toBe(0);
  });

  it("answers 400 to malformed control calls", async () => {
    expect(await serving().post("/pause?mode=soon", "")).toEqual({
      status: 400,
      body: error("PRL_INFERENCE_REQUEST", expect.stringContaining("mode")),
    });
    expect(await serving().post("/update_weights", { version: -1 })).toMatchObject({ status: 400 });
    expect(
      await serving().post("/update_weights", { ...serving().update(1), source: { dir: "relative" } }),
    ).toMatchObject({
      status: 400,
    });
  });

  it("resets the prefix cache", async () => {
    const long = Array.from({ length: 200 }, (_, index) => index);
    const run = async () =>
      (await client.generate({ tokenIds: long, sampling: { maxTokens: 1 }, cacheSalt: "x" })).usage.cachedTokens;
    expect(await run()).toBe(0);
    expect(await run()).toBeGreaterThan(0);
    await admin.resetPrefixCache();
    expect(await run()).toBe(0);
  });
});

describe("sleep", () => {
  const is = async (path: string) => (await fetch(serving().url + path)).json();

  it("ends requests, frees the cache and scores on; awake, everything is as before", async () => {
    const before = await client.generate({ tokenIds: PROMPT, sampling: { maxTokens: 20, seed: 1 } });
    const { pending } = await pausedMidway();
    expect(await serving().post("/sleep", "")).toEqual({ status: 200, body: { status: "sleeping" } });
    expect((await pending).finishReason).toBe("abort");
    await admin.resume();
    expect(await is("/is_sleeping")).toEqual({ is_sleeping: true });
    expect(await is("/is_paused")).toEqual({ is_paused: false });
    expect((await client.promptLogprobs(PROMPT)).logprobs).toHaveLength(PROMPT.length);
    const waiting = client.generate({ tokenIds: PROMPT, sampling: { maxTokens: 20, seed: 1 } });
    await serving().untilStats(({ waiting: count }) => count === 1);
    expect((await serving().post("/wake_up?tags=weights", "")).body).toEqual({ status: "sleeping" });
    expect((await serving().post("/wake_up", "")).body).toEqual({ status: "awake" });
    expect((await waiting).tokenIds).toEqual(before.tokenIds);
    expect(await is("/is_sleeping")).toEqual({ is_sleeping: false });
    expect(model.stats()).toMatchObject({ running: 0, waiting: 0 });
  });

  it("keeps requests where that is asked for, and a pause outlasts it", async () => {
    const whole = await client.generate({ tokenIds: PROMPT, sampling: MIDWAY });
    const { pending } = await pausedMidway();
    await serving().post("/sleep?mode=keep", "");
    await serving().post("/wake_up", "");
    expect(await is("/is_paused")).toEqual({ is_paused: true });
    await admin.resume();
    expect((await pending).tokenIds).toEqual(whole.tokenIds);
  });

  it("and a pause go on after their deadline, and the server knows how they ended", async () => {
    const { dir } = serving().folder(0);
    let release: () => void = () => undefined;
    const slow: Serving["model"] = new Proxy(model, {
      get(target, key) {
        if (key === "pause")
          return async (mode: "keep") => {
            await new Promise<void>((resolve) => (release = resolve));
            return target.pause(mode);
          };
        const value: unknown = Reflect.get(target, key, target);
        return typeof value === "function" ? (value.bind(target) as unknown) : value;
      },
    });
    const server = await createInferenceServer(slow, { modelDir: dir, deadlines: { controlMs: 20 } });
    const until = async (url: string, key: string) => {
      const deadline = Date.now() + 10_000;
      while ((await server.app.inject(url)).json<Record<string, boolean>>()[key] !== true) {
        if (Date.now() > deadline) throw new Error(`${url} never says so`);
        await nextTurn();
      }
    };
    try {
      expect((await server.app.inject({ method: "POST", url: "/sleep" })).statusCode).toBe(504);
      release();
      await until("/is_sleeping", "is_sleeping");
      expect((await serving().post("/wake_up", "")).status).toBe(200);
      expect((await client.generate({ tokenIds: PROMPT, sampling: { maxTokens: 2 } })).tokenIds).toHaveLength(2);
      expect((await server.app.inject({ method: "POST", url: "/pause?mode=keep" })).statusCode).toBe(504);
      release();
      await until("/is_paused", "is_paused");
    } finally {
      await server.close();
    }
  });

  it("is refused where weights would be dropped", async () => {
    expect(await serving().post("/sleep?level=2", "")).toMatchObject({ status: 501 });
    expect(await is("/is_sleeping")).toEqual({ is_sleeping: false });
  });
});
