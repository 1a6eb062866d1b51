/** Env workers as processes: their number follows the load, and one that is killed costs no rollout. */
import { setMaxListeners } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import Fastify from "fastify";
import { afterEach, beforeEach, expect, test } from "vitest";

import { Fleet } from "../../../ts/launcher/processes/fleet.ts";
import { childSpec } from "../../../ts/launcher/processes/rl-processes.ts";
import { Supervisor, SUPERVISOR_TIMES } from "../../../ts/launcher/processes/supervisor.ts";
import type { RunRequest } from "../../../ts/environments/internal.ts";
import type { Task } from "../../../ts/environments/index.ts";
import { connectEnvWorkers, followEnvWorkers, readyEnvWorkers } from "../../../ts/orchestrator/index.ts";
import { runRollout } from "../../../ts/orchestrator/scheduling/rollouts.ts";

const MODEL = new URL("../../../configs/reverse-text/model", import.meta.url).pathname;
const EOS = 257;
const PATIENCE_MS = 60_000;

let runDir: string;
let notes: string[];
let supervisor: Supervisor;
let fleet: Fleet | undefined;
const cleanups: (() => Promise<unknown>)[] = [];

beforeEach(async () => {
  runDir = await mkdtemp(join(tmpdir(), "prl-fleet-"));
  notes = [];
  await mkdir(join(runDir, "logs"));
  await mkdir(join(runDir, "run"));
  supervisor = new Supervisor(runDir, { ...SUPERVISOR_TIMES, graceMs: 500 });
});
afterEach(async () => {
  fleet?.stop();
  await supervisor.stop();
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
  await rm(runDir, { recursive: true, force: true });
});

async function startFleet(env: object, least: number, most: number, rolloutsPerWorker: number): Promise<void> {
  const config = join(runDir, "env-worker.json");
  const sources = [{ name: "text", split: "train", env }];
  await writeFile(config, JSON.stringify({ run_id: "r", seed: 1, model_dir: MODEL, sources, max_concurrent: 512 }));
  const base = { runDir, logs: join(runDir, "logs"), attempt: 1 };
  fleet = new Fleet(supervisor, {
    runDir,
    component: "env-worker",
    least,
    most,
    rolloutsPerWorker,
    spec: (index) => childSpec(base, { component: "env-worker", index, configPath: config, finishes: false }),
    note: (message) => notes.push(message),
  });
  await supervisor.ready(fleet.start(), PATIENCE_MS);
}

/** An engine that takes a while, so that many rollouts are under way. */
async function slowEngine(delayMs: number): Promise<string> {
  const app = Fastify();
  app.post("/inference/v1/generate", async () => {
    await sleep(delayMs);
    const choice = { index: 0, token_ids: [97, EOS], logprobs: { content: [{ logprob: -1 }, { logprob: -1 }] } };
    return {
      request_id: "r",
      choices: [{ ...choice, finish_reason: "stop", stop_reason: EOS, policy_versions: [[0, 1]] }],
    };
  });
  cleanups.push(() => app.close());
  return app.listen({ host: "127.0.0.1", port: 0 });
}

async function connect() {
  const ended = new AbortController();
  setMaxListeners(0, ended.signal);
  const workers = connectEnvWorkers(await readyEnvWorkers(runDir), { connections: 512, replacedWithinMs: PATIENCE_MS });
  const following = followEnvWorkers(runDir, workers, ended.signal);
  cleanups.push(async () => {
    ended.abort();
    await following;
    await workers.close();
  });
  const { tasks } = await workers.tasks({ source: "text", split: "train", after: null, limit: 8 }, ended.signal);
  const run = (engine: string, i: number) =>
    runRollout(workers, request(engine, tasks[i % tasks.length] as Task, `e-${i}`), ended.signal);
  return { workers, run };
}

const request = (engine: string, task: Task, id: string): RunRequest => ({
  env: "text",
  task,
  inference: { url: engine, model: "m" },
  sampling: { temperature: 1 },
  seed: 1,
  cache_salt: "0",
  priority: 0,
  deadline_ms: PATIENCE_MS,
  episode_id: id,
  group_id: "g",
  run: { type: "train", step: 1 },
});

const pidOf = async (index: number): Promise<number> =>
  (JSON.parse(await readFile(join(runDir, `run/env-worker-${index}.json`), "utf8")) as { pid: number }).pid;

test("more workers are started as the load grows, and those that are killed under it cost no rollout", async () => {
  await startFleet({ id: "reverse-text" }, 1, 3, 100);
  const engine = await slowEngine(400);
  const { workers, run } = await connect();
  let [next, good, most] = [0, 0, 0];
  const over = new AbortController();
  const lane = async (): Promise<void> => {
    while (!over.signal.aborted) {
      const { episode } = await run(engine, next++);
      expect(episode.errors).toEqual([]);
      good += 1;
    }
  };
  const lanes = Array.from({ length: 300 }, lane);
  const killing = async (): Promise<void> => {
    await expect.poll(async () => (await readyEnvWorkers(runDir)).length, { timeout: PATIENCE_MS }).toBe(3);
    // A rollout is tried four times: one that is there whenever a worker dies still ends well.
    for (const index of [0, 1, 2]) {
      most = Math.max(most, workers.load().rollouts);
      process.kill(await pidOf(index), "SIGKILL");
      await sleep(700);
    }
    await expect.poll(async () => (await readyEnvWorkers(runDir)).length, { timeout: PATIENCE_MS }).toBe(3);
    await expect
      .poll(() => Object.values(workers.load().workers).every((count) => count > 0), { timeout: PATIENCE_MS })
      .toBe(true);
  };
  await Promise.all([killing().finally(() => over.abort()), ...lanes]);
  expect(good).toBeGreaterThan(300);
  expect(most).toBeGreaterThanOrEqual(300);
  expect(notes.filter((note) => note.includes("SIGKILL")).length).toBe(3);
});

test("code that hangs or crashes its worker loses only its own rollouts", async () => {
  await supervisor.stop();
  // Long enough for a worker that starts on a busy machine, whose imports keep it silent.
  supervisor = new Supervisor(runDir, { ...SUPERVISOR_TIMES, graceMs: 500, heartbeatTimeoutMs: 6_000 });
  const path = join(runDir, "bad.ts");
  await writeFile(
    path,
    `import { defineEnvironment, z } from "prl-lm/environments";
    export default defineEnvironment({
      name: "bad", version: "1.0.0", config: z.strictObject({}),
      tasks: () => ["good", "hangs", "leaves", "fills its memory"].map((what) => ({ prompt: what, what })),
      rollout: async ({ task, sample }) => {
        await sample(task.prompt);
        if (task.what === "hangs") for (;;);
        if (task.what === "leaves") process.exit(0);
        if (task.what === "fills its memory") { const all = []; for (;;) all.push(new Array(1e6).fill({})); }
      },
      rewards: { one: () => 1 },
    });`,
  );
  await startFleet({ path }, 2, 2, 100);
  const engine = await slowEngine(10);
  const { run, workers } = await connect();
  for (const bad of [1, 2]) {
    // Beside a worker that is not back yet all four would be with the other one, each time that they are tried.
    const known = async (): Promise<number[]> => [
      (await readyEnvWorkers(runDir)).length,
      Object.keys(workers.load().workers).length,
    ];
    await expect.poll(known, { timeout: PATIENCE_MS }).toEqual([2, 2]);
    const [worst, ...others] = await Promise.all([run(engine, bad), ...[4, 8, 12].map((i) => run(engine, i))]);
    expect(worst?.episode).toMatchObject({
      ok: false,
      errors: [{ class: "infra", code: "PRL_PROCESS_DIED" }],
      traces: [],
    });
    expect(others.filter(({ episode }) => episode.ok).length).toBeGreaterThan(0);
  }
  expect((await run(engine, 16)).episode.ok).toBe(true);
});

test("a worker that dies before any was ready fails the run with its own code", async () => {
  await expect(startFleet({ id: "no-such-environment" }, 1, 2, 100)).rejects.toMatchObject({
    code: "PRL_ENVIRONMENT_UNKNOWN",
    cause: expect.objectContaining({ code: "PRL_PROCESS_DIED" }) as Error,
  });
});
