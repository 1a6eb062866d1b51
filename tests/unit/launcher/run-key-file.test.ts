/** The file with the key of a run on several machines. */
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

import { writeRunKey } from "../../../ts/launcher/clusters/run-key-file.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "prl-key-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test("is the user's alone, and stays; what a full disk has left of one is no key", async () => {
  const path = join(folder, "key");
  // A disk that is full takes a file's name and nothing in it.
  await writeFile(path, "");
  await writeRunKey(path);
  const key = await readFile(path, "utf8");
  expect(key).toMatch(/^[0-9a-f]{64}$/u);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  await writeRunKey(path);
  expect(await readFile(path, "utf8")).toBe(key);
  expect(await readdir(folder)).toEqual(["key"]);
});
