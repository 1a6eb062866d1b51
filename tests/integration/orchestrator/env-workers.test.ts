/** The orchestrator's end of the env-worker protocol against real workers, and against servers that do what workers must not. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";

import { type RunRequest, startEnvWorker } from "../../../ts/environments/internal.ts";
import type { Task } from "../../../ts/environments/index.ts";
import { connectEnvWorkers, type EnvWorkers } from "../../../ts/orchestrator/index.ts";
import { runRollout } from "../../../ts/orchestrator/scheduling/rollouts.ts";

const MODEL = new URL("../../../configs/reverse-text/model", import.meta.url).pathname;
const never = new AbortController().signal;
const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function serve(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanups.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** An engine that never answers; `open` counts the requests that it holds. */
async function stuckEngine(): Promise<{ url: string; open: () => number; seen: () => number }> {
  let open = 0;
  let seen = 0;
  const server = createServer((request, response) => {
    seen++;
    open++;
    request.resume();
    response.on("close", () => open--);
  });
  return { url: await serve(server), open: () => open, seen: () => seen };
}

async function realWorker(): Promise<string> {
  const worker = await startEnvWorker({
    run_id: "test",
    seed: 1,
    model_dir: MODEL,
    sources: [{ name: "reverse", split: "train", env: { id: "reverse-text" } }],
    max_concurrent: 8,
  });
  cleanups.push(() => worker.stop());
  return worker.url;
}

function connect(urls: string[], connections = 8): EnvWorkers {
  const workers = connectEnvWorkers(urls, { connections });
  cleanups.push(() => workers.close());
  return workers;
}

const request = (engine: string, task: Task, id = "e"): RunRequest => ({
  env: "reverse",
  task: { ...task, data: task.data },
  inference: { url: engine, model: "m" },
  sampling: { temperature: 1 },
  seed: 1,
  cache_salt: "0",
  priority: 0,
  deadline_ms: 60_000,
  episode_id: id,
  group_id: "g",
  run: { type: "train", step: 1 },
});

const anyTask: Task = { key: "k", hash: "h", data: {} };

async function taskOf(workers: EnvWorkers): Promise<Task> {
  const { tasks } = await workers.tasks({ source: "reverse", split: "train", after: null, limit: 1 }, never);
  const [task] = tasks;
  if (task === undefined) throw new Error("no task");
  return task;
}

/** A port without a listener. */
async function deadUrl(): Promise<string> {
  const server = createServer();
  const url = await serve(server);
  server.close();
  return url;
}

describe("cancelling a rollout", () => {
  test("reaches the engine, even when every connection for rollouts is taken, and is not retried", async () => {
    const engine = await stuckEngine();
    const workers = connect([await realWorker()], 2);
    const task = await taskOf(workers);
    const stop = new AbortController();
    const rollouts = ["a", "b", "c"].map((id) => runRollout(workers, request(engine.url, task, id), stop.signal));
    await expect.poll(engine.open).toBe(2);
    stop.abort(new Error("too old"));
    const started = performance.now();
    const results = await Promise.all(rollouts);
    expect(performance.now() - started).toBeLessThan(60_000);
    for (const { episode } of results) expect(episode).toMatchObject({ ok: false, errors: [{ class: "infra" }] });
    await expect.poll(engine.open).toBe(0);
    await sleep(500);
    expect(engine.open()).toBe(0);
  });

  test("ends although the worker does not answer", async () => {
    const workers = connect([(await stuckEngine()).url]);
    const stop = new AbortController();
    const rollout = workers.run(request("http://127.0.0.1:9", anyTask), stop.signal);
    await sleep(20);
    stop.abort(new Error("too old"));
    const { episode } = await rollout;
    expect(episode.errors).toEqual([{ class: "infra", code: "PRL_EPISODE_CANCELLED", message: "too old" }]);
  });

  test("that was cancelled before it was sent sends nothing", async () => {
    const worker = await stuckEngine();
    const { episode } = await connect([worker.url]).run(
      request("http://x", anyTask),
      AbortSignal.abort(new Error("no")),
    );
    expect(episode).toMatchObject({ ok: false, errors: [{ code: "PRL_EPISODE_CANCELLED" }] });
    expect(worker.seen()).toBe(0);
  });
});

describe("workers that fail", () => {
  test("a dead one is an infra error, and the retry goes to another with the same seed", async () => {
    const seeds: number[] = [];
    const server = createServer((incoming, response) => {
      let body = "";
      incoming.on("data", (chunk: Buffer) => (body += chunk.toString()));
      incoming.on("end", () => {
        seeds.push((JSON.parse(body) as RunRequest).seed);
        response.writeHead(400).end("enough");
      });
    });
    const workers = connect([await deadUrl(), await serve(server)]);
    const { episode } = await workers.run(request("http://x", anyTask), never);
    expect(episode).toMatchObject({ ok: false, traces: [], errors: [{ class: "infra", code: "PRL_PROCESS_DIED" }] });
    await workers.run(request("http://x", anyTask), never).catch(() => undefined);
    await expect(runRollout(workers, request("http://x", anyTask), never)).rejects.toMatchObject({
      code: "PRL_ENVIRONMENT_FAILED",
    });
    expect(seeds).toEqual([1, 1]);
  });

  test("one that does not keep the rollout's deadline is an infra error", async () => {
    const workers = connect([(await stuckEngine()).url]);
    const late = { ...request("http://x", anyTask), deadline_ms: -9_900 };
    const { episode } = await workers.run(late, never);
    expect(episode.errors[0]).toMatchObject({ class: "infra", message: expect.stringContaining("100 ms") as string });
  });

  test("an answer that is no episode is an infra error of the rollout", async () => {
    const url = await serve(createServer((_request, response) => response.end("nonsense")));
    const { episode } = await connect([url]).run(request("http://x", anyTask), never);
    expect(episode).toMatchObject({ ok: false, errors: [{ class: "infra", code: "PRL_EPISODE_INVALID" }] });
  });

  test.each([401, 409])("one that answers %i has another in its place, which is an infra error", async (status) => {
    const url = await serve(createServer((_request, response) => response.writeHead(status).end("another")));
    const { episode } = await connect([url]).run(request("http://x", anyTask), never);
    const [error] = episode.errors;
    expect(error).toMatchObject({ class: "infra", code: "PRL_PROCESS_DIED" });
    expect(error?.message).toContain("it refuses this orchestrator: another");
  });

  test("tasks: a refusal, a dead worker and an abort are different errors", async () => {
    const workers = connect([await realWorker()]);
    await expect(
      workers.tasks({ source: "unknown", split: "train", after: null, limit: 1 }, never),
    ).rejects.toMatchObject({
      code: "PRL_ENVIRONMENT_FAILED",
    });
    const dead = connect([await deadUrl()]);
    await expect(dead.tasks({ source: "reverse", split: "train", after: null, limit: 1 }, never)).rejects.toMatchObject(
      { code: "PRL_PROCESS_DIED" },
    );
    const stuck = connect([(await stuckEngine()).url]);
    const reason = new Error("stop");
    const stop = new AbortController();
    const waiting = stuck.tasks({ source: "reverse", split: "train", after: null, limit: 1 }, stop.signal);
    stop.abort(reason);
    await expect(waiting).rejects.toBe(reason);
  });
});
