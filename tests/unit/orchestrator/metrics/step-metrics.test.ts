/** Numbers of a step that come from where its parts keep count. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";

import { curriculumBlock } from "../../../../ts/config/schema/orchestrator/curriculum.ts";
import { rlConfigSchema } from "../../../../ts/config/schema/rl.ts";
import type { ReceivedEpisode, RunRequest } from "../../../../ts/environments/internal.ts";
import { Gates } from "../../../../ts/orchestrator/curriculum/gates.ts";
import { GroupDispatcher } from "../../../../ts/orchestrator/scheduling/dispatcher.ts";
import type { EnvWorkers } from "../../../../ts/orchestrator/env-workers/env-workers.ts";
import { evaluatePolicy } from "../../../../ts/orchestrator/evaluation/evaluation.ts";
import { LostRollouts } from "../../../../ts/orchestrator/metrics/lost-rollouts.ts";
import { plus, progressMetrics } from "../../../../ts/orchestrator/checkpoint/progress.ts";
import { WeightWatcher } from "../../../../ts/orchestrator/engines/weight-watcher.ts";
import type { WeightFollower } from "../../../../ts/transports/index.ts";
import { trainGroup } from "../../../support/training/train-group.ts";
import { errored, scored, simulate } from "../simulation.ts";

const request = { episode_id: "e", env: "b", group_id: "g", run: { type: "train", step: 1 } } as RunRequest;
const quiet = { log: () => undefined, event: () => undefined, close: () => undefined };

test("rollouts without a result are counted by kind and by environment, since the last step", () => {
  const lost = new LostRollouts(["a", "b"]);
  lost.returned("train", "a", "ok");
  lost.returned("train", "a", "cancelled");
  lost.returned("eval", "a", "cancelled");
  lost.returned("eval", "b", "errored");
  expect(lost.take()).toEqual({
    "dispatcher/cancelled/train": 1,
    "dispatcher/cancelled/eval": 1,
    "dispatcher/cancelled/a": 2,
    "dispatcher/cancelled/b": 0,
    "dispatcher/errored/train": 0,
    "dispatcher/errored/eval": 1,
    "dispatcher/errored/a": 0,
    "dispatcher/errored/b": 1,
  });
  expect(Object.values(lost.take()).every((count) => count === 0)).toBe(true);
});

test("each source has the share of groups that its gates admitted since the last step, and each gate the share that it rejected", () => {
  const gated = { name: "a", curriculum: curriculumBlock.parse({ gates: { advantage_range: {} } }) };
  const gates = new Gates([gated, { name: "b", curriculum: curriculumBlock.parse({}) }]);
  const ended = (source: string, ...rewards: number[]) =>
    gates.rejects(
      trainGroup(
        rewards.map((reward) => scored(request, reward, 3, 3)),
        { source },
      ),
    );
  expect([ended("a", 1, 0), ended("a", 1, 1), ended("a", 0, 0), ended("a", 0, 1)]).toEqual([false, true, true, false]);
  expect(ended("b", 1, 1)).toBe(false);
  expect(gates.take()).toEqual({
    "curriculum/a/admission_rate": 0.5,
    "curriculum/a/gate/advantage_range/rejected": 0.5,
    "curriculum/b/admission_rate": 1,
  });
  expect(gates.take()).toEqual({});
  expect(() => ended("c", 1)).toThrow(/no source "c"/);
});

test("how many versions the rollouts under way are behind is of those that have not come back, of groups that age", async () => {
  const ends: ((rollout: ReceivedEpisode) => void)[] = [];
  let [left, allowed] = [3, 3];
  const sources = ["old", "frozen", "new"];
  const dispatcher = new GroupDispatcher({
    dispatch: { limit: 100 },
    mayOpen: () => left > allowed,
    nextTask: async () => ({ ...trainGroup([]).task, source: sources[3 - left] ?? "", groupSize: 2 }),
    onOpened: () => (left -= 1),
    runRollout: () => new Promise((resolve) => ends.push(resolve)),
    onCompleted: () => undefined,
    onFailure: (error) => expect(error).toBeUndefined(),
  });
  expect(dispatcher.metrics(9, () => true)).toEqual({
    "dispatcher/off_policy/max": 0,
    "dispatcher/off_policy/mean": 0,
  });
  for (const version of [1, 0, 4]) {
    allowed -= 1;
    dispatcher.version = version;
    dispatcher.fill();
    await sleep(5);
  }
  const ages = ({ task }: { task: { source: string } }): boolean => task.source !== "frozen";
  // Two of version 1, two of version 4; version 5 is trained.
  const metrics = () => dispatcher.metrics(5, ages);
  expect(metrics()).toEqual({ "dispatcher/off_policy/max": 4, "dispatcher/off_policy/mean": (4 + 4 + 1 + 1) / 4 });
  ends[0]?.(errored(request, "model"));
  await sleep(5);
  expect(metrics()).toEqual({ "dispatcher/off_policy/max": 4, "dispatcher/off_policy/mean": (4 + 1 + 1) / 3 });
  dispatcher.stop();
});

test("the tasks of an evaluation wait until their first rollout begins, and its rollouts are reported as they end", async () => {
  const runDir = await mkdtemp(join(tmpdir(), "prl-queue-"));
  onTestFinished(() => rm(runDir, { recursive: true }));
  const source = { name: "held-out", env: { id: "reverse-text" }, group_size: 2 };
  const config = rlConfigSchema.parse({
    model: { name: "m" },
    orchestrator: {
      train: { source: [{ env: { id: "reverse-text" } }] },
      eval: { num_examples: 10, source: [source] },
    },
  });
  const tasks = Array.from({ length: 10 }, (_, i) => ({ key: String(i), hash: "", data: {} }));
  const workers = {
    tasks: async () => ({ tasks, next: null, endless: false }),
    run: async (asked: RunRequest) =>
      asked.episode_id.includes("-held-out-3-1-") ? errored(asked, "model") : scored(asked, 1, 0, 0),
  } as unknown as EnvWorkers;
  const queue: number[] = [];
  const ends: string[] = [];
  // One rollout after the other.
  let last: Promise<unknown> = Promise.resolve();
  const permits = {
    evaluate: <Result>(work: () => Promise<Result>): Promise<Result> => {
      const result = last.then(work);
      last = result;
      return result;
    },
  };
  const onReturned = (environment: string, end: string) => ends.push(`${environment} ${end}`);
  const { signal } = new AbortController();
  const context = { runDir, attempt: 1, config, modelName: "m", workers, metrics: quiet, permits, signal };
  await evaluatePolicy({ ...context, onQueue: (count) => queue.push(count), onReturned }, { version: 0, digest: null });
  expect(queue).toEqual([10, ...Array.from({ length: 20 }, (_, begun) => 10 - Math.ceil((begun + 1) / 2))]);
  expect(ends.toSorted()).toEqual(["held-out errored", ...Array.from({ length: 19 }, () => "held-out ok")]);
});

test("two equal rows of an evaluation are two tasks, with rollouts of their own", async () => {
  const runDir = await mkdtemp(join(tmpdir(), "prl-equal-"));
  onTestFinished(() => rm(runDir, { recursive: true }));
  const config = rlConfigSchema.parse({
    model: { name: "m" },
    orchestrator: {
      train: { source: [{ env: { id: "reverse-text" } }] },
      eval: { source: [{ name: "held-out", env: { id: "reverse-text" }, group_size: 2 }] },
    },
  });
  const tasks = ["a", "b", "a"].map((key) => ({ key, hash: key, data: {} }));
  const asked: RunRequest[] = [];
  const workers = {
    tasks: async () => ({ tasks, next: null, endless: false }),
    run: async (order: RunRequest) => {
      asked.push(order);
      return scored(order, 1, 0, 0);
    },
  } as unknown as EnvWorkers;
  const permits = { evaluate: <Result>(work: () => Promise<Result>): Promise<Result> => work() };
  const { signal } = new AbortController();
  await evaluatePolicy(
    { runDir, config, modelName: "m", workers, metrics: quiet, permits, signal, attempt: 1 },
    { version: 0, digest: null },
  );
  expect(asked).toHaveLength(6);
  expect(new Set(asked.map((order) => order.episode_id)).size).toBe(6);
  expect(new Set(asked.map((order) => order.seed)).size).toBe(6);
  expect(new Set(asked.map((order) => order.group_id)).size).toBe(3);
});

test("the watcher says which version is in place, how many came and how long the last one took", async () => {
  const calls: string[] = [];
  const weights = {
    receive: async (version: number) => ({
      manifest: { version, digest: "d" },
      acknowledge: async () => void calls.push(`acknowledge ${version}`),
    }),
  } as unknown as WeightFollower;
  let watched: [version: number, newest: number] = [-1, -1];
  const watcher: WeightWatcher = new WeightWatcher(3, {
    weights,
    engines: {
      adopt: async () => {
        watched = [watcher.version, watcher.newest];
        await sleep(30);
      },
    },
    metrics: quiet,
    signal: new AbortController().signal,
    onPending: () => calls.push(`pending at ${watcher.newest}`),
  });
  expect(watcher.metrics()).toEqual({
    "watcher/policy_version": 3,
    "watcher/update_count": 0,
    "watcher/last_update_weights_time": 0,
  });
  await watcher.adopt(5);
  expect(watched).toEqual([3, 5]);
  expect(calls).toEqual(["pending at 3", "acknowledge 5"]);
  const { "watcher/last_update_weights_time": seconds, ...others } = watcher.metrics();
  expect(others).toEqual({ "watcher/policy_version": 5, "watcher/update_count": 1 });
  expect(seconds).toBeGreaterThan(0.02);
});

test("progress is of the step, and of all steps up to it", () => {
  const counts = (n: number) => ({
    tokens: n,
    input_tokens: n + 1,
    output_tokens: n + 2,
    rollouts: n + 3,
    tasks: n + 4,
  });
  expect(progressMetrics(counts(10), plus(counts(10), counts(100)))).toEqual({
    "progress/tokens": 10,
    "progress/input_tokens": 11,
    "progress/output_tokens": 12,
    "progress/rollouts": 13,
    "progress/tasks": 14,
    "progress/total_tokens": 110,
    "progress/total_input_tokens": 112,
    "progress/total_output_tokens": 114,
    "progress/total_rollouts": 116,
    "progress/total_tasks": 118,
  });
});

test("a run waits for the policy at level 0 as long as the trainer takes, and says so", async () => {
  let endFirst: () => void = () => undefined;
  const firstEnded = new Promise<void>((resolve) => (endFirst = resolve));
  const before = async (action: string) => {
    if (action !== "receive 1") return;
    await firstEnded;
    await sleep(300);
  };
  const run = await simulate({ level: 0, maxSteps: 2, delayMs: 0, before, onLine: endFirst });
  expect(run.logged.get(1)?.["time/wait_for_policy"]).toBeLessThan(0.1);
  expect(run.logged.get(2)?.["time/wait_for_policy"]).toBeGreaterThan(0.2);
});
