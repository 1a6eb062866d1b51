import fc from "fast-check";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { Episode, EpisodeFrame } from "../../../ts/environments/index.ts";
import { GroupDispatcher, type Group } from "../../../ts/orchestrator/dispatcher.ts";

const finished: EpisodeFrame = { episode: { ok: true } as Episode, columns: [] };

function dispatcher(
  groupSize: number,
  maxInflight: number,
  runRollout: (signal: AbortSignal) => Promise<EpisodeFrame>,
) {
  const completed: Group[] = [];
  const failures: unknown[] = [];
  let most = 0;
  let tasks = 0;
  const made = new GroupDispatcher({
    groupSize,
    maxInflight,
    nextTask: async () => ({ source: "s", task: { key: String(tasks++), hash: "", data: null }, epoch: 0 }),
    runRollout: async (_group, _sample, signal) => {
      most = Math.max(most, made.inFlight);
      return runRollout(signal);
    },
    onCompleted: (group) => completed.push(group),
    onFailure: (error) => failures.push(error),
  });
  return { made, completed, failures, mostInFlight: () => most };
}

async function until(condition: () => boolean): Promise<void> {
  for (let i = 0; i < 2000 && !condition(); i++) await sleep(1);
  expect(condition()).toBe(true);
}

describe("GroupDispatcher", () => {
  test("opens exactly the groups that are allowed, each rollout once, within the limit of rollouts in flight", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 1, max: 9 }),
        fc.integer({ min: 0, max: 12 }),
        async (size, limit, groups) => {
          let runs = 0;
          const { made, completed, failures, mostInFlight } = dispatcher(size, limit, async () => {
            runs++;
            await sleep(0);
            return finished;
          });
          made.allow(groups, 0);
          await until(() => completed.length === groups);
          expect(runs).toBe(groups * size);
          expect(completed.map((group) => group.index).toSorted((a, b) => a - b)).toEqual([...Array(groups).keys()]);
          expect(mostInFlight()).toBeLessThanOrEqual(Math.max(size, limit));
          expect(made.inFlight).toBe(0);
          expect(failures).toEqual([]);
        },
      ),
      { numRuns: 30 },
    );
  });

  test("cancels groups of an older version: they are never handed over, and their rollouts see the abort", async () => {
    let aborted = 0;
    const { made, completed } = dispatcher(2, 100, async (signal) => {
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
      aborted++;
      return finished;
    });
    made.allow(3, 1);
    await until(() => made.inFlight === 6);
    expect(made.cancelOlderThan(1)).toBe(0);
    expect(made.cancelOlderThan(2)).toBe(3);
    await until(() => made.inFlight === 0);
    expect(aborted).toBe(6);
    expect(completed).toEqual([]);
  });

  test("records the version in force when a group is opened, and refills what was dropped", async () => {
    const { made, completed } = dispatcher(1, 100, async () => finished);
    made.allow(1, 5);
    await until(() => completed.length === 1);
    made.refill(2);
    await until(() => completed.length === 3);
    made.allow(2, 6);
    await until(() => completed.length === 4);
    expect(completed.map((group) => group.dispatchVersion)).toEqual([5, 5, 5, 6]);
  });

  test("reports what a rollout throws and keeps counting", async () => {
    const { made, completed, failures } = dispatcher(2, 100, async () => {
      throw new Error("protocol broken");
    });
    made.allow(1, 0);
    await until(() => failures.length === 1);
    expect(completed).toEqual([]);
    expect(made.inFlight).toBe(0);
  });
});
