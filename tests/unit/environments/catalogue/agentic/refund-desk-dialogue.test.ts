/** The policy of refund-desk-dialogue against a second reading, and its customers. */
import { describe, expect, test } from "vitest";

import { handled } from "../../../../../ts/environments/catalogue/agentic/refund-desk-dialogue/clerk.ts";
import { Desk } from "../../../../../ts/environments/catalogue/agentic/refund-desk-dialogue/desk.ts";
import {
  drawInstance,
  trapsOf,
} from "../../../../../ts/environments/catalogue/agentic/refund-desk-dialogue/generator.ts";
import { grade, passedParts } from "../../../../../ts/environments/catalogue/agentic/refund-desk-dialogue/grade.ts";
import type { Instance } from "../../../../../ts/environments/catalogue/agentic/refund-desk-dialogue/instance.ts";
import {
  CATEGORIES,
  decide,
  type Decision,
  drawPolicy,
  type Facts,
  policyText,
} from "../../../../../ts/environments/catalogue/agentic/refund-desk-dialogue/policy.ts";
import { createRng, type Rng } from "../../../../../ts/random/rng.ts";

const LEVELS = [1, 2, 3, 4, 5] as const;

function instancesOf(level: (typeof LEVELS)[number], count: number): Instance[] {
  const rng = createRng(70 + level);
  const found: Instance[] = [];
  for (let draw = 0; draw < 2_000 && found.length < count; draw++) {
    const drawn = drawInstance(rng, level);
    if (drawn !== null) found.push(drawn);
  }
  expect(found.length).toBe(count);
  return found;
}

/** Reads the numbered sentences that a policy shows, and nothing else of it. */
function reading(text: string, facts: Facts): Decision {
  const number = (pattern: RegExp): number | null => {
    const found = pattern.exec(text)?.[1];
    return found === undefined ? null : Number(found);
  };
  const says = (words: string): boolean => text.includes(words);
  const none = { outcome: "decline" as const, amount: 0 };
  const isGold = facts.tier === "gold";
  const money = (amount: number, isFrequent: boolean): Decision => {
    const cap = number(/more than (\d+) coins needs/u);
    if (cap !== null && amount > cap && !facts.inspected) return { outcome: "escalate", amount: 0 };
    const least = number(/below (\d+) coins/u);
    const becomesVoucher = [
      says("was paid with a voucher") && facts.paidWith === "voucher",
      least !== null && amount < least,
      isFrequent,
    ].includes(true);
    return { outcome: becomesVoucher ? "voucher" : "refund", amount };
  };
  if (facts.fault === "none") {
    const days =
      (number(/without a fault may be returned until (\d+) days/u) ?? 0) +
      (isGold ? (number(/gold have (\d+) days/u) ?? 0) : 0);
    const isBarred =
      says("§1 does not hold for items from a sale") &&
      facts.sale &&
      !(says("does not apply to customers of the tier gold") && isGold);
    const excluded = /§1 does not hold for (\w+) that have been opened/u.exec(text)?.[1];
    if (facts.days > days || isBarred || (facts.opened && facts.category === excluded)) return none;
    const percent = facts.opened ? (number(/opened, (\d+) percent/u) ?? 0) : 0;
    const most = number(/more than (\d+) earlier returns/u);
    return money(facts.price - Math.floor((facts.price * percent) / 100), most !== null && facts.returns > most);
  }
  const transit = number(/transit is accepted until (\d+) days/u);
  if (facts.days > (number(/may choose, until (\d+) days/u) ?? 0)) return none;
  if (facts.fault === "transit" && transit !== null && facts.days > transit) return none;
  const [, repaired, repairDays] = /Under §2, (\w+) that were delivered more than (\d+) days/u.exec(text) ?? [];
  if (repaired === facts.category && facts.days > Number(repairDays)) return { outcome: "repair", amount: 0 };
  if (facts.wish === "exchange" && (facts.stock > 0 || !says("out of stock")))
    return { outcome: "exchange", amount: 0 };
  return money(facts.price + (says("includes what was paid for shipping") ? facts.shipping : 0), false);
}

function randomFacts(rng: Rng): Facts {
  return {
    category: rng.pick(CATEGORIES),
    price: 10 + rng.integer(250),
    shipping: rng.integer(12),
    sale: rng.integer(2) === 0,
    paidWith: rng.pick(["card", "voucher"] as const),
    stock: rng.integer(3),
    days: 1 + rng.integer(60),
    opened: rng.integer(2) === 0,
    fault: rng.pick(["none", "defect", "transit"] as const),
    tier: rng.pick(["basic", "plus", "gold"] as const),
    returns: rng.integer(7),
    inspected: rng.integer(2) === 0,
    wish: rng.pick(["refund", "exchange"] as const),
  };
}

describe("the policy", () => {
  test("its text alone gives the same decisions", () => {
    const rng = createRng(3);
    const outcomes = new Set<string>();
    for (let draw = 0; draw < 4_000; draw++) {
      const policy = drawPolicy(rng, rng.integer(13));
      const facts = randomFacts(rng);
      const decision = decide(policy, facts);
      outcomes.add(decision.outcome);
      expect(reading(policyText(policy), facts), `${policyText(policy)}\n${JSON.stringify(facts)}`).toEqual(decision);
    }
    expect(outcomes.size).toBe(6);
  });
});

describe("the careful clerk", () => {
  test.each(LEVELS)("settles all cases rightly at level %i, and each trap costs", (level) => {
    for (const instance of instancesOf(level, 12)) {
      const { settled } = handled(instance).desk;
      expect(new Set(Object.values(passedParts(instance, settled)))).toEqual(new Set([1]));
      for (const trap of trapsOf(instance))
        expect(grade(instance, handled(instance, trap).desk.settled)).toBeLessThan(1);
      const declined = instance.cases.filter(({ facts }) => decide(instance.policy, facts).outcome === "decline");
      expect(declined.length).toBe(Math.floor(instance.cases.length / 2));
    }
  });
});

describe("customers and cases", () => {
  test("all turns of a customer come up, and a case is settled once, by the last offer", () => {
    for (const instance of instancesOf(5, 6)) {
      const desk = new Desk(instance);
      for (const { id, turns } of instance.cases) {
        const decision = { outcome: "decline" as const, amount: 0 };
        expect(() => desk.settle(id, decision)).toThrow("offered last");
        const answers = Array.from({ length: Math.max(1, turns.length) }, () => desk.offer(id, decision));
        expect(answers.map(({ closing }) => closing)).toEqual(answers.map((_, index) => index === answers.length - 1));
        expect(() => desk.settle(id, { outcome: "refund", amount: 1 })).toThrow("offered last");
        desk.settle(id, decision);
        expect(() => desk.offer(id, decision)).toThrow("has been settled");
      }
    }
  });

  test("a favour costs more than a refusal", () => {
    const [instance] = instancesOf(5, 1);
    if (instance === undefined) throw new Error("no instance");
    const right = new Map(handled(instance).desk.settled);
    const [declined] = [...right].filter(([, { outcome }]) => outcome === "decline");
    const [granted] = [...right].filter(([, { outcome }]) => outcome !== "decline" && outcome !== "escalate");
    if (declined === undefined || granted === undefined) throw new Error("no cases");
    const favour = grade(instance, new Map([...right, [declined[0], { outcome: "refund", amount: 5 }]]));
    const refusal = grade(instance, new Map([...right, [granted[0], { outcome: "decline", amount: 0 }]]));
    expect(favour).toBeLessThan(refusal);
    expect(refusal).toBeLessThan(1);
  });
});
