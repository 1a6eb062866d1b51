/** Rows of science, research and agentic work against numpy, scipy, sympy and networkx, which the Python of PRL_TEST_PYTHON may have. */
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
const INSTANCES = IS_LONG ? 6 : 1;
const HIGHEST = IS_LONG ? 5 : 2;
const ORACLE = join(import.meta.dirname, "../../../../support/science_oracle");
/** The short form takes seconds; this ends an oracle that hangs. */
const TIMEOUT_MS = 1_200_000;
/** Rows that the oracle answers quickly up to a level only. */
const QUICK_TO: Readonly<Record<string, number>> = { "pedigree-odds": 3, "isomer-census": 2, "transfer-orbit-plan": 3 };
/** Relative difference of two doubles; parts with an absolute tolerance may differ by a tenth of it. */
const CLOSE = 1e-5;
/** Rates of enzymes are rounded, and hours above the horizon are counted in steps. */
const ROUGH: Readonly<Record<string, number>> = { "enzyme-inhibitor-call": 3e-3, "sky-position-time": 1e-3 };

const MISSING = withoutPython(["numpy", "scipy", "sympy", "networkx"]);
const WHERE = MISSING === "" ? "" : ` (skipped: ${MISSING})`;

interface Wanted {
  readonly value: string | number;
  readonly allowed: number;
}

interface Solved {
  readonly given?: object;
  readonly solution?: {
    readonly parts?: readonly { readonly value: number; readonly absolute?: number }[];
    readonly words?: readonly { readonly value: string }[];
    readonly fields?: readonly { readonly value: string }[];
  };
}

/** What the instances of rows without fields promise, by row. */
const PROMISED: Readonly<Record<string, (instance: never) => readonly number[]>> = {
  "optimal-alignment": ({ best }: { best: number }) => [best],
  "distance-tree": () => [0],
  "boolean-query-writer": () => [0],
  "restock-orders": ({ least }: { least: number[] }) => least,
  "battery-plan": ({ best }: { best: number }) => [best],
  "auction-campaign": ({ best }: { best: number }) => [best],
  "trip-dispatch": ({ best }: { best: number }) => [best],
  "package-negotiation": ({ issues, best }: { issues: { own: number[] }[]; best: number[] }) => [
    issues.reduce((sum, { own }, index) => sum + (own[best[index] ?? -1] ?? Number.NaN), 0),
  ],
  "bank-reconciliation": ({ matches }: { matches: string[][] }) => [matches.filter((one) => one.length > 0).length],
};

function wantedOf(id: string, instance: Solved): Wanted[] {
  const promised = PROMISED[id];
  if (promised !== undefined) return promised(instance as never).map((value) => ({ value, allowed: 1e-9 }));
  const { parts = [], words = [], fields = [] } = instance.solution ?? {};
  return [
    ...parts.map(({ value, absolute = 0 }) => ({
      value,
      allowed: Math.max((ROUGH[id] ?? CLOSE) * Math.abs(value), absolute / 10),
    })),
    ...[...words, ...fields].map(({ value }) => ({ value, allowed: 0 })),
  ];
}

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

function isClose(found: string | number | undefined, { value, allowed }: Wanted): boolean {
  return typeof value === "string" ? found === value : Math.abs(Number(found) - value) <= allowed;
}

test.skipIf(MISSING !== "")(
  `numpy, scipy, sympy and networkx find the same answers${WHERE}`,
  { timeout: 2 * TIMEOUT_MS },
  async () => {
    const known = new Set(oracle(["--rows"])[0] as string[]);
    const rows = (await catalogueRows(["science", "research", "agentic"]))
      .map(({ row }) => row)
      .filter(({ id }) => known.delete(id));
    // Every solver of the oracle has its row.
    expect([...known]).toEqual([]);
    const rng = createRng(29);
    const tasks = rows.flatMap((row) =>
      LEVELS.filter((level) => level <= Math.min(HIGHEST, QUICK_TO[row.id] ?? HIGHEST)).flatMap((level) =>
        Array.from({ length: INSTANCES }, () => {
          const drawn = drawInstance(row, level, rng);
          const instance = drawn.instance as Solved;
          return { id: row.id, given: instance.given ?? instance, wanted: wantedOf(row.id, instance) };
        }),
      ),
    );
    const answers = oracle([], JSON.stringify(tasks)) as (string | number)[][];
    expect(answers.length).toBe(tasks.length);
    const wrong = tasks.flatMap(({ id, given, wanted }, index) => {
      const found = answers[index] ?? [];
      const isRight = found.length === wanted.length && wanted.every((one, place) => isClose(found[place], one));
      return isRight ? [] : [{ id, given, wanted: wanted.map(({ value }) => value), found }];
    });
    expect(wrong).toEqual([]);
  },
);
