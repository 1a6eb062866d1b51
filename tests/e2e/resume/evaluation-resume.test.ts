/** An orchestrator that is killed in the middle of an evaluation: the next one keeps the rollouts that have ended, and the numbers are those of an undisturbed run. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { prl, readJson, readJsonLines, start, workspace } from "../../support/prl.ts";

const MODEL = join(import.meta.dirname, "../../../configs/reverse-text/model");
const TEST = { timeout: 600_000 };
const DEADLINE_MS = 120_000;
const SOURCE = `env = { id = "reverse-text", args = { min_len = 2, max_len = 4 } }`;
const EVALUATION = `interval = 1\nnum_examples = 300\nsampling = { max_completion_tokens = 8 }\n`;
/** The evaluation is killed when so many of its rollouts have ended. */
const ENDED = 25;

let place: Awaited<ReturnType<typeof workspace>>;
beforeAll(async () => {
  place = await workspace();
  await writeFile(
    join(place.dir, "rl.toml"),
    `seed = 5\nseq_len = 256\nmax_steps = 2\nmax_async_level = 0\n[model]\nname = "${MODEL}"\n[trainer.optim]\nlr = 1e-4\n` +
      `[orchestrator]\nbatch_size = 4\ngroup_size = 2\nmax_inflight = 2\n[orchestrator.train.sampling]\nmax_completion_tokens = 8\n` +
      `[[orchestrator.train.source]]\n${SOURCE}\n[orchestrator.eval]\n${EVALUATION}[[orchestrator.eval.source]]\nname = "held-out"\n${SOURCE}\n`,
  );
  await writeFile(
    join(place.dir, "sft.toml"),
    `seed = 3\nseq_len = 256\nmax_steps = 2\n[model]\nname = "${MODEL}"\n[data]\nbatch_size = 4\n${SOURCE}\n[optim]\nlr = 1e-3\n` +
      `[eval]\n${EVALUATION}[[eval.source]]\nname = "held-out"\n${SOURCE}\n`,
  );
});
afterAll(() => place.remove());

const options = () => ({ cwd: place.dir, cache: place.cache });
const runDir = (name: string) => join(place.dir, "outputs", name);
const evaluationOf = (name: string, version: number) =>
  join(runDir(name), `rollouts/step_${version}/eval/held-out.jsonl`);

/** Waits for the middle of a version's evaluation, kills the orchestrator, and returns the episodes that had ended. */
async function killIn(name: string, version: number): Promise<string[]> {
  const ended = async () => {
    const text = await readFile(`${evaluationOf(name, version)}.part`, "utf8").catch(() => "");
    return text.split("\n").slice(0, -1);
  };
  for (const end = Date.now() + DEADLINE_MS; (await ended()).length < ENDED; await sleep(2))
    if (Date.now() > end) throw new Error(`the evaluation of version ${version} did not come so far`);
  const { pid } = await readJson<{ pid: number }>(join(runDir(name), "run/orchestrator-0.json"));
  process.kill(pid, "SIGKILL");
  await expect(readFile(evaluationOf(name, version))).rejects.toThrow("ENOENT");
  return ended();
}

/** The numbers of each evaluation by its version, those of the last attempt. */
async function evaluationsOf(name: string): Promise<Map<unknown, object>> {
  const lines = await readJsonLines<Record<string, unknown>>(join(runDir(name), "metrics.jsonl"));
  return new Map(
    lines
      .filter((line) => "time/evaluation" in line)
      .map((line) => [
        line["step"],
        Object.fromEntries(
          Object.entries(line).filter(([key]) => key.startsWith("eval/") && !/tim(e|ing)|_ms/.test(key)),
        ),
      ]),
  );
}

describe.each([
  ["rl", 1, 1],
  // Its orchestrator goes back to the newest checkpoint with the learner, which makes the same weights again.
  ["sft", 1, 2],
] as const)("an evaluation of prl %s", (command, version, attempts) => {
  test("goes on after the orchestrator was killed, with the numbers of an undisturbed run", TEST, async () => {
    const args = [command, `${command}.toml`, "--run.name"];
    expect(await prl([...args, `${command}-whole`], options())).toMatchObject({ code: 0 });
    const name = `${command}-killed`;
    const { finished } = start([...args, name], options());
    const kept = await killIn(name, version);
    expect(await finished).toMatchObject({ code: 0 });
    const lines = (await readFile(evaluationOf(name, version), "utf8")).split("\n").slice(0, -1);
    expect(lines).toHaveLength(300);
    expect(kept.length).toBeGreaterThanOrEqual(ENDED);
    expect(kept.filter((line) => !lines.includes(line))).toEqual([]);
    const whole = await evaluationsOf(`${command}-whole`);
    expect([...whole.keys()]).toEqual([0, 1, 2]);
    expect(await evaluationsOf(name)).toEqual(whole);
    const { attempt } = (await readJsonLines<{ attempt: number }>(join(runDir(name), "metrics.jsonl"))).at(-1) ?? {};
    expect(attempt).toBe(attempts);
  });
});
