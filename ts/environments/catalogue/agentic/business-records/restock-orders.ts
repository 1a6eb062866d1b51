/** restock-orders: stock is ordered in lots so that nothing runs out and every item costs as little as possible. */
import { z } from "zod";

import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import { type Call, defineWorldRow, type Level, Refusal, type Script, worldTool } from "../../row.ts";
import { batches, call, namesOf, pageOf, pageStart, recordName, recordNames, recordOf } from "../records.ts";

interface Item {
  id: string;
  stock: number;
  /** Units that are taken on each day, after deliveries. */
  demand: number[];
  /** Units of a lot, its price, the fee of an order, the cost of a unit that is left over a night. */
  lot: number;
  price: number;
  fee: number;
  storage: number;
  /** Days from order to delivery. */
  lead: number;
}

interface Order {
  item: string;
  day: number;
  lots: number;
}

interface Instance {
  items: Item[];
  plan: Order[];
  /** Least cost of each item. */
  least: number[];
  states: number;
}

interface World {
  readonly instance: Instance;
  readonly orders: Map<string, Order>;
}

/** By level: items, days. */
const SIZES = [
  [2, 4],
  [3, 5],
  [4, 6],
  [6, 7],
  [8, 9],
] as const;
const PAGE = 5;
const MOST_LOTS = 40;

const orderShape = z.object({
  item: recordName,
  day: z.int().min(0).max(20).describe("day on which the order goes out, from 0"),
  lots: z.int().min(1).max(MOST_LOTS),
});

const tools = {
  list_items: worldTool<World, typeof pageStart>({
    description: `Items with their stock and conditions, ${PAGE} at a time`,
    parameters: pageStart,
    run: ({ instance }, { from }) => pageOf(instance.items.map(conditionsOf), from, PAGE),
  }),
  get_demand: worldTool({
    description: "Units that will be taken on each day, from day 0",
    parameters: z.object({ items: recordNames }),
    run: ({ instance }: World, { items }) =>
      items.map((id) => ({ item: id, demand: recordOf(instance.items, id, "item").demand })),
  }),
  place_order: worldTool({
    description: "Orders lots of an item on a day; one order for an item and day, which cannot be taken back",
    parameters: orderShape,
    run: ({ instance, orders }: World, order) => {
      const { demand } = recordOf(instance.items, order.item, "item");
      const key = `${order.item} ${order.day}`;
      if (order.day >= demand.length) throw new Refusal(`the last day is ${demand.length - 1}`);
      if (orders.has(key)) throw new Refusal(`there is an order of ${order.item} on day ${order.day} already`);
      orders.set(key, order);
      return "ordered";
    },
  }),
};

export const restockOrders = defineWorldRow<Instance, World>({
  id: "restock-orders",
  asks: "order stock in lots so that nothing runs out and fees, prices and storage are least for every item",
  make,
  effort: ({ states }) => states,
  canonical: ({ items }) => items.map((item) => [conditionsOf({ ...item, id: "" }), item.demand]),
  prompts: [
    () =>
      `Order stock for all items. On each day deliveries come in first, then the demand of the day is taken, and what is left costs storage for the night. No item may run out on any day, and its total cost has to be the least possible: prices of lots, fees of orders, storage (also after the last day). An order of day d arrives on day d + lead. Items are counted one by one: each that never runs out and costs no more than necessary earns its share.`,
    () =>
      `Your task is the replenishment of a shop. Per item, choose on which days how many lots are ordered. Rules: an order goes out on a day and arrives "lead" days later, before that day's demand; unmet demand is a failure; after the demand of each day every unit left costs "storage"; every order costs its "fee" and "price" for each lot. An item earns its part only at its lowest possible total.`,
    () =>
      `Plan and place orders at minimum cost. Cost of an item = fee for every order + price for every lot + storage for each unit that remains at the end of each day, the last included. Demand must be met every day from stock and deliveries (deliveries of a day come before its demand; delivery is lead days after the order day). Only items with the cheapest feasible plan count.`,
    () =>
      `The warehouse must not run dry, and money is tight. For each item find the cheapest series of orders that covers the known demand of all days, and place it. Sequence within a day: receive, serve, pay storage for the rest. Orders take "lead" days. Lots cannot be split. Everything too dear or too late makes the item worthless for the result.`,
  ],
  tools,
  world: (instance) => ({ instance, orders: new Map() }),
  gold: (instance) => script(instance, instance.plan),
  slips: (instance) => {
    const { plan } = instance;
    const last = at(plan, plan.length - 1);
    return {
      "forgets the last order": script(instance, plan.slice(0, -1)),
      "a lot too many": script(instance, [...plan.slice(0, -1), { ...last, lots: last.lots + 1 }]),
      "everything on the first day": script(instance, instance.items.flatMap(allAtOnce)),
      "a day later": script(
        instance,
        plan.map((order) => ({ ...order, day: order.day + 1 })).filter(({ day }) => day < daysOf(instance)),
      ),
    };
  },
  blankets: (instance) => ({
    "everything on the first day": script(instance, instance.items.flatMap(allAtOnce)),
    "a lot every day": script(
      instance,
      instance.items.flatMap(({ id }) => range(daysOf(instance)).map((day) => ({ item: id, day, lots: 1 }))),
    ),
    "only what the day needs": script(instance, instance.items.flatMap(dayByDay)),
  }),
  grade: ({ items, least }, { orders }) => {
    const all = [...orders.values()];
    const right = items.filter(
      (item, index) =>
        costOf(
          item,
          all.filter((order) => order.item === item.id),
        ) === at(least, index),
    );
    return (right.length / items.length) ** 2;
  },
});

function make(rng: Rng, level: Level): Instance | null {
  const [count, days] = at(SIZES, level - 1);
  const ids = namesOf("item", count, rng);
  const items: Item[] = [];
  const plan: Order[] = [];
  const least: number[] = [];
  let states = 0;
  for (let tries = 0; items.length < count; tries++) {
    if (tries > 40 * count) return null;
    const lead = between(rng, 0, 2);
    const demand = range(days).map(() => between(rng, 0, 9));
    const early = demand.slice(0, lead).reduce((a, b) => a + b, 0);
    const item: Item = {
      id: at(ids, items.length),
      stock: early + rng.integer(5),
      demand,
      lot: between(rng, 2, 6),
      price: between(rng, 2, 9),
      fee: between(rng, 4, 22),
      storage: between(rng, 1, 3),
      lead,
    };
    const best = cheapest(item);
    if (best === null || best.orders.length < 2) continue;
    const lazy = [allAtOnce(item), dayByDay(item), range(days).map((day) => ({ item: item.id, day, lots: 1 }))];
    if (lazy.some((orders) => costOf(item, orders) === best.cost)) continue;
    items.push(item);
    plan.push(...best.orders);
    least.push(best.cost);
    states += best.states;
  }
  return { items, plan, least, states };
}

/** What the list of items shows. */
function conditionsOf({ id, stock, lot, price, fee, storage, lead }: Item): object {
  return { id, stock, lot, price, fee, storage, lead };
}

/** Null where the item runs out. */
function costOf({ stock, demand, lot, price, fee, storage, lead }: Item, orders: readonly Order[]): number | null {
  let [left, cost] = [stock, 0];
  for (const { lots } of orders) cost += fee + lots * price;
  for (const [day, units] of demand.entries()) {
    for (const order of orders) if (order.day + lead === day) left += order.lots * lot;
    left -= units;
    if (left < 0) return null;
    cost += left * storage;
  }
  return cost;
}

/** The cheapest orders by a search over days and stock; null without any. Of equally cheap ones the first found. */
function cheapest(item: Item): { orders: Order[]; cost: number; states: number } | null {
  const { id, stock, demand, lot, price, fee, storage, lead } = item;
  const total = demand.reduce((a, b) => a + b, 0);
  let reached = new Map<number, { cost: number; orders: Order[] }>([[stock, { cost: 0, orders: [] }]]);
  let states = 0;
  for (const [day, units] of demand.entries()) {
    const next: typeof reached = new Map();
    const most = day < lead ? 0 : Math.floor(total / lot) + 1;
    for (const [left, { cost, orders }] of reached) {
      for (let lots = 0; lots <= most; lots++) {
        const rest = left + lots * lot - units;
        states += 1;
        if (rest < 0) continue;
        const sum = cost + (lots > 0 ? fee + lots * price : 0) + rest * storage;
        if (sum < (next.get(rest)?.cost ?? Infinity))
          next.set(rest, { cost: sum, orders: lots > 0 ? [...orders, { item: id, day: day - lead, lots }] : orders });
      }
    }
    reached = next;
  }
  const ends = [...reached.values()].toSorted((a, b) => a.cost - b.cost);
  const [best] = ends;
  return best === undefined ? null : { ...best, states };
}

function allAtOnce({ id, stock, demand, lot }: Item): Order[] {
  const missing = demand.reduce((a, b) => a + b, 0) - stock;
  return missing <= 0 ? [] : [{ item: id, day: 0, lots: Math.ceil(missing / lot) }];
}

/** Each day the lots that are missing when it comes. */
function dayByDay({ id, stock, demand, lot, lead }: Item): Order[] {
  let left = stock;
  return demand.flatMap((units, day) => {
    const lots = Math.max(0, Math.ceil((units - left) / lot));
    left += lots * lot - units;
    return lots > 0 && day >= lead ? [{ item: id, day: day - lead, lots }] : [];
  });
}

function daysOf({ items }: Instance): number {
  return at(items, 0).demand.length;
}

function script({ items }: Instance, orders: readonly Order[]): Script {
  const ids = items.map(({ id }) => id);
  return [
    ...range(Math.ceil(ids.length / PAGE)).map((page) => call("list_items", { from: page * PAGE })),
    ...batches(ids, PAGE).map((some) => call("get_demand", { items: some })),
    ...orders.map((order): Call => call("place_order", { ...order })),
  ];
}
