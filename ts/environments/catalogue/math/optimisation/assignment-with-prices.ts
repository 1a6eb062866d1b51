/** assignment-with-prices: a cheapest assignment with row and column prices that prove it. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { certificateRow } from "../certificate-row.ts";
import { integersIn, namedLines } from "../certificate-text.ts";
import { matrixText } from "../linear-algebra/matrices.ts";

interface Problem {
  costs: number[][];
}

/** By level: size, largest cost. */
const SIZES = [
  [3, 20],
  [4, 30],
  [5, 50],
  [6, 70],
  [8, 99],
] as const;

export const assignmentWithPrices = certificateRow<Problem>({
  id: "assignment-with-prices",
  asks: "a cheapest assignment, and prices of rows and columns that prove it",
  draw(rng, level) {
    const [size, most] = at(SIZES, level - 1);
    const costs = range(size).map(() => range(size).map(() => between(rng, 2, most)));
    const { columns, u, v } = assignmentOf(costs);
    const isGreedy = costs.every((row, index) => at(row, at(columns, index)) === Math.min(...row));
    if (isGreedy) return null;
    const certificate = `columns: ${columns.map((column) => column + 1).join(", ")}\nu: ${u.join(", ")}\nv: ${v.join(", ")}`;
    return { problem: { costs }, certificate, steps: size ** 3 };
  },
  proves({ costs }, answer) {
    const [columns, u, v] = (namedLines(answer, ["columns", "u", "v"]) ?? []).map(integersIn);
    const size = costs.length;
    if (columns?.length !== size || u?.length !== size || v?.length !== size) return false;
    if (new Set(columns).size < size || columns.some((column) => column < 1 || column > size)) return false;
    const isBelow = costs.every((row, r) => row.every((cost, c) => at(u, r) + at(v, c) <= cost));
    const cost = costs.reduce((sum, row, index) => sum + at(row, at(columns, index) - 1), 0);
    return isBelow && [...u, ...v].reduce((sum, price) => sum + price, 0) === cost;
  },
  prompts: [
    (one) =>
      `Row i of this table holds the costs of worker i for the jobs 1, 2, ...:\n${matrixText(one.costs)}\nGive every worker another job at the least total cost. Prove it by integers u_i for the workers and v_j for the jobs with u_i + v_j ≤ cost(i, j) everywhere and a total equal to that cost. ${FORMAT}`,
    (one) =>
      `Solve the assignment problem with the cost matrix\n${matrixText(one.costs)}\n(one entry from each row and each column, smallest sum), and give an optimal integer dual solution u (rows), v (columns): no u_i + v_j exceeds its entry, and all u and v add up to the minimum. ${FORMAT}`,
    (one) =>
      `${FORMAT} "columns" is the selection of one cell per row, in different columns, with the lowest sum in\n${matrixText(one.costs)}\nwhile u and v are whole numbers for rows and columns, of any sign, whose pairwise sums stay at or below the cells and whose grand total is that lowest sum.`,
    (one) =>
      `Taxis (rows) drive to customers (columns); minutes:\n${matrixText(one.costs)}\nEach taxi gets one customer, and the sum of minutes shall be minimal. Add a certificate: tolls u for taxis and v for customers, integers, never above the minutes of a pair when added, and in total equal to the minimal sum. ${FORMAT}`,
  ],
  slips({ costs }, certificate) {
    const [columns = "", u = "", v = ""] = certificate.split("\n");
    const greedy = costs.map((row) => row.indexOf(Math.min(...row)) + 1);
    return [
      `columns: ${greedy.join(", ")}\n${u}\n${v}`,
      `${columns}\nu: ${costs.map((row) => Math.min(...row)).join(", ")}\nv: ${costs.map(() => 0).join(", ")}`,
      `${u}\n${v}`,
      `columns: ${costs.map(() => 1).join(", ")}\n${u}\n${v}`,
    ];
  },
  variants: (_, certificate) => [certificate.split("\n").toReversed().join("\n")],
});

const FORMAT =
  'Write three lines: "columns: ..." (the column of row 1, of row 2, ...), "u: ..." and "v: ...", lists with commas.';

/** The Hungarian method: rows enter one after the other along shortest alternating paths. */
function assignmentOf(costs: readonly number[][]): { columns: number[]; u: number[]; v: number[] } {
  const size = costs.length;
  const [u, v] = [range(size + 1).map(() => 0), range(size + 1).map(() => 0)];
  // Place 0 is a column that stands for the row that enters.
  const owner = range(size + 1).map(() => 0);
  for (const row of range(size)) {
    owner[0] = row + 1;
    const before = range(size + 1).map(() => 0);
    const slack = range(size + 1).map(() => Number.POSITIVE_INFINITY);
    const used = range(size + 1).map(() => false);
    let column = 0;
    while (at(owner, column) !== 0) {
      used[column] = true;
      const current = at(owner, column);
      for (const next of range(size + 1).slice(1)) {
        if (at(used, next)) continue;
        const rest = at(at(costs, current - 1), next - 1) - at(u, current) - at(v, next);
        if (rest < at(slack, next)) [slack[next], before[next]] = [rest, column];
      }
      const free = range(size + 1).filter((index) => !at(used, index));
      const nearest = free.reduce((a, b) => (at(slack, b) < at(slack, a) ? b : a));
      const delta = at(slack, nearest);
      for (const index of range(size + 1)) {
        if (at(used, index)) {
          u[at(owner, index)] = at(u, at(owner, index)) + delta;
          v[index] = at(v, index) - delta;
        } else slack[index] = at(slack, index) - delta;
      }
      column = nearest;
    }
    while (column !== 0) {
      owner[column] = at(owner, at(before, column));
      column = at(before, column);
    }
  }
  return {
    columns: range(size).map((row) => owner.indexOf(row + 1, 1) - 1),
    u: u.slice(1),
    v: v.slice(1).map((price) => price + 0),
  };
}
