/** Calls of a backend that take too long are named; others are left alone. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import type { TrainerBackend } from "../../../ts/trainer/backend/backend.ts";
import { watchCalls } from "../../../ts/trainer/backend/call-watch.ts";

const never = () => new Promise<never>(() => undefined);
const standsStill: TrainerBackend = {
  accelerators: null,
  isa: "test",
  dtype: "float32",
  vocabSize: 1,
  ranks: 1,
  forwardBackward: never,
  step: never,
  logprobs: never,
  save: never,
  saveCheckpoint: never,
  close: never,
};

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("every call that waits for the engine is named when it is overdue, and not before", () => {
  const named: string[] = [];
  const watched = watchCalls(standsStill, 10, (call, seconds) => named.push(`${call} ${seconds}`));
  void watched.forwardBackward({ batches: [], onPolicyVersion: null });
  void watched.step();
  void watched.logprobs(new Uint32Array(), new Uint32Array());
  void watched.save("/weights");
  void watched.saveCheckpoint("/half");
  void watched.close();
  vi.advanceTimersByTime(9_999);
  expect(named).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(named).toEqual([
    "the forward and backward passes of a step 10",
    "an optimizer step 10",
    "the scores of the canary 10",
    "the weights in /weights 10",
    "the checkpoint in /half 10",
    "the end of its last call 10",
  ]);
});

test("a call that ends or fails in time is never overdue", async () => {
  const named: string[] = [];
  const ends = {
    ...standsStill,
    step: () => Promise.resolve({ gradNorm: 2 }),
    close: () => Promise.reject(new Error("no")),
  };
  const watched = watchCalls(ends, 10, (call) => named.push(call));
  expect(await watched.step()).toEqual({ gradNorm: 2 });
  await expect(watched.close()).rejects.toThrow("no");
  vi.advanceTimersByTime(100_000);
  expect(named).toEqual([]);
});
