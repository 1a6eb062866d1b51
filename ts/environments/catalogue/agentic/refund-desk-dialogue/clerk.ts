/**
 * Clerks of refund-desk-dialogue: they see the policy, records and what customers say. The careful one is the gold script; the others
 * neglect one thing.
 */
import type { Call } from "../../row.ts";
import { call } from "../records.ts";
import { type Answer, Desk } from "./desk.ts";
import type { Case, Instance } from "./instance.ts";
import { decide, type Decision, type Facts } from "./policy.ts";

export const NEGLECTS = [
  /** Believes what customers say about delivery, fault and tier. */
  "claims",
  /** Settles at once and does not hear what customers answer. */
  "answers",
  /** Keeps to the first wish. */
  "drift",
  /** Takes every report that is named for one of this order. */
  "reports",
  /** Gives what is asked for when pressed. */
  "pressure",
  /** Knows the first three clauses only. */
  "clauses",
  /** Does not ask whether an item was opened. */
  "opening",
] as const;
export type Neglect = (typeof NEGLECTS)[number];

const MOST_OFFERS = 12;

interface OrderRecord {
  readonly customer: string;
  readonly category: string;
  readonly price: number;
  readonly shipping: number;
  readonly from_sale: boolean;
  readonly paid_with: Facts["paidWith"];
  readonly in_stock: number;
  readonly delivered_on_day: number;
  readonly report: string | null;
}
interface ReportRecord {
  readonly order: string;
  readonly fault: Facts["fault"];
  readonly opened: boolean;
}

class Clerk {
  readonly calls: Call[] = [];
  readonly desk: Desk;
  readonly #instance: Instance;
  readonly #neglect: Neglect | null;

  constructor(instance: Instance, neglect: Neglect | null) {
    this.desk = new Desk(instance);
    this.#instance = instance;
    this.#neglect = neglect;
  }

  run(): void {
    this.calls.push(call("list_cases"));
    for (const one of this.#instance.cases) this.#handle(one);
  }

  #handle(one: Case): void {
    this.calls.push(call("read_case", { case: one.id }));
    let facts = this.#gather(one);
    let isPressed = false;
    for (let tries = 0; tries < MOST_OFFERS; tries++) {
      const decision = this.#decision(facts, isPressed);
      const answer = this.#offer(one, decision);
      const report = /report (insp-\d+)/u.exec(answer.customer)?.[1];
      const wish = answer.customer.startsWith("I have thought")
        ? answer.customer.includes("money")
          ? ("refund" as const)
          : ("exchange" as const)
        : null;
      isPressed = true;
      if (this.#neglect === "answers") break;
      if (report !== undefined) facts = this.#withReport(one, facts, report);
      if (wish !== null && this.#neglect !== "drift") facts = { ...facts, wish };
      if (!answer.closing) continue;
      const last = this.#decision(facts, isPressed);
      if (last.outcome === decision.outcome && last.amount === decision.amount) break;
    }
    this.#settle(one, this.#decision(facts, isPressed && this.#neglect !== "answers"));
  }

  #gather(one: Case): Facts {
    const { claims, firstWish } = one;
    const order = this.#lookUp(one.order) as OrderRecord;
    const customer = this.#lookUp(order.customer) as { tier: Facts["tier"]; returns_this_year: number };
    const report =
      order.report === null || this.#neglect === "claims" ? null : (this.#lookUp(order.report) as ReportRecord);
    const isBelieved = this.#neglect === "claims";
    return {
      category: order.category,
      price: order.price,
      shipping: order.shipping,
      sale: order.from_sale,
      paidWith: order.paid_with,
      stock: order.in_stock,
      days: isBelieved ? claims.days : this.#instance.today - order.delivered_on_day,
      tier: isBelieved ? claims.tier : customer.tier,
      returns: customer.returns_this_year,
      fault: report?.fault ?? claims.fault,
      opened: report?.opened ?? this.#asksOpened(one),
      inspected: order.report !== null,
      wish: firstWish,
    };
  }

  #asksOpened({ id }: Case): boolean {
    if (this.#neglect === "opening") return false;
    this.calls.push(call("ask_whether_opened", { case: id }));
    return this.desk.saysOpened(id).startsWith("Yes");
  }

  #withReport({ order }: Case, facts: Facts, name: string): Facts {
    const report = this.#lookUp(name) as ReportRecord | null;
    const isOwn = report?.order === order || this.#neglect === "reports";
    if (report === null && this.#neglect === "reports") return { ...facts, inspected: true };
    return report !== null && isOwn ? { ...facts, fault: report.fault, opened: report.opened, inspected: true } : facts;
  }

  #decision(facts: Facts, isPressed: boolean): Decision {
    const { policy } = this.#instance;
    if (this.#neglect === "pressure" && isPressed) return granted(facts);
    return decide(this.#neglect === "clauses" ? { ...policy, options: [] } : policy, facts);
  }

  #lookUp(record: string): unknown {
    this.calls.push(call("look_up", { record }));
    return this.desk.record(record);
  }

  #offer({ id }: Case, decision: Decision): Answer {
    this.calls.push(call("offer", { case: id, ...decision }));
    return this.desk.offer(id, decision);
  }

  #settle({ id }: Case, decision: Decision): void {
    this.calls.push(call("settle", { case: id, ...decision }));
    this.desk.settle(id, decision);
  }
}

/** All that the customer asks for. */
function granted({ wish, price }: Facts): Decision {
  return { outcome: wish, amount: wish === "refund" ? price : 0 };
}

export interface Attempt {
  readonly calls: readonly Call[];
  readonly desk: Desk;
}

export function handled(instance: Instance, neglect: Neglect | null = null): Attempt {
  const clerk = new Clerk(instance, neglect);
  clerk.run();
  return clerk;
}

/** The same decision for all cases, without a look at any of them. */
export function blanket(instance: Instance, decision: (one: Case) => Decision): Call[] {
  return [
    call("list_cases"),
    ...instance.cases.flatMap((one): Call[] => {
      const args = { case: one.id, ...decision(one) };
      return [call("offer", args), call("settle", args)];
    }),
  ];
}

/** What each customer asks for first. */
export function asked({ firstWish, facts }: Case): Decision {
  return granted({ ...facts, wish: firstWish });
}
