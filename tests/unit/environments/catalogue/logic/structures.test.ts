/** Relations of intervals, bounds on times and trading cycles against searches that share no code with the rows. */
import { expect, test } from "vitest";

import { drawInstance } from "../../../../../ts/environments/catalogue/drawn.ts";
import type { FieldInstance } from "../../../../../ts/environments/catalogue/field-row.ts";
import { topTradingCycles } from "../../../../../ts/environments/catalogue/logic/choices/top-trading-cycles.ts";
import { intervalRelations } from "../../../../../ts/environments/catalogue/logic/structures/interval-relations.ts";
import { tightestTimeBounds } from "../../../../../ts/environments/catalogue/logic/structures/tightest-time-bounds.ts";
import type { Level, Row } from "../../../../../ts/environments/catalogue/row.ts";
import { createRng } from "../../../../../ts/random/rng.ts";
import { IS_LONG } from "../../../../support/form.ts";

const INSTANCES = IS_LONG ? 60 : 6;

function* instancesOf<Given extends object>(row: Row, levels: readonly Level[]): Generator<FieldInstance<Given>> {
  const rng = createRng(17);
  for (const level of levels)
    for (let count = 0; count < INSTANCES; count++)
      yield drawInstance(row, level, rng).instance as FieldInstance<Given>;
}

/** Signs of the differences start-start, start-end, end-start, end-end of X and Y. */
const ALLEN: Readonly<Record<string, string>> = {
  before: "----",
  meets: "--0-",
  overlaps: "--+-",
  starts: "0-+-",
  during: "+-+-",
  finishes: "+-+0",
  equals: "0-+0",
  "finished-by": "--+0",
  contains: "--++",
  "started-by": "0-++",
  "overlapped-by": "+-++",
  "met-by": "+0++",
  after: "++++",
};

test("interval-relations: every relation that some placement of the intervals has is listed, and no other", () => {
  interface Network {
    readonly count: number;
    readonly facts: { first: number; second: number; relations: string[] }[];
    readonly asked: [number, number][];
  }
  for (const { given, solution } of instancesOf<Network>(intervalRelations, [1, 2])) {
    const { count, facts, asked } = given;
    const points = [...Array(2 * count).keys()];
    const placements = points.flatMap((start) =>
      points.filter((end) => end > start).map((end) => [start, end] as const),
    );
    const placed: (readonly [number, number])[] = [];
    const relation = (a: number, b: number): string => {
      const [x = [0, 0], y = [0, 0]] = [placed[a], placed[b]];
      const signs = [x[0] - y[0], x[0] - y[1], x[1] - y[0], x[1] - y[1]].map((d) => (d < 0 ? "-" : d > 0 ? "+" : "0"));
      return Object.keys(ALLEN).find((name) => ALLEN[name] === signs.join("")) ?? "?";
    };
    const found = asked.map(() => new Set<string>());
    const visit = (next: number): void => {
      if (next === count) {
        for (const [at, [x, y]] of asked.entries()) found[at]?.add(relation(x, y));
        return;
      }
      for (const placement of placements) {
        placed[next] = placement;
        const fits = facts
          .filter(({ first, second }) => Math.max(first, second) === next)
          .every(({ first, second, relations }) => relations.includes(relation(first, second)));
        if (fits) visit(next + 1);
      }
    };
    visit(0);
    const listed = solution.fields.map(({ value }) => value.split(", ").toSorted());
    expect(listed).toEqual(found.map((names) => [...names].toSorted()));
  }
});

test("tightest-time-bounds: the least and largest time among all integer times that the bounds allow", () => {
  interface Bound {
    readonly from: number;
    readonly to: number;
    readonly least: number;
    readonly most: number;
  }
  interface Log {
    readonly events: number;
    readonly bounds: Bound[];
    readonly choices: [Bound, Bound][];
    readonly asked: [number, number][];
  }
  for (const { given, solution } of instancesOf<Log>(tightestTimeBounds, [1])) {
    const { events, bounds, choices, asked } = given;
    const ranges = asked.flatMap(() => [Infinity, -Infinity]);
    const times = [0];
    const holds = ({ from, to, least, most }: Bound): boolean => {
      const apart = (times[to] ?? 0) - (times[from] ?? 0);
      return apart >= least && apart <= most;
    };
    const isPlaced = ({ from, to }: Bound, next: number): boolean => Math.max(from, to) === next;
    const visit = (next: number): void => {
      if (next === events) {
        if (!choices.every(([one, other]) => holds(one) || holds(other))) return;
        for (const [at, [from, to]] of asked.entries()) {
          const apart = (times[to] ?? 0) - (times[from] ?? 0);
          ranges[2 * at] = Math.min(ranges[2 * at] ?? 0, apart);
          ranges[2 * at + 1] = Math.max(ranges[2 * at + 1] ?? 0, apart);
        }
        return;
      }
      for (times[next] = -150; (times[next] ?? 0) <= 150; times[next] = (times[next] ?? 0) + 1)
        if (bounds.filter((bound) => isPlaced(bound, next)).every(holds)) visit(next + 1);
    };
    visit(1);
    expect(solution.fields.map(({ value }) => Number(value))).toEqual(ranges);
  }
});

test("top-trading-cycles: asking a tenant before his or her house is taken gives the same assignment", () => {
  interface Market {
    readonly wishes: number[][];
    readonly owned: (number | null)[];
    readonly turns: number[];
  }
  for (const { given, solution } of instancesOf<Market>(topTradingCycles, [1, 2, 3, 4, 5])) {
    const { wishes, owned, turns } = given;
    const got: (number | undefined)[] = wishes.map(() => undefined);
    let queue = [...turns];
    // The procedure of Abdulkadiroglu and Sonmez (1999): a person who asks for an occupied house sends its tenant to the front of the queue; a
    // loop of such requests is carried out.
    let requests: number[] = [];
    while (queue.length > 0) {
      const [person = 0, ...rest] = queue;
      const house = wishes[person]?.find((one) => !got.includes(one)) ?? -1;
      const tenant = owned.indexOf(house);
      if (tenant < 0 || tenant === person || got[tenant] !== undefined) {
        got[person] = house;
        queue = rest;
        requests = [];
      } else if (requests.includes(tenant)) {
        const loop = [...requests.slice(requests.indexOf(tenant)), person];
        const wished = loop.map((one) => wishes[one]?.find((each) => !got.includes(each)) ?? -1);
        for (const [at, one] of loop.entries()) got[one] = wished[at];
        queue = queue.filter((one) => !loop.includes(one));
        requests = [];
      } else {
        requests.push(person);
        queue = [tenant, ...queue.filter((one) => one !== tenant)];
      }
    }
    expect(solution.fields.map(({ value }) => value)).toEqual(got.map((house) => `H${(house ?? -2) + 1}`));
  }
});
