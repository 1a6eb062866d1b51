import { mkdir, mkdtemp, readdir, readlink, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import {
  madeUpRunName,
  openRunDirectory,
  prepareRunDirectory,
  type RunPlace,
} from "../../../../ts/launcher/run/run-directory.ts";

let outputDir: string;
beforeEach(async () => {
  outputDir = await mkdtemp(join(tmpdir(), "prl-runs-"));
});
afterEach(async () => {
  await rm(outputDir, { recursive: true, force: true });
});

function place(values: Partial<RunPlace> = {}): RunPlace {
  return {
    name: "run",
    outputDir,
    environments: ["reverse-text"],
    model: "/models/Qwen3-Tiny",
    clean: false,
    ...values,
  };
}

describe("the made-up run name", () => {
  it("is <envs>--<model>--<8 hex> in lower case", () => {
    expect(madeUpRunName(["Reverse-Text"], "/a/b/Qwen3-0.6B")).toMatch(/^reverse-text--qwen3-0\.6b--[0-9a-f]{8}$/);
  });
  it("names each environment once, in characters that a file name may have", () => {
    const name = madeUpRunName(["math", "@owner/Code Golf", "math"], "models/../Ünï", "00000000");
    expect(name).toMatch(/^[a-z0-9][a-z0-9._-]*$/);
    expect(name.startsWith("math-owner-code-golf--")).toBe(true);
  });
  it("of many environments fits a file name, and differs from that of others", async () => {
    const names = Array.from({ length: 40 }, (_, i) => `environment-${i}`);
    const { name } = await prepareRunDirectory(place({ name: null, environments: names }));
    expect(name).toMatch(/^environment-0-environment-1-.{8,}-[0-9a-f]{8}--[0-9a-f]{8}$/);
    const prefix = (last: string) => madeUpRunName([...names, last], "m", "");
    expect(prefix("a")).toBe(prefix("a"));
    expect(prefix("a")).not.toBe(prefix("b"));
  });
  it("differs from run to run", () => {
    expect(madeUpRunName(["a"], "m")).not.toBe(madeUpRunName(["a"], "m"));
  });
});

describe("prepareRunDirectory", () => {
  it("makes the directory with configs/ and names it", async () => {
    const { name, path } = await prepareRunDirectory(place({ name: null }));
    expect(path).toBe(join(outputDir, name));
    expect(name).toMatch(/^reverse-text--qwen3-tiny--[0-9a-f]{8}$/);
    expect(await readdir(path)).toEqual(["configs"]);
  });

  it("takes a directory that holds no more than configs/, as --dry-run leaves it", async () => {
    const { path } = await prepareRunDirectory(place());
    await writeFile(join(path, "configs", "rl.json"), "{}");
    await expect(prepareRunDirectory(place())).resolves.toMatchObject({ path });
  });

  it("refuses one that holds anything else, says what, and leaves it alone", async () => {
    await mkdir(join(outputDir, "run", "weights"), { recursive: true });
    await writeFile(join(outputDir, "run", "metrics.jsonl"), "{}\n");
    const refused = prepareRunDirectory(place());
    await expect(refused).rejects.toMatchObject({ code: "PRL_RUN_EXISTS" });
    await expect(refused).rejects.toThrow(/metrics\.jsonl, weights.*--clean/s);
    expect(await readdir(join(outputDir, "run"))).toEqual(["metrics.jsonl", "weights"]);
  });

  it("empties it with clean", async () => {
    await mkdir(join(outputDir, "run", "weights"), { recursive: true });
    const { path } = await prepareRunDirectory(place({ clean: true }));
    expect(await readdir(path)).toEqual(["configs"]);
  });

  it.each(["..", ".", "../other", "/tmp"])("never deletes outside output_dir: %s", async (name) => {
    const inner = join(outputDir, "inner");
    await mkdir(join(inner, "kept"), { recursive: true });
    await mkdir(join(outputDir, "other"), { recursive: true });
    await expect(prepareRunDirectory(place({ name, outputDir: inner, clean: true }))).rejects.toMatchObject({
      code: "PRL_RUN_EXISTS",
    });
    expect(await readdir(outputDir)).toEqual(["inner", "other"]);
    expect(await readdir(inner)).toEqual(["kept"]);
  });

  it("reports a file in the way", async () => {
    await writeFile(join(outputDir, "run"), "");
    await expect(prepareRunDirectory(place())).rejects.toMatchObject({ code: "PRL_RUN_EXISTS" });
  });
});

describe("openRunDirectory", () => {
  it("makes logs/attempt_1 with logs/latest pointing at it, and run/", async () => {
    const directory = await prepareRunDirectory(place());
    const { path } = directory;
    const { logs } = await openRunDirectory(directory);
    expect(logs).toBe(join(path, "logs", "attempt_1"));
    expect(await readlink(join(path, "logs", "latest"))).toBe("attempt_1");
    expect((await stat(join(path, "run"))).isDirectory()).toBe(true);
  });
});
