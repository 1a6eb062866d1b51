import { describe, expect, it } from "vitest";

import { rlConfigSchema } from "../../../../ts/config/schema/rl.ts";

const parse = (more: Record<string, Record<string, unknown>>) =>
  rlConfigSchema.safeParse({
    model: { name: "m" },
    ...more,
    orchestrator: { train: { source: [{ env: { id: "reverse-text" } }] }, ...more["orchestrator"] },
  });
const replay = { trainer: { enable_router_replay: true } };

describe("router replay", () => {
  it("is off by default, and makes the run's servers return experts", () => {
    expect(parse({}).data?.inference.enable_return_routed_experts).toBe(false);
    const { data } = parse(replay);
    expect(data?.inference.enable_return_routed_experts).toBe(true);
    expect(rlConfigSchema.parse(data)).toEqual(data);
  });

  it.each([
    [
      "a vLLM without prefix cache",
      { ...replay, inference: { backend: "vllm", prefix_cache: false } },
      "inference.prefix_cache",
    ],
    ["recycled tokens", { ...replay, orchestrator: { recycle: "stale" } }, "orchestrator.recycle"],
    [
      "servers that return experts for nothing",
      { inference: { enable_return_routed_experts: true } },
      "inference.enable_return_routed_experts",
    ],
  ])("is refused by name with %s", (_, config, key) => {
    const { error } = parse(config);
    expect(error?.issues.map(({ path }) => path.join("."))).toContain(key);
  });
});

describe("keys of the router's training", () => {
  it("leave the router alone by default", () => {
    expect(parse({}).data?.trainer).toMatchObject({ router_aux_loss_coef: 0, freeze_moe_router: false });
  });

  it.each(["engine", "torch"])("are taken by %s", (backend) => {
    const keys = { ...replay.trainer, router_aux_loss_coef: 0.001, freeze_moe_router: true };
    expect(parse({ trainer: { backend, ...keys } }).data?.trainer).toMatchObject(keys);
  });
});
