/** Answers of the rows about rules of real languages against CPython, gcc and Node. */
import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";

import {
  macroExpansionReading,
  type MacroProblem,
} from "../../../../../ts/environments/catalogue/code/language-rules/macro-expansion-reading.ts";
import {
  type LifeProblem,
  objectLifetimes,
} from "../../../../../ts/environments/catalogue/code/language-rules/object-lifetimes.ts";
import {
  type PointerProblem,
  pointerWalk,
} from "../../../../../ts/environments/catalogue/code/language-rules/pointer-walk.ts";
import {
  type SliceProblem,
  sliceSurgery,
} from "../../../../../ts/environments/catalogue/code/language-rules/slice-surgery.ts";
import {
  type PrototypeProblem,
  thisAndPrototypes,
} from "../../../../../ts/environments/catalogue/code/language-rules/this-and-prototypes.ts";
import { type Answer, drawnOf, HAS_COMPILER, HAS_PYTHON, printedByC, printedByPython } from "./interpreters.ts";

const withoutPython = HAS_PYTHON ? "" : " (there is no python3 here)";
const withoutCompiler = HAS_COMPILER ? "" : " (there is no gcc here)";

test.skipIf(!HAS_PYTHON)(`object-lifetimes: CPython finalises the same objects${withoutPython}`, () => {
  const drawn = drawnOf<Answer<LifeProblem>>(objectLifetimes);
  const printed = printedByPython(drawn.map(({ problem }) => problem.source.join("\n")));
  expect(printed).toEqual(drawn.map(({ items }) => items));
});

test.skipIf(!HAS_PYTHON)(`slice-surgery: CPython prints the same lists${withoutPython}`, () => {
  const drawn = drawnOf<Answer<SliceProblem>>(sliceSurgery);
  const printed = printedByPython(drawn.map(({ problem }) => problem.source.join("\n")));
  expect(printed).toEqual(drawn.map(({ items }) => items));
});

test.skipIf(!HAS_COMPILER)(`macro-expansion-reading: gcc expands to the same tokens${withoutCompiler}`, () => {
  const drawn = drawnOf<Answer<MacroProblem>>(macroExpansionReading);
  const source = drawn.flatMap(({ problem: { macros, lines } }) => [
    ...macros.map(
      ({ name, parameters, body }) =>
        `#define ${name}${parameters === null ? "" : `(${parameters.join(", ")})`} ${body}`,
    ),
    ...lines,
    "@end@",
    ...macros.map(({ name }) => `#undef ${name}`),
  ]);
  const text = execFileSync("gcc", ["-E", "-P", "-w", "-x", "c", "-"], {
    input: `${source.join("\n")}\n`,
    encoding: "utf8",
    timeout: 200_000,
  });
  const tokens = (one: string): string[] => one.match(/"(?:[^"\\]|\\.)*"|[A-Za-z_]\w*|\d\w*|\S/gu) ?? [];
  expect(text.split("@end@").slice(0, -1).map(tokens)).toEqual(drawn.map(({ items }) => tokens(items.join(" "))));
});

test.skipIf(!HAS_COMPILER)(`pointer-walk: the compiled programs print the same${withoutCompiler}`, () => {
  const drawn = drawnOf<Answer<PointerProblem>>(pointerWalk);
  const functions = drawn.map(({ problem }, index) => {
    const [main, ...rest] = problem.source.filter((line) => !line.startsWith("#") && !line.startsWith("static"));
    return [main?.replace("main", `run${index}`), ...rest].join("\n");
  });
  const swap = "static void swap(int **x, int **y) { int *t = *x; *x = *y; *y = t; }";
  const calls = drawn.map((_, index) => `run${index}(); puts("--");`).join("\n");
  const printed = printedByC(`#include <stdio.h>\n${swap}\n${functions.join("\n")}\nint main(void) {\n${calls}\n}\n`);
  expect(printed).toEqual(drawn.flatMap(({ items }) => [...items, "--"]));
});

test("this-and-prototypes: Node logs the same", () => {
  for (const { problem, items } of drawnOf<Answer<PrototypeProblem>>(thisAndPrototypes)) {
    const logged: string[] = [];
    // oxlint-disable-next-line typescript/no-implied-eval -- the source is the instance's; as in a module, this is undefined outside of methods
    const run = new Function("console", problem.source.join("\n")) as (
      this: undefined,
      console: { log: (text: string) => void },
    ) => void;
    run.call(undefined, { log: (text) => logged.push(text) });
    expect(logged).toEqual(items);
  }
});
