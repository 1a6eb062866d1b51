/** Compares the solvers of rows with a second method that shares no code with them. */
import { expect, test } from "vitest";

import { drawInstance } from "../../../../../ts/environments/catalogue/drawn.ts";
import type { Family, Level } from "../../../../../ts/environments/catalogue/row.ts";
import { createRng } from "../../../../../ts/random/rng.ts";
import { IS_LONG } from "../../../../support/form.ts";

/** Instances of each level and row. */
const INSTANCES = IS_LONG ? 1_000 : 30;

/** Of sums of many doubles; the values of two different answers lie far more apart. */
const ROUNDING = 1e-8;

/** The answer by another method (a number where that has rounding), null where that would take too long, and up to which level it is tried. */
export type BruteForce = readonly [upTo: Level, answer: (problem: never) => string | number | null];

export function compareWith(family: Family, methods: Readonly<Record<string, BruteForce>>): void {
  test.each(family.rows.map((row) => [row.id, row] as const))(
    "%s: another method finds the same answers",
    (id, row) => {
      const [upTo, answer] = methods[id] ?? [];
      if (upTo === undefined || answer === undefined) throw new Error(`no second method for ${id}`);
      const rng = createRng(7);
      let compared = 0;
      for (let level = 1; level <= upTo; level++) {
        for (let count = 0; count < INSTANCES; count++) {
          const { instance } = drawInstance(row, level as Level, rng);
          const { problem, value } = instance as { problem: never; value: string };
          const other = answer(problem);
          if (other !== null && !agrees(other, value)) expect({ problem, value }).toEqual({ problem, value: other });
          compared += Number(other !== null);
        }
      }
      expect(compared).toBeGreaterThan(INSTANCES / 2);
    },
  );
}

function agrees(other: string | number, value: string): boolean {
  if (typeof other === "string") return other === value;
  const [top, bottom = 1] = value.split("/").map(Number);
  const exact = (top ?? Number.NaN) / bottom;
  return Math.abs(other - exact) <= ROUNDING * Math.max(1, Math.abs(exact));
}
