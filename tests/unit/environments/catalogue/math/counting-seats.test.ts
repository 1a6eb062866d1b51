/** Seats, surveys and thresholds of the counting rows against enumeration. */
import { expect, test } from "vitest";

import { drawInstance } from "../../../../../ts/environments/catalogue/drawn.ts";
import { counting } from "../../../../../ts/environments/catalogue/math/counting/index.ts";
import { createRng } from "../../../../../ts/random/rng.ts";
import { compareWith } from "./against-brute-force.ts";

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, n) => n);
}

function* orders(items: readonly number[]): Generator<number[]> {
  if (items.length === 0) yield [];
  for (const [at, item] of items.entries()) for (const rest of orders(items.toSpliced(at, 1))) yield [item, ...rest];
}

function countOf<Item>(items: Iterable<Item>, holds: (item: Item) => boolean): string {
  let count = 0;
  for (const item of items) count += Number(holds(item));
  return String(count);
}

const MOST = 40_000;
const byProperty = "forcing-threshold";
const here = ["round-table-seating", "survey-regions"];
const family = { ...counting, rows: counting.rows.filter(({ id }) => here.includes(id)) };

compareWith(family, {
  "round-table-seating": [
    3,
    ({ people, together, apart }: { people: number; together: [number, number][]; apart: [number, number][] }) => {
      if (people > 8) return null;
      return countOf(orders(upTo(people - 1)), (others) => {
        const circle = [people - 1, ...others];
        const touch = ([a, b]: [number, number]): boolean =>
          [1, people - 1].includes(Math.abs(circle.indexOf(a) - circle.indexOf(b)));
        return together.every(touch) && !apart.some(touch);
      });
    },
  ],
  "survey-regions": [
    2,
    (one: {
      sets: number;
      people: number;
      facts: [{ kind: string; sets: number; number: number }, number][];
      asked: { kind: string; sets: number; number: number };
    }) => {
      const isIn = ({ kind, sets, number }: (typeof one)["asked"], region: number): boolean => {
        const inside = upTo(one.sets).filter((set) => Math.floor(region / 2 ** set) % 2 === 1);
        const wanted = upTo(one.sets).filter((set) => Math.floor(sets / 2 ** set) % 2 === 1);
        if (kind === "all") return wanted.every((set) => inside.includes(set));
        if (kind === "any") return wanted.some((set) => inside.includes(set));
        return kind === "only" ? inside.join() === wanted.join() : inside.length === number;
      };
      const totals = [one.people, ...one.facts.map(([, count]) => count)];
      const parts = upTo(2 ** one.sets).map((region) => [
        true,
        ...one.facts.map(([group]) => isIn(group, region)),
        isIn(one.asked, region),
      ]);
      // The totals that are still to be reached, after each region with the sizes of the asked group that lead there.
      let states = new Map([[totals.join(), new Set([0])]]);
      for (const [region, inside] of parts.entries()) {
        const after: typeof states = new Map();
        for (const [key, sizes] of states) {
          const left = key.split(",").map(Number);
          const most = Math.min(...left.filter((_, at) => inside[at] === true));
          for (const people of upTo(most + 1)) {
            const rest = left.map((total, at) => (inside[at] === true ? total - people : total));
            const isDead = rest.some(
              (total, at) => total > 0 && !parts.slice(region + 1).some((part) => part[at] === true),
            );
            if (isDead) continue;
            const known = after.get(rest.join()) ?? new Set<number>();
            for (const size of sizes) known.add(size + (inside.at(-1) === true ? people : 0));
            after.set(rest.join(), known);
          }
        }
        if (after.size > MOST / 4) return null;
        states = after;
      }
      const sizes = [...(states.get(totals.map(() => 0).join()) ?? [])];
      return `${Math.min(...sizes)}, ${Math.max(...sizes)}`;
    },
  ],
});

test("forcing-threshold: no larger subset of all is free of the pairs", () => {
  const row = counting.rows.find(({ id }) => id === byProperty);
  if (row === undefined) throw new Error("the row is missing");
  const rng = createRng(7);
  for (let count = 0; count < 30; count++) {
    const { instance } = drawInstance(row, 1, rng);
    const { most, clauses, free } = instance as {
      most: number;
      clauses: { kind: string; value: number }[];
      free: number[];
    };
    const isFree = (subset: number[]): boolean =>
      !subset.some((a) =>
        subset.some((b) =>
          clauses.some(
            ({ kind, value }) =>
              b > a && (kind === "difference" ? b - a === value : kind === "sum" ? a + b === value : b / a === value),
          ),
        ),
      );
    let largest = 0;
    for (const mask of upTo(2 ** most)) {
      const subset = upTo(most + 1).filter((n) => n > 0 && Math.floor(mask / 2 ** (n - 1)) % 2 === 1);
      if (subset.length > largest && isFree(subset)) largest = subset.length;
    }
    expect({ most, clauses, size: free.length }).toEqual({ most, clauses, size: largest });
    expect(row.score(instance, `${largest + 1}: ${free.join(", ")}`)).toBe(1);
  }
});
