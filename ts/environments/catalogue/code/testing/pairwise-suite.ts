/** pairwise-suite: a few configurations that contain every allowed pair of values of any two options. */
import { sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { witnessRow } from "../witness-row.ts";

interface Problem {
  /** Values of each option. */
  options: string[][];
  /** Pairs of values that exclude each other. */
  excluded: [string, string][];
  most: number;
}

/** By level: numbers of values of the options, excluded pairs. */
const SIZES = [
  [[2, 2, 2], 0],
  [[2, 2, 3], 1],
  [[2, 2, 3, 3], 1],
  [[2, 3, 3, 3], 2],
  [[3, 3, 3, 4, 2], 3],
] as const;
const NAMES = [
  ["linux", "mac", "windows", "bsd"],
  ["ext4", "ntfs", "zfs", "fat"],
  ["en", "de", "fr", "ja"],
  ["wifi", "lan", "usb", "lte"],
  ["small", "medium", "large", "huge"],
];
const TRIED = 30;

export const pairwiseSuite = witnessRow<Problem>({
  id: "pairwise-suite",
  asks: "few configurations that contain every allowed pair of option values",
  form: "lines",
  make,
  isRight: (problem, items) => {
    const rows = items.map((item) => item.split(/\s*,\s*|\s+/u));
    if (rows.length > problem.most || !rows.every((row) => isAllowed(problem, row))) return false;
    const covered = new Set(rows.flatMap(pairsOf));
    return wantedPairs(problem).every((pair) => covered.has(pair));
  },
  prompts: [
    (one) =>
      `${text(one)}\n\nGive at most ${one.most} configurations (one value for each option) so that every pair of values of two different options that may occur together occurs in at least one of them, and no configuration holds an excluded pair. One configuration per line, values in the order of the options, separated by spaces.`,
    (one) =>
      `Pairwise testing with a budget of ${one.most} runs.\n${text(one)}\n\nCover all allowed pairs of values of any two options. Each line of the answer is a run: a value of every option, in order, with spaces between. No run may hold an excluded pair.`,
    (one) =>
      `Not all combinations can be tested; ${one.most} must do.\n\n${text(one)}\n\nChoose them so that for any two options every permitted pair of values appears, and none that is excluded. Write the combinations as lines "value value ..." in the order in which the options are listed.`,
    (one) =>
      `Build a covering array of strength 2 with no more than ${one.most} rows for\n\n${text(one)}\n\nRows are lines with one value per option, separated by spaces, in the given order. Rows with an excluded pair are not valid.`,
  ],
});

function text({ options, excluded }: Problem): string {
  const lines = options.map((values, index) => `option ${index + 1}: ${values.join(", ")}`);
  return [...lines, ...excluded.map(([a, b]) => `${a} excludes ${b}`)].join("\n");
}

function isAllowed({ options, excluded }: Problem, row: readonly string[]): boolean {
  return (
    row.length === options.length &&
    row.every((value, index) => options[index]?.includes(value) === true) &&
    !excluded.some((pair) => pair.every((value) => row.includes(value)))
  );
}

function pairsOf(row: readonly string[]): string[] {
  return row.flatMap((value, index) => row.slice(index + 1).map((other) => `${value} ${other}`));
}

function wantedPairs({ options, excluded }: Problem): string[] {
  return options.flatMap((values, index) =>
    options
      .slice(index + 1)
      .flatMap((others) =>
        values.flatMap((value) =>
          others
            .filter((other) => !excluded.some((pair) => pair.includes(value) && pair.includes(other)))
            .map((other) => `${value} ${other}`),
        ),
      ),
  );
}

function make(rng: Rng, level: Level) {
  const [counts, exclusions] = at(SIZES, level - 1);
  const kinds = sample(NAMES, counts.length, rng);
  const options = sample(counts, counts.length, rng).map((count, index) => sample(at(kinds, index), count, rng));
  const excluded = range(exclusions).map((): [string, string] => {
    const [one = [], other = []] = sample(options, 2, rng);
    return [rng.pick(one), rng.pick(other)];
  });
  const base = { options, excluded, most: 0 };
  const pairs = wantedPairs(base);
  const random = (): string[] => options.map((values) => rng.pick(values));
  const rows: string[][] = [];
  const missing = new Set(pairs);
  while (missing.size > 0 && rows.length < 40) {
    const tried = range(TRIED)
      .map(random)
      .filter((row) => isAllowed(base, row));
    const gains = tried.map((row) => pairsOf(row).filter((pair) => missing.has(pair)).length);
    const row = tried[gains.indexOf(Math.max(...gains))];
    if (row === undefined) return null;
    rows.push(row);
    for (const pair of pairsOf(row)) missing.delete(pair);
  }
  const useful = rows.filter((row, index) =>
    pairsOf(row).some((pair) => !rows.some((other, place) => place !== index && pairsOf(other).includes(pair))),
  );
  const covered = new Set(useful.flatMap(pairsOf));
  if (missing.size > 0 || !pairs.every((pair) => covered.has(pair))) return null;
  const problem = { ...base, most: useful.length };
  const lines = useful.map((row) => row.join(" "));
  const misses = [range(useful.length).map(() => random().join(" ")), lines.slice(1), [...lines, random().join(" ")]];
  return { problem, witness: lines, misses, effort: pairs.length * useful.length };
}
