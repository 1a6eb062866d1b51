/** The estimators with a baseline of another kind than the group's mean, against numbers computed manually. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { PrlError } from "../../../ts/errors.ts";
import { advantages } from "../../../ts/algorithms/index.ts";
import { AgentBaselines } from "../../../ts/algorithms/estimators/rae.ts";

function expectClose(actual: readonly (readonly number[])[], expected: readonly (readonly number[])[]): void {
  expect(actual.map((group) => group.length)).toEqual(expected.map((group) => group.length));
  actual.flat().forEach((value, index) => expect(value).toBeCloseTo(expected.flat()[index] ?? Number.NaN, 10));
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

describe("max_rl", () => {
  it("divides by the mean of the group", () => {
    expectClose(
      advantages("max_rl", [
        [0, 1, 0, 1],
        [1, 0, 0, 0],
      ]),
      [
        [-1, 1, -1, 1],
        [3, -1, -1, -1],
      ],
    );
  });

  it("gives zeros where the mean is 0 or less", () => {
    expect(
      advantages("max_rl", [
        [0, 0],
        [-2, 1],
      ]),
    ).toEqual([
      [0, 0],
      [0, 0],
    ]);
  });
});

describe("reinforce_pp", () => {
  it("whitens over the batch", () => {
    // 0, 1, 1, 4: mean 1.5, squares 2.25 + 0.25 + 0.25 + 6.25 = 9, over 3.
    const scale = Math.sqrt(3 + 1e-8);
    expectClose(advantages("reinforce_pp", [[0, 1], [1], [4]]), [
      [-1.5 / scale, -0.5 / scale],
      [-0.5 / scale],
      [2.5 / scale],
    ]);
  });

  it("weighs every rollout by its sampled tokens", () => {
    // Tokens 3 x 1 and 1 x 5: mean 2, squares 3 * 1 + 9 = 12, over 4 - 1 tokens.
    const scale = Math.sqrt(4 + 1e-8);
    expectClose(advantages("reinforce_pp", [[1, 5]], { lengths: [[3, 1]] }), [[-1 / scale, 3 / scale]]);
  });

  it("takes the group's mean off first with reinforce_pp_baseline", () => {
    // Deviations -1, 1, -2, 2: mean 0, squares 10, over 3.
    const scale = Math.sqrt(10 / 3 + 1e-8);
    expectClose(
      advantages("reinforce_pp_baseline", [
        [0, 2],
        [1, 5],
      ]),
      [
        [-1 / scale, 1 / scale],
        [-2 / scale, 2 / scale],
      ],
    );
  });

  it("has token-weighted mean 0 and variance 1 whatever the batch", () => {
    const rollout = fc.record({
      reward: fc.double({ min: -5, max: 5, noNaN: true }),
      length: fc.integer({ min: 1, max: 99 }),
    });
    fc.assert(
      fc.property(fc.array(fc.array(rollout, { minLength: 1, maxLength: 5 }), { minLength: 2 }), (groups) => {
        const rewards = groups.map((group) => group.map(({ reward }) => reward));
        const lengths = groups.map((group) => group.map(({ length }) => length));
        const values = advantages("reinforce_pp", rewards, { lengths, eps: 0, unbiased: false }).flat();
        fc.pre(Math.max(...rewards.flat()) - Math.min(...rewards.flat()) > 1e-3);
        const weights = lengths.flat();
        const total = weights.reduce((sum, weight) => sum + weight, 0);
        const moment = (power: number): number =>
          values.reduce((sum, value, i) => sum + (weights[i] ?? 0) * value ** power, 0) / total;
        expect(moment(1)).toBeCloseTo(0, 6);
        expect(moment(2)).toBeCloseTo(1, 6);
      }),
    );
  });
});

describe("opo", () => {
  it("has the length-weighted mean as its baseline", () => {
    // (1 * 30 + 0 * 10) / 40 = 0.75
    expectClose(advantages("opo", [[1, 0]], { lengths: [[30, 10]] }), [[0.25, -0.75]]);
  });

  it("leaves missing rewards and their lengths out", () => {
    expectClose(advantages("opo", [[1, Number.NaN, 0]], { lengths: [[30, 500, 10]] }), [[0.25, 0, -0.75]]);
  });

  it("needs lengths of the rewards' shape", () => {
    expect(codeOf(() => advantages("opo", [[1, 0]]))).toBe("PRL_ADVANTAGE_INPUT");
    expect(codeOf(() => advantages("opo", [[1, 0]], { lengths: [[1]] }))).toBe("PRL_ADVANTAGE_INPUT");
  });
});

describe("gdpo", () => {
  it("normalises each reward in its group and the sum over the batch", () => {
    const a = 1 / (Math.SQRT2 + 1e-4);
    const b = 10 / (Math.sqrt(200) + 1e-4);
    // Sums: group one +-(a + 2 b), group two -a and a; mean 0, variance over 3.
    const large = a + 2 * b;
    const scale = Math.sqrt((2 * large * large + 2 * a * a) / 3) + 1e-4;
    const components = {
      right: [
        [2, 0],
        [0, 2],
      ],
      style: [
        [20, 0],
        [7, 7],
      ],
    };
    const rewards = [
      [22, 0],
      [7, 9],
    ];
    expectClose(advantages("gdpo", rewards, { components, component_weights: { style: 2 } }), [
      [large / scale, -large / scale],
      [-a / scale, a / scale],
    ]);
  });

  it("refuses a component that is missing where the reward is there", () => {
    const components = { right: [[1, Number.NaN]] };
    expect(codeOf(() => advantages("gdpo", [[1, 2]], { components }))).toBe("PRL_ADVANTAGE_INPUT");
    expect(advantages("gdpo", [[1, Number.NaN]], { components })).toEqual([[0, 0]]);
  });
});

describe("rae", () => {
  it("subtracts each agent's average of before", () => {
    const agents = [
      ["first", "second"],
      ["first", "second"],
    ];
    const rewards = [
      [1, -1],
      [1, 0],
    ];
    expectClose(advantages("rae", rewards, { agents, decay: 0.5 }), [
      [1, -1],
      [0.5, 0.5],
    ]);
  });

  it("goes on from saved baselines", () => {
    const whole = new AgentBaselines(0.9, 0);
    const values = [1, 0, 1, 1, 0].map((reward) => whole.observe("a", reward));
    const before = new AgentBaselines(0.9, 0);
    const first = [1, 0].map((reward) => before.observe("a", reward));
    const after = new AgentBaselines(0.9, before.toJSON());
    expect([...first, ...[1, 1, 0].map((reward) => after.observe("a", reward))]).toEqual(values);
    expect(advantages("rae", [[1]], { baseline: { agent: 0.25 } })).toEqual([[0.75]]);
  });
});

describe("hierarchical_grpo", () => {
  it("compares those of one label with one another, the others across the group", () => {
    const rewards = [[1, 0, 1, 3, 0, 0]];
    const subgroups = [[null, "e0", "e0", null, "e1", "e1"]];
    expectClose(advantages("hierarchical_grpo", rewards, { subgroups }), [[-1, -0.5, 0.5, 1, 0, 0]]);
  });
});

describe("rewards shaped by length", () => {
  it("subtracts a share of the pass rate before the baseline", () => {
    // Pass rate 0.5; costs 0.25 * (1, 0.5) + 0.1 * (1, 1) + 0.1 * (0.5, 1) = 0.4, 0.325.
    const params = {
      length_penalty: {},
      lengths: [[100, 50]],
      input_tokens: [[8, 8]],
      turns: [[1, 2]],
    };
    expectClose(advantages("dr_grpo", [[1, 0]], params), [[(0.8 + 0.1625) / 2, -(0.8 + 0.1625) / 2]]);
    expect(codeOf(() => advantages("dr_grpo", [[1, 0]], { length_penalty: {} }))).toBe("PRL_ADVANTAGE_INPUT");
  });

  it("punishes replies that run into the last tokens", () => {
    const overlong = { max_tokens: 100, cache_tokens: 20 };
    const lengths = [[80, 90, 100]];
    // Penalties 0, -0.5, -1.
    expectClose(advantages("dr_grpo", [[1, 1, 1]], { overlong, lengths }), [[0.5, 0, -0.5]]);
  });
});
