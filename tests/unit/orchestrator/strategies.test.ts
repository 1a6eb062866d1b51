/** What each way of scheduling promises: batches of tokens, over-sampling, the FIFO window, ratios, resumption, and no bias to short samples. */
import { setTimeout as sleep } from "node:timers/promises";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { rlConfigSchema } from "../../../ts/config/schema/rl.ts";
import { rewardByHash, simulate, type Simulation } from "./simulation.ts";

type Episodes = Simulation["sent"][number]["episodes"];

const taskOf = (episode: Episodes[number]) => Number(episode.task.key);
const indexOf = (episode: Episodes[number]) => Number(episode.group.id.split("-")[1]);
const tokensOf = (episodes: Episodes) =>
  episodes.flatMap(({ traces }) => traces).reduce((sum, { usage }) => sum + usage.completion_tokens + 1, 0);
const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Lengths from 1 to 40, the same for any timing. */
const length = (task: number, sample: number) => 1 + ((task * 13 + sample * 7) % 40);

describe("batches of tokens", () => {
  const schedules = fc.record({
    maxSteps: fc.integer({ min: 2, max: 4 }),
    groupSizes: fc.constantFrom([2], [4], [2, 4]),
    tokenBatchSize: fc.constantFrom(50, 200),
    delayMs: fc.constantFrom(0, 2),
  });

  test("hold at least their tokens, and above level 0 no group more than that", async () => {
    await fc.assert(
      fc.asyncProperty(schedules, fc.constantFrom(0, 1, 2), fc.nat(), async (options, level, timing) => {
        const run = await simulate({ ...options, level, timing, length });
        expect(run.contract).toEqual([]);
        for (const { episodes } of run.sent) {
          expect(tokensOf(episodes)).toBeGreaterThanOrEqual(options.tokenBatchSize);
          const last = episodes.at(-1)?.group.id;
          const others = episodes.filter(({ group }) => group.id !== last);
          if (level > 0) expect(tokensOf(others)).toBeLessThan(options.tokenBatchSize);
        }
      }),
      { numRuns: 10 },
    );
  });

  test("at level 0 are the same for any timing and limit of rollouts at once, and a resumed run has them too", async () => {
    await fc.assert(
      fc.asyncProperty(schedules, fc.nat(), fc.nat(), async (options, timing, at) => {
        const whole = await simulate({ ...options, level: 0, length, tasks: 9, timing, checkpoints: true });
        const batches = whole.sent.map(({ episodes }) => episodes);
        const other = await simulate({ ...options, level: 0, length, tasks: 9, maxInflight: 4, slowEvery: 4 });
        expect(other.sent.map(({ episodes }) => episodes)).toEqual(batches);
        const step = 1 + (at % (options.maxSteps - 1));
        const state = whole.checkpoints.get(step);
        if (state === undefined) throw new Error(`there is no checkpoint of step ${step}`);
        const rest = await simulate({ ...options, level: 0, length, tasks: 9, resume: state });
        expect(rest.sent.map(({ episodes }) => episodes)).toEqual(batches.slice(step));
      }),
      { numRuns: 6 },
    );
  });

  test("at level 0 are the same when a version comes before the batch is known to be with the trainer", async () => {
    const shared = { level: 0, maxSteps: 4, tokenBatchSize: 50, delayMs: 0, tasks: 9, length, checkpoints: true };
    const whole = await simulate(shared);
    const before = async (action: string) => (action.startsWith("sent") ? sleep(40) : undefined);
    const late = await simulate({ ...shared, before });
    expect(late.sent.map(({ episodes }) => episodes)).toEqual(whole.sent.map(({ episodes }) => episodes));
    expect([...late.checkpoints.values()]).toEqual([...whole.checkpoints.values()]);
  });

  test("that nothing fills end the run by name", async () => {
    for (const outcome of [() => "environment" as const, () => 1]) {
      await expect(simulate({ level: 0, maxSteps: 1, tokenBatchSize: 300, length, outcome })).rejects.toMatchObject({
        code: "PRL_ORCHESTRATOR_STARVED",
      });
    }
  });
});

describe("long samples", () => {
  /** One task in four is long, slow and worth more: what a bias to short samples would lose first. */
  const isLong = (task: number) => task % 4 === 3;
  const long = {
    length: (task: number) => (isLong(task) ? 40 : 4),
    msPerToken: 1,
    delayMs: 0,
    outcome: (task: number, sample: number) => (isLong(task) ? 10 : 0) + rewardByHash(task, sample),
    batchSize: 8,
    groupSizes: [2],
    maxSteps: 12,
  };
  const trained = ({ sent }: Simulation) => sent.flatMap(({ episodes }) => episodes);
  const dropped = ({ events }: Simulation, reason: string) =>
    events.reduce((sum, event) => sum + (event["reason"] === reason ? Number(event["groups"]) : 0), 0);

  test.each([
    ["synchronous", { level: 0 }],
    ["one step of overlap", { level: 1 }],
    ["admission control", { level: 3, maxOffPolicySteps: 50 }],
    ["over-sampling", { level: 1, oversampling: 1.5, maxOffPolicySteps: 50 }],
    ["a FIFO window", { level: 3, fifoWindow: 2, maxOffPolicySteps: 50 }],
  ])("train as often as they are drawn where nothing is dropped: %s", async (_, options) => {
    const run = await simulate({ ...long, ...options });
    expect(run.contract).toEqual([]);
    expect(dropped(run, "stale")).toBe(0);
    const groups = [...new Set(trained(run).map(indexOf))];
    expect(groups).toHaveLength((12 * 8) / 2);
    // What was opened and did not train was under way or waited at the end, or is what over-sampling was ahead.
    const opened = new Set(run.requests.map(({ request }) => request.group_id)).size;
    expect(opened - groups.length).toBe(dropped(run, "surplus"));
    // Of the groups before the last that trained no more are missing than wait at once.
    const missing = Math.max(...groups) + 1 - groups.length;
    expect(missing).toBeLessThanOrEqual(options.level * 4 + 2);
    const share = trained(run).filter((episode) => isLong(taskOf(episode))).length / trained(run).length;
    expect(Math.abs(share - 0.25)).toBeLessThanOrEqual((missing + 1) / groups.length);
  });

  test("are overtaken by no more groups than the window has, and without it by more", async () => {
    const overtaken = async (fifoWindow: number | undefined) => {
      const options = { level: 3, maxOffPolicySteps: 50, ...(fifoWindow !== undefined && { fifoWindow }) };
      const run = await simulate({ ...long, ...options });
      const order = run.sent.map(({ episodes }) => [...new Set(episodes.map(indexOf))]);
      return Math.max(
        ...order.flatMap((batch, b) => {
          const later = order.slice(b + 1).flat();
          return batch.map((index) => index - Math.min(index, ...later));
        }),
      );
    };
    expect(await overtaken(2)).toBeLessThan(2);
    expect(await overtaken(undefined)).toBeGreaterThanOrEqual(4);
  });

  test("that become too old are counted by how long they were, beside those that trained", async () => {
    const run = await simulate({ ...long, length: (task) => (isLong(task) ? 150 : 1), level: 1, maxOffPolicySteps: 1 });
    expect(run.contract).toEqual([]);
    expect(dropped(run, "stale")).toBeGreaterThan(0);
    const lines = [...run.logged.values()].filter((line) => Number(line["off_policy/dropped_groups"]) > 0);
    expect(lines.length).toBeGreaterThan(0);
    for (const line of lines) {
      expect(Number(line["time/dropped_group/mean"])).toBeGreaterThan(0);
    }
    const seconds = lines.map((line) => Number(line["time/dropped_group/mean"]));
    const kept = [...run.logged.values()].map((line) => Number(line["time/group/mean"]));
    expect(mean(seconds)).toBeGreaterThan(Math.min(...kept));
  });
});

describe("over-sampling", () => {
  test("lets a batch go without its slowest group, which trains later with the versions that sampled it", async () => {
    let release = () => undefined as void;
    const held = new Promise<void>((resolve) => (release = resolve));
    const before = async (action: string) => {
      if (action.startsWith("run group-1-")) await held;
      if (action === "send 2") release();
      if (action === "send 4") await sleep(50);
    };
    const run = await simulate({ level: 1, maxSteps: 8, oversampling: 2, maxOffPolicySteps: 50, delayMs: 0, before });
    expect(run.contract).toEqual([]);
    const of = (key: number) => run.sent.find(({ episodes }) => episodes.some((episode) => taskOf(episode) === key));
    expect(of(0)?.step).toBe(1);
    const late = of(1);
    expect(late?.step).toBeGreaterThan(2);
    const spans = late?.episodes.flatMap((episode) =>
      taskOf(episode) === 1 ? episode.traces.map(({ policy }) => policy) : [],
    );
    for (const span of spans ?? []) {
      expect(span?.start).toBe(0);
      expect(span?.end).toBeGreaterThan(0);
    }
    expect(
      run.requests.filter(({ request }) => request.task.key === "1" && request.group_id === "group-1"),
    ).toHaveLength(2);
  });

  test("holds the ship gate: no batch is ahead of the weights by more than the level", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(),
        fc.constantFrom(1, 2),
        fc.constantFrom(1.25, 2, 4),
        async (timing, level, oversampling) => {
          const slow = (action: string) => (action.startsWith("update") ? sleep(15) : undefined);
          const run = await simulate({ level, oversampling, timing, maxSteps: 5, before: slow, delayMs: 1 });
          expect(run.contract).toEqual([]);
          for (const { step, version } of run.sent) expect(version).toBeGreaterThanOrEqual(step - 1 - level);
        },
      ),
      { numRuns: 8 },
    );
  });
});

test("sources are drawn by their ratios, each with its own group size", async () => {
  const run = await simulate({ level: 1, maxSteps: 40, batchSize: 16, groupSizes: [2, 4], ratios: [3, 1], delayMs: 0 });
  const groups = new Map(
    run.sent.flatMap(({ episodes }) => episodes).map((episode) => [episode.group.id, episode.env.name]),
  );
  const first = [...groups.values()].filter((name) => name === "source-0").length;
  const share = first / groups.size;
  // 200 draws with probability 3/4: five standard deviations.
  expect(Math.abs(share - 0.75)).toBeLessThan(5 * Math.sqrt((0.75 * 0.25) / groups.size));
});

test("a run resumed at level 1 or more trains on no group that was trained before the checkpoint, and skips none", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.nat(),
      fc.constantFrom(1, 2),
      fc.constantFrom(1, 1.5),
      fc.constantFrom(1, 2, 3),
      async (timing, level, oversampling, step) => {
        const options = { level, oversampling, timing, maxSteps: 5, delayMs: 2, slowEvery: 5 };
        const whole = await simulate({ ...options, checkpoints: true });
        const state = whole.checkpoints.get(step);
        if (state === undefined) throw new Error(`there is no checkpoint of step ${step}`);
        const rest = await simulate({ ...options, timing: timing + 1, resume: state });
        const before = whole.sent.filter((batch) => batch.step <= step);
        const keys = [...before, ...rest.sent].flatMap(({ episodes }) => [
          ...new Set(episodes.map(({ task }) => task.key)),
        ]);
        expect(new Set(keys).size).toBe(keys.length);
        // Tasks are drawn one after the other: all before the last one were begun by somebody.
        const begun = new Set([...keys, ...rest.requests.map(({ request }) => request.task.key)].map(Number));
        expect([...Array(Math.max(...begun)).keys()].filter((key) => !begun.has(key))).toEqual([]);
      },
    ),
    { numRuns: 8 },
  );
});

describe("impossible settings are refused by name", () => {
  const config = (orchestrator: Record<string, unknown>, rest: Record<string, unknown> = {}) =>
    rlConfigSchema.safeParse({
      model: { name: "m" },
      ...rest,
      orchestrator: { train: { source: [{ env: { id: "reverse-text" } }] }, ...orchestrator },
    });

  test.each([
    ["over-sampling at level 0", { oversampling: 1.5 }, { max_async_level: 0 }, "orchestrator.oversampling"],
    ["two batch sizes", { batch_size: 8, token_batch_size: 100 }, {}, "orchestrator.token_batch_size"],
    ["less than what is needed", { oversampling: 0.5 }, {}, "orchestrator.oversampling"],
  ])("%s", (_, orchestrator, rest, key) => {
    const { error } = config(orchestrator, rest);
    expect(error?.issues.map(({ path }) => path.join("."))).toEqual([key]);
  });

  test("a batch is counted in one unit", () => {
    expect(config({}).data?.orchestrator).toMatchObject({ batch_size: 128, token_batch_size: null });
    expect(config({ token_batch_size: 900, group_size: 7 }).data?.orchestrator.batch_size).toBeNull();
  });
});
