import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

import { loadConfig, type SftConfig } from "../../../../ts/config/index.ts";
import { type Environment, loadEnvironment } from "../../../../ts/environments/index.ts";

const file = (name: string) => fileURLToPath(new URL(`../../../../configs/reverse-text/${name}`, import.meta.url));

/** The environment of a stage that learns from demonstrations. */
function demonstrating({ data }: SftConfig): NonNullable<SftConfig["data"]["env"]> {
  if (data.env === null) throw new Error("the stage has no environment");
  return data.env;
}

/** What a config names, its arguments not filled in yet. */
function environmentOf({ id, path }: { id: string | null; path: string | null }): Promise<Environment> {
  return loadEnvironment(path === null ? { id: id ?? "" } : { path });
}

describe("the reverse-text example", () => {
  it("is a config whose environments exist and accept their arguments", async () => {
    const rl = await loadConfig([file("rl.toml")]);
    const { train, eval: evaluation } = rl.config.orchestrator;
    const sources = [...train.source, ...(evaluation?.source ?? [])];
    expect(sources.map((source) => source.name)).toEqual(["reverse-text", "sampled", "greedy"]);
    for (const { env } of sources) (await environmentOf(env)).configure(env.args);
    expect(rl.config.warm_start?.sft).toBe(file("sft.toml"));
  });

  it("has an evaluation of the trained policy behind its server", async () => {
    const { config } = await loadConfig([file("eval.toml")], [], { kind: "eval" });
    expect(config.eval.map(({ name, rollouts }) => [name, rollouts])).toEqual([
      ["sampled", 4],
      ["greedy", 1],
    ]);
    expect(config.eval[1]?.sampling).toMatchObject({ temperature: 0, max_completion_tokens: 16 });
    for (const { env } of config.eval) (await environmentOf(env)).configure(env.args);
  });

  it("has a warm start that demonstrates cleanly for its first 560 steps", async () => {
    const { config } = await loadConfig([file("sft.toml")], [], { kind: "sft" });
    const env = demonstrating(config);
    expect(env.args["noise_after"]).toBe(560 * config.data.batch_size);
    const environment = (await environmentOf(env)).configure(env.args);
    expect(environment.demonstrations(config.seed)[Symbol.iterator]().next().done).toBe(false);
  });
});

describe.each(["alphabet-sort", "tool-lookup"])("the %s example", (name) => {
  const path = (part: string) => fileURLToPath(new URL(`../../../../configs/${name}/${part}`, import.meta.url));

  it("trains and evaluates what its warm start demonstrates", async () => {
    const rl = await loadConfig([path("rl.toml")]);
    const { train, eval: evaluation } = rl.config.orchestrator;
    const sources = [...train.source, ...(evaluation?.source ?? [])];
    expect(sources.map((source) => source.name)).toEqual([name, "sampled", "greedy"]);
    for (const { env } of sources) (await environmentOf(env)).configure(env.args);
    expect(rl.config.warm_start?.sft).toBe(path("sft.toml"));

    const { config } = await loadConfig([path("sft.toml")], [], { kind: "sft" });
    const { batch_size: batchSize } = config.data;
    const env = demonstrating(config);
    const clean = Number(env.args["noiseAfter"] ?? env.args["guessAfter"]) / batchSize;
    expect(clean).toBeGreaterThan(0);
    expect(clean).toBeLessThan(config.max_steps);
    const environment = (await environmentOf(env)).configure(env.args);
    expect(environment.demonstrations(config.seed)[Symbol.iterator]().next().done).toBe(false);
  });
});

describe("the multi-environment example", () => {
  const path = (part: string) =>
    fileURLToPath(new URL(`../../../../configs/multi-environment/${part}`, import.meta.url));

  it("trains and evaluates the environments that its warm start demonstrates, with two estimators", async () => {
    const rl = await loadConfig([path("rl.toml")]);
    const { train, eval: evaluation, algo } = rl.config.orchestrator;
    const { config } = await loadConfig([path("sft.toml")], [], { kind: "sft" });
    const ids = ["reverse-text", "alphabet-sort", "tool-lookup"];
    expect(train.source.map(({ env }) => env.id)).toEqual(ids);
    expect(evaluation?.source.map(({ env }) => env.id)).toEqual(ids);
    expect(config.data.mix?.map(({ env }) => env.id)).toEqual(ids);
    expect(new Set(train.source.map((source) => source.algo?.type ?? algo.type)).size).toBe(2);
    for (const { env } of [...train.source, ...(evaluation?.source ?? []), ...(config.data.mix ?? [])])
      (await environmentOf(env)).configure(env.args);
  });
});

describe("the catalogue-mix example", () => {
  const path = (part: string) => fileURLToPath(new URL(`../../../../configs/catalogue-mix/${part}`, import.meta.url));

  it("trains and evaluates the twenty tasks that its warm start demonstrates", async () => {
    const { train, eval: evaluation } = (await loadConfig([path("rl.toml")])).config.orchestrator;
    const { data } = (await loadConfig([path("sft.toml")], [], { kind: "sft" })).config;
    const trained = train.source.map(({ env }) => env);
    const [greedy, ...alone] = [...(evaluation?.source ?? [])].reverse().map(({ env }) => env);
    expect(new Set(trained.map(({ id }) => id)).size).toBe(20);
    expect(alone.reverse()).toEqual(trained);
    expect(data.mix?.map(({ env }) => env)).toEqual(trained);
    expect(greedy?.args["tasks"]).toEqual(trained.map(({ id }) => ({ id })));
    for (const env of [...trained, ...(greedy === undefined ? [] : [greedy])])
      (await environmentOf(env)).configure(env.args);
  });
});

describe("the distillation example", () => {
  const path = (part: string) => fileURLToPath(new URL(`../../../../configs/distillation/${part}`, import.meta.url));

  it("has a teacher, a beginner and a run, all of one model and one task", async () => {
    const { config } = await loadConfig([path("rl.toml")]);
    const [source] = config.orchestrator.train.source;
    expect(source?.algo).toMatchObject({
      type: "opd",
      teacher: { base_url: "http://127.0.0.1:8471", api: "generate" },
    });
    expect(config.warm_start?.sft).toBe(path("start.toml"));
    for (const part of ["teacher.toml", "start.toml"]) {
      const stage = (await loadConfig([path(part)], [], { kind: "sft" })).config;
      expect(stage.model).toEqual(config.model);
      expect(demonstrating(stage)).toEqual(source?.env);
    }
  });
});
