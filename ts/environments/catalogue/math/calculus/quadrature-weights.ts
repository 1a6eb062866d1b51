/** quadrature-weights: weights that make a quadrature rule with given nodes exact for polynomials. */
import { between, sample } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { type Rational, ratio, solveLinear, textOf } from "../rational.ts";

interface Problem {
  nodes: number[];
  from: number;
  to: number;
  /** Power of x under the integral beside the function. */
  power: number;
}

/** By level: nodes, largest node, power. */
const SIZES = [
  [2, 4, 0],
  [3, 5, 0],
  [3, 6, 1],
  [4, 6, 1],
  [5, 7, 2],
] as const;

export const quadratureWeights = exactRow<Problem>({
  id: "quadrature-weights",
  asks: "the weights of a quadrature rule with given nodes",
  kind: "fractions",
  draw(rng, level) {
    const [count, most, power] = at(SIZES, level - 1);
    const nodes = sample(
      range(2 * most + 1).map((index) => index - most),
      count,
      rng,
    ).toSorted((a, b) => a - b);
    const from = between(rng, -3, 3);
    return { nodes, from, to: from + between(rng, 1, 6), power };
  },
  solve(problem) {
    const found = weightsOf(problem);
    if (found === null || found.some(({ n }) => n === 0n)) return null;
    return { value: found.map(textOf).join(", "), steps: problem.nodes.length ** 3 * (problem.power + 1) };
  },
  prompts: [
    (one) =>
      `Find weights w_1, w_2, ... such that ${ruleText(one)} equals the integral of ${integrandText(one)} from ${one.from} to ${one.to} for every polynomial f of degree at most ${one.nodes.length - 1}. List the weights as exact fractions.`,
    (one) =>
      `A quadrature formula uses the nodes ${one.nodes.join(", ")}. It shall integrate ${integrandText(one)} over [${one.from}, ${one.to}] without error whenever f is a polynomial with deg f < ${one.nodes.length}. Which weights belong to the nodes, in their order?`,
    (one) =>
      `Replace f by its interpolating polynomial at x = ${one.nodes.join(", ")} and integrate ${integrandText(one)} between the bounds ${one.from} and ${one.to}. The result is a combination of the values of f at these places; give its coefficients from left to right, with commas.`,
    (one) =>
      `Determine the factors in the rule "integral over x from ${one.from} to ${one.to} of ${integrandText(one)} ≈ ${ruleText(one)}" by the demand that it is exact for 1, x, ..., x^${one.nodes.length - 1} in the place of f.`,
  ],
  slips(problem, value) {
    const { nodes, from, to } = problem;
    const equal = nodes.map(() => textOf(ratio(to - from, nodes.length)));
    const list = value.split(", ");
    const other = weightsOf({ ...problem, from: 0 });
    return [equal, list.toReversed(), ...(other === null ? [] : [other.map(textOf)])].map((one) => one.join(", "));
  },
});

function integrandText({ power }: Problem): string {
  return power === 0 ? "f(x)" : power === 1 ? "x·f(x)" : `x^${power}·f(x)`;
}

function ruleText({ nodes }: Problem): string {
  return nodes.map((node, index) => `w_${index + 1}·f(${node})`).join(" + ");
}

/** From the moments of the powers of x. */
function weightsOf({ nodes, from, to, power }: Problem): Rational[] | null {
  return solveLinear(
    nodes.map((_, exponent) => nodes.map((node) => ratio(node ** exponent))),
    nodes.map((_, exponent) => {
      const order = exponent + power + 1;
      return ratio(to ** order - from ** order, order);
    }),
  );
}
