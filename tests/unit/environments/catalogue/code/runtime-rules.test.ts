/** Answers of the rows about the rules of languages against CPython, Node in this process, gcc, g++ and bash. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";

import {
  arrayMethodChain,
  type ArrayProblem,
  arraySource,
} from "../../../../../ts/environments/catalogue/code/runtime-rules/array-method-chain.ts";
import {
  cachedCallCounts,
  type CachedProblem,
  cachedSource,
} from "../../../../../ts/environments/catalogue/code/runtime-rules/cached-call-counts.ts";
import {
  defaultArgumentTrace,
  type DefaultsProblem,
  defaultsSource,
} from "../../../../../ts/environments/catalogue/code/runtime-rules/default-argument-trace.ts";
import {
  destructorOrder,
  type DestructorProblem,
  destructorSource,
} from "../../../../../ts/environments/catalogue/code/runtime-rules/destructor-order.ts";
import {
  fallthroughTrace,
  type SwitchProblem,
  switchSource,
} from "../../../../../ts/environments/catalogue/code/runtime-rules/fallthrough-trace.ts";
import {
  heapList,
  type HeapProblem,
  heapSource,
} from "../../../../../ts/environments/catalogue/code/runtime-rules/heap-list.ts";
import {
  iterationWhileChanging,
  type LoopProblem,
  loopSource,
} from "../../../../../ts/environments/catalogue/code/runtime-rules/iteration-while-changing.ts";
import {
  dictSource,
  type DictProblem,
  mergedDictKeys,
} from "../../../../../ts/environments/catalogue/code/runtime-rules/merged-dict-keys.ts";
import {
  type ExpansionProblem,
  expansionSource,
  parameterExpansion,
} from "../../../../../ts/environments/catalogue/code/runtime-rules/parameter-expansion.ts";
import {
  type CircuitProblem,
  circuitSource,
  shortCircuitTrace,
} from "../../../../../ts/environments/catalogue/code/runtime-rules/short-circuit-trace.ts";
import {
  starUnpacking,
  type UnpackProblem,
  unpackSource,
} from "../../../../../ts/environments/catalogue/code/runtime-rules/star-unpacking.ts";
import {
  stringMethodChain,
  type StringProblem,
  stringSource,
} from "../../../../../ts/environments/catalogue/code/runtime-rules/string-method-chain.ts";
import type { Row } from "../../../../../ts/environments/catalogue/row.ts";
import { type Answer, drawnOf, HAS_COMPILER, HAS_PYTHON, printedByC, printedByPython } from "./interpreters.ts";

const TIMEOUT_MS = 200_000;
const versionOf = (tool: string): string =>
  spawnSync(tool, ["--version"], { encoding: "utf8", timeout: TIMEOUT_MS }).stdout ?? "";
const HAS_BASH = /GNU bash, version ([5-9]|\d\d)/u.test(versionOf("bash"));
const HAS_CPP = versionOf("g++").includes("g++");
const without = (tool: string, has: boolean): string => (has ? "" : ` (there is no ${tool} here)`);

/** Rows about Python: their sources, printed by CPython, are compared with the lines of the answers. */
const PYTHON: readonly (readonly [Row, (problem: never) => string, boolean])[] = [
  [cachedCallCounts, (one: CachedProblem) => cachedSource(one), true],
  [heapList, (one: HeapProblem) => heapSource(one).replace("print(h)", "print(*h)"), true],
  [iterationWhileChanging, (one: LoopProblem) => loopSource(one), false],
  [starUnpacking, (one: UnpackProblem) => unpackSource(one), false],
  [mergedDictKeys, (one: DictProblem) => dictSource(one), false],
  [defaultArgumentTrace, (one: DefaultsProblem) => defaultsSource(one), false],
  [stringMethodChain, (one: StringProblem) => stringSource(one), false],
];

test.skipIf(!HAS_PYTHON).each(PYTHON.map((entry) => [entry[0].id, ...entry] as const))(
  `%s: CPython prints the same${without("python3", HAS_PYTHON)}`,
  (_, row, source, isJoined) => {
    const drawn = drawnOf<Answer<never>>(row);
    const printed = printedByPython(drawn.map(({ problem }) => source(problem)));
    const items = printed.map((lines) => (isJoined ? lines.join(" ").split(" ") : lines));
    expect(items).toEqual(drawn.map((one) => one.items));
  },
);

test("array-method-chain: Node logs the same", () => {
  for (const { problem, items } of drawnOf<Answer<ArrayProblem>>(arrayMethodChain)) {
    const logged: string[] = [];
    runInNewContext(arraySource(problem), { console: { log: (text: string) => logged.push(text) } });
    expect(logged).toEqual(items);
  }
});

/** Makes one program of several: each main is a function. */
function inOneProgram(sources: readonly string[], head: (source: string) => string): string {
  const mains = sources.map((source, index) =>
    source.slice(source.indexOf("int main")).replace("int main(void)", `int run${index}(void)`),
  );
  return `${head(sources[0] ?? "")}\n${mains.join("\n")}\nint main(void) { ${sources.map((_, index) => `run${index}(); printf("--\\n");`).join(" ")} return 0; }\n`;
}

test.skipIf(!HAS_COMPILER)(`short-circuit-trace: gcc makes the same calls${without("gcc", HAS_COMPILER)}`, () => {
  const drawn = drawnOf<Answer<CircuitProblem>>(shortCircuitTrace);
  const source = inOneProgram(
    drawn.map(({ problem }) => circuitSource(problem)),
    (one) => one.slice(0, one.indexOf("int main")),
  );
  expect(printedByC(source)).toEqual(drawn.flatMap(({ items }) => [...items, "--"]));
});

test.skipIf(!HAS_COMPILER)(`fallthrough-trace: gcc prints the same${without("gcc", HAS_COMPILER)}`, () => {
  const drawn = drawnOf<Answer<SwitchProblem>>(fallthroughTrace);
  const source = inOneProgram(
    drawn.map(({ problem }) => switchSource(problem)),
    () => "#include <stdio.h>",
  );
  expect(printedByC(source)).toEqual(drawn.flatMap(({ items }) => [...items, "--"]));
});

test.skipIf(!HAS_CPP)(`destructor-order: g++ prints the same${without("g++", HAS_CPP)}`, () => {
  const drawn = drawnOf<Answer<DestructorProblem>>(destructorOrder);
  const sources = drawn.map(({ problem }) => destructorSource(problem));
  const head = (sources[0] ?? "").slice(0, (sources[0] ?? "").indexOf("void f()"));
  const functions = sources.map((source, index) =>
    source.slice(source.indexOf("void f()"), source.indexOf("int main")).replace("void f()", `void f${index}()`),
  );
  const calls = sources.map((_, index) => `f${index}(); std::printf("end\\n");`);
  const folder = mkdtempSync(join(tmpdir(), "prl-catalogue-"));
  try {
    writeFileSync(join(folder, "main.cpp"), `${head}${functions.join("")}int main() { ${calls.join("\n")} }\n`);
    execFileSync("g++", ["-std=c++17", "-w", "-O0", "-o", join(folder, "main"), join(folder, "main.cpp")], {
      timeout: TIMEOUT_MS,
    });
    const printed = execFileSync(join(folder, "main"), { encoding: "utf8", timeout: TIMEOUT_MS }).trimEnd().split("\n");
    expect(printed).toEqual(drawn.flatMap(({ items }) => items));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test.skipIf(!HAS_BASH)(`parameter-expansion: bash prints the same${without("bash", HAS_BASH)}`, () => {
  const drawn = drawnOf<Answer<ExpansionProblem>>(parameterExpansion);
  const script = drawn.map(({ problem }) => [...expansionSource(problem), "echo --"].join("\n")).join("\n");
  const printed = execFileSync("bash", ["-f"], { input: script, encoding: "utf8", timeout: TIMEOUT_MS })
    .trimEnd()
    .split("\n");
  expect(printed).toEqual(drawn.flatMap(({ items }) => [...items, "--"]));
});
