/** `optim.state_dtype`: the format of the optimizer's moments, which the torch trainer does not read. */
import { describe, expect, test } from "vitest";

import { rlConfigSchema } from "../../../../ts/config/schema/rl.ts";
import { sftConfigSchema } from "../../../../ts/config/schema/sft.ts";

const SOURCE = { env: { id: "reverse-text" } };
const RL = { model: { name: "/model" }, orchestrator: { batch_size: 8, group_size: 4, train: { source: [SOURCE] } } };
const SFT = { model: { name: "/model" }, max_steps: 1, data: { source: "/rows.jsonl" } };

function problems(optim: object, backend: "engine" | "torch"): string[][] {
  const found = [
    rlConfigSchema.safeParse({ ...RL, trainer: { backend, optim } }),
    sftConfigSchema.safeParse({ ...SFT, backend, optim }),
  ];
  return found.map(({ error }) => (error?.issues ?? []).map(({ path, message }) => `${path.join(".")}: ${message}`));
}

describe("optim.state_dtype", () => {
  test("is float32 unless bfloat16 is asked for, with every optimizer of the engine", () => {
    expect(rlConfigSchema.parse(RL).trainer.optim.state_dtype).toBe("float32");
    expect(sftConfigSchema.parse(SFT).optim.state_dtype).toBe("float32");
    for (const type of ["adamw", "sgd", "muon"]) {
      expect(problems({ type, state_dtype: "bfloat16" }, "engine")).toEqual([[], []]);
    }
  });

  test("bfloat16 is refused by name with torch as the trainer", () => {
    const text = 'optim.state_dtype: is not read by backend = "torch", which keeps moments in float32: leave it out';
    expect(problems({ state_dtype: "bfloat16" }, "torch")).toEqual([[`trainer.${text}`], [text]]);
    expect(problems({ state_dtype: "float32" }, "torch")).toEqual([[], []]);
  });

  test("another format is refused", () => {
    const [rl, sft] = problems({ state_dtype: "float16" }, "engine");
    expect(rl?.join()).toContain("trainer.optim.state_dtype");
    expect(sft?.join()).toContain("optim.state_dtype");
  });
});
