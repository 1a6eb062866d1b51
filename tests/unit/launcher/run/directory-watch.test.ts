import { mkdir, mkdtemp, realpath, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

import { DirectoryWatch } from "../../../../ts/launcher/run/directory-watch.ts";

let root: string;
let path: string;
let watch: DirectoryWatch;
beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "prl-watch-")));
  path = join(root, "run");
  await mkdir(path);
  watch = await DirectoryWatch.open(path);
});
afterEach(async () => {
  await watch.close();
  await rm(root, { recursive: true, force: true });
});

const gone = (text: string) =>
  expect.objectContaining({ code: "PRL_RUN_GONE", message: expect.stringContaining(text) });

test("a directory in its place is fine", async () => {
  await watch.check();
  expect(await watch.place()).toBe(path);
});

test("one that was removed is reported, also when another one is at its path", async () => {
  await rm(path, { recursive: true });
  await expect(watch.check()).rejects.toEqual(gone("was removed"));
  await mkdir(path);
  await expect(watch.check()).rejects.toEqual(gone("was removed"));
  expect(await watch.place()).toBeNull();
});

test("one that was moved is reported with its new place", async () => {
  const moved = join(root, "elsewhere");
  await rename(path, moved);
  await expect(watch.check()).rejects.toEqual(gone(`was moved to ${moved}`));
  expect(await watch.place()).toBe(moved);
});
