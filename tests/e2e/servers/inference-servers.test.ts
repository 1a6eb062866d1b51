/** Inference servers that die while a run goes on: started again, given the current weights, nothing lost or sampled otherwise. */
import { access } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readJson, readJsonLines, start, workspace } from "../../support/prl.ts";
import { runResult } from "../../support/runs/run-result.ts";
import { longTest } from "../../support/form.ts";
import { undisturbedRun } from "../../support/runs/undisturbed-run.ts";

const SYNC = join(import.meta.dirname, "../configs/sync.toml");
const STEPS = 6;

let place: Awaited<ReturnType<typeof workspace>>;
beforeEach(async () => {
  place = await workspace();
});
afterEach(() => place.remove());
const options = () => ({ cwd: place.dir, cache: place.cache });
const SHARED = [SYNC, "--max-steps", String(STEPS), "--orchestrator.eval", "None"];
const argsOf = (name: string, ...more: string[]) => ["rl", ...SHARED, "--run.name", name, ...more];
const runDir = (name: string) => join(place.dir, "outputs", name);
const resultOf = (name: string) => runResult(runDir(name), STEPS);
const undisturbed = async () => runResult(await undisturbedRun(...SHARED), STEPS);

async function appears(path: string, pollMs: number): Promise<void> {
  for (const end = Date.now() + 60_000; Date.now() < end; await sleep(pollMs)) {
    const isThere = await access(path).then(
      () => true,
      () => false,
    );
    if (isThere) return;
  }
  throw new Error(`${path} did not come`);
}

/** Kills the server of the run in this place, if it is another one than those that were killed before. */
async function kill(name: string, index: number, killed: Set<number>): Promise<void> {
  for (const end = Date.now() + 60_000; Date.now() < end; await sleep(20)) {
    const ready = await readJson<{ pid: number }>(join(runDir(name), `run/inference-${index}.json`)).catch(() => null);
    if (ready === null || killed.has(ready.pid)) continue;
    process.kill(ready.pid, "SIGKILL");
    killed.add(ready.pid);
    return;
  }
  throw new Error("no other server came");
}

test("kill -9 of the only server, twice and in the middle of a swap: the very same batches and weights", async () => {
  const port = 20_000 + (process.pid % 10_000);
  const run = start(argsOf("killed", "--monitors.prometheus.port", String(port)), options());
  const killed = new Set<number>();
  await appears(join(runDir("killed"), "rollouts/step_1/traces.jsonl"), 20);
  await sleep(150);
  await kill("killed", 0, killed);
  await kill("killed", 0, killed);
  const shown = await (await fetch(`http://127.0.0.1:${port + 2}/metrics`)).text();
  expect(shown).toMatch(/^prl_restarts_inference\{.*\} [12]$/m);
  await appears(join(runDir("killed"), "rollouts/step_4/rank_0.safetensors"), 20);
  // The swap begins as soon as the version is there.
  await appears(join(runDir("killed"), "weights/step_4/manifest.json"), 1);
  await kill("killed", 0, killed);
  const { code, stderr } = await run.finished;
  expect([code, stderr]).toEqual([0, ""]);
  expect(await resultOf("killed")).toEqual(await undisturbed());
  const events = await readJsonLines<Record<string, unknown>>(join(runDir("killed"), "events.jsonl"));
  const restarts = events.filter(({ type }) => type === "restart");
  expect(restarts).toHaveLength(3);
  expect(restarts[0]).toMatchObject({ process: "inference-0", exit: "signal SIGKILL" });
  expect(events.filter(({ type }) => type === "engine_in").length).toBeGreaterThanOrEqual(3);
});

test("a killed server pulls the current weights anew where they travel by grpc", async () => {
  const grpc = ["--weight-broadcast.type", "grpc", "--rollout-transport.type", "grpc"];
  const run = start(argsOf("killed", ...grpc), options());
  const killed = new Set<number>();
  for (const step of [2, 5]) {
    await appears(join(runDir("killed"), `rollouts/step_${step}/traces.jsonl`), 20);
    await kill("killed", 0, killed);
  }
  const { code, stderr } = await run.finished;
  expect([code, stderr]).toEqual([0, ""]);
  expect(await resultOf("killed")).toEqual(await undisturbed());
});

longTest("one of two servers dies: the other goes on, and nothing changes", async () => {
  const two = ["--inference.replicas", "2", "--inference.threads", "1"];
  const run = start(argsOf("killed", ...two), options());
  const killed = new Set<number>();
  for (const step of [1, 3]) {
    await appears(join(runDir("killed"), `rollouts/step_${step}/traces.jsonl`), 20);
    await sleep(100);
    await kill("killed", 1, killed);
  }
  const { code, stderr } = await run.finished;
  expect([code, stderr]).toEqual([0, ""]);
  expect(await resultOf("killed")).toEqual(await undisturbed());
});
