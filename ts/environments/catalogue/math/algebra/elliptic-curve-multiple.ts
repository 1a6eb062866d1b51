/** elliptic-curve-multiple: a multiple of a point on an elliptic curve over a prime field. */
import { between } from "../../../../random/draws.ts";
import { at } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { inverseMod, isPrime, mod } from "../number-theory.ts";

interface Problem {
  prime: number;
  a: number;
  b: number;
  point: [number, number];
  factor: number;
}

/** By level: least and largest prime, least and largest factor. */
const SIZES = [
  [11, 43, 3, 5],
  [53, 199, 6, 12],
  [211, 997, 13, 40],
  [1009, 9973, 41, 200],
  [10_007, 99_991, 300, 5000],
] as const;

type Point = readonly [bigint, bigint] | null;

export const ellipticCurveMultiple = exactRow<Problem>({
  id: "elliptic-curve-multiple",
  asks: "a multiple of a point on an elliptic curve over a prime field",
  kind: "tuple",
  draw(rng, level) {
    const [least, largest, low, high] = at(SIZES, level - 1);
    const prime = between(rng, least, largest);
    if (!isPrime(prime)) return null;
    const [a, x, y] = [between(rng, 1, prime - 1), between(rng, 1, prime - 1), between(rng, 1, prime - 1)];
    const b = Number(mod(BigInt(y) ** 2n - BigInt(x) ** 3n - BigInt(a) * BigInt(x), BigInt(prime)));
    const isSmooth = mod(4n * BigInt(a) ** 3n + 27n * BigInt(b) ** 2n, BigInt(prime)) !== 0n;
    return isSmooth && b > 0 ? { prime, a, b, point: [x, y], factor: between(rng, low, high) } : null;
  },
  solve(problem) {
    const found = multiple(problem);
    if (found === null || found[0] === BigInt(problem.point[0])) return null;
    const [bits, digits] = [Math.floor(Math.log2(problem.factor)), String(problem.prime).length];
    return { value: found.join(", "), steps: bits * digits ** 2 };
  },
  prompts: [
    (one) =>
      `On the elliptic curve ${curveText(one)} over the field with ${one.prime} elements lies P = (${one.point.join(", ")}). Compute ${one.factor}P. Give its coordinates x, y between 0 and ${one.prime - 1}.`,
    (one) =>
      `Add the point (${one.point.join(", ")}) of ${curveText(one)} to itself until it stands ${one.factor} times in the sum (group law of the curve, modulo ${one.prime}). Which point results? Answer "x, y".`,
    (one) =>
      `Alice's public key is k·G on the curve ${curveText(one)} modulo ${one.prime}, where G = (${one.point.join(", ")}) and her private key is k = ${one.factor}. What are the coordinates of the public key (least non-negative residues)?`,
    (one) =>
      `Scalar multiplication: modulus ${one.prime}, equation ${curveText(one)}, base point (${one.point.join(", ")}), scalar ${one.factor}. State the affine coordinates of the product as two residues.`,
  ],
  slips(problem, value) {
    const [x = 0n, y = 0n] = value.split(", ").map(BigInt);
    const prime = BigInt(problem.prime);
    const others = [1, -1].map((step) => multiple({ ...problem, factor: problem.factor + step }));
    const naive = problem.point.map((part) => (part * problem.factor) % problem.prime);
    return [[x, prime - y], [y, x], naive, ...others.filter((one) => one !== null)].map((one) => one.join(", "));
  },
});

function curveText({ a, b }: Problem): string {
  return `y^2 = x^3 + ${a === 1 ? "" : a}x + ${b}`;
}

/** By doubling and adding; null for the point at infinity. */
function multiple({ prime, a, point, factor }: Problem): Point {
  const p = BigInt(prime);
  const add = (one: Point, other: Point): Point => {
    if (one === null || other === null) return one ?? other;
    const isSame = one[0] === other[0];
    if (isSame && mod(one[1] + other[1], p) === 0n) return null;
    const top = isSame ? 3n * one[0] ** 2n + BigInt(a) : other[1] - one[1];
    const below = isSame ? 2n * one[1] : other[0] - one[0];
    const slope = top * (inverseMod(mod(below, p), p) ?? 0n);
    const x = mod(slope ** 2n - one[0] - other[0], p);
    return [x, mod(slope * (one[0] - x) - one[1], p)];
  };
  let [sum, double]: [Point, Point] = [null, [BigInt(point[0]), BigInt(point[1])]];
  for (let left = factor; left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) sum = add(sum, double);
    double = add(double, double);
  }
  return sum;
}
