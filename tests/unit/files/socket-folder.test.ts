/** Folders for sockets: short enough for one, and named where they cannot be made. */
import { mkdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";

import { makeSocketFolder } from "../../../ts/files/socket-folder.ts";
import { folderWith, prlErrorOf } from "../config/support.ts";

/** The parent of the folder that is made with this TMPDIR. */
async function parentWith(temporary: string): Promise<string> {
  vi.stubEnv("TMPDIR", temporary);
  onTestFinished(() => void vi.unstubAllEnvs());
  const made = await makeSocketFolder("prl-test-", "a.sock");
  onTestFinished(() => rmSync(made, { recursive: true }));
  return dirname(made);
}

test("are in TMPDIR where a socket's path fits, to the last byte, and in /tmp otherwise", async () => {
  const own = "/prl-test-XXXXXX/a.sock".length;
  const folder = folderWith({});
  const fits = join(folder, "t".repeat(103 - own - folder.length - 1));
  // Two bytes each.
  const isLonger = join(folder, "é".repeat((103 - own - folder.length - 1) / 2 + 1));
  for (const made of [fits, isLonger]) mkdirSync(made);
  expect(await parentWith(fits)).toBe(fits);
  expect(await parentWith(isLonger)).toBe("/tmp");
});

test("say where they cannot be made", async () => {
  const missing = join(folderWith({}), "none");
  vi.stubEnv("TMPDIR", missing);
  onTestFinished(() => void vi.unstubAllEnvs());
  const { code, message } = await prlErrorOf(makeSocketFolder("prl-test-", "a.sock"));
  expect([code, message]).toEqual([
    "PRL_IO",
    expect.stringContaining(`a folder for a socket in ${missing}: set TMPDIR`),
  ]);
});
