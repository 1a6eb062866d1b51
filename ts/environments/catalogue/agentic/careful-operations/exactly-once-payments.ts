/** exactly-once-payments: every bill is paid exactly once although payments time out, arrive late or in part. */
import { z } from "zod";

import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at } from "../../lists.ts";
import { type Call, defineWorldRow, type Level, type Script, worldTool } from "../../row.ts";
import { aboveBase, call, namesOf, recordName, recordOf } from "../records.ts";

/** What happens to one request: whether it is carried out, in part or later, and whether the caller hears of it. */
const OUTCOMES = ["done", "lost", "silent", "late", "half", "busy"] as const;
type Outcome = (typeof OUTCOMES)[number];

interface Bill {
  id: string;
  amount: number;
  /** Of the first requests; later ones are done. */
  outcomes: Outcome[];
}

interface Instance {
  /** Minutes after which a payment that is not in the ledger never comes. */
  settling: number;
  bills: Bill[];
}

interface Entry {
  readonly bill: string;
  readonly amount: number;
  /** The minute from which it is in the ledger. */
  readonly visible: number;
}

interface World {
  readonly instance: Instance;
  minute: number;
  readonly entries: Entry[];
  readonly requests: Map<string, number>;
}

/** By level: bills, kinds of outcomes besides "done", requests of a bill that may go wrong. */
const SIZES = [
  [2, 2, 1],
  [3, 3, 1],
  [5, 4, 2],
  [7, 5, 2],
  [10, 5, 3],
] as const;
const LONGEST_WAIT = 600;

const tools = {
  list_bills: worldTool<World, z.ZodObject>({
    description: "The bills and what each comes to",
    parameters: z.object({}),
    run: ({ instance }) => instance.bills.map(({ id, amount }) => ({ id, amount })),
  }),
  pay: worldTool({
    description: "Sends a payment. It takes a minute",
    parameters: z.object({ bill: recordName, amount: z.int().positive().max(1_000_000) }),
    run: pay,
  }),
  ledger: worldTool({
    description: "The payments of a bill that are in the ledger. It takes a minute",
    parameters: z.object({ bill: recordName }),
    run: (world: World, { bill }) => {
      recordOf(world.instance.bills, bill, "bill");
      world.minute += 1;
      const shown = world.entries.filter((entry) => entry.bill === bill && entry.visible <= world.minute);
      return { minute: world.minute, payments: shown.map(({ amount }) => amount) };
    },
  }),
  wait: worldTool({
    description: "Lets minutes pass",
    parameters: z.object({ minutes: z.int().min(1).max(LONGEST_WAIT) }),
    run: (world: World, { minutes }) => {
      world.minute += minutes;
      return { minute: world.minute };
    },
  }),
};

export const exactlyOncePayments = defineWorldRow<Instance, World>({
  id: "exactly-once-payments",
  asks: "pay every bill exactly once although requests time out, arrive late or are carried out in part",
  make,
  effort: (instance) => patient(instance).length,
  canonical: ({ settling, bills }) => [settling, bills.map(({ id, amount, outcomes }) => [id, amount, outcomes])],
  prompts: [
    ({ settling }) =>
      `Pay every open bill: in the end the payments of each must add up to exactly its amount. The payment service is unreliable. A request may time out, and then it may or may not have been carried out; it may be carried out only in part. Everything that was accepted stands in the ledger at most ${settling} minutes after the request; a payment that is not there by then never comes. There are no refunds.`,
    ({ settling }) =>
      `The bank's interface has bad days: timeouts, partial payments, busy lines. Settle all bills, none of them twice and none too little. You may read the ledger, which lags by up to ${settling} minutes, and let time pass. What has not appeared after ${settling} minutes was lost. Nothing that was paid can be taken back.`,
    ({ settling }) =>
      `Each bill has to end with exactly its amount paid, in one payment or several. An overpaid bill costs as much as a right one earns. A timeout says nothing about whether money moved. The ledger is complete for all requests that are at least ${settling} minutes old, and incomplete for younger ones.`,
    ({ settling }) =>
      `Task: bring all bills to zero. Known faults of the service: no answer though it has paid, no answer and not paid, paid later (within ${settling} minutes), paid in part, refused because busy. The answer "accepted" can be trusted; so can the ledger once ${settling} minutes have passed since the request. Do not pay anything twice.`,
  ],
  tools,
  world: (instance) => ({ instance, minute: 0, entries: [], requests: new Map() }),
  gold: (instance) => patient(instance),
  slips: (instance) => ({
    "pays each bill once": naive(instance, 1),
    "pays again until the service answers": blind(instance),
    "reads the ledger without waiting": patient(instance, 0),
    "pays everything once more": [...patient(instance), ...naive(instance, 1).slice(1)],
    "leaves the last payment out": patient(instance).slice(0, -1),
  }),
  blankets: (instance) => ({
    "pays each bill once": naive(instance, 1),
    "pays each bill twice": naive(instance, 2),
    "pays again until the service answers": blind(instance),
  }),
  grade: (instance, world) => {
    const base = Math.max(
      ...[naive(instance, 1), naive(instance, 2), blind(instance)].map((some) => shareAfter(instance, some)),
    );
    return aboveBase(share(instance, world.entries), base);
  },
});

function make(rng: Rng, level: Level): Instance | null {
  const [count, kinds, tries] = at(SIZES, level - 1);
  const known = (["lost", "silent", "late", "half", "busy"] as const).slice(0, kinds);
  const bills = namesOf("bill", count, rng).map((id): Bill => ({
    id,
    amount: 2 * between(rng, 20, 900),
    outcomes: Array.from({ length: tries }, () => (rng.integer(4) === 0 ? "done" : rng.pick(known))),
  }));
  const instance = { settling: 5 * between(rng, 2, 9), bills };
  const scripts = [naive(instance, 1), naive(instance, 2), blind(instance), patient(instance, 0)];
  return scripts.some((script) => shareAfter(instance, script) === 1) ? null : instance;
}

function pay(world: World, { bill, amount }: { bill: string; amount: number }): { answer: string; amount?: number } {
  const { outcomes } = recordOf(world.instance.bills, bill, "bill");
  const request = world.requests.get(bill) ?? 0;
  world.requests.set(bill, request + 1);
  world.minute += 1;
  const outcome = outcomes[request] ?? "done";
  const enter = (part: number, later: number): void =>
    void world.entries.push({ bill, amount: part, visible: world.minute + later });
  const { settling } = world.instance;
  if (outcome === "busy") return { answer: "busy, not accepted" };
  if (outcome === "done") enter(amount, 0);
  if (outcome === "silent") enter(amount, Math.floor(settling / 2));
  if (outcome === "late") enter(amount, settling);
  if (outcome === "half") enter(Math.max(1, Math.floor(amount / 2)), Math.floor(settling / 2));
  return outcome === "done" ? { answer: "accepted", amount } : { answer: "timeout" };
}

/** Bills that are paid exactly, less those that are paid too much, among all. */
function share({ bills }: Instance, entries: readonly Entry[]): number {
  const scores = bills.map(({ id, amount }): number => {
    const paid = entries.filter(({ bill }) => bill === id).reduce((sum, entry) => sum + entry.amount, 0);
    return paid === amount ? 1 : paid > amount ? -1 : 0;
  });
  return Math.max(0, scores.reduce((sum, one) => sum + one, 0) / bills.length);
}

function shareAfter(instance: Instance, script: Script): number {
  const world: World = { instance, minute: 0, entries: [], requests: new Map() };
  for (const { tool, args } of script) if (tool === "pay") pay(world, args as { bill: string; amount: number });
  return share(instance, world.entries);
}

/** Waits after every timeout, by default until the ledger is complete, and pays what the ledger lacks. */
function patient(instance: Instance, minutes = instance.settling): Script {
  const world: World = { instance, minute: 0, entries: [], requests: new Map() };
  const script: Call[] = [call("list_bills")];
  for (const { id, amount } of instance.bills) {
    for (let missing = amount; missing > 0;) {
      script.push(call("pay", { bill: id, amount: missing }));
      const { answer } = pay(world, { bill: id, amount: missing });
      if (answer === "accepted") break;
      if (answer !== "timeout") continue;
      if (minutes > 0) script.push(call("wait", { minutes }));
      script.push(call("ledger", { bill: id }));
      world.minute += minutes + 1;
      const shown = world.entries.filter(({ bill, visible }) => bill === id && visible <= world.minute);
      missing = amount - shown.reduce((sum, entry) => sum + entry.amount, 0);
    }
  }
  // Reading after the last payment changes nothing.
  return script.slice(0, script.findLastIndex(({ tool }) => tool === "pay") + 1);
}

/** Pays each bill in full a number of times. */
function naive({ bills }: Instance, times: number): Script {
  return [
    call("list_bills"),
    ...bills.flatMap(({ id, amount }) => Array.from({ length: times }, () => call("pay", { bill: id, amount }))),
  ];
}

/** Pays each bill in full until a request is accepted. */
function blind({ bills }: Instance): Script {
  return [
    call("list_bills"),
    ...bills.flatMap(({ id, amount, outcomes }) => {
      const answered = outcomes.indexOf("done");
      const requests = answered < 0 ? outcomes.length + 1 : answered + 1;
      return Array.from({ length: requests }, () => call("pay", { bill: id, amount }));
    }),
  ];
}
