/** Real interpreters as the second method for rows about programs: CPython, Node in this process, and a C compiler. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { drawInstance } from "../../../../../ts/environments/catalogue/drawn.ts";
import { LEVELS, type Level, type RowBase } from "../../../../../ts/environments/catalogue/row.ts";
import { createRng } from "../../../../../ts/random/rng.ts";
import { IS_LONG } from "../../../../support/form.ts";

/** Instances of each level. */
const INSTANCES = IS_LONG ? 200 : 12;
export const PYTHON = process.env["PRL_TEST_PYTHON"] ?? "python3";
const COMPILER = "gcc";
const TIMEOUT_MS = 200_000;

const answers = (program: string): boolean => spawnSync(program, ["--version"], { timeout: TIMEOUT_MS }).status === 0;
export const HAS_PYTHON = answers(PYTHON);
export const HAS_COMPILER = answers(COMPILER);

/** Runs each source in a namespace for itself; `what` is printed per source as JSON. */
const RUNNER = `
import contextlib, io, json, sys
for source in json.load(sys.stdin):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(source, {"__name__": "__main__"})
    print(json.dumps(printed.getvalue()))
`;

/** What each program prints with CPython, by lines without spaces at their ends. */
export function printedByPython(sources: readonly string[]): string[][] {
  const text = execFileSync(PYTHON, ["-c", RUNNER], {
    input: JSON.stringify(sources),
    encoding: "utf8",
    timeout: TIMEOUT_MS,
    maxBuffer: 2 ** 28,
  });
  return text
    .trim()
    .split("\n")
    .map((line) => (JSON.parse(line) as string).trimEnd().split("\n"));
}

/** Compiles and runs a program of C. */
export function printedByC(source: string): string[] {
  const folder = mkdtempSync(join(tmpdir(), "prl-catalogue-"));
  try {
    writeFileSync(join(folder, "main.c"), source);
    execFileSync(COMPILER, ["-w", "-o", join(folder, "main"), join(folder, "main.c")], { timeout: TIMEOUT_MS });
    return execFileSync(join(folder, "main"), { encoding: "utf8", timeout: TIMEOUT_MS }).trimEnd().split("\n");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export interface Answer<Problem> {
  readonly problem: Problem;
  readonly items: string[];
}

export function drawnOf<Instance>(row: RowBase, levels: readonly Level[] = LEVELS): Instance[] {
  const rng = createRng(11);
  return levels.flatMap((level) =>
    Array.from({ length: INSTANCES }, () => drawInstance(row, level, rng).instance as Instance),
  );
}
