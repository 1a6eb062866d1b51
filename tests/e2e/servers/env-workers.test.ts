/** Env workers that die while a run goes on: nothing is lost, counted twice or scored otherwise. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { prl, readJson, start, workspace } from "../../support/prl.ts";

const SYNC = join(import.meta.dirname, "../configs/sync.toml");
const STEPS = 12;

let place: Awaited<ReturnType<typeof workspace>>;
beforeEach(async () => {
  place = await workspace();
});
afterEach(() => place.remove());

test("env workers that are killed are replaced, and the run comes to the very same weights", async () => {
  const options = { cwd: place.dir, cache: place.cache };
  const args = (name: string) => ["rl", SYNC, "--max-steps", String(STEPS), "--run.name", name];
  const runDir = (name: string) => join(place.dir, "outputs", name);
  const undisturbed = await prl(args("undisturbed"), options);
  expect(undisturbed.code).toBe(0);

  const run = start(args("killed"), options);
  const killed = new Set<number>();
  const done = new AbortController();
  void run.finished.finally(() => done.abort());
  while (!done.signal.aborted && killed.size < 3) {
    await sleep(300);
    const ready = await readJson<{ pid: number }>(join(runDir("killed"), "run/env-worker-0.json")).catch(() => null);
    if (ready === null || killed.has(ready.pid)) continue;
    try {
      process.kill(ready.pid, "SIGKILL");
      killed.add(ready.pid);
    } catch {
      // It is being replaced, or the run has just ended.
    }
  }
  const { code, stderr } = await run.finished;
  expect([code, stderr]).toEqual([0, ""]);
  expect(killed.size).toBeGreaterThan(0);
  const digest = async (name: string) =>
    (await readJson<{ digest: string }>(join(runDir(name), `weights/step_${STEPS}/manifest.json`))).digest;
  expect(await digest("killed")).toBe(await digest("undisturbed"));
  const events = await readFile(join(runDir("killed"), "events.jsonl"), "utf8");
  expect(events).toContain("env-worker-0 ended (signal SIGKILL) and is started again");
  expect(await readJson(join(runDir("killed"), "summary.json"))).toMatchObject({ status: "completed", steps: STEPS });
});
