/** Answers of the rows about tests against CPython, and against methods that share nothing with the rows. */
import { expect, test } from "vitest";

import { type Branchy, branchySource } from "../../../../../../ts/environments/catalogue/code/testing/branchy.ts";
import {
  decisionCoverage,
  type DecisionProblem,
  decisionText,
} from "../../../../../../ts/environments/catalogue/code/testing/decision-coverage.ts";
import {
  feasiblePaths,
  type PathsProblem,
} from "../../../../../../ts/environments/catalogue/code/testing/feasible-paths.ts";
import { mutantKillingInput } from "../../../../../../ts/environments/catalogue/code/testing/mutant-killing-input.ts";
import { oneLineRepair } from "../../../../../../ts/environments/catalogue/code/testing/one-line-repair.ts";
import {
  shrunkInput,
  type ShrinkProblem,
  shrinkSource,
} from "../../../../../../ts/environments/catalogue/code/testing/shrunk-input.ts";
import { survivingMutants } from "../../../../../../ts/environments/catalogue/code/testing/surviving-mutants.ts";
import type { Program } from "../../../../../../ts/environments/catalogue/code/small-python/syntax.ts";
import { type Answer, drawnOf, HAS_PYTHON, printedByPython } from "../interpreters.ts";

const without = HAS_PYTHON ? "" : " (there is no python3 here)";

interface Witnessed<Problem> {
  readonly problem: Problem;
  readonly witness: string[];
}

/** Prints the result of each call, or None where the function fails. */
function calls(one: Branchy, body: Program, inputs: readonly (readonly number[])[]): string {
  return `${branchySource(one, body)}
for inputs in ${JSON.stringify(inputs)}:
    try: print(f(*inputs))
    except ZeroDivisionError: print(None)`;
}

test.skipIf(!HAS_PYTHON)(`surviving-mutants: CPython runs the tests with the same mutants left${without}`, () => {
  const drawn =
    drawnOf<Answer<{ function: Branchy; mutants: { program: Program }[]; tests: number[][] }>>(survivingMutants);
  const sources = drawn.map(({ problem: { function: one, mutants, tests } }) =>
    [one.body, ...mutants.map(({ program }) => program)].map((body) => calls(one, body, tests)),
  );
  const printed = printedByPython(sources.flat()).map((lines) => lines.join());
  let place = 0;
  for (const { problem, items } of drawn) {
    const [right, ...others] = printed.slice(place, (place += problem.mutants.length + 1));
    expect(others.flatMap((one, index) => (one === right ? [`M${index + 1}`] : []))).toEqual(items);
  }
});

test.skipIf(!HAS_PYTHON)(`mutant-killing-input: in CPython the two functions differ for it${without}`, () => {
  const drawn = drawnOf<Witnessed<{ function: Branchy; mutant: { program: Program } }>>(mutantKillingInput);
  const sources = drawn.flatMap(({ problem: { function: one, mutant }, witness }) =>
    [one.body, mutant.program].map((body) => calls(one, body, [witness.map(Number)])),
  );
  const printed = printedByPython(sources).map((lines) => lines.join());
  for (const index of drawn.keys()) expect(printed[2 * index]).not.toBe(printed[2 * index + 1]);
});

test.skipIf(!HAS_PYTHON)(`one-line-repair: the repaired source gives the shown results in CPython${without}`, () => {
  const drawn =
    drawnOf<Witnessed<{ function: Branchy; wrong: Program; examples: { inputs: number[]; result: number }[] }>>(
      oneLineRepair,
    );
  const sources = drawn.map(({ problem: { function: one, wrong, examples }, witness: [line = "", text = ""] }) => {
    const lines = branchySource(one, wrong).split("\n");
    const old = lines[Number(line) - 1] ?? "";
    lines[Number(line) - 1] = old.replace(old.trim(), text);
    return `${lines.join("\n")}\nfor inputs in ${JSON.stringify(examples.map(({ inputs }) => inputs))}: print(f(*inputs))`;
  });
  expect(printedByPython(sources)).toEqual(
    drawn.map(({ problem }) => problem.examples.map(({ result }) => String(result))),
  );
});

test.skipIf(!HAS_PYTHON)(
  `shrunk-input: the assertion fails in CPython, and with no shorter part of the list${without}`,
  () => {
    const drawn = drawnOf<Witnessed<ShrinkProblem>>(shrunkInput, [1, 2]);
    const sources = drawn.map(
      ({ problem, witness }) => `from itertools import combinations
${shrinkSource(problem)}
def fails(data):
    try: scan(data)
    except AssertionError: return True
    return False
data = ${JSON.stringify(problem.data)}
print(fails([${witness.join(", ")}]), any(fails(part) for part in combinations(data, ${problem.most - 1})))`,
    );
    expect(printedByPython(sources)).toEqual(drawn.map(() => ["True False"]));
  },
);

test("feasible-paths: conditions written as code take the same paths", () => {
  for (const { problem, items } of drawnOf<Answer<PathsProblem>>(feasiblePaths, [1, 2, 3])) {
    const text = (one: unknown): string => {
      const node = one as { name?: string; number?: number; left?: unknown; op?: string; right?: unknown };
      if (node.left !== undefined) return `(${text(node.left)} ${node.op} ${text(node.right)})`;
      return node.name ?? String(node.number);
    };
    // A remainder in Python has the sign of the divisor.
    const rest = (source: string): string => source.replaceAll(/\((\w) % (\d)\)/gu, "((($1 % $2) + $2) % $2)");
    const lines = problem.program.map((statement) => {
      if (statement.do !== "if") throw new Error("a path has only ifs");
      const change = (body: Program): string =>
        body.map((one) => (one.do === "set" ? `${one.name} = ${rest(text(one.to))};` : "")).join(" ");
      const { left, is, right } = statement.test;
      return `if (${rest(text(left))} ${is} ${text(right)}) { w += "T"; ${change(statement.holds)} } else { w += "F"; ${change(statement.fails)} }`;
    });
    // oxlint-disable-next-line typescript/no-implied-eval
    const path = new Function("x", "y", `let w = ""; ${lines.join("\n")} return w;`) as (
      x: number,
      y: number,
    ) => string;
    const all = Array.from({ length: problem.largest + 1 }, (_, value) => value);
    expect([...new Set(all.flatMap((x) => all.map((y) => path(x, y))))].toSorted()).toEqual(items);
  }
});

test.skipIf(!HAS_PYTHON)(`decision-coverage: Python finds a deciding pair for each condition${without}`, () => {
  const drawn = drawnOf<Witnessed<DecisionProblem>>(decisionCoverage);
  const sources = drawn.map(
    ({ problem, witness }) => `names = ${JSON.stringify(problem.names)}
def value(word): return bool(eval(${JSON.stringify(decisionText(problem.formula))}, {n: c == "T" for n, c in zip(names, word)}))
words = ${JSON.stringify(witness)}
for place in range(len(names)):
    print(any(value(a) != value(b) and [i for i in range(len(a)) if a[i] != b[i]] == [place] for a in words for b in words))`,
  );
  expect(printedByPython(sources)).toEqual(drawn.map(({ problem }) => problem.names.map(() => "True")));
});
