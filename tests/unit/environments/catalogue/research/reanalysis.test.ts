/** Causal directions and dated layers against enumeration and recursion, with code that shares nothing with the rows. */
import { expect, test } from "vitest";

import { drawInstance } from "../../../../../ts/environments/catalogue/drawn.ts";
import type { FieldInstance } from "../../../../../ts/environments/catalogue/field-row.ts";
import { compelledArrows } from "../../../../../ts/environments/catalogue/research/reanalysis/compelled-arrows.ts";
import { excavationSequence } from "../../../../../ts/environments/catalogue/research/reanalysis/excavation-sequence.ts";
import type { Level, Row } from "../../../../../ts/environments/catalogue/row.ts";
import { createRng } from "../../../../../ts/random/rng.ts";
import { IS_LONG } from "../../../../support/form.ts";

const INSTANCES = IS_LONG ? 60 : 8;

function* instancesOf<Given extends object>(row: Row, levels: readonly Level[]): Generator<FieldInstance<Given>> {
  const rng = createRng(5);
  for (const level of levels)
    for (let count = 0; count < INSTANCES; count++)
      yield drawInstance(row, level, rng).instance as FieldInstance<Given>;
}

type Arrow = readonly [from: number, to: number];

function hasCycle(arrows: readonly Arrow[]): boolean {
  let left = arrows;
  for (;;) {
    const next = left.filter(([from]) => left.some(([, to]) => to === from));
    if (next.length === left.length) return left.length > 0;
    left = next;
  }
}

test("compelled-arrows: all graphs without cycles that have the findings' colliders agree on what is settled, and on nothing else", () => {
  interface Findings {
    readonly links: [number, number][];
    readonly separators: { pair: [number, number]; by: number[] }[];
  }
  for (const { given, solution } of instancesOf<Findings>(compelledArrows, [1, 2, 3])) {
    const { links, separators } = given;
    const graphs: Arrow[][] = [];
    for (let choice = 0; choice < 2 ** links.length; choice++) {
      const arrows = links.map(([a, b], at): Arrow => ((choice >> at) & 1 ? [b, a] : [a, b]));
      if (hasCycle(arrows)) continue;
      const pointsTo = (from: number, to: number): boolean => arrows.some(([a, b]) => a === from && b === to);
      const isLinked = (a: number, b: number): boolean => pointsTo(a, b) || pointsTo(b, a);
      // A node between two that are not linked is a collider exactly where it is not held fixed to make them independent.
      const fits = separators.every(({ pair: [a, b], by }) =>
        arrows
          .flat()
          .filter((node) => isLinked(a, node) && isLinked(b, node))
          .every((node) => (pointsTo(a, node) && pointsTo(b, node)) === !by.includes(node)),
      );
      if (fits) graphs.push(arrows);
    }
    expect(graphs.length).toBeGreaterThan(0);
    const verdicts = links.map(([a], at) => {
      const forward = graphs.filter((arrows) => arrows[at]?.[0] === a).length;
      return forward === graphs.length ? "forward" : forward === 0 ? "backward" : "open";
    });
    expect(solution.fields.map(({ value }) => value)).toEqual(verdicts);
  }
});

test("excavation-sequence: the bounds follow along every way down and up", () => {
  interface Notes {
    readonly layers: number;
    readonly later: [number, number][];
    readonly coins: [number, number][];
    readonly seals: [number, number][];
  }
  for (const { given, solution } of instancesOf<Notes>(excavationSequence, [1, 2, 3, 4, 5])) {
    const { layers, later, coins, seals } = given;
    const earliest = (layer: number): number =>
      Math.max(
        -Infinity,
        ...coins.filter(([one]) => one === layer).map(([, year]) => year),
        ...later.filter(([above]) => above === layer).map(([, below]) => earliest(below) + 1),
      );
    const latest = (layer: number): number =>
      Math.min(
        Infinity,
        ...seals.filter(([one]) => one === layer).map(([, year]) => year - 1),
        ...later.filter(([, below]) => below === layer).map(([above]) => latest(above) - 1),
      );
    const shown = (year: number): string => (Number.isFinite(year) ? String(year) : "none");
    const expected = [...Array(layers).keys()].map((layer) => `${shown(earliest(layer))}/${shown(latest(layer))}`);
    expect(solution.fields.map(({ value }) => value)).toEqual(expected);
  }
});
