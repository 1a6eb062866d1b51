/** Requests that are dropped half-way leave nothing behind: no block of the cache, no descriptor, no handle, no place in a queue. */
import { readdirSync } from "node:fs";
import { Agent, request as httpRequest } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";

import type { Model } from "../../../ts/native/index.ts";
import { createInferenceServer, type InferenceServer } from "../../../ts/inference/index.ts";
import { PROMPT, useServing } from "./serving.ts";
import { IS_LONG } from "../../support/form.ts";

const REQUESTS = IS_LONG ? 10_000 : 400;
const AT_ONCE = 32;
const SETTLE_MS = 20_000;

const serving = useServing();
let model: Model;
let server: InferenceServer;
let url: string;
beforeAll(async () => {
  ({ model } = serving());
  server = await createInferenceServer(model, { modelDir: serving().folder(0).dir, modelNames: ["tiny"] });
  url = await server.listen("127.0.0.1", 0);
});
afterAll(() => server.close());

interface Held {
  blocks: number;
  requests: number;
  descriptors: number;
  handles: number;
}

async function held(): Promise<Held> {
  await serving().post("/reset_prefix_cache", {});
  const { kvCacheUsage, running, waiting } = model.stats();
  const descriptors = process.platform === "linux" ? readdirSync("/proc/self/fd").length : 0;
  const lasting = process.getActiveResourcesInfo().filter((name) => name !== "Immediate");
  return { blocks: kvCacheUsage, requests: running + waiting, descriptors, handles: lasting.length };
}

/** What is held once the engine is idle; what connections hold goes a little later. */
async function settled(most: Held | null): Promise<Held> {
  const deadline = Date.now() + SETTLE_MS;
  for (;;) {
    const now = await held();
    const isFlat =
      most === null
        ? now.requests === 0
        : Object.entries(most).every(([key, value]) => now[key as keyof Held] <= value);
    if (isFlat || Date.now() > deadline) return now;
    await delay(50);
  }
}

/** Iterators that are left after some tokens, or before the first. */
async function dropIterator(at: number): Promise<void> {
  const ending = new AbortController();
  const requests = [
    { id: `dropped-${at}`, promptTokenIds: [...PROMPT, at % 256], maxTokens: 40, ignoreEos: true, seed: at },
  ];
  if (at % 3 === 0) {
    const pending = model.generate(requests, { signal: ending.signal })[Symbol.asyncIterator]().next();
    ending.abort();
    await pending.catch(() => undefined);
    return;
  }
  for await (const { error } of model.generate(requests)) {
    if (error !== undefined) throw error;
    if (at % 3 === 1) break;
  }
}

const BODIES: readonly (readonly [string, object])[] = [
  ["/inference/v1/generate", { token_ids: PROMPT, sampling_params: { max_tokens: 40, ignore_eos: true, n: 2 } }],
  ["/v1/completions", { prompt: "hello", max_tokens: 40, ignore_eos: true, stop: ["never there"] }],
  ["/v1/chat/completions", { messages: [{ role: "user", content: "hello" }], max_tokens: 40, ignore_eos: true }],
  ["/v1/responses", { input: "hello", max_output_tokens: 40, ignore_eos: true, store: false }],
  ["/v1/messages", { messages: [{ role: "user", content: "hello" }], max_tokens: 40, ignore_eos: true }],
];

/** Connections that are closed before the answer, after its first piece, or not at all. */
async function dropConnection(at: number, agent: Agent): Promise<void> {
  const [path, body] = BODIES[at % BODIES.length] ?? ["", {}];
  const ends = Math.floor(at / BODIES.length) % 3;
  await new Promise<void>((resolve, reject) => {
    const headers = { "content-type": "application/json" };
    const sent = httpRequest(url + path, { method: "POST", agent, headers }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`${path}: ${response.statusCode}`));
      response.on("data", () => void (ends === 1 && sent.destroy()));
      response.once("close", resolve);
      response.on("error", () => undefined);
    });
    sent.on("error", (error) => (sent.destroyed ? resolve() : reject(error)));
    sent.once("close", resolve);
    sent.end(
      JSON.stringify({ ...body, stream: at % 2 === 0 }),
      () => void (ends === 0 && setTimeout(() => sent.destroy(), at % 7)),
    );
  });
}

async function drop(count: number): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
  let next = 0;
  const one = async (): Promise<void> => {
    for (let at = next++; at < count; at = next++)
      await (at % 2 === 0 ? dropIterator(at / 2) : dropConnection((at - 1) / 2, agent));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
  // Its idle connections are no leak.
  agent.destroy();
}

it(`${REQUESTS} dropped requests hold nothing any more`, { timeout: 900_000 }, async () => {
  await drop(AT_ONCE * 2);
  const before = await settled(null);
  expect(before).toMatchObject({ blocks: 0, requests: 0 });
  await drop(REQUESTS);
  const after = await settled(before);
  expect(after.blocks).toBe(0);
  expect(after.requests).toBe(0);
  expect(after.descriptors).toBeLessThanOrEqual(before.descriptors);
  expect(after.handles).toBeLessThanOrEqual(before.handles);
  const { body } = await serving().post("/v1/completions", { model: "tiny", prompt: "hello", max_tokens: 2 });
  expect(body["usage"]).toMatchObject({ completion_tokens: 2 });
});
