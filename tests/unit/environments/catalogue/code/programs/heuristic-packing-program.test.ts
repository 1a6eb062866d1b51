/** Programs that pack and lay out: gold programs under CPython against the host's search, and plans that break a rule. */
import { execFileSync } from "node:child_process";

import { describe, expect, test } from "vitest";

import type {
  Geometry,
  Lines,
} from "../../../../../../ts/environments/catalogue/code/heuristic-packing-program/geometry.ts";
import { linesOfOutput } from "../../../../../../ts/environments/catalogue/code/heuristic-packing-program/geometry.ts";
import { GEOMETRIES } from "../../../../../../ts/environments/catalogue/code/heuristic-packing-program/geometries/index.ts";
import { heuristicPackingProgram } from "../../../../../../ts/environments/catalogue/code/heuristic-packing-program/index.ts";
import {
  goldProgram,
  plainProgram,
  STEPS,
  textOf,
} from "../../../../../../ts/environments/catalogue/code/heuristic-packing-program/program.ts";
import { drawInstance } from "../../../../../../ts/environments/catalogue/drawn.ts";
import { at, range } from "../../../../../../ts/environments/catalogue/lists.ts";
import { createRng } from "../../../../../../ts/random/rng.ts";
import { IS_LONG } from "../../../../../support/form.ts";
import { HAS_PYTHON, PYTHON } from "../interpreters.ts";

const SIZES = IS_LONG ? [5, 20, 60, 250, 500] : [25];
const FIRST = 1;

interface Case {
  readonly rules: object;
  readonly data: object;
}

function casesOf(geometry: Geometry): Case[] {
  const rng = createRng(3);
  return SIZES.flatMap((size) =>
    ([0, 1, 2] as const).map((sides) => {
      const rules = geometry.rules(rng, sides);
      return { rules, data: geometry.draw(rng, rules, size) };
    }),
  );
}

function printed(geometry: Geometry, plan: Lines): string {
  return textOf(plan.map((line) => line.map((value, place) => (geometry.isThing(place) ? value + FIRST : value))));
}

function ran(program: string, input: string): string {
  return execFileSync(PYTHON, ["-c", program], { input, encoding: "utf8" });
}

describe.each(GEOMETRIES.map((geometry) => [geometry.id, geometry] as const))("%s", (_, geometry) => {
  test.skipIf(!HAS_PYTHON)("CPython finds the plans of the host", () => {
    for (const { rules, data } of casesOf(geometry).slice(IS_LONG ? 0 : -1)) {
      const written = { geometry, rules, first: FIRST };
      const input = textOf(geometry.input(data, FIRST));
      expect(ran(plainProgram(written), input)).toBe(printed(geometry, geometry.plain(rules, data)));
      expect(ran(goldProgram(written), input)).toBe(printed(geometry, geometry.search(rules, data, STEPS)));
    }
  });

  test("the search saves, stays above the lower bound, and no step makes its end worse than its begin", () => {
    let saved = 0;
    for (const { rules, data } of casesOf(geometry)) {
      const [plain, begun, found] = [
        geometry.plain(rules, data),
        geometry.search(rules, data, 0),
        geometry.search(rules, data, STEPS),
      ].map((plan) => geometry.cost(rules, data, plan) ?? Number.NaN);
      expect(found).toBeLessThanOrEqual(begun ?? 0);
      expect(found).toBeGreaterThanOrEqual(geometry.bound(rules, data));
      if ((found ?? 0) < (plain ?? 0)) saved += 1;
    }
    expect(saved).toBeGreaterThanOrEqual(2);
  });

  test("a plan that loses, repeats or moves something has no cost or costs something else", () => {
    for (const { rules, data } of casesOf(geometry)) {
      const plan = geometry.search(rules, data, STEPS);
      const cost = geometry.cost(rules, data, plan) ?? Number.NaN;
      const last = at(plan, plan.length - 1);
      for (const broken of [
        [],
        plan.slice(1),
        [...plan, last],
        [...plan.slice(0, -1), last.slice(0, -1)],
        plan.map((line) => line.map((value) => value + 1)),
        plan.map((line) => line.map(() => -1)),
      ])
        expect(geometry.cost(rules, data, broken) ?? Infinity).toBeGreaterThan(cost);
    }
  });
});

test("an output earns the square of the share of what the search saves of the base, and nothing where it is no plan", () => {
  const row = at(heuristicPackingProgram.rows, 0);
  const rng = createRng(5);
  for (const level of [1, 2] as const) {
    const { instance } = drawInstance(row, level, rng) as { instance: Drawn };
    const geometry = at(
      GEOMETRIES,
      GEOMETRIES.findIndex(({ id }) => id === instance.geometry),
    );
    const { tests, earns } = row.exam(instance);
    const data = createRng(instance.seed);
    for (const index of range(tests.length)) {
      const hidden = geometry.draw(data, instance.rules, at(instance.sizes, index));
      const show = (plan: Lines): string =>
        textOf(plan.map((line) => line.map((one, place) => (geometry.isThing(place) ? one + instance.first : one))));
      const begun = geometry.search(instance.rules, hidden, 0);
      const [base, found] = [at(instance.base, index), at(instance.found, index)];
      const share = (base - (geometry.cost(instance.rules, hidden, begun) ?? base)) / (base - found);
      expect(earns?.(show(begun), index)).toBe(Math.max(0, share) ** 2);
      expect(earns?.(show(geometry.search(instance.rules, hidden, STEPS)), index)).toBe(1);
      expect(earns?.(show(geometry.plain(instance.rules, hidden)), index)).toBe(0);
      expect(earns?.("", index)).toBe(0);
      expect(earns?.(`${show(begun)}\ndone`, index)).toBe(0);
    }
  }
});

interface Drawn {
  readonly geometry: string;
  readonly rules: object;
  readonly first: number;
  readonly seed: number;
  readonly sizes: readonly number[];
  readonly base: readonly number[];
  readonly found: readonly number[];
}

test("an output is read as whole numbers by lines, and as nothing else", () => {
  expect(linesOfOutput("1 2\n\n  -3\n")).toEqual([[1, 2], [-3]]);
  for (const text of ["1.5", "1e3", "[1, 2]", "1,2", "0x10", "12345678901", "NaN"])
    expect(linesOfOutput(text)).toBeNull();
});
