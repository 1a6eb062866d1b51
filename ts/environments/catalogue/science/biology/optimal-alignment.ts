/** optimal-alignment: an alignment of two sequences with the best score under a stated scheme. Any best alignment counts. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, linesOf, range } from "../../lists.ts";
import { defineRow, type Level } from "../../row.ts";

interface Scheme {
  match: number;
  /** Between bases of one kind (A and G, C and T), and between the others; both negative. */
  similar: number;
  other: number;
  /** For the first gap sign of a run in addition, and for each gap sign; negative. */
  open: number;
  gap: number;
}

interface Instance {
  first: string;
  second: string;
  scheme: Scheme;
  /** The two lines of a best alignment, and its score. */
  lines: [string, string];
  best: number;
}

/** By level: length of the first sequence, whether opening a gap costs extra. */
const KNOBS = [
  [5, false],
  [7, false],
  [10, true],
  [14, true],
  [20, true],
] as const;
const BASES = ["A", "C", "G", "T"];
const PURINES = "AG";
const GAP = "-";
const MOST_COLUMNS = 100;
/** Alignments end in one of these columns: two bases, a gap in the second line, a gap in the first. */
const STATES = 3;

export const optimalAlignment = defineRow<Instance>({
  id: "optimal-alignment",
  asks: "an alignment of two sequences with the best score under a stated scheme of matches and gaps",
  place: "answer",
  make,
  effort: ({ first, second, scheme }) => first.length * second.length * (scheme.open < 0 ? STATES : 1),
  canonical: ({ first, second, scheme }) => [first, second, scheme],
  prompts: [
    (one) =>
      `Align these sequences globally so that the score is as high as possible.\n${one.first}\n${one.second}\n${rules(one)} ${format()}`,
    (one) =>
      `${rules(one)} Which alignment of ${one.first} (first line) with ${one.second} (second line) has the highest score? ${format()}`,
    (one) =>
      `${format()} The sequences are ${one.first} for the first line and ${one.second} for the second. Wanted is the best possible sum. ${rules(one)}`,
    (one) =>
      `Two genes, X = ${one.first} and Y = ${one.second}, come from one ancestor. Write X above Y with gaps where the following scheme makes the total largest, from end to end of both. ${rules(one)} ${format()}`,
  ],
  gold: ({ lines }) => lines.join("\n"),
  nearMisses: missesOf,
  variants: ({ lines }) => [lines.join("\n").toLowerCase(), lines.map((line) => line.split("").join(" ")).join("\n\n")],
  score: (instance, answer) => {
    const read = linesOf(answer).map((line) => line.replaceAll(/\s/gu, "").toUpperCase());
    const scored = read.length === 2 ? scoreOf(instance, [at(read, 0), at(read, 1)]) : null;
    return scored === instance.best ? 1 : 0;
  },
});

function make(rng: Rng, level: Level): Instance | null {
  const [length, isAffine] = at(KNOBS, level - 1);
  const first = range(length).map(() => rng.pick(BASES));
  const second = [...first];
  for (let change = 0; change < 2 + Math.floor(length / 5); change++) {
    const place = rng.integer(second.length - 1);
    const kind = rng.integer(3);
    if (kind === 0) second[place] = rng.pick(BASES);
    else if (kind === 1 && second.length > 3) second.splice(place, between(rng, 1, 2));
    else second.splice(place, 0, ...range(between(rng, 1, 2)).map(() => rng.pick(BASES)));
  }
  const scheme = {
    match: between(rng, 2, 5),
    similar: -1,
    other: -between(rng, 2, 4),
    open: isAffine ? -between(rng, 2, 4) : 0,
    gap: -between(rng, 1, 3),
  };
  const draft = { first: first.join(""), second: second.join(""), scheme };
  const found = aligned(draft);
  const instance: Instance = { ...draft, ...found };
  // Gaps at the end alone must not be enough.
  const lazy = padded(instance, false);
  return draft.first === draft.second || scoreOf(instance, lazy) === found.best ? null : instance;
}

type Draft = Pick<Instance, "first" | "second" | "scheme">;

/** Gotoh's method with one table for each kind of last column. */
function aligned({ first, second, scheme }: Draft): { lines: [string, string]; best: number } {
  const table: { score: number; from: number }[][][] = [];
  const cell = (i: number, j: number, state: number) =>
    table[i]?.[j]?.[state] ?? { score: Number.NEGATIVE_INFINITY, from: 0 };
  for (let i = 0; i <= first.length; i++) {
    table.push([]);
    for (let j = 0; j <= second.length; j++) {
      const cells = range(STATES).map((state) => {
        if (i === 0 && j === 0) return { score: state === 0 ? 0 : Number.NEGATIVE_INFINITY, from: 0 };
        const [a, b] = [state === 2 ? i : i - 1, state === 1 ? j : j - 1];
        const step = state === 0 ? pairScore(scheme, first[i - 1], second[j - 1]) : scheme.gap;
        const scores = range(STATES).map(
          (before) => cell(a, b, before).score + step + (state !== 0 && before !== state ? scheme.open : 0),
        );
        const from = scores.indexOf(Math.max(...scores));
        return { score: at(scores, from), from };
      });
      at(table, i).push(cells);
    }
  }
  let [i, j] = [first.length, second.length];
  const ends = range(STATES).map((state) => cell(i, j, state).score);
  const best = Math.max(...ends);
  let state = ends.indexOf(best);
  const lines: [string, string] = ["", ""];
  while (i > 0 || j > 0) {
    const { from } = cell(i, j, state);
    lines[0] = (state === 2 ? GAP : first[i - 1]) + lines[0];
    lines[1] = (state === 1 ? GAP : second[j - 1]) + lines[1];
    [i, j, state] = [state === 2 ? i : i - 1, state === 1 ? j : j - 1, from];
  }
  return { lines, best };
}

function pairScore({ match, similar, other }: Scheme, a = "", b = ""): number {
  if (a === b) return match;
  return PURINES.includes(a) === PURINES.includes(b) ? similar : other;
}

/** Null for lines that are no alignment of the sequences. */
function scoreOf({ first, second, scheme }: Draft, [top, bottom]: readonly [string, string]): number | null {
  if (top.length !== bottom.length || top.length > MOST_COLUMNS) return null;
  if (top.replaceAll(GAP, "") !== first || bottom.replaceAll(GAP, "") !== second) return null;
  let [score, last] = [0, 0];
  for (let column = 0; column < top.length; column++) {
    const state = bottom[column] === GAP ? 1 : top[column] === GAP ? 2 : 0;
    if (top[column] === GAP && bottom[column] === GAP) return null;
    score += state === 0 ? pairScore(scheme, top[column], bottom[column]) : scheme.gap;
    if (state !== 0 && state !== last) score += scheme.open;
    last = state;
  }
  return score;
}

/** The sequences without gaps inside; the shorter one is filled up at one end. */
function padded({ first, second }: Draft, isLeft: boolean): [string, string] {
  const width = Math.max(first.length, second.length);
  const fill = (text: string): string => (isLeft ? text.padStart(width, GAP) : text.padEnd(width, GAP));
  return [fill(first), fill(second)];
}

function missesOf(instance: Instance): string[] {
  const { first, second, best, lines } = instance;
  const apart: [string, string] = [first + GAP.repeat(second.length), GAP.repeat(first.length) + second];
  const tries = [padded(instance, false), padded(instance, true), apart];
  const worse = tries.filter((pair) => (scoreOf(instance, pair) ?? best - 1) < best).map((pair) => pair.join("\n"));
  return [
    ...new Set(worse),
    lines.map((line) => `${line}${GAP}`).join("\n"),
    lines.map((line) => line.slice(0, -1)).join("\n"),
    lines
      .map((line) => line.replaceAll(GAP, ""))
      .toReversed()
      .join("\n"),
  ];
}

function rules({ scheme: { match, similar, other, open, gap } }: Instance): string {
  const opening =
    open < 0
      ? ` A run of gap signs in one line costs ${-open} once, for its beginning (a run in the other line directly behind it is a new one), and ${-gap} for each sign.`
      : ` Each gap sign costs ${-gap}.`;
  return `Equal bases in a column score ${match}; different ones cost ${-similar} when both are purines (A, G) or both pyrimidines (C, T), and ${-other} otherwise.${opening} Gaps at the ends cost as much as others.`;
}

function format(): string {
  return `Write the alignment as two lines of equal length, with ${GAP} for gaps; no column may hold two gaps. Only an alignment of the best score counts; if there are several, any of them.`;
}
