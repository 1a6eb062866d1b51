/** minimal-polynomial: the monic polynomial of least degree over the rationals with a given sum of radicals as root. */
import { between, sample } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";

interface Problem {
  shift: number;
  /** factor times the root of the radicand. */
  radicals: { factor: number; radicand: number; order: 2 | 3 }[];
}

/** By level: orders of the radicals. */
const ORDERS = [[2], [2, 2], [3, 2], [2, 2, 2], [3, 2, 2]] as const;
const RADICANDS = [2, 3, 5, 7, 11, 13];

export const minimalPolynomial = exactRow<Problem>({
  id: "minimal-polynomial",
  asks: "the monic polynomial of least degree over the rationals with a given sum of radicals as root",
  kind: "tuple",
  draw(rng, level) {
    const orders = at(ORDERS, level - 1);
    const radicands = sample(RADICANDS, orders.length, rng);
    const most = level === 1 ? 9 : 3;
    return {
      shift: between(rng, -most, most),
      radicals: orders.map((order, index) => ({
        order,
        radicand: at(radicands, index),
        factor: between(rng, 1, level === 1 ? 9 : 3) * rng.pick([1, -1]),
      })),
    };
  },
  solve(problem) {
    const value = characteristic(problem);
    return { value: value.join(", "), steps: (value.length - 1) ** 3 };
  },
  prompts: [
    (one) =>
      `Let a = ${numberText(one)}. Find the minimal polynomial of a over the rational numbers. It is monic with integer coefficients; list them from the highest power down to the constant term (zeros included), separated by commas.`,
    (one) =>
      `Among all monic polynomials with rational coefficients that vanish at ${numberText(one)}, which one has the least degree? Give every coefficient, leading 1 first, zeros too, with commas between.`,
    (one) =>
      `Clear the radicals of x = ${numberText(one)} until a polynomial equation with integer coefficients and leading coefficient 1 is left that cannot be factored over Q. Answer with its coefficients in falling order of powers as a comma-separated list.`,
    (one) =>
      `The number ${numberText(one)} is algebraic. State the irreducible monic polynomial over Q of which it is a root, by the list of its coefficients: first 1, last the constant, commas between, none left out.`,
  ],
  slips(problem, value) {
    const list = value.split(", ").map(BigInt);
    const changed = { ...problem, shift: problem.shift + 1 };
    const [first, ...rest] = problem.radicals;
    const other =
      first === undefined ? problem : { ...problem, radicals: [{ ...first, factor: first.factor + 3 }, ...rest] };
    // The last one vanishes at the number too, but its degree is not least.
    const raised = [...list.map((one, index) => one - (list[index - 1] ?? 0n)), -(list.at(-1) ?? 0n)];
    return [characteristic(changed), characteristic(other), raised].map((one) => one.join(", "));
  },
});

/**
 * The characteristic polynomial of multiplication by the number in the field that the radicals span, by Faddeev and LeVerrier. The radicands
 * are different primes, so the number generates the field and the polynomial is irreducible.
 */
function characteristic({ shift, radicals }: Problem): bigint[] {
  const size = radicals.reduce((product, { order }) => product * order, 1);
  const matrix = range(size).map(() => range(size).map(() => 0n));
  for (const index of range(size)) {
    const column = at(matrix, index);
    column[index] = at(column, index) + BigInt(shift);
    let stride = 1;
    for (const { factor, radicand, order } of radicals) {
      const power = Math.floor(index / stride) % order;
      const isLast = power === order - 1;
      const target = isLast ? index - power * stride : index + stride;
      column[target] = at(column, target) + BigInt(factor * (isLast ? radicand : 1));
      stride *= order;
    }
  }
  const coefficients = [1n];
  let carried: bigint[][] = range(size).map((row) => range(size).map((column) => (row === column ? 1n : 0n)));
  for (let step = 1; step <= size; step++) {
    const product = matrix.map((row) =>
      range(size).map((column) => row.reduce((sum, entry, index) => sum + entry * at(at(carried, index), column), 0n)),
    );
    const trace = product.reduce((sum, row, index) => sum + at(row, index), 0n);
    const next = -trace / BigInt(step);
    coefficients.push(next);
    carried = product.map((row, index) => row.map((entry, column) => (index === column ? entry + next : entry)));
  }
  return coefficients;
}

function numberText({ shift, radicals }: Problem): string {
  const terms = radicals.map(({ factor, radicand, order }) => {
    const size = Math.abs(factor) === 1 ? "" : `${Math.abs(factor)}·`;
    return `${factor < 0 ? "-" : "+"} ${size}${order === 2 ? "√" : "∛"}${radicand}`;
  });
  const text = [...(shift === 0 ? [] : [`${shift < 0 ? "-" : "+"} ${Math.abs(shift)}`]), ...terms].join(" ");
  return text.replace(/^\+ /u, "").replace(/^- /u, "-");
}
