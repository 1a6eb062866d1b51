/** Group choices and time lines against enumeration with code that shares nothing with the rows. */
import { expect, test } from "vitest";

import { drawInstance } from "../../../../../ts/environments/catalogue/drawn.ts";
import type { FieldInstance } from "../../../../../ts/environments/catalogue/field-row.ts";
import { stablePartners } from "../../../../../ts/environments/catalogue/logic/choices/stable-partners.ts";
import { votingPower } from "../../../../../ts/environments/catalogue/logic/choices/voting-power.ts";
import type { Level, Row } from "../../../../../ts/environments/catalogue/row.ts";
import { createRng } from "../../../../../ts/random/rng.ts";
import { IS_LONG } from "../../../../support/form.ts";

const INSTANCES = IS_LONG ? 200 : 15;

function* instancesOf<Given extends object>(row: Row, levels: readonly Level[]): Generator<FieldInstance<Given>> {
  const rng = createRng(11);
  for (const level of levels)
    for (let count = 0; count < INSTANCES; count++)
      yield drawInstance(row, level, rng).instance as FieldInstance<Given>;
}

function orders(items: readonly number[]): number[][] {
  if (items.length === 0) return [[]];
  return items.flatMap((item) => orders(items.filter((other) => other !== item)).map((rest) => [item, ...rest]));
}

test("voting-power: counting all orders of the members gives the same shares", () => {
  interface Council {
    readonly weights: number[];
    readonly quota: number;
    readonly heads: number;
    readonly veto: number | null;
  }
  for (const { given, solution } of instancesOf<Council>(votingPower, [1, 2, 3])) {
    const all = orders([...given.weights.keys()]);
    const pivotal = given.weights.map(() => 0);
    for (const order of all) {
      const wins = (size: number): boolean => {
        const members = order.slice(0, size);
        const votes = members.reduce((sum, one) => sum + (given.weights[one] ?? 0), 0);
        return votes >= given.quota && size >= given.heads && (given.veto === null || members.includes(given.veto));
      };
      const turn = order.findIndex((_, place) => wins(place + 1));
      const member = order[turn] ?? -1;
      pivotal[member] = (pivotal[member] ?? 0) + 1;
    }
    const shares = solution.fields.map(({ value }) => {
      const [n = 0, d = 1] = value.split("/").map(Number);
      return (n * all.length) / d;
    });
    expect(shares.map(Math.round)).toEqual(pivotal);
  }
});

test("stable-partners: of all matchings those without a blocking pair give the same sets", () => {
  interface Market {
    readonly applicants: number[][];
    readonly posts: number[][];
  }
  for (const { given, solution } of instancesOf<Market>(stablePartners, [1, 2, 3, 4])) {
    const { applicants, posts } = given;
    const stable = orders([...applicants.keys()]).filter((held) =>
      applicants.every((wishes, one) => {
        const better = wishes.slice(0, wishes.indexOf(held[one] ?? -1));
        return better.every((post) => {
          const list = posts[post] ?? [];
          return list.indexOf(held.indexOf(post)) < list.indexOf(one);
        });
      }),
    );
    const sets = applicants.map((_, one) =>
      [...new Set(stable.map((held) => held[one] ?? -1))].toSorted((a, b) => a - b).map((post) => `P${post + 1}`),
    );
    expect(solution.fields.map(({ value }) => value.split(", "))).toEqual(sets);
  }
});
