import { access } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Episode } from "../../ts/environments/index.ts";
import { listedNames, missing, promisedNames, unlisted } from "../support/promised-metrics.ts";
import { childPids, isAlive, prl, readJson, readJsonLines, start, workspace } from "../support/prl.ts";
import { runResult } from "../support/runs/run-result.ts";
import { undisturbedRun } from "../support/runs/undisturbed-run.ts";
import { IS_LONG, longTest } from "../support/form.ts";

const SYNC = join(import.meta.dirname, "configs/sync.toml");
const CHILDREN = ["inference-0", "trainer-0", "env-worker-0", "orchestrator-0"];
const STOP_MS = 10_000;

interface Summary {
  status: string;
  steps: number;
  reward: { first: number; last: number; best: number };
  error?: { code: string; message: string };
}
type Line = { component: string; step: number } & Record<string, number | string>;

let place: Awaited<ReturnType<typeof workspace>>;
beforeEach(async () => {
  place = await workspace();
});
afterEach(() => place.remove());
const options = () => ({ cwd: place.dir, cache: place.cache });
const runDir = (name: string) => join(place.dir, "outputs", name);

async function childrenOf(run: string): Promise<Record<string, number>> {
  for (let i = 0; i < 600; i++) {
    const pids = await childPids(run);
    if (CHILDREN.every((name) => name in pids)) return pids;
    await sleep(50);
  }
  throw new Error(`not all of ${CHILDREN.join(", ")} became ready`);
}

describe("prl rl", () => {
  test("tails of an over-sampled batch are cancelled, continued and counted, and every trace marks its earlier tokens", async () => {
    // Random weights go on to the limit: there are always tails.
    const keys = ["--warm-start", "None", "--orchestrator.eval", "None", "--max-steps", "8", "--seq-len", "128"];
    keys.push("--max-async-level", "2", "--orchestrator.oversampling", "3", "--orchestrator.recycle", "tails");
    keys.push("--orchestrator.train.sampling.max-completion-tokens", "100");
    const run = await prl(["rl", SYNC, "--run.name", "tails", ...keys], options());
    expect([run.code, run.stderr]).toEqual([0, expect.any(String)]);
    const lines = await readJsonLines<Line>(join(runDir("tails"), "metrics.jsonl"));
    const last = lines.findLast(({ component }) => component === "orchestrator");
    expect(last?.["dispatcher/dropped/tail"]).toBeGreaterThan(0);
    expect(last?.["dispatcher/recycled/rollouts"]).toBeGreaterThan(0);
    expect(last?.["dispatcher/recycled/tokens_saved"]).toBeGreaterThan(0);
    const traces = [];
    for (let step = 1; step <= 8; step++)
      traces.push(...(await readJsonLines<Episode>(join(runDir("tails"), `rollouts/step_${step}/traces.jsonl`))));
    const recycled = traces.flatMap((episode) => episode.traces).filter((trace) => "recycled_tokens" in trace.metrics);
    expect(recycled.length).toBeGreaterThan(0);
    for (const { metrics, usage, policy, turns } of recycled) {
      expect(metrics["recycled_tokens"]).toBeLessThanOrEqual(usage.completion_tokens);
      expect(turns?.[0]).toMatchObject({ finish_reason: expect.stringMatching("stop|length") as string });
      expect(policy?.start).toBeLessThanOrEqual(policy?.end ?? -1);
    }
  });

  test("trains synchronously through all processes, twice the same, with sampler and trainer equal bit for bit", async () => {
    // With a warm start, whose metrics are promised too: with an empty cache.
    const cache = join(place.dir, "cache");
    const run = await prl(["rl", SYNC, "--run.name", "first"], { ...options(), cache });
    expect(run.stderr + run.stdout).toContain("Step 4/4");
    expect(run.code).toBe(0);
    const summary = await readJson<Summary>(join(runDir("first"), "summary.json"));
    expect(summary).toMatchObject({ status: "completed", steps: 4 });

    const lines = await readJsonLines<Line>(join(runDir("first"), "metrics.jsonl"));
    const trained = lines.filter((line) => line.component === "trainer");
    expect(trained.map((line) => line.step)).toEqual([1, 2, 3, 4]);
    for (const line of trained) {
      expect(line["mismatch_on_policy/tokens"]).toBeGreaterThan(0);
      expect(line["mismatch_on_policy/max_abs_logprob_diff"]).toBe(0);
      expect(line["mismatch_kl/all/mean"]).toBe(0);
    }
    const collected = lines.filter((line) => line.component === "orchestrator" && "off_policy/max" in line);
    expect(collected.map((line) => line["off_policy/max"])).toEqual([0, 0, 0, 0]);

    const shipped = collected.filter((line) => "time/pack" in line);
    const learnt = lines.filter((line) => line.component === "sft" && "time/step" in line);
    for (const [component, own] of [
      ["orchestrator", shipped],
      ["trainer", trained],
      ["sft", learnt],
    ] as const) {
      const promised = await promisedNames(component);
      expect(promised.length).toBeGreaterThan(10);
      expect(own.length).toBeGreaterThanOrEqual(4);
      for (const line of own) expect([line.step, missing(promised, line)]).toEqual([line.step, []]);
      const listed = await listedNames(component);
      for (const line of lines.filter((one) => one.component === component)) {
        expect([line.step, unlisted(listed, line)]).toEqual([line.step, []]);
      }
    }

    expect(await runResult(runDir("first"), 4)).toEqual(await runResult(await undisturbedRun(SYNC), 4));

    const evaluations = lines.filter((line) => "eval/reverse-text/num" in line);
    expect(evaluations.map((line) => line.step)).toEqual([0, 4]);
    await access(join(runDir("first"), "reward.svg"));
    const events = await readJsonLines<{ type: string; max_abs: number; version: number }>(
      join(runDir("first"), "events.jsonl"),
    );
    const canaries = events.filter((event) => event.type === "canary");
    expect(canaries.map((event) => [event.version, event.max_abs])).toEqual(
      [0, 1, 2, 3, 4].map((version) => [version, 0]),
    );
  });

  test("runs asynchronously with bounded staleness and prints one JSON document with --json", async () => {
    // In the order in which groups are opened none can be overtaken, and staleness stays within the level; else within max_off_policy_steps.
    const ordered = ["--max-async-level", "1", "--orchestrator.fifo-window", "1"];
    const args = ["rl", SYNC, ...ordered, "--max-steps", "6", "--run.name", "async", "--json"];
    const run = await prl(args, options());
    expect(run.code).toBe(0);
    expect(JSON.parse(run.stdout)).toMatchObject({ status: "completed", steps: 6 });
    const lines = await readJsonLines<Line>(join(runDir("async"), "metrics.jsonl"));
    const staleness = lines.flatMap((line) => ("off_policy/max" in line ? [Number(line["off_policy/max"])] : []));
    expect(staleness).toHaveLength(6);
    expect(Math.max(...staleness)).toBeLessThanOrEqual(1);
    for (const line of lines) {
      if ("mismatch_on_policy/max_abs_logprob_diff" in line)
        expect(line["mismatch_on_policy/max_abs_logprob_diff"]).toBe(0);
    }
  });

  test("stops every process on Ctrl-C, says interrupted and exits with 130", async () => {
    const { child, finished } = start(["rl", SYNC, "--max-steps", "5000", "--run.name", "interrupted"], options());
    const pids = await childrenOf(runDir("interrupted"));
    const at = Date.now();
    child.kill("SIGINT");
    const run = await finished;
    expect(run.code).toBe(130);
    expect(Date.now() - at).toBeLessThan(STOP_MS);
    expect(Object.values(pids).filter(isAlive)).toEqual([]);
    expect(await readJson(join(runDir("interrupted"), "summary.json"))).toMatchObject({ status: "interrupted" });
  });

  // With a budget they are started again: comeback.test.ts. The others always are: env-workers.test.ts, inference-servers.test.ts.
  test.each(["trainer-0", ...(IS_LONG ? ["orchestrator-0"] : [])])(
    "names %s when it dies, shows the end of its log and how to go on, and exits with 1",
    async (victim) => {
      const args = ["rl", SYNC, "--max-steps", "5000", "--run.name", "killed", "--deployment.max-restarts", "0"];
      const { finished } = start(args, options());
      const pids = await childrenOf(runDir("killed"));
      process.kill(pids[victim] ?? 0, "SIGKILL");
      const run = await finished;
      expect(run.code).toBe(1);
      expect(run.stderr).toContain(victim.replace(/-0$/, ""));
      expect(run.stderr).toContain("SIGKILL");
      expect(run.stderr).toContain("go on with --resume");
      expect(Object.values(pids).filter(isAlive)).toEqual([]);
      expect(await readJson(join(runDir("killed"), "summary.json"))).toMatchObject({
        status: "failed",
        error: { code: "PRL_PROCESS_DIED" },
      });
    },
  );

  longTest("its children stop by themselves when the launcher is killed", async () => {
    const { child, finished } = start(["rl", SYNC, "--max-steps", "5000", "--run.name", "orphans"], options());
    const pids = await childrenOf(runDir("orphans"));
    child.kill("SIGKILL");
    await finished;
    const end = Date.now() + STOP_MS;
    while (Object.values(pids).some(isAlive) && Date.now() < end) await sleep(100);
    expect(Object.values(pids).filter(isAlive)).toEqual([]);
  });
});

describe("prl rl refuses", () => {
  test("an existing run directory without --clean", async () => {
    const args = ["rl", SYNC, "--max-steps", "1", "--run.name", "again"];
    expect((await prl(args, options())).code).toBe(0);
    const again = await prl(args, options());
    expect(again.code).toBe(2);
    expect(again.stderr).toContain("--clean");
    expect((await prl([...args, "--clean"], options())).code).toBe(0);
  });

  test("a mistyped key with file, line and the nearest key", async () => {
    const run = await prl(["rl", SYNC, "--orchestrator.batch-sise", "64"], options());
    expect(run.code).toBe(2);
    expect(run.stderr).toContain("batch-size");
  });
});
