/** Draws policies and cases near the limits of their clauses, with about as many to be declined as not. */
import { between, firstDrawn, sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { distinct, name, word } from "../../../builtin/words.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { namesOf } from "../records.ts";
import { handled, type Neglect, NEGLECTS } from "./clerk.ts";
import { grade } from "./grade.ts";
import type { Case, Claims, Instance, Report, Turn } from "./instance.ts";
import { CATEGORIES, decide, drawPolicy, type Facts, type Policy } from "./policy.ts";

/** By level: cases, optional clauses, turns of a customer at most. */
const SIZES = [
  [2, 2, 0],
  [2, 4, 1],
  [3, 6, 2],
  [4, 9, 3],
  [5, 12, 4],
] as const;
/** By level: neglects that have to cost something. */
const LEAST_TRAPS = [1, 2, 3, 3, 4] as const;
const TRIES = 60;
const TIERS = ["basic", "basic", "plus", "gold"] as const;

export function drawInstance(rng: Rng, level: Level): Instance | null {
  const [count, optionCount, turnCount] = at(SIZES, level - 1);
  const policy = drawPolicy(rng, optionCount);
  const today = between(rng, 200, 340);
  const names = {
    cases: namesOf("case", count, rng),
    orders: namesOf("order", count + 1, rng),
    customers: namesOf("cust", count, rng),
    reports: namesOf("insp", 3 * count, rng),
    people: distinct(count, () => name(rng)),
  };
  const declines = shuffled(
    range(count).map((index) => index < Math.floor(count / 2)),
    rng,
  );
  const cases: Case[] = [];
  const reports: Report[] = [];
  for (const [index, isDeclined] of declines.entries()) {
    const ids = {
      id: at(names.cases, index),
      order: at(names.orders, index),
      customer: at(names.customers, index),
      customerName: at(names.people, index),
      product: `${word(rng, 2)} ${word(rng, 1)}`,
      reports: names.reports.slice(3 * index, 3 * index + 3),
      // Reports of the last order belong to none of the cases.
      otherOrder: at(names.orders, count),
    };
    const drawn = firstDrawn(TRIES, () => drawCase(rng, { policy, turnCount, level, ids, isDeclined }));
    if (drawn === null) return null;
    cases.push(drawn.one);
    reports.push(...drawn.reports);
  }
  const instance = { today, policy, cases, reports };
  if (grade(instance, handled(instance).desk.settled) < 1) return null;
  return trapsOf(instance).length >= at(LEAST_TRAPS, level - 1) ? instance : null;
}

/** The neglects that change a decision. */
export function trapsOf(instance: Instance): Neglect[] {
  return NEGLECTS.filter((neglect) => grade(instance, handled(instance, neglect).desk.settled) < 1);
}

interface Wanted {
  readonly policy: Policy;
  readonly turnCount: number;
  readonly level: Level;
  readonly isDeclined: boolean;
  readonly ids: Pick<Case, "id" | "order" | "customer" | "customerName" | "product"> & {
    readonly reports: readonly string[];
    readonly otherOrder: string;
  };
}

function drawCase(rng: Rng, wanted: Wanted): { one: Case; reports: Report[] } | null {
  const { policy, turnCount, level, isDeclined } = wanted;
  const { reports: reportNames, otherOrder, ...ids } = wanted.ids;
  const facts = drawFacts(rng, policy);
  const firstWish = facts.wish;
  const [own = "", foreign = "", none = ""] = reportNames;
  const isListed = rng.integer(3) === 0;
  const turns: Turn[] = range(between(rng, Math.min(1, turnCount), turnCount)).map(() => ({
    turn: rng.integer(3) === 0 ? "lie" : "pressure",
    style: rng.integer(40),
  }));
  const special: Turn[] = [];
  if (rng.integer(2) === 0) special.push({ turn: "drift", wish: firstWish === "refund" ? "exchange" : "refund" });
  const isNamed = !isListed && level > 2 && rng.integer(3) === 0;
  if (isNamed) special.push({ turn: "report", report: own });
  else if (level > 2 && rng.integer(2) === 0) special.push({ turn: "report", report: rng.pick([foreign, none]) });
  const kept = level === 1 ? [] : sample(special, Math.max(1, turnCount - 1), rng);
  const all = shuffled([...turns.slice(0, Math.max(0, turnCount - kept.length)), ...kept], rng);
  const drift = all.find((one) => one.turn === "drift");
  const hasReport = isListed || all.some((one) => one.turn === "report" && one.report === own);
  const lies = between(rng, 0, 2);
  const claims: Claims = {
    days: lies === 1 ? Math.max(1, facts.days - between(rng, 3, 15)) : facts.days,
    tier: lies === 2 ? rng.pick(TIERS) : facts.tier,
    fault: hasReport && rng.integer(2) === 0 ? rng.pick(["defect", "transit", "none"]) : facts.fault,
    opened: hasReport ? rng.integer(2) === 0 : facts.opened,
  };
  const last: Facts = {
    ...facts,
    wish: drift?.turn === "drift" ? drift.wish : firstWish,
    inspected: hasReport,
  };
  if ((decide(policy, last).outcome === "decline") !== isDeclined) return null;
  const { fault, opened } = last;
  const reports: Report[] = [
    ...(hasReport ? [{ id: own, order: ids.order, fault, opened, listed: isListed }] : []),
    ...(all.some((one) => one.turn === "report" && one.report === foreign)
      ? [{ id: foreign, order: otherOrder, fault: "defect" as const, opened: false, listed: false }]
      : []),
  ];
  return { one: { ...ids, facts: last, firstWish, claims, turns: all }, reports };
}

/** Days near a limit, so that a clause overlooked is a decision missed. */
function drawFacts(rng: Rng, policy: Policy): Facts {
  const limits = [
    policy.window,
    policy.window,
    policy.window + policy.longer,
    policy.faultWindow,
    policy.transitDays,
    policy.repairDays,
  ];
  return {
    category: rng.pick([...CATEGORIES, policy.excluded, policy.repaired]),
    price: rng.integer(4) === 0 ? between(rng, 15, 45) : between(rng, 45, 260),
    shipping: between(rng, 3, 12),
    sale: rng.integer(3) === 0,
    paidWith: rng.integer(4) === 0 ? "voucher" : "card",
    stock: rng.integer(3) === 0 ? 0 : between(rng, 1, 30),
    days: Math.max(1, rng.pick(limits) + between(rng, -4, 4)),
    opened: rng.integer(2) === 0,
    fault: rng.pick(["none", "none", "defect", policy.options.includes("transit") ? "transit" : "defect"]),
    tier: rng.pick(TIERS),
    returns: between(rng, 0, 6),
    inspected: false,
    wish: rng.integer(2) === 0 ? "refund" : "exchange",
  };
}
