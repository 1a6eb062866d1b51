/** Evaluations of a supervised run: all that the limit allows, and no more when the engines say that they are full. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";

import { rlConfigSchema } from "../../../ts/config/schema/rl.ts";
import { EngineFleet } from "../../../ts/orchestrator/engines/engine-fleet.ts";
import type { Engine } from "../../../ts/orchestrator/engines/engines.ts";
import { runEvaluations } from "../../../ts/orchestrator/index.ts";
import type { EnvWorkers, WantedTasks } from "../../../ts/orchestrator/env-workers/env-workers.ts";
import { errored, scored } from "./simulation.ts";

const MOST = 64;
const TASKS = 1500;
const TRIES = 2;

test("their number follows the engines' metrics", async () => {
  const env = { id: "reverse-text" };
  const config = rlConfigSchema.parse({
    model: { name: "m" },
    orchestrator: {
      max_inflight: MOST,
      concurrency: { interval_s: 0.01, min_inflight: 4 },
      train: { source: [{ name: "s", env }] },
      eval: { source: [{ name: "held-out", env, group_size: TRIES }] },
    },
  });
  const events: string[] = [];
  const logged: Record<string, unknown>[] = [];
  const metrics = {
    log: (_step: number, values: Record<string, unknown>) => void logged.push(values),
    event: (type: string) => void events.push(type),
    close: () => undefined,
  };
  let inFlight = 0;
  const seen: number[] = [];
  const done = async () => undefined;
  const engine = {
    url: "http://engine",
    isa: "portable",
    dtype: "float32",
    weights: null,
    admin: {
      pause: done,
      resume: done,
      prefetchWeights: done,
      updateWeights: async () => ({ skipped: false }),
      promptLogprobs: async (ids: Uint32Array) => new Float32Array(ids.length),
      health: async () => ({ status: "ok", paused: false, policyVersion: 0, digest: "d", running: 0, waiting: 0 }),
      // Eight at once are what it runs; the others wait.
      load: async () => [
        {
          engine: "0",
          running: Math.min(inFlight, 8),
          waiting: Math.max(0, inFlight - 8),
          kvUsage: 0.1,
          preemptions: 0,
        },
      ],
    },
  } as unknown as Engine;
  const workers = {
    tasks: async ({ after, limit }: WantedTasks) => {
      const first = Number(after ?? 0);
      const end = Math.min(TASKS, first + limit);
      const tasks = Array.from({ length: end - first }, (_, i) => ({ key: String(first + i), hash: "", data: {} }));
      return { tasks, next: end === TASKS ? null : String(end), endless: false };
    },
    run: async (request) => {
      seen.push(++inFlight);
      await sleep(15);
      inFlight -= 1;
      // Of one task the right one fails: nothing is said of how often that is solved.
      if (/-held-out-0-0-\d+$/.test(request.episode_id)) return errored(request, "environment");
      return scored(request, /-0-\d+$/.test(request.episode_id) ? 1 : 0, 0, 0);
    },
    scoreGroup: async () => Promise.reject(new Error("there are no group rewards")),
    close: done,
  } as EnvWorkers;
  const runDir = await mkdtemp(join(tmpdir(), "prl-evaluations-"));
  try {
    const fleet = new EngineFleet([{ name: "e", identity: "e", engine }], { maxMeanAbs: 0, metrics });
    const manifest = { format: "prl-weights", version: 0, digest: "d", base: null, shards: [], canary: null };
    await runEvaluations({
      runDir,
      attempt: 1,
      config,
      modelName: "m",
      engines: fleet,
      workers,
      metrics,
      signal: new AbortController().signal,
      versions: [0],
      weights: {
        receive: async () => ({
          manifest: { ...manifest, encoding: "full" as const },
          source: { dir: "/weights/0" },
          acknowledge: done,
          release: done,
        }),
        close: done,
      },
    });
  } finally {
    await rm(runDir, { recursive: true, force: true });
  }
  expect(seen).toHaveLength(TASKS * TRIES);
  expect(logged[0]).toMatchObject({
    "eval/held-out/num": TASKS * TRIES - 1,
    "eval/held-out/errors": 1,
    "eval/held-out/all/agent/reward/mean": (TASKS - 1) / (TASKS * TRIES - 1),
    "eval/held-out/effective/agent/avg@2": expect.closeTo((TASKS - 1) / (TASKS * TRIES - 1), 12) as number,
    "eval/held-out/effective/agent/pass@1": 1 / 2,
    "eval/held-out/effective/agent/pass@2": 1,
    "eval/held-out/effective/agent/pass^2": 0,
  });
  expect(Math.max(...seen)).toBe(MOST);
  expect(events).toContain("concurrency");
  expect(Math.max(...seen.slice(-100))).toBeLessThan(MOST / 2);
});
