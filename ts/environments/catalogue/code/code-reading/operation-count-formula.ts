/** operation-count-formula: the cost that nested loops add up, as a polynomial in n. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

/** A bound: factor * name + offset; without a name, the offset. */
interface Bound {
  name: string | null;
  factor: number;
  offset: number;
}
interface Loop {
  from: Bound;
  to: Bound;
}
interface Problem {
  /** Nests that run one after the other. */
  nests: Nest[];
}
interface Nest {
  loops: Loop[];
  /** What the innermost line adds. */
  adds: number;
}

/** By level: depth of the first nest, nests, and whether bounds have offsets and factors. */
const SIZES = [
  [2, 1, false],
  [2, 2, true],
  [3, 1, true],
  [3, 2, true],
  [4, 2, true],
] as const;
const COUNTERS = ["i", "j", "k", "m"];
/** The formula holds from here on. */
const FROM = 10;
const CHECKED = 3;

export const operationCountFormula = itemRow<Problem>({
  id: "operation-count-formula",
  asks: "the cost that nested loops add up, as a polynomial in n",
  form: "list",
  make,
  prompts: [
    ({ nests }) =>
      `For n >= ${FROM} the final value of count is a polynomial in n of degree ${nests[0]?.loops.length}:\n\n${countSource(nests)}\n\nGive its coefficients as exact fractions in lowest terms, from the constant term to the highest power, separated by commas (such as 0, -1/2, 1/2).`,
    ({ nests }) =>
      `Cost analysis. What does count add up to, as a function of n (n is at least ${FROM})?\n\n${countSource(nests)}\n\nThe result is a polynomial c0 + c1*n + c2*n^2 + ... of degree ${nests[0]?.loops.length}. List c0, c1, c2, ... with commas; write fractions in lowest terms like 3/2, whole numbers without a denominator.`,
    ({ nests }) =>
      `${countSource(nests)}\n\nAfter this Python code count equals p(n) for every whole n >= ${FROM}, with a polynomial p of degree ${nests[0]?.loops.length}. State p by all its coefficients, lowest power first, comma-separated, fractions reduced (for instance 5/6).`,
    ({ nests }) =>
      `Find the closed form of the total cost (count at the end) of\n\n${countSource(nests)}\n\nvalid for all n from ${FROM} on. Answer with the list of coefficients of 1, n, n^2, ... up to n^${nests[0]?.loops.length}; each is a whole number or a reduced fraction such as -2/3.`,
  ],
});

function make(rng: Rng, level: Level) {
  const [depth, count, isShifted] = at(SIZES, level - 1);
  const nests = range(count).map((index) => ({
    loops: range(Math.max(1, depth - index)).map((place) => drawLoop(rng, place, isShifted)),
    adds: isShifted ? between(rng, 1, 5) : 1,
  }));
  const items = coefficientsOf(nests, depth);
  if (items === null || items[depth] === "0" || new Set(items).size < 3) return null;
  const isPlain = nests.every(({ loops }) => loops.every(({ from, to }) => from.name === null && to.name === "n"));
  if (isPlain) return null;
  const misses = slipsOf(nests).flatMap((changed) => {
    const slip = coefficientsOf(changed, depth);
    return slip === null ? [] : [slip];
  });
  const bounds = nests.flatMap(({ loops }) => loops).flatMap(({ from, to }) => [from, to]);
  const terms = bounds.filter(({ offset, name }) => offset !== 0 || (name !== "n" && name !== null)).length;
  return { problem: { nests }, items, misses, effort: 10 * depth + 5 * count + Math.min(4, terms) };
}

/** Some of the nests with one bound changed, or one loop over all of n. */
function slipsOf(nests: readonly Nest[]): Nest[][] {
  const plain: Loop = { from: { name: null, factor: 0, offset: 0 }, to: { name: "n", factor: 1, offset: 0 } };
  const changes = nests.flatMap(({ loops }, nest) =>
    loops.flatMap(({ from, to }, place) =>
      [{ from, to: { ...to, offset: to.offset + 1 } }, plain].map((other) => ({ nest, place, other })),
    ),
  );
  return changes.slice(-4).map(({ nest, place, other }) =>
    nests.map(({ loops, adds }, index) => ({
      loops: loops.map((old, rank) => (index === nest && rank === place ? other : old)),
      adds,
    })),
  );
}

function drawLoop(rng: Rng, place: number, isShifted: boolean): Loop {
  const shift = (): number => (isShifted && rng.integer(2) === 0 ? between(rng, 1, 4) : 0);
  const zero: Bound = { name: null, factor: 0, offset: rng.integer(3) };
  const whole: Bound = { name: "n", factor: isShifted && rng.integer(4) === 0 ? 2 : 1, offset: 0 };
  if (place === 0) return { from: zero, to: { ...whole, offset: shift() } };
  const outer: Bound = { name: at(COUNTERS, rng.integer(place)), factor: 1, offset: shift() };
  switch (rng.integer(3)) {
    case 0:
      return { from: { name: null, factor: 0, offset: 0 }, to: outer };
    case 1:
      // The end lies above the largest value of the outer counter, so no range is cut off.
      return { from: { ...outer, offset: 0 }, to: { name: "n", factor: 2, offset: 5 } };
    default:
      return { from: zero, to: whole };
  }
}

/** Coefficients from the constant on as reduced fractions; null where the counts are no polynomial of this degree. */
function coefficientsOf(nests: readonly Nest[], degree: number): string[] | null {
  const counts = range(degree + 1 + CHECKED).map((index) =>
    BigInt(nests.reduce((sum, { loops, adds }) => sum + adds * runsOf(loops, 0, { n: FROM + index }), 0)),
  );
  const differences: bigint[] = [];
  let row = counts;
  for (let order = 0; order <= degree; order++) {
    differences.push(at(row, 0));
    row = row.slice(1).map((value, index) => value - at(row, index));
  }
  if (row.some((value) => value !== 0n)) return null;
  // Newton's form in n - FROM over the common denominator degree!, multiplied out.
  const common = factorial(degree);
  const total = range(degree + 1).map(() => 0n);
  let product = [1n];
  for (const [order, difference] of differences.entries()) {
    const factor = (difference * common) / factorial(order);
    for (const [power, value] of product.entries()) total[power] = at(total, power) + value * factor;
    const root = BigInt(FROM + order);
    product = [0n, ...product].map((value, power) => value - root * (product[power] ?? 0n));
  }
  return total.map((value) => reduced(value, common));
}

function runsOf(loops: readonly Loop[], place: number, values: Readonly<Record<string, number>>): number {
  const loop = loops[place];
  if (loop === undefined) return 1;
  const value = ({ name, factor, offset }: Bound): number =>
    (name === null ? 0 : factor * (values[name] ?? 0)) + offset;
  const [from, to] = [value(loop.from), value(loop.to)];
  const isUsed = loops
    .slice(place + 1)
    .some((inner) => [inner.from, inner.to].some(({ name }) => name === COUNTERS[place]));
  if (!isUsed) return Math.max(0, to - from) * runsOf(loops, place + 1, values);
  let sum = 0;
  for (let counter = from; counter < to; counter++)
    sum += runsOf(loops, place + 1, { ...values, [at(COUNTERS, place)]: counter });
  return sum;
}

function factorial(n: number): bigint {
  return n < 2 ? 1n : BigInt(n) * factorial(n - 1);
}

function reduced(top: bigint, bottom: bigint): string {
  let [a, b] = [top < 0n ? -top : top, bottom];
  while (b !== 0n) [a, b] = [b, a % b];
  return bottom === a ? String(top / a) : `${top / a}/${bottom / a}`;
}

export function countSource(nests: readonly Nest[]): string {
  const text = ({ name, factor, offset }: Bound): string => {
    if (name === null) return String(offset);
    const scaled = factor === 1 ? name : `${factor} * ${name}`;
    return offset === 0 ? scaled : `${scaled} + ${offset}`;
  };
  const lines = nests.flatMap(({ loops, adds }) => [
    ...loops.map(({ from, to }, place) => {
      const bounds = text(from) === "0" ? text(to) : `${text(from)}, ${text(to)}`;
      return `${"    ".repeat(place)}for ${at(COUNTERS, place)} in range(${bounds}):`;
    }),
    `${"    ".repeat(loops.length)}count += ${adds}`,
  ]);
  return ["count = 0", ...lines].join("\n");
}
