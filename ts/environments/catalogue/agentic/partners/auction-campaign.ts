/** auction-campaign: lots are bought with a budget against a rival whose bids follow from the record of earlier auctions. */
import { z } from "zod";

import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { distinct, word } from "../../../builtin/words.ts";
import { at, range } from "../../lists.ts";
import { type Call, defineWorldRow, type Level, Refusal, type Script, worldTool } from "../../row.ts";
import { call, namesOf, pageOf, pageStart, recordName, recordOf } from "../records.ts";

interface Lot {
  id: string;
  kind: string;
  size: number;
  /** Own value, and the rival's bid, which is not shown. */
  value: number;
  rival: number;
}

interface Instance {
  lots: Lot[];
  history: { kind: string; size: number; rival_bid: number }[];
  budget: number;
  /** Lots to buy, and the profit of it. */
  chosen: string[];
  best: number;
  /** The profit of bids that are one share of every value. */
  base: number;
}

interface World {
  readonly instance: Instance;
  money: number;
  profit: number;
  readonly done: Set<string>;
}

/** By level: lots, kinds. */
const SIZES = [
  [3, 1],
  [5, 2],
  [8, 3],
  [11, 3],
  [14, 4],
] as const;
const PAGE = 8;
const PER_KIND = 4;
const SHARES = [0.5, 0.6, 0.7, 0.8, 0.9, 1];

const bidShape = z.object({ lot: recordName, amount: z.int().min(1).max(100_000) });

const tools = {
  list_lots: worldTool<World, typeof pageStart>({
    description: `Lots with their kind, size and value to you, ${PAGE} at a time`,
    parameters: pageStart,
    run: ({ instance }, { from }) =>
      pageOf(
        instance.lots.map(({ id, kind, size, value }) => ({ id, kind, size, value })),
        from,
        PAGE,
      ),
  }),
  list_history: worldTool<World, typeof pageStart>({
    description: `The rival's bids in earlier auctions, ${PAGE} at a time`,
    parameters: pageStart,
    run: ({ instance }, { from }) => pageOf(instance.history, from, PAGE),
  }),
  bid: worldTool<World, typeof bidShape>({
    description: "The only bid for a lot; it is decided at once",
    parameters: bidShape,
    run: (world, { lot: id, amount }) => {
      const lot = recordOf(world.instance.lots, id, "lot");
      if (world.done.has(id)) throw new Refusal(`the auction of ${id} is over`);
      if (amount > world.money) throw new Refusal(`only ${world.money} is left`);
      world.done.add(id);
      if (amount <= lot.rival) return { won: false, money: world.money };
      world.money -= amount;
      world.profit += lot.value - amount;
      return { won: true, money: world.money };
    },
  }),
};

export const auctionCampaign = defineWorldRow<Instance, World>({
  id: "auction-campaign",
  asks: "buy lots for the greatest profit with a budget, against a rival whose rule of bidding is inferred from earlier bids",
  make,
  effort: ({ lots, history }) => lots.length ** 2 + history.length,
  canonical: ({ lots, budget }) => [lots.map(({ size, value, rival }) => [size, value, rival]), budget],
  prompts: [
    (one) =>
      `Bid in ${one.lots.length} auctions with ${one.budget} in all. In each you and one rival hand in a sealed bid; you win with a bid above the rival's and pay what you bid. The rival always bids by the same rule: for each kind of lot a fixed sum plus a fixed sum for each unit of size. Earlier bids are on record. Make the greatest total of value less price.`,
    (one) =>
      `You have ${one.budget} to spend on lots. One sealed bid per lot, first price, and ties go to the rival. The rival's bids are linear in the size, with other numbers for each kind, as the history shows. Unspent money is worth nothing more and nothing less; profit is the value of what you get minus what you pay. Only the largest possible profit is a full solution.`,
    (one) =>
      `Work out what the competitor will bid (its rule: constant of the kind + rate of the kind x size), then choose the lots that bring the most within the budget of ${one.budget}, and win each by as little as possible. Bids are whole numbers, one for each lot; the higher one wins, equal ones lose.`,
    (one) =>
      `An auction house sells ${one.lots.length} lots, one after the other in any order you like. Budget ${one.budget}. Winner: the higher bid, which is paid. Against you stands a bidder with a mechanical rule that its past bids give away: for every kind a base price and a price per unit of size. Maximise the sum of (value - your bid) over the lots that you win.`,
  ],
  tools,
  world: (instance) => ({ instance, money: instance.budget, profit: 0, done: new Set() }),
  gold: (instance) => script(instance, exact(instance, 1)),
  slips: (instance) => ({
    "bids as much as the rival": script(instance, exact(instance, 0)),
    "bids ten more than needed": script(instance, exact(instance, 10)),
    "leaves the last lot": script(instance, exact(instance, 1).slice(0, -1)),
    "buys in the order of the list": script(
      instance,
      instance.lots.map(({ id, rival }) => call("bid", { lot: id, amount: rival + 1 })),
    ),
  }),
  blankets: (instance) =>
    Object.fromEntries(
      SHARES.map((share) => [
        `${share} of the value for everything`,
        instance.lots.map(({ id, value }) => call("bid", { lot: id, amount: Math.max(1, Math.floor(value * share)) })),
      ]),
    ),
  grade: ({ best, base }, { profit }) => Math.max(0, (profit - base) / (best - base)) ** 2,
});

function make(rng: Rng, level: Level): Instance | null {
  const [count, kindCount] = at(SIZES, level - 1);
  const kinds = distinct(kindCount, () => word(rng)).map((kind) => ({
    kind,
    start: between(rng, 5, 60),
    rate: between(rng, 3, 15),
  }));
  const bidOf = ({ start, rate }: { start: number; rate: number }, size: number): number => start + rate * size;
  const ids = namesOf("lot", count, rng);
  const lots = ids.map((id): Lot => {
    const kind = rng.pick(kinds);
    const size = between(rng, 3, 25);
    const rival = bidOf(kind, size);
    return { id, kind: kind.kind, size, rival, value: Math.round(rival * (0.75 + 0.9 * rng.next())) };
  });
  const history = kinds.flatMap((kind) =>
    range(PER_KIND).map(() => {
      const size = between(rng, 2, 30);
      return { kind: kind.kind, size, rival_bid: bidOf(kind, size) };
    }),
  );
  const isKnown = kinds.every(
    ({ kind }) => new Set(history.filter((one) => one.kind === kind).map(({ size }) => size)).size > 1,
  );
  const useful = lots.filter(({ value, rival }) => value > rival + 1);
  const need = useful.reduce((sum, { rival }) => sum + rival + 1, 0);
  if (!isKnown || useful.length < 2) return null;
  const budget = Math.floor(need * (0.45 + 0.3 * rng.next()));
  const draft = { lots, history, budget };
  const { chosen, profit } = knapsack(useful, budget);
  const base = Math.max(0, ...SHARES.map((share) => profitOf(draft, share)));
  const inOrder = profitInOrder(draft);
  return chosen.length < 1 || profit - base < 8 || inOrder === profit ? null : { ...draft, chosen, best: profit, base };
}

/** All sets of lots within the budget. */
function knapsack(lots: readonly Lot[], budget: number): { chosen: string[]; profit: number } {
  let best = { chosen: [] as string[], profit: 0 };
  const walk = (place: number, money: number, chosen: readonly string[], profit: number): void => {
    if (profit > best.profit) best = { chosen: [...chosen], profit };
    for (let next = place; next < lots.length; next++) {
      const { id, value, rival } = at(lots, next);
      if (rival + 1 <= money) walk(next + 1, money - rival - 1, [...chosen, id], profit + value - rival - 1);
    }
  };
  walk(0, budget, [], 0);
  return best;
}

function profitOf({ lots, budget }: Pick<Instance, "lots" | "budget">, share: number): number {
  let [money, profit] = [budget, 0];
  for (const { value, rival } of lots) {
    const amount = Math.max(1, Math.floor(value * share));
    if (amount > money || amount <= rival) continue;
    money -= amount;
    profit += value - amount;
  }
  return profit;
}

function profitInOrder({ lots, budget }: Pick<Instance, "lots" | "budget">): number {
  let [money, profit] = [budget, 0];
  for (const { value, rival } of lots) {
    if (rival + 1 > money) continue;
    money -= rival + 1;
    profit += value - rival - 1;
  }
  return profit;
}

/** Bids for the chosen lots that are above the rival's by so much, where the budget allows it. */
function exact({ lots, chosen }: Instance, above: number): Call[] {
  return chosen.map((id) => call("bid", { lot: id, amount: recordOf(lots, id, "lot").rival + above }));
}

function script({ lots, history }: Instance, bids: readonly Call[]): Script {
  return [
    ...range(Math.ceil(lots.length / PAGE)).map((page) => call("list_lots", { from: page * PAGE })),
    ...range(Math.ceil(history.length / PAGE)).map((page) => call("list_history", { from: page * PAGE })),
    ...bids,
  ];
}
