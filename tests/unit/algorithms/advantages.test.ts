import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { PrlError } from "../../../ts/errors.ts";
import { advantages } from "../../../ts/algorithms/index.ts";

const NAMES = ["grpo", "dr_grpo", "rloo"] as const;

/** Compares with numbers computed manually, to 12 digits. */
function expectClose(actual: readonly (readonly number[])[], expected: readonly (readonly number[])[]): void {
  expect(actual.map((group) => group.length)).toEqual(expected.map((group) => group.length));
  actual.flat().forEach((value, index) => expect(value).toBeCloseTo(expected.flat()[index] ?? Number.NaN, 12));
}

function codeOf(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    if (error instanceof PrlError) return error.code;
    throw error;
  }
  return "nothing thrown";
}

describe("grpo", () => {
  // Group [0, 1, 1, 2]: mean 1, deviations [-1, 0, 0, 1], sum of squares 2, std sqrt(2/3) unbiased, sqrt(1/2)
  // otherwise.
  const rewards = [
    [0, 1, 1, 2],
    [3, 5],
  ];

  it("subtracts the mean of the group alone with std none, its default", () => {
    expectClose(advantages("grpo", rewards), [
      [-1, 0, 0, 1],
      [-1, 1],
    ]);
    expect(advantages("grpo", rewards, { std: "none" })).toEqual(advantages("grpo", rewards));
  });

  it("divides by the unbiased standard deviation of the group plus eps", () => {
    const first = 1 / (Math.sqrt(2 / 3) + 1e-6);
    const second = 1 / (Math.SQRT2 + 1e-6);
    expectClose(advantages("grpo", rewards, { std: "group" }), [
      [-first, 0, 0, first],
      [-second, second],
    ]);
  });

  it("divides by the biased standard deviation when asked to", () => {
    const first = 1 / (Math.SQRT1_2 + 0.5);
    const second = 1 / (1 + 0.5);
    const params = { std: "group", unbiased: false, eps: 0.5 } as const;
    expectClose(advantages("grpo", rewards, params), [
      [-first, 0, 0, first],
      [-second, second],
    ]);
  });

  it("divides by the standard deviation of all rewards of the batch", () => {
    // [0, 1, 1, 2, 3, 5]: mean 2, squares 4 + 1 + 1 + 0 + 1 + 9 = 16; 16 / 5 unbiased.
    const scale = Math.sqrt(16 / 5) + 1e-6;
    expectClose(advantages("grpo", rewards, { std: "batch" }), [
      [-1 / scale, 0, 0, 1 / scale],
      [-1 / scale, 1 / scale],
    ]);
  });

  it("keeps missing rewards out of mean and standard deviation and gives them 0", () => {
    const scale = Math.SQRT2 + 1e-6;
    const group = [Number.NaN, 1, Number.NaN, 3];
    expectClose(advantages("grpo", [group], { std: "group" }), [[0, -1 / scale, 0, 1 / scale]]);
    expectClose(advantages("grpo", [group, [2, Number.NaN]], { std: "batch" }), [
      [0, -1 / 1.000001, 0, 1 / 1.000001],
      [0, 0],
    ]);
  });
});

describe("dr_grpo", () => {
  it("subtracts the mean and divides by nothing, whatever the block's std says", () => {
    expectClose(
      advantages("dr_grpo", [
        [0, 1, 1, 2],
        [10, 20],
      ]),
      [
        [-1, 0, 0, 1],
        [-5, 5],
      ],
    );
    expectClose(advantages("dr_grpo", [[10, 20]], { std: "group" }), [[-5, 5]]);
  });
});

describe("rloo", () => {
  it("subtracts the mean of the others", () => {
    // 0 - (1 + 5) / 2, 1 - (0 + 5) / 2, 5 - (0 + 1) / 2
    expectClose(advantages("rloo", [[0, 1, 5]]), [[-3, -1.5, 4.5]]);
  });

  it("counts only valid rewards as others", () => {
    expectClose(advantages("rloo", [[0, Number.NaN, 4]]), [[-4, 0, 4]]);
  });
});

describe.each(NAMES)("%s on degenerate input", (name) => {
  it("gives a sole survivor 0, or its reward with singleton raw", () => {
    expect(advantages(name, [[Number.NaN, 0.7], [3]])).toEqual([[0, 0], [0]]);
    expect(advantages(name, [[Number.NaN, 0.7], [3]], { singleton: "raw" })).toEqual([[0, 0.7], [3]]);
  });

  it("gives exact zeros when all rewards are equal, even those that no float mean hits", () => {
    const groups = [Array.from({ length: 8 }, () => 0.1), [1 / 3, 1 / 3, 1 / 3]];
    for (const std of ["none", "group", "batch"] as const) {
      expect(advantages(name, groups, { std, eps: 0 })).toEqual([
        [0, 0, 0, 0, 0, 0, 0, 0],
        [0, 0, 0],
      ]);
    }
  });

  it("gives zeros when all rewards are missing, and nothing for nothing", () => {
    expect(advantages(name, [[Number.NaN, Number.NaN]])).toEqual([[0, 0]]);
    expect(advantages(name, [[]])).toEqual([[]]);
    expect(advantages(name, [])).toEqual([]);
  });

  it("returns Float64Array groups for Float64Array groups and leaves its input alone", () => {
    const group = Float64Array.of(1, Number.NaN, 2);
    const [result] = advantages(name, [group]);
    expect(result).toBeInstanceOf(Float64Array);
    expect(result?.length).toBe(3);
    expect([...group]).toEqual([1, Number.NaN, 2]);
  });

  it("refuses rewards that are no numbers and parameters that do not exist", () => {
    expect(codeOf(() => advantages(name, [[1, Infinity]]))).toBe("PRL_ADVANTAGE_INPUT");
    expect(codeOf(() => advantages(name, [[1]], JSON.parse('{"epsilon":1}')))).toBe("PRL_ADVANTAGE_INPUT");
    expect(codeOf(() => advantages(name, [[1]], { eps: -1 }))).toBe("PRL_ADVANTAGE_INPUT");
  });
});

describe("advantages", () => {
  it("refuses unknown names", () => {
    expect(codeOf(() => advantages("grop", [[1]]))).toBe("PRL_ADVANTAGE_UNKNOWN");
  });

  it("sums to zero in every group and ignores where the missing rewards are", () => {
    const reward = fc.oneof(fc.constant(Number.NaN), fc.double({ min: -10, max: 10, noNaN: true }));
    fc.assert(
      fc.property(fc.constantFrom(...NAMES), fc.array(fc.array(reward, { maxLength: 8 })), (name, groups) => {
        const results = advantages(name, groups, { std: "batch" });
        const packed = advantages(
          name,
          groups.map((group) => group.filter((value) => !Number.isNaN(value))),
          { std: "batch" },
        );
        results.forEach((group, index) => {
          const kept = group.filter((_, i) => !Number.isNaN(groups[index]?.[i]));
          expect(kept).toEqual(packed[index]);
          const size = Math.max(1, ...group.map((value) => Math.abs(value)));
          // The rounding error of rewards up to 10 is divided by a deviation that may be as small as eps = 1e-6.
          expect(Math.abs(group.reduce((sum, value) => sum + value, 0))).toBeLessThan(1e-7 * size);
        });
      }),
    );
  });
});
