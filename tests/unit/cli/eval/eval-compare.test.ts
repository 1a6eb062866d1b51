/** `prl eval compare`, on evaluations of our own tasks by two models of which one is better. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { signTest } from "../../../../ts/evals/compare.ts";
import type { Comparison } from "../../../../ts/evals/index.ts";
import { chatCompletion, mockEndpoint } from "../../../support/mock-endpoint.ts";
import { prl } from "../run.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "prl-compare-"));
});
afterEach(() => rmSync(dir, { recursive: true }));

/** Evaluates a model that is right where `knows` says so. */
async function evaluated(name: string, count: number, knows: (task: number) => boolean): Promise<string> {
  const endpoint = await mockEndpoint(({ body }) => {
    const number = Number(/What is (\d+)/u.exec(JSON.stringify(body["messages"]))?.[1]);
    return chatCompletion(knows(number) ? `#### ${number + 1}` : "#### 0");
  });
  try {
    const rows = Array.from({ length: count }, (_, i) => ({ question: `What is ${i} + 1?`, answer: `#### ${i + 1}` }));
    writeFileSync(join(dir, "sums.jsonl"), rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
    const args = JSON.stringify({ data: join(dir, "sums.jsonl") });
    const words = ["--benchmark", "gsm8k", "-a", args, "-m", "m", "-b", endpoint.url, "--run.name", name];
    const ran = await prl(["eval", ...words], dir);
    expect([ran.code, ran.code === 0 ? "" : ran.stderr]).toEqual([0, ""]);
    return join("outputs", name);
  } finally {
    await endpoint.close();
  }
}

describe("prl eval compare", () => {
  test("pairs the tasks of two runs, and writes a page", async () => {
    const [a, b] = [await evaluated("a", 12, (i) => i < 4), await evaluated("b", 10, (i) => i !== 0)];
    const ran = await prl(["eval", "compare", a, b, "--html", "page.html", "--json"], dir);
    expect([ran.code, ran.stderr]).toEqual([0, ""]);
    const [one] = (JSON.parse(ran.stdout) as { comparisons: Comparison[] }).comparisons;
    expect(one).toMatchObject({
      name: "gsm8k",
      tasks: 10,
      only_a: 2,
      only_b: 0,
      a: 0.4,
      b: 0.9,
      better: 6,
      worse: 1,
      equal: 3,
    });
    expect(one?.difference.mean).toBeCloseTo(0.5, 12);
    // scipy 1.17: stats.t.interval(0.95, 9, 0.5, stats.sem(differences)) and stats.binomtest(1, 7).pvalue
    expect(one?.difference.low).toBeCloseTo(-0.00583371918, 9);
    expect(one?.difference.high).toBeCloseTo(1.00583371918, 9);
    expect(one?.p).toBeCloseTo(0.125, 12);
    expect(readFileSync(join(dir, "page.html"), "utf8")).toMatch(/^<!doctype html>[\s\S]*gsm8k[\s\S]*<\/html>\s*$/u);
    expect((await prl(["eval", "compare", a, b], dir)).stdout).toContain("gsm8k");
  });

  test.each([
    ["one run", ["outputs/a"], "PRL_CLI_USAGE"],
    ["a folder without traces", ["outputs/a", "outputs/b"], "PRL_RUN_UNKNOWN"],
    ["an unknown option", ["outputs/a", "outputs/b", "--htm", "x"], "--html"],
  ])("refuses by name: %s", async (_, words, message) => {
    expect((await prl(["eval", "compare", ...words], dir)).stderr).toContain(message);
  });

  test("refuses runs without a common task", async () => {
    writeFileSync(join(dir, "traces.jsonl"), "torn\n");
    expect((await prl(["eval", "compare", ".", "."], dir)).stderr).toMatch(
      /PRL_EVAL_FAILED.*no scored task in common/u,
    );
  });

  // scipy 1.17: stats.binomtest(k, n).pvalue
  test.each([
    [0, 0, 1],
    [5, 5, 1],
    [9, 1, 0.021484375],
    [300, 250, 0.036579],
    [2000, 2100, 0.122065],
  ])("the sign test is the exact binomial test: %d to %d", (better, worse, p) => {
    expect(signTest(better, worse)).toBeCloseTo(p, 5);
  });
});
