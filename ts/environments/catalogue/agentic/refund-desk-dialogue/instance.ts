/** What an instance of refund-desk-dialogue holds: a policy, and cases with their records and the customer's script. */
import type { Decision, Facts, Policy } from "./policy.ts";

/** What a customer says, about which records say something else, or nothing. */
export interface Claims {
  readonly days: number;
  readonly fault: Facts["fault"];
  readonly tier: Facts["tier"];
  readonly opened: boolean;
}

/** What a customer answers to an offer. */
export type Turn =
  /** No reason, only force. */
  | { readonly turn: "pressure"; readonly style: number }
  /** Another statement that records contradict. */
  | { readonly turn: "lie"; readonly style: number }
  /** Names a report: of this order, of another one, or none that exists. */
  | { readonly turn: "report"; readonly report: string }
  /** Wants something else from now on. */
  | { readonly turn: "drift"; readonly wish: Facts["wish"] };

export interface Report {
  readonly id: string;
  /** The order that was inspected. */
  readonly order: string;
  readonly fault: Facts["fault"];
  readonly opened: boolean;
  /** Whether the order's record names it; the customer names the others. */
  readonly listed: boolean;
}

export interface Case {
  readonly id: string;
  readonly order: string;
  readonly customer: string;
  readonly customerName: string;
  readonly product: string;
  /** As records have them in the end; of an item without a report `opened` and `fault` are what the customer says. */
  readonly facts: Facts;
  /** The wish of the first message; `facts.wish` is the last one. */
  readonly firstWish: Facts["wish"];
  readonly claims: Claims;
  readonly turns: readonly Turn[];
}

export interface Instance {
  readonly today: number;
  readonly policy: Policy;
  readonly cases: readonly Case[];
  readonly reports: readonly Report[];
}

/** The decision on each case, by its id. */
export type Decisions = ReadonlyMap<string, Decision>;
