import { describe, expect, test } from "vitest";

import { ofSplit, type Use } from "../../../ts/datasets/index.ts";

const USES: readonly Use[] = ["train", "eval", "demonstrations"];

/** The numbers from 0 to `last`, again and again. */
function* numbers(last: number): Generator<number> {
  for (;;) for (let number = 0; number <= last; number++) yield number;
}

function first<Row>(rows: Iterable<Row>, count: number): Row[] {
  const taken: Row[] = [];
  for (const row of rows) if (taken.push(row) === count) break;
  return taken;
}

describe("generated tasks of a use", () => {
  test("are shared with no other use, and do not come twice while there are others", () => {
    const taken = USES.map((use) =>
      first(
        ofSplit(numbers(10_000), use, (row) => row),
        100,
      ),
    );
    expect(new Set(taken.flat()).size).toBe(300);
  });

  test("begin anew when the generator has no more of them", () => {
    const taken = first(
      ofSplit(numbers(50), "train", (row) => row),
      300,
    );
    expect(new Set(taken).size).toBeLessThan(52);
    expect(taken).toHaveLength(300);
  });

  test("are refused with a message when there is none, in place of an endless search", () => {
    const others = first(numbers(100), 100).filter((row) => first(ofSplit([row], "eval", String), 1).length === 0);
    const same = function* (): Generator<number> {
      for (;;) yield others[0] ?? 0;
    };
    expect(() => first(ofSplit(same(), "eval", String), 1)).toThrow(
      expect.objectContaining({ code: "PRL_ENVIRONMENT_INVALID", message: expect.stringContaining("belongs to eval") }),
    );
  });
});
