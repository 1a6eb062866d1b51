/** order-service: orders are brought to their goals over an HTTP interface with pages, versions, transitions and a rate limit. */
import { z } from "zod";

import { between, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import { type Call, defineWorldRow, type Level, type Script, worldTool } from "../../row.ts";
import { aboveBase, call, changedShare, type Facts, namesOf } from "../records.ts";

const STATES = ["draft", "confirmed", "packed", "shipped", "cancelled"] as const;
type State = (typeof STATES)[number];

/** Each state with those that may follow it. */
const NEXT: Readonly<Record<State, readonly State[]>> = {
  draft: ["confirmed", "cancelled"],
  confirmed: ["packed", "cancelled"],
  packed: ["shipped", "confirmed"],
  shipped: [],
  cancelled: [],
};

interface Order {
  id: string;
  customer: string;
  paid: boolean;
  day: number;
  state: State;
  version: number;
}

interface Instance {
  today: number;
  customers: { id: string; region: string; blocked: boolean }[];
  orders: Order[];
  region: string;
  /** Days after which an unpaid order is cancelled. */
  grace: number;
  /** Requests in a minute. */
  rate: number;
  /** Share that cancelling, or leaving, all orders gets. */
  base: number;
}

interface World {
  readonly instance: Instance;
  readonly orders: Map<string, Order>;
  minute: number;
  requests: number;
}

/** By level: orders, customers, requests in a minute. */
const SIZES = [
  [4, 2, 20],
  [7, 3, 15],
  [11, 5, 12],
  [17, 7, 10],
  [26, 10, 8],
] as const;
const PAGE = 5;
/** Instances in which one fate for all gets more are dropped. */
const MOST_BASE = 0.7;

const tools = {
  request: worldTool({
    description:
      "Sends a request. GET /orders?page=1; GET /orders/{id}; GET /customers/{id}; PATCH /orders/{id} with a state as body, and the version of the order that was read last in if_version",
    parameters: z.object({
      method: z.enum(["GET", "PATCH"]),
      path: z.string().max(200),
      state: z.string().max(20).optional().describe("of PATCH: the next state"),
      if_version: z.int().optional().describe("of PATCH"),
    }),
    run: (world: World, asked) => {
      if (world.requests >= world.instance.rate) return { status: 429, body: "too many requests in this minute: wait" };
      world.requests += 1;
      return asked.method === "GET" ? get(world, asked.path) : patch(world, asked);
    },
  }),
  wait: worldTool<World, z.ZodObject>({
    description: "Waits until the next minute",
    parameters: z.object({}),
    run: (world) => {
      world.minute += 1;
      world.requests = 0;
      return { minute: world.minute };
    },
  }),
};

export const orderService = defineWorldRow<Instance, World>({
  id: "order-service",
  asks: "bring orders to their goals over an HTTP interface with pages, versions, allowed transitions and a rate limit",
  make,
  effort: (instance) => script(instance, goals(instance)).length,
  canonical: ({ orders, region, grace }) => [
    orders.map(({ id, state, paid }) => JSON.stringify([id, state, paid])).toSorted(),
    region,
    grace,
  ],
  prompts: [
    (one) =>
      `The order service is reached by the tool request. Today is day ${one.today}. For every order that is neither shipped nor cancelled:\n- if its customer is blocked, or it is unpaid and more than ${one.grace} days old: cancel it\n- else if it is paid and its customer is of the region ${one.region}: ship it\n- else leave it as it is.\n${protocol(one)}`,
    (one) =>
      `${protocol(one)}\n\nTask for day ${one.today}. Ship all open orders that are paid, of customers in ${one.region}. Cancel all open orders of blocked customers (even paid ones, in any region), and open unpaid orders that are older than ${one.grace} days. Open means not shipped and not cancelled. All other orders stay in the state in which they are.`,
    (one) =>
      `Clear the open orders over HTTP. An order is open until it is shipped or cancelled.\n1. Blocked customer: cancelled.\n2. Unpaid for more than ${one.grace} days (today is ${one.today}): cancelled.\n3. Paid, region ${one.region}: shipped.\n4. Anything else: no change.\nThe first line that fits decides. ${protocol(one)}`,
    (one) =>
      `You are a client of an order service, on day ${one.today}. Goal: no open order of a blocked customer is left, none that is unpaid and older than ${one.grace} days, and the paid ones of region ${one.region} are on their way (shipped), unless the customer is blocked. Change nothing else. ${protocol(one)}`,
  ],
  tools,
  world: newWorld,
  gold: (instance) => script(instance, goals(instance)),
  slips: (instance) => {
    const right = goals(instance);
    const some = [...right];
    const blind = new Map(
      instance.orders.filter(isOpen).map(({ id, paid }): [string, State] => [id, paid ? "shipped" : "cancelled"]),
    );
    const [first] = instance.orders.filter((one) => isOpen(one) && !right.has(one.id));
    return {
      "sends versions that are old": script(instance, right).map((one) =>
        "if_version" in one.args ? { ...one, args: { ...one.args, if_version: 0 } } : one,
      ),
      "stops before the last request": script(instance, right).slice(0, -1),
      "looks at the first page only": script(
        instance,
        new Map(
          some.filter(([id]) => instance.orders.slice(0, PAGE).some((one) => one.id === id)).slice(0, some.length - 1),
        ),
      ),
      "does not look at customers": script(instance, blind),
      "changes one order more": script(instance, new Map([...right, [first?.id ?? "", "cancelled"]])),
      "leaves out the last order": script(instance, new Map(some.slice(0, -1))),
    };
  },
  blankets: (instance) => ({
    "cancels all": script(instance, new Map(instance.orders.filter(isOpen).map(({ id }) => [id, "cancelled"]))),
    "ships all": script(instance, new Map(instance.orders.filter(isOpen).map(({ id }) => [id, "shipped"]))),
    "ships what is paid, cancels the rest": script(
      instance,
      new Map(instance.orders.filter(isOpen).map(({ id, paid }) => [id, paid ? "shipped" : "cancelled"])),
    ),
  }),
  grade: (instance, { orders }) => aboveBase(share(instance, orders), instance.base),
});

function make(rng: Rng, level: Level): Instance | null {
  const [count, customerCount, rate] = at(SIZES, level - 1);
  const today = between(rng, 60, 200);
  const regions = shuffled(["north", "south", "coast"], rng);
  const customers = namesOf("cust", customerCount, rng).map((id, index) => ({
    id,
    region: index === 0 ? at(regions, 0) : rng.pick(regions),
    blocked: index > 0 && rng.integer(4) === 0,
  }));
  const orders = namesOf("ord", count, rng).map((id): Order => ({
    id,
    customer: rng.pick(customers).id,
    paid: rng.integer(5) < 3,
    day: today - between(rng, 1, 40),
    state: rng.pick(["draft", "confirmed", "packed", "draft", "confirmed", "shipped", "cancelled"]),
    version: between(rng, 1, 30),
  }));
  const draft = { today, customers, orders, region: at(regions, 0), grace: between(rng, 12, 26), rate, base: 0 };
  const right = goals(draft);
  const open = orders.filter(isOpen);
  const all = (state: (order: Order) => State): number =>
    share(draft, newWorldAfter(draft, new Map(open.map((one) => [one.id, state(one)]))));
  const base = Math.max(
    all(() => "cancelled"),
    all(() => "shipped"),
    all(({ paid }) => (paid ? "shipped" : "cancelled")),
  );
  const isVaried = new Set(right.values()).size === 2 && right.size < open.length;
  return isVaried && base < MOST_BASE ? { ...draft, base } : null;
}

function isOpen({ state }: Order): boolean {
  return state !== "shipped" && state !== "cancelled";
}

/** The goal of each order that has to change. A packed order is unpacked before it can be cancelled. */
function goals({ orders, customers, region, grace, today }: Instance): Map<string, State> {
  return new Map(
    orders.filter(isOpen).flatMap((order): [string, State][] => {
      const customer = customers.find(({ id }) => id === order.customer);
      if (customer?.blocked === true || (!order.paid && today - order.day > grace)) return [[order.id, "cancelled"]];
      return order.paid && customer?.region === region ? [[order.id, "shipped"]] : [];
    }),
  );
}

/** The states on the way from one to another. */
function way(from: State, to: State): State[] {
  let reached: State[][] = [[from]];
  for (let step = 0; step < STATES.length; step++) {
    const found = reached.find((states) => states.at(-1) === to);
    if (found !== undefined) return found.slice(1);
    reached = reached.flatMap((states) => NEXT[at(states, states.length - 1)].map((next) => [...states, next]));
  }
  return [];
}

function newWorld(instance: Instance): World {
  return { instance, orders: new Map(instance.orders.map((one) => [one.id, { ...one }])), minute: 0, requests: 0 };
}

function newWorldAfter(instance: Instance, states: ReadonlyMap<string, State>): World["orders"] {
  const { orders } = newWorld(instance);
  for (const [id, state] of states)
    orders.set(id, {
      ...at(
        [...orders.values()].filter((one) => one.id === id),
        0,
      ),
      state,
    });
  return orders;
}

interface Response {
  readonly status: number;
  readonly body: unknown;
}

function get({ instance, orders }: World, path: string): Response {
  const page = /^\/orders(?:\?page=(\d{1,4}))?$/u.exec(path);
  if (page !== null) {
    const number = Number(page[1] ?? 1);
    const ids = [...orders.keys()].slice(PAGE * (number - 1), PAGE * number);
    return { status: 200, body: { orders: ids, pages: Math.ceil(orders.size / PAGE) } };
  }
  const [, kind, id = ""] = /^\/(orders|customers)\/([\w-]{1,40})$/u.exec(path) ?? [];
  const found = kind === "orders" ? orders.get(id) : instance.customers.find((one) => one.id === id);
  return kind === undefined || found === undefined ? { status: 404, body: "not found" } : { status: 200, body: found };
}

function patch(
  { orders }: World,
  { path, state, if_version: version }: { path: string; state?: string | undefined; if_version?: number | undefined },
): Response {
  const order = orders.get(/^\/orders\/([\w-]{1,40})$/u.exec(path)?.[1] ?? "");
  if (order === undefined) return { status: 404, body: "not found" };
  if (version !== order.version) return { status: 412, body: "if_version is not the version of the order" };
  const next = NEXT[order.state].find((one) => one === state);
  if (next === undefined)
    return { status: 409, body: `${order.state} can become ${NEXT[order.state].join(" or ") || "nothing else"}` };
  // Versions grow by another step each time, so that they have to be read.
  const changed = { ...order, state: next, version: order.version + 1 + (order.version % 3) };
  orders.set(order.id, changed);
  return { status: 200, body: changed };
}

function share(instance: Instance, orders: World["orders"]): number {
  const facts = (all: World["orders"]): Facts => Object.fromEntries([...all].map(([id, { state }]) => [id, state]));
  const before = newWorld(instance).orders;
  return changedShare(facts(before), facts(newWorldAfter(instance, goals(instance))), facts(orders));
}

/** Reads all pages, orders and customers, then takes each order through its states; waits when the rate is used up. */
function script(instance: Instance, states: ReadonlyMap<string, State>): Script {
  const { orders, customers, rate } = instance;
  const world = newWorld(instance);
  const calls: Call[] = [];
  const send = (args: Call["args"]): void => {
    if (world.requests === rate) {
      calls.push(call("wait"));
      world.requests = 0;
    }
    world.requests += 1;
    calls.push(call("request", args));
  };
  for (const page of range(Math.ceil(orders.length / PAGE))) send({ method: "GET", path: `/orders?page=${page + 1}` });
  for (const { id } of orders) send({ method: "GET", path: `/orders/${id}` });
  for (const { id } of customers)
    if (orders.some(({ customer }) => customer === id)) send({ method: "GET", path: `/customers/${id}` });
  for (const [id, goal] of states) {
    for (const state of way(world.orders.get(id)?.state ?? goal, goal)) {
      const path = `/orders/${id}`;
      const version = world.orders.get(id)?.version ?? 0;
      send({ method: "PATCH", path, state, if_version: version });
      patch(world, { path, state, if_version: version });
    }
  }
  return calls;
}

function protocol({ rate }: Instance): string {
  return `Orders go from draft to confirmed to packed to shipped, one step at a time; a draft or confirmed order can be cancelled, a packed one can go back to confirmed. Each change needs the current version of the order. The service takes ${rate} requests a minute.`;
}
