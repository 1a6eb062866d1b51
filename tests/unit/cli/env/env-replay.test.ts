import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { modulePath } from "../../../support/compiled.ts";
import { chatCompletion, mockEndpoint, status } from "../../../support/mock-endpoint.ts";
import { prl } from "../run.ts";

/** Environments are imported once per path: the rewards of now are those of another file. */
const environment = (rewards: string, extra = "") => `
import { defineEnvironment, groupReward, singleTurn, z } from "${modulePath("environments/index.ts")}";
export default defineEnvironment({
  name: "say", version: "2.0.0", config: z.strictObject({}),
  tasks: () => Array.from({ length: 4 }, (_, i) => ({ prompt: [{ role: "user", content: "say " + i }], answer: String(i) })),
  rollout: singleTurn(), ${extra} rewards: { ${rewards} },
});
`;
const EXACT = "exact: ({ task, trace }) => trace.lastReply === task.answer";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "prl-replay-"));
});
afterEach(() => rmSync(dir, { recursive: true }));

/** Evaluates: 0 and 2 are said right, 3 fails. Then the run knows the environment by another file, `now.mjs`. */
async function evaluated(now: string, then = EXACT): Promise<string> {
  writeFileSync(join(dir, "say.mjs"), environment(then));
  writeFileSync(join(dir, "now.mjs"), now);
  const mock = await mockEndpoint(({ body }) => {
    const asked = (body["messages"] as { content: string }[])[0]?.content.replace("say ", "") ?? "";
    return asked === "3" ? status(401, {}) : chatCompletion(asked === "1" ? "one" : asked);
  });
  const ran = await prl(["eval", "./say.mjs", "-m", "m", "-b", `${mock.url}/v1`, "--run.name", "first"], dir);
  await mock.close();
  expect([ran.code, ran.stderr]).toEqual([0, expect.stringContaining("first")]);
  const run = join(dir, "outputs", "first");
  const config = join(run, "configs", "eval.json");
  writeFileSync(config, readFileSync(config, "utf8").replaceAll("say.mjs", "now.mjs"));
  return run;
}

describe("prl env replay", () => {
  test("scores saved traces with the present rewards, and changes nothing", async () => {
    const run = await evaluated(environment(`${EXACT}, said: ({ trace }) => trace.lastReply.length`));
    const traces = readFileSync(join(run, "traces.jsonl"), "utf8");
    const { code, stdout } = await prl(["env", "replay", run, "--json"], dir);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      run_dir: run,
      sources: [
        {
          type: "eval",
          environment: { name: "say", version: "2.0.0" },
          left_out: { PRL_INFERENCE_AUTH: 1 },
          changed: 3,
          failed: 0,
          before: 2 / 3,
          now: 7 / 3,
        },
      ],
    });
    const rollouts = (JSON.parse(stdout) as { sources: { rollouts: { before: number; now: number }[] }[] }).sources[0]
      ?.rollouts;
    expect(rollouts?.map(({ before, now }) => [before, now]).toSorted()).toEqual([
      [0, 3],
      [1, 2],
      [1, 2],
    ]);
    expect(readFileSync(join(run, "traces.jsonl"), "utf8")).toBe(traces);
    const text = await prl(["env", "replay", "outputs/first"], dir);
    expect(text.stdout).toMatch(/eval\/\S+ +say 2\.0\.0 +3 +3 +0 +1 +0\.6667 +2\.3333/u);
  });

  test("rewards of a group too; a reward that fails, or asks for a sandbox that is gone, is reported", async () => {
    const rank = "rank: groupReward(1, ({ traces }) => traces.map((trace) => traces.length * 10))";
    const grouped = await evaluated(environment(`${EXACT}, ${rank}`));
    expect((await prl(["env", "replay", grouped], dir)).stdout).toMatch(/0\.6667 +10\.6667/u);
    rmSync(join(dir, "outputs"), { recursive: true });
    writeFileSync(
      join(dir, "gone.mjs"),
      environment("left: async ({ sandbox }) => Boolean(await sandbox())", "requires: { sandbox: true },"),
    );
    const run = await evaluated(environment(EXACT));
    const config = join(run, "configs", "eval.json");
    writeFileSync(config, readFileSync(config, "utf8").replaceAll("now.mjs", "gone.mjs"));
    const { code, stdout } = await prl(["env", "replay", run], dir);
    expect(code).toBe(1);
    expect(stdout).toContain("PRL_ENVIRONMENT_UNSUPPORTED");
  });

  test("a rollout that came to its end is scored now although its rewards had failed", async () => {
    const throwing = "exact: ({ trace }) => { if (trace.lastReply === 'one') throw new Error('a bug'); return 1; }";
    const run = await evaluated(environment(EXACT), throwing);
    const { code, stdout } = await prl(["env", "replay", run, "--json"], dir);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      sources: [{ left_out: { PRL_INFERENCE_AUTH: 1 }, failed: 0, before: 1, now: 2 / 3 }],
    });
    const text = (await prl(["env", "replay", run], dir)).stdout;
    expect(text).toMatch(/1 left out, PRL_INFERENCE_AUTH/u);
    expect(text).toMatch(/: - is 0\.0000/u);
  });

  test("of a training run: its steps, with the advantages that stand beside the episodes, and its evaluations", async () => {
    const run = await evaluated(environment("always: () => 1"));
    const lines = readFileSync(join(run, "traces.jsonl"), "utf8").trim().split("\n");
    const trained = join(dir, "trained");
    for (const folder of ["configs", "rollouts/step_0/eval", "rollouts/step_1"])
      mkdirSync(join(trained, folder), { recursive: true });
    const source = { name: "", env: { id: null, path: join(dir, "now.mjs"), args: {} } };
    const orchestrator = {
      train: { source: [{ ...source, name: "mine" }] },
      eval: { source: [{ ...source, name: "held" }] },
    };
    writeFileSync(join(trained, "configs", "rl.json"), JSON.stringify({ orchestrator }));
    const write = (file: string, type: string, name: string) => {
      const episodes = lines.map((line) => JSON.parse(line) as { env: object; run: object });
      const changed = episodes.map((one) => ({
        ...one,
        env: { ...one.env, name },
        run: { type, step: 0 },
        advantage: 0.5,
      }));
      writeFileSync(join(trained, file), `${changed.map((one) => JSON.stringify(one)).join("\n")}\n{"torn":`);
    };
    write("rollouts/step_0/traces.jsonl", "train", "mine");
    write("rollouts/step_1/traces.jsonl", "train", "mine");
    write("rollouts/step_0/eval/held.jsonl", "eval", "held");
    const { stdout } = await prl(["env", "replay", trained, "--json"], dir);
    expect(JSON.parse(stdout)).toMatchObject({
      sources: [
        { type: "train", source: "mine", before: 2 / 3, now: 1, failed: 0 },
        { type: "eval", source: "held", before: 2 / 3, now: 1, failed: 0 },
      ],
    });
    const { sources } = JSON.parse(stdout) as { sources: { rollouts: unknown[] }[] };
    expect(sources.map(({ rollouts }) => rollouts.length)).toEqual([6, 3]);
  });

  test.each([
    ["a folder without a run", ["."], "PRL_RUN_UNKNOWN"],
    ["nothing", [], "PRL_CLI_USAGE"],
  ])("%s is refused with exit code 2", async (_, args, code) => {
    const ran = await prl(["env", "replay", ...args], dir);
    expect(ran.stderr).toContain(code);
    expect(ran.code).toBe(2);
  });
});
