import { describe, expect, test } from "vitest";
import { learningRate } from "../../../ts/trainer/schedule.ts";

const base = { warmup_steps: 0, decay_steps: null, min_lr: 0 };

describe("learningRate", () => {
  test("warms up linearly from the first step on and then stays", () => {
    const scheduler = { ...base, type: "constant" as const, warmup_steps: 4 };
    expect([1, 2, 3, 4, 5, 99].map((step) => learningRate(step, 8, scheduler, 100))).toEqual([2, 4, 6, 8, 8, 8]);
  });

  test("descends linearly over the last decay steps", () => {
    const scheduler = { ...base, type: "linear" as const, decay_steps: 4, min_lr: 2 };
    expect([5, 6, 7, 8, 9, 10].map((step) => learningRate(step, 10, scheduler, 10))).toEqual([10, 10, 8, 6, 4, 2]);
  });

  test("is stable, then descends over the last decay steps (wsd)", () => {
    const scheduler = { ...base, type: "wsd" as const, warmup_steps: 2, decay_steps: 4, min_lr: 1 };
    const rates = Array.from({ length: 10 }, (_, i) => learningRate(i + 1, 9, scheduler, 10));
    expect(rates).toEqual([4.5, 9, 9, 9, 9, 9, 7, 5, 3, 1]);
  });

  test("descends as a cosine over everything after the warm-up", () => {
    const scheduler = { ...base, type: "cosine" as const };
    expect(learningRate(5, 1, scheduler, 10)).toBeCloseTo(0.5, 12);
    expect(learningRate(10, 1, scheduler, 10)).toBeCloseTo(0, 12);
  });
});
