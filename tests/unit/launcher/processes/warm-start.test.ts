import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import type { BaseModel } from "../../../../ts/launcher/models/base-model.ts";
import { warmStartKey } from "../../../../ts/launcher/processes/warm-start.ts";
import { loadConfig, type SftConfig } from "../../../../ts/config/index.ts";

const BASE: BaseModel = { dir: "/cache/models/a", key: "base", weights: "", origin: "built", damage: null };
let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "prl-warm-"));
  await mkdir(join(dir, "model"));
  await writeFile(
    join(dir, "sft.toml"),
    `max_steps = 10\n[model]\nname = "./model"\n[data]\nenv = { id = "reverse-text", args = {} }\n`,
  );
});
afterEach(async () => {
  await rm(dir, { recursive: true, force: true });
});

async function sft(overrides: Record<string, unknown> = {}): Promise<SftConfig> {
  return (await loadConfig([join(dir, "sft.toml")], overrides, { kind: "sft", env: {} })).config;
}

describe("the key of a warm start", () => {
  it("leaves out paths, threads and log level", async () => {
    const key = await warmStartKey(await sft(), BASE);
    const elsewhere = { output_dir: "/other", threads: 7, clean: true, "run.name": "named", "log.level": "debug" };
    expect(await warmStartKey(await sft(elsewhere), { ...BASE, dir: "/elsewhere" })).toBe(key);
  });

  it.each([
    ["seed", { seed: 1 }],
    ["max_steps", { max_steps: 11 }],
    ["learning rate", { "optim.lr": 0.5 }],
    ["batch size", { "data.batch_size": 3 }],
    ["the environment's arguments", { "data.env": { id: "reverse-text", args: { min_len: 3 } } }],
  ])("changes with %s", async (_, overrides) => {
    expect(await warmStartKey(await sft(overrides), BASE)).not.toBe(await warmStartKey(await sft(), BASE));
  });

  it("changes with the base model", async () => {
    const config = await sft();
    expect(await warmStartKey(config, { ...BASE, key: "another" })).not.toBe(await warmStartKey(config, BASE));
  });

  const source = (version: string) => `import { defineEnvironment, reward, singleTurn, z } from "prl-lm/environments";
    // ${version}
    export default defineEnvironment({
      name: "own", version: "1", config: z.object({}), tasks: () => [{ prompt: "a" }],
      rollout: singleTurn(), rewards: { one: reward(1, () => 1) },
      demonstrations: () => [{ prompt: "a", completion: "b" }],
    });`;

  it("changes with the code of a custom environment, not with its place", async () => {
    const keys: string[] = [];
    for (const [name, version] of [
      ["a", "1"],
      ["b", "1"],
      ["c", "2"],
    ] as const) {
      await mkdir(join(dir, name));
      const path = join(dir, name, "own.ts");
      await writeFile(path, source(version));
      keys.push(await warmStartKey(await sft({ "data.env": { id: null, path, args: {} } }), BASE));
    }
    expect(keys[0]).toBe(keys[1]);
    expect(keys[2]).not.toBe(keys[0]);
  });

  it("changes with any file of an environment's package that is named by its folder", async () => {
    const folder = join(dir, "package");
    await mkdir(folder);
    const manifest = { name: "own", version: "1.0.0", prl: { environment: "./own.ts" } };
    await writeFile(join(folder, "package.json"), JSON.stringify(manifest));
    await writeFile(join(folder, "own.ts"), source("1"));
    const key = async () => warmStartKey(await sft({ "data.env": { id: null, path: folder, args: {} } }), BASE);
    await writeFile(join(folder, "words.txt"), "a");
    const first = await key();
    await writeFile(join(folder, "words.txt"), "b");
    expect(await key()).not.toBe(first);
  });
});
