/** infeasibility-multipliers: multipliers that turn contradictory inequalities into one that is false (Farkas). */
import { between, shuffled } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { certificateRow } from "../certificate-row.ts";
import { rationalsIn } from "../certificate-text.ts";
import { compare, ratio, times, total, ZERO } from "../rational.ts";

interface Problem {
  /** Each row is an inequality a·x ≤ b, with b at the end. */
  rows: number[][];
}

/** By level: unknowns, inequalities that contradict each other, others, largest multiplier. */
const SIZES = [
  [1, 2, 1, 4],
  [2, 3, 2, 3],
  [3, 4, 3, 4],
  [4, 5, 4, 5],
  [5, 6, 6, 6],
] as const;
/** A certificate with a longer line is refused. */
const MOST_LENGTH = 400;

export const infeasibilityMultipliers = certificateRow<Problem>({
  id: "infeasibility-multipliers",
  asks: "multipliers that combine contradictory inequalities into a false one",
  draw(rng, level) {
    const [unknowns, count, others, most] = at(SIZES, level - 1);
    const drawn = (): number[] => [...range(unknowns).map(() => between(rng, -5, 5)), between(rng, -9, 15)];
    const chosen = range(count - 1).map(drawn);
    const multipliers = chosen.map(() => between(rng, 1, most));
    const sums = range(unknowns + 1).map((column) =>
      chosen.reduce((sum, row, index) => sum + at(multipliers, index) * at(row, column), 0),
    );
    const last = sums.map((sum, column) => -sum - (column === unknowns ? between(rng, 1, 3) : 0));
    const parts = [...chosen, last].map((row, index) => ({ row, multiplier: multipliers[index] ?? 1 }));
    const all = shuffled([...parts, ...range(others).map(() => ({ row: drawn(), multiplier: 0 }))], rng);
    if (all.some(({ row }) => row.slice(0, -1).every((entry) => entry === 0))) return null;
    const certificate = all.map(({ multiplier }) => multiplier).join(", ");
    return { problem: { rows: all.map(({ row }) => row) }, certificate, steps: all.length * unknowns ** 2 * most };
  },
  proves({ rows }, answer) {
    if (answer.length > MOST_LENGTH) return false;
    const multipliers = rationalsIn(answer);
    if (multipliers?.length !== rows.length || multipliers.some((value) => compare(value, ZERO) < 0)) return false;
    const sums = range(at(rows, 0).length).map((column) =>
      total(rows.map((row, index) => times(ratio(at(row, column)), at(multipliers, index)))),
    );
    return sums.every((sum, column) => (column === sums.length - 1 ? compare(sum, ZERO) < 0 : sum.n === 0n));
  },
  prompts: [
    (one) =>
      `No real numbers satisfy all of\n${rowsText(one)}\nShow it: multiply the inequalities by non-negative numbers so that their sum reads 0 ≤ (a negative number). ${FORMAT}`,
    (one) =>
      `The following system has no solution.\n${rowsText(one)}\nFind a Farkas certificate, that is, one multiplier ≥ 0 for each line such that all unknowns cancel in the combination and the right-hand side becomes negative. ${FORMAT}`,
    (one) =>
      `${FORMAT} With these weights (none negative) the left sides of\n${rowsText(one)}\nadd up to zero for all values of the unknowns, but the right sides add up to less than zero.`,
    (one) =>
      `Somebody claims to know numbers with\n${rowsText(one)}\nRefute the claim by a weighted sum of the lines, with weights from 0 up, that is absurd in itself (zero at most something below zero). ${FORMAT}`,
  ],
  slips({ rows }, certificate) {
    const list = certificate.split(", ").map(Number);
    return [
      list.map((value) => Number(value > 0)).join(", "),
      rows.map(() => 1).join(", "),
      rows.map(() => 0).join(", "),
      list.map((value) => -value).join(", "),
      list.filter((value) => value > 0).join(", "),
      list.toReversed().join(", "),
    ];
  },
  variants: (_, certificate) => [
    certificate
      .split(", ")
      .map((value) => `${value}/2`)
      .join(", "),
  ],
});

const FORMAT = "Answer with the multipliers of the lines from top to bottom, separated by commas; 0 is allowed.";

function rowsText({ rows }: Problem): string {
  const names = ["x", "y", "z", "u", "v"];
  return rows
    .map((row) => {
      const terms = row.slice(0, -1).flatMap((factor, index) => {
        if (factor === 0) return [];
        return [`${factor < 0 ? "-" : "+"} ${Math.abs(factor) === 1 ? "" : Math.abs(factor)}${at(names, index)}`];
      });
      return `${terms.join(" ").replace(/^\+ /u, "").replace(/^- /u, "-")} ≤ ${at(row, row.length - 1)}`;
    })
    .join("\n");
}
