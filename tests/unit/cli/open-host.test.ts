/** Servers that other machines could control without a key are refused before anything is started. */
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
  expect(ran.stderr).toMatch(/--host: from 0\.0\.0\.0 other machines could .*PRL_TRANSPORT_TOKEN/u);
  const keyed = await prl(["inference", ".", "--host", "0.0.0.0"], dir, { PRL_TRANSPORT_TOKEN: "secret" });
  expect(keyed.stderr).not.toContain("--host");
});

test("prl rl names file, line and key of such a host", async () => {
  const file = join(dir, "open.toml");
  await writeFile(file, '[inference.server]\nhost = "0.0.0.0"\n');
  const ran = await prl(["rl", EXAMPLE, file, "--dry-run", "--run.name", "open"], dir);
  expect(ran.code).toBe(2);
  expect(ran.stderr).toMatch(/open\.toml:2: inference\.server\.host: from 0\.0\.0\.0 .*PRL_TRANSPORT_TOKEN/u);
});
