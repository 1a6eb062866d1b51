/** sqlite, as Python has it, runs the gold queries and the wrong ones: they give what the loops of this process give. */
import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";

import { sqlWindowAnalytics } from "../../../../../../ts/environments/catalogue/code/sql-window-analytics/index.ts";
import { KINDS } from "../../../../../../ts/environments/catalogue/code/sql-window-analytics/spec.ts";
import { at } from "../../../../../../ts/environments/catalogue/lists.ts";
import { createRng } from "../../../../../../ts/random/rng.ts";
import { drawnOf, HAS_PYTHON } from "../interpreters.ts";

const PYTHON = process.env["PRL_TEST_PYTHON"] ?? "python3";
const RUNNER = `
import json, sys
for program, tests in json.load(sys.stdin):
    space = {"__name__": "__main__"}
    exec(program, space)
    print(json.dumps([space["looked_at"](*test) for test in tests]))
`;
/** Instances of the first levels, of which all wrong queries run. */
const MISSED = 10;
const row = at(sqlWindowAnalytics.rows, 0);
const instances = drawnOf<object>(row);
const exams = instances.map((instance) => row.exam(instance));

/** What each query gives for the inputs of its exam. */
function given(queries: readonly (readonly [exam: number, query: string])[]): unknown[][] {
  const input = queries.map(([index, query]) => {
    const { program, tests } = at(exams, index);
    return [program?.(query), tests.map((one) => one.input)];
  });
  const text = execFileSync(PYTHON, ["-c", RUNNER], {
    input: JSON.stringify(input),
    encoding: "utf8",
    maxBuffer: 2 ** 28,
  });
  return text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as unknown[]);
}

function creditOf(index: number, outputs: readonly unknown[]): number {
  const { tests, credit } = at(exams, index);
  const passed = tests.map(({ output }, place) => JSON.stringify(output) === JSON.stringify(outputs[place]));
  return credit?.(passed) ?? 0;
}

describe("sql-window-analytics", () => {
  test.skipIf(!HAS_PYTHON)("sqlite agrees with the loops on every gold query", () => {
    const outputs = given(instances.map((instance, index) => [index, row.gold(instance)]));
    expect(outputs).toEqual(exams.map(({ tests }) => tests.map(({ output }) => output)));
  });

  test("draws every kind of window", () => {
    const parts = new Set(exams.flatMap((exam) => (exam.parts ?? []).flat()));
    expect(KINDS.filter((kind) => !parts.has(`window/${kind}`))).toEqual([]);
  });

  test.skipIf(!HAS_PYTHON)("wrong queries earn less than all, and less without the right rows", () => {
    const queries = instances
      .slice(0, MISSED)
      .flatMap((instance, index) => row.nearMisses(instance, createRng(index)).map((query) => [index, query] as const));
    const credits = given(queries).map((outputs, place) => creditOf(at(queries, place)[0], outputs));
    expect(Math.max(...credits)).toBeLessThan(1);
    expect(credits.filter((credit) => credit === 0).length).toBeGreaterThan(credits.length / 10);
  });
});
