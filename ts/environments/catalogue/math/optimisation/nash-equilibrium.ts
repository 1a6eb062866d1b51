/** nash-equilibrium: mixed strategies of two players with different aims, from which neither gains by a change. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { certificateRow } from "../certificate-row.ts";
import { namedLines, rationalsIn } from "../certificate-text.ts";
import { matrixText } from "../linear-algebra/matrices.ts";
import { compare, ONE, type Rational, ratio, solveLinear, textOf, times, total, ZERO } from "../rational.ts";

interface Problem {
  /** Gains of the player of the rows, and of the one of the columns. */
  first: number[][];
  second: number[][];
}

/** By level: rows, columns, largest gain. */
const SIZES = [
  [2, 2, 9],
  [2, 3, 9],
  [3, 3, 9],
  [3, 4, 12],
  [4, 4, 15],
] as const;
/** Longer answers are refused. */
const MOST_LENGTH = 400;

export const nashEquilibrium = certificateRow<Problem>({
  id: "nash-equilibrium",
  asks: "mixed strategies of two players from which neither gains by a change",
  draw(rng, level) {
    const [rows, columns, most] = at(SIZES, level - 1);
    const drawn = (): number[][] => range(rows).map(() => range(columns).map(() => between(rng, 0, most)));
    const problem = { first: drawn(), second: drawn() };
    const found = hasPureEquilibrium(problem) ? null : equilibriumOf(problem);
    if (found === null) return null;
    const [p, q] = found.map((list) => list.map(textOf).join(", "));
    return { problem, certificate: `p: ${p}\nq: ${q}`, steps: 2 ** (rows + columns) * (rows + columns) };
  },
  proves(problem, answer) {
    if (answer.length > MOST_LENGTH) return false;
    const [p, q] = (namedLines(answer, ["p", "q"]) ?? []).map(rationalsIn);
    if (p === undefined || q === undefined || p === null || q === null) return false;
    if (p.length !== problem.first.length || q.length !== at(problem.first, 0).length) return false;
    return [p, q].every(isDistribution) && isStable(problem, p, q);
  },
  prompts: [
    (one) =>
      `Two players choose at the same time: one a row, the other a column. The row player gets the entry of A, the column player that of B.\nA =\n${matrixText(one.first)}\nB =\n${matrixText(one.second)}\nFind an equilibrium in mixed strategies. ${FORMAT}`,
    (one) =>
      `Compute a Nash equilibrium of the bimatrix game with the payoffs\n${matrixText(one.first)}\nfor player 1 (rows) and\n${matrixText(one.second)}\nfor player 2 (columns). There is none in pure strategies. ${FORMAT}`,
    (one) =>
      `${FORMAT} Neither side can raise its expected payoff by deviating alone. Payoffs of the side that picks rows:\n${matrixText(one.first)}\nof the side that picks columns:\n${matrixText(one.second)}`,
    (one) =>
      `A smuggler picks a route (row), a patrol picks a post (column). Value to the smuggler:\n${matrixText(one.first)}\nValue to the patrol:\n${matrixText(one.second)}\nBoth randomise. Give probabilities p for the rows and q for the columns that are best replies to each other. ${FORMAT}`,
  ],
  slips({ first, second }, certificate) {
    const [p = "", q = ""] = certificate.split("\n").map((line) => line.slice(3));
    const uniform = (count: number): string =>
      range(count)
        .map(() => `1/${count}`)
        .join(", ");
    const pure = (count: number): string =>
      range(count)
        .map((index) => Number(index === 0))
        .join(", ");
    return [
      `p: ${uniform(first.length)}\nq: ${uniform(at(second, 0).length)}`,
      `p: ${pure(first.length)}\nq: ${pure(at(second, 0).length)}`,
      `p: ${p}\nq: ${uniform(at(second, 0).length)}`,
      `p: ${pure(first.length)}\nq: ${q}`,
    ];
  },
  variants: (_, certificate) => [certificate.split("\n").toReversed().join("\n")],
});

const FORMAT =
  'Write two lines: "p: ..." with the probability of every row and "q: ..." with that of every column, exact fractions with commas.';

function isDistribution(list: readonly Rational[]): boolean {
  return list.every((value) => compare(value, ZERO) >= 0) && compare(total(list), ONE) === 0;
}

function dot(factors: readonly number[], values: readonly Rational[]): Rational {
  return total(factors.map((factor, index) => times(ratio(factor), at(values, index))));
}

/** Whatever is played with positive probability is a best reply. */
function isStable({ first, second }: Problem, p: readonly Rational[], q: readonly Rational[]): boolean {
  const rows = first.map((row) => dot(row, q));
  const columns = q.map((_, column) =>
    dot(
      second.map((row) => at(row, column)),
      p,
    ),
  );
  const isBest = (gains: readonly Rational[], shares: readonly Rational[]): boolean =>
    gains.every((gain, index) => at(shares, index).n === 0n || gains.every((other) => compare(other, gain) <= 0));
  return isBest(rows, p) && isBest(columns, q);
}

function hasPureEquilibrium({ first, second }: Problem): boolean {
  return first.some((row, r) =>
    row.some(
      (gain, c) =>
        first.every((other) => at(other, c) <= gain) && at(second, r).every((other) => other <= at(at(second, r), c)),
    ),
  );
}

/** Supports of equal size, one pair after the other. */
function equilibriumOf(problem: Problem): [Rational[], Rational[]] | null {
  const { first, second } = problem;
  const [rows, columns] = [first.length, at(first, 0).length];
  const subsets = (count: number): number[][] =>
    range(2 ** count).map((mask) => range(count).filter((index) => Math.floor(mask / 2 ** index) % 2 === 1));
  for (const support of subsets(rows)) {
    for (const other of subsets(columns)) {
      if (support.length < 2 || support.length !== other.length) continue;
      const q = balanced(support.map((row) => other.map((column) => at(at(first, row), column))));
      const p = balanced(other.map((column) => support.map((row) => at(at(second, row), column))));
      if (p === null || q === null) continue;
      const spread = (list: readonly Rational[], places: readonly number[], count: number): Rational[] =>
        range(count).map((index) => list[places.indexOf(index)] ?? ZERO);
      const found: [Rational[], Rational[]] = [spread(p, support, rows), spread(q, other, columns)];
      if (found.every(isDistribution) && isStable(problem, ...found)) return found;
    }
  }
  return null;
}

/** Shares that give all rows of gains the same mean. */
function balanced(gains: readonly number[][]): Rational[] | null {
  const size = gains.length;
  const system = [
    ...gains.slice(1).map((row) => row.map((gain, column) => ratio(gain - at(at(gains, 0), column)))),
    range(size).map(() => ONE),
  ];
  return solveLinear(
    system,
    range(size).map((index) => (index === size - 1 ? ONE : ZERO)),
  );
}
