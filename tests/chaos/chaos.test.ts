/**
 * Whole runs under seeded faults, by `prl chaos` as a user starts it. The long form injects every kind that this machine can, several times
 * each, at level 0 (compared with an undisturbed run bit by bit) and at level 1 (the invariants).
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { FAULTS } from "../../ts/cli/chaos/catalogue.ts";
import type { ChaosReport } from "../../ts/cli/chaos/report.ts";
import { prl, workspace } from "../support/prl.ts";
import { IS_LONG } from "../support/form.ts";

const MODEL = join(import.meta.dirname, "../../configs/reverse-text/model");
const DEADLINE_MS = IS_LONG ? 3_000_000 : 250_000;
const TEST = { timeout: IS_LONG ? 3_600_000 : 600_000 };
/** In the short form one kind of each sort, those that cost the least time. */
const SHORT = "kill-trainer,kill-inference,kill-env-worker,engine-cut,engine-nan,flip-checkpoint";
/** Half a minute each: a process that is silent for 30 s. */
const SLOW = ["hang-trainer", "hang-env-worker"];

let place: Awaited<ReturnType<typeof workspace>>;
beforeAll(async () => {
  place = await workspace("empty");
  await mkdir(place.dir, { recursive: true });
  await writeFile(
    join(place.dir, "rl.toml"),
    `seed = 5\nseq_len = 256\nmax_steps = ${IS_LONG ? 30 : 5}\n[model]\nname = "${MODEL}"\n[trainer.optim]\nlr = 1e-4\n[ckpt]\ninterval = 1\nkeep_last = 4\n` +
      `[orchestrator]\nbatch_size = 16\ngroup_size = 8\n[orchestrator.train.sampling]\nmax_completion_tokens = 8\n` +
      `[[orchestrator.train.source]]\nenv = { id = "reverse-text", args = { min_len = 2, max_len = 4 } }\n`,
  );
});
afterAll(() => place.remove());

async function chaos(level: number, faults: string, count: number): Promise<ChaosReport> {
  const args = ["--max-async-level", String(level), "--faults", faults, "--count", String(count), "--pause", "0.2"];
  const more = ["--output-dir", `outputs-${level}`, "--seed", "7", "--json"];
  const options = { cwd: place.dir, cache: place.cache, deadlineMs: DEADLINE_MS };
  const { code, stdout, stderr } = await prl(["chaos", "rl.toml", ...args, ...more], options);
  expect([code, stdout === "" ? stderr : ""], stdout + stderr).toEqual([0, ""]);
  return JSON.parse(stdout) as ChaosReport;
}

const everyKind = () =>
  FAULTS.map(({ name }) => name)
    .filter((name) => !SLOW.includes(name))
    .join(",");

describe("a run under faults", () => {
  test("comes at level 0 to the very result of an undisturbed one", TEST, async () => {
    const report = await chaos(0, IS_LONG ? everyKind() : SHORT, IS_LONG ? 120 : 2);
    expect(report.violations).toEqual([]);
    expect(report.injections).toBeGreaterThanOrEqual(IS_LONG ? 120 : 2);
  });

  test.runIf(IS_LONG)("keeps every invariant at level 1", TEST, async () => {
    const report = await chaos(1, everyKind(), 120);
    expect(report.violations).toEqual([]);
    expect(report.injections).toBeGreaterThanOrEqual(120);
  });
});
