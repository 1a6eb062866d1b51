/** conjugate-update: posterior and predictive probabilities of a rate under one or several Beta priors, as exact fractions. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { fieldRow, type Solution } from "../../field-row.ts";
import { at, range } from "../../lists.ts";
import { minus, ONE, over, plus, type Rational, ratio, textOf, times, total } from "../../math/rational.ts";
import type { Level } from "../../row.ts";

interface Given {
  /** Priors of experts: Beta(a, b), and how much weight each has. */
  experts: { a: number; b: number; weight: number }[];
  batches: { successes: number; failures: number }[];
  /** Asked: the probability of so many successes in the next trials. */
  next: { trials: number; successes: number };
}

/** By level: experts, batches, next trials. */
const KNOBS = [
  [1, 1, 1],
  [1, 3, 2],
  [2, 2, 2],
  [3, 3, 3],
  [4, 4, 5],
] as const;

export const conjugateUpdate = fieldRow<Given>({
  id: "conjugate-update",
  asks: "exact posterior mean, predictive probability and weights of Beta priors after batches of trials",
  draw,
  solve,
  values: ({ experts }) =>
    `m is the posterior mean of the rate, p the probability that is asked${experts.length > 1 ? ", and w the posterior probability of the first expert" : ""}, each as an exact fraction`,
  wordings: [
    (one) =>
      `${prior(one)} Trials are independent given the rate. Data: ${data(one)}. Find the mean of the rate given the data, and the probability that of the next ${one.next.trials} trials exactly ${one.next.successes} succeed.${weight(one)}`,
    (one) =>
      `An unknown success rate. ${prior(one)} Seen so far: ${data(one)}. What is the posterior mean, and how likely are exactly ${one.next.successes} successes among ${one.next.trials} further trials?${weight(one)}`,
    (one) =>
      `Observed, in this order: ${data(one)}. ${prior(one)} Work out by Bayes' rule the expected rate after the data, as well as the chance of ${one.next.successes} successes (no more, no fewer) in ${one.next.trials} new trials.${weight(one)}`,
    (one) =>
      `Seedlings of a new plant survive with an unknown rate. ${prior(one)} Tests gave ${data(one)}; a success is a seedling that survives. Compute the posterior mean of the rate and the probability that ${one.next.successes} out of ${one.next.trials} more seedlings survive.${weight(one)}`,
  ],
});

function draw(rng: Rng, level: Level): Given | null {
  const [experts, batches, trials] = at(KNOBS, level - 1);
  const all = range(experts).map(() => ({ a: between(rng, 1, 7), b: between(rng, 1, 7), weight: between(rng, 1, 5) }));
  if (new Set(all.map(({ a, b }) => `${a} ${b}`)).size < experts) return null;
  return {
    experts: all,
    batches: range(batches).map(() => ({ successes: rng.integer(7), failures: rng.integer(6) })),
    next: { trials, successes: rng.integer(trials + 1) },
  };
}

function solve({ experts, batches, next }: Given): Solution | null {
  const s = batches.reduce((sum, { successes }) => sum + successes, 0);
  const f = batches.reduce((sum, { failures }) => sum + failures, 0);
  if (s === 0 || f === 0) return null;
  const right = updated(experts, s, f, next);
  const values = ({ mean, chance, first }: Update): string[] =>
    [mean, chance, ...(experts.length > 1 ? [first] : [])].map(textOf);
  const plugged = (rate: Rational): Rational =>
    times(
      ratio(binomial(next.trials, next.successes)),
      times(power(rate, next.successes), power(minus(ONE, rate), next.trials - next.successes)),
    );
  const gold = values(right);
  const [last] = batches.slice(-1);
  const rate = ratio(s, s + f);
  const slips = [
    values({ ...right, mean: rate, chance: plugged(rate) }),
    values({ ...right, chance: plugged(right.mean) }),
    values(updated(experts, 0, 0, next)),
    ...(last === undefined || batches.length === 1
      ? []
      : [values(updated(experts, last.successes, last.failures, next))]),
    ...(experts.length === 1 ? [] : [values(mixedByPrior(experts, s, f, next))]),
    values({ ...right, mean: ratio(s + 1, s + f + 3) }),
  ];
  return {
    fields: ["m", "p", "w"]
      .slice(0, gold.length)
      .map((name, index) => ({ name, kind: "number", value: at(gold, index) })),
    slips: slips.filter((slip) => slip.join() !== gold.join()),
    steps: experts.length * (2 + next.trials) + 2 * batches.length,
  };
}

interface Update {
  mean: Rational;
  chance: Rational;
  first: Rational;
}

function updated(experts: Given["experts"], s: number, f: number, next: Given["next"]): Update {
  const masses = experts.map(({ a, b, weight: own }) =>
    times(ratio(own), over(rising(a, s, b, f), rising(a + b, s + f, 1, 0))),
  );
  return weighted(experts, masses, { s, f, next });
}

/** The slip of leaving the weights of the experts as they were. */
function mixedByPrior(experts: Given["experts"], s: number, f: number, next: Given["next"]): Update {
  return weighted(
    experts,
    experts.map(({ weight: own }) => ratio(own)),
    { s, f, next },
  );
}

function weighted(
  experts: Given["experts"],
  masses: readonly Rational[],
  { s, f, next }: { s: number; f: number; next: Given["next"] },
): Update {
  const all = total(masses);
  const average = (value: (a: number, b: number) => Rational): Rational =>
    over(experts.map(({ a, b }, index) => times(at(masses, index), value(a + s, b + f))).reduce(plus), all);
  const fails = next.trials - next.successes;
  return {
    mean: average((a, b) => ratio(a, a + b)),
    chance: average((a, b) =>
      times(
        ratio(binomial(next.trials, next.successes)),
        over(rising(a, next.successes, b, fails), rising(a + b, next.trials, 1, 0)),
      ),
    ),
    first: over(at(masses, 0), all),
  };
}

/** a (a + 1) ... of s factors, times b (b + 1) ... of f factors. */
function rising(a: number, s: number, b: number, f: number): Rational {
  const factors = [...range(s).map((step) => a + step), ...range(f).map((step) => b + step)];
  return ratio(factors.reduce((product, factor) => product * BigInt(factor), 1n));
}

function binomial(n: number, k: number): number {
  return range(k).reduce((value, step) => (value * (n - step)) / (step + 1), 1);
}

function power(base: Rational, exponent: number): Rational {
  return range(exponent).reduce((product) => times(product, base), ONE);
}

function prior({ experts }: Given): string {
  const [only] = experts;
  if (experts.length === 1 && only !== undefined) return `The prior of the rate is Beta(${only.a}, ${only.b}).`;
  const sum = experts.reduce((all, { weight: own }) => all + own, 0);
  const list = experts.map(({ a, b, weight: own }) => `Beta(${a}, ${b}) with probability ${own}/${sum}`).join(", ");
  return `One of ${experts.length} experts is right about the prior of the rate; in their order they say ${list}.`;
}

function data({ batches }: Given): string {
  return batches.map(({ successes, failures }) => `${successes} successes and ${failures} failures`).join("; then ");
}

function weight({ experts }: Given): string {
  return experts.length > 1 ? " How probable is it now that the first expert is right?" : "";
}
