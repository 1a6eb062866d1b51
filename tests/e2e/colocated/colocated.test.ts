/** Runs whose trainer and servers take turns on one GPU (`deployment.type = "colocated"`), on processors: what they do in which turn. */
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

import { prl, readJsonLines, workspace } from "../../support/prl.ts";
import { runResult } from "../../support/runs/run-result.ts";
import { vllmPython } from "../../support/vllm/vllm-python.ts";
import { outside, turnsOf } from "./turns.ts";
import { IS_LONG, longTest } from "../../support/form.ts";
import { undisturbedRun } from "../../support/runs/undisturbed-run.ts";

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

longTest(
  "at level 1 the next batch is begun before the turn and goes on after it, and nothing is sampled in it",
  async () => {
    const { code, stderr } = await prl(
      argsOf("ahead", "--max-async-level", "1", ...NO_EVALUATION, ...COLOCATED),
      options(),
    );
    expect([code, stderr]).toEqual([0, ""]);
    await expectTurns("ahead");
  },
);

/** The calls of a step that hand the GPU over and back, without those that ask for the state. */
const STEP_CALLS = [
  "POST /pause?mode=keep",
  "POST /sleep?level=LEVEL&mode=keep",
  "POST /wake_up?tags=weights",
  "POST /pause?mode=keep",
  "POST /update_weight_version",
  "POST /collective_rpc",
  "POST /reset_prefix_cache?reset_running_requests=true",
  "POST /update_weight_version",
  "POST /wake_up?tags=kv_cache",
  "POST /resume",
];

test.each([[0, 1], ...(IS_LONG ? [[1, 2]] : [])])(
  "vLLM at async level %i and sleep level %i: its flags, its calls, and no token in the trainer's turn",
  async (level, depth) => {
    const python = await vllmPython(place.dir, { version: "0.32.0" });
    const env = { CUDA_VISIBLE_DEVICES: "3,4" };
    const onVllm = ["--inference.backend", "vllm", "--inference.python", python.path];
    const levels = ["--max-async-level", String(level), "--deployment.sleep-level", String(depth)];
    const args = argsOf("vllm", ...onVllm, ...levels, ...NO_EVALUATION, ...COLOCATED);
    const { code, stderr } = await prl(args, { ...options(), env });
    expect([code, stderr]).toEqual([0, ""]);
    const [server, ...more] = await python.starts();
    expect(more).toEqual([]);
    expect(server?.args).toContain("--enable-sleep-mode");
    // The trainer's, not the last one.
    expect(server?.env["CUDA_VISIBLE_DEVICES"]).toBe("3");
    expect(server?.env["VLLM_SERVER_DEV_MODE"]).toBe("1");
    await expectTurns("vllm");
    const calls = await python.calls();
    const changing = calls.filter(({ call }) => call.startsWith("POST /") && !/inference|completions/u.test(call));
    // Weights that are dropped are noted as such.
    const dropped = depth === 2 ? ["POST /update_weight_version"] : [];
    const [pause = "", ...rest] = STEP_CALLS.map((call) => call.replace("LEVEL", String(depth)));
    const wanted = [pause, ...dropped, ...rest];
    const first = changing.findIndex(({ call }) => call.startsWith("POST /sleep")) - 1 - dropped.length;
    expect(changing.slice(first).map(({ call }) => call)).toEqual(Array.from({ length: STEPS }, () => wanted).flat());
    // Between the answer to the pause and the call that wakes the KV cache nothing is sampled.
    const { trainer } = await turnsOf(runDir("vllm"));
    const sampled = calls.filter(({ call }) => /^(begin|tokens) /u.test(call));
    expect(sampled.length).toBeGreaterThan(0);
    expect(sampled.filter(({ time }) => trainer.some(({ from, to }) => from < time && time < to))).toEqual([]);
    if (level === 0) {
      const apart = await undisturbedRun(SYNC, "--max-steps", String(STEPS), ...NO_EVALUATION);
      expect(await resultOf("vllm")).toEqual(await runResult(apart, STEPS));
    }
  },
);

test("a vLLM for processors, which cannot sleep, is refused before there is a run directory", async () => {
  const python = await vllmPython(place.dir);
  const onVllm = ["--inference.backend", "vllm", "--inference.python", python.path];
  const { code, stderr } = await prl(argsOf("none", ...onVllm, ...COLOCATED), options());
  expect([code, stderr]).toEqual([2, expect.stringContaining("a vLLM for processors cannot sleep")]);
});
