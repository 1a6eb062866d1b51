/** The policy of refund-desk-dialogue: clauses with numbers that refer to each other, in words and as a decision. */
import { between, sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";

export const OUTCOMES = ["refund", "exchange", "voucher", "repair", "decline", "escalate"] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** `amount` is 0 but for refunds and vouchers. */
export interface Decision {
  readonly outcome: Outcome;
  readonly amount: number;
}

/** What decides about a case. */
export interface Facts {
  readonly category: string;
  readonly price: number;
  readonly shipping: number;
  readonly sale: boolean;
  readonly paidWith: "card" | "voucher";
  readonly stock: number;
  /** Days since delivery. */
  readonly days: number;
  readonly opened: boolean;
  readonly fault: "none" | "defect" | "transit";
  readonly tier: "basic" | "plus" | "gold";
  /** Earlier returns of this year. */
  readonly returns: number;
  readonly inspected: boolean;
  readonly wish: "refund" | "exchange";
}

export const CATEGORIES = ["shoes", "lamps", "headphones", "kettles", "cameras", "toys"] as const;

/** Optional clauses; each may be in a policy or not. */
export const OPTIONS = [
  "opened",
  "excluded",
  "tier",
  "sale",
  "sale-gold",
  "frequent",
  "paid",
  "shipping",
  "stock",
  "transit",
  "cap",
  "repair",
  "small",
] as const;
export type Option = (typeof OPTIONS)[number];

export interface Policy {
  readonly window: number;
  readonly faultWindow: number;
  /** The optional clauses in the order of their numbers, which begin with 4. */
  readonly options: readonly Option[];
  /** Percent of the price that is kept for an opened item. */
  readonly kept: number;
  readonly excluded: string;
  readonly longer: number;
  readonly mostReturns: number;
  readonly transitDays: number;
  readonly cap: number;
  readonly repaired: string;
  readonly repairDays: number;
  readonly least: number;
}

export function drawPolicy(rng: Rng, optionCount: number): Policy {
  const chosen = sample(OPTIONS, optionCount, rng);
  // An exception needs its rule.
  const options = chosen.includes("sale-gold") && !chosen.includes("sale") ? ["sale" as const, ...chosen] : chosen;
  const window = between(rng, 10, 25);
  const [excluded = "", repaired = ""] = sample(CATEGORIES, 2, rng);
  return {
    window,
    faultWindow: window + between(rng, 30, 90),
    options: shuffled(options, rng).slice(0, Math.max(optionCount, 1)),
    kept: 5 * between(rng, 1, 5),
    excluded,
    longer: between(rng, 5, 20),
    mostReturns: between(rng, 2, 4),
    transitDays: between(rng, 4, 8),
    cap: 10 * between(rng, 12, 18),
    repaired,
    repairDays: between(rng, 8, 30),
    least: between(rng, 25, 40),
  };
}

/** The decision that the whole policy gives, with the clauses that it has used. */
export function decide(policy: Policy, facts: Facts): Decision {
  const has = (option: Option): boolean => policy.options.includes(option);
  if (facts.fault !== "none") {
    const isLate = facts.fault === "transit" && has("transit") && facts.days > policy.transitDays;
    if (isLate || facts.days > policy.faultWindow) return DECLINED;
    if (has("repair") && facts.category === policy.repaired && facts.days > policy.repairDays)
      return { outcome: "repair", amount: 0 };
    if (facts.wish === "exchange" && !(has("stock") && facts.stock === 0)) return { outcome: "exchange", amount: 0 };
    return paid(policy, facts, facts.price + (has("shipping") ? facts.shipping : 0));
  }
  const window = policy.window + (has("tier") && facts.tier === "gold" ? policy.longer : 0);
  if (facts.days > window) return DECLINED;
  if (has("sale") && facts.sale && !(has("sale-gold") && facts.tier === "gold")) return DECLINED;
  if (has("excluded") && facts.category === policy.excluded && facts.opened) return DECLINED;
  const kept = has("opened") && facts.opened ? Math.floor((facts.price * policy.kept) / 100) : 0;
  return paid(policy, facts, facts.price - kept);
}

const DECLINED: Decision = { outcome: "decline", amount: 0 };

function paid(policy: Policy, facts: Facts, amount: number): Decision {
  const has = (option: Option): boolean => policy.options.includes(option);
  if (has("cap") && amount > policy.cap && !facts.inspected) return { outcome: "escalate", amount: 0 };
  const isFrequent = has("frequent") && facts.fault === "none" && facts.returns > policy.mostReturns;
  const isVoucher =
    isFrequent || (has("paid") && facts.paidWith === "voucher") || (has("small") && amount < policy.least);
  return { outcome: isVoucher ? "voucher" : "refund", amount };
}

/** The clauses as numbered sentences. */
export function policyText(policy: Policy): string {
  const clauses = [
    `An item without a fault may be returned until ${policy.window} days after delivery; the customer gets a refund of its price, never an exchange.`,
    `For an item with a fault (a defect, or damage in transit) the customer may choose, until ${policy.faultWindow} days after delivery, between a refund of its price and an exchange.`,
    "Whatever no clause grants is declined.",
    ...policy.options.map((option) => optionText(policy, option)),
  ];
  return clauses.map((text, index) => `§${index + 1} ${text}`).join("\n");
}

function optionText(policy: Policy, option: Option): string {
  const numberOf = (other: Option): string => `§${4 + policy.options.indexOf(other)}`;
  switch (option) {
    case "opened":
      return `If an item that is returned under §1 has been opened, ${policy.kept} percent of its price, rounded down to whole coins, are kept back.`;
    case "excluded":
      return `§1 does not hold for ${policy.excluded} that have been opened.`;
    case "tier":
      return `Customers of the tier gold have ${policy.longer} days more under §1.`;
    case "sale":
      return "§1 does not hold for items from a sale.";
    case "sale-gold":
      return policy.options.includes("sale")
        ? `${numberOf("sale")} does not apply to customers of the tier gold.`
        : "Customers of the tier gold may return items from a sale like any others.";
    case "frequent":
      return `A customer with more than ${policy.mostReturns} earlier returns this year gets a voucher instead of a refund under §1.`;
    case "paid":
      return "What was paid with a voucher is refunded as a voucher.";
    case "shipping":
      return "A refund under §2 includes what was paid for shipping.";
    case "stock":
      return "If the item is out of stock there is no exchange, but a refund.";
    case "transit":
      return `Damage in transit is accepted until ${policy.transitDays} days after delivery only; later it is neither a case of §1 nor of §2.`;
    case "cap":
      return `A refund or voucher of more than ${policy.cap} coins needs an inspection report of the order. Without one the case is escalated, with the amount 0.`;
    case "repair":
      return `Under §2, ${policy.repaired} that were delivered more than ${policy.repairDays} days ago are repaired; the customer has no choice.`;
    case "small":
      return `Amounts below ${policy.least} coins are paid as a voucher.`;
  }
}
