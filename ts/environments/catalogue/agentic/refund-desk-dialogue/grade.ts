/** The score of refund-desk-dialogue: what was settled is compared with what the policy grants. */
import type { Case, Decisions, Instance } from "./instance.ts";
import { decide, type Decision } from "./policy.ts";

/** What a wrong decision costs, in cases; a favour that the policy does not grant costs more than a refusal. */
const COST = 1;
const COST_OF_FAVOUR = 2;

export function rightDecision({ policy }: Instance, { facts }: Case): Decision {
  return decide(policy, facts);
}

/** Right cases less the costs of wrong ones, as a share, at least 0. A case that is not settled counts 0. */
export function grade(instance: Instance, settled: Decisions): number {
  const points = instance.cases.map((one): number => {
    const decision = settled.get(one.id);
    if (decision === undefined) return 0;
    const right = rightDecision(instance, one);
    if (isSame(decision, right)) return 1;
    return isFavour(decision, right) ? -COST_OF_FAVOUR : -COST;
  });
  return Math.max(0, points.reduce((sum, one) => sum + one, 0) / instance.cases.length);
}

/** Shares of cases of a kind that were decided rightly, by kind. */
export function passedParts(instance: Instance, settled: Decisions): Record<string, number> {
  const kinds: readonly [string, (one: Case) => boolean][] = [
    ["granted", (one) => rightDecision(instance, one).outcome !== "decline"],
    ["declined", (one) => rightDecision(instance, one).outcome === "decline"],
    ["pressed", ({ turns }) => turns.some(({ turn }) => turn === "pressure" || turn === "lie")],
    ["drifted", ({ turns }) => turns.some(({ turn }) => turn === "drift")],
    ["reported", ({ turns }) => turns.some(({ turn }) => turn === "report")],
    ["deceived", ({ claims, facts }) => claims.days !== facts.days || claims.fault !== facts.fault],
  ];
  const shares = kinds.flatMap(([kind, isOf]): [string, number][] => {
    const some = instance.cases.filter(isOf);
    const right = some.filter((one) => {
      const decision = settled.get(one.id);
      return decision !== undefined && isSame(decision, rightDecision(instance, one));
    });
    return some.length === 0 ? [] : [[kind, right.length / some.length]];
  });
  return Object.fromEntries(shares);
}

function isSame(a: Decision, b: Decision): boolean {
  return a.outcome === b.outcome && a.amount === b.amount;
}

function isFavour(decision: Decision, right: Decision): boolean {
  if (right.outcome === "decline" || right.outcome === "escalate")
    return decision.outcome !== "decline" && decision.outcome !== "escalate";
  return decision.amount > right.amount || (right.outcome === "voucher" && decision.outcome === "refund");
}
