/** Answers of rows of mathematics against sympy, networkx and mpmath, which the Python of PRL_TEST_PYTHON may have. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";

import { expect, test } from "vitest";

import { drawInstance } from "../../../../../ts/environments/catalogue/drawn.ts";
import { catalogueRows } from "../../../../../ts/environments/catalogue/index.ts";
import { LEVELS } from "../../../../../ts/environments/catalogue/row.ts";
import { createRng } from "../../../../../ts/random/rng.ts";
import { TORCH_PYTHON, withoutPython } from "../../../../support/training/torch-python.ts";
import { IS_LONG } from "../../../../support/form.ts";

/** Instances of each level and row, and the highest level. */
const INSTANCES = IS_LONG ? 8 : 1;
const HIGHEST = IS_LONG ? 5 : 2;
const ORACLE = join(import.meta.dirname, "../../../../support/catalogue_oracle");
/** The short form takes seconds; this ends an oracle that hangs. */
const TIMEOUT_MS = 1_200_000;

/** Rows that the oracle answers quickly up to a level only. */
const QUICK_TO: Readonly<Record<string, number>> = {
  "inverse-totient-sets": 3,
  "divisor-sum-of-function": 4,
  "coin-gap-numbers": 4,
  "labelled-graph-census": 3,
  "polynomial-geometric-series": 1,
  "root-sums": 4,
  "form-reduction": 4,
  "implicit-derivatives": 4,
  "machine-schedule": 4,
  "integer-program-point": 4,
  "stable-assignment": 3,
};

const MISSING = withoutPython(["sympy", "networkx", "mpmath"]);
const WHERE = MISSING === "" ? "" : ` (skipped: ${MISSING})`;

function oracle(args: readonly string[], input = ""): unknown[] {
  const printed = execFileSync(TORCH_PYTHON ?? "python3", [ORACLE, ...args], {
    input,
    encoding: "utf8",
    timeout: TIMEOUT_MS,
    maxBuffer: 2 ** 28,
  });
  return printed
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as unknown);
}

test.skipIf(MISSING !== "")(
  `sympy and networkx find the same answers${WHERE}`,
  { timeout: 2 * TIMEOUT_MS },
  async () => {
    const known = new Set(oracle(["--rows"])[0] as string[]);
    const rows = (await catalogueRows(["math"])).map(({ row }) => row).filter(({ id }) => known.delete(id));
    // Every solver of the oracle has its row.
    expect([...known]).toEqual([]);
    const rng = createRng(23);
    const tasks = rows.flatMap((row) =>
      LEVELS.filter((level) => level <= Math.min(HIGHEST, QUICK_TO[row.id] ?? HIGHEST)).flatMap((level) =>
        Array.from({ length: INSTANCES }, () => {
          const { instance } = drawInstance(row, level, rng);
          return { id: row.id, problem: (instance as { problem: unknown }).problem, answer: row.gold(instance) };
        }),
      ),
    );
    const verdicts = oracle([], JSON.stringify(tasks));
    expect(verdicts.length).toBe(tasks.length);
    const wrong = tasks.flatMap((task, index) =>
      verdicts[index] === null ? [] : [{ ...task, right: verdicts[index] }],
    );
    expect(wrong).toEqual([]);
  },
);
