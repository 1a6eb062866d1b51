/** branching-generations: sizes and totals of a family tree whose members have random numbers of children. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { minus, ONE, plus, type Rational, ratio, textOf, times, total, ZERO } from "../rational.ts";

type Question = "extinct" | "size" | "total" | "variance";

interface Problem {
  /** Weights of 0, 1, 2, ... children. */
  weights: number[];
  question: Question;
  generation: number;
  /** The size or total that is asked; 0 for the other questions. */
  count: number;
}

/** By level: most children, largest weight, generation, questions. */
const SIZES = [
  [2, 4, 2, ["extinct", "size"]],
  [3, 5, 2, ["size", "total", "extinct"]],
  [4, 5, 2, ["size", "total", "extinct"]],
  [2, 6, 3, ["size", "total", "extinct", "variance"]],
  [3, 6, 3, ["size", "total", "variance"]],
] as const;

export const branchingGenerations = exactRow<Problem>({
  id: "branching-generations",
  asks: "the size, total or extinction of a random family tree after some generations",
  kind: "fraction",
  draw(rng, level) {
    const [children, most, last, questions] = at(SIZES, level - 1);
    const weights = range(children + 1).map(() => between(rng, 1, most));
    const question = rng.pick<Question>(questions);
    const generation = question === "variance" ? last + 1 : last;
    const hasCount = question === "size" || question === "total";
    const least = question === "total" ? 2 : 1;
    return { weights, question, generation, count: hasCount ? between(rng, least, least + 1 + level) : 0 };
  },
  solve(problem) {
    const { weights, generation, question } = problem;
    const value = valueOf(problem);
    if (value.n === 0n || value.d === 1n) return null;
    const base = weights.length ** generation * (question === "variance" ? 1 : 2);
    return { value: textOf(value), steps: base + generation };
  },
  prompts: [
    (one) =>
      `A family starts with one member (generation 0). Independently of all others, a member has ${childrenText(one)}. ${questionText(one)} Give an exact fraction.`,
    (one) =>
      `Branching process with Z_0 = 1; the number of offspring of an individual is ${childrenText(one)}, all independent. ${questionText(one)} Answer with a fraction.`,
    (one) =>
      `One cell is put on a plate. At the end of its life a cell is replaced by new cells (its children): ${childrenText(one)}. Cells act independently, and generation n + 1 consists of the children of generation n. ${questionText(one)} Exact fraction, please.`,
    (one) =>
      `A rumour is started by one person. Everyone who hears it passes it on to new people, whose number is ${childrenText(one)}, independently. Call those who heard it from generation n generation n + 1; the starter is generation 0. ${questionText(one)} Write the result as a fraction.`,
  ],
  slips(problem) {
    const { weights, generation, count } = problem;
    const sum = weights.reduce((all, weight) => all + weight, 0);
    const mean = ratio(
      weights.reduce((all, weight, size) => all + weight * size, 0),
      sum,
    );
    return [
      valueOf({ ...problem, generation: generation + 1 }),
      valueOf({ ...problem, generation: generation - 1 }),
      ratio(at(weights, 0), sum),
      range(generation).reduce((product) => times(product, mean), ONE),
      valueOf({ ...problem, question: "size", count: count + 1 }),
    ].map(textOf);
  },
});

/** Coefficients of a generating function: probabilities of 0, 1, 2, ... */
type Law = readonly Rational[];

function valueOf({ weights, question: asked, generation, count }: Problem): Rational {
  const sum = weights.reduce((all, weight) => all + weight, 0);
  const law = weights.map((weight) => ratio(weight, sum));
  if (asked === "variance") return variance(law, generation);
  // One member alone: size 1 in generation 0, total 1.
  let found: Law = [ZERO, ONE];
  for (let step = 0; step < generation; step++) {
    const composed = compose(law, found);
    found = asked === "total" ? [ZERO, ...composed] : composed;
  }
  return found[asked === "extinct" ? 0 : count] ?? ZERO;
}

/** The law of a sum of independent copies of `inner`, whose number has the law `outer`. */
function compose(outer: Law, inner: Law): Law {
  let result: Law = [ZERO];
  for (const chance of outer.toReversed()) {
    const product = range(result.length + inner.length - 1).map(() => ZERO);
    for (const [i, a] of result.entries())
      for (const [j, b] of inner.entries()) product[i + j] = plus(at(product, i + j), times(a, b));
    product[0] = plus(at(product, 0), chance);
    result = product;
  }
  return result;
}

/** Var Z(n+1) = mean² Var Z(n) + variance of children · mean^n. */
function variance(law: Law, generation: number): Rational {
  const mean = total(law.map((chance, size) => times(chance, ratio(size))));
  const square = total(law.map((chance, size) => times(chance, ratio(size * size))));
  const spread = minus(square, times(mean, mean));
  let [result, power] = [ZERO, ONE];
  for (let step = 0; step < generation; step++) {
    result = plus(times(times(mean, mean), result), times(spread, power));
    power = times(power, mean);
  }
  return result;
}

function childrenText({ weights }: Problem): string {
  const sum = weights.reduce((all, weight) => all + weight, 0);
  return weights.map((weight, size) => `${size} with probability ${weight}/${sum}`).join(", ");
}

function questionText({ question: asked, generation, count }: Problem): string {
  switch (asked) {
    case "extinct":
      return `What is the probability that generation ${generation} is empty?`;
    case "size":
      return `What is the probability that generation ${generation} has exactly ${count} ${count === 1 ? "member" : "members"}?`;
    case "total":
      return `What is the probability that generations 0 to ${generation} together have exactly ${count} members?`;
    case "variance":
      return `What is the variance of the size of generation ${generation}?`;
  }
}
