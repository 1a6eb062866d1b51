/** A run whose environment needs sandboxes: one daemon for all of its processes, replaced when it dies, gone when the run is. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { ReadyFile } from "../../ts/monitors/index.ts";
import { afterEach, beforeEach, expect, test } from "vitest";
import { commandLine, until } from "../integration/sandbox/support.ts";
import { prl, readJson, start, workspace } from "../support/prl.ts";
import { writeBoxedRun } from "./boxed-run.ts";

const STEPS = 8;

let place: Awaited<ReturnType<typeof workspace>>;
let config: string;
beforeEach(async () => {
  place = await workspace();
  config = await writeBoxedRun(place.dir);
});
afterEach(() => place.remove());
const options = () => ({ cwd: place.dir, cache: place.cache });
const runDir = (name: string) => join(place.dir, "outputs", name);

test("the daemon hangs, its successor is killed, and the run comes to its end with the same weights", async () => {
  const args = (name: string) => ["rl", config, "--max-steps", String(STEPS), "--run.name", name];
  const calm = await prl(args("calm"), options());
  expect([calm.code, calm.stderr]).toEqual([0, ""]);
  const run = start([...args("killed"), "--deployment.silence-timeout-s", "4"], options());
  const done = new AbortController();
  void run.finished.finally(() => done.abort());
  const lost = new Set<number>();
  while (!done.signal.aborted && lost.size < 2) {
    await sleep(100);
    const ready = await readJson<ReadyFile>(join(runDir("killed"), "run/sandboxd-0.json")).catch(() => null);
    const daemon = ready?.daemon;
    const begun = await readFile(join(runDir("killed"), "metrics.jsonl"), "utf8").catch(() => "");
    if (daemon === undefined || lost.has(daemon) || !begun.includes('"component":"orchestrator"')) continue;
    expect(commandLine(daemon)).toContain("prl-sandboxd --socket");
    // Steps are left, and none of them ends without the daemon.
    process.kill(daemon, lost.size === 0 ? "SIGSTOP" : "SIGKILL");
    lost.add(daemon);
  }
  const { code, stderr } = await run.finished;
  expect([code, stderr]).toEqual([0, ""]);
  expect(lost.size).toBe(2);
  const events = await readFile(join(runDir("killed"), "events.jsonl"), "utf8");
  expect(events).toContain("sandboxd-0 ended (exit code 1: the sandbox daemon gave no sign of life for 4 s and was");
  expect(events).toContain("sandboxd-0 ended (exit code 1: the sandbox daemon ended: SIGKILL)");
  const metrics = await readFile(join(runDir("killed"), "metrics.jsonl"), "utf8");
  expect(metrics).toContain('"timing/sandbox_wait"');
  expect(metrics).toContain('"event_loop_lag/p99"');
  const digest = async (name: string) =>
    (await readJson<{ digest: string }>(join(runDir(name), `weights/step_${STEPS}/manifest.json`))).digest;
  expect(await digest("killed")).toBe(await digest("calm"));
  for (const pid of lost) expect(await until(() => commandLine(pid) === null, 5_000)).toBe(true);
});

test("a run whose environment needs sandboxes that are not to be had is refused before it begins", async () => {
  const address = `unix:${join(place.dir, "nothing.sock")}`;
  const { code, stderr } = await prl(
    ["rl", config, "--run.name", "refused", "--sandbox.addresses", JSON.stringify([address])],
    options(),
  );
  expect(code).not.toBe(0);
  expect(stderr).toContain('environment "boxed-text" needs sandboxes');
  expect(stderr).toContain("prl sandbox doctor");
});
