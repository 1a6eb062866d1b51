/** CPython runs the gold programs of families of functions on many instances: they return what the reference of the row computes. */
import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";

import { csvCleanToSchema } from "../../../../../ts/environments/catalogue/code/csv-clean-to-schema/index.ts";
import { dataStructures } from "../../../../../ts/environments/catalogue/code/data-structures/index.ts";
import { encoders } from "../../../../../ts/environments/catalogue/code/encoders/index.ts";
import { examplesOnlyFunction } from "../../../../../ts/environments/catalogue/code/examples-only-function/index.ts";
import { exactNumbers } from "../../../../../ts/environments/catalogue/code/exact-numbers/index.ts";
import { graphPrograms } from "../../../../../ts/environments/catalogue/code/graph-programs/index.ts";
import { machines } from "../../../../../ts/environments/catalogue/code/machines/index.ts";
import { miniLanguageInterpreter } from "../../../../../ts/environments/catalogue/code/mini-language-interpreter/index.ts";
import { planningPrograms } from "../../../../../ts/environments/catalogue/code/planning-programs/index.ts";
import { stringPrograms } from "../../../../../ts/environments/catalogue/code/string-programs/index.ts";
import { textFormats } from "../../../../../ts/environments/catalogue/code/text-formats/index.ts";
import { textLayout } from "../../../../../ts/environments/catalogue/code/text-layout/index.ts";
import type { ProgramRow } from "../../../../../ts/environments/catalogue/row.ts";
import { drawnOf, HAS_PYTHON } from "./interpreters.ts";

const PYTHON = process.env["PRL_TEST_PYTHON"] ?? "python3";
const RUNNER = `
import json, sys
for program, name, tests in json.load(sys.stdin):
    space = {"__name__": "__main__"}
    exec(program, space)
    print(json.dumps([space[name](*test) for test in tests]))
`;

/** What the gold program returns in CPython for the inputs of the exam, and what is expected, for each instance in Python. */
function returned(row: ProgramRow): { results: unknown[]; expected: unknown[] } {
  const exams = drawnOf<object>(row).flatMap((instance) => {
    const exam = row.exam(instance);
    const program = exam.program?.(row.gold(instance)) ?? row.gold(instance);
    return exam.language === "python" ? [{ ...exam, source: program }] : [];
  });
  const input = exams.map(({ source, functionName, tests }) => [source, functionName, tests.map((one) => one.input)]);
  const text = execFileSync(PYTHON, ["-c", RUNNER], {
    input: JSON.stringify(input),
    encoding: "utf8",
    maxBuffer: 2 ** 28,
  });
  return {
    results: text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as unknown),
    expected: exams.map(({ tests }) => tests.map((one) => one.output)),
  };
}

const ROWS = [
  dataStructures,
  encoders,
  textFormats,
  machines,
  textLayout,
  exactNumbers,
  graphPrograms,
  stringPrograms,
  planningPrograms,
  miniLanguageInterpreter,
  examplesOnlyFunction,
  csvCleanToSchema,
].flatMap(({ rows }) => rows.map((row) => [row.id, row] as const));

describe("the gold programs", () => {
  test.skipIf(!HAS_PYTHON).each(ROWS)("CPython agrees with the reference of %s", (_, row) => {
    const { results, expected } = returned(row);
    expect(results.length).toBeGreaterThan(0);
    expect(results).toEqual(expected);
  });
});
