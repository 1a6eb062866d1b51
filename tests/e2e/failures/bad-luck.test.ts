/** What a run makes of damaged files, impatient users and readers that go away. */
import { cp, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { prl, readJson, type Running, start, workspace } from "../../support/prl.ts";

const SYNC = join(import.meta.dirname, "../configs/sync.toml");

let place: Awaited<ReturnType<typeof workspace>>;
beforeEach(async () => {
  place = await workspace("empty");
});
afterEach(() => place.remove());
const options = () => ({ cwd: place.dir, cache: place.cache });
const runDir = (name: string) => join(place.dir, "outputs", name);

/** Resolves when the process has written `text` to stdout. */
function printed({ child }: Running, text: string): Promise<void> {
  return new Promise((resolve) => {
    let seen = "";
    child.stdout?.on("data", (chunk) => {
      seen += String(chunk);
      if (seen.includes(text)) resolve();
    });
  });
}

test("a warm start that was damaged in the cache is trained again, and said to be", async () => {
  const args = (name: string) => ["rl", SYNC, "--max-steps", "1", "--orchestrator.eval", "None", "--run.name", name];
  expect((await prl(args("first"), options())).code).toBe(0);
  const warmStarts = join(place.cache, "warm-starts");
  const [entry = ""] = await readdir(warmStarts);
  await writeFile(join(warmStarts, entry, "model.safetensors"), "torn");
  const again = await prl(args("second"), options());
  expect(again.stdout).toContain("the warm start in the cache was damaged (model.safetensors has changed)");
  expect(again.code).toBe(0);
  const digest = async (name: string) =>
    (await readJson<{ digest: string }>(join(runDir(name), "weights/step_1/manifest.json"))).digest;
  expect(await digest("second")).toBe(await digest("first"));
});

test("Ctrl-C that arrives twice, as under npx, still ends in a summary", async () => {
  // Long enough that it is still under way when the signals come.
  const steps = (await readFile(join(import.meta.dirname, "../configs/sft.toml"), "utf8"))
    .replace(/^max_steps = .*$/m, "max_steps = 5000")
    .replace("../../../configs", join(import.meta.dirname, "../../../configs"));
  const sft = join(place.dir, "sft.toml");
  await writeFile(sft, steps);
  const run = start(["rl", SYNC, "--warm-start.sft", sft, "--run.name", "twice"], options());
  await printed(run, "SFT step 1/");
  run.child.kill("SIGINT");
  await sleep(10);
  run.child.kill("SIGINT");
  expect((await run.finished).code).toBe(130);
  expect(await readJson(join(runDir("twice"), "summary.json"))).toMatchObject({ status: "interrupted" });
  expect(await readdir(join(place.cache, "warm-starts"))).toEqual([]);
});

describe("a model that cannot be run", () => {
  const MODEL = join(import.meta.dirname, "../../../configs/reverse-text/model");

  test.each<[string, Record<string, string>, string]>([
    ["has no config.json", {}, "has no config.json"],
    ["has a torn config.json", { "config.json": "{" }, "config.json is not valid JSON"],
    ["has no tokenizer", { "config.json": '{"model_type": "qwen3", "vocab_size": 260}' }, "tokenizer.json"],
    ["has torn weights", { "model.safetensors": "torn" }, "model.safetensors is no valid safetensors file"],
  ])("is refused before there is a run directory when it %s", async (_, files, text) => {
    const model = join(place.dir, "model");
    await mkdir(model);
    if ("model.safetensors" in files) {
      for (const name of await readdir(MODEL)) await cp(join(MODEL, name), join(model, name));
    }
    for (const [name, content] of Object.entries(files)) await writeFile(join(model, name), content);
    const run = await prl(["rl", SYNC, "--model.name", "./model", "--run.name", "refused", "--json"], options());
    expect(run.code).toBe(2);
    expect(run.stderr).toContain("command line, --model.name: model.name: ");
    expect(run.stderr).toContain(text);
    expect(JSON.parse(run.stdout)).toMatchObject({ error: { message: expect.stringContaining(text) } });
    await expect(readdir(runDir("refused"))).rejects.toThrow("ENOENT");
  });
});
