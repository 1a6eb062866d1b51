/** `model.base_dtype`: the format of frozen projections, and what it does not fit to. */
import { describe, expect, test } from "vitest";

import { rlConfigSchema } from "../../../../ts/config/schema/rl.ts";
import { sftConfigSchema } from "../../../../ts/config/schema/sft.ts";
import { baseDtypeProblem } from "../../../../ts/config/schema/trainer/lora.ts";

const MODEL = { name: "/model", base_dtype: "int8", lora: {} };
const SOURCE = { env: { id: "reverse-text" } };
const RL = { model: MODEL, orchestrator: { batch_size: 8, group_size: 4, train: { source: [SOURCE] } } };
const SFT = { model: MODEL, max_steps: 1, data: { source: "/rows.jsonl" } };

function problems(schema: typeof rlConfigSchema | typeof sftConfigSchema, config: object): string[] {
  return (schema.safeParse(config).error?.issues ?? []).map(({ path, message }) => `${path.join(".")}: ${message}`);
}

describe("model.base_dtype", () => {
  test("is taken with an adapter, by trainer and servers", () => {
    expect(problems(sftConfigSchema, SFT)).toEqual([]);
    const config = rlConfigSchema.parse(RL);
    expect(config.trainer.model).toMatchObject({ base_dtype: "int8" });
    expect(config.inference.model).toMatchObject({ base_dtype: "int8" });
    expect(rlConfigSchema.parse({ ...RL, model: { name: "/model" } }).model.base_dtype).toBeNull();
  });

  test.each<[string, object, string]>([
    ["all weights in training", { model: { ...MODEL, lora: null } }, "add [model.lora]"],
    ["torch as the trainer", { trainer: { backend: "torch" }, backend: "torch" }, 'backend = "torch"'],
    ["another format", { model: { ...MODEL, base_dtype: "int4" } }, '"int8"'],
  ])("is refused with %s", (_, change, text) => {
    const { backend: _top, ...rl } = change as { backend?: string };
    const { trainer: _section, ...sft } = change as { trainer?: object };
    for (const found of [problems(rlConfigSchema, { ...RL, ...rl }), problems(sftConfigSchema, { ...SFT, ...sft })]) {
      expect(found).toHaveLength(1);
      expect(found[0]).toMatch(/^model\.base_dtype: /u);
      expect(found[0]).toContain(text);
    }
  });

  test("is refused with vLLM servers", () => {
    const client = { api: "vllm", base_url: ["http://127.0.0.1:1"] };
    const found = problems(rlConfigSchema, { ...RL, orchestrator: { ...RL.orchestrator, client } });
    expect(found).toEqual([expect.stringMatching(/^model\.base_dtype: is not read by vLLM servers/u)]);
    for (const adapter of ["merged", "loaded"]) {
      const inference = { backend: "vllm", vllm: { adapter } };
      expect(problems(rlConfigSchema, { ...RL, inference })).toContainEqual(
        expect.stringMatching(/^model\.base_dtype: is not read by vLLM servers/u),
      );
    }
  });

  test("without it there is nothing to refuse", () => {
    for (const trainer of ["engine", "torch"] as const) {
      expect(baseDtypeProblem({ base_dtype: null, lora: null }, trainer)).toBeNull();
    }
  });
});
