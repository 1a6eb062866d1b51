/** `optim.state_dtype`: the format of the optimizer's moments. */
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
  test("is float32 unless bfloat16 is asked for, with every optimizer of both backends", () => {
    expect(rlConfigSchema.parse(RL).trainer.optim.state_dtype).toBe("float32");
    expect(sftConfigSchema.parse(SFT).optim.state_dtype).toBe("float32");
    for (const type of ["adamw", "sgd", "muon"]) {
      for (const backend of ["engine", "torch"] as const) {
        expect(problems({ type, state_dtype: "bfloat16" }, backend)).toEqual([[], []]);
      }
    }
  });

  test("another format is refused", () => {
    const [rl, sft] = problems({ state_dtype: "float16" }, "engine");
    expect(rl?.join()).toContain("trainer.optim.state_dtype");
    expect(sft?.join()).toContain("optim.state_dtype");
  });
});
