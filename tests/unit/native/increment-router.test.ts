import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { loadModel, type GenerateIncrement, type GenerateRequest, type Model } from "../../../ts/native/index.ts";
import { publishVersion } from "../../integration/inference/tiny-model.ts";

let root: string;
let dir: string;
let model: Model;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "prl-router-"));
  ({ dir } = await publishVersion(root, 0));
  model = await loadModel(dir, { threads: 1, kvCacheBytes: 8 * 1024 * 1024 });
});
afterAll(async () => {
  await model.close();
  await rm(root, { recursive: true, force: true });
});

const PROMPT = [104, 105];
const short = (id: string): GenerateRequest => ({ id, promptTokenIds: PROMPT, maxTokens: 4, ignoreEos: true });
const long = (id: string): GenerateRequest => ({ ...short(id), maxTokens: 500 });

async function collect(increments: AsyncIterable<GenerateIncrement>): Promise<GenerateIncrement[]> {
  const all: GenerateIncrement[] = [];
  for await (const increment of increments) all.push(increment);
  return all;
}
const ends = (increments: GenerateIncrement[]) =>
  Object.fromEntries(
    increments.flatMap(({ id, finishReason, error }) =>
      finishReason === null && error === undefined ? [] : [[id, error?.code ?? finishReason]],
    ),
  );

describe("generate", () => {
  test("calls that run together get their own increments, also under the same ids", async () => {
    const calls = ["a", "b", "c"].map((salt) =>
      collect(model.generate([short("x"), { ...short("y"), seed: salt.charCodeAt(0) }])),
    );
    for (const increments of await Promise.all(calls)) {
      expect(ends(increments)).toEqual({ x: "length", y: "length" });
      const tokens = increments.filter(({ id }) => id === "x").reduce((sum, { tokenIds }) => sum + tokenIds.length, 0);
      expect(tokens).toBe(4);
    }
  });

  test("an id that comes twice in one call is refused the second time, the first goes on", async () => {
    const increments = await collect(model.generate([short("x"), short("x"), short("y")]));
    expect(increments.filter(({ error }) => error !== undefined)).toMatchObject([
      { id: "x", error: { code: "PRL_ENGINE_INPUT" } },
    ]);
    expect(increments.filter(({ finishReason }) => finishReason === "length")).toHaveLength(2);
  });

  test("a call that is left early is aborted in the engine, and its id is free at once", async () => {
    for await (const increment of model.generate([long("x")])) {
      expect(increment.id).toBe("x");
      break;
    }
    expect(ends(await collect(model.generate([short("x")])))).toEqual({ x: "length" });
    await expect.poll(() => model.stats().running + model.stats().waiting).toBe(0);
  });

  test("an abort ends the call with its reason and frees the engine, which need not be running for it", async () => {
    await model.pause("keep");
    const stop = new AbortController();
    const seen: GenerateIncrement[] = [];
    const call = (async () => {
      const requests = [long("x"), long("y")];
      for await (const increment of model.generate(requests, { signal: stop.signal })) seen.push(increment);
    })();
    await expect.poll(() => model.stats().waiting, { interval: 1 }).toBe(2);
    stop.abort(new Error("enough"));
    await expect(call).rejects.toThrow("enough");
    expect(ends(seen)).toEqual({ x: "abort", y: "abort" });
    expect(model.stats()).toMatchObject({ running: 0, waiting: 0 });
    await model.resume();
    const late = model.generate([short("x")], { signal: AbortSignal.abort(new Error("before")) });
    await expect(collect(late)).rejects.toThrow("before");
  });

  test.each([
    ["maxTokens", { maxTokens: -1 }],
    ["maxTokens", { maxTokens: 1.5 }],
    ["maxTokens", { maxTokens: 2 ** 32 + 1 }],
    ["minTokens", { minTokens: Number.NaN }],
    ["topK", { topK: 2.5 }],
    ["topK", { topK: -2 }],
    ["seed", { seed: -1 }],
    ["seed", { seed: 2 ** 53 }],
    ["priority", { priority: 0.5 }],
    ["promptTokenIds[1]", { promptTokenIds: [1, -1] }],
    ["promptTokenIds[0]", { promptTokenIds: [2 ** 32] }],
    ["stopTokenIds[0]", { stopTokenIds: [1.5] }],
    ["temperature", { temperature: Number.NaN }],
    ["minP", { minP: 2 }],
    ["logitBias[0]", { logitBias: new Map([[-1, 1]]) }],
    ["logitBias", { logitBias: new Map([[1, Number.NaN]]) }],
    ["badWords[1][0]", { badWords: [[1], [1.5]] }],
    ["topLogprobs", { topLogprobs: 0.5 }],
  ])("a request with a wrong %s is refused by name, the others go on: %o", async (field, wrong) => {
    const increments = await collect(model.generate([{ ...short("bad"), ...wrong }, short("good")]));
    expect(ends(increments)).toEqual({ bad: "PRL_ENGINE_INPUT", good: "length" });
    expect(increments.find(({ id }) => id === "bad")?.error?.message).toContain(field);
  });

  test("a request with an adapter that is not loaded is refused, the others go on", async () => {
    const increments = await collect(model.generate([{ ...short("bad"), adapter: "none" }, short("good")]));
    expect(ends(increments)).toEqual({ bad: "PRL_ENGINE_INPUT", good: "length" });
    expect(increments.find(({ id }) => id === "bad")?.error?.message).toContain(`no adapter "none"`);
  });

  test("ranks and the most probable tokens come in every increment of a request that asks for them", async () => {
    const increments = await collect(model.generate([{ ...short("x"), topLogprobs: 3 }, short("y")]));
    for (const { id, tokenIds, ranking } of increments) {
      if (id === "y" || tokenIds.length === 0) expect(ranking).toBeUndefined();
      else
        expect(ranking).toMatchObject({
          ranks: { length: tokenIds.length },
          topTokenIds: { length: 3 * tokenIds.length },
        });
    }
    const ids = Uint32Array.from([
      ...PROMPT,
      ...increments.flatMap(({ id, tokenIds }) => (id === "x" ? [...tokenIds] : [])),
    ]);
    const scored = await model.rankedLogprobs(ids, Uint32Array.of(0, ids.length), 3);
    const of = (part: "ranks" | "topTokenIds" | "topLogprobs") =>
      increments.flatMap(({ id, ranking }) => (id === "x" ? [...(ranking?.[part] ?? [])] : []));
    expect([...scored.ranking.ranks.subarray(PROMPT.length)]).toEqual(of("ranks"));
    expect([...scored.ranking.topTokenIds.subarray(3 * PROMPT.length)]).toEqual(of("topTokenIds"));
    expect([...scored.ranking.topLogprobs.subarray(3 * PROMPT.length)]).toEqual(of("topLogprobs"));
    expect([...scored.logprobs]).toEqual([...(await model.logprobs(ids, Uint32Array.of(0, ids.length)))]);
  });

  test("requests wait while the model sleeps and end as usual when it is awake", async () => {
    const awake = await collect(model.generate([short("x")]));
    await model.sleep();
    const call = collect(model.generate([short("x")]));
    await expect.poll(() => model.stats().waiting, { interval: 1 }).toBe(1);
    await model.wakeUp();
    const tokens = (all: GenerateIncrement[]) => all.flatMap(({ tokenIds }) => [...tokenIds]);
    expect(tokens(await call)).toEqual(tokens(awake));
  });

  test("closing the model ends running calls, and later calls are PRL_ENGINE_CLOSED", async () => {
    const closing = await loadModel(dir, { threads: 1, kvCacheBytes: 8 * 1024 * 1024 });
    await closing.pause("keep");
    const call = collect(closing.generate([long("x")]));
    await expect.poll(() => closing.stats().waiting, { interval: 1 }).toBe(1);
    await closing.close();
    expect(ends(await call)).toEqual({ x: "abort" });
    await expect(collect(closing.generate([short("x")]))).rejects.toMatchObject({ code: "PRL_ENGINE_CLOSED" });
    expect(() => closing.stats()).toThrow(expect.objectContaining({ code: "PRL_ENGINE_CLOSED" }) as Error);
    await closing.close();
  });

  test("an abort after the model was closed is not a second error", async () => {
    const closing = await loadModel(dir, { threads: 1, kvCacheBytes: 8 * 1024 * 1024 });
    const stop = new AbortController();
    const increments = closing.generate([short("x"), long("y")], { signal: stop.signal })[Symbol.asyncIterator]();
    await increments.next();
    await closing.close();
    stop.abort(new Error("late"));
    expect(await increments.return?.()).toMatchObject({ done: true });
  });
});
