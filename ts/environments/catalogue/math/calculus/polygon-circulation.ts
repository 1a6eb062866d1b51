/** polygon-circulation: a line integral of a polynomial field around a polygon. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { plus, type Rational, ratio, textOf, times, total, ZERO } from "../rational.ts";

interface Term {
  factor: number;
  i: number;
  j: number;
}

interface Problem {
  /** The field's components. */
  p: Term[];
  q: Term[];
  corners: [number, number][];
}

/** By level: terms of each component, largest degree, corners, largest coordinate. */
const SIZES = [
  [1, 1, 3, 4],
  [1, 2, 3, 5],
  [2, 2, 4, 5],
  [2, 3, 5, 6],
  [3, 4, 6, 6],
] as const;

export const polygonCirculation = exactRow<Problem>({
  id: "polygon-circulation",
  asks: "the integral of a polynomial vector field around a closed polygonal path",
  kind: "fraction",
  draw(rng, level) {
    const [count, degree, size, most] = at(SIZES, level - 1);
    const drawn = (): Term[] =>
      range(count).map(() => {
        const i = rng.integer(degree + 1);
        return { factor: between(rng, 1, 5) * rng.pick([1, -1]), i, j: between(rng, 0, degree - i) };
      });
    const corners = range(size).map((): [number, number] => [between(rng, -most, most), between(rng, -most, most)]);
    const [p, q] = [drawn(), drawn()];
    const isRepeated = [p, q].some((list) => new Set(list.map(({ i, j }) => `${i},${j}`)).size < count);
    return isRepeated || new Set(corners.map(String)).size < size ? null : { p, q, corners };
  },
  solve({ p, q, corners }) {
    const found = around(p, q, corners);
    if (found.n === 0n) return null;
    const degree = Math.max(...[...p, ...q].map(({ i, j }) => i + j));
    return { value: textOf(found), steps: corners.length * p.length * (degree + 1) ** 2 };
  },
  prompts: [
    (one) =>
      `A closed path runs along straight segments through ${pathText(one)} and back to the first point. Compute the line integral of P dx + Q dy along it, where P = ${fieldText(one.p)} and Q = ${fieldText(one.q)}.`,
    (one) =>
      `Find the work of the force (${fieldText(one.p)}, ${fieldText(one.q)}) on a particle that is moved in straight steps ${pathText(one)} and finally straight to its start. The exact value, please.`,
    (one) =>
      `What is the circulation of the vector field F(x, y) = (${fieldText(one.p)}, ${fieldText(one.q)}) around the polygon with the successive corners ${pathText(one)}? The polygon may cross itself; the direction is that of the list.`,
    (one) =>
      `Evaluate the contour integral of (${fieldText(one.p)}) dx + (${fieldText(one.q)}) dy over the closed polygonal chain ${pathText(one)} (the last corner is joined to the first).`,
  ],
  slips({ p, q, corners }) {
    const found = around(p, q, corners);
    const open = corners.slice(1).map((corner, index) => along(p, q, at(corners, index), corner));
    return [times(found, ratio(-1)), total(open), around(p, [], corners), around(q, p, corners)].map(textOf);
  },
});

function fieldText(terms: readonly Term[]): string {
  const power = (name: string, exponent: number): string =>
    exponent === 0 ? "" : exponent === 1 ? name : `${name}^${exponent}`;
  const parts = terms.map(({ factor, i, j }) => {
    const base = `${power("x", i)}${power("y", j)}`;
    const size = Math.abs(factor) === 1 && base !== "" ? "" : String(Math.abs(factor));
    return `${factor < 0 ? "-" : "+"} ${size}${base}`;
  });
  return parts.join(" ").replace(/^\+ /u, "").replace(/^- /u, "-");
}

function pathText({ corners }: Problem): string {
  return corners.map((corner) => `(${corner.join(", ")})`).join(", ");
}

function around(p: readonly Term[], q: readonly Term[], corners: readonly [number, number][]): Rational {
  return total(corners.map((corner, index) => along(p, q, corner, at(corners, (index + 1) % corners.length))));
}

/** Along one segment, as a polynomial in the time from 0 to 1. */
function along(
  p: readonly Term[],
  q: readonly Term[],
  [x, y]: readonly [number, number],
  [x1, y1]: readonly [number, number],
): Rational {
  const part = (terms: readonly Term[], step: number): Rational =>
    terms.reduce((sum, { factor, i, j }) => {
      let polynomial = [1];
      for (const _ of range(i)) polynomial = timesLine(polynomial, x, x1 - x);
      for (const _ of range(j)) polynomial = timesLine(polynomial, y, y1 - y);
      const integral = total(polynomial.map((value, power) => ratio(value, power + 1)));
      return plus(sum, times(ratio(factor * step), integral));
    }, ZERO);
  return plus(part(p, x1 - x), part(q, y1 - y));
}

/** The lowest power first. */
function timesLine(polynomial: readonly number[], constant: number, slope: number): number[] {
  return [...polynomial, 0].map((value, power) => value * constant + slope * (polynomial[power - 1] ?? 0));
}
