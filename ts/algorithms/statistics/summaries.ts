/** Single numbers, or single answers, that summarise many. */
import { checkValues, fail } from "./check.ts";
import { quantileOfSorted } from "./mean-interval.ts";

/** The `p`-th percentile (0 to 100), linear between the two nearest values. Errors: PRL_STATISTICS_INPUT. */
export function percentile(values: readonly number[], p: number): number {
  checkValues("percentile", values);
  if (!(p >= 0 && p <= 100)) fail(`percentile: p is ${p}; it lies between 0 and 100`);
  return quantileOfSorted(Float64Array.from(values).sort(), p / 100);
}

/** The middle value, or the mean of the two. Errors: PRL_STATISTICS_INPUT. */
export function median(values: readonly number[]): number {
  checkValues("median", values);
  return quantileOfSorted(Float64Array.from(values).sort(), 0.5);
}

/** Sum of value times weight over the sum of the weights, none of them negative. Errors: PRL_STATISTICS_INPUT. */
export function weightedMean(values: readonly number[], weights: readonly number[]): number {
  checkValues("weightedMean", values);
  if (weights.length !== values.length) {
    fail(`weightedMean: there are ${values.length} values and ${weights.length} weights`);
  }
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  if (!weights.every((weight) => weight >= 0) || !(total > 0 && Number.isFinite(total))) {
    fail("weightedMean: weights are finite, not negative, and not all 0");
  }
  return values.reduce((sum, value, index) => sum + value * (weights[index] ?? 0), 0) / total;
}

/** The commonest answer, the earliest of equally common ones; null for no answer. An answer of null has no vote. */
export function majorityVote<Answer>(answers: readonly (Answer | null)[]): Answer | null {
  const votes = new Map<Answer, number>();
  for (const answer of answers) if (answer !== null) votes.set(answer, (votes.get(answer) ?? 0) + 1);
  let winner: Answer | null = null;
  let most = 0;
  for (const [answer, count] of votes) {
    if (count <= most) continue;
    [winner, most] = [answer, count];
  }
  return winner;
}
