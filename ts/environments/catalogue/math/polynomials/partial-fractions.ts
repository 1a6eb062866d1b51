/** partial-fractions: the constants of a decomposition with repeated linear and irreducible quadratic factors. */
import { between, sample } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { type Rational, ratio, solveLinear, textOf } from "../rational.ts";
import { multiplyAll, polynomialText } from "./polynomial.ts";

interface Problem {
  /** (x - root)^power. */
  linear: [root: number, power: number][];
  /** x^2 + b x + c. */
  quadratic: [b: number, c: number][];
  numerator: number[];
}

/** By level: powers of the linear factors, number of quadratic factors. */
const SIZES = [
  [[1, 1], 0],
  [[2, 1], 0],
  [[2, 1], 1],
  [[3, 2], 1],
  [[3, 2, 1], 1],
] as const;

const LETTERS = "ABCDEFGHIJ";

export const partialFractions = exactRow<Problem>({
  id: "partial-fractions",
  asks: "the constants of a decomposition into partial fractions with repeated and quadratic factors",
  kind: "tuple",
  draw(rng, level) {
    const [powers, count] = at(SIZES, level - 1);
    const roots = sample([-4, -3, -2, -1, 1, 2, 3, 4, 5], powers.length, rng);
    const linear = powers.map((power, index): [number, number] => [at(roots, index), power]);
    const quadratic = range(count).map((): [number, number] => [between(rng, -2, 2), between(rng, 2, 6)]);
    const problem = { linear, quadratic, numerator: [] };
    const parts = partsOf(problem);
    const constants = parts.map(() => rng.pick([-7, -6, -5, -4, -3, -2, 2, 3, 4, 5, 6, 7]));
    return { linear, quadratic, numerator: numeratorOf(parts, constants) };
  },
  solve(problem) {
    const { linear, quadratic, numerator } = problem;
    if (quadratic.some(([b, c]) => b * b >= 4 * c) || numerator[0] === 0) return null;
    const constants = constantsOf(problem);
    return {
      value: constants.map(textOf).join(", "),
      steps: constants.length ** 3 * (linear.length + quadratic.length),
    };
  },
  canonical: ({ linear, quadratic, numerator }) => [linear.toSorted(([a], [b]) => a - b), quadratic, numerator],
  prompts: [
    (one) =>
      `Decompose\n(${polynomialText(one.numerator)}) / (${denominatorText(one)})\nas ${formText(one)}. Give ${namesText(one)} in this order, separated by commas.`,
    (one) =>
      `Find the constants ${namesText(one)} for which ${formText(one)} equals (${polynomialText(one.numerator)}) / (${denominatorText(one)}) for all x where both sides are defined. List the numbers in that order with commas.`,
    (one) =>
      `Before integrating (${polynomialText(one.numerator)}) / [${denominatorText(one)}], a student writes it in the form\n${formText(one)}.\nWhich values do ${namesText(one)} have? Only the numbers, comma-separated.`,
    (one) =>
      `The rational function with numerator ${polynomialText(one.numerator)} and denominator ${denominatorText(one)} is a sum of simple fractions: ${formText(one)}. State the numbers that stand for ${namesText(one)}, one after the other, divided by commas.`,
  ],
  slips(_, value) {
    const constants = value.split(", ").map(Number);
    return [constants.map((one) => -one), constants.toReversed(), constants.with(0, at(constants, 0) - 1)].map((list) =>
      list.join(", "),
    );
  },
});

interface Part {
  text: string;
  letters: number;
  /** The factor of the numerator that belongs to each letter. */
  cofactors: number[][];
}

/** The simple fractions in the order of the form. */
function partsOf({ linear, quadratic }: Problem): number[][] {
  return fractions({ linear, quadratic }).flatMap(({ cofactors }) => cofactors);
}

function fractions({ linear, quadratic }: Pick<Problem, "linear" | "quadratic">): Part[] {
  const ofLinear = linear.flatMap(([root, power], index) =>
    range(power).map((less): Part => {
      const others = linear.map(([other, most], place) =>
        powerOf([1, -other], place === index ? most - less - 1 : most),
      );
      const cofactor = multiplyAll([...others.flat(), ...quadratic.map(([b, c]) => [1, b, c])]);
      return { text: `(${rootText(root)})${less === 0 ? "" : `^${less + 1}`}`, letters: 1, cofactors: [cofactor] };
    }),
  );
  const ofQuadratic = quadratic.map(([b, c], index): Part => {
    const rest = quadratic.filter((_, place) => place !== index).map(([p, q]) => [1, p, q]);
    const others = linear.flatMap(([root, power]) => powerOf([1, -root], power));
    return {
      text: `(${polynomialText([1, b, c])})`,
      letters: 2,
      cofactors: [multiplyAll([...others, ...rest, [1, 0]]), multiplyAll([...others, ...rest])],
    };
  });
  return [...ofLinear, ...ofQuadratic];
}

function powerOf(factor: number[], power: number): number[][] {
  return range(power).map(() => factor);
}

function numeratorOf(parts: readonly number[][], constants: readonly number[]): number[] {
  const size = Math.max(...parts.map(({ length }) => length));
  return range(size).map((index) =>
    parts.reduce((sum, part, one) => sum + at(constants, one) * (part[index - (size - part.length)] ?? 0), 0),
  );
}

function constantsOf(problem: Problem): Rational[] {
  const parts = partsOf(problem);
  const size = parts.length;
  const entry = (list: readonly number[], index: number): Rational => ratio(list[index - (size - list.length)] ?? 0);
  const solved = solveLinear(
    range(size).map((index) => parts.map((part) => entry(part, index))),
    range(size).map((index) => entry(problem.numerator, index)),
  );
  if (solved === null) throw new RangeError("the simple fractions are dependent");
  return solved;
}

function rootText(root: number): string {
  return root > 0 ? `x - ${root}` : `x + ${-root}`;
}

function denominatorText({ linear, quadratic }: Problem): string {
  return [
    ...linear.map(([root, most]) => `(${rootText(root)})${most === 1 ? "" : `^${most}`}`),
    ...quadratic.map(([b, c]) => `(${polynomialText([1, b, c])})`),
  ].join(" ");
}

function formText(problem: Problem): string {
  let used = 0;
  return fractions(problem)
    .map(({ text, letters }) => {
      const [a, b] = [at(LETTERS, used), LETTERS[used + 1] ?? ""];
      used += letters;
      return letters === 1 ? `${a}/${text}` : `(${a}x + ${b})/${text}`;
    })
    .join(" + ");
}

function namesText(problem: Problem): string {
  return LETTERS.split("").slice(0, partsOf(problem).length).join(", ");
}
