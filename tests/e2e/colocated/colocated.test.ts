/** Runs whose trainer and servers take turns on one GPU (`deployment.type = "colocated"`), on processors: what they do in which turn. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";

import { childPids, isAlive, prl, readJson, readJsonLines, start, workspace } from "../../support/prl.ts";
import { runResult } from "../../support/run-result.ts";
import { vllmPython } from "../../support/vllm/vllm-python.ts";
import { outside, turnsOf } from "./turns.ts";

const SYNC = join(import.meta.dirname, "../configs/sync.toml");
const STEPS = 4;

let place: Awaited<ReturnType<typeof workspace>>;
beforeEach(async () => {
  place = await workspace();
});
afterEach(() => place.remove());
const options = () => ({ cwd: place.dir, cache: place.cache });
const argsOf = (name: string, ...more: string[]) => [
  "rl",
  SYNC,
  "--max-steps",
  String(STEPS),
  "--run.name",
  name,
  ...more,
];
const COLOCATED = ["--deployment.type", "colocated"];
const NO_EVALUATION = ["--orchestrator.eval", "None"];
const runDir = (name: string) => join(place.dir, "outputs", name);
const resultOf = (name: string) => runResult(runDir(name), STEPS);
const eventsOf = (name: string) => readJsonLines<Record<string, unknown>>(join(runDir(name), "events.jsonl"));

async function until<T>(find: () => Promise<T | null>): Promise<T> {
  for (const end = Date.now() + 100_000; Date.now() < end; await sleep(10)) {
    const found = await find();
    if (found !== null) return found;
  }
  throw new Error("it did not come");
}

/** Waits until the trainer has the turn of a step. */
const untilTurn = (name: string, step: number) =>
  until(async () => {
    const turn = await readJson<{ turn: string; step: number }>(join(runDir(name), "run/gpu-turn.json")).catch(
      () => null,
    );
    return turn?.turn === "trainer" && turn.step === step ? turn : null;
  });

/** Every step was computed in the trainer's turn, each turn has one step, and the rollouts of a batch had ended before at level 0. */
async function expectTurns(name: string): Promise<void> {
  const { trainer, steps } = await turnsOf(runDir(name));
  const trained = Array.from({ length: STEPS }, (_, index) => index + 1);
  expect(trainer.map(({ step }) => step)).toEqual(trained);
  expect(steps.map(({ step }) => step)).toEqual(trained);
  expect(outside(steps, trainer)).toEqual([]);
}

test("at level 0 they alternate, evaluations included, and the weights are those of a run without turns", async () => {
  const evaluated = ["--orchestrator.eval.interval", "1"];
  expect((await prl(argsOf("apart", ...evaluated), options())).code).toBe(0);
  const { code, stderr } = await prl(argsOf("turns", ...evaluated, ...COLOCATED), options());
  expect([code, stderr]).toEqual([0, ""]);
  expect(await resultOf("turns")).toEqual(await resultOf("apart"));
  await expectTurns("turns");
  const rewards = async (name: string) =>
    (await readJsonLines<Record<string, number>>(join(runDir(name), "metrics.jsonl")))
      .filter((line) => "eval/reverse-text/all/agent/reward/mean" in line)
      .map((line) => [line["step"], line["eval/reverse-text/all/agent/reward/mean"]]);
  expect((await rewards("turns")).length).toBeGreaterThan(3);
  expect(await rewards("turns")).toEqual(await rewards("apart"));
});

test("at level 1 the next batch is begun before the turn and goes on after it, and nothing is sampled in it", async () => {
  const { code, stderr } = await prl(
    argsOf("ahead", "--max-async-level", "1", ...NO_EVALUATION, ...COLOCATED),
    options(),
  );
  expect([code, stderr]).toEqual([0, ""]);
  await expectTurns("ahead");
});
