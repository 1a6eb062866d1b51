/** linear-program-with-dual: the best point of a linear program with prices that prove it; both are put into the inequalities. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { certificateRow } from "../certificate-row.ts";
import { namedLines, rationalsIn } from "../certificate-text.ts";
import { matrixText } from "../linear-algebra/matrices.ts";
import { compare, minus, over, type Rational, ratio, textOf, times, total, ZERO } from "../rational.ts";

interface Problem {
  /** Ax ≤ b, x ≥ 0. */
  a: number[][];
  b: number[];
  /** What is made as large as possible. */
  gain: number[];
}

/** By level: unknowns, inequalities, largest coefficient. */
const SIZES = [
  [2, 2, 6],
  [2, 4, 9],
  [3, 4, 9],
  [4, 5, 9],
  [5, 6, 9],
] as const;
/** A certificate with longer lines is refused. */
const MOST_LENGTH = 600;

export const linearProgramWithDual = certificateRow<Problem>({
  id: "linear-program-with-dual",
  asks: "the best point of a linear program, and prices that prove that it is the best",
  draw(rng, level) {
    const [unknowns, rows, most] = at(SIZES, level - 1);
    const a = range(rows).map(() => range(unknowns).map(() => between(rng, level > 2 ? -1 : 0, most)));
    const b = range(rows).map(() => between(rng, 2 * most, 6 * most));
    const problem = { a, b, gain: range(unknowns).map(() => between(rng, 1, most)) };
    const solved = optimum(problem);
    if (solved === null || solved.x.filter(({ n }) => n !== 0n).length < Math.min(2, unknowns)) return null;
    const text = (list: readonly Rational[]): string => list.map(textOf).join(", ");
    return { problem, certificate: `x: ${text(solved.x)}\ny: ${text(solved.y)}`, steps: (rows * unknowns) ** 2 };
  },
  proves({ a, b, gain }, answer) {
    if (answer.length > MOST_LENGTH) return false;
    const [x, y] = (namedLines(answer, ["x", "y"]) ?? []).map(rationalsIn);
    if (x?.length !== gain.length || y?.length !== b.length) return false;
    if ([...x, ...y].some((value) => compare(value, ZERO) < 0)) return false;
    const isFeasible = a.every((row, index) => compare(dot(row, x), ratio(at(b, index))) <= 0);
    const columns = gain.map((_, column) => a.map((row) => at(row, column)));
    const isBound = columns.every((column, index) => compare(dot(column, y), ratio(at(gain, index))) >= 0);
    return isFeasible && isBound && compare(dot(gain, x), dot(b, y)) === 0;
  },
  prompts: [
    (one) =>
      `Maximise ${sumText(one.gain, "x")} over x ≥ 0 subject to\n${rowsText(one)}\nProve that your point is optimal by a solution y ≥ 0 of the dual program (one y for each inequality, in their order) with the same value. ${FORMAT}`,
    (one) =>
      `A workshop makes ${one.gain.length} products in any non-negative amounts x1, x2, ...; the profit is ${sumText(one.gain, "x")}. Resources limit it:\n${rowsText(one)}\nFind the most profitable plan x, and shadow prices y of the resources that show that no plan is better. ${FORMAT}`,
    (one) =>
      `${FORMAT} Here x is an optimal solution of the linear program max ${sumText(one.gain, "x")}, x ≥ 0,\n${rowsText(one)}\nand y lists non-negative multipliers of the inequalities whose combination bounds the objective by the value that x reaches.`,
    (one) =>
      `Let A =\n${matrixText(one.a)}\nb = (${one.b.join(", ")}), c = (${one.gain.join(", ")}). Among all x ≥ 0 with Ax ≤ b, which one has the largest c·x? State it together with y ≥ 0 such that y·A ≥ c holds in every coordinate and b·y = c·x. ${FORMAT}`,
  ],
  slips({ gain, b }, certificate) {
    const [x = "", y = ""] = certificate.split("\n").map((line) => line.slice(3));
    return [
      `x: ${y}\ny: ${x}`,
      `x: ${x}\ny: ${b.map(() => 1).join(", ")}`,
      `x: ${gain.map(() => 0).join(", ")}\ny: ${b.map(() => 0).join(", ")}`,
      `x: ${x}`,
    ];
  },
  variants: (_, certificate) => [certificate.split("\n").toReversed().join("\n")],
});

const FORMAT =
  'Write two lines, "x: ..." and "y: ...", each a list of exact numbers (fractions where needed) with commas.';

function dot(factors: readonly number[], values: readonly Rational[]): Rational {
  return total(factors.map((factor, index) => times(ratio(factor), at(values, index))));
}

function sumText(factors: readonly number[], letter: string): string {
  const terms = factors.flatMap((factor, index) => {
    if (factor === 0) return [];
    return [`${factor < 0 ? "-" : "+"} ${Math.abs(factor) === 1 ? "" : Math.abs(factor)}${letter}${index + 1}`];
  });
  return terms.length === 0 ? "0" : terms.join(" ").replace(/^\+ /u, "").replace(/^- /u, "-");
}

function rowsText({ a, b }: Problem): string {
  return a.map((row, index) => `${sumText(row, "x")} ≤ ${at(b, index)}`).join("\n");
}

/** The simplex method with Bland's rule; the prices stand under the slack variables at the end. Null for an unbounded program. */
function optimum({ a, b, gain }: Problem): { x: Rational[]; y: Rational[] } | null {
  const [rows, unknowns] = [a.length, gain.length];
  const width = unknowns + rows;
  let table = a.map((row, r) => [
    ...row.map((entry) => ratio(entry)),
    ...range(rows).map((slack) => ratio(Number(slack === r))),
    ratio(at(b, r)),
  ]);
  let goal = [...gain.map((entry) => ratio(-entry)), ...range(rows + 1).map(() => ZERO)];
  const basis = range(rows).map((row) => unknowns + row);
  for (;;) {
    const column = range(width).find((index) => compare(at(goal, index), ZERO) < 0);
    if (column === undefined) break;
    let best = -1;
    for (const row of range(rows)) {
      const entry = at(at(table, row), column);
      if (compare(entry, ZERO) <= 0) continue;
      const quotient = (index: number): Rational => over(at(at(table, index), width), at(at(table, index), column));
      const order = best < 0 ? -1 : compare(quotient(row), quotient(best));
      if (order < 0 || (order === 0 && at(basis, row) < at(basis, best))) best = row;
    }
    if (best < 0) return null;
    const top = at(table, best);
    const pivot = top.map((entry) => over(entry, at(top, column)));
    const cleared = (row: Rational[]): Rational[] =>
      row.map((entry, index) => minus(entry, times(at(row, column), at(pivot, index))));
    table = table.map((row, index) => (index === best ? pivot : cleared(row)));
    goal = cleared(goal);
    basis[best] = column;
  }
  const x = range(unknowns).map((index) => {
    const row = basis.indexOf(index);
    return row < 0 ? ZERO : at(at(table, row), width);
  });
  return { x, y: range(rows).map((row) => at(goal, unknowns + row)) };
}
