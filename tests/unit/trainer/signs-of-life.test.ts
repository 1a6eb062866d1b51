import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { SignsOfLife } from "../../../ts/trainer/torch/signs-of-life.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

function watched(): { signs: SignsOfLife; named: (readonly number[])[] } {
  const named: (readonly number[])[] = [];
  const signs = new SignsOfLife(60_000, (ranks) => named.push(ranks));
  for (const rank of [0, 1, 2]) signs.heard(rank, null);
  return { signs, named };
}

test("names the ranks that are silent, once, and no other", () => {
  const { signs, named } = watched();
  for (let second = 0; second < 120; second += 2) {
    vi.advanceTimersByTime(2000);
    signs.heard(1, `step.py:${second} in work`);
  }
  expect(named).toEqual([[0, 2]]);
  expect(signs.placeOf(1)).toBe("step.py:118 in work");
  expect(signs.placeOf(0)).toBeNull();
});

test("names no rank while all ranks give signs of life, nor after its end", () => {
  const { signs, named } = watched();
  for (let second = 0; second < 300; second += 2) {
    vi.advanceTimersByTime(2000);
    for (const rank of [0, 1, 2]) signs.heard(rank, null);
  }
  signs.stop();
  vi.advanceTimersByTime(600_000);
  expect(named).toEqual([]);
});

test("a launcher that was away for an hour blames no rank that goes on", () => {
  const { signs, named } = watched();
  // The timer of a process that was suspended fires once.
  vi.setSystemTime(Date.now() + 3_600_000);
  vi.advanceTimersByTime(10_000);
  for (const rank of [0, 1, 2]) signs.heard(rank, null);
  vi.advanceTimersByTime(50_000);
  expect(named).toEqual([]);
  signs.stop();
});
