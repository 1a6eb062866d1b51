/** The search of hidden-law-table against Python, which evaluates the laws from their texts. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

import { at } from "../../../../../ts/environments/catalogue/lists.ts";
import { hiddenLawTable, solve } from "../../../../../ts/environments/catalogue/science/hidden-law-table/index.ts";
import { LAWS } from "../../../../../ts/environments/catalogue/science/hidden-law-table/laws.ts";
import {
  decimal,
  fitting,
  type Given,
  lawsOf,
} from "../../../../../ts/environments/catalogue/science/hidden-law-table/solve.ts";
import { createRng } from "../../../../../ts/random/rng.ts";

interface Case {
  readonly given: Given;
  /** Laws that agree with the early rows. */
  readonly open: readonly string[];
  /** Laws and parameters that agree with all rows. */
  readonly all: readonly (readonly [law: string, a: number, b: number])[];
  /** The prediction in tenths, where one pair is left. */
  readonly next: number | null;
}

const file = new URL("../../../../fixtures/laws/tables.json", import.meta.url);
const cases = JSON.parse(readFileSync(file, "utf8")) as readonly Case[];

function lawsNamed({ laws }: Given): typeof LAWS {
  return laws.map((id) =>
    at(
      LAWS.filter((one) => one.id === id),
      0,
    ),
  );
}

function texts(fits: readonly unknown[] = []): string[] {
  return fits.map((one) => JSON.stringify(one)).toSorted();
}

describe("the laws that agree with rows", () => {
  test("are those that Python finds by trying every pair on every row", () => {
    expect(new Set(cases.flatMap(({ given }) => given.laws)).size).toBe(LAWS.length);
    for (const { given, open, all } of cases) {
      const laws = lawsNamed(given);
      const whole = fitting(laws, given.rows, given.bound);
      const first = fitting(laws, given.rows.slice(0, given.early), given.bound);
      expect(texts(whole?.fits.map(({ law, a, b }) => [at(laws, law).id, a, b]))).toEqual(texts(all));
      expect(
        lawsOf(first?.fits ?? [])
          .map((one) => at(laws, one).id)
          .toSorted(),
      ).toEqual(open);
    }
  });

  test("an answer is given where one pair is left, with Python's prediction", () => {
    let clear = 0;
    for (const { given, next } of cases) {
      const fields = new Map(solve(given)?.fields.map(({ name, value }) => [name, value]));
      if (next === null) expect(fields.size).toBe(0);
      if (next === null || fields.size === 0) continue;
      clear += 1;
      expect(fields.get("next")).toBe(decimal(next));
    }
    expect(clear).toBeGreaterThan(20);
  });
});

test("a law by itself, or its parameters without a law, earn little", () => {
  const [row] = hiddenLawTable.rows;
  if (row === undefined) throw new Error("no row");
  const rng = createRng(3);
  for (let drawn = 0; drawn < 20;) {
    const instance = row.make(rng, 3);
    if (instance === null) continue;
    drawn += 1;
    const lines = row.gold(instance).split("\n");
    expect(row.score(instance, at(lines, 0))).toBeLessThan(0.05);
    expect(row.score(instance, lines.slice(1, 3).join("\n"))).toBeLessThan(0.1);
    expect(row.score(instance, lines.slice(0, 4).join("\n"))).toBeGreaterThan(0.3);
  }
});
