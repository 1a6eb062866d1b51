/** `prl watch` beside a run of another process. */
import { access } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { prl, readJson, start, workspace } from "../support/prl.ts";

const SYNC = join(import.meta.dirname, "configs/sync.toml");
const SHORT = ["--warm-start", "None", "--orchestrator.eval", "None"];
const POLL_MS = 50;

let place: Awaited<ReturnType<typeof workspace>>;
beforeEach(async () => {
  place = await workspace();
});
afterEach(() => place.remove());
const options = () => ({ cwd: place.dir, cache: place.cache });
const runDir = (name: string) => join(place.dir, "outputs", name);

function startRun(name: string, steps: number) {
  return start(["rl", SYNC, ...SHORT, "--run.name", name, "--max-steps", String(steps)], options());
}

/** Resolves when the run has written this file. */
async function written(name: string, file: string): Promise<void> {
  for (let i = 0; i < 1200; i++) {
    const isThere = await access(join(runDir(name), file)).then(
      () => true,
      () => false,
    );
    if (isThere) return;
    await sleep(POLL_MS);
  }
  throw new Error(`${name} has not written ${file}`);
}

const stepsIn = (text: string) => text.split("\n").filter((line) => /^Step \d/u.test(line));

describe("prl watch", () => {
  test("shows the steps of a run while it goes on, and how it ended", async () => {
    const { finished } = startRun("watched", 4);
    await written("watched", "events.jsonl");
    const watched = await prl(["watch"], options());
    const run = await finished;
    expect([run.code, watched.code, watched.stderr]).toEqual([0, 0, ""]);
    expect(stepsIn(watched.stdout)).toHaveLength(4);
    expect(stepsIn(watched.stdout)).toEqual(stepsIn(run.stdout));
    expect(watched.stdout).toContain("Phase: training\n");
    expect(watched.stdout).toMatch(/\nThe run watched is over: completed, 4 steps \(prl runs show watched\)\n$/u);

    const again = await prl(["watch", "watched", "--json"], options());
    expect([again.code, stepsIn(again.stderr)]).toEqual([0, stepsIn(run.stdout)]);
    expect(JSON.parse(again.stdout)).toEqual(await readJson(join(runDir("watched"), "summary.json")));
  });

  test("ends on Ctrl-C while the run goes on, and with the run when that is stopped", async () => {
    const { child, finished } = startRun("endless", 5000);
    await written("endless", "rollouts/step_1/traces.jsonl");
    const left = start(["watch", "endless"], options());
    await new Promise<void>((shown) => {
      left.child.stdout?.on("data", (chunk) => {
        if (stepsIn(String(chunk)).length > 0) shown();
      });
    });
    left.child.kill("SIGINT");
    expect((await left.finished).code).toBe(130);
    expect(child.exitCode).toBeNull();

    const stays = start(["watch", "endless"], options());
    stays.child.stdout?.once("data", () => child.kill("SIGINT"));
    const watched = await stays.finished;
    expect((await finished).code).toBe(130);
    expect(watched.code).toBe(1);
    expect(watched.stdout).toMatch(/\nThe run endless is over: interrupted, \d+ steps/u);
  });

  test("says that there is no run, and names the folder", async () => {
    const { code, stderr } = await prl(["watch"], options());
    expect([code, stderr]).toEqual([2, expect.stringContaining(join(place.dir, "outputs"))]);
    expect(stderr).toContain("PRL_RUN_UNKNOWN");
  });
});
