/** right-triangle-census: all whole-numbered right triangles with a given leg or inradius, by pairs of divisors. */
import { between } from "../../../../random/draws.ts";
import { at } from "../../lists.ts";
import { listed } from "../exact-answer.ts";
import { exactRow } from "../exact-row.ts";
import { divisors } from "../number-theory.ts";

interface Problem {
  part: "leg" | "inradius";
  size: number;
}

/** By level: least and largest size, least number of triangles. */
const SIZES = [
  [6, 40, 2],
  [41, 900, 3],
  [901, 3000, 4],
  [3001, 9000, 5],
  [9001, 30_000, 6],
] as const;

export const rightTriangleCensus = exactRow<Problem>({
  id: "right-triangle-census",
  asks: "the hypotenuses of all whole-numbered right triangles with a given leg or inradius",
  kind: "set",
  draw(rng, level) {
    const [least, largest, count] = at(SIZES, level - 1);
    const problem = { part: rng.pick(["leg", "inradius"] as const), size: between(rng, least, largest) };
    return hypotenuses(problem).length < count ? null : problem;
  },
  solve(problem) {
    const found = hypotenuses(problem);
    return { value: listed(found.map(BigInt)), steps: problem.size };
  },
  prompts: [
    (one) =>
      `A right triangle has sides of whole length and ${partOf(one)}. Find every length that its hypotenuse can have, in any order.`,
    (one) => `List the hypotenuses of all right triangles with integer sides whose ${nameOf(one)} is ${one.size}.`,
    (one) =>
      `Consider triples of positive integers with a^2 + b^2 = c^2 such that the triangle with sides a, b, c has ${partOf(one)}. Which values does c take? Give all of them.`,
    (one) =>
      `In how many shapes can a carpenter cut a right-angled plate with whole side lengths when the ${nameOf(one)} must be ${one.size}? Do not count: name the longest side of every such plate.`,
  ],
  slips(problem) {
    const found = hypotenuses(problem).map(BigInt);
    const other = hypotenuses({ ...problem, part: problem.part === "leg" ? "inradius" : "leg" }).map(BigInt);
    return [listed(found.slice(1)), listed([...found, BigInt(problem.size)]), listed(other)];
  },
});

function partOf({ part, size }: Problem): string {
  return part === "leg" ? `one leg of length ${size}` : `an inscribed circle of radius ${size}`;
}

function nameOf({ part }: Problem): string {
  return part === "leg" ? "one leg (either of the two)" : "radius of the incircle";
}

/** (c - b)(c + b) = leg², or (a - 2r)(b - 2r) = 2r². */
function hypotenuses({ part, size }: Problem): number[] {
  const product = part === "leg" ? size * size : 2 * size * size;
  return divisors(product)
    .filter((divisor) => divisor * divisor < product)
    .flatMap((divisor) => {
      const other = product / divisor;
      if (part === "leg") return (divisor + other) % 2 === 0 ? [(divisor + other) / 2] : [];
      return [divisor + other + 2 * size];
    });
}
