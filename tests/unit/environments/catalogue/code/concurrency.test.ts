/** Outcomes and orders of threads against enumerations of all interleavings and against vector clocks. */
import { expect, test } from "vitest";

import { deadlockSchedule } from "../../../../../ts/environments/catalogue/code/concurrency/deadlock-schedule.ts";
import {
  happenedBefore,
  type OrderProblem,
} from "../../../../../ts/environments/catalogue/code/concurrency/happened-before.ts";
import { raceToValue } from "../../../../../ts/environments/catalogue/code/concurrency/race-to-value.ts";
import {
  type OutcomesProblem,
  reachableOutcomes,
} from "../../../../../ts/environments/catalogue/code/concurrency/reachable-outcomes.ts";
import type { Threads } from "../../../../../ts/environments/catalogue/code/concurrency/shared-threads.ts";
import { type Answer, drawnOf } from "./interpreters.ts";

/** All sequences with so many steps of each thread. */
function* interleavings(left: readonly number[]): Generator<number[]> {
  if (left.every((count) => count === 0)) yield [];
  for (const [thread, count] of left.entries()) {
    if (count === 0) continue;
    const rest = left.map((one, index) => (index === thread ? one - 1 : one));
    for (const tail of interleavings(rest)) yield [thread, ...tail];
  }
}

/** Final x and y of a schedule. */
function ending(threads: Threads, schedule: readonly number[]): { x: number; y: number } {
  const values = new Map<string, number>();
  const places = threads.map(() => 0);
  for (const thread of schedule) {
    const { target, source, by } = threads[thread]?.[places[thread] ?? 0] ?? { target: "", source: null, by: 0 };
    const named = (name: string): string => (name === "r" ? `r${thread}` : name);
    values.set(named(target), (source === null ? 0 : (values.get(named(source)) ?? 0)) + by);
    places[thread] = (places[thread] ?? 0) + 1;
  }
  return { x: values.get("x") ?? 0, y: values.get("y") ?? 0 };
}

test("reachable-outcomes: running every interleaving ends in exactly the gold pairs", () => {
  for (const { problem, items } of drawnOf<Answer<OutcomesProblem>>(reachableOutcomes)) {
    const all = [...interleavings(problem.threads.map((lines) => lines.length))].map((one) =>
      ending(problem.threads, one),
    );
    const pairs = new Set(all.map(({ x, y }) => `${x}/${y}`));
    expect(items.toSorted()).toEqual([...pairs].toSorted());
  }
});

test("race-to-value: the schedules that score are exactly those that end with the values", () => {
  interface Race {
    readonly threads: Threads;
    readonly x: number;
    readonly y: number;
  }
  for (const one of drawnOf<Race>(raceToValue, [1, 2])) {
    for (const schedule of interleavings(one.threads.map((lines) => lines.length))) {
      const { x, y } = ending(one.threads, schedule);
      const answer = schedule.map((thread) => thread + 1).join(", ");
      expect(raceToValue.score(one, answer)).toBe(Number(x === one.x && y === one.y));
    }
  }
});

test("deadlock-schedule: the gold schedule leaves every unfinished thread at a lock of another one", () => {
  interface Locks {
    readonly threads: { readonly do: string; readonly lock: string }[][];
    readonly schedule: number[];
  }
  for (const { threads, schedule } of drawnOf<Locks>(deadlockSchedule, [1, 2, 3, 4])) {
    const owners = new Map<string, number>();
    const places = threads.map(() => 0);
    for (const thread of schedule.map((number) => number - 1)) {
      const step = threads[thread]?.[places[thread] ?? 0];
      if (step?.do === "lock") {
        expect(owners.has(step.lock)).toBe(false);
        owners.set(step.lock, thread);
      } else if (step?.do === "unlock") {
        expect(owners.get(step.lock)).toBe(thread);
        owners.delete(step.lock);
      }
      places[thread] = (places[thread] ?? 0) + 1;
    }
    const next = threads.flatMap((steps, thread) => {
      const step = steps[places[thread] ?? 0];
      return step === undefined ? [] : [{ step, thread }];
    });
    expect(next.length).toBeGreaterThan(1);
    for (const { step, thread } of next) {
      expect(step.do).toBe("lock");
      expect([undefined, thread]).not.toContain(owners.get(step.lock));
    }
  }
});

test("happened-before: vector clocks are incomparable exactly for the gold events", () => {
  for (const { problem, items } of drawnOf<Answer<OrderProblem>>(happenedBefore)) {
    const clocks = new Map<string, number[]>();
    const latest = Array.from({ length: problem.processes }, () => Array.from({ length: problem.processes }, () => 0));
    const sent = new Map<number, number[]>();
    for (const { name, process, sends, receives } of problem.events) {
      const arrived = receives === null ? [] : (sent.get(receives) ?? []);
      const clock = (latest[process] ?? []).map(
        (time, index) => Math.max(time, arrived[index] ?? 0) + Number(index === process),
      );
      latest[process] = clock;
      clocks.set(name, clock);
      if (sends !== null) sent.set(sends, clock);
    }
    const isBefore = (a: readonly number[], b: readonly number[]): boolean =>
      a.every((time, index) => time <= (b[index] ?? 0));
    const found = problem.asked.map((asked) => {
      const own = clocks.get(asked) ?? [];
      const others = [...clocks].filter(
        ([name, clock]) => name !== asked && !isBefore(own, clock) && !isBefore(clock, own),
      );
      return others
        .map(([name]) => name)
        .toSorted()
        .join(" ");
    });
    expect(found).toEqual(items);
  }
});
