import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { ifThere, isThere } from "../../ts/files/file-presence.ts";

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "prl-presence-"));
  await writeFile(join(dir, "file"), "text");
});
afterAll(() => rm(dir, { recursive: true, force: true }));

test("an existing file is read, a missing one is null", async () => {
  const path = join(dir, "file");
  expect(await ifThere(readFile(path, "utf8"), path)).toBe("text");
  expect(await isThere(path)).toBe(true);
  for (const missing of [join(dir, "none"), join(path, "below")]) {
    expect(await ifThere(readFile(missing, "utf8"), missing)).toBeNull();
    expect(await isThere(missing)).toBe(false);
  }
});

test("an unreadable file is an error with the path, never treated as missing", async () => {
  const error = expect.objectContaining({ code: "PRL_IO", message: expect.stringContaining(dir) as string });
  await expect(ifThere(readFile(dir, "utf8"), dir)).rejects.toEqual(error);
  const looped = join(dir, "x".repeat(300));
  await expect(ifThere(readdir(looped), looped)).rejects.toEqual(error);
});
