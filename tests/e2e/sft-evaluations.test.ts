/** Supervised runs that are evaluated while they train: the same weights, and rewards of the versions that were asked for. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { digestFile } from "../../ts/native/index.ts";
import { prl, readJson, readJsonLines, workspace } from "../support/prl.ts";

const CONFIG = join(import.meta.dirname, "configs/sft-evaluated.toml");
const REWARD = "eval/held-out/all/agent/reward/mean";

let place: Awaited<ReturnType<typeof workspace>>;
beforeEach(async () => {
  place = await workspace();
});
afterEach(() => place.remove());
const options = () => ({ cwd: place.dir, cache: place.cache });
const runDir = (name: string) => join(place.dir, "outputs", name);

async function evaluations(name: string) {
  const lines = await readJsonLines<Record<string, number>>(join(runDir(name), "metrics.jsonl"));
  return lines.filter((line) => REWARD in line).map((line) => ({ version: line["step"], attempt: line["attempt"] }));
}
const weights = async (name: string) => (await digestFile(join(runDir(name), "model/model.safetensors"))).digest;

describe("prl sft with [eval]", () => {
  test(
    "evaluates the start, every interval and the end, and trains the same weights as without evaluations",
    { timeout: 300_000 },
    async () => {
      const args = ["sft", CONFIG, "--ckpt.interval", "1"];
      const { code, stdout, stderr } = await prl([...args, "--run.name", "evaluated"], options());
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect((await evaluations("evaluated")).map(({ version }) => version)).toEqual([0, 2, 4, 5]);
      expect(stdout).toContain("Evaluated held-out | Policy v2 | Reward");
      expect(stdout).toMatch(/held-out evaluation +before +after/);
      const summary = await readJson<Record<string, unknown>>(join(runDir("evaluated"), "summary.json"));
      expect(summary).toMatchObject({
        status: "completed",
        steps: 5,
        eval: { "held-out": { before: { policy_version: 0, num: 8 }, after: { policy_version: 5 } } },
      });

      expect((await prl([...args, "--run.name", "alone", "--eval", "None"], options())).code).toBe(0);
      expect(await evaluations("alone")).toEqual([]);
      expect(await weights("evaluated")).toBe(await weights("alone"));

      const resumed = await prl(
        [...args, "--run.name", "evaluated", "--resume", "3", "--eval.hold-weights"],
        options(),
      );
      expect(resumed.code).toBe(0);
      expect(
        (await evaluations("evaluated")).filter(({ attempt }) => attempt === 2).map(({ version }) => version),
      ).toEqual([4, 5]);
      expect(await weights("evaluated")).toBe(await weights("alone"));

      // An evaluation that the attempt before did not end is made again.
      await rm(join(runDir("evaluated"), "rollouts/step_4/eval"), { recursive: true });
      expect((await prl([...args, "--run.name", "evaluated", "--resume", "4"], options())).code).toBe(0);
      const third = (await evaluations("evaluated")).filter(({ attempt }) => attempt === 3);
      expect(third.map(({ version }) => version)).toEqual([4, 5]);
    },
  );

  test("mistakes of an evaluation are named before anything starts", async () => {
    const unknown = await prl(["sft", CONFIG, "--eval.source.0.env.id", "reverse-tixt"], options());
    expect(unknown.code).toBe(2);
    expect(unknown.stderr).toContain("eval.source.0.env.id");
    const twice = JSON.stringify([{ env: { id: "reverse-text" } }, { env: { id: "reverse-text" } }]);
    const double = await prl(["sft", CONFIG, "--eval.source", twice], options());
    expect(double.code).toBe(2);
    expect(double.stderr).toContain("give each source another name");
  });
});
