/** The examples as they are shipped: a few minutes each, so only with PRL_TEST_LONG=1. */
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { prl, readJson, ROOT, workspace } from "../../support/prl.ts";
import { IS_LONG } from "../../support/form.ts";

const MINUTE_MS = 60_000;
const TASKS = 256;
/** Of the twenty tasks of `catalogue-mix`. */
const LEAST_RISING = 15;

interface Summary {
  status: string;
  eval: Record<string, Record<"before" | "after", { reward: number; num: number }>>;
}

let place: Awaited<ReturnType<typeof workspace>>;
beforeEach(async () => {
  place = await workspace();
});
afterEach(() => place.remove());

/** Trains an example as it is shipped. */
async function trained(name: string, steps: number, minutes: number): Promise<Summary> {
  const config = join(ROOT, "configs", name, "rl.toml");
  const options = { cwd: place.dir, cache: place.cache, deadlineMs: minutes * MINUTE_MS };
  const run = await prl(["rl", config, "--run.name", name], options);
  expect(run.stderr + run.stdout).toContain(`Step ${steps}/${steps}`);
  expect(run.code, run.stderr.slice(-2000)).toBe(0);
  const summary = await readJson<Summary>(join(place.dir, "outputs", name, "summary.json"));
  expect(summary.status).toBe("completed");
  return summary;
}

describe.runIf(IS_LONG)("reinforcement learning raises the held-out reward", () => {
  // About half of what runs give; the standard error of a mean over the tasks is below 0.03.
  test.each([
    ["reverse-text", { sampled: 0.25 }],
    ["alphabet-sort", { sampled: 0.25, greedy: 0.15 }],
    ["tool-lookup", { sampled: 0.35, greedy: 0.5 }],
    ["multi-environment", { "reverse-text": 0.15, "alphabet-sort": 0.05, "tool-lookup": 0.25 }],
  ])("%s", { timeout: 20 * MINUTE_MS }, async (name, rises) => {
    const summary = await trained(name, 40, 19);
    for (const [source, rise] of Object.entries(rises)) {
      const { before, after } = summary.eval[source] ?? {};
      expect([before?.num, after?.num]).toEqual([TASKS, TASKS]);
      expect((after?.reward ?? 0) - (before?.reward ?? 1), `${source} of ${name}`).toBeGreaterThan(rise);
    }
  });

  test("catalogue-mix: on at least fifteen of its twenty tasks", { timeout: 60 * MINUTE_MS }, async () => {
    const summary = await trained("catalogue-mix", 160, 59);
    const tasks = Object.entries(summary.eval).filter(([source]) => source !== "greedy");
    expect(tasks).toHaveLength(20);
    for (const [source, { before, after }] of tasks)
      expect([source, before.num, after.num]).toEqual([source, TASKS, TASKS]);
    const rising = tasks.filter(([, { before, after }]) => after.reward > before.reward);
    expect(rising.length, JSON.stringify(summary.eval)).toBeGreaterThanOrEqual(LEAST_RISING);
  });
});
