/**
 * Kuhn poker: three cards, two players, an ante of one chip each, one bet of one chip at most.
 *
 * Source of the rules: H. W. Kuhn, "A simplified two-person poker" (1950). Knows no models and no messages; amounts are chips that
 * player 0 wins, so that of player 1 is the negative.
 */

export type Player = 0 | 1;
export type Action = "check" | "bet" | "fold" | "call";

/** From the lowest to the highest. */
export const CARDS = ["J", "Q", "K"] as const;
export type Card = (typeof CARDS)[number];
/** Cards of player 0 and player 1; never the same. */
export type Deal = readonly [Card, Card];

export const DEALS: readonly Deal[] = CARDS.flatMap((first) =>
  CARDS.filter((second) => second !== first).map((second): Deal => [first, second]),
);

/** The legal actions after these actions; empty when the hand is over. */
export function legalActions(history: readonly Action[]): readonly Action[] {
  if (isOver(history)) return [];
  return history.at(-1) === "bet" ? ["fold", "call"] : ["check", "bet"];
}

export function toAct(history: readonly Action[]): Player {
  return history.length % 2 === 0 ? 0 : 1;
}

export function isOver(history: readonly Action[]): boolean {
  const last = history.at(-1);
  return last === "fold" || last === "call" || (last === "check" && history.length === 2);
}

/** The chips that player 0 wins at the end of a hand. Throws when the hand is not over. */
export function payoff([first, second]: Deal, history: readonly Action[]): number {
  if (!isOver(history)) throw new RangeError(`the hand is not over after: ${history.join(", ")}`);
  const sign = CARDS.indexOf(first) > CARDS.indexOf(second) ? 1 : -1;
  if (history.at(-1) === "call") return 2 * sign;
  if (history.at(-1) === "check") return sign;
  // The player that folded would be next to act otherwise; the other one wins the ante.
  return history.length % 2 === 1 ? -1 : 1;
}
