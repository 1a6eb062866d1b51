/** Servers that other machines could use without a key are refused before anything is started. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

import { prl } from "./run.ts";

const EXAMPLE = resolve(import.meta.dirname, "../../../configs/reverse-text/rl.toml");

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "prl-open-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

test("prl inference --host beyond this machine ends by name without a key", async () => {
  const ran = await prl(["inference", ".", "--host", "0.0.0.0"], dir);
  expect(ran.code).toBe(2);
  expect(ran.stderr).toMatch(/--host: from 0\.0\.0\.0 other machines could sample.*--api-key-env/u);
  // The key of control routes is no key for those who sample.
  const control = await prl(["inference", ".", "--host", "0.0.0.0"], dir, { PRL_TRANSPORT_TOKEN: "secret" });
  expect(control.stderr).toContain("--api-key-env");
  const unset = await prl(["inference", ".", "--host", "0.0.0.0", "--api-key-env", "NO_KEY"], dir);
  expect([unset.code, unset.stderr]).toEqual([2, expect.stringContaining("--api-key-env: NO_KEY is not set")]);
  for (const [args, env] of [
    [["--api-key-env", "MY_KEY"], { MY_KEY: "secret" }],
    [[], { VLLM_API_KEY: "secret" }],
  ] as const) {
    const keyed = await prl(["inference", ".", "--host", "0.0.0.0", ...args], dir, env);
    expect(keyed.stderr).not.toMatch(/--host|--api-key/u);
  }
});

test("prl inference takes its model behind its options too, and says when none is named", async () => {
  const behind = await prl(["inference", "--host", "0.0.0.0", "."], dir);
  expect([behind.code, behind.stderr]).toEqual([2, expect.stringContaining("--host: from 0.0.0.0 other machines")]);
  const none = await prl(["inference", "--port", "0"], dir);
  expect([none.code, none.stderr]).toEqual([2, expect.stringMatching(/no model is named: .*--run-dir/u)]);
  const two = await prl(["inference", "a", "b"], dir);
  expect([two.code, two.stderr]).toEqual([2, expect.stringContaining('takes no "b"')]);
});

test("prl rl names file, line and key of a host that is no address of this machine", async () => {
  const file = join(dir, "open.toml");
  await writeFile(file, '[inference.server]\nhost = "nowhere.invalid"\n');
  const ran = await prl(["rl", EXAMPLE, file, "--dry-run", "--run.name", "open"], dir);
  expect(ran.code).toBe(2);
  expect(ran.stderr).toMatch(/open\.toml:2: inference\.server\.host: nowhere\.invalid is no address/u);
});
