/** Elections against counts that follow the rules on paper: every path of victories, every single paper. */
import { expect, test } from "vitest";

import { drawInstance } from "../../../../../ts/environments/catalogue/drawn.ts";
import type { FieldInstance } from "../../../../../ts/environments/catalogue/field-row.ts";
import { strongestPathRanking } from "../../../../../ts/environments/catalogue/logic/choices/strongest-path-ranking.ts";
import { transferredVotes } from "../../../../../ts/environments/catalogue/logic/choices/transferred-votes.ts";
import { LEVELS, type Row } from "../../../../../ts/environments/catalogue/row.ts";
import { createRng } from "../../../../../ts/random/rng.ts";
import { IS_LONG } from "../../../../support/form.ts";

const INSTANCES = IS_LONG ? 100 : 12;

interface Given {
  names: string[];
  seats: number;
  ballots: { order: number[]; voters: number }[];
}

function* drawn(row: Row): Generator<{ given: Given; values: string[] }> {
  const rng = createRng(33);
  for (const level of LEVELS) {
    for (let count = 0; count < INSTANCES; count++) {
      const { given, solution } = drawInstance(row, level, rng).instance as FieldInstance<Given>;
      yield { given, values: solution.fields.map(({ value }) => value) };
    }
  }
}

test("strongest-path-ranking: all paths of victories are walked", () => {
  for (const { given, values } of drawn(strongestPathRanking)) {
    const { names, ballots } = given;
    const papers = ballots.flatMap(({ order, voters }) =>
      Array.from({ length: voters }, () => order.map((one) => names[one] ?? "")),
    );
    const victory = (a: string, b: string): number => {
      const forA = papers.filter((paper) => paper.find((name) => name === a || name === b) === a).length;
      return 2 * forA > papers.length ? forA : 0;
    };
    const table = new Map(
      names.flatMap((a) => names.map((b): [string, number] => [a + b, a === b ? 0 : victory(a, b)])),
    );
    const strongest = (from: string, to: string): number => {
      let best = 0;
      const walk = (here: string, weakest: number, met: ReadonlySet<string>): void => {
        if (here === to) best = Math.max(best, weakest);
        if (here === to || weakest <= best) return;
        for (const next of names) {
          const strength = table.get(here + next) ?? 0;
          if (strength > 0 && !met.has(next)) walk(next, Math.min(weakest, strength), new Set([...met, next]));
        }
      };
      walk(from, Infinity, new Set([from]));
      return best;
    };
    const order = values[0]?.split(", ") ?? [];
    expect(order.toSorted()).toEqual(names);
    for (const [place, above] of order.entries())
      for (const below of order.slice(place + 1))
        expect(strongest(above, below), `${above} over ${below}, ${JSON.stringify(given)}`).toBeGreaterThan(
          strongest(below, above),
        );
  }
});

test("transferred-votes: the value of each paper is a fraction, and papers move by the rule", () => {
  /** Fractions with their own denominators. */
  type Value = readonly [n: bigint, d: bigint];
  const gcd = (a: bigint, b: bigint): bigint => (b === 0n ? a : gcd(b, a % b));
  const short = ([n, d]: Value): Value => [n / gcd(n, d), d / gcd(n, d)];
  const add = ([n, d]: Value, [m, e]: Value): Value => short([n * e + m * d, d * e]);
  const isLess = ([n, d]: Value, [m, e]: Value): boolean => n * e < m * d;
  for (const { given, values } of drawn(transferredVotes)) {
    const { names, seats, ballots } = given;
    const papers = ballots.flatMap(({ order, voters }) =>
      Array.from({ length: voters }, () => ({ order: order.map((one) => names[one] ?? ""), value: [1n, 1n] as Value })),
    );
    const quota: Value = [BigInt(Math.floor(papers.length / (seats + 1)) + 1), 1n];
    const [elected, out]: [string[], string[]] = [[], []];
    while (elected.length < seats) {
      const piles = new Map(
        names
          .filter((name) => !elected.includes(name) && !out.includes(name))
          .map((name) => [name, [] as typeof papers]),
      );
      for (const paper of papers) piles.get(paper.order.find((name) => piles.has(name)) ?? "")?.push(paper);
      const votes = [...piles].map(([name, pile]) => ({
        name,
        pile,
        sum: pile.reduce((sum: Value, { value }) => add(sum, value), [0n, 1n] as Value),
      }));
      const sorted = votes.toSorted((a, b) => (isLess(a.sum, b.sum) ? -1 : isLess(b.sum, a.sum) ? 1 : 0));
      const [last, first] = [sorted[0], sorted.at(-1)];
      if (first === undefined || last === undefined) throw new Error("no candidate is left");
      if (isLess(first.sum, quota)) {
        out.push(last.name);
        continue;
      }
      elected.push(first.name);
      const surplus = add(first.sum, [-quota[0], 1n]);
      for (const paper of first.pile)
        paper.value = short([paper.value[0] * surplus[0] * first.sum[1], paper.value[1] * surplus[1] * first.sum[0]]);
    }
    expect(values, JSON.stringify(given)).toEqual([elected.join(", "), out.join(", ")]);
  }
});
