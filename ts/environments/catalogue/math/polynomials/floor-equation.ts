/** floor-equation: all real solutions of an equation with floors of multiples of x. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { ascending } from "../exact-answer.ts";
import { exactRow } from "../exact-row.ts";
import { lcm } from "../number-theory.ts";
import { compare, over, ratio, textOf, type Rational } from "../rational.ts";

interface Problem {
  /** slope · x + sum of factor · floor(multiple · x) = right. */
  slope: number;
  floors: [factor: number, multiple: number][];
  right: number;
}

/** By level: multiples, largest factor. */
const SIZES = [
  [[1], 7],
  [[1, 2], 6],
  [[1, 3], 7],
  [[1, 2, 3], 8],
  [[1, 2, 3, 5], 9],
] as const;

/** No solution lies farther out: the sum of slopes is at least 1. */
const MOST_CELLS = 2_000;

export const floorEquation = exactRow<Problem>({
  id: "floor-equation",
  asks: "all real solutions of an equation with floors of multiples of the unknown",
  kind: "fractionSet",
  draw(rng, level) {
    const [multiples, most] = at(SIZES, level - 1);
    return {
      slope: between(rng, 3, 9 + level),
      floors: multiples.map((multiple) => [between(rng, 1, most) * rng.pick([1, -1]), multiple]),
      right: between(rng, 5, 20 * level),
    };
  },
  solve(problem) {
    const growth = problem.floors.reduce((sum, [factor, multiple]) => sum + factor * multiple, problem.slope);
    if (growth < 1 || growth > 9) return null;
    const found = solutionsOf(problem, growth);
    if (found === null || found.list.length < 2 || found.list.length > 9) return null;
    if (found.list.every(({ n, d }) => n % d === 0n)) return null;
    const jumps = problem.floors.reduce((sum, [, multiple]) => sum + multiple, 0);
    return { value: ascending(found.list.map(textOf)), steps: jumps * (10 + found.list.length) };
  },
  prompts: [
    (one) =>
      `Find every real number x such that ${equation(one)}, where [t] is the greatest integer not above t. List the solutions with commas between.`,
    (one) =>
      `Here [t] means t rounded down to an integer. Determine the set of all real solutions of\n${equation(one)}\nand write it as a comma-separated list of exact numbers.`,
    (one) =>
      `The equation ${equation(one)} has a few real solutions, not all of them integers ([ ] is the floor function). State all of them, in any order, separated by commas; use fractions and no decimals.`,
    (one) =>
      `Split x into its integer part and the rest to solve ${equation(one)} ([y] = largest integer that is at most y). Which real values of x satisfy it? Give each one exactly and separate them by commas.`,
  ],
  slips(problem, value) {
    const list = value.split(", ");
    const whole = list.filter((one) => !one.includes("/"));
    const smooth = problem.floors.reduce((sum, [factor, multiple]) => sum + factor * multiple, problem.slope);
    return [whole.join(", "), list.slice(1).join(", "), textOf(ratio(problem.right, smooth))].filter(
      (one) => one !== "",
    );
  },
});

/** On each cell between neighbouring jumps all floors are constant. Null where there are too many cells. */
function solutionsOf({ slope, floors, right }: Problem, growth: number): { list: Rational[] } | null {
  const slack = floors.reduce((sum, [factor]) => sum + Math.abs(factor), 0);
  const scale = floors.reduce((all, [, multiple]) => lcm(all, multiple), 1);
  const [low, high] = [Math.floor((right - slack) / growth) - 1, Math.ceil((right + slack) / growth) + 1];
  if ((high - low) * scale > MOST_CELLS) return null;
  const list: Rational[] = [];
  for (const cell of range((high - low) * scale)) {
    const left = low * scale + cell;
    const step = floors.reduce((sum, [factor, multiple]) => sum + factor * Math.floor((multiple * left) / scale), 0);
    const x = over(ratio(right - step), ratio(slope));
    if (compare(x, ratio(left, scale)) >= 0 && compare(x, ratio(left + 1, scale)) < 0) list.push(x);
  }
  return { list };
}

function equation({ slope, floors, right }: Problem): string {
  const terms = floors.map(
    ([factor, multiple]) =>
      ` ${factor < 0 ? "-" : "+"} ${Math.abs(factor) === 1 ? "" : Math.abs(factor)}[${multiple === 1 ? "" : multiple}x]`,
  );
  return `${slope}x${terms.join("")} = ${right}`;
}
