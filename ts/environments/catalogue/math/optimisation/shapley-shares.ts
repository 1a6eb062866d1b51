/** shapley-shares: the Shapley value of partners who can sell full barrels only. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { factorial } from "../number-theory.ts";
import { plus, type Rational, ratio, textOf, times, ZERO } from "../rational.ts";

interface Problem {
  amounts: number[];
  barrel: number;
}

/** By level: partners, largest amount. */
const SIZES = [
  [3, 9],
  [4, 15],
  [5, 20],
  [6, 25],
  [7, 30],
] as const;

export const shapleyShares = exactRow<Problem>({
  id: "shapley-shares",
  asks: "the Shapley value of partners who together fill whole barrels",
  kind: "fractions",
  draw(rng, level) {
    const [partners, most] = at(SIZES, level - 1);
    const amounts = range(partners).map(() => between(rng, 1, most));
    const sum = amounts.reduce((a, b) => a + b, 0);
    const smallest = Math.ceil(most / 2);
    return { amounts, barrel: between(rng, smallest, Math.max(smallest, Math.ceil(sum / 2))) };
  },
  solve(problem) {
    const shares = sharesOf(problem);
    if (new Set(shares.map(textOf)).size < Math.min(3, shares.length)) return null;
    return { value: shares.map(textOf).join(", "), steps: shares.length * 2 ** shares.length };
  },
  prompts: [
    (one) =>
      `${one.amounts.length} partners own ${one.amounts.join(", ")} litres of oil, in this order. A group of partners can sell only full barrels of ${one.barrel} litres filled from its joint oil, for one coin a barrel; the rest is worth nothing. Compute the Shapley value of every partner. List the values in the same order.`,
    (one) =>
      `Consider the cooperative game on players 1 to ${one.amounts.length} with v(S) = floor(w(S) / ${one.barrel}), where w(S) adds the weights ${one.amounts.join(", ")} of the members of S. What are the Shapley values of players 1, 2, ...? Give exact numbers, separated by commas.`,
    (one) =>
      `Merchants join one by one in a random order, all orders equally likely. They bring ${one.amounts.join(", ")} kilograms of grain (merchant 1, merchant 2, ...). Whenever the total reaches or passes a multiple of ${one.barrel} kilograms, each newly completed sack of ${one.barrel} kilograms counts as one point for the merchant who just came. State the expected points of every merchant, in the given order.`,
    (one) =>
      `Divide fairly in the sense of Shapley: a coalition earns as many units as ${one.barrel} fits completely into the sum of its members' contributions. The contributions are ${one.amounts.join(", ")}. Answer with the members' shares in that order.`,
  ],
  slips({ amounts, barrel }, value) {
    const sum = amounts.reduce((a, b) => a + b, 0);
    const whole = Math.floor(sum / barrel);
    const shares = value.split(", ");
    return [
      amounts.map((amount) => textOf(ratio(amount * whole, sum))).join(", "),
      amounts.map(() => textOf(ratio(whole, amounts.length))).join(", "),
      shares.toReversed().join(", "),
      amounts.map((amount) => Math.floor(amount / barrel)).join(", "),
    ];
  },
});

/** What each partner adds to each group of others, weighted by the orders in which the group comes before. */
function sharesOf({ amounts, barrel }: Problem): Rational[] {
  const count = amounts.length;
  const orders = factorial(count);
  const groups = range(2 ** count).map((mask) => {
    const members = range(count).filter((index) => Math.floor(mask / 2 ** index) % 2 === 1);
    return { members, total: members.reduce((sum, member) => sum + at(amounts, member), 0) };
  });
  return amounts.map((amount, partner) => {
    let share: Rational = ZERO;
    for (const { members, total } of groups) {
      const gain = Math.floor((total + amount) / barrel) - Math.floor(total / barrel);
      if (gain === 0 || members.includes(partner)) continue;
      const weight = ratio(factorial(members.length) * factorial(count - 1 - members.length), orders);
      share = plus(share, times(weight, ratio(gain)));
    }
    return share;
  });
}
