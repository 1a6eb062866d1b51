/** The scripts of configs/from-node, as a user runs them. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readJson, ROOT, workspace } from "../support/prl.ts";

let place: Awaited<ReturnType<typeof workspace>>;
beforeEach(async () => {
  place = await workspace();
});
afterEach(() => place.remove());

async function run(script: string, ...args: string[]): Promise<string[]> {
  const env = { ...process.env, PRL_CACHE_DIR: place.cache };
  const path = join(ROOT, "configs/from-node", script);
  const { stdout } = await promisify(execFile)(process.execPath, [path, ...args], { cwd: place.dir, env });
  return stdout.trim().split("\n");
}

test("a custom loop learns, on tokens that sampler and trainer agree upon", async () => {
  const lines = await run("custom-loop.mjs", "10");
  expect(lines).toHaveLength(10);
  const rewards = lines.map((line) => Number(/reward ([\d.]+)/.exec(line)?.[1]));
  expect(Math.min(...rewards.slice(-2))).toBeGreaterThan(Math.max(...rewards.slice(0, 2)));
  expect(lines.every((line) => line.endsWith("sampler against trainer 0"))).toBe(true);
});

test("a script watches a run's steps and ends it", async () => {
  const lines = await run("train.mjs", "0", join(ROOT, "tests/e2e/configs/sync.toml"));
  expect(lines[0]).toBe("4 steps of 32 rollouts at the most");
  expect(lines[1]).toMatch(/^step 1: reward [\d.]+, staleness 0, trainer waited [\d.]+ s$/);
  const [, steps, runDir = ""] =
    /^interrupted after (\d) steps, best reward [\d.]+: (.*)$/.exec(lines.at(-1) ?? "") ?? [];
  expect(Number(steps)).toBeLessThan(4);
  expect(await readJson(join(runDir, "summary.json"))).toMatchObject({
    status: "interrupted",
    error: { message: expect.stringContaining("the script: the target is reached") },
  });
});
