/** `prl eval` of environments that compare rollouts, and of several agents. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { type EvalSummary } from "../../../../ts/launcher/evaluations.ts";
import type { Episode } from "../../../../ts/environments/index.ts";
import { modulePath } from "../../../support/compiled.ts";
import { chatCompletion, mockEndpoint, type MockEndpoint, type MockRequest } from "../../../support/mock-endpoint.ts";
import { prl } from "../run.ts";

/** Two tasks; the shortest reply to each wins, and ties share. */
const SHORTEST = `
import { defineEnvironment, groupReward, singleTurn, z } from "${modulePath("environments/index.ts")}";
const make = (shortest) => defineEnvironment({
  name: "shortest", version: "1.0.0", config: z.strictObject({}),
  tasks: () => ["a", "b"].map((word) => ({ prompt: [{ role: "user", content: "say " + word }] })),
  rollout: singleTurn(),
  rewards: { shortest: groupReward(1, shortest) },
});
export default make(({ traces }) => {
  const lengths = traces.map(({ lastReply }) => lastReply.length);
  return lengths.map((length) => length === Math.min(...lengths));
});
export const broken = make(() => { throw new Error("cannot compare"); });
`;

let dir: string;
let mock: MockEndpoint;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "prl-eval-groups-"));
  writeFileSync(join(dir, "shortest.mjs"), SHORTEST);
});
afterEach(async () => {
  await mock.close();
  rmSync(dir, { recursive: true });
});

async function evaluate(env: string, ...args: string[]): Promise<EvalSummary["evaluations"][number]> {
  const ran = await prl(["eval", env, "-m", "m", "-b", `${mock.url}/v1`, "--json", "--run.name", "run", ...args], dir);
  const [evaluation] = (JSON.parse(ran.stdout) as EvalSummary).evaluations;
  if (evaluation === undefined) throw new Error(ran.stderr);
  return evaluation;
}

const file = (): string => join(dir, "outputs", "run", "traces.jsonl");
const traces = (): Episode[] =>
  readFileSync(file(), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Episode);
const last = ({ body }: MockRequest): string => (body["messages"] as { content: string }[]).at(-1)?.content ?? "";

describe("prl eval", () => {
  test("compares the rollouts of a task once all of them have ended", async () => {
    mock = await mockEndpoint((_, index) => chatCompletion("x".repeat(1 + (index % 4))));
    const evaluation = await evaluate("./shortest.mjs", "-r", "4", "-c", "1");
    expect(evaluation).toMatchObject({ scored: 8, errors: 0, reward: { mean: 0.25 }, rewards: { shortest: 0.25 } });
    expect(traces().map(({ traces: [trace] }) => trace?.reward)).toEqual([1, 0, 0, 0, 1, 0, 0, 0]);
  });

  test("runs a group again of which a broken run has left a part", async () => {
    mock = await mockEndpoint(() => chatCompletion("x"));
    await evaluate("./shortest.mjs", "-r", "3", "-c", "1");
    expect(mock.requests).toHaveLength(6);
    const lines = readFileSync(file(), "utf8").trimEnd().split("\n");
    writeFileSync(file(), `${lines.slice(0, 4).join("\n")}\n`);
    const resumed = await evaluate("./shortest.mjs", "-r", "3", "-c", "1", "--resume");
    expect(resumed).toMatchObject({ scored: 6, reward: { mean: 1 } });
    expect(mock.requests).toHaveLength(9);
    expect(traces().map(({ id }) => id)).toHaveLength(6);
    expect(new Set(traces().map(({ id }) => id)).size).toBe(6);
  });

  test("a group reward that throws is an error of each of its rollouts", async () => {
    mock = await mockEndpoint(() => chatCompletion("x"));
    const evaluation = await evaluate("./shortest.mjs#broken", "-r", "2");
    expect(evaluation).toMatchObject({
      scored: 0,
      errors: 4,
      reward: null,
      errors_by_code: { PRL_ENVIRONMENT_FAILED: 4 },
    });
  });

  test("plays both seats of kuhn-poker and reports each", async () => {
    mock = await mockEndpoint((request) => chatCompletion(last(request).includes("[call]") ? "[call]" : "[bet]"));
    const evaluation = await evaluate("kuhn-poker", "-n", "8", "-r", "2");
    expect(evaluation).toMatchObject({
      scored: 16,
      errors: 0,
      reward: { mean: 0 },
      stop_conditions: { hand_over: 32 },
    });
    expect(Object.keys(evaluation.agents)).toEqual(["player0", "player1"]);
    expect(evaluation.agents["player0"]).toBe(-(evaluation.agents["player1"] ?? Number.NaN));
    expect(Object.keys(evaluation.rewards)).toEqual(["player0/payoff", "player1/payoff"]);
    expect(evaluation.metrics).toMatchObject({ "player0/forfeit": 0, "player1/invalid": 0 });
    for (const { traces: seats } of traces()) expect(seats.map(({ reward }) => Math.abs(reward ?? 0))).toEqual([2, 2]);
  });
});
