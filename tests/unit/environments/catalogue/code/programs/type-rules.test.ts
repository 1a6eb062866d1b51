/** Answers of the rows about types against gcc's _Generic and the TypeScript compiler. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";

import {
  assignableTypes,
  assignHead,
  type AssignProblem,
  typeText,
} from "../../../../../../ts/environments/catalogue/code/type-rules/assignable-types.ts";
import {
  type ConversionProblem,
  declarations,
  expressionTexts,
  usualConversions,
} from "../../../../../../ts/environments/catalogue/code/type-rules/usual-conversions.ts";
import { type Answer, drawnOf, HAS_COMPILER, printedByC } from "../interpreters.ts";

const C_TYPES = [
  "char",
  "short",
  "unsigned short",
  "int",
  "unsigned int",
  "long",
  "unsigned long",
  "long long",
  "unsigned long long",
  "float",
  "double",
];

test.skipIf(!HAS_COMPILER)(
  `usual-conversions: _Generic of gcc selects the same types${HAS_COMPILER ? "" : " (there is no gcc here)"}`,
  () => {
    const drawn = drawnOf<Answer<ConversionProblem>>(usualConversions);
    const choices = C_TYPES.map((type) => `${type}: "${type}"`).join(", ");
    const blocks = drawn.map(({ problem }) => {
      const names = declarations(problem).replaceAll(";", " = 1;");
      return `{ ${names}\n${expressionTexts(problem)
        .map((text) => `puts(TYPE((${text})));`)
        .join("\n")} }`;
    });
    const source = `#include <stdio.h>\n#define TYPE(x) _Generic(x, ${choices})\nint main(void) {\n${blocks.join("\n")}\nreturn 0; }\n`;
    expect(printedByC(source)).toEqual(drawn.flatMap(({ items }) => items));
  },
);

test("assignable-types: the TypeScript compiler accepts and refuses the same", () => {
  const drawn = drawnOf<Answer<AssignProblem>>(assignableTypes);
  const [first] = drawn;
  const head = first === undefined ? "" : assignHead(first.problem);
  const lines = drawn.flatMap(({ problem }) =>
    problem.pairs.map(
      ({ source, target }, index) =>
        `{ const s${index}: ${typeText(source)} = null!; const t: ${typeText(target)} = s${index}; }`,
    ),
  );
  const compiler = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc");
  const folder = mkdtempSync(join(tmpdir(), "prl-catalogue-"));
  try {
    writeFileSync(join(folder, "main.ts"), `${head}\n${lines.join("\n")}\nexport {};\n`);
    const args = [
      compiler,
      "--noEmit",
      "--strict",
      "--skipLibCheck",
      "--pretty",
      "false",
      "--target",
      "es2022",
      "--types",
      "",
      "main.ts",
    ];
    const limits = { timeout: 200_000, maxBuffer: 2 ** 28 };
    const { stdout, error } = spawnSync(process.execPath, args, { cwd: folder, encoding: "utf8", ...limits });
    expect(error).toBeUndefined();
    const errors = stdout.split("\n").flatMap((line) => {
      const found = /^main\.ts\((\d+),\d+\): error TS(\d+)/u.exec(line);
      return found === null ? [] : [{ line: Number(found[1]), code: found[2] ?? "" }];
    });
    // Not assignable, a member is missing, or the source is read-only.
    const refusals = new Set(["2322", "2719", "2739", "2740", "2741", "4104"]);
    expect(errors.filter(({ code }) => !refusals.has(code))).toEqual([]);
    const wrong = new Set(errors.map(({ line }) => line));
    const offset = head.split("\n").length + 1;
    const verdicts = lines.map((_, index) => (wrong.has(index + offset) ? "no" : "yes"));
    expect(verdicts).toEqual(drawn.flatMap(({ items }) => items));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
