import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { loadConfig, type LoadOptions, tomlWithOrigins } from "../../../ts/config/index.ts";
import { folderWith, prlErrorOf, RL_TOML } from "./support.ts";

const rl = (cwd: string, env: Record<string, string> = {}): LoadOptions<"rl"> => ({ kind: "rl", env, cwd });

describe("precedence", () => {
  test("flags go over files, files over the environment, the environment over defaults", async () => {
    const cwd = folderWith({ "rl.toml": RL_TOML });
    const env = { PRL_ORCHESTRATOR__BATCH_SIZE: "16", PRL_ORCHESTRATOR__ENV_WORKERS: "3", PRL__SEED: "5" };
    const flags = ["--max-steps", "7", "--seed", "6"];
    const { config, provenance } = await loadConfig(["rl.toml"], flags, rl(cwd, env));
    expect(config.max_steps).toBe(7);
    expect(config.seed).toBe(6);
    expect(config.orchestrator.batch_size).toBe(64);
    expect(config.orchestrator.env_workers).toBe(3);
    expect(config.orchestrator.max_inflight).toBe(1024);
    expect(provenance.get("max_steps")).toEqual({ kind: "flag", flag: "--max-steps" });
    expect(provenance.get("orchestrator.batch_size")).toEqual({ kind: "file", file: "rl.toml", line: 8 });
    const variable = "PRL_ORCHESTRATOR__ENV_WORKERS";
    expect(provenance.get("orchestrator.env_workers")).toEqual({ kind: "environment", variable });
    expect(provenance.get("orchestrator.max_inflight")).toEqual({ kind: "default" });
    expect(provenance.get("trainer.max_steps")).toEqual({ kind: "flag", flag: "--max-steps" });
  });

  test("files merge left to right: tables deep, lists replaced", async () => {
    const second = `[orchestrator]
group_size = 4
[[orchestrator.train.source]]
name = "other"
env.id = "b"
`;
    const cwd = folderWith({ "a.toml": RL_TOML, "b.toml": second });
    const { config, provenance } = await loadConfig(["a.toml", "b.toml"], [], rl(cwd));
    expect(config.orchestrator.batch_size).toBe(64);
    expect(config.orchestrator.group_size).toBe(4);
    expect(config.orchestrator.train.source.map(({ name, env }) => [name, env.args])).toEqual([["other", {}]]);
    expect(provenance.get("orchestrator.train.source.0.env.id")).toEqual({ kind: "file", file: "b.toml", line: 5 });
  });

  test("a file can be merged at a section", async () => {
    const cwd = folderWith({ "rl.toml": RL_TOML, "fast.toml": "[optim]\nlr = 0.5\n" });
    const { config, provenance } = await loadConfig(["rl.toml", { file: "fast.toml", at: ["trainer"] }], [], rl(cwd));
    expect(config.trainer.optim.lr).toBe(0.5);
    expect(provenance.get("trainer.optim.lr")).toEqual({ kind: "file", file: "fast.toml", line: 2 });
  });

  test("overrides may be values by nested or dotted key", async () => {
    const cwd = folderWith({ "rl.toml": RL_TOML });
    const overrides = { seed: 3, trainer: { optim: { lr: 0.1 } }, "orchestrator.train.source.0.ratio": 2 };
    const { config } = await loadConfig(["rl.toml"], overrides, rl(cwd));
    expect([config.seed, config.trainer.optim.lr, config.trainer.optim.eps]).toEqual([3, 0.1, 1e-8]);
    expect(config.orchestrator.train.source[0]).toMatchObject({ ratio: 2, env: { id: "reverse-text" } });
  });

  test("JSON files are read too, null and all", async () => {
    const cwd = folderWith({
      "rl.toml": RL_TOML,
      "more.json": '{"max_steps": null, "trainer": {"optim": {"max_norm": null}}}',
    });
    const { config } = await loadConfig(["rl.toml", "more.json"], [], rl(cwd));
    expect([config.max_steps, config.trainer.optim.max_norm]).toEqual([null, null]);
  });

  test.each([
    ["more.json", '{"seed": 7}'],
    ["more.toml", "seed = 7\r\n[trainer]\r\nthreads = 1\r\n"],
  ])("%s may begin with a byte order mark, as editors on Windows write it", async (name, text) => {
    const cwd = folderWith({ "rl.toml": RL_TOML, [name]: `\uFEFF${text}` });
    expect((await loadConfig(["rl.toml", name], [], rl(cwd))).config.seed).toBe(7);
  });
});

test("environment variables set more than ten elements of a list", async () => {
  const ids = Array.from({ length: 12 }, (_, index) => `source-${index}`);
  const env = Object.fromEntries(ids.map((id, i) => [`PRL_ORCHESTRATOR__TRAIN__SOURCE__${i}__ENV__ID`, id]));
  const cwd = folderWith({ "rl.toml": 'max_steps = 1\nmodel.name = "./model"\n' });
  const { config } = await loadConfig(["rl.toml"], [], rl(cwd, env));
  expect(config.orchestrator.train.source.map((source) => source.env.id)).toEqual(ids);
});

test("environment variables set arguments of environments, whose names may have capitals", async () => {
  const source = "PRL_ORCHESTRATOR__TRAIN__SOURCE__0__ENV";
  const args = { [`${source}__ARGS__maxSteps`]: "3", [`${source}__ARGS__SHORTEST`]: "5" };
  const env = { ...args, [`${source}__ID`]: "made", PRL__max_steps: "9" };
  const cwd = folderWith({ "rl.toml": 'model.name = "./model"\n' });
  const { config } = await loadConfig(["rl.toml"], [], rl(cwd, env));
  expect(config.orchestrator.train.source[0]?.env.args).toEqual({ maxSteps: 3, shortest: 5 });
  expect(config.max_steps).toBe(9);
});

describe("resolution", () => {
  test("a resolved config loads to itself", async () => {
    const cwd = folderWith({ "rl.toml": RL_TOML });
    const flags = [
      "--orchestrator.eval.source",
      '[{"env": {"id": "x"}}]',
      "--orchestrator.eval.sampling.temperature",
      "0",
    ];
    const { config } = await loadConfig(["rl.toml"], flags, rl(cwd));
    const again = await loadConfig([], structuredClone(config), rl("/"));
    expect(again.config).toEqual(config);
  });

  test("shared keys fill the sections that have them", async () => {
    const cwd = folderWith({ "rl.toml": RL_TOML });
    const { config } = await loadConfig(["rl.toml"], [], rl(cwd));
    const { trainer, orchestrator, inference } = config;
    const name = join(cwd, "model");
    expect([trainer.model.name, orchestrator.model.name, inference.model.name]).toEqual([name, name, name]);
    expect([trainer.seq_len, orchestrator.seq_len, inference.max_model_len]).toEqual([64, 64, 64]);
    expect([trainer.max_steps, orchestrator.max_async_level, orchestrator.seed]).toEqual([30, 1, 0]);
  });

  test("a section's value of a shared key serves the whole when the top sets none", async () => {
    const cwd = folderWith({ "rl.toml": RL_TOML });
    const { config } = await loadConfig(["rl.toml"], ["--trainer.seed", "9"], rl(cwd));
    expect([config.seed, config.trainer.seed, config.orchestrator.seed]).toEqual([9, 9, 9]);
  });

  test("two different values of a shared key are an error that names both places; equal ones are allowed", async () => {
    const cwd = folderWith({
      "rl.toml": `${RL_TOML}[trainer]\nseq_len = 128\n`,
      "same.toml": "[trainer]\nseq_len = 64\n",
    });
    const error = await prlErrorOf(loadConfig(["rl.toml"], [], rl(cwd)));
    expect(error.code).toBe("PRL_CONFIG_CONFLICT");
    expect(error.message).toContain("seq_len = integer 64 (rl.toml:2)");
    expect(error.message).toContain("trainer.seq_len = integer 128 (rl.toml:14)");
    const { config } = await loadConfig(["rl.toml", "same.toml"], [], rl(cwd));
    expect(config.trainer.seq_len).toBe(64);
  });

  test("level 0 sets max_off_policy_steps to 0 and holds weights during evaluation", async () => {
    const cwd = folderWith({ "rl.toml": `${RL_TOML}[[orchestrator.eval.source]]\nenv.id = "x"\n` });
    const level = (n: string) => loadConfig(["rl.toml"], ["--max-async-level", n], rl(cwd));
    const [zero, one] = [(await level("0")).config.orchestrator, (await level("1")).config.orchestrator];
    expect([zero.max_off_policy_steps, zero.eval?.hold_weights]).toEqual([0, true]);
    expect([one.max_off_policy_steps, one.eval?.hold_weights]).toEqual([8, false]);
  });

  test("sources inherit what they do not set, and are named after their environment", async () => {
    const text = `[orchestrator.eval]
group_size = 4
sampling = { temperature = 0.5, top_p = 0.9 }
[[orchestrator.eval.source]]
env.path = "./my-env.ts#hard"
sampling = { temperature = 0 }
num_examples = 10
`;
    const cwd = folderWith({ "rl.toml": RL_TOML, "eval.toml": text, "my-env.ts": "" });
    const { config } = await loadConfig(["rl.toml", "eval.toml"], [], rl(cwd));
    expect(config.orchestrator.train.source[0]).toMatchObject({ name: "reverse-text", group_size: 8 });
    expect(config.orchestrator.eval?.source[0]).toMatchObject({
      name: "my-env",
      group_size: 4,
      num_examples: 10,
      sampling: { temperature: 0, top_p: 0.9, top_k: -1 },
      env: { path: `${join(cwd, "my-env.ts")}#hard` },
    });
  });

  test('"None" disables an optional block and empties an optional key', async () => {
    const text = `max_steps = "None"
warm_start = "None"
[orchestrator]
eval = "None"
`;
    const evaluated = `${RL_TOML}[[orchestrator.eval.source]]\nenv.id = "x"\n`;
    const cwd = folderWith({ "rl.toml": evaluated, "none.toml": text });
    const { config } = await loadConfig(["rl.toml", "none.toml"], [], rl(cwd));
    expect([config.max_steps, config.warm_start, config.orchestrator.eval]).toEqual([null, null, null]);
    const kept = await loadConfig(["rl.toml"], ["--orchestrator.train.source.0.env.args.word", "None"], rl(cwd));
    expect(kept.config.orchestrator.eval).not.toBeNull();
  });

  test('"None" empties arguments of an environment too, and is written for them', async () => {
    const args = '{ a = "None", some = [1, "None"], deep = { b = "None" }, text = "no" }';
    const cwd = folderWith({ "rl.toml": RL_TOML.replace("{ shortest = 4 }", args) });
    const flags = ["--orchestrator.train.source.0.env.args.c", "None"];
    const { config, provenance } = await loadConfig(["rl.toml"], flags, rl(cwd));
    const read = { a: null, some: [1, null], deep: { b: null }, text: "no", c: null };
    expect(config.orchestrator.train.source[0]?.env.args).toEqual(read);
    writeFileSync(join(cwd, "again.toml"), tomlWithOrigins(config, provenance));
    expect((await loadConfig(["again.toml"], [], rl(cwd))).config).toEqual(config);
  });
});

describe("paths", () => {
  test("are relative to the file that names them, output_dir to the current folder", async () => {
    const warm = `${RL_TOML}[warm_start]\nsft = "sft.toml"\n`.replace("seq_len = 64", 'output_dir = "runs"');
    const cwd = folderWith({ "sub/rl.toml": warm, "sub/sft.toml": "", "sub/model/config.json": "{}" });
    const { config } = await loadConfig(["sub/rl.toml"], [], rl(cwd));
    expect(config.model.name).toBe(join(cwd, "sub/model"));
    expect(config.warm_start).toEqual({ sft: join(cwd, "sub/sft.toml") });
    expect([config.output_dir, config.trainer.output_dir]).toEqual([join(cwd, "runs"), join(cwd, "runs")]);
  });

  test("on the command line are relative to the current folder", async () => {
    const cwd = folderWith({ "sub/rl.toml": RL_TOML, "sub/model/config.json": "{}" });
    const { config } = await loadConfig(["sub/rl.toml"], ["--model", "./model"], rl(cwd));
    expect(config.model.name).toBe(join(cwd, "model"));
    expect(config.output_dir).toBe(join(cwd, "outputs"));
  });

  test("a model name that does not look like a path is a name", async () => {
    const cwd = folderWith({ "rl.toml": RL_TOML });
    const { config } = await loadConfig(["rl.toml"], ["--model", "Qwen/Qwen3-0.6B"], rl(cwd));
    expect(config.model.name).toBe("Qwen/Qwen3-0.6B");
  });

  test("of folders that a run makes need not be there, and are no files", async () => {
    const text = (path: string) => `${RL_TOML}[ckpt]\npath = "${path}"\n`;
    const cwd = folderWith({
      "sub/rl.toml": text("kept"),
      "sub/bad.toml": text("rl.toml"),
      "sub/model/config.json": "{}",
    });
    const { config } = await loadConfig(["sub/rl.toml"], ["--monitors.tensorboard.path", "boards"], rl(cwd));
    expect([config.ckpt.path, config.monitors.tensorboard?.path]).toEqual([join(cwd, "sub/kept"), join(cwd, "boards")]);
    const error = await prlErrorOf(loadConfig(["sub/bad.toml"], [], rl(cwd)));
    expect(error.message).toContain(`ckpt.path: ${join(cwd, "sub/rl.toml")} is a file, not a folder`);
  });

  test("of data and of folders may have a number sign", async () => {
    const text = `max_steps = 1
model.name = "./model"
data.source = "./rows#1.jsonl"
ckpt.path = "./file#1"
`;
    const cwd = folderWith({ "sft.toml": text, "rows#1.jsonl": "", file: "" });
    const { config } = await loadConfig(["sft.toml"], [], { kind: "sft", env: {}, cwd });
    expect([config.data.source, config.ckpt.path]).toEqual([join(cwd, "rows#1.jsonl"), join(cwd, "file#1")]);
  });

  test("of files and model folders must be there", async () => {
    const text = `${RL_TOML}[warm_start]\nsft = "missing.toml"\n`.replace("./model", "./modle");
    const cwd = folderWith({ "rl.toml": text });
    const error = await prlErrorOf(loadConfig(["rl.toml"], [], rl(cwd)));
    expect(error.message).toContain(`rl.toml:5: model.name: no such folder: ${join(cwd, "modle")}`);
    expect(error.message).toContain(`rl.toml:14: warm_start.sft: no such file: ${join(cwd, "missing.toml")}`);
  });
});

describe("sft", () => {
  test("has its own keys and requires max_steps", async () => {
    const text = `[model]\nname = "./model"\n[data]\nbatch_size = 8\nenv = { id = "reverse-text", args = { answer_noise = 0.6 } }\n`;
    const cwd = folderWith({ "sft.toml": text });
    const options = { kind: "sft", env: {}, cwd } as const;
    const { config } = await loadConfig(["sft.toml"], ["--max-steps", "10"], options);
    expect(config).toMatchObject({ max_steps: 10, data: { batch_size: 8, env: { args: { answer_noise: 0.6 } } } });
    const error = await prlErrorOf(loadConfig(["sft.toml"], [], options));
    expect(error.message).toMatch(/sft\.toml: max_steps: is required \(integer: .*--max-steps/);
  });
});
