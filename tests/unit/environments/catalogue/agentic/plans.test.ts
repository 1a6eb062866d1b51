/** Plans that bind and other optima, by trying every plan on small instances. */
import { expect, test } from "vitest";

import { drawInstance } from "../../../../../ts/environments/catalogue/drawn.ts";
import { catalogueRows } from "../../../../../ts/environments/catalogue/index.ts";
import { isWorldRow, type Level } from "../../../../../ts/environments/catalogue/row.ts";
import { createRng } from "../../../../../ts/random/rng.ts";

const rows = new Map((await catalogueRows(["agentic"])).map(({ row }) => [row.id, row]));

function instances<Instance>(id: string, levels: readonly Level[], count: number): Instance[] {
  const row = rows.get(id);
  if (row === undefined || !isWorldRow(row)) throw new Error(`no row ${id}`);
  const rng = createRng(13);
  return levels.flatMap((level) =>
    Array.from({ length: count }, () => drawInstance(row, level, rng).instance as Instance),
  );
}

/** Every list of one choice for each place. */
function* choices(sizes: readonly number[]): Generator<number[]> {
  const [first, ...rest] = sizes;
  if (first === undefined) yield [];
  else for (let value = 0; value < first; value++) for (const others of choices(rest)) yield [value, ...others];
}

test("restock-orders: no plan of orders of four days is cheaper", () => {
  interface Item {
    stock: number;
    demand: number[];
    lot: number;
    price: number;
    fee: number;
    storage: number;
    lead: number;
  }
  for (const instance of instances<{ items: Item[]; least: number[] }>("restock-orders", [1], 4)) {
    for (const [index, { stock, demand, lot, price, fee, storage, lead }] of instance.items.entries()) {
      const most = Math.ceil(demand.reduce((a, b) => a + b, 0) / lot) + 1;
      let least = Infinity;
      for (const lots of choices(demand.map((_, day) => (day + lead < demand.length ? most + 1 : 1)))) {
        let [left, cost] = [stock, lots.reduce((sum, count) => sum + (count > 0 ? fee + count * price : 0), 0)];
        for (const [day, units] of demand.entries()) {
          left += lot * (lots[day - lead] ?? 0) - units;
          cost += left < 0 ? Infinity : left * storage;
        }
        least = Math.min(least, cost);
      }
      expect(instance.least[index]).toBe(least);
    }
  }
});

test("battery-plan: no plan of five hours has a smaller bill", () => {
  interface Battery {
    hours: { price: number; load: number }[];
    capacity: number;
    power: number;
    start: number;
    wear: number;
    best: number;
  }
  for (const instance of instances<Battery>("battery-plan", [1], 6)) {
    const { hours, capacity, power, start, wear, best } = instance;
    let least = Infinity;
    for (const choice of choices(hours.map(() => 2 * power + 1))) {
      let [held, bill] = [start, 0];
      for (const [hour, { price, load }] of hours.entries()) {
        const units = (choice[hour] ?? 0) - power;
        held += units;
        bill += held < 0 || held > capacity || load + units < 0 ? Infinity : price * (load + units);
        bill += units < 0 ? -units * wear : 0;
      }
      if (held >= start) least = Math.min(least, bill);
    }
    expect(best).toBe(least);
  }
});

test("trip-dispatch: no assignment of trips earns more", () => {
  interface Fleet {
    trips: { from: number; to: number; start: number; fare: number }[];
    vehicles: { place: number }[];
    best: number;
  }
  for (const instance of instances<Fleet>("trip-dispatch", [1, 2, 3], 3)) {
    const { trips, vehicles, best } = instance;
    let most = 0;
    for (const choice of choices(trips.map(() => vehicles.length + 1))) {
      const isPossible = vehicles.every(({ place }, vehicle) => {
        const own = trips.filter((_, trip) => choice[trip] === vehicle).toSorted((a, b) => a.start - b.start);
        return own.every(({ from, start }, index) => {
          const before = own[index - 1];
          const free = before === undefined ? 0 : before.start + Math.abs(before.to - before.from);
          return free + Math.abs((before?.to ?? place) - from) <= start;
        });
      });
      const fares = trips.reduce((sum, { fare }, trip) => sum + (choice[trip] === vehicles.length ? 0 : fare), 0);
      if (isPossible) most = Math.max(most, fares);
    }
    expect(best).toBe(most);
  }
});

test("auction-campaign and package-negotiation: no other choice brings more", () => {
  interface Auctions {
    lots: { value: number; rival: number }[];
    budget: number;
    best: number;
  }
  for (const instance of instances<Auctions>("auction-campaign", [1, 2, 3], 4)) {
    let most = 0;
    for (const choice of choices(instance.lots.map(() => 2))) {
      const bought = instance.lots.filter((_, lot) => choice[lot] === 1);
      const price = bought.reduce((sum, { rival }) => sum + rival + 1, 0);
      if (price <= instance.budget) most = Math.max(most, bought.reduce((sum, { value }) => sum + value, 0) - price);
    }
    expect(instance.best).toBe(most);
  }
  interface Talks {
    issues: { own: number[]; start: number; step: number }[];
    floor: number;
    best: number[];
  }
  for (const instance of instances<Talks>("package-negotiation", [1, 2, 3], 4)) {
    const { issues, floor, best } = instance;
    const own = (options: readonly number[]): number =>
      issues.reduce((sum, issue, index) => sum + (issue.own[options[index] ?? -1] ?? Number.NaN), 0);
    let most = 0;
    for (const options of choices(issues.map((issue) => issue.own.length))) {
      const partner = issues.reduce((sum, { start, step }, index) => sum + start + step * (options[index] ?? 0), 0);
      if (partner >= floor) most = Math.max(most, own(options));
    }
    expect(own(best)).toBe(most);
  }
});
