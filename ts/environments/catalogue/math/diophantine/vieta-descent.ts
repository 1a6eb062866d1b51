/** vieta-descent: the root of a tree of solutions of x² + y² + z² = k·xyz + c, found by jumps between the two roots of a quadratic. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";

interface Problem {
  k: number;
  constant: string;
  /** A solution, as decimal digits. */
  triple: string[];
}

/** By level: largest number of the root, jumps. */
const SIZES = [
  [4, 2],
  [5, 3],
  [6, 4],
  [8, 5],
  [9, 7],
] as const;

export const vietaDescent = exactRow<Problem>({
  id: "vieta-descent",
  asks: "the smallest solution from which jumps between roots of a quadratic lead to a given one",
  kind: "tuple",
  draw(rng, level) {
    const [most, jumps] = at(SIZES, level - 1);
    const k = between(rng, 1, 4);
    let triple = range(3).map(() => BigInt(between(rng, 1, most)));
    const [x, y, z] = [at(triple, 0), at(triple, 1), at(triple, 2)];
    const constant = x * x + y * y + z * z - BigInt(k) * x * y * z;
    for (const _ of range(jumps)) {
      // Not the largest, so that the numbers grow.
      const place = at(placesBySize(triple), rng.integer(2));
      triple = triple.with(place, partner(triple, place, k));
    }
    return { k, constant: String(constant), triple: triple.map(String) };
  },
  solve({ k, triple }) {
    const { root, jumps } = descend(triple.map(BigInt), k);
    const size = triple.join("").length;
    return jumps < 2 ? null : { value: root.join(", "), steps: jumps * size };
  },
  prompts: [
    (one) =>
      `The triple (${one.triple.join(", ")}) solves ${equation(one)}. With two of the numbers fixed, the equation is quadratic in the third, so this one has a partner. Again and again replace the largest number by its partner, as long as the partner is smaller and not negative. Which triple remains? Write its numbers in ascending order.`,
    (one) =>
      `Descend by Vieta jumping on ${equation(one)} from x, y, z = ${one.triple.join(", ")}: exchange the largest value for the other root of the quadratic in it, and stop when that root is negative or not smaller. Give the last triple, smallest number first.`,
    (one) =>
      `Solutions of ${equation(one)} form trees. Walk from (${one.triple.join(", ")}) to the root of its tree. A step replaces the largest of the three numbers by the second solution of the equation for this number; it is taken only if the new number is at least 0 and below the old one. State the numbers of the root from small to large.`,
    (one) =>
      `Start: ${one.triple.join(", ")}. Rule: the largest number is swapped for the one other value that keeps ${equation(one)} true. Continue while this makes it smaller without making it negative. End: which three numbers (ascending)?`,
  ],
  slips({ k, triple }, value) {
    const root = value.split(", ").map(BigInt);
    const before = descend(triple.map(BigInt), k, 1).root;
    return [before.join(", "), root.toReversed().join(", "), root.with(2, at(root, 2) + 1n).join(", ")];
  },
});

function equation({ k, constant }: Problem): string {
  const sign = constant.startsWith("-") ? "-" : "+";
  const rest = constant === "0" ? "" : ` ${sign} ${constant.replace("-", "")}`;
  return `x^2 + y^2 + z^2 = ${k === 1 ? "" : k}xyz${rest}`;
}

function placesBySize(triple: readonly bigint[]): number[] {
  return range(3).toSorted((a, b) => (at(triple, a) < at(triple, b) ? -1 : 1));
}

/** The sum of both roots is k times the product of the other two. */
function partner(triple: readonly bigint[], place: number, k: number): bigint {
  const others = triple.filter((_, index) => index !== place).reduce((product, value) => product * value, 1n);
  return BigInt(k) * others - at(triple, place);
}

/** At most all but `spared` of the possible jumps. */
function descend(start: readonly bigint[], k: number, spared = 0): { root: bigint[]; jumps: number } {
  const path = [[...start]];
  for (;;) {
    const triple = at(path, path.length - 1);
    const place = at(placesBySize(triple), 2);
    const smaller = partner(triple, place, k);
    if (smaller < 0n || smaller >= at(triple, place)) break;
    path.push(triple.with(place, smaller));
  }
  const root = at(path, Math.max(0, path.length - 1 - spared));
  return { root: root.toSorted((a, b) => (a < b ? -1 : 1)), jumps: path.length - 1 };
}
