import { describe, expect, test } from "vitest";
import { z } from "zod";
import { checkSettings, loadConfig } from "../../../ts/config/index.ts";
import { folderWith, prlErrorOf, RL_TOML } from "./support.ts";

async function failure(toml: string, overrides: readonly string[] = [], env: Record<string, string> = {}) {
  const cwd = folderWith({ "rl.toml": toml });
  return prlErrorOf(loadConfig(["rl.toml"], overrides, { kind: "rl", env, cwd }));
}

describe("an unknown key", () => {
  test.each([
    [
      "in a table",
      `${RL_TOML}[trainer.optim]\nweight_decai = 1\n`,
      "rl.toml:14: trainer.optim.weight_decai",
      "weight_decay",
    ],
    ["at the top", `max_step = 3\n${RL_TOML}`, "rl.toml:1: max_step", "max_steps"],
    ["in a header", `${RL_TOML}[trainer.optmi]\nlr = 1\n`, "rl.toml:13: trainer.optmi", "optim"],
    ["in an inline table", RL_TOML.replace("id =", "di ="), "rl.toml:12: orchestrator.train.source.0.env.di", "id"],
    ["in a section of another name", `batch_size = 3\n${RL_TOML}`, "rl.toml:1: batch_size", "orchestrator.batch_size"],
    [
      "in the second table of a list",
      `${RL_TOML}[[orchestrator.train.source]]\nenv.id = "b"\nrato = 2\n`,
      "rl.toml:15: orchestrator.train.source.1.rato",
      "ratio",
    ],
  ])("%s is named with file, line and the nearest valid key", async (_, toml, where, near) => {
    const error = await failure(toml);
    expect(error.code).toBe("PRL_CONFIG_INVALID");
    expect(error.message).toContain(`${where}: unknown key; did you mean "${near}"?`);
  });

  test("that resembles nothing lists the valid keys", async () => {
    const error = await failure(`${RL_TOML}[trainer.optim]\nlearning_rate = 1\n`);
    expect(error.message).toContain("valid keys here: type, lr, betas");
  });
});

describe("settings with a schema of their own", () => {
  const schema = z.strictObject({ words: z.array(z.string()).default([]), longest: z.int() });
  const at = ["orchestrator", "train", "source", 0, "env", "args"];
  const settings = RL_TOML.replace("shortest = 4", 'wordz = [], longest = "x"');

  test("are reported like keys of the config, with file, line and the nearest valid key", async () => {
    const cwd = folderWith({ "rl.toml": settings });
    const { config, provenance } = await loadConfig(["rl.toml"], [], { kind: "rl", env: {}, cwd });
    const args = config.orchestrator.train.source[0]?.env.args ?? {};
    const error = await prlErrorOf(() => checkSettings(schema, args, at, provenance));
    expect(error.code).toBe("PRL_CONFIG_INVALID");
    const key = "rl.toml:12: orchestrator.train.source.0.env.args";
    expect(error.message).toContain(`${key}.wordz: unknown key; did you mean "words"?`);
    expect(error.message).toContain(`${key}.longest: expected integer, got string "x"`);
  });

  test("name the flag that set them, and a key that is missing", async () => {
    const cwd = folderWith({ "rl.toml": RL_TOML.replace(", args = { shortest = 4 }", "") });
    const flags = ["--orchestrator.train.source.0.env.args.words", "3"];
    const { config, provenance } = await loadConfig(["rl.toml"], flags, { kind: "rl", env: {}, cwd });
    const args = config.orchestrator.train.source[0]?.env.args ?? {};
    const error = await prlErrorOf(() => checkSettings(schema, args, at, provenance));
    expect(error.message).toContain("command line, --orchestrator.train.source.0.env.args.words: ");
    expect(error.message).toContain("args.longest: is required (integer)");
  });

  test("the flag that a message advises sets the missing key", async () => {
    const cwd = folderWith({ "rl.toml": RL_TOML.replace(", args = { shortest = 4 }", "") });
    const options = { kind: "rl", env: {}, cwd } as const;
    const required = z.strictObject({ most_words: z.int() });
    const argsOf = async (flags: readonly string[]) =>
      (await loadConfig(["rl.toml"], flags, options)).config.orchestrator.train.source[0]?.env.args ?? {};
    const { message } = await prlErrorOf(async () => checkSettings(required, await argsOf([]), at, undefined));
    const flag = /or with (--\S+)/.exec(message)?.[1] ?? "";
    expect(await argsOf([flag, "3"])).toEqual({ most_words: 3 });
  });
});

describe("a wrong value", () => {
  const at = (line: string) => RL_TOML.replace("max_steps = 30", line);
  test.each([
    [at('max_steps = "30"'), 'rl.toml:1: max_steps: expected integer, got string "30"'],
    [at("max_steps = 1.5"), "rl.toml:1: max_steps: expected integer, got number 1.5"],
    [`${RL_TOML}[trainer.optim]\nlr = inf\n`, "rl.toml:14: trainer.optim.lr: expected a finite number, got Infinity"],
    [`${RL_TOML}[run]\nname = "${"n".repeat(129)}"\n`, "rl.toml:14: run.name: at most 128 characters"],
    [
      `${RL_TOML}[inference]\nreplicas = 2\nserver.port = 65535\n`,
      "rl.toml:15: inference.server.port: 2 replicas from port 65535 on need ports above 65535: set a lower port, or 0 for free ones",
    ],
    [
      at("max_async_level = 0").replace("group_size = 8", "oversampling = 2"),
      "orchestrator.oversampling: is for a max_async_level of 1 or more",
    ],
    [
      RL_TOML.replace("group_size = 8", 'recycle = "tails"'),
      'orchestrator.recycle: "tails" needs oversampling, without which there are none: raise orchestrator.oversampling',
    ],
    [at('warm_start.sft = "./model"'), "model is a folder, not a file"],
    [at('model.name = "./rl.toml"').replace(/\[model\]\nname.*\n/, ""), "rl.toml is a file, not a folder"],
    [at("max_steps = 0"), "rl.toml:1: max_steps: must be >0, got integer 0"],
    [at("trainer = 3"), "rl.toml:1: trainer: expected table, got integer 3"],
    [at("clean = 1"), "rl.toml:1: clean: expected boolean, got integer 1"],
    [at("seed = 2020-01-01"), 'rl.toml:1: seed: expected integer, got string "2020-01-01"'],
    [`${RL_TOML}[trainer.optim]\nbetas = [0.9]\n`, "trainer.optim.betas"],
    [
      `${RL_TOML}[trainer.optim]\nbetas = [0.9, "x"]\n`,
      'rl.toml:14: trainer.optim.betas.1: expected number, got string "x"',
    ],
    [`${RL_TOML}[log]\nlevel = "inf"\n`, 'got string "inf"; did you mean "info"?'],
    [
      `${RL_TOML}[orchestrator.algo]\nsingleton = 2\n`,
      'orchestrator.algo.singleton: expected 0 or "raw", got integer 2',
    ],
    [`${RL_TOML}[orchestrator.algo]\ntype = "grop"\n`, 'did you mean "grpo"?'],
  ])("says the expected type and the given value: %#", async (toml, text) => {
    const error = await failure(toml);
    expect(error.code).toBe("PRL_CONFIG_INVALID");
    expect(error.message).toContain(text);
  });

  test("a required key that is missing is named down to the key", async () => {
    const error = await failure(RL_TOML.replace(/\[model\]\nname.*\n/, ""));
    expect(error.message).toMatch(/^rl\.toml: model\.name: is required \(string: .*--model\.name/);
  });

  test("several problems come in one message, in the order of their checks", async () => {
    const error = await failure(`bogus = 1\n${RL_TOML.replace("./model", "./gone").replace("64", '"64"')}`);
    expect(error.message).toMatch(/^3 problems in the config:\n/);
    expect(error.message.split("\n")).toHaveLength(4);
  });
});

describe("keys that do not fit together", () => {
  const withLine = (section: string, line: string) => RL_TOML.replace(`[${section}]\n`, `[${section}]\n${line}\n`);
  test.each([
    [
      RL_TOML.replace("group_size = 8", "group_size = 7"),
      "rl.toml:8: orchestrator.batch_size: 64 is no multiple of orchestrator.group_size 7",
    ],
    [withLine("orchestrator", "max_inflight = 4"), "less than the group size 8"],
    [`max_async_level = 3\n${withLine("orchestrator", "max_off_policy_steps = 2")}`, "less than max_async_level 3"],
    [`max_async_level = 4\n${RL_TOML}`, "weight_broadcast.keep: 4 must be more than max_async_level 4"],
    [
      `${RL_TOML}[orchestrator.train.sampling]\ntemperature = 0\n`,
      "rl.toml:14: orchestrator.train.sampling.temperature: training samples need",
    ],
    [
      `${RL_TOML}[trainer.scheduler]\ntype = "linear"\nwarmup_steps = 31\n`,
      "rl.toml:13: trainer.scheduler: warmup_steps + decay_steps is 31",
    ],
    [`${RL_TOML}[trainer.scheduler]\ndecay_steps = 3\n`, 'decay_steps needs type = "linear", "cosine" or "wsd"'],
    [
      `${RL_TOML}[orchestrator.eval]\ninterval = 3\nsource = []\n`,
      "orchestrator.eval.source: an [orchestrator.eval] block needs at least one source",
    ],
    [
      `${RL_TOML}[[orchestrator.train.source]]\nenv.id = "reverse-text"\n`,
      "is already the name of orchestrator.train.source.0",
    ],
    [
      `${RL_TOML}[[orchestrator.train.source]]\nname = "agg"\nenv.id = "reverse-text"\n`,
      'orchestrator.train.source.1.name: "agg" is where the metrics have the numbers of all sources together',
    ],
    [`${RL_TOML}[[orchestrator.train.source]]\nenv = { }\n`, "give exactly one of id"],
    [RL_TOML.replace('id = "reverse-text"', 'id = "a", path = "./rl.toml"'), "give exactly one of id"],
  ])("are reported with both: %#", async (toml, text) => {
    const error = await failure(toml);
    expect(error.code).toBe("PRL_CONFIG_INVALID");
    expect(error.message).toContain(text);
  });
});

describe("a file", () => {
  test("that is malformed is named with line and column", async () => {
    const error = await failure("a = 1\nb = = 2\n");
    expect(error.code).toBe("PRL_CONFIG_SYNTAX");
    expect(error.message).toMatch(/^rl\.toml:2:5: /);
  });

  test("that is missing is named with the nearest one", async () => {
    const cwd = folderWith({ "rl.toml": RL_TOML });
    const options = { kind: "rl", env: {}, cwd } as const;
    const error = await prlErrorOf(loadConfig(["rll.toml"], [], options));
    expect(error.code).toBe("PRL_CONFIG_FILE");
    expect(error.message).toContain('rll.toml: no such config file; did you mean "rl.toml"');
    expect((await prlErrorOf(loadConfig(["model"], [], options))).message).toContain("is a folder");
  });
});

describe("environment variables", () => {
  test("with an unknown key are named, also in their lists", async () => {
    const error = await failure(RL_TOML, [], { PRL_TRAINER__OPTIM__LRR: "1" });
    expect(error.code).toBe("PRL_CONFIG_ENVIRONMENT");
    expect(error.message).toContain("environment variable PRL_TRAINER__OPTIM__LRR: trainer.optim.lrr: unknown key");
  });

  test("with a value of another type are named", async () => {
    const error = await failure(RL_TOML, [], { PRL__MAX_STEPS: "ten" });
    expect(error.message).toBe('environment variable PRL__MAX_STEPS: max_steps: expected integer, got "ten"');
  });

  test("without __ must be among the known ones", async () => {
    const error = await failure(RL_TOML, [], { PRL_CASHE_DIR: "x", PRL_DEBUG: "1", OTHER: "1" });
    expect(error.code).toBe("PRL_CONFIG_ENVIRONMENT");
    expect(error.message).toBe("environment variable PRL_CASHE_DIR is unknown: did you mean PRL_CACHE_DIR?");
  });

  test("of another kind of config are left alone", async () => {
    const cwd = folderWith({ "rl.toml": RL_TOML });
    const env = { PRL_DATA__BATCH_SIZE: "3", PRL_TRAINER__OPTIM__BETAS: "0.8 0.9" };
    const { config } = await loadConfig(["rl.toml"], [], { kind: "rl", env, cwd });
    expect(config.trainer.optim.betas).toEqual([0.8, 0.9]);
  });

  test("in a block that does not exist name the nearest key there is", async () => {
    const error = await failure(RL_TOML, [], { PRL_MODLE__NAME: "x" });
    expect(error.message).toContain('modle.name: unknown key; did you mean "model.name"?');
  });

  test("PRL_ISA must be an instruction set", async () => {
    const error = await failure(RL_TOML, [], { PRL_ISA: "avx9" });
    expect(error.code).toBe("PRL_CONFIG_ENVIRONMENT");
    expect(error.message).toContain('PRL_ISA: expected one of portable, avx2, avx512, avx512bf16, amx, got "avx9"');
  });
});
