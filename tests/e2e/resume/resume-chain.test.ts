/**
 * A run that is resumed again and again: each link must be able to go on from what the one before left, and every model that it leaves is
 * whole for others. A rolling checkpoint is removed while the run that began with it is still at work.
 */
import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { isThere } from "../../../ts/files/file-presence.ts";
import { childPids, isAlive, prl, readJson, start, workspace } from "../../support/prl.ts";
import { IS_LONG, longTest } from "../../support/form.ts";
import { faultsOfModel } from "../../support/models/saved-model.ts";

const MODEL = join(import.meta.dirname, "../../../configs/reverse-text/model");
const LINKS = IS_LONG ? 4 : 3;
const STEPS_A_LINK = 2;

let place: Awaited<ReturnType<typeof workspace>>;
beforeEach(async () => {
  place = await workspace();
  await cp(MODEL, join(place.dir, "base"), { recursive: true });
  await writeFile(join(place.dir, "base", "chat_template.jinja"), "{{ messages }}");
  const source = `env = { id = "reverse-text", args = { min_len = 2, max_len = 3 } }`;
  await writeFile(
    join(place.dir, "rl.toml"),
    `seed = 3\nseq_len = 256\n[model]\nname = "./base"\n[trainer.optim]\nlr = 1e-3\n[orchestrator]\nbatch_size = 8\ngroup_size = 4\n` +
      `[orchestrator.train.sampling]\nmax_completion_tokens = 4\n[[orchestrator.train.source]]\n${source}\n`,
  );
  await writeFile(
    join(place.dir, "sft.toml"),
    `seed = 3\nseq_len = 256\n[model]\nname = "./base"\n[data]\nbatch_size = 4\n${source}\n[optim]\nlr = 1e-3\n`,
  );
});
afterEach(() => place.remove());
const options = () => ({ cwd: place.dir, cache: place.cache });
const runDir = () => join(place.dir, "outputs", "chain");

/** Folders below the run directory that hold a model. */
async function models(): Promise<string[]> {
  const entries = await readdir(runDir(), { recursive: true });
  return entries
    .filter((entry) => /(^|\/)model\.safetensors$/.test(entry) && !/\/\./.test(entry))
    .map((entry) => join(runDir(), entry, ".."));
}

async function faults(): Promise<string[]> {
  const found = await models();
  expect(found.length).toBeGreaterThan(0);
  return (await Promise.all(found.map((dir) => faultsOfModel(dir, join(place.dir, "base"))))).flat();
}

const LONG_CHAINS: [string, string, string[]][] = [
  ["rl", "rolling checkpoints, level 0", ["--max-async-level", "0", "--ckpt.recovery-interval", "1"]],
  ["rl", "kept checkpoints, level 1", ["--max-async-level", "1", "--ckpt.interval", "2"]],
  ["sft", "rolling checkpoints", ["--ckpt.recovery-interval", "1"]],
  ["sft", "kept checkpoints", ["--ckpt.interval", "2"]],
];

describe("a chain of resumes", () => {
  test.each([
    ["rl", "rolling checkpoints, level 1", ["--max-async-level", "1", "--ckpt.recovery-interval", "1"]],
    [
      "rl",
      "kept checkpoints, of which one stays, level 0",
      ["--max-async-level", "0", "--ckpt.interval", "1", "--ckpt.keep-last", "1"],
    ],
    ...(IS_LONG ? LONG_CHAINS : []),
  ])("%s, %s: every link ends, and every model is whole", { timeout: 600_000 }, async (command, _kind, more) => {
    for (let link = 1; link <= LINKS; link++) {
      const steps = String(STEPS_A_LINK * link);
      const args = [command, `${command}.toml`, "--run.name", "chain", "--max-steps", steps, ...more];
      const run = await prl([...args, ...(link === 1 ? [] : ["--resume"])], options());
      expect(run.stderr).toBe("");
      expect(run.code).toBe(0);
      if (link > 1) expect(run.stdout).toContain(`from the checkpoint of step ${STEPS_A_LINK * (link - 1)}`);
      expect(await faults()).toEqual([]);
    }
  });

  test(
    "an inference server is started again when the checkpoint that the run began with is gone",
    { timeout: 600_000 },
    async () => {
      const args = ["rl", "rl.toml", "--run.name", "chain", "--ckpt.recovery-interval", "1"];
      expect((await prl([...args, "--max-steps", "2"], options())).code).toBe(0);
      const { finished } = start([...args, "--max-steps", "12", "--resume"], {
        ...options(),
        deadlineMs: 500_000,
      });
      const begunWith = join(runDir(), "checkpoints/step_2");
      for (let i = 0; i < 2400 && (await isThere(begunWith)); i++) await sleep(25);
      expect(await isThere(begunWith)).toBe(false);
      const { "inference-0": pid } = await childPids(runDir());
      if (pid === undefined) throw new Error("no inference server is there");
      process.kill(pid, "SIGKILL");
      const { code, stdout } = await finished;
      expect(stdout).toContain("inference-0 ended (signal SIGKILL) and is started again");
      expect(code).toBe(0);
      expect(await faults()).toEqual([]);
    },
  );

  longTest(
    "a run that was killed before its first checkpoint begins again at step 0 and says so",
    { timeout: 600_000 },
    async () => {
      const args = ["rl", "rl.toml", "--run.name", "chain", "--max-steps", "3", "--ckpt.recovery-interval", "1000"];
      for (let attempt = 1; attempt <= 2; attempt++) {
        const { child, finished } = start([...args.with(5, "5000"), ...(attempt === 1 ? [] : ["--resume"])], options());
        const first = join(runDir(), "weights/step_2/manifest.json");
        for (let i = 0; i < 2400 && !(await isThere(first)); i++) await sleep(25);
        const pids = Object.values(await childPids(runDir()));
        child.kill("SIGKILL");
        await finished;
        for (let i = 0; i < 600 && pids.some(isAlive); i++) await sleep(25);
        expect(pids.filter(isAlive)).toEqual([]);
        await rm(first);
      }
      // A half that was never joined is no checkpoint.
      await mkdir(join(runDir(), "checkpoints/step_2/trainer"), { recursive: true });
      const resumed = await prl([...args, "--resume"], options());
      expect(resumed.stdout).toContain("from step 0, because the run has no whole checkpoint yet, attempt 3");
      expect(resumed.code).toBe(0);
      expect(await readJson(join(runDir(), "summary.json"))).toMatchObject({ status: "completed", steps: 3 });
      expect(await faults()).toEqual([]);

      // One whose checkpoints were moved away must not begin again over what is left of it.
      await rm(join(runDir(), "checkpoints"), { recursive: true });
      const moved = await prl([...args, "--resume"], options());
      expect(moved.code).toBe(2);
      expect(moved.stderr).toContain("has no checkpoint, but the run has made one at step 3");
      expect(await readFile(join(runDir(), "summary.json"), "utf8")).toContain("completed");
    },
  );
});
