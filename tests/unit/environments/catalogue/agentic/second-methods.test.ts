/** The optima on which scores rest, by methods that share no code with the rows. */
import { describe, expect, test } from "vitest";

import { drawInstance } from "../../../../../ts/environments/catalogue/drawn.ts";
import { catalogueRows } from "../../../../../ts/environments/catalogue/index.ts";
import { played } from "../../../../../ts/environments/catalogue/play.ts";
import { isWorldRow, type Level, type WorldRow } from "../../../../../ts/environments/catalogue/row.ts";
import { createRng } from "../../../../../ts/random/rng.ts";

const worldRows = (await catalogueRows(["agentic"])).map(({ row }) => row).filter(isWorldRow);

function rowOf(id: string): WorldRow {
  const row = worldRows.find((one) => one.id === id);
  if (row === undefined) throw new Error(`no row ${id}`);
  return row;
}

function instances<Instance>(id: string, levels: readonly Level[], count: number): Instance[] {
  const rng = createRng(11);
  return levels.flatMap((level) =>
    Array.from({ length: count }, () => drawInstance(rowOf(id), level, rng).instance as Instance),
  );
}

describe("second methods", () => {
  test("unlabelled-controls: no shorter sequence of presses reaches the setting", () => {
    const row = rowOf("unlabelled-controls");
    for (const instance of instances<{ effects: unknown[]; plan: number[]; start: number[] }>(row.id, [1, 2, 3], 8)) {
      let sequences: number[][] = [[]];
      for (let length = 0; length < instance.plan.length; length++) {
        for (const sequence of sequences) {
          const script = sequence.map((index) => ({ tool: `f${index + 1}`, args: {} }));
          expect(row.grade(instance, played(row, instance, script).world)).toBe(0);
        }
        sequences = sequences.flatMap((one) => instance.effects.map((_, index) => [...one, index]));
      }
    }
  });

  interface Leg {
    id: string;
    from: string;
    to: string;
    departs: number;
    arrives: number;
    price: number;
    carrier: string;
  }
  interface Journey {
    legs: Leg[];
    start: string;
    goal: string;
    latest: number;
    change: number;
    banned: string;
    price: number;
  }

  test("itinerary-booking: the least price, leg by leg in the order of departure", () => {
    for (const one of instances<Journey>("itinerary-booking", [1, 2, 3, 4, 5], 8)) {
      const usable = one.legs.filter(({ carrier, arrives }) => carrier !== one.banned && arrives <= one.latest);
      const least = new Map<string, number>();
      for (const leg of usable.toSorted((a, b) => a.departs - b.departs)) {
        const before = usable
          .filter(({ to, arrives }) => to === leg.from && arrives + one.change <= leg.departs)
          .map(({ id }) => least.get(id) ?? Infinity);
        least.set(leg.id, leg.price + Math.min(leg.from === one.start ? 0 : Infinity, ...before));
      }
      const ends = usable.filter(({ to }) => to === one.goal).map(({ id }) => least.get(id) ?? Infinity);
      expect(one.price).toBe(Math.min(...ends));
    }
  });

  test("itinerary-booking: no wording asks for an earlier day than the cheapest journey may begin on", () => {
    const late = instances<Journey & { plan: string[] }>("itinerary-booking", [1, 2, 3], 8).filter(
      ({ legs, plan }) => (legs.find(({ id }) => id === plan[0])?.departs ?? 0) >= 1440,
    );
    expect(late.length).toBeGreaterThan(0);
    for (const one of late)
      for (const prompt of rowOf("itinerary-booking").prompts)
        expect(prompt(one, createRng(1))).not.toMatch(/begins? on day 1/u);
  });

  interface Treasury {
    accounts: { id: string; balance: number; target: number }[];
    routes: { a: string; b: string; fee: number }[];
    fees: number;
  }

  test("fund-transfers: the least fees on a triangle, by trying every sum on one side", () => {
    const triangles = instances<Treasury>("fund-transfers", [1], 25).filter(({ routes }) => routes.length === 3);
    expect(triangles.length).toBeGreaterThan(10);
    for (const { accounts, routes, fees } of triangles) {
      const [side, ...others] = routes;
      if (side === undefined) throw new Error("no route");
      let least = Infinity;
      for (let sum = -3000; sum <= 3000; sum += 5) {
        let paid = sum === 0 ? 0 : side.fee;
        for (const { a, b, fee } of others) {
          // Each of the other sides joins one end of the first side to the third account, and brings it what it lacks.
          const end = accounts.find(({ id }) => (id === a || id === b) && (id === side.a || id === side.b));
          if (end === undefined) throw new Error("no triangle");
          const got = end.id === side.b ? sum : -sum;
          if (end.target - end.balance - got !== 0) paid += fee;
        }
        least = Math.min(least, paid);
      }
      expect(fees).toBe(least);
    }
  });

  interface Office {
    people: {
      id: string;
      capacity: number;
      team: string;
      manager: string | null;
      authority: number;
      absent: boolean;
    }[];
    requests: { id: string; person: string; risk: number }[];
    plan: string[];
  }

  test("sheet-repair: a formula that reads more cells than any sheet needs has no value", () => {
    const row = rowOf("sheet-repair");
    const [instance] = instances<object>(row.id, [2], 1);
    if (instance === undefined) throw new Error("no instance");
    const sums = [1, 2, 3, 4].map((above) => ({
      tool: "set_cell",
      args: { cell: `F${above + 1}`, content: `=${Array.from({ length: 19 }, () => `F${above}`).join("+")}` },
    }));
    const play = played(row, instance, [{ tool: "set_cell", args: { cell: "F1", content: "1" } }, ...sums]);
    const rows = JSON.parse(play.call("show_values", { from_row: 1 }).text) as (number | null)[][];
    expect(rows.slice(0, 5).map((one) => one[5])).toEqual([1, 19, 19 ** 2, 19 ** 3, null]);
  });

  test("access-approvals: the plan keeps every rule", () => {
    for (const { people, requests, plan } of instances<Office>("access-approvals", [1, 2, 3, 4, 5], 4)) {
      const named = new Map(people.map((one) => [one.id, one]));
      for (const [index, { person, risk }] of requests.entries()) {
        const [asker, approver] = [named.get(person), named.get(plan[index] ?? "")];
        if (asker === undefined || approver === undefined) throw new Error("a person is missing");
        expect(approver.team).not.toBe(asker.team);
        expect([asker.id, asker.manager]).not.toContain(approver.id);
        expect(approver.manager).not.toBe(asker.id);
        expect([approver.authority >= risk, approver.absent]).toEqual([true, false]);
      }
      for (const { id, capacity } of people)
        expect(plan.filter((one) => one === id).length).toBeLessThanOrEqual(capacity);
    }
  });
});
