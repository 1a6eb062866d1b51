import { describe, expect, it } from "vitest";

import { policyLoss } from "../../../ts/algorithms/index.ts";

describe("policyLoss of prl/algorithms", () => {
  it("gives the policy gradient of the sampled tokens when sampler and trainer agree", () => {
    // One sequence of three tokens, two of them sampled, ratio 1 everywhere: loss -(1 * 1 + 1 * 1) / 2, gradient -1/2
    // per token.
    const logprobs = Float64Array.of(0, -0.5, -1.5);
    const { loss, gradLogprobs } = policyLoss("default", {
      logprobs,
      inferenceLogprobs: logprobs,
      advantages: Float64Array.of(0, 1, 1),
      mask: Uint8Array.of(0, 1, 1),
      cuSeqlens: Uint32Array.of(0, 3),
    });
    expect(loss).toBeCloseTo(-1, 12);
    expect([...gradLogprobs].map((value) => Math.round(value * 1e9) / 1e9 + 0)).toEqual([0, -0.5, -0.5]);
  });

  // Of two sequences with 2 and 1 sampled tokens: ratio 1.1 and 0.5 at advantage 2, ratio 1.6 at -1. Clipped at 0.2 the terms are
  // -2.2, -1 and 1.6 (the pessimistic branch); the names differ in what they divide by, and in the bound on the last.
  const terms = -2.2 - 1 + 1.6;
  it.each<[string, Record<string, unknown>, number]>([
    ["ppo", {}, terms / 3],
    ["dapo", {}, terms / 3],
    ["grpo", {}, ((-2.2 - 1) / 2 + 1.6) / 2],
    ["dr_grpo", { max_completion_length: 8 }, terms / (2 * 8)],
    ["two_sided", { delta: 1.4 }, (-2.2 - 1 + 1.4) / 3],
    // No gradient through the weight: -A * min(ratio, 1.2) * logp, of the tokens' own log-probabilities.
    ["cispo", { epsilon_low: 1, epsilon_high: 0.2 }, (2 * 1.1 * 1 + 2 * 0.5 * 2 - 1.2 * 0.5) / 3],
  ])("%s equals its terms computed manually", (name, params, expected) => {
    const logprobs = Float64Array.of(0, -1, -2, 0, -0.5);
    const ratios = [1, 1.1, 0.5, 1, 1.6];
    const { loss } = policyLoss(
      name,
      {
        logprobs,
        inferenceLogprobs: logprobs.map((value, t) => value - Math.log(ratios[t] ?? 1)),
        advantages: Float64Array.of(0, 2, 2, 0, -1),
        mask: Uint8Array.of(0, 1, 1, 0, 1),
        cuSeqlens: Uint32Array.of(0, 3, 5),
      },
      params,
    );
    expect(loss).toBeCloseTo(expected, 12);
  });

  it.each("default ipo grpo ppo two_sided dapo dr_grpo gspo cispo sapo ref_kl ce kl".split(" "))(
    "%s of nothing that was sampled is 0, whatever stands there",
    (name) => {
      const { loss, gradLogprobs } = policyLoss(
        name,
        {
          logprobs: Float64Array.of(-1, Number.NaN, -Infinity),
          inferenceLogprobs: Float64Array.of(0, -1, Number.NaN),
          referenceLogprobs: Float64Array.of(Number.NaN, -1, -2),
          advantages: Float64Array.of(Infinity, 1, -1),
          mask: new Uint8Array(3),
          cuSeqlens: Uint32Array.of(0, 3),
        },
        {
          ...(name === "two_sided" && { delta: 1.5 }),
          ...(name === "dr_grpo" && { max_completion_length: 8 }),
          ...(name === "kl" && { kl: { estimator: "k3", coef: 1 } }),
        },
      );
      expect(loss + 0).toBe(0);
      expect([...gradLogprobs].map((value) => value + 0)).toEqual([0, 0, 0]);
    },
  );

  it("refuses an unknown name", () => {
    const none = new Float64Array(0);
    const inputs = {
      logprobs: none,
      inferenceLogprobs: none,
      advantages: none,
      mask: new Uint8Array(0),
      cuSeqlens: Uint32Array.of(0),
    };
    expect(() => policyLoss("defualt", inputs)).toThrow(expect.objectContaining({ code: "PRL_LOSS_UNKNOWN" }));
  });
});
