/**
 * Whole runs under seeded faults, by `prl chaos` as a user starts it. The long form injects every kind that this machine can, several times
 * each, at level 0 (compared with an undisturbed run bit by bit) and at level 1 (the invariants), and has one long run with more than a hundred
 * faults, which still learns.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { FAULTS } from "../../ts/cli/chaos/catalogue.ts";
import type { ChaosReport } from "../../ts/cli/chaos/report.ts";
import { writeBoxedRun } from "../e2e/boxed-run.ts";
import { prl, readJson, ROOT, workspace } from "../support/prl.ts";
import { IS_LONG } from "../support/form.ts";

const MODEL = join(import.meta.dirname, "../../configs/reverse-text/model");
const DEADLINE_MS = IS_LONG ? 3_000_000 : 250_000;
const TEST = { timeout: IS_LONG ? 3_600_000 : 600_000 };
/** In the short form one kind of each sort, those that cost the least time. */
const SHORT = "kill-trainer,kill-inference,kill-env-worker,engine-cut,engine-nan,flip-checkpoint";
/** Half a minute each, and more: a process that is silent for 30 s, or whose native work does not get on for ten times as long. */
const SLOW = ["hang-trainer", "hang-env-worker", "hang-native"];
/** They need a run with sandboxes. */
const SANDBOXES = ["kill-sandboxd", "pause-sandboxd", "hang-sandboxd"];

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

/** `level`: `max_async_level` of the run. `outputs`: a folder for each chaos. */
async function chaos(
  faults: string,
  count: number,
  { level = 0, outputs = "outputs", config = "rl.toml", more = [] as readonly string[] },
) {
  const args = ["--max-async-level", String(level), "--faults", faults, "--count", String(count), "--pause", "0.2"];
  const output = ["--output-dir", outputs, "--seed", "7", "--json"];
  const options = { cwd: place.dir, cache: place.cache, deadlineMs: DEADLINE_MS };
  const { code, stdout, stderr } = await prl(["chaos", config, ...args, ...output, ...more], options);
  expect([code, stdout === "" ? stderr : ""], stdout + stderr).toEqual([0, ""]);
  const report = JSON.parse(stdout) as ChaosReport;
  expect(report.violations).toEqual([]);
  expect(report.injections).toBeGreaterThanOrEqual(count);
  return report;
}

/** `but`: kinds that are left out. */
const everyKind = (...but: readonly string[]) =>
  FAULTS.map(({ name }) => name)
    .filter((name) => ![...SLOW, ...SANDBOXES, ...but].includes(name))
    .join(",");

describe("a run under faults", () => {
  test("comes at level 0 to the very result of an undisturbed one", TEST, async () => {
    await chaos(IS_LONG ? everyKind() : SHORT, IS_LONG ? 120 : 2, { outputs: "level-0" });
  });

  test.runIf(IS_LONG)("keeps every invariant at level 1", TEST, async () => {
    await chaos(everyKind(), 120, { level: 1, outputs: "level-1" });
  });

  test.runIf(IS_LONG)("loses its sandbox daemons, and nothing else", TEST, async () => {
    const config = await writeBoxedRun(place.dir);
    const more = ["--max-steps", "12", "--deployment.silence-timeout-s", "5"];
    await chaos(SANDBOXES.join(","), 10, { outputs: "boxed", config, more });
  });

  test.runIf(IS_LONG)("goes on after whole processes, or their native threads alone, have hung", TEST, async () => {
    const more = ["--deployment.silence-timeout-s", "4"];
    await chaos(SLOW.join(","), 6, { outputs: "hung", more });
  });

  // The small disk of `full-disk` is removed with its run, and has no room for a long one.
  test.runIf(IS_LONG)("learns its task, however often one long run is disturbed", TEST, async () => {
    const config = join(ROOT, "configs/reverse-text/rl.toml");
    const more = ["--max-steps", "150", "--ckpt.interval", "5"];
    const report = await chaos(everyKind("full-disk"), 110, { level: 1, outputs: "learns", config, more });
    expect(report.rounds).toBe(1);
    const summary = join(place.dir, "learns/chaos-7/round-1/summary.json");
    const { sampled } = (await readJson<{ eval: { sampled: Record<"before" | "after", { reward: number }> } }>(summary))
      .eval;
    // As the example as it is shipped: see tests/e2e/learning/trained.test.ts.
    expect(sampled.after.reward - sampled.before.reward).toBeGreaterThan(0.25);
  });
});
