/** What a run will need of its disk: from made-up run directories whose sizes are known. */
import { appendFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

import { DiskForecast, type DiskForecastOptions } from "../../../../ts/launcher/run/disk-forecast.ts";

const MIB = 2 ** 20;
let runDir: string;
let ms: number;

beforeEach(async () => {
  runDir = await mkdtemp(join(tmpdir(), "prl-disk-"));
  ms = 0;
});
afterEach(() => rm(runDir, { recursive: true }));

const bounded = { maxSteps: 1_000, keptBatches: null, checkpoints: null };
const forecast = (options: Partial<DiskForecastOptions> = {}) =>
  new DiskForecast({ runDir, ...bounded, clock: () => ms, ...options });

/** One step: 2 MiB of batches and traces, 1 MiB of metrics, and as much time. */
async function step(number: number, tookMs: number): Promise<void> {
  const folder = join(runDir, "rollouts", `step_${number}`);
  await mkdir(join(folder, "eval"), { recursive: true });
  await writeFile(join(folder, "rank_0.safetensors"), Buffer.alloc(MIB));
  await writeFile(join(folder, "eval", "traces.jsonl"), Buffer.alloc(MIB));
  await appendFile(join(runDir, "metrics.jsonl"), Buffer.alloc(MIB));
  ms += tookMs;
}

async function after(steps: number, tookMs: number, disk: DiskForecast): Promise<(string | null)[]> {
  const said: (string | null)[] = [];
  for (let number = 1; number <= steps; number++) {
    await step(number, tookMs);
    said.push(disk.take(number));
  }
  return said;
}

test("is said once, after three steps and twenty seconds", async () => {
  const said = await after(5, 10_000, forecast());
  expect(said.map((text) => text !== null)).toEqual([false, false, false, true, false]);
  expect(said[3]).toMatch(
    /^Disk: 100 steps take 300 MiB \(batches and traces 200 MiB, metrics 100 MiB\), an hour 1\.05 GiB; .* are free$/u,
  );
});

test("is said after twenty short steps", async () => {
  const said = await after(21, 1, forecast());
  expect(said.findIndex((text) => text !== null)).toBe(20);
});

test("leaves out what retention bounds, and counts checkpoints that stay", async () => {
  const root = join(runDir, "checkpoints");
  for (const [number, mib] of [
    [2, 1],
    [10, 50],
  ] as const) {
    await mkdir(join(root, `step_${number}`, "trainer"), { recursive: true });
    await writeFile(join(root, `step_${number}`, "trainer", "state"), Buffer.alloc(mib * MIB));
  }
  const said = await after(4, 10_000, forecast({ keptBatches: 3, checkpoints: { root, interval: 10 } }));
  expect(said[3]).toMatch(/^Disk: 100 steps take 600 MiB \(metrics 100 MiB, kept checkpoints 500 MiB\), an hour/u);
});

test("warns of a disk that will be full, with the last step that fits and what to set", async () => {
  const said = await after(4, 10_000, forecast({ maxSteps: 10 ** 12 }));
  expect(said[3]).toMatch(
    /^Warning: disk: .* that are free last until step \d+: set rollout_transport\.keep and ckpt\.keep_last, or make room$/u,
  );
});

test("begins again with a run that goes back to a checkpoint, and says nothing of a directory that is gone", async () => {
  const disk = forecast();
  expect(await after(3, 10_000, disk)).toEqual([null, null, null]);
  expect(await after(3, 10_000, disk)).toEqual([null, null, null]);
  const gone = forecast({ runDir: join(runDir, "gone") });
  for (let number = 1; number <= 30; number++) expect(gone.take(number)).toBeNull();
});
