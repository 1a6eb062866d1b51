import { describe, expect, it } from "vitest";

import { policyLoss } from "../../../ts/orchestrator/algorithms/index.ts";
import { lossBlock, lossOptions, lossProblems } from "../../../ts/config/schema/loss.ts";

const none = new Float64Array(0);
const inputs = {
  logprobs: none,
  inferenceLogprobs: none,
  referenceLogprobs: none,
  advantages: none,
  mask: new Uint8Array(0),
  cuSeqlens: Uint32Array.of(0),
};

describe("[trainer.loss]", () => {
  const { type: types } = lossBlock.unwrap().shape;
  const names = types.unwrap().options;

  it.each(names)("%s with its defaults is a loss that the engine takes", (type) => {
    const block = lossBlock.parse({ type, ...(type === "dr_grpo" && { max_completion_length: 64 }) });
    expect(lossProblems(block)).toEqual([]);
    const { type: name, ...params } = lossOptions(block);
    expect(policyLoss(name, inputs, params).loss).toBe(0);
  });

  it.each(names)("%s reads here what the engine reads", (type) => {
    const values: Record<string, unknown> = {
      bounds: "absolute",
      aggregation: "sum",
      correction: {},
      kl: {},
      global_tokens: 5,
      max_completion_length: 5,
    };
    for (const key of Object.keys(lossBlock.unwrap().shape)) {
      if (key === "type") continue;
      const aggregation = { global_tokens: "token-mean/global", max_completion_length: "sum/(B*L)" }[key];
      const base =
        type === "dr_grpo" && aggregation === undefined && key !== "aggregation" ? { max_completion_length: 5 } : {};
      const block = lossBlock.parse({ type, ...base, ...(aggregation && { aggregation }), [key]: values[key] ?? 0.5 });
      const here = lossProblems(block).length === 0;
      const { type: name, ...params } = lossOptions(block);
      const run = () => policyLoss(name, inputs, params);
      if (here) expect(run, `${type} ${key}`).not.toThrow();
      else expect(run, `${type} ${key}`).toThrow(expect.objectContaining({ code: "PRL_LOSS_INPUT" }));
    }
  });

  it("names the key that the loss does not read and the one that it lacks", () => {
    expect(lossProblems(lossBlock.parse({ type: "ppo", kl_tau: 1 }))).toEqual([
      { key: "kl_tau", message: 'is not read by the loss "ppo"' },
    ]);
    expect(lossProblems(lossBlock.parse({ type: "dr_grpo" }))[0]?.key).toBe("max_completion_length");
  });
});
