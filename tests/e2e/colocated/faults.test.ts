/**
 * What becomes of a run whose trainer and servers take turns on one GPU when one of them dies, or the run is stopped, in either turn. The long
 * form (`PRL_TEST_LONG=1`) has all of them.
 */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";

import { childPids, isAlive, prl, readJson, readJsonLines, start, workspace } from "../../support/prl.ts";
import { runResult } from "../../support/runs/run-result.ts";
import { outside, turnsOf } from "./turns.ts";
import { IS_LONG } from "../../support/form.ts";
import { undisturbedRun } from "../../support/runs/undisturbed-run.ts";

const SYNC = join(import.meta.dirname, "../configs/sync.toml");
const STEPS = 4;

let place: Awaited<ReturnType<typeof workspace>>;
beforeEach(async () => {
  place = await workspace();
});
afterEach(() => place.remove());
const options = () => ({ cwd: place.dir, cache: place.cache });
const SHARED = [SYNC, "--max-steps", String(STEPS), "--orchestrator.eval", "None"];
const argsOf = (name: string, ...more: string[]) => ["rl", ...SHARED, "--run.name", name, ...more];
const COLOCATED = ["--deployment.type", "colocated"];
const runDir = (name: string) => join(place.dir, "outputs", name);
const resultOf = (name: string) => runResult(runDir(name), STEPS);
const undisturbed = async () => runResult(await undisturbedRun(...SHARED), STEPS);
const eventsOf = (name: string) => readJsonLines<Record<string, unknown>>(join(runDir(name), "events.jsonl"));

async function until<T>(find: () => Promise<T | null>): Promise<T> {
  for (const end = Date.now() + 100_000; Date.now() < end; await sleep(5)) {
    const found = await find();
    if (found !== null) return found;
  }
  throw new Error("it did not come");
}

/** Waits until one side has the turn, of this step or, where a look came too late, of a later one. */
const untilTurn = (name: string, wanted: "trainer" | "servers", step: number) =>
  until(async () => {
    const path = join(runDir(name), "run/gpu-turn.json");
    const turn = await readJson<{ turn: string; step: number }>(path).catch(() => null);
    return turn?.turn === wanted && turn.step >= step ? turn : null;
  });

/** Who dies, and in which turn: in the long form each in both. */
const KILLS = [
  ["inference", "trainer"],
  ["trainer", "servers"],
  ["orchestrator", "servers"],
  ["inference", "servers"],
  ["trainer", "trainer"],
  ["orchestrator", "trainer"],
] as const;

test.each(IS_LONG ? KILLS : KILLS.slice(0, 2))(
  "kill -9 of %s in the turn of the %s: the weights of an undisturbed run, and no step outside of its turn",
  async (process_, turn) => {
    const run = start(argsOf("killed", ...COLOCATED), options());
    await untilTurn("killed", turn, 2);
    const pids = await childPids(runDir("killed"));
    process.kill(pids[`${process_}-0`] ?? Number.NaN, "SIGKILL");
    const { code, stderr } = await run.finished;
    expect([code, stderr]).toEqual([0, ""]);
    expect(await resultOf("killed")).toEqual(await undisturbed());
    const restarts = (await eventsOf("killed")).filter(({ type }) => type === "restart");
    expect(restarts.map((event) => event["process"])).toContain(`${process_}-0`);
    const { trainer, steps } = await turnsOf(runDir("killed"));
    expect(outside(steps, trainer)).toEqual([]);
    expect(new Set(steps.map(({ step }) => step))).toEqual(new Set([1, 2, 3, 4]));
  },
);

test("a trainer that hangs in its turn ends the run by its name: the servers do not sleep for ever", async () => {
  const limits = ["--deployment.turn-timeout-s", "3", "--deployment.silence-timeout-s", "0"];
  const run = start(argsOf("hung", ...limits, ...COLOCATED), options());
  await untilTurn("hung", "servers", 1);
  const { "trainer-0": trainer } = await childPids(runDir("hung"));
  process.kill(trainer ?? Number.NaN, "SIGSTOP");
  const { code, stderr } = await run.finished;
  expect(code).toBe(1);
  expect(stderr).toContain("PRL_GPU_TURN");
  expect(stderr).toContain("deployment.turn_timeout_s");
});

test.each((["trainer", "servers"] as const).slice(0, IS_LONG ? 2 : 1))(
  "Ctrl-C in the turn of the %s ends every process, and --resume has the same weights",
  async (turn) => {
    const kept = ["--ckpt.interval", "1"];
    const run = start(argsOf("stopped", ...kept, ...COLOCATED), options());
    await untilTurn("stopped", turn, 2);
    const pids = Object.values(await childPids(runDir("stopped")));
    run.child.kill("SIGINT");
    expect((await run.finished).code).toBe(130);
    expect(pids.filter((pid) => isAlive(pid))).toEqual([]);
    const { code, stderr } = await prl(argsOf("stopped", ...kept, ...COLOCATED, "--resume"), options());
    expect([code, stderr]).toEqual([0, ""]);
    expect((await resultOf("stopped")).at(-1)).toEqual((await undisturbed()).at(-1));
  },
);
