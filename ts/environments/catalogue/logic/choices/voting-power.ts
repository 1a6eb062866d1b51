/** voting-power: the share of orders in which each member turns a losing coalition into a winning one (Shapley and Shubik). */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { fieldRow, type Solution } from "../../field-row.ts";
import { at, range } from "../../lists.ts";
import { fractionText } from "../../math/exact-answer.ts";
import type { Level } from "../../row.ts";

interface Given {
  weights: number[];
  quota: number;
  /** Number of members that a winning coalition needs, too. */
  heads: number;
  /** A member without whom nothing passes; null: there is none. */
  veto: number | null;
}

/** By level: members. */
const SIZES = [4, 5, 6, 7, 8] as const;

export const votingPower = fieldRow<Given>({
  id: "voting-power",
  asks: "the power of each member of a council with weights, a quota, a least number of heads and a veto",
  draw,
  solve,
  values: () => "each value is the member's share as an exact fraction",
  wordings: [
    (one) => `${council(one)}\n\n${RULE} Compute the share of every member.`,
    (one) => `${RULE}\n\nDo this for the following council. ${council(one)}`,
    (one) => `How is power distributed here? ${council(one)} Power means this: ${RULE}`,
    (one) => `Find the Shapley-Shubik index of each member. ${council(one)}\n(${RULE})`,
  ],
});

const RULE =
  "Let the members join one after the other, all orders being equally likely. A member is pivotal in an order when the coalition first can pass a motion at the moment this member joins. The share of a member is the probability of being pivotal.";

function draw(rng: Rng, level: Level): Given | null {
  const count = at(SIZES, level - 1);
  const weights = range(count).map(() => between(rng, 1, 12));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return {
    weights,
    quota: between(rng, Math.floor(total / 2) + 1, Math.ceil(total * 0.7)),
    heads: between(rng, 2, Math.ceil(count / 2)),
    veto: rng.integer(3) === 0 ? rng.integer(count) : null,
  };
}

/** Pivotal orders of each member, by coalitions before it. */
function pivots({ weights, quota, heads, veto }: Given): bigint[] {
  const count = weights.length;
  const factorial = range(count + 1).reduce(
    (list, n) => [...list, n === 0 ? 1n : at(list, n - 1) * BigInt(n)],
    [] as bigint[],
  );
  const wins = range(2 ** count).map((set) => {
    const members = range(count).filter((one) => (set >> one) & 1);
    const weight = members.reduce((sum, one) => sum + at(weights, one), 0);
    return weight >= quota && members.length >= heads && (veto === null || members.includes(veto));
  });
  return range(count).map((one) =>
    range(2 ** count).reduce((sum, set) => {
      if ((set >> one) & 1 || wins[set] === true || wins[set | (1 << one)] !== true) return sum;
      const before = range(count).filter((other) => (set >> other) & 1).length;
      return sum + at(factorial, before) * at(factorial, count - before - 1);
    }, 0n),
  );
}

function solve(given: Given): Solution | null {
  const { weights } = given;
  const shares = (counts: readonly bigint[]): string[] => {
    const total = counts.reduce((sum, count) => sum + count, 0n);
    return counts.map((count) => fractionText(count, total) ?? "");
  };
  const right = pivots(given);
  if (new Set(right).size < 3) return null;
  const slips = [shares(weights.map(BigInt)), shares(pivots({ ...given, heads: 1, veto: null }))];
  return {
    fields: shares(right).map((value, one) => ({ name: `M${one + 1}`, kind: "number", value })),
    slips,
    steps: weights.length * 2 ** weights.length,
  };
}

function council({ weights, quota, heads, veto }: Given): string {
  const list = weights.map((weight, one) => `M${one + 1} has ${weight}`).join(", ");
  const barred = veto === null ? "" : `, and M${veto + 1} is among them`;
  return `In a council ${list} votes. A motion passes when its supporters have ${quota} votes or more and are at least ${heads} members${barred}.`;
}
