/** Answers of the rows about programs against CPython, Node and gcc, which run the programs of the prompts. */
import { describe, expect, test } from "vitest";

import {
  eventLoopOrder,
  eventLoopSource,
} from "../../../../../ts/environments/catalogue/code/code-reading/event-loop-order.ts";
import {
  exceptionPaths,
  exceptionSource,
} from "../../../../../ts/environments/catalogue/code/code-reading/exception-paths.ts";
import {
  executionCounts,
  executionSource,
} from "../../../../../ts/environments/catalogue/code/code-reading/execution-counts.ts";
import {
  generatorInterleaving,
  generatorSource,
} from "../../../../../ts/environments/catalogue/code/code-reading/generator-interleaving.ts";
import { heapAfterRun, heapSource } from "../../../../../ts/environments/catalogue/code/code-reading/heap-after-run.ts";
import { inputForOutput } from "../../../../../ts/environments/catalogue/code/code-reading/input-for-output.ts";
import { loopInvariantSelection } from "../../../../../ts/environments/catalogue/code/code-reading/loop-invariant-selection.ts";
import {
  machineCodeReading,
  machineSource,
} from "../../../../../ts/environments/catalogue/code/code-reading/machine-code-reading.ts";
import { numericEdgeReading } from "../../../../../ts/environments/catalogue/code/code-reading/numeric-edge-reading.ts";
import {
  countSource,
  operationCountFormula,
} from "../../../../../ts/environments/catalogue/code/code-reading/operation-count-formula.ts";
import { outputOfLoops } from "../../../../../ts/environments/catalogue/code/code-reading/output-of-loops.ts";
import {
  objectsSource,
  outputOfObjects,
} from "../../../../../ts/environments/catalogue/code/code-reading/output-of-objects.ts";
import {
  regexCallReading,
  regexSource,
} from "../../../../../ts/environments/catalogue/code/code-reading/regex-call-reading.ts";
import {
  matchSource,
  snippetDescriptionMatch,
} from "../../../../../ts/environments/catalogue/code/code-reading/snippet-description-match.ts";
import { drawInstance } from "../../../../../ts/environments/catalogue/drawn.ts";
import { runSteps, type Step } from "../../../../../ts/environments/catalogue/code/list-steps.ts";
import { type Program, sourceOf } from "../../../../../ts/environments/catalogue/code/small-python/syntax.ts";
import type { Row } from "../../../../../ts/environments/catalogue/row.ts";
import { createRng } from "../../../../../ts/random/rng.ts";
import { type Answer, drawnOf, HAS_COMPILER, HAS_PYTHON, printedByC, printedByPython } from "./interpreters.ts";

/** The rows' problems have the types of their `...Source` functions. */
type Any<Source extends (problem: never) => string> = Answer<Parameters<Source>[0]>;

/** Runs what `source` makes of each instance, and expects its items. */
function expectOutputs(row: Row, source: (one: never) => string): void {
  const drawn = drawnOf<Answer<object>>(row);
  const printed = printedByPython(drawn.map((one) => source(one as never)));
  expect(printed).toEqual(drawn.map(({ items }) => items));
}

const python = describe.skipIf(!HAS_PYTHON);
const absent = HAS_PYTHON ? "" : " (there is no python3 here)";

python(`CPython prints the gold answers${absent}`, () => {
  test("of output-of-loops", () => {
    expectOutputs(outputOfLoops, ({ problem }: Answer<{ program: Program }>) => sourceOf(problem.program));
  });
  test("of output-of-objects", () => {
    expectOutputs(outputOfObjects, ({ problem }: Any<typeof objectsSource>) => objectsSource(problem));
  });
  test("of exception-paths", () => {
    expectOutputs(exceptionPaths, ({ problem }: Any<typeof exceptionSource>) => exceptionSource(problem));
  });
  test("of generator-interleaving", () => {
    expectOutputs(generatorInterleaving, ({ problem }: Any<typeof generatorSource>) => generatorSource(problem));
  });
  test("of regex-call-reading", () => {
    type Problem = { calls: Parameters<typeof regexSource>[0] };
    expectOutputs(regexCallReading, ({ problem }: Answer<Problem>) => `import re\n${regexSource(problem.calls)}`);
  });

  test("of heap-after-run, where identity decides the groups", () => {
    const report = `
names = sorted(key for key in dict(globals()) if len(key) == 1)
groups = {}
for key in names:
    print(key, "=", globals()[key])
    groups.setdefault(id(globals()[key]), []).append(key)
print(" ".join("".join(group) for group in groups.values()))
`;
    type Problem = { steps: Parameters<typeof heapSource>[0] };
    expectOutputs(heapAfterRun, ({ problem }: Answer<Problem>) => `${heapSource(problem.steps)}\n${report}`);
  });

  test("of execution-counts, with a counter at each marked line", () => {
    expectOutputs(executionCounts, ({ problem }: Any<typeof executionSource>) => {
      const counted = executionSource(problem).replaceAll(/^( +)(.*?) {2}# ([A-H])$/gmu, '$1hits["$3"] += 1; $2');
      return `import collections\nhits = collections.Counter()\n${counted}\nfor key in sorted(hits): print(hits[key])`;
    });
  });

  test("of input-for-output, given the gold input", () => {
    interface Instance {
      readonly program: Program;
      readonly data: number[];
      readonly target: string;
    }
    const drawn = drawnOf<Instance>(inputForOutput);
    const sources = drawn.map(({ program, data }) => `data = [${data.join(", ")}]\n${sourceOf(program)}`);
    expect(printedByPython(sources)).toEqual(drawn.map(({ target }) => [target]));
  });

  test("of operation-count-formula, for numbers beyond those that made it", () => {
    type Problem = { nests: Parameters<typeof countSource>[0] };
    const drawn = drawnOf<Answer<Problem>>(operationCountFormula, [1, 2, 3, 4]);
    const sources = drawn.map(
      ({ problem, items }) => `from fractions import Fraction
for n in (10, 13, 19, 21):
    names = {"n": n}
    exec(${JSON.stringify(countSource(problem.nests))}, names)
    value = sum(Fraction(c) * n ** k for k, c in enumerate(${JSON.stringify(items)}))
    print(value == names["count"])`,
    );
    for (const lines of printedByPython(sources)) expect(lines).toEqual(["True", "True", "True", "True"]);
  });

  test("of loop-invariant-selection, with asserts at the loop head", () => {
    interface Problem {
      readonly program: Program;
      readonly largest: number;
      readonly assertions: string[];
    }
    expectOutputs(loopInvariantSelection, ({ problem }: Answer<Problem>) => {
      const source = sourceOf(problem.program).replace(/^while (.*):$/mu, "while seen(globals()) and $1:");
      return `claims = ${JSON.stringify(problem.assertions)}
failed = set()
def seen(names):
    failed.update(place for place, claim in enumerate(claims) if not eval(claim, dict(names)))
    return True
for n in range(${problem.largest + 1}):
    exec(${JSON.stringify(source)}, {"n": n, "seen": seen})
for place in range(len(claims)):
    if place not in failed: print("ABCDEFGHIJKL"[place])`;
    });
  });

  test("of snippet-description-match: each function does what its description says", () => {
    interface Problem {
      readonly functions: Step[][];
      readonly descriptions: Step[][];
    }
    const lists = [[], [3], [5, 5, -2, 40, 17, 8, 0, 33], [12, -15, 50, 21, 9, 9, 30, 44, 1, -3, 28, 2]];
    const drawn = drawnOf<Answer<Problem>>(snippetDescriptionMatch);
    const sources = drawn.map(
      ({ problem }) => `import itertools, json
${matchSource(problem.functions)}
for f in (${problem.functions.map((_, index) => `f${index + 1}`).join(", ")},):
    print(json.dumps([f(list(one)) for one in ${JSON.stringify(lists)}], separators=(",", ":")))`,
    );
    const said = drawn.map(({ problem, items }) =>
      items.map((letter) => {
        const steps = problem.descriptions["ABCDEFGHIJ".indexOf(letter)] ?? [];
        return JSON.stringify(lists.map((one) => runSteps(steps, one).map((value) => value + 0)));
      }),
    );
    expect(printedByPython(sources)).toEqual(said);
  });

  test("of machine-code-reading, by another interpreter that reads the shown text", () => {
    interface Problem {
      readonly code: Parameters<typeof machineSource>[0]["code"];
      readonly names: Parameters<typeof machineSource>[0]["names"];
      readonly memory: number[];
      readonly cells: number[];
    }
    expectOutputs(machineCodeReading, ({ problem }: Answer<Problem>) => {
      const kinds = Object.fromEntries(Object.entries(problem.names).map(([kind, word]) => [word, kind]));
      return `kinds = ${JSON.stringify(kinds)}
lines = [line.split(": ")[1].split() for line in ${JSON.stringify(machineSource(problem))}.splitlines()]
memory = bytearray(${JSON.stringify(problem.memory)})
r = bytearray(4)
at = 0
while kinds[lines[at][0]] != "stop":
    kind, (x, y, z) = kinds[lines[at][0]], [int(word.lstrip("r")) for word in (lines[at][1:] + ["0", "0"])[:3]] if len(lines[at]) > 1 else (0, 0, 0)
    at += 1
    if kind == "set": r[x] = y
    elif kind == "move": r[x] = r[y]
    elif kind == "add": r[x] = (r[x] + r[y]) & 255
    elif kind == "sub": r[x] = (r[x] - r[y]) & 255
    elif kind == "and": r[x] &= r[y]
    elif kind == "xor": r[x] ^= r[y]
    elif kind == "left": r[x] = (r[x] << y) & 255
    elif kind == "right": r[x] >>= y
    elif kind == "load": r[x] = memory[r[y] % 6]
    elif kind == "store": memory[r[y] % 6] = r[x]
    elif kind == "jump": at = x
    elif kind == "zero": at = y if r[x] == 0 else at
    elif kind == "less": at = z if r[x] < r[y] else at
for value in [*r[:3], *[memory[cell] for cell in ${JSON.stringify(problem.cells)}]]: print(value)`;
    });
  });
});

interface Quiz {
  readonly language: "Python" | "JavaScript" | "C";
  readonly expressions: string[];
}
const quizzes = (language: Quiz["language"]) =>
  drawnOf<Answer<Quiz>>(numericEdgeReading).filter(({ problem }) => problem.language === language);

describe("numeric-edge-reading", () => {
  test.skipIf(!HAS_PYTHON)(`CPython finds the same values${absent}`, () => {
    const drawn = quizzes("Python");
    const printed = printedByPython(
      drawn.map(({ problem }) => problem.expressions.map((text) => `print(${text})`).join("\n")),
    );
    expect(printed).toEqual(drawn.map(({ items }) => items));
  });

  test("this engine finds the same values of JavaScript", () => {
    for (const { problem, items } of quizzes("JavaScript"))
      // oxlint-disable-next-line eslint/no-new-func, typescript/no-implied-eval -- the row's text is the program under test
      expect(problem.expressions.map((text) => String(new Function(`return ${text}`)()))).toEqual(items);
  });

  test.skipIf(!HAS_COMPILER)(`gcc finds the same values${HAS_COMPILER ? "" : " (there is no gcc here)"}`, () => {
    const drawn = quizzes("C");
    const lines = drawn.flatMap(({ problem }) =>
      problem.expressions.map((text) => `printf("%lld\\n", (long long)(${text}));`),
    );
    const source = `#include <stdint.h>\n#include <stdio.h>\nint main(void) {\n${lines.join("\n")}\n}\n`;
    expect(printedByC(source)).toEqual(drawn.flatMap(({ items }) => items));
  });
});

test("event-loop-order: Node logs in the gold order", async () => {
  const turn = async () => new Promise((resolve) => setTimeout(resolve, 0));
  for (const { problem, items } of drawnOf<Any<typeof eventLoopSource>>(eventLoopOrder)) {
    const logs: string[] = [];
    // oxlint-disable-next-line eslint/no-new-func, typescript/no-implied-eval -- the row's text is the program under test
    new Function("console", eventLoopSource(problem))({ log: (mark: string) => logs.push(mark) });
    for (let turns = 0; turns < 1_000 && logs.length < items.length; turns++) await turn();
    await turn();
    expect(logs).toEqual(items);
  }
});

test("generator-interleaving: each function has a yield, without which it would be no generator", () => {
  const rng = createRng(3);
  for (let drawn = 0; drawn < 1000; drawn++) {
    const { instance } = drawInstance(generatorInterleaving, 1, rng);
    const functions = generatorSource((instance as Any<typeof generatorSource>).problem).split(/^def /mu);
    for (const body of functions.slice(1)) expect(body).toContain("yield");
  }
});
