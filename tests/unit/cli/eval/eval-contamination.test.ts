/** `prl eval contamination`, with training traces that hold some questions of an evaluation. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

import type { Contamination } from "../../../../ts/evals/index.ts";
import { chatCompletion, mockEndpoint } from "../../../support/mock-endpoint.ts";
import { prl } from "../run.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "prl-contamination-"));
});
afterEach(() => rmSync(dir, { recursive: true }));

const WORDS =
  "amber basin cedar delta ember fjord grove heath inlet juniper kelp lagoon meadow notch orchard pine".split(" ");
/** Questions without a common run of thirteen words. */
const question = (number: number): string =>
  `Question ${number} is about ${WORDS.map((word) => `${word}${number}`).join(" ")} and asks how many there are.`;

async function evaluated(name: string, questions: readonly string[]): Promise<string> {
  const endpoint = await mockEndpoint(() => chatCompletion("#### 1"));
  try {
    const rows = questions.map((text) => `${JSON.stringify({ question: text, answer: "#### 1" })}\n`);
    writeFileSync(join(dir, `${name}.jsonl`), rows.join(""));
    const args = JSON.stringify({ data: join(dir, `${name}.jsonl`) });
    const words = ["--benchmark", "gsm8k", "-a", args, "-m", "m", "-b", endpoint.url, "--run.name", name];
    const ran = await prl(["eval", ...words], dir);
    expect([ran.code, ran.code === 0 ? "" : ran.stderr]).toEqual([0, ""]);
    return join("outputs", name);
  } finally {
    await endpoint.close();
  }
}

/** The traces of a run as those of a training step. */
function asTraining(run: string, name: string): string {
  mkdirSync(join(dir, name, "rollouts", "step_1"), { recursive: true });
  const traces = readFileSync(join(dir, run, "traces.jsonl"), "utf8").replaceAll('"type":"eval"', '"type":"train"');
  writeFileSync(join(dir, name, "rollouts", "step_1", "traces.jsonl"), traces);
  return name;
}

test("names the tasks whose questions were trained on, and not the prompt's form", async () => {
  const evaluation = await evaluated("held-out", [0, 1, 2, 3, 4, 5, 6, 7].map(question));
  const trained = asTraining(
    await evaluated("seen", [question(40), `First: ${question(3).toUpperCase()}`, question(41)]),
    "training",
  );
  const ran = await prl(["eval", "contamination", evaluation, trained, "--json"], dir);
  expect([ran.code, ran.stderr]).toEqual([1, ""]);
  const [one] = (JSON.parse(ran.stdout) as { evaluations: Contamination[] }).evaluations;
  expect(one).toMatchObject({ evaluation: "gsm8k", tasks: 8, too_short: 0, suspect: ["3"] });
  expect(one?.shared["3"]).toContain("amber3 basin3");
  const clean = asTraining(await evaluated("other", [question(50), question(51)]), "clean");
  expect((await prl(["eval", "contamination", evaluation, clean], dir)).code).toBe(0);
});

test("refuses a folder without traces by name", async () => {
  expect((await prl(["eval", "contamination", ".", "."], dir)).stderr).toContain("PRL_RUN_UNKNOWN");
  expect((await prl(["eval", "contamination", "."], dir)).stderr).toContain("PRL_CLI_USAGE");
});
