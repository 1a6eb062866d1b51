/** Supervised runs that go on from a checkpoint end as if nothing had happened. */
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { digestFile } from "../../../ts/native/index.ts";
import { childPids, isAlive, prl, readJson, readJsonLines, start, workspace } from "../../support/prl.ts";
import { IS_LONG, longTest } from "../../support/form.ts";

const CONFIG = join(import.meta.dirname, "../configs/sft.toml");
const STEPS = 6;
const DEADLINE_MS = 90_000;

let place: Awaited<ReturnType<typeof workspace>>;
beforeEach(async () => {
  place = await workspace();
});
afterEach(() => place.remove());
const options = () => ({ cwd: place.dir, cache: place.cache });
const runDir = (name: string) => join(place.dir, "outputs", name);

/** So few rows that batches cross the ends of epochs; a copy of the config without its environment. */
async function rowsConfig(): Promise<string> {
  const rows = Array.from({ length: 9 }, (_, i) => ({ prompt: `say ${i}: `, completion: "ab".repeat(i + 1) }));
  await writeFile(join(place.dir, "rows.jsonl"), rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
  const model = join(import.meta.dirname, "../../../configs/reverse-text/model");
  const path = join(place.dir, "rows.toml");
  await writeFile(
    path,
    `seed = 3\nmax_steps = ${STEPS}\nmodel.name = "${model}"\ndata = { batch_size = 4, source = "./rows.jsonl" }\nval = { share = 0.2, interval = 2 }\noptim.lr = 1e-3\nscheduler = { type = "cosine", warmup_steps = 2 }\n`,
  );
  return path;
}

/** Weights and numbers, times left out. */
async function outcome(name: string) {
  const { digest } = await digestFile(join(runDir(name), "model/model.safetensors"));
  const lines = await readJsonLines<Record<string, number>>(join(runDir(name), "metrics.jsonl"));
  const numbers = new Map(
    lines.map(({ time: _time, attempt: _attempt, ...line }) => [
      line["step"],
      Object.fromEntries(Object.entries(line).filter(([key]) => !/^(time|perf|system)\//.test(key))),
    ]),
  );
  return { digest, numbers };
}

describe("prl sft --resume", () => {
  test("goes on from the step at which a signal has stopped it", { timeout: 300_000 }, async () => {
    const args = (name: string, ...more: string[]) => [config, "--max-steps", "60", "--run.name", name, ...more];
    const config = await rowsConfig();
    expect((await prl(["sft", ...args("whole")], options())).code).toBe(0);
    const { child, finished } = start(["sft", ...args("stopped")], options());
    const begun = new Promise<void>((resolve) => {
      child.stdout?.on("data", (chunk) => String(chunk).includes("SFT step") && resolve());
    });
    await Promise.race([begun, finished]);
    child.kill("SIGTERM");
    const stopped = await finished;
    expect(stopped.stdout).toMatch(/ended where it was: --resume goes on from the checkpoint of step \d+/);
    expect(stopped.code).toBe(143);
    const resumed = await prl(["sft", ...args("stopped", "--resume")], options());
    const at = /goes on from the checkpoint of step (\d+)/.exec(stopped.stdout)?.[1];
    expect(resumed.stdout).toContain(`from the checkpoint of step ${at}`);
    expect(resumed.code).toBe(0);
    expect(await outcome("stopped")).toEqual(await outcome("whole"));
  });

  test.each(["rows over several epochs, validated", ...(IS_LONG ? ["demonstrations of an environment"] : [])])(
    "%s: ends as the undisturbed run, from each checkpoint",
    { timeout: 300_000 },
    async (what) => {
      const config = what.startsWith("rows") ? await rowsConfig() : CONFIG;
      const args = ["sft", config, "--ckpt.interval", "1", "--run.name", "mine"];
      expect((await prl(args, options())).stderr).toBe("");
      const whole = await outcome("mine");
      expect(whole.numbers.size).toBe(STEPS);
      for (const step of [1, 3, STEPS - 1]) {
        const run = await prl([...args, "--resume", String(step)], options());
        expect(run.stdout + run.stderr).toContain(`from the checkpoint of step ${step}`);
        expect(run.code).toBe(0);
        expect(await outcome("mine")).toEqual(whole);
      }
      const summary = await readJson(join(runDir("mine"), "summary.json"));
      expect(summary).toMatchObject({ status: "completed", steps: STEPS });

      if (!what.startsWith("rows")) return;
      const rows = await readFile(join(place.dir, "rows.jsonl"), "utf8");
      await writeFile(join(place.dir, "moved.jsonl"), rows);
      const moved = [...args, "--data.source", "./moved.jsonl", "--resume"];
      expect((await prl([...moved, "3"], options())).stdout).toContain("Changed since the last attempt: data.source");
      expect(await outcome("mine")).toEqual(whole);
      await writeFile(join(place.dir, "moved.jsonl"), rows.replace("ab", "ba"));
      const drifted = await prl([...moved, "3"], options());
      expect(drifted.code).toBe(2);
      expect(drifted.stderr).toContain("PRL_RUN_DRIFT");
      // Nothing was taken away for it.
      expect(await outcome("mine")).toEqual(whole);
      expect(await readdir(join(runDir("mine"), "checkpoints"))).toContain(`step_${STEPS}`);
    },
  );

  test("after kill -9 of the launcher, and keeps only the rolling checkpoint", { timeout: 300_000 }, async () => {
    const args = ["sft", CONFIG, "--max-steps", "400", "--ckpt.recovery-interval", "5"];
    const { child, finished } = start([...args, "--run.name", "killed"], options());
    const end = Date.now() + DEADLINE_MS;
    const kept = (): Promise<string[]> => readdir(join(runDir("killed"), "checkpoints")).catch(() => []);
    while (!(await kept()).includes("step_10") && Date.now() < end) await sleep(20);
    const pids = Object.values(await childPids(runDir("killed")));
    child.kill("SIGKILL");
    await finished;
    while (pids.some(isAlive) && Date.now() < end) await sleep(50);
    const resumed = await prl([...args, "--run.name", "killed", "--max-steps", "60", "--resume"], options());
    expect(resumed.stdout).toContain("Changed since the last attempt: max_steps");
    expect(resumed.code).toBe(0);
    expect(await kept()).toEqual(["step_60"]);
    expect((await prl([...args, "--run.name", "whole", "--max-steps", "60"], options())).code).toBe(0);
    expect((await outcome("killed")).digest).toBe((await outcome("whole")).digest);
  });

  test("a new run is refused the checkpoints of another", async () => {
    const args = ["sft", CONFIG, "--max-steps", "1", "--run.name", "mine", "--ckpt.path", "./kept"];
    expect((await prl(args, options())).code).toBe(0);
    const again = await prl([...args, "--clean"], options());
    expect(again.code).toBe(2);
    expect(again.stderr).toContain("PRL_RUN_EXISTS");
    expect(again.stderr).toContain(join("kept", "mine"));
  });

  longTest("another seed is another run", async () => {
    expect((await prl(["sft", CONFIG, "--run.name", "mine"], options())).code).toBe(0);
    const other = await prl(["sft", CONFIG, "--run.name", "mine", "--seed", "8", "--resume"], options());
    expect(other.code).toBe(2);
    expect(other.stderr).toContain("PRL_RUN_DRIFT");
    expect(other.stderr).toContain("configs/sft-run.json");
  });
});
