/** span-membership: which vectors of a list lie in the span of given ones. */
import { between, shuffled } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { ratio, reduced } from "../rational.ts";
import { drawMatrix, matrixText } from "./matrices.ts";

interface Problem {
  spanning: number[][];
  candidates: number[][];
}

/** By level: dimension of the space, spanning vectors, candidates, largest entry. */
const SIZES = [
  [3, 2, 6, 2],
  [4, 2, 7, 3],
  [4, 3, 8, 3],
  [5, 3, 9, 4],
  [6, 4, 11, 4],
] as const;

/** Number of the first candidate: larger than most entries, so that lists of numbers do not stand among the entries. */
const FIRST = 11;

export const spanMembership = exactRow<Problem>({
  id: "span-membership",
  asks: "which vectors of a list lie in the span of given ones",
  kind: "set",
  draw(rng, level) {
    const [dimension, count, candidates, most] = at(SIZES, level - 1);
    const spanning = drawMatrix(rng, count, dimension, most);
    const inside = between(rng, 2, candidates - 2);
    const made = range(candidates).map((index) => {
      const factors = spanning.map(() => between(rng, -3, 3));
      const vector = range(dimension).map((place) =>
        factors.reduce((sum, factor, one) => sum + factor * at(at(spanning, one), place), 0),
      );
      const wrong = rng.integer(dimension);
      return index < inside ? vector : vector.with(wrong, at(vector, wrong) + rng.pick([-2, -1, 1, 2]));
    });
    return { spanning, candidates: shuffled(made, rng) };
  },
  solve({ spanning, candidates }) {
    if (rankOf(spanning) < spanning.length || candidates.some((one) => one.every((entry) => entry === 0))) return null;
    const members = candidates.flatMap((one, index) =>
      rankOf([...spanning, one]) === spanning.length ? [index + FIRST] : [],
    );
    if (members.length < 2 || members.length > candidates.length - 2) return null;
    return { value: members.join(", "), steps: candidates.length * spanning.length ** 2 * at(spanning, 0).length };
  },
  prompts: [
    (one) =>
      `Which of the numbered vectors are linear combinations (with real factors) of the vectors\n${matrixText(one.spanning)}\n?\n${candidatesText(one)}\nGive the set of their numbers, separated by commas.`,
    (one) =>
      `U is the subspace spanned by the rows\n${matrixText(one.spanning)}\nList, with commas, the numbers of all vectors below that belong to U.\n${candidatesText(one)}`,
    (one) =>
      `A code consists of all real linear combinations of\n${matrixText(one.spanning)}\nSome received words were disturbed in one place:\n${candidatesText(one)}\nWhat are the numbers of the words that lie in the code? Separate them by commas.`,
    (one) =>
      `Candidates:\n${candidatesText(one)}\nFor a candidate v the system x_1 a_1 + x_2 a_2 + ... = v may have a solution or not, where a_1, a_2, ... are, in order,\n${matrixText(one.spanning)}\nFor which numbers of candidates is it solvable? Answer with all of them, with commas between.`,
  ],
  slips({ candidates }, value) {
    const members = value.split(", ").map(Number);
    const others = range(candidates.length)
      .map((index) => index + FIRST)
      .filter((number) => !members.includes(number));
    return [
      members.slice(1).join(", "),
      others.join(", "),
      [...members, ...others].join(", "),
      [...members, others[0] ?? 0].join(", "),
    ];
  },
});

function rankOf(rows: readonly (readonly number[])[]): number {
  return reduced(
    rows.map((row) => row.map((entry) => ratio(entry))),
    at(rows, 0).length,
  ).pivots.length;
}

function candidatesText({ candidates }: Problem): string {
  return candidates.map((one, index) => `${index + FIRST}: (${one.join(", ")})`).join("\n");
}
