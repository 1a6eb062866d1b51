/** Inference servers by their addresses: a run begins with those that answer, and the others join. */
import Fastify, { type FastifyInstance } from "fastify";
import { afterEach, beforeEach, expect, test } from "vitest";

import { EngineDirectory, type PlacedEngine } from "../../../../ts/orchestrator/index.ts";

let apps: FastifyInstance[];
let directory: EngineDirectory;
let ended: AbortController;
let events: Record<string, unknown>[];
beforeEach(() => {
  [apps, events] = [[], []];
  directory = new EngineDirectory();
  ended = new AbortController();
});
afterEach(async () => {
  ended.abort();
  await directory.close();
  await Promise.all(apps.map((app) => app.close()));
});
const metrics = { event: (type: string, fields = {}) => void events.push({ type, ...fields }) };

/** Answers `status` until it is 200. */
async function server(state: { status: number }, port = 0): Promise<string> {
  const app = Fastify({ forceCloseConnections: true });
  app.addHook("onRequest", async (_request, reply) => {
    if (state.status !== 200) await reply.code(state.status).send({ error: { message: "not now" } });
  });
  app.get("/version", () => ({ version: "1" }));
  app.get("/v1/models", () => ({ data: [{ id: "served", max_model_len: 64 }] }));
  apps.push(app);
  return app.listen({ host: "127.0.0.1", port });
}

/** An address without a listener. */
async function nowhere(): Promise<string> {
  const url = await server({ status: 200 });
  await apps.pop()?.close();
  return url;
}

const namesOf = (placed: readonly PlacedEngine[]) => placed.map(({ name, engine }) => [name, engine.url, engine.model]);

test("those that answer are enough; each of the others is named, and admitted in its place when it answers", async () => {
  const late = { status: 503 };
  const urls = [await nowhere(), await server({ status: 200 }), await server(late)];
  const servers = await directory.running(urls, 5_000, ended.signal, 50);
  expect(namesOf(servers.placed)).toEqual([["inference-1", urls[1], "served"]]);
  expect(servers.silent.map(({ url }) => url)).toEqual([urls[0], urls[2]]);

  const fleets: unknown[] = [];
  const changed = new Promise<void>((resolve) => {
    const fleet = { update: (placed: readonly PlacedEngine[]) => (fleets.push(namesOf(placed)), resolve()) };
    void directory.followRunning(servers, fleet, metrics, ended.signal);
  });
  expect(events.map(({ type, engine }) => [type, engine])).toEqual([
    ["engine_missing", urls[0]],
    ["engine_missing", urls[2]],
  ]);
  late.status = 200;
  await changed;
  expect(fleets).toEqual([
    [
      ["inference-1", urls[1], "served"],
      ["inference-2", urls[2], "served"],
    ],
  ]);
});

test("when none answers in time the error names them; one that is started meanwhile is awaited", async () => {
  const urls = [await nowhere(), await nowhere()];
  await expect(directory.running(urls, 30, ended.signal, 10)).rejects.toMatchObject({
    code: "PRL_INFERENCE_UNREACHABLE",
    message: expect.stringContaining(urls[1] ?? "") as string,
  });
  const waiting = directory.running(urls, 20_000, ended.signal, 10);
  await server({ status: 200 }, Number(new URL(urls[0] ?? "").port));
  expect(namesOf((await waiting).placed)).toEqual([["inference-0", urls[0], "served"]]);
});

test("an address without an inference server is a mistake of the config at the start, and is left out later", async () => {
  const other = { status: 404 };
  const urls = [await server({ status: 200 }), await server(other)];
  await expect(directory.running(urls, 5_000, ended.signal, 50)).rejects.toMatchObject({
    code: "PRL_INFERENCE_REQUEST",
  });
  other.status = 503;
  const servers = await directory.running(urls, 5_000, ended.signal, 50);
  other.status = 404;
  const fleet = { update: () => expect.unreachable() };
  await directory.followRunning(servers, fleet, metrics, ended.signal);
  expect(events.map(({ type, engine }) => [type, engine])).toEqual([
    ["engine_missing", urls[1]],
    ["engine_refused", urls[1]],
  ]);
});
