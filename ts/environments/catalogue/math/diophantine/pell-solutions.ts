/** pell-solutions: the least solution of x² - d·y² = n beyond a bound, from its classes and the fundamental unit. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";

interface Problem {
  d: number;
  n: number;
  /** Decimal digits: x exceeds this number. */
  above: string;
}

/** By level: largest d, largest first y, digits of the bound. */
const SIZES = [
  [8, 1, 2],
  [20, 2, 4],
  [40, 3, 7],
  [80, 4, 12],
  [150, 5, 22],
] as const;

/** Units beyond it make the search for the classes long. */
const LARGEST_UNIT = 200_000n;
const MOST_BASE = 3_000;

export const pellSolutions = exactRow<Problem>({
  id: "pell-solutions",
  asks: "the least solution of x² - d·y² = n beyond a bound",
  kind: "tuple",
  draw(rng, level) {
    const [largest, most, digits] = at(SIZES, level - 1);
    const d = between(rng, 2, largest);
    const y = between(rng, 1, most);
    const x = Math.round(y * Math.sqrt(d)) + between(rng, -2, 2);
    const n = x * x - d * y * y;
    if (Number.isInteger(Math.sqrt(d)) || n === 0 || x < 1) return null;
    return {
      d,
      n,
      above: range(digits)
        .map((place) => (place === 0 ? between(rng, 1, 9) : rng.integer(10)))
        .join(""),
    };
  },
  solve(problem) {
    const found = leastBeyond(problem);
    return found === null ? null : { value: found.join(", "), steps: String(at(found, 0)).length ** 2 };
  },
  prompts: [
    (one) =>
      `Among all pairs of positive integers with ${equation(one)}, find the one with the smallest x that exceeds ${one.above}. Give x, y.`,
    (one) =>
      `The hyperbola ${equation(one)} passes through endlessly many points with positive whole coordinates. Which is the first of them to the right of the line x = ${one.above}? State "x, y".`,
    (one) =>
      `Numbers x and y (both positive integers) satisfy ${equation(one)} and x > ${one.above}. Determine the pair for which x is as small as possible, in the order x, y.`,
    (one) =>
      `List the positive integer solutions of the Pell-type equation ${equation(one)} by growing x. Skip all with x ≤ ${one.above}. What is the next one? Answer with x and y, separated by a comma.`,
  ],
  slips({ d, n }, value) {
    const [x = 0n, y = 0n] = value.split(", ").map(BigInt);
    const [t, u] = unitOf(BigInt(d)) ?? [1n, 0n];
    const big = BigInt(d);
    return [
      `${x * t + big * y * u}, ${x * u + y * t}`,
      `${y}, ${x}`,
      `${x}, ${y + BigInt(Math.abs(n))}`,
      `${x + big * y}, ${x + y}`,
    ];
  },
});

function equation({ d, n }: Problem): string {
  return `x^2 - ${d}y^2 = ${n}`;
}

/** The least positive solution of t² - d·u² = 1, by the continued fraction of √d. */
function unitOf(d: bigint): [bigint, bigint] | null {
  const root = BigInt(Math.floor(Math.sqrt(Number(d))));
  let [m, q, a] = [0n, 1n, root];
  let [t0, t1, u0, u1] = [1n, root, 0n, 1n];
  while (t1 * t1 - d * u1 * u1 !== 1n) {
    if (t1 > LARGEST_UNIT) return null;
    m = a * q - m;
    q = (d - m * m) / q;
    a = (root + m) / q;
    [t0, t1, u0, u1] = [t1, a * t1 + t0, u1, a * u1 + u0];
  }
  return [t1, u1];
}

function leastBeyond({ d, n, above }: Problem): [bigint, bigint] | null {
  const unit = unitOf(BigInt(d));
  if (unit === null) return null;
  const [t, u] = unit;
  // Each class has a solution with |y| up to this bound (Nagell).
  const most = Math.ceil(Math.sqrt((Math.abs(n) * (Number(t) + 1)) / (2 * d))) + 1;
  if (most > MOST_BASE) return null;
  let best: [bigint, bigint] | null = null;
  for (let base = 0; base <= most; base++) {
    const square = n + d * base * base;
    const root = Math.round(Math.sqrt(Math.max(0, square)));
    if (root * root !== square) continue;
    for (const sign of [1n, -1n]) {
      // The conjugate or its negative, so that x + y√d is positive and multiples grow.
      let [x, y] = n > 0 ? [BigInt(root), sign * BigInt(base)] : [sign * BigInt(root), BigInt(base)];
      while (x <= BigInt(above) || y <= 0n) [x, y] = [x * t + BigInt(d) * y * u, x * u + y * t];
      if (best === null || x < best[0]) best = [x, y];
    }
  }
  return best;
}
