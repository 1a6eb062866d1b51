/**
 * Damaged configs of processes, generated from what the launcher writes: each key is left out, has a value of another type, has an unknown neighbour.
 * Each ends with an error of the config that names file and key.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { describe, expect, test } from "vitest";

import { isTable, type KeyPath, type Table, valueAt } from "../../../ts/config/keys/key-path.ts";
import { isFreeForm, nodeOf, schemaAt } from "../../../ts/config/keys/schema-walk.ts";
import { loadConfig, readChildConfig } from "../../../ts/config/index.ts";
import { childSchemas } from "../../../ts/config/schema/process-configs.ts";
import { envWorkerConfigSchema, readEnvWorkerConfig } from "../../../ts/environments/worker/config.ts";
import { inferenceConfigSchema, readInferenceProcessConfig } from "../../../ts/inference/process-config.ts";
import { rlChildConfigs } from "../../../ts/launcher/processes/child-configs.ts";
import { folderWith, prlErrorOf } from "./support.ts";

/** Every block that may be absent is there. */
const RL = `max_steps = 3
model.name = "./model"
warm_start.sft = "sft.toml"
monitors = { prometheus = { port = 9400 }, tensorboard = {} }
trainer.data.fake = { batch_size = 2 }
sandbox = { warm = { python = 2 }, max_running = 3, max_held = 4, images = { a = "/a" } }
[orchestrator]
filters = [{ type = "zero_advantage" }]
[orchestrator.algo]
length_penalty = {}
overlong = { max_tokens = 8, cache_tokens = 4 }
[[orchestrator.train.source]]
env.id = "reverse-text"
curriculum.gates.advantage_range = {}
[[orchestrator.eval.source]]
env.id = "reverse-text"
`;
const SFT = `max_steps = 3
model.name = "./model"
data.source = "rows.jsonl"
val.share = 0.5
[[eval.source]]
env.id = "reverse-text"
`;
const LONGEST_MESSAGE = 16_384;

interface Process {
  readonly schema: z.ZodType;
  readonly read: (path: string) => Promise<unknown>;
  /** Whether keys may be left out. */
  readonly hasDefaults: boolean;
}

const PROCESSES: Readonly<Record<string, Process>> = {
  ...Object.fromEntries(
    (["trainer", "orchestrator", "sft", "sandboxd"] as const).map((component) => [
      component,
      {
        schema: childSchemas[component],
        read: (path: string) => readChildConfig(component, path),
        hasDefaults: false,
      },
    ]),
  ),
  inference: { schema: inferenceConfigSchema, read: readInferenceProcessConfig, hasDefaults: true },
  "env-worker": { schema: envWorkerConfigSchema, read: readEnvWorkerConfig, hasDefaults: true },
};
const NAMES = Object.keys(PROCESSES);

/** What the launcher writes for the process, in a new folder. */
async function written(name: string): Promise<{ process: Process; config: Table; path: string }> {
  const folder = folderWith({ "rl.toml": RL, "sft.toml": SFT, "rows.jsonl": "{}" });
  const { config: rl } = await loadConfig(["rl.toml"], [], { kind: "rl", env: {}, cwd: folder });
  const { config: sft } = await loadConfig(["sft.toml"], [], { kind: "sft", env: {}, cwd: folder });
  const start = { runId: "r", modelDir: "/m", baseWeights: "0", referenceDir: "/f", checkpoints: "/c" };
  const configs: Record<string, unknown> = {
    ...rlChildConfigs(rl, { ...start, resume: { step: 2, dir: "/d" } }, "/s"),
    sft: {
      run_id: "r",
      model_dir: "/m",
      base_dir: "/b",
      out_dir: "/o",
      start_step: 0,
      checkpoints: "/c",
      is_evaluated: true,
      config: sft,
    },
  };
  const process = PROCESSES[name];
  if (process === undefined) throw new Error(`there is no process ${name}`);
  return { process, config: JSON.parse(JSON.stringify(configs[name])) as Table, path: join(folder, `${name}.json`) };
}

/** Every key, tables before their keys; of a list the first element. */
function* keysOf(value: unknown, schema: z.ZodType, at: KeyPath = []): Generator<KeyPath> {
  if (at.length > 0) yield at;
  const found = schemaAt(schema, at);
  if (found === undefined || isFreeForm(found)) return;
  if (Array.isArray(value) && value.length > 0) yield* keysOf(value[0], schema, [...at, 0]);
  else if (isTable(value)) for (const [key, child] of Object.entries(value)) yield* keysOf(child, schema, [...at, key]);
}

/** Values of other types. */
function wrongValues(value: unknown): unknown[] {
  if (typeof value === "number") return ["many", true, [1], { x: 1 }];
  if (typeof value === "boolean") return ["yes", 1, [], { x: 1 }];
  if (typeof value === "string") return [7, true, [], { x: 1 }];
  if (Array.isArray(value)) return [3, "x", { x: 1 }];
  if (isTable(value)) return [3, "x", [1]];
  return [{ no_such_key: [] }];
}

/** A copy in which the value at the key is another; undefined: it is left out. */
function changed(config: Table, key: KeyPath, value: unknown): Table {
  const copy = structuredClone(config);
  const parent = valueAt(copy, key.slice(0, -1)) as Table;
  const last = String(key.at(-1));
  if (value === undefined) delete parent[last];
  else parent[last] = value;
  return copy;
}

/** Blocks of which one key has to be given: a message names the block when none is. */
const CHOICES: Readonly<Record<string, readonly string[]>> = { env: ["id"], data: ["source"], val: ["share"] };

function namesOf(key: KeyPath): string[] {
  const [parent, last] = [key.slice(0, -1), key.at(-1)];
  const isChoice = CHOICES[String(parent.at(-1))]?.includes(String(last)) ?? false;
  return isChoice ? [key.join("."), parent.join(".")] : [key.join(".")];
}

describe.each(NAMES)("the config of %s", (name) => {
  test("is read back as the launcher writes it", async () => {
    const { process, config, path } = await written(name);
    writeFileSync(path, JSON.stringify(config));
    expect(await process.read(path)).toEqual(config);
  });

  test("is refused by file and key when a key is damaged", async () => {
    const { process, config, path } = await written(name);
    const wrong: string[] = [];
    const keys = [...keysOf(config, process.schema)];
    for (const key of keys) {
      const schema = schemaAt(process.schema, key);
      const isOptional = schema !== undefined && nodeOf(schema).optional;
      const mayBeAbsent = (process.hasDefaults || name === "sandboxd") && isOptional;
      const isElement = typeof key.at(-1) === "number";
      const damages: unknown[] = wrongValues(valueAt(config, key));
      if (!mayBeAbsent && !isElement) damages.push(undefined);
      for (const value of damages) {
        writeFileSync(path, JSON.stringify(changed(config, key, value)));
        const { code, message } = await prlErrorOf(process.read(path));
        const isNamed = namesOf(key).some((one) => message.includes(`${path}: ${one}`));
        if (code === "PRL_CONFIG_INVALID" && isNamed && message.length < LONGEST_MESSAGE) continue;
        wrong.push(`${key.join(".")} = ${JSON.stringify(value)}: ${code} ${message.slice(0, 300)}`);
      }
    }
    expect(wrong).toEqual([]);
    expect(keys.length).toBeGreaterThan(name === "sandboxd" ? 5 : 10);
  });

  test("is refused by file and key when a table has an unknown key", async () => {
    const { process, config, path } = await written(name);
    for (const key of [[], ...keysOf(config, process.schema)]) {
      const table = valueAt(config, key);
      const schema = schemaAt(process.schema, key);
      if (!isTable(table) || schema === undefined || isFreeForm(schema)) continue;
      writeFileSync(path, JSON.stringify(changed(config, [...key, "no_such_key"], 1)));
      const { code, message } = await prlErrorOf(process.read(path));
      expect([code, message]).toEqual([
        "PRL_CONFIG_INVALID",
        expect.stringContaining(`${path}: ${[...key, "no_such_key"].join(".")}: unknown key`),
      ]);
    }
  });

  test.each<[string, string]>([
    ["empty", ""],
    ["no JSON", "model_dir = 1"],
    ["a number", "3"],
    ["a list", "[]"],
    ["null", "null"],
    ["an empty table", "{}"],
    ["lists in lists", `${"[".repeat(50_000)}${"]".repeat(50_000)}`],
    ["10,000 unknown keys", `{${Array.from({ length: 10_000 }, (_, i) => `"unknown_${i}": ${i}`).join(",")}}`],
    ["a key of 100,000 letters", `{"${"k".repeat(100_000)}": 1}`],
    ["a text of 100,000 letters", `{"model_dir": "${"k".repeat(100_000)}", "daemon": 1, "config": 1}`],
  ])("that is %s is refused by file, in few words", async (_, text) => {
    const { process, path } = await written(name);
    writeFileSync(path, text);
    const { code, message } = await prlErrorOf(process.read(path));
    expect(["PRL_CONFIG_INVALID", "PRL_CONFIG_FILE"]).toContain(code);
    expect(message).toContain(path);
    expect(message.length).toBeLessThan(LONGEST_MESSAGE);
  });
});

test("a config from which the launcher's own part was lost says which keys a process needs", async () => {
  const { process, config, path } = await written("trainer");
  writeFileSync(
    path,
    JSON.stringify({ ...config, run_id: undefined, trainer: { ...(config["trainer"] as Table), seed: undefined } }),
  );
  const { message } = await prlErrorOf(process.read(path));
  expect(message).toContain("run_id: is required (string: Name of the run); set it in the file");
});
