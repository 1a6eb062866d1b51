/** Sequences, trees and families against recursion over columns, groups of four, and copies of genes one by one. */
import { expect, test } from "vitest";

import { biology } from "../../../../../ts/environments/catalogue/science/biology/index.ts";
import { genePoolForecast } from "../../../../../ts/environments/catalogue/science/biology/gene-pool-forecast.ts";
import { distanceTree } from "../../../../../ts/environments/catalogue/science/biology/distance-tree.ts";
import { optimalAlignment } from "../../../../../ts/environments/catalogue/science/biology/optimal-alignment.ts";
import { outbreakSteps } from "../../../../../ts/environments/catalogue/science/biology/outbreak-steps.ts";
import { expectAgreement, instancesOf, luckOf, quantityRowsOf } from "./second-method.ts";

test.each(quantityRowsOf(biology).map((row) => [row.id, row] as const))(
  "%s: numbers of the prompt rarely hit",
  (_, row) => {
    expect(luckOf(row)).toBeLessThan(0.02);
  },
);

test("optimal-alignment: recursion over the rest of both sequences finds no better score", () => {
  interface Problem {
    first: string;
    second: string;
    scheme: { match: number; similar: number; other: number; open: number; gap: number };
    best: number;
  }
  for (const { instance } of instancesOf(optimalAlignment, [1, 2, 3])) {
    const { first, second, scheme, best } = instance as unknown as Problem;
    const known = new Map<string, number>();
    const rest = (i: number, j: number, last: string): number => {
      const key = `${i} ${j} ${last}`;
      const found = known.get(key);
      if (found !== undefined) return found;
      const [a = "", b = ""] = [first[i], second[j]];
      const kinds = new Set(["AG", "CT"].filter((kind) => kind.includes(a) || kind.includes(b)));
      const pair = a === b ? scheme.match : kinds.size === 1 ? scheme.similar : scheme.other;
      const gap = (state: string): number => scheme.gap + (last === state ? 0 : scheme.open);
      const value = Math.max(
        a === "" && b === "" ? 0 : -Infinity,
        a === "" || b === "" ? -Infinity : pair + rest(i + 1, j + 1, "pair"),
        a === "" ? -Infinity : gap("second") + rest(i + 1, j, "second"),
        b === "" ? -Infinity : gap("first") + rest(i, j + 1, "first"),
      );
      known.set(key, value);
      return value;
    };
    expect(rest(0, 0, "")).toBe(best);
  }
});

test("distance-tree: every group of four species is split as the sums of their distances say", () => {
  type Tree = number | Tree[];
  for (const { instance } of instancesOf(distanceTree)) {
    const { distances, tree } = instance as unknown as { distances: number[][]; tree: Tree };
    const sides: Set<number>[] = [];
    const leaves = (node: Tree): number[] => {
      const own = typeof node === "number" ? [node] : node.flatMap(leaves);
      sides.push(new Set(own));
      return own;
    };
    const all = leaves(tree);
    const far = (a: number, b: number): number => distances[a]?.[b] ?? Number.NaN;
    for (const a of all)
      for (const b of all.filter((one) => one > a))
        for (const c of all.filter((one) => one > a && one !== b))
          for (const d of all.filter((one) => one > c && one !== b)) {
            const isNear = far(a, b) + far(c, d) < Math.min(far(a, c) + far(b, d), far(a, d) + far(b, c));
            const isSplit = sides.some(
              (side) => side.has(a) === side.has(b) && side.has(c) === side.has(d) && side.has(a) !== side.has(c),
            );
            expect(isSplit).toBe(isNear);
          }
  }
});

test("gene-pool-forecast: genotypes are followed one by one", () => {
  interface Given {
    start: number;
    generations: number;
    fitness: number[];
    mutation: [number, number] | null;
    migration: [number, number] | null;
    inbreeding: number | null;
  }
  expectAgreement(genePoolForecast, ({ start, generations, fitness, mutation, migration, inbreeding }: Given) => {
    let gametes = [start, 1 - start];
    const [u, v] = mutation ?? [0, 0];
    for (let generation = 0; generation < generations; generation++) {
      const next = [0, 0];
      for (const [mother, x] of gametes.entries())
        for (const [father, y] of gametes.entries())
          for (const allele of [mother, father]) {
            const weight = (x * y * (fitness[mother + father] ?? 0)) / 2;
            const changes = allele === 0 ? [1 - u, u] : [v, 1 - v];
            for (const [kind, share] of changes.entries()) next[kind] = (next[kind] ?? 0) + weight * share;
          }
      const sum = (next[0] ?? 0) + (next[1] ?? 0);
      const [m, foreign] = migration ?? [0, 0];
      const p = ((next[0] ?? 0) / sum) * (1 - m) + m * foreign;
      gametes = [p, 1 - p];
    }
    const [p = 0, q = 0] = gametes;
    return [p, 2 * p * q - 2 * p * q * (inbreeding ?? 0)];
  });
});

test("outbreak-steps: the growth from one late generation to the next", () => {
  interface Given {
    matrix: number[][];
    cases: number[];
    generations: number;
    shield: { group: number; share: number } | null;
  }
  expectAgreement(outbreakSteps, ({ matrix, cases, generations, shield }: Given) => {
    const factor = (group: number): number => (group === shield?.group ? 1 - shield.share : 1);
    // Chains of infections from each first case, all ways through the groups.
    const chains = (group: number, left: number): number =>
      left === 0 ? 1 : matrix.reduce((sum, row, to) => sum + (row[group] ?? 0) * factor(to) * chains(to, left - 1), 0);
    const total = cases.reduce((sum, count, group) => sum + count * chains(group, generations), 0);
    let [state, growth] = [cases.map((count) => count + 1), 0];
    for (let turn = 0; turn < 600; turn++) {
      const next = matrix.map(
        (row, to) => factor(to) * row.reduce((sum, value, from) => sum + value * (state[from] ?? 0), 0),
      );
      growth = Math.hypot(...next) / Math.hypot(...state);
      state = next.map((value) => value / Math.hypot(...next));
    }
    return [growth, total, (growth - 1) / growth];
  });
});
