import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";

import { joinRun, readReadyFile, readyFilePath } from "../../../ts/monitors/index.ts";

let runDir: string;
beforeEach(async () => {
  runDir = await mkdtemp(join(tmpdir(), "prl-ready-"));
});
afterEach(async () => {
  await rm(runDir, { recursive: true });
});

it("reads back the announcement of a process", async () => {
  const info = {
    url: "http://127.0.0.1:1",
    isa: "avx2",
    dtype: "float32",
    version: 3,
    rollouts: "a:1",
    weights: "a:2",
    daemon: 9,
  };
  await joinRun({ component: "inference", index: 2, runDir, fd: null }).ready(info);
  expect(await readReadyFile(runDir, "inference", 2)).toEqual({
    ...info,
    pid: process.pid,
    ready_at: expect.stringMatching(/^\d{4}-\d{2}-\d{2}T/u),
  });
});

it("is null before the process is ready", async () => {
  expect(await readReadyFile(runDir, "inference", 0)).toBeNull();
});

it.each([
  "",
  "{",
  "null",
  "[]",
  '{"pid": "7", "ready_at": "now"}',
  '{"pid": 7}',
  '{"pid": 7, "ready_at": "", "url": 1}',
])("names a damaged file: %s", async (content) => {
  const path = readyFilePath(runDir, "trainer", 0);
  await mkdir(dirname(path));
  await writeFile(path, content);
  await expect(readReadyFile(runDir, "trainer", 0)).rejects.toMatchObject({
    code: "PRL_IO",
    message: expect.stringContaining(path),
  });
});
