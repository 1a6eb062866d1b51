import { describe, expect, it } from "vitest";

import { policyLoss } from "../../../../ts/algorithms/index.ts";
import { lossBlock, lossOptions, lossProblems, referenceOf } from "../../../../ts/config/schema/trainer/loss.ts";

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
  // The engine does not know a custom loss by name.
  const names = types.unwrap().options.filter((name) => name !== "custom");
  const OURS = ["type", "reference", "path", "args", "deadline_s"];

  it.each(names)("%s with its defaults is a loss that the engine takes", (type) => {
    const block = lossBlock.parse({ type, ...(type === "dr_grpo" && { max_completion_length: 64 }) });
    expect(lossProblems(block)).toEqual([]);
    const { type: name, ...params } = lossOptions(block);
    expect(policyLoss(name, inputs, params).loss).toBe(0);
  });

  it.each(names)("the config of %s has the engine's parameters", (type) => {
    const values: Record<string, unknown> = {
      bounds: "absolute",
      aggregation: "sum",
      correction: {},
      kl: {},
      global_tokens: 5,
      max_completion_length: 5,
    };
    for (const key of Object.keys(lossBlock.unwrap().shape)) {
      if (OURS.includes(key)) continue;
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

  it("takes a function by path, with arguments and without the engine's parameters", () => {
    const own = { type: "custom", path: "./my.ts#loss", args: { beta: 0.1 } };
    expect(lossProblems(lossBlock.parse(own))).toEqual([]);
    expect(lossProblems(lossBlock.parse({ type: "custom" }))[0]?.key).toBe("path");
    expect(lossProblems(lossBlock.parse({ ...own, epsilon_low: 0.2 }))[0]?.key).toBe("epsilon_low");
    expect(lossProblems(lossBlock.parse({ type: "grpo", path: "./my.ts" }))[0]?.key).toBe("path");
  });

  it("knows whose log-probabilities it pulls towards", () => {
    const reference = (block: object) => referenceOf(lossBlock.parse(block));
    expect(reference({})).toBeNull();
    expect(reference({ type: "grpo", kl: {} })).toBe("start");
    expect(reference({ type: "kl" })).toBe("start");
    expect(reference({ type: "ref_kl", reference: "/teacher" })).toBe("/teacher");
    expect(reference({ type: "custom", path: "./my.ts" })).toBeNull();
    expect(reference({ type: "custom", path: "./my.ts", reference: "start" })).toBe("start");
    expect(lossProblems(lossBlock.parse({ reference: "start" }))[0]?.key).toBe("reference");
    expect(lossOptions(lossBlock.parse({ kl: {}, reference: "start" }))).not.toHaveProperty("reference");
  });
});
