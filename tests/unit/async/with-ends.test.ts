import { describe, expect, test } from "vitest";

import { withEnds } from "../../../ts/async/with-ends.ts";

const works = async () => "result";
const fails = (message: string) => async () => Promise.reject(new Error(message));

describe("work with ends", () => {
  test("calls every end in order after success and after failure", async () => {
    for (const work of [works, fails("the work")]) {
      const calls: number[] = [];
      const end = (number: number) => async () => void calls.push(number);
      const failing = async () => {
        calls.push(2);
        throw new Error("an end");
      };
      await withEnds<unknown>(work, [end(1), failing, end(3)]).catch(() => undefined);
      expect(calls).toEqual([1, 2, 3]);
    }
  });

  test("reports the failure of the work before those of the ends, and the first of these after success", async () => {
    expect(await withEnds(works, [works])).toBe("result");
    await expect(withEnds(fails("the work"), [fails("an end")])).rejects.toThrow("the work");
    await expect(withEnds(works, [fails("an end"), fails("another")])).rejects.toThrow("an end");
  });
});
