/** fund-transfers: target balances are reached over given routes for the least fees, without an overdraft on the way. */
import { z } from "zod";

import { between, sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import { type Call, defineWorldRow, type Level, Refusal, type Script, worldTool } from "../../row.ts";
import {
  batches,
  call,
  changedShare,
  namesOf,
  pageOf,
  pageStart,
  recordName,
  recordNames,
  recordOf,
} from "../records.ts";

interface Account {
  id: string;
  balance: number;
  target: number;
}

/** A route goes both ways. */
interface Route {
  a: string;
  b: string;
  fee: number;
}

interface Instance {
  accounts: Account[];
  routes: Route[];
  /** The cheapest transfers, in an order that never overdraws. */
  plan: Transfer[];
  fees: number;
  searched: number;
}

interface Transfer {
  from: string;
  to: string;
  amount: number;
}

interface World {
  readonly instance: Instance;
  readonly balances: Map<string, number>;
  fees: number;
}

/** By level: accounts, routes beyond those of a tree. */
const SIZES = [
  [3, 1],
  [4, 2],
  [5, 2],
  [6, 3],
  [8, 3],
] as const;
const PAGE = 6;
const STEP = 10;

const tools = {
  list_accounts: worldTool<World, typeof pageStart>({
    description: `Accounts with their balances, ${PAGE} at a time`,
    parameters: pageStart,
    run: ({ instance, balances }, { from }) =>
      pageOf(
        instance.accounts.map(({ id }) => ({ id, balance: balances.get(id) })),
        from,
        PAGE,
      ),
  }),
  get_routes: worldTool({
    description: "The routes at accounts, with the fee of a transfer",
    parameters: z.object({ accounts: recordNames }),
    run: ({ instance }: World, { accounts }) =>
      accounts.map((id) => {
        recordOf(instance.accounts, id, "account");
        const own = instance.routes.filter(({ a, b }) => a === id || b === id);
        return { account: id, routes: own.map(({ a, b, fee }) => ({ to: a === id ? b : a, fee })) };
      }),
  }),
  transfer: worldTool({
    description: "Moves money at once; it cannot be taken back",
    parameters: z.object({ from: recordName, to: recordName, amount: z.int().positive().max(10_000_000) }),
    run: (world: World, transfer) => {
      world.fees += move(world.instance, world.balances, transfer);
      return { [transfer.from]: world.balances.get(transfer.from), [transfer.to]: world.balances.get(transfer.to) };
    },
  }),
};

export const fundTransfers = defineWorldRow<Instance, World>({
  id: "fund-transfers",
  asks: "reach target balances over given routes for the least fees, without an overdraft on the way",
  make,
  effort: ({ searched, accounts }) => searched + accounts.length,
  canonical: ({ accounts, routes }) => [
    accounts.map(({ balance, target }) => [balance, target]),
    routes.map(({ fee }) => fee),
  ],
  prompts: [
    (one) =>
      `Move money between accounts until the balances are\n${targets(one)}\n\nMoney moves only along routes. Every single transfer costs the fee of its route, which is billed separately and leaves balances alone. No account can be overdrawn. Pay as little in fees as possible: more than the least amount is not a full solution.`,
    (one) =>
      `Targets:\n${targets(one)}\n\nBring every account to its target with the lowest total of fees. A fee is due for each transfer, whatever the amount; it is paid from elsewhere. There are no transfers off the routes. A transfer that an account cannot cover is refused, so mind the order.`,
    (one) =>
      `The treasurer wants these balances tonight:\n${targets(one)}\nYou may send money over the existing routes as often as you like, but each sending has its price, and the sum of the prices counts: only the cheapest way earns everything. Accounts never go below zero.`,
    (one) =>
      `Rebalance the accounts as cheaply as the network allows. Wanted in the end:\n${targets(one)}\nFees are per transfer (not per amount, and not taken out of the balance). The order of transfers matters, because money has to be there before it is sent on; detours over other accounts can be cheaper than the direct way.`,
  ],
  tools,
  world: (instance) => ({
    instance,
    balances: new Map(instance.accounts.map(({ id, balance }) => [id, balance])),
    fees: 0,
  }),
  gold: (instance) => script(instance, instance.plan),
  slips: (instance) => {
    const { plan } = instance;
    const last = at(plan, plan.length - 1);
    return {
      "stops before the last transfer": script(instance, plan.slice(0, -1)),
      "splits a transfer": script(instance, [
        ...plan.slice(0, -1),
        { ...last, amount: STEP / 2 },
        { ...last, amount: last.amount - STEP / 2 },
      ]),
      "sends everything in the opposite order once": script(instance, plan.toReversed().slice(1)),
      "sends a little too much": script(instance, [...plan.slice(0, -1), { ...last, amount: last.amount - STEP / 2 }]),
      "sends to and fro": script(instance, [...plan, { ...last, amount: STEP / 2, from: last.to, to: last.from }]),
    };
  },
  blankets: (instance) => {
    const even = instance.routes.map(({ a, b }) => ({ from: a, to: b, amount: STEP }));
    return {
      "a small sum over every route": script(instance, even),
      "and back": script(instance, [...even, ...even.map(({ from, to, amount }) => ({ from: to, to: from, amount }))]),
    };
  },
  grade: (instance, { balances, fees }) => {
    const { accounts } = instance;
    const facts = (value: (account: Account) => unknown) =>
      Object.fromEntries(accounts.map((one) => [one.id, value(one)]));
    const share = changedShare(
      facts(({ balance }) => balance),
      facts(({ target }) => target),
      facts(({ id }) => balances.get(id)),
    );
    return share < 1 ? share / 4 : (instance.fees / Math.max(fees, instance.fees)) ** 2;
  },
});

function make(rng: Rng, level: Level): Instance | null {
  const [count, more] = at(SIZES, level - 1);
  const ids = namesOf("acc", count, rng);
  const pairs = range(count - 1).map((index): [number, number] => [index + 1, rng.integer(index + 1)]);
  for (let tries = 0; tries < 20 && pairs.length < count - 1 + more; tries++) {
    const [a = 0, b = 1] = sample(range(count), 2, rng);
    if (!pairs.some((pair) => pair.includes(a) && pair.includes(b))) pairs.push([a, b]);
  }
  const routes = shuffled(pairs, rng).map(([a, b]): Route => ({
    a: at(ids, a),
    b: at(ids, b),
    fee: between(rng, 1, 12),
  }));
  const accounts = ids.map((id) => {
    const balance = STEP * between(rng, 5, 60);
    return { id, balance, target: balance };
  });
  for (let shift = 0; shift < count; shift++) {
    const [giver = 0, taker = 1] = sample(range(count), 2, rng);
    const [from, to] = [at(accounts, giver), at(accounts, taker)];
    const amount = STEP * rng.integer(Math.floor(from.target / STEP));
    from.target -= amount;
    to.target += amount;
  }
  const draft = { accounts, routes };
  const found = cheapest(draft);
  if (found === null) return null;
  const plan = ordered(draft, found.flows);
  const changed = accounts.filter(({ balance, target }) => balance !== target).length;
  return plan === null || plan.length < 2 || changed < 2 || at(plan, plan.length - 1).amount < 2 * STEP
    ? null
    : { ...draft, plan, fees: found.fees, searched: found.searched };
}

type Draft = Pick<Instance, "accounts" | "routes">;

/** The fee of a route does not depend on the sum, so a cheapest flow uses no circle of routes, and all forests are tried. On a forest the flows are determined by the targets. */
function cheapest({ accounts, routes }: Draft): { flows: number[]; fees: number; searched: number } | null {
  let best: { flows: number[]; fees: number } | null = null;
  let searched = 0;
  for (let chosen = 0; chosen < 2 ** routes.length; chosen++) {
    const flows = flowsOn({ accounts, routes }, (index) => (chosen >> index) % 2 === 1);
    if (flows === null) continue;
    searched += 1;
    const fees = routes.reduce((sum, { fee }, index) => sum + (at(flows, index) === 0 ? 0 : fee), 0);
    if (best === null || fees < best.fees) best = { flows, fees };
  }
  return best === null ? null : { ...best, searched };
}

/** The flow over each route, from a to b; null where the chosen routes have a circle or cannot carry the difference. */
function flowsOn({ accounts, routes }: Draft, isChosen: (index: number) => boolean): number[] | null {
  const missing = new Map(accounts.map(({ id, balance, target }) => [id, target - balance]));
  const open = new Set(range(routes.length).filter(isChosen));
  const flows = routes.map(() => 0);
  for (;;) {
    // A leaf gets what it lacks over its only route.
    const leaf = accounts.find(({ id }) => routesAt(routes, open, id).length === 1);
    if (leaf === undefined) break;
    const [index = 0] = routesAt(routes, open, leaf.id);
    const { a, b } = at(routes, index);
    const lack = missing.get(leaf.id) ?? 0;
    const other = a === leaf.id ? b : a;
    flows[index] = b === leaf.id ? lack : -lack;
    missing.set(leaf.id, 0);
    missing.set(other, (missing.get(other) ?? 0) + lack);
    open.delete(index);
  }
  return open.size > 0 || [...missing.values()].some((lack) => lack !== 0) ? null : flows;
}

function routesAt(routes: readonly Route[], open: ReadonlySet<number>, id: string): number[] {
  return [...open].filter((index) => at(routes, index).a === id || at(routes, index).b === id);
}

/** The transfers of the flows, each when its account can cover it. */
function ordered(draft: Draft, flows: readonly number[]): Transfer[] | null {
  const balances = new Map(draft.accounts.map(({ id, balance }) => [id, balance]));
  let waiting = draft.routes.flatMap(({ a, b }, index): Transfer[] => {
    const flow = at(flows, index);
    const [from, to] = flow > 0 ? [a, b] : [b, a];
    return flow === 0 ? [] : [{ from, to, amount: Math.abs(flow) }];
  });
  const done: Transfer[] = [];
  while (waiting.length > 0) {
    const next = waiting.find(({ from, amount }) => (balances.get(from) ?? 0) >= amount);
    if (next === undefined) return null;
    move(draft, balances, next);
    done.push(next);
    waiting = waiting.filter((one) => one !== next);
  }
  return done;
}

/** Moves the money and returns the fee. Throws Refusal. */
function move({ accounts, routes }: Draft, balances: Map<string, number>, { from, to, amount }: Transfer): number {
  for (const id of [from, to]) recordOf(accounts, id, "account");
  const route = routes.find(({ a, b }) => (a === from && b === to) || (a === to && b === from));
  if (route === undefined) throw new Refusal(`there is no route from ${from} to ${to}`);
  const left = (balances.get(from) ?? 0) - amount;
  if (left < 0) throw new Refusal(`${from} does not have ${amount}`);
  balances.set(from, left);
  balances.set(to, (balances.get(to) ?? 0) + amount);
  return route.fee;
}

function script({ accounts }: Instance, transfers: readonly Transfer[]): Script {
  const ids = accounts.map(({ id }) => id);
  return [
    ...range(Math.ceil(ids.length / PAGE)).map((page) => call("list_accounts", { from: page * PAGE })),
    ...batches(ids, 5).map((some) => call("get_routes", { accounts: some })),
    ...transfers.map((one): Call => call("transfer", { ...one })),
  ];
}

function targets({ accounts }: Instance): string {
  return accounts.map(({ id, target }) => `- ${id}: ${target}`).join("\n");
}
