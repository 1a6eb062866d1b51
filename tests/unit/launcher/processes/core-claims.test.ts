/** Cores of a run's own: no two runs that ask for some have one in common, also when they ask at the same moment. */
import { spawn } from "node:child_process";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";

import { claimCores, parseCores } from "../../../../ts/launcher/processes/core-claims.ts";

const MODULE = pathToFileURL(join(import.meta.dirname, "../../../../dist/launcher/processes/core-claims.js")).href;
const CORES = availableParallelism();

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "prl-claims-"));
});
afterEach(async () => rm(dir, { recursive: true, force: true }));

test("lists of cores are read as the kernel writes them", () => {
  expect(parseCores("0-2,5,7-8")).toEqual([0, 1, 2, 5, 7, 8]);
  expect(parseCores("3")).toEqual([3]);
  expect(parseCores("")).toEqual([]);
});

test("nothing is claimed unasked; more than there are is refused; what dead processes claimed is free", async () => {
  expect((await claimCores(null, join(dir, "none"))).cores).toBeNull();
  const dead = { pid: 2 ** 30, started: "1", cores: Array.from({ length: 999 }, (_, core) => core) };
  await writeFile(join(dir, "1073741824.json"), JSON.stringify(dead));
  await expect(claimCores(CORES + 1, dir)).rejects.toMatchObject({ code: "PRL_CORES_TAKEN" });
  expect(await readdir(dir)).toEqual([]);
});

/** Claims one core, says which and how many it may use, holds it until its standard input ends. */
const SCRIPT = `
  import { availableParallelism } from "node:os";
  const { claimCores } = await import(process.argv[2]);
  while (Date.now() < Number(process.argv[4]));
  try {
    const claim = await claimCores(1, process.argv[3]);
    process.stdout.write(JSON.stringify([claim.cores, availableParallelism()]) + "\\n");
    for await (const _ of process.stdin);
    await claim.release();
  } catch (error) {
    process.stdout.write(error.code + "\\n");
  }
`;

test("of one process more than there are cores each but one has a core, and no two the same", async () => {
  const script = join(dir, "claim.mjs");
  await writeFile(script, SCRIPT);
  const claims = join(dir, "claims");
  const at = String(Date.now() + 1_500);
  const rivals = Array.from({ length: CORES + 1 }, () => spawn(process.execPath, [script, MODULE, claims, at]));
  const ended = Promise.all(rivals.map((rival) => new Promise((resolve) => rival.once("close", resolve))));
  const answers = await Promise.all(
    rivals.map(
      (rival) => new Promise<string>((resolve) => rival.stdout.once("data", (data) => resolve(String(data).trim()))),
    ),
  );
  const granted = answers.filter((answer) => answer.startsWith("["));
  expect(answers.filter((answer) => answer === "PRL_CORES_TAKEN")).toHaveLength(CORES + 1 - granted.length);
  // Two that step back for each other may both find too few when the last core is meant.
  expect(granted.length).toBeGreaterThanOrEqual(CORES - 1);
  const parsed = granted.map((answer) => JSON.parse(answer) as [number[], number]);
  expect(new Set(parsed.flatMap(([cores]) => cores)).size).toBe(granted.length);
  expect(parsed.every(([, usable]) => usable === 1)).toBe(true);
  for (const rival of rivals) rival.stdin.end();
  await ended;
  expect(await readdir(claims)).toEqual([]);
});
