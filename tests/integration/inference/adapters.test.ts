/** Adapters that a server has beside its model: loading, naming them in requests, refusals, and versions that are adapters. */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { loadModel, openTrainer, type Model } from "../../../ts/native/index.ts";
import { WeightPublisher } from "../../../ts/native/weights/index.ts";
import { PROMPT, useServing, type Serving } from "./serving.ts";

const serving = useServing();
const NAMES = ["first", "second"] as const;
/** The model with each adapter, in engines of their own. */
const alone = new Map<string, Model>();

beforeAll(async () => {
  for (const [at, name] of NAMES.entries()) {
    const dir = folderOf(name);
    const trainer = await openTrainer(serving().folder(0).dir, {
      threads: 1,
      loss: { type: "ce" },
      optim: { type: "adamw", lr: 0.05 },
      lora: { rank: 4, seed: at },
    });
    const tokens = Uint32Array.from({ length: 24 }, (_, t) => (t * 7 + at) % 250);
    const zeros = new Float32Array(tokens.length);
    await trainer.forwardBackward({
      inputIds: tokens,
      inferenceLogprobs: zeros,
      advantages: zeros,
      temperatures: zeros.map(() => 1),
      lossMask: Uint8Array.from(tokens, (_, t) => (t === 0 ? 0 : 1)),
      cuSeqlens: Uint32Array.of(0, tokens.length),
    });
    await trainer.step();
    await trainer.save(dir);
    await trainer.close();
    alone.set(name, await loadModel(serving().folder(0).dir, { threads: 1, adapter: dir, maxNumSeqs: 2 }));
  }
});
afterAll(async () => {
  for (const model of alone.values()) await model.close();
});

function folderOf(name: string): string {
  return join(serving().root.dir, `adapter-${name}`);
}

function load(name: string, more: Record<string, unknown> = {}): ReturnType<Serving["post"]> {
  return serving().post("/v1/load_lora_adapter", { lora_name: name, lora_path: folderOf(name), ...more });
}

async function sampled(model: string): Promise<{ ids: number[]; logprobs: number[] }> {
  const body = {
    model,
    token_ids: PROMPT,
    sampling_params: { max_tokens: 12, seed: 3, ignore_eos: true, logprobs: 0 },
  };
  const answer = await serving().post("/inference/v1/generate", body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  const [choice] = answer.body["choices"] as [{ token_ids: number[]; logprobs: { content: { logprob: number }[] } }];
  return { ids: choice.token_ids, logprobs: choice.logprobs.content.map(({ logprob }) => logprob) };
}

async function expectedLogprobs(model: Model, ids: readonly number[]): Promise<number[]> {
  const all = Uint32Array.from([...PROMPT, ...ids]);
  const scored = await model.logprobs(all, Uint32Array.of(0, all.length));
  return Array.from(scored.subarray(PROMPT.length));
}

describe("adapters of a server", () => {
  it("computes each request of a batch with the adapter that it names", async () => {
    for (const name of NAMES) expect((await load(name)).status).toBe(200);
    const answers = await Promise.all(["tiny", ...NAMES, "tiny", ...NAMES].map(sampled));
    const [plain, first, second] = answers;
    expect(answers.slice(3)).toEqual([plain, first, second]);
    expect(new Set([plain, first, second].map((answer) => JSON.stringify(answer))).size).toBe(3);
    for (const [at, model] of [serving().model, ...alone.values()].entries()) {
      const { ids, logprobs } = answers[at] ?? { ids: [], logprobs: [] };
      expect(logprobs).toEqual(await expectedLogprobs(model, ids));
    }
    const listed = await (await fetch(`${serving().url}/v1/models`)).json();
    expect(listed).toMatchObject({
      data: [
        { id: "tiny", parent: null },
        { id: "first", parent: "tiny", root: folderOf("first") },
        { id: "second", parent: "tiny" },
      ],
    });
    expect((await serving().post("/v1/completions", { model: "first", prompt: "ab", max_tokens: 2 })).status).toBe(200);
    expect((await serving().post("/v1/unload_lora_adapter", { lora_name: "first" })).status).toBe(200);
    expect((await serving().post("/unload_lora_adapter", { lora_name: "second", lora_int_id: 2 })).status).toBe(200);
    expect(await serving().post("/v1/completions", { model: "first", prompt: "ab" })).toMatchObject({ status: 404 });
  });

  it("names in its metrics the adapters that requests run with and wait for", async () => {
    for (const name of NAMES) expect((await load(name)).status).toBe(200);
    const info = async () => {
      const text = await (await fetch(`${serving().url}/metrics`)).text();
      const [, running, waiting, time] =
        /^vllm:lora_requests_info\{max_lora="64",running_lora_adapters="(.*)",waiting_lora_adapters="(.*)"\} (\S+)$/mu.exec(
          text,
        ) ?? [];
      expect(Math.abs(Number(time) - Date.now() / 1000)).toBeLessThan(60);
      return { running, waiting };
    };
    const long = (model: string) =>
      serving().post("/inference/v1/generate", {
        model,
        token_ids: PROMPT,
        sampling_params: { max_tokens: 400, ignore_eos: true },
      });
    // The pause has to come before the request has ended.
    let first = long("first");
    for (let tries = 0; tries < 50; tries += 1) {
      await serving().untilStats(({ running }) => running > 0);
      await serving().admin.pause("keep");
      if (serving().model.stats().running > 0) break;
      await serving().admin.resume();
      await first;
      first = long("first");
    }
    const second = long("second");
    await serving().untilStats(({ waiting }) => waiting > 0);
    expect(await info()).toEqual({ running: "first", waiting: "second" });
    await serving().admin.resume();
    await Promise.all([first, second]);
    expect(await info()).toEqual({ running: "", waiting: "" });
    for (const lora_name of NAMES)
      expect((await serving().post("/v1/unload_lora_adapter", { lora_name })).status).toBe(200);
  });

  it("refuses by name what it cannot load, and what an adapter cannot do", async () => {
    const refused = async (path: string, body: unknown) => {
      const { status, body: answer } = await serving().post(path, body);
      return `${status} ${(answer["error"] as { code: string; message: string }).code}: ${(answer["error"] as { message: string }).message}`;
    };
    expect((await load("first")).status).toBe(200);
    const named = { lora_name: "first", lora_path: folderOf("first") };
    expect(await refused("/v1/load_lora_adapter", named)).toMatch(/^400 .*"first" is loaded already.*load_inplace/);
    expect((await load("first", { load_inplace: true })).status).toBe(200);
    expect(await refused("/v1/load_lora_adapter", { ...named, lora_name: "tiny" })).toMatch(
      /^400 .*the name of the model/,
    );
    expect(await refused("/v1/load_lora_adapter", { ...named, lora_path: "a" })).toMatch(/^400 .*lora_path.*absolute/);
    expect(await refused("/v1/load_lora_adapter", { ...named, more: 1 })).toMatch(/^400 .*more/);
    const missing = { lora_name: "third", lora_path: folderOf("third") };
    expect(await refused("/v1/load_lora_adapter", missing)).toMatch(/PRL_WEIGHTS_ADAPTER: .*adapter-third/);
    expect(await refused("/v1/unload_lora_adapter", { lora_name: "third" })).toMatch(/^404 .*no adapter "third"/);
    const scored = { model: "first", token_ids: PROMPT, sampling_params: { max_tokens: 1, prompt_logprobs: 0 } };
    expect(await refused("/inference/v1/generate", scored)).toMatch(/^501 .*prompt_logprobs/);
    const echoed = { model: "first", prompt: "ab", max_tokens: 1, echo: true };
    expect(await refused("/v1/completions", { ...echoed, logprobs: 1 })).toMatch(/^501 .*echo/);
    expect((await serving().post("/v1/completions", echoed)).status).toBe(200);
    const chat = { model: "first", messages: [{ role: "user", content: "a" }], max_tokens: 1, echo: true };
    expect(await refused("/v1/chat/completions", chat)).toMatch(/^501 .*echo/);
    expect((await serving().post("/v1/unload_lora_adapter", { lora_name: "first" })).status).toBe(200);
  });

  it("takes a version that is an adapter, and goes back to one that is a model", async () => {
    const root = join(serving().root.dir, "adapter-versions");
    const publisher = await WeightPublisher.open(root, { keep: 2 });
    const { dir, manifest } = await publisher.publishFolder(5, folderOf("second"));
    expect(manifest.encoding).toBe("peft");
    const update = { version: 5, digest: manifest.digest, source: { dir } };
    expect(await serving().post("/update_weights", update)).toMatchObject({ status: 200, body: { skipped: false } });
    const { ids, logprobs } = await sampled("tiny");
    const second = alone.get("second");
    if (second === undefined) throw new Error("the second adapter is not loaded");
    expect(logprobs).toEqual(await expectedLogprobs(second, ids));
    expect((await serving().post("/update_weights", serving().update(0))).status).toBe(200);
    expect(logprobs).not.toEqual((await sampled("tiny")).logprobs);
  });
});
