/** Runs that go on from a checkpoint: after their end, after a kill, past a damaged one; and what cannot be resumed. */
import { access, readdir, readFile, rename, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openSafetensors } from "../../../ts/native/weights/index.ts";
import { childPids, isAlive, prl, readJson, readJsonLines, start, workspace } from "../../support/prl.ts";
import { IS_LONG, longTest } from "../../support/form.ts";

const SYNC = join(import.meta.dirname, "../configs/sync.toml");
const STEPS = 5;
const STOP_MS = 15_000;

let place: Awaited<ReturnType<typeof workspace>>;
beforeEach(async () => {
  place = await workspace();
});
afterEach(() => place.remove());
const options = () => ({ cwd: place.dir, cache: place.cache });
const runDir = (name: string) => join(place.dir, "outputs", name);
const argsOf = (name: string, ...more: string[]) => {
  const shared = ["--max-steps", String(STEPS), "--ckpt.interval", "1", "--orchestrator.eval.interval", "2"];
  return ["rl", SYNC, ...shared, "--run.name", name, ...more];
};

/** What has to be equal: batches, final weights, metrics but times. */
async function historyOf(name: string) {
  const batches = [];
  for (let step = 1; step <= STEPS; step++) {
    const file = await openSafetensors(join(runDir(name), `rollouts/step_${step}/rank_0.safetensors`));
    batches.push(file.metadata["digest"]);
    file.close();
  }
  const { digest } = await readJson<{ digest: string }>(join(runDir(name), `weights/step_${STEPS}/manifest.json`));
  const lines = await readJsonLines<Record<string, unknown>>(join(runDir(name), "metrics.jsonl"));
  const metrics = new Map<string, Record<string, unknown>>();
  for (const { time: _time, attempt: _attempt, component, step, ...values } of lines) {
    const kept = Object.entries(values).filter(
      ([key]) =>
        !/^(time|timing|perf|event_loop_lag|dispatcher|concurrency|inference|watcher|system)\//.test(key) &&
        !/timing|_ms|loop/.test(key),
    );
    const evaluated = kept.some(([key]) => key.startsWith("eval/")) ? "eval" : "step";
    if (kept.length > 0) metrics.set(`${String(component)} ${String(step)} ${evaluated}`, Object.fromEntries(kept));
  }
  return { batches, digest, metrics };
}

async function checkpoint(name: string, step: number): Promise<void> {
  const path = join(runDir(name), `checkpoints/step_${step}/manifest.json`);
  for (let i = 0; i < 1200; i++) {
    if (
      await access(path).then(
        () => true,
        () => false,
      )
    )
      return;
    await sleep(25);
  }
  throw new Error(`${path} did not come`);
}

describe("prl rl --resume", () => {
  test("ends as the undisturbed run, from each checkpoint, and after kill -9 of the launcher", async () => {
    expect((await prl(argsOf("whole"), options())).code).toBe(0);
    const whole = await historyOf("whole");
    const from = Array.from({ length: STEPS - 1 }, (_, i) => i + 1).filter(
      (step) => IS_LONG || step === 1 || step === STEPS - 1,
    );
    // Every second time on another number of inference servers and env workers, which the other flag asks for.
    const others = ["--inference.replicas", "2", "--orchestrator.env-workers", "2"];
    for (const [index, step] of from.entries()) {
      const asked = index % 2 === 0 ? ["--resume", String(step)] : ["--ckpt.resume-step", String(step), ...others];
      const run = await prl(argsOf("whole", ...asked), options());
      expect(run.stdout + run.stderr).toContain(`from the checkpoint of step ${step}`);
      expect(run.code).toBe(0);
      expect(await historyOf("whole")).toEqual(whole);
    }
    expect((await readdir(join(runDir("whole"), "logs"))).toSorted()).toEqual([
      ...Array.from({ length: 1 + from.length }, (_, i) => `attempt_${i + 1}`),
      "latest",
    ]);

    const { child, finished } = start(argsOf("killed"), options());
    await checkpoint("killed", 2);
    const pids = Object.values(await childPids(runDir("killed")));
    child.kill("SIGKILL");
    await finished;
    const end = Date.now() + STOP_MS;
    while (pids.some(isAlive) && Date.now() < end) await sleep(50);
    expect(pids.filter(isAlive)).toEqual([]);
    const resumed = await prl(argsOf("killed", "--resume"), options());
    expect(resumed.stderr + resumed.stdout).toContain("Resumed");
    expect(resumed.code).toBe(0);
    const { batches, digest } = await historyOf("killed");
    expect({ batches, digest }).toEqual({ batches: whole.batches, digest: whole.digest });
    expect(await readJson(join(runDir("killed"), "summary.json"))).toMatchObject({
      status: "completed",
      steps: STEPS,
    });
  });

  test("goes on from the step at which a signal has stopped it, as if nothing had happened", async () => {
    expect((await prl(argsOf("whole"), options())).code).toBe(0);
    const whole = await historyOf("whole");
    // The second run takes the warm start from the cache.
    for (const key of whole.metrics.keys()) if (key.startsWith("sft ")) whole.metrics.delete(key);
    // Checkpoints at an interval are off, so that the only one is that of the stop.
    const args = (...more: string[]) => argsOf("stopped", "--ckpt.interval", "None", ...more);
    const { child, finished } = start(args(), options());
    const trained = new Promise<void>((resolve) => {
      child.stdout?.on("data", (chunk) => String(chunk).includes("Step 2/") && resolve());
    });
    await Promise.race([trained, finished]);
    child.kill("SIGINT");
    const stopped = await finished;
    expect(stopped.stdout).toMatch(/ended where it was: --resume goes on from the checkpoint of step [234]/);
    expect(stopped.code).toBe(130);
    const resumed = await prl(args("--resume"), options());
    expect(resumed.stdout).toMatch(/from the checkpoint of step [234]/);
    expect(resumed.code).toBe(0);
    expect(await historyOf("stopped")).toEqual(whole);
  });

  test("passes over a damaged checkpoint, and refuses another seed, source or run; its directory may be renamed", async () => {
    const args = ["rl", SYNC, "--max-steps", "2", "--ckpt.interval", "1", "--orchestrator.eval", "None"];
    expect((await prl([...args, "--run.name", "mine"], options())).code).toBe(0);
    const again = [...args, "--run.name", "mine", "--resume"];
    for (const [change, what] of [
      [["--seed", "9"], "seed"],
      [["--orchestrator.train.source.0.name", "other"], "orchestrator.train.source"],
    ] as const) {
      const run = await prl([...again, ...change], options());
      expect(run.code).toBe(2);
      expect(run.stderr).toContain(`PRL_RUN_DRIFT`);
      expect(run.stderr).toContain(what);
    }
    const unknown = await prl([...again, "9"], options());
    expect(unknown.code).toBe(2);
    expect(unknown.stderr).toContain("there are 2, 1");
    const missing = await prl([...args, "--run.name", "nobody", "--resume"], options());
    expect(missing.code).toBe(2);
    expect(missing.stderr).toContain("PRL_RUN_UNKNOWN");

    const manifest = join(runDir("mine"), "checkpoints/step_2/manifest.json");
    const text = await readFile(manifest, "utf8");
    await writeFile(manifest, text.replace('"run": "mine"', '"run": "other"'));
    const foreign = await prl(again, options());
    expect([foreign.code, foreign.stderr]).toEqual([2, expect.stringContaining("PRL_CHECKPOINT_FOREIGN")]);
    expect(foreign.stderr).toContain("step_2/manifest.json is of run other, not of mine");
    await writeFile(manifest, text);

    await truncate(join(runDir("mine"), "checkpoints/step_2/trainer/optimizer.safetensors"), 1000);
    // A run may be moved as a whole; its checkpoints keep its first name.
    await rename(runDir("mine"), runDir("moved"));
    const run = await prl([...args, "--run.name", "moved", "--resume", "--max-steps", "3"], options());
    expect(run.code).toBe(0);
    expect(await readJson(join(runDir("moved"), "checkpoints/step_3/manifest.json"))).toMatchObject({ run: "mine" });
    expect(run.stdout + run.stderr).toContain("checkpoint 2 is passed over");
    expect(run.stdout + run.stderr).toContain("Changed since the last attempt: max_steps");
    expect(await readJson(join(runDir("moved"), "summary.json"))).toMatchObject({ status: "completed", steps: 3 });
  });

  test("a run directory in use is refused with the process that uses it", async () => {
    const args = argsOf("busy", "--max-steps", "5000");
    const { child, finished } = start(args, options());
    await checkpoint("busy", 1);
    for (const more of [["--resume"], ["--clean"]]) {
      const second = await prl([...args, ...more], options());
      expect(second.code).toBe(2);
      expect(second.stderr).toContain(`in use by a live run, process ${child.pid}`);
    }
    child.kill("SIGTERM");
    await finished;
  });

  longTest("of two launchers at the same moment one has the run, the other names it", async () => {
    for (const more of [[], ["--resume", "1"]]) {
      const args = argsOf("both", ...more);
      const both = [start(args, options()), start(args, options())];
      const ended = await Promise.all(both.map(({ finished }) => finished));
      const winner = ended.findIndex(({ code }) => code === 0);
      const loser = ended[1 - winner];
      expect(winner).toBeGreaterThanOrEqual(0);
      expect(loser?.code).toBe(2);
      expect(loser?.stderr).toContain("PRL_RUN_LOCKED");
      expect(loser?.stderr).toContain(`process ${both[winner]?.child.pid}`);
      expect(await readJson(join(runDir("both"), "summary.json"))).toMatchObject({ status: "completed", steps: STEPS });
    }
  });
});
