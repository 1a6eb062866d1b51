/** A new environment package builds, tests and trains as it is, and can be installed. */
import { execFile } from "node:child_process";
import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";

import { prl, readJson, ROOT, workspace } from "../../support/prl.ts";

let place: Awaited<ReturnType<typeof workspace>>;
let dir: string;
beforeAll(async () => {
  place = await workspace();
  const made = await prl(["env", "init", "owner/loud"], { cwd: place.dir, cache: place.cache });
  expect([made.code, made.stderr]).toEqual([0, ""]);
  dir = join(place.dir, "loud");
  // What `npm install` does, without a network.
  const modules = join(dir, "node_modules");
  await mkdir(join(modules, ".bin"), { recursive: true });
  await mkdir(join(modules, "@types"));
  await symlink(ROOT, join(modules, "prl"));
  for (const name of ["typescript", "@types/node"])
    await symlink(join(ROOT, "node_modules", name), join(modules, name));
  await symlink("../typescript/bin/tsc", join(modules, ".bin/tsc"));
  await promisify(execFile)("npm", ["test"], { cwd: dir, timeout: 100_000 });
}, 120_000);
afterAll(() => place.remove());

const here = (...args: string[]) => prl(args, { cwd: dir, cache: place.cache });

test("it builds, passes its own test (above) and is valid", async () => {
  const { code, stdout } = await here("env", "validate", ".", "--tasks", "20", "--json");
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    name: "loud",
    valid: true,
    notes: [],
    origin: { kind: "package", name: "@owner/loud", version: "0.1.0" },
  });
});

test("in its own folder its id names it, as the package that it will be", async () => {
  const { code, stdout } = await here("env", "info", "owner/loud");
  expect([code, stdout]).toEqual([0, expect.stringContaining("letters = 6 (integer)  letters per word")]);
});

test("its config is one, and one step of it trains", async () => {
  const dry = await here("rl", "rl.toml", "--dry-run", "--run.name", "dry");
  expect(dry.code).toBe(0);
  const small = ["--max-steps", "1", "--warm-start", "None", "--orchestrator.batch-size", "16"];
  const ran = await here("rl", "rl.toml", ...small, "--orchestrator.eval", "None", "--run.name", "short");
  expect(ran.code).toBe(0);
  expect(await readJson(join(dir, "outputs/short/summary.json"))).toMatchObject({ status: "completed", steps: 1 });
});

test("the eval config is one too", async () => {
  const ran = await here("eval", "eval.toml", "--base-url", "http://127.0.0.1:9/v1", "--max-retries", "0", "-n", "1");
  expect(ran.stderr).toContain("PRL_INFERENCE_UNREACHABLE");
  expect(ran.code).toBe(1);
});

test("a folder that is not empty, and what is no name, are refused", async () => {
  const again = await prl(["env", "init", "loud"], { cwd: place.dir, cache: place.cache });
  expect([again.code, again.stderr]).toEqual([2, expect.stringContaining("is not empty")]);
  for (const name of ["Loud", "../loud", "a/b/c", "loud@1.0.0", "-x"]) {
    const refused = await prl(["env", "init", "--", name], { cwd: place.dir, cache: place.cache });
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("is no name")]);
  }
});
