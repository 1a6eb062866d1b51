import { describe, expect, test } from "vitest";

import { burst, interleaved, percentile } from "../../../../ts/cli/sandbox-bench/measure.ts";

const { signal } = new AbortController();

describe("measuring side by side", () => {
  test("contenders take turns, forwards and backwards from another one each, and the first round is not kept", async () => {
    const order: string[] = [];
    const contender = (name: string) => ({ name, run: async () => void order.push(name) });
    const samples = await interleaved(["a", "b", "c"].map(contender), 2, signal);
    expect(order.join("")).toBe("abcbaccab");
    expect([...samples].map(([name, { length }]) => [name, length])).toEqual([
      ["a", 2],
      ["b", 2],
      ["c", 2],
    ]);
  });

  test("one that takes part in every third round only has fewer samples", async () => {
    const nothing = async (): Promise<void> => {};
    const samples = await interleaved(
      [
        { name: "a", run: nothing },
        { name: "slow", every: 3, run: nothing },
      ],
      7,
      signal,
    );
    expect([...samples].map(([name, { length }]) => [name, length])).toEqual([
      ["a", 7],
      ["slow", 2],
    ]);
  });

  test("a wrong outcome ends the measurement", async () => {
    const wrong = { name: "wrong", run: async () => Promise.reject(new Error("not what it must be")) };
    await expect(interleaved([wrong], 5, signal)).rejects.toThrow("not what it must be");
  });

  test("a burst runs each index once, and no more than so many at a time", async () => {
    const seen: number[] = [];
    let [running, most] = [0, 0];
    const run = async (index: number): Promise<void> => {
      seen.push(index);
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 1));
      running--;
    };
    const { samples } = await burst(run, 50, 8, signal);
    expect(most).toBe(8);
    expect(samples).toHaveLength(50);
    expect(seen.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, index) => index));
  });

  test("percentiles are samples", () => {
    const samples = [5, 1, 4, 2, 3];
    expect([0, 50, 99, 100].map((percent) => percentile(samples, percent))).toEqual([1, 3, 5, 5]);
    expect(percentile([], 50)).toBeNaN();
  });
});
