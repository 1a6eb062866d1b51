/** The file with the key of a run on several machines. */
import { writeFileSync } from "node:fs";
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

test("is that of the process which was faster, where two make it at once", async () => {
  const path = join(folder, "key");
  await writeRunKey(path, (key) => {
    // This process has seen that there is none.
    writeFileSync(path, "of the other");
    return key;
  });
  expect(await readFile(path, "utf8")).toBe("of the other");
  await rm(path);
  await writeRunKey(path);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(await readdir(folder)).toEqual(["key"]);
});
