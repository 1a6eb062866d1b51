/** branch-predictor: the predictions of two-bit counters, chosen by address and history, for a trace of branches. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

export interface PredictorProblem {
  /** Bits of the table's index, and bits of history that are mixed in. */
  indexBits: number;
  historyBits: number;
  start: number;
  branches: { address: number; taken: boolean }[];
}

/** By level: index bits, history bits, branches. */
const SIZES = [
  [1, 0, 6],
  [2, 0, 9],
  [2, 1, 12],
  [2, 2, 17],
  [3, 3, 25],
] as const;

export const branchPredictor = itemRow<PredictorProblem>({
  id: "branch-predictor",
  asks: "which branches a predictor with two-bit counters and a history gets right, and its final counters",
  form: "list",
  tries: 40,
  make,
  prompts: [
    (one) =>
      `${rules(one)}\n\nBranches (address: T taken, N not taken): ${trace(one)}\n\nFor each branch write R if it was predicted right and W if not; then the final counters from index 0 on. All separated by commas.`,
    (one) =>
      `Simulate a branch predictor. ${rules(one)}\n\nTrace: ${trace(one)}\n\nAnswer with one comma-separated list: R or W (right, wrong) for every branch in order, followed by the values of all ${2 ** one.indexBits} counters.`,
    (one) =>
      `${trace(one)}\n\nThese branches (T: taken, N: not) meet a predictor: ${rules(one)} Which predictions are right (R) and wrong (W), and what do the counters hold at the end? List the letters and then the counters, with commas.`,
    (one) =>
      `Predictor: ${rules(one)}\n\nInput: ${trace(one)}\n\nOutput: a list of R/W per branch, then the ${2 ** one.indexBits} counters by index; commas between all entries.`,
  ],
});

function rules({ indexBits, historyBits, start }: PredictorProblem): string {
  const size = 2 ** indexBits;
  const history =
    historyBits === 0
      ? ""
      : ` The history holds the outcomes of the last ${historyBits} branches as bits (1 taken, the latest in the lowest place; 0 at first).`;
  const index = historyBits === 0 ? `address mod ${size}` : `(address mod ${size}) XOR history`;
  return `There are ${size} counters from 0 to 3, all ${start} at first. A branch uses the counter with the index ${index} and is predicted taken if it is 2 or 3. Afterwards that counter goes up by one if the branch was taken (at most to 3), and down by one otherwise (at least to 0).${history}`;
}

function trace({ branches }: PredictorProblem): string {
  return branches.map(({ address, taken }) => `${address}: ${taken ? "T" : "N"}`).join(", ");
}

function make(rng: Rng, level: Level) {
  const [indexBits, historyBits, count] = at(SIZES, level - 1);
  const addresses = range(2 + Math.ceil(level / 2)).map(() => between(rng, 10, 99));
  const habits = addresses.map(() => rng.integer(4));
  const branches = range(count).map((step) => {
    const index = rng.integer(addresses.length);
    const habit = at(habits, index);
    const taken = habit === 0 ? step % 2 === 0 : rng.integer(4) < habit;
    return { address: at(addresses, index), taken };
  });
  const problem = { indexBits, historyBits, start: rng.integer(4), branches };
  const items = predictions(problem);
  const right = items.filter((item) => item === "R").length;
  if (right < count * 0.25 || right > count * 0.8) return null;
  const misses = [
    predictions({ ...problem, historyBits: historyBits === 0 ? 1 : 0 }),
    predictions({ ...problem, start: (problem.start + 2) % 4 }),
    predictions({ ...problem, indexBits: indexBits + 1 }).slice(0, items.length),
  ];
  return { problem, items, misses, effort: count * (1 + historyBits) + 2 ** indexBits };
}

function predictions({ indexBits, historyBits, start, branches }: PredictorProblem): string[] {
  const counters = range(2 ** indexBits).map(() => start);
  let history = 0;
  const letters = branches.map(({ address, taken }) => {
    const index = ((address % 2 ** indexBits) ^ history) % 2 ** indexBits;
    const counter = at(counters, index);
    counters[index] = taken ? Math.min(3, counter + 1) : Math.max(0, counter - 1);
    history = (2 * history + Number(taken)) % 2 ** historyBits;
    return counter >= 2 === taken ? "R" : "W";
  });
  return [...letters, ...counters.map(String)];
}
