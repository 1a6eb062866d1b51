/** expected-structure-count: the mean score of a random arrangement whose windows earn points (linearity of expectation). */
import { between, sample } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { plus, type Rational, ratio, textOf, times, ZERO } from "../rational.ts";

interface Term {
  /** Neighbours that are all equal, all different, or that read as this word. */
  kind: "equal" | "different" | "word";
  length: number;
  /** Letters as indices; only of `word`. */
  word: number[];
  points: number;
}

interface Problem {
  counts: number[];
  isCircle: boolean;
  terms: Term[];
}

const LETTERS = "ABCDE";
/** By level: letters, least and most items, longest window, terms. */
const SIZES = [
  [2, 4, 6, 2, 1],
  [3, 7, 10, 2, 2],
  [3, 9, 14, 3, 2],
  [4, 12, 18, 3, 3],
  [5, 16, 24, 4, 3],
] as const;

export const expectedStructureCount = exactRow<Problem>({
  id: "expected-structure-count",
  asks: "the mean score of a random arrangement whose neighbours earn points",
  kind: "fraction",
  draw(rng, level) {
    const [letters, least, most, window, count] = at(SIZES, level - 1);
    const counts = range(letters).map(() => 1);
    for (let left = between(rng, least, most) - letters; left > 0; left--) {
      const letter = rng.integer(letters);
      counts[letter] = at(counts, letter) + 1;
    }
    const kinds = sample(["equal", "different", "word"] as const, count, rng);
    const terms = kinds.map((kind): Term => {
      const length = between(rng, Math.max(2, window - 1), window);
      return {
        kind,
        length,
        word: kind === "word" ? range(length).map(() => rng.integer(letters)) : [],
        points: between(rng, level === 1 ? 1 : 2, 2 * level + 1),
      };
    });
    return { counts, isCircle: rng.integer(2) === 0, terms };
  },
  solve(problem) {
    const values = problem.terms.map((term) => meanOf(problem, term));
    const value = values.reduce(plus, ZERO);
    if (values.some(({ n }) => n === 0n) || value.d === 1n) return null;
    const steps = problem.terms.reduce((sum, { length }) => sum + problem.counts.length ** length, 0);
    return { value: textOf(value), steps: steps * size(problem) };
  },
  prompts: [
    (one) =>
      `The ${size(one)} letters ${wordOf(one)} are put in random order ${shape(one)}, all orders being equally likely. ${points(one)} What is the expected number of points? Give an exact fraction.`,
    (one) =>
      `Cards with ${wordOf(one)} (one letter on each) are shuffled well and laid out ${shape(one)}. ${points(one)} Compute the mean total as a fraction.`,
    (one) =>
      `Find E[S] exactly, where S is the score of a uniformly random arrangement of the multiset ${wordOf(one)} ${shape(one)}. ${points(one)}`,
    (one) =>
      `Children draw their places ${shape(one)} by lot; their shirts show ${wordOf(one)}. ${points(one)} All such windows count, overlapping ones too. How many points does a draw bring on average? Answer with a fraction.`,
  ],
  slips(problem) {
    const { counts, terms, isCircle } = problem;
    const all = size(problem);
    const independent = terms.reduce((sum, term) => {
      const words = wordsOf(term, counts.length);
      const chance = words.reduce(
        (part, word) =>
          plus(
            part,
            word.reduce((product, letter) => times(product, ratio(at(counts, letter), all)), ratio(1)),
          ),
        ZERO,
      );
      return plus(sum, times(chance, ratio(term.points * (isCircle ? all : all - term.length + 1))));
    }, ZERO);
    const turned = terms.map((term) => meanOf({ ...problem, isCircle: !isCircle }, term)).reduce(plus, ZERO);
    const unweighted = terms.map((term) => meanOf(problem, { ...term, points: 1 })).reduce(plus, ZERO);
    return [independent, turned, unweighted].map(textOf);
  },
});

/** Number of windows, times the chance of one, times its points. */
function meanOf(problem: Problem, term: Term): Rational {
  const { counts, isCircle } = problem;
  const all = size(problem);
  let chance = ZERO;
  for (const word of wordsOf(term, counts.length)) {
    const left = [...counts];
    let product = ratio(1);
    for (const [index, letter] of word.entries()) {
      product = times(product, ratio(at(left, letter), all - index));
      left[letter] = at(left, letter) - 1;
    }
    chance = plus(chance, product);
  }
  return times(chance, ratio(term.points * (isCircle ? all : all - term.length + 1)));
}

function wordsOf({ kind, length, word }: Term, letters: number): number[][] {
  if (kind === "word") return [word];
  if (kind === "equal") return range(letters).map((letter) => range(length).map(() => letter));
  let words: number[][] = [[]];
  for (let place = 0; place < length; place++)
    words = words.flatMap((one) =>
      range(letters)
        .filter((letter) => !one.includes(letter))
        .map((letter) => [...one, letter]),
    );
  return words;
}

function size({ counts }: Problem): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

function wordOf({ counts }: Problem): string {
  return counts.map((count, letter) => (LETTERS[letter] ?? "").repeat(count)).join("");
}

function shape({ isCircle }: Problem): string {
  return isCircle ? "around a circle" : "in a row from left to right";
}

function points({ terms, isCircle }: Problem): string {
  const sense = isCircle ? "clockwise" : "from left to right";
  return terms
    .map(({ kind, length, word, points: earned }) => {
      const places = `Every ${length} consecutive places`;
      const unit = earned === 1 ? "point" : "points";
      if (kind === "word")
        return `${places} that read ${word.map((letter) => LETTERS[letter] ?? "").join("")} ${sense} earn ${earned} ${unit}.`;
      return `${places} with ${kind === "equal" ? "equal" : "pairwise different"} letters earn ${earned} ${unit}.`;
    })
    .join(" ");
}
