import { describe, expect, test } from "vitest";
import { inOrder } from "../../../ts/sandbox/run-many.ts";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("running many in order", () => {
  test("keeps the order, the bound, and uses all of it", async () => {
    let running = 0;
    let most = 0;
    const results = await inOrder([5, 1, 4, 2, 3, 0], 3, async (turns, index) => {
      most = Math.max(most, ++running);
      for (let i = 0; i <= turns; i++) await turn();
      running--;
      return `${index}:${turns}`;
    });
    expect(results).toEqual(["0:5", "1:1", "2:4", "3:2", "4:3", "5:0"]);
    expect(most).toBe(3);
    expect(await inOrder([], 3, async () => 1)).toEqual([]);
  });

  test("a rejection stops new work and comes after what had begun", async () => {
    const begun: number[] = [];
    const ended: number[] = [];
    const work = inOrder([0, 1, 2, 3], 2, async (item) => {
      begun.push(item);
      await turn();
      if (item === 0) throw new Error("zero");
      await turn();
      ended.push(item);
    });
    await expect(work).rejects.toThrow("zero");
    expect(begun).toEqual([0, 1]);
    expect(ended).toEqual([1]);
  });
});
