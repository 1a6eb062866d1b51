/** The examples as they are shipped: a few minutes each, so only with PRL_TEST_LONG=1. */
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { prl, readJson, ROOT, workspace } from "../../support/prl.ts";

const MINUTE_MS = 60_000;
const TASKS = 256;

interface Summary {
  status: string;
  eval: Record<string, Record<"before" | "after", { reward: number; num: number }>>;
}

let place: Awaited<ReturnType<typeof workspace>>;
beforeEach(async () => {
  place = await workspace();
});
afterEach(() => place.remove());

describe.runIf(process.env["PRL_TEST_LONG"] === "1")("reinforcement learning raises the held-out reward", () => {
  // About half of what runs give; the standard error of a mean over the tasks is below 0.03.
  test.each([
    ["reverse-text", { sampled: 0.25 }],
    ["alphabet-sort", { sampled: 0.25, greedy: 0.15 }],
    ["tool-lookup", { sampled: 0.35, greedy: 0.5 }],
    ["multi-environment", { "reverse-text": 0.15, "alphabet-sort": 0.05, "tool-lookup": 0.25 }],
  ])("%s", { timeout: 20 * MINUTE_MS }, async (name, rises) => {
    const config = join(ROOT, "configs", name, "rl.toml");
    const options = { cwd: place.dir, cache: place.cache, deadlineMs: 19 * MINUTE_MS };
    const run = await prl(["rl", config, "--run.name", name], options);
    expect(run.stderr + run.stdout).toContain("Step 40/40");
    expect(run.code, run.stderr.slice(-2000)).toBe(0);
    const summary = await readJson<Summary>(join(place.dir, "outputs", name, "summary.json"));
    expect(summary.status).toBe("completed");
    for (const [source, rise] of Object.entries(rises)) {
      const { before, after } = summary.eval[source] ?? {};
      expect([before?.num, after?.num]).toEqual([TASKS, TASKS]);
      expect((after?.reward ?? 0) - (before?.reward ?? 1), `${source} of ${name}`).toBeGreaterThan(rise);
    }
  });
});
