import * as fc from "fast-check";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { Episode } from "../../../../ts/environments/index.ts";
import type { ReceivedEpisode } from "../../../../ts/environments/internal.ts";
import {
  type DispatcherOptions,
  GroupDispatcher,
  type Group,
} from "../../../../ts/orchestrator/scheduling/dispatcher.ts";
import type { TrainTask } from "../../../../ts/orchestrator/scheduling/tasks.ts";

/** A dispatcher that opens groups until so many rollouts have been opened in all. */
function counting(options: Omit<DispatcherOptions, "mayOpen">) {
  let [allowed, opened] = [0, 0];
  const made = new GroupDispatcher({
    ...options,
    mayOpen: () => opened < allowed,
    onOpened: ({ task }) => (opened += task.groupSize),
  });
  return {
    made,
    allow: (rollouts: number, version: number) => {
      allowed = rollouts;
      made.version = version;
      made.fill();
    },
  };
}

const finished: ReceivedEpisode = { episode: { ok: true } as Episode, samples: null };

function dispatcher(
  groupSize: number,
  maxInflight: number,
  runRollout: (signal: AbortSignal) => Promise<ReceivedEpisode>,
  originOf: NonNullable<DispatcherOptions["originOf"]> = () => undefined,
) {
  const completed: Group[] = [];
  const failures: unknown[] = [];
  let most = 0;
  let tasks = 0;
  const { made, allow } = counting({
    dispatch: { limit: maxInflight },
    nextTask: async () => ({
      source: "s",
      task: { key: String(tasks++), hash: "", data: null },
      epoch: 0,
      groupSize,
      scoresGroups: false,
    }),
    originOf,
    runRollout: async (_group, _sample, signal) => {
      most = Math.max(most, made.inFlight);
      return runRollout(signal);
    },
    onCompleted: (group) => completed.push(group),
    onFailure: (error) => failures.push(error),
  });
  return { made, allow, completed, failures, mostInFlight: () => most };
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
          const { made, allow, completed, failures, mostInFlight } = dispatcher(size, limit, async () => {
            runs++;
            await sleep(0);
            return finished;
          });
          allow(groups * size, 0);
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
    const { made, allow, completed } = dispatcher(2, 100, async (signal) => {
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
      aborted++;
      return finished;
    });
    allow(6, 1);
    await until(() => made.inFlight === 6);
    expect(made.cancelOlderThan(1)).toEqual([]);
    expect(made.cancelOlderThan(2).map((group) => group.index)).toEqual([0, 1, 2]);
    expect(made.cancelOlderThan(2)).toEqual([]);
    await until(() => made.inFlight === 0);
    expect(aborted).toBe(6);
    expect(completed).toEqual([]);
  });

  test("a group that goes on from older tokens is as old as those, and is cancelled when they are too old", async () => {
    const never = () => new Promise<never>(() => undefined);
    const origin = ({ task }: TrainTask) => (task.key === "1" ? { firstIndex: 0, oldestVersion: 3 } : undefined);
    const { made, allow } = dispatcher(1, 100, never, origin);
    allow(3, 5);
    await until(() => made.inFlight === 3);
    expect(made.cancelOlderThan(3)).toEqual([]);
    expect(made.cancelOlderThan(4)).toMatchObject([{ index: 1, dispatchVersion: 5, oldestVersion: 3 }]);
  });

  test("records the version in force when a group is opened, and goes on under another", async () => {
    const { allow, completed } = dispatcher(1, 100, async () => finished);
    allow(1, 5);
    await until(() => completed.length === 1);
    allow(3, 5);
    await until(() => completed.length === 3);
    allow(4, 6);
    await until(() => completed.length === 4);
    expect(completed.map((group) => group.dispatchVersion)).toEqual([5, 5, 5, 6]);
  });

  test("reports the exception of a rollout at once, and once, and keeps counting", async () => {
    let calls = 0;
    const { made, allow, completed, failures } = dispatcher(3, 100, async (signal) => {
      if (calls++ > 0) throw new Error("protocol broken");
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
      return finished;
    });
    allow(3, 0);
    await until(() => failures.length === 1);
    expect(made.inFlight).toBe(1);
    made.stop();
    await until(() => made.inFlight === 0);
    expect(completed).toEqual([]);
    expect(failures).toHaveLength(1);
  });

  test("reports the exception of the owner that is handed a group", async () => {
    const failures: unknown[] = [];
    const { allow } = counting({
      dispatch: { limit: 8 },
      nextTask: async () => ({
        source: "s",
        task: { key: "k", hash: "", data: null },
        epoch: 0,
        groupSize: 1,
        scoresGroups: false,
      }),
      runRollout: async () => finished,
      onCompleted: () => {
        throw new Error("disk full");
      },
      onFailure: (error) => failures.push(error),
    });
    allow(1, 0);
    await until(() => failures.length === 1);
    expect(failures).toEqual([new Error("disk full")]);
  });

  test("hears of every change, also of one in the turn in which it had just found nothing to do", async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 12 }), async (turns) => {
        let runs = 0;
        const { allow } = dispatcher(1, 100, async () => {
          runs++;
          return finished;
        });
        allow(1, 0);
        for (let turn = 0; turn < turns; turn++) await Promise.resolve();
        allow(2, 0);
        await until(() => runs === 2);
      }),
      { numRuns: 26 },
    );
  });

  test("opens nothing after it was stopped, even when a task was on its way", async () => {
    let give: (task: TrainTask) => void = () => undefined;
    let runs = 0;
    const { made, allow } = counting({
      dispatch: { limit: 8 },
      nextTask: () => new Promise((resolve) => (give = resolve)),
      runRollout: async () => {
        runs++;
        return finished;
      },
      onCompleted: () => undefined,
      onFailure: () => undefined,
    });
    allow(1, 0);
    made.stop();
    give({ source: "s", task: { key: "k", hash: "", data: null }, epoch: 0, groupSize: 1, scoresGroups: false });
    await sleep(5);
    expect(runs).toBe(0);
  });

  test("groups of different sizes are opened in the order of their tasks, until their rollouts reach the limit", async () => {
    const sizes = [4, 2, 4, 2, 2];
    const completed: Group[] = [];
    let next = 0;
    const { allow } = counting({
      dispatch: { limit: 5 },
      nextTask: async () => {
        const groupSize = sizes[next++ % sizes.length] ?? 1;
        return {
          source: "s",
          task: { key: String(next), hash: "", data: null },
          epoch: 0,
          groupSize,
          scoresGroups: false,
        };
      },
      runRollout: async () => {
        await sleep(Math.random() * 3);
        return finished;
      },
      onCompleted: (group) => completed.push(group),
      onFailure: (error) => expect.fail(String(error)),
    });
    allow(11, 0);
    await until(() => completed.length === 4);
    await sleep(5);
    const opened = completed.toSorted((a, b) => a.index - b.index);
    expect(opened.map((group) => group.rollouts.length)).toEqual([4, 2, 4, 2]);
  });
});
