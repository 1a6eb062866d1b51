/** long-run-reward: the long-run mean reward of a Markov chain, or the mean time between two visits of a state. */
import { between, sample } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { minus, ONE, over, plus, type Rational, ratio, solveLinear, textOf, times, ZERO } from "../rational.ts";

interface Problem {
  /** `weights[from][to]`. */
  weights: number[][];
  /** Reward of a step that starts in the state; null: the mean return time of state 0 is asked. */
  rewards: number[] | null;
}

/** By level: least and most states, moves of a state. */
const SIZES = [
  [2, 2, 2],
  [3, 3, 2],
  [4, 4, 3],
  [5, 5, 3],
  [6, 7, 3],
] as const;

export const longRunReward = exactRow<Problem>({
  id: "long-run-reward",
  asks: "the long-run mean reward or the mean return time of a Markov chain",
  kind: "fraction",
  draw(rng, level) {
    const [least, most, moves] = at(SIZES, level - 1);
    const count = between(rng, least, most);
    const weights = range(count).map((state) => {
      // The cycle through all states keeps the chain in one piece.
      const others = sample(
        range(count).filter((target) => target !== (state + 1) % count),
        moves - 1,
        rng,
      );
      const targets = [...others, (state + 1) % count];
      return range(count).map((target) => (targets.includes(target) ? between(rng, 1, 5) : 0));
    });
    const rewards = level > 1 && rng.integer(3) === 0 ? null : range(count).map(() => between(rng, 0, 12));
    return { weights, rewards };
  },
  solve(problem) {
    const value = valueOf(problem);
    if (value === null || value.d === 1n) return null;
    return { value: textOf(value), steps: problem.weights.length ** 3 };
  },
  prompts: [
    (one) =>
      `A machine is always in one of ${one.weights.length} states and changes it every hour at random:\n${movesText(one)}\n${question(one, "An hour that begins in")} Give an exact fraction.`,
    (one) =>
      `Consider the Markov chain with these transition probabilities (others 0).\n${matrix(one)}\n${question(one, "Each step from")} Answer with a fraction.`,
    (one) =>
      `A courier goes from station to station for ever; where to go next depends on the present station only.\n${movesText(one)}\n${question(one, "Leaving")} Exact value, as a fraction.`,
    (one) =>
      `Weights of the moves of an endless random walk (a move is chosen with probability weight / sum of the row):\n${rows(one)}\n${question(one, "A move out of")} The answer is rational: write it as a fraction.`,
  ],
  slips(problem) {
    const { weights, rewards } = problem;
    const count = weights.length;
    const sums = weights.map((row) => row.reduce((sum, weight) => sum + weight, 0));
    const all = sums.reduce((sum, one) => sum + one, 0);
    const inflow = range(count).map((to) =>
      ratio(
        weights.reduce((sum, row) => sum + at(row, to), 0),
        all,
      ),
    );
    const uniform =
      rewards === null
        ? ratio(count)
        : ratio(
            rewards.reduce((sum, one) => sum + one, 0),
            count,
          );
    const weighted =
      rewards === null
        ? over(ONE, at(inflow, 0))
        : rewards.reduce((sum, reward, state) => plus(sum, times(ratio(reward), at(inflow, state))), ZERO);
    const other = valueOf({ weights, rewards: rewards === null ? range(count) : null });
    return [uniform, weighted, ...(other === null ? [] : [other])].map(textOf);
  },
});

/** From the stationary distribution; null where it is not unique. */
function valueOf({ weights, rewards }: Problem): Rational | null {
  const count = weights.length;
  const sums = weights.map((row) => row.reduce((sum, weight) => sum + weight, 0));
  // The balance of all states but the last one, and the sum 1.
  const balance = range(count).map((to) =>
    range(count).map((from) => {
      if (to === count - 1) return ONE;
      const inflow = ratio(at(at(weights, from), to), at(sums, from));
      return from === to ? minus(inflow, ONE) : inflow;
    }),
  );
  const found = solveLinear(
    balance,
    range(count).map((row) => (row === count - 1 ? ONE : ZERO)),
  );
  if (found === null) return null;
  if (rewards === null) return over(ONE, at(found, 0));
  return rewards.reduce((sum, reward, state) => plus(sum, times(ratio(reward), at(found, state))), ZERO);
}

function each({ weights }: Problem, text: (to: number, weight: number, sum: number) => string): string[] {
  return weights.map((row) => {
    const sum = row.reduce((all, weight) => all + weight, 0);
    return row.flatMap((weight, to) => (weight === 0 ? [] : [text(to + 1, weight, sum)])).join(", ");
  });
}

function movesText(one: Problem): string {
  return each(one, (to, weight, sum) => `${to} with probability ${weight}/${sum}`)
    .map((text, state) => `after ${state + 1} comes ${text}`)
    .join("\n");
}

function matrix(one: Problem): string {
  return each(one, (to, weight, sum) => `p(${to}) = ${weight}/${sum}`)
    .map((text, state) => `row ${state + 1}: ${text}`)
    .join("\n");
}

function rows({ weights }: Problem): string {
  return weights.map((row, state) => `from ${state + 1}: ${row.join(" ")}`).join("\n");
}

function question({ rewards }: Problem, step: string): string {
  if (rewards === null) return "What is the expected number of steps from a visit of state 1 to the next visit of it?";
  const list = rewards.map((reward, state) => `${state + 1}: ${reward}`).join(", ");
  return `${step} a state earns (state: amount) ${list}. What is the average earned per step in the long run?`;
}
