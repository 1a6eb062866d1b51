import { describe, expect, it } from "vitest";

import { policyLoss } from "../../../ts/orchestrator/algorithms/index.ts";

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

  it("refuses a name that nobody knows", () => {
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
