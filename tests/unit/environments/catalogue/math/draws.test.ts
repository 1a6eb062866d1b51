/** Random numbers that rows ask for: no bounds that are turned around, which give one value or values outside of them. */
import { expect, test } from "vitest";

import { drawInstance } from "../../../../../ts/environments/catalogue/drawn.ts";
import { catalogueRows } from "../../../../../ts/environments/catalogue/index.ts";
import { coprimeCountRange } from "../../../../../ts/environments/catalogue/math/modular/coprime-count-range.ts";
import { factorialValuations } from "../../../../../ts/environments/catalogue/math/modular/factorial-valuations.ts";
import { shapleyShares } from "../../../../../ts/environments/catalogue/math/optimisation/shapley-shares.ts";
import { degreeLabelledTrees } from "../../../../../ts/environments/catalogue/math/structures/degree-labelled-trees.ts";
import { LEVELS } from "../../../../../ts/environments/catalogue/row.ts";
import { createRng } from "../../../../../ts/random/rng.ts";
import { IS_LONG } from "../../../../support/form.ts";

/** In which bounds were turned around once; the long form takes all rows. */
const SHORT = [coprimeCountRange, factorialValuations, degreeLabelledTrees, shapleyShares];
const INSTANCES = 12;

const rows = IS_LONG ? (await catalogueRows(["math", "science"])).map(({ row }) => row) : SHORT;

test.each(rows.map((row) => [row.id, row] as const))("%s: every bound is a positive whole number", (_, row) => {
  const base = createRng(9);
  const wrong = new Set<number>();
  const rng = {
    ...base,
    integer(bound: number): number {
      if (!Number.isInteger(bound) || bound < 1) wrong.add(bound);
      return base.integer(bound);
    },
  };
  for (const level of LEVELS) for (let count = 0; count < INSTANCES; count++) drawInstance(row, level, rng);
  expect([...wrong]).toEqual([]);
});

test("coprime-count-range: ranges end at many different numbers of as many digits as the level says", () => {
  const rng = createRng(3);
  const found = LEVELS.map((level) => {
    const ends = Array.from({ length: 20 }, () => {
      const { instance } = drawInstance(coprimeCountRange, level, rng);
      return (instance as { problem: { to: string } }).problem.to;
    });
    return new Set(ends.map((end) => end.slice(0, 2))).size;
  });
  for (const different of found) expect(different).toBeGreaterThan(8);
});
