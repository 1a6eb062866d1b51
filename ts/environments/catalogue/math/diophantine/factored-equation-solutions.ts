/** factored-equation-solutions: all whole solutions of axy + bx + cy = d, which becomes a product after multiplication by a. */
import { between } from "../../../../random/draws.ts";
import { at } from "../../lists.ts";
import { listed } from "../exact-answer.ts";
import { exactRow } from "../exact-row.ts";
import { divisors } from "../number-theory.ts";

interface Problem {
  a: number;
  b: number;
  c: number;
  d: number;
}

/** By level: largest a, largest b and c, largest constant, least and most solutions. */
const SIZES = [
  [1, 6, 30, 4, 4],
  [2, 9, 120, 5, 8],
  [3, 15, 500, 9, 12],
  [4, 25, 3000, 13, 18],
  [5, 40, 20_000, 19, 60],
] as const;

export const factoredEquationSolutions = exactRow<Problem>({
  id: "factored-equation-solutions",
  asks: "all whole solutions of an equation that becomes a product",
  kind: "set",
  draw(rng, level) {
    const [largest, most, constant, least, many] = at(SIZES, level - 1);
    const signed = (): number => between(rng, 1, most) * rng.pick([1, -1]);
    const problem = { a: between(rng, 1, largest), b: signed(), c: signed(), d: between(rng, -constant, constant) };
    if (productOf(problem) === 0) return null;
    const count = solutions(problem).length;
    return count < least || count > many ? null : problem;
  },
  solve(problem) {
    const found = solutions(problem);
    return { value: listed(found.map(BigInt)), steps: found.length };
  },
  prompts: [
    (one) => `Find all integers x for which an integer y exists with ${equation(one)}.`,
    (one) =>
      `The curve ${equation(one)} contains finitely many points whose coordinates are both integers (negative ones and 0 included). List the x-coordinates of all these points.`,
    (one) => `Solve ${equation(one)} in whole numbers of either sign. Give the set of the values of x.`,
    (one) =>
      `For which integers x is the y that solves ${equation(one)} an integer as well? Name each such x once, in any order.`,
  ],
  slips(problem) {
    const found = solutions(problem).map(BigInt);
    const positive = found.filter((x) => x > 0n);
    const partners = found.map((x) => {
      const { a, b, c, d } = problem;
      return (BigInt(d) - BigInt(b) * x) / (BigInt(a) * x + BigInt(c));
    });
    return [listed(positive.length > 0 ? positive : found.slice(1)), listed(found.slice(0, -1)), listed(partners)];
  },
});

function equation({ a, b, c, d }: Problem): string {
  const term = (factor: number, name: string): string =>
    `${factor < 0 ? "-" : "+"} ${Math.abs(factor) === 1 ? "" : Math.abs(factor)}${name}`;
  return `${a === 1 ? "" : a}xy ${term(b, "x")} ${term(c, "y")} = ${d}`;
}

function productOf({ a, b, c, d }: Problem): number {
  return a * d + b * c;
}

/** (ax + c)(ay + b) = ad + bc. */
function solutions(problem: Problem): number[] {
  const { a, b, c } = problem;
  const product = productOf(problem);
  return divisors(Math.abs(product))
    .flatMap((divisor) => [divisor, -divisor])
    .filter((left) => (left - c) % a === 0 && (product / left - b) % a === 0)
    .map((left) => (left - c) / a + 0);
}
