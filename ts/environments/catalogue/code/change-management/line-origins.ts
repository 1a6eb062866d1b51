/** line-origins: the commit from which each line of a file comes after a series of diffs. */
import { between, sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";
import { settings } from "./file-lines.ts";

export interface OriginProblem {
  first: string[];
  /** Hunks of each later commit, without context. */
  diffs: string[][];
  names: string[];
}

/** By level: lines at first, later commits, changes of a commit. */
const SIZES = [
  [4, 2, 1],
  [5, 3, 2],
  [6, 4, 2],
  [7, 5, 3],
  [8, 7, 3],
] as const;

interface Line {
  readonly text: string;
  readonly from: string;
}

export const lineOrigins = itemRow<OriginProblem>({
  id: "line-origins",
  asks: "the commit from which each line of a file comes after a series of diffs without context",
  form: "list",
  tries: 10,
  make,
  prompts: [
    (one) =>
      `Commit ${at(one.names, 0)} adds a file:\n\n${one.first.join("\n")}\n\nThe next commits change it (unified diffs without context):\n\n${history(one)}\n\nWhich commit does each line of the final file come from, as git blame shows it? List the commits from the first line to the last, separated by commas.`,
    (one) =>
      `${history(one)}\n\nThese diffs (no context lines) are applied one after the other to a file that ${at(one.names, 0)} created with the lines\n\n${one.first.join("\n")}\n\nBlame every line of the result: names of commits in the order of the lines, with commas.`,
    (one) =>
      `Reconstruct git blame. Creation by ${at(one.names, 0)}:\n\n${one.first.join("\n")}\n\nLater:\n\n${history(one)}\n\nAnswer with one commit per line of the newest version, top to bottom, comma-separated.`,
    (one) =>
      `For an audit we need the origin of each line of a configuration. Version ${at(one.names, 0)}:\n\n${one.first.join("\n")}\n\nChanges since (hunks without context):\n\n${history(one)}\n\nGive the commit that last wrote line 1, line 2 and so on of the present file, with commas between.`,
  ],
});

function history({ diffs, names }: OriginProblem): string {
  return diffs.map((hunks, index) => `${at(names, index + 1)}:\n${hunks.join("\n")}`).join("\n\n");
}

function make(rng: Rng, level: Level) {
  const [length, commits, changes] = at(SIZES, level - 1);
  const names = sample(range(90), commits + 1, rng).map((number) => `c${number + 10}`);
  const texts = settings(rng, length + 3 * commits * changes);
  const first = texts.splice(0, length);
  let lines = first.map((text): Line => ({ text, from: at(names, 0) }));
  const diffs = range(commits).map((index): string[] => {
    const from = at(names, index + 1);
    // Places apart from each other, so that git does not join hunks.
    const places = sample(range(lines.length + 1), changes + 2, rng)
      .toSorted((a, b) => a - b)
      .filter((place, other, all) => other === 0 || place - at(all, other - 1) > 2)
      .slice(0, changes);
    const hunks: string[] = [];
    const next: Line[] = [];
    let done = 0;
    for (const place of places) {
      next.push(...lines.slice(done, place));
      const removed = lines.slice(place, place + (lines.length > 4 ? rng.integer(3) : 0));
      const added = texts
        .splice(0, removed.length === 0 ? between(rng, 1, 2) : rng.integer(3))
        .map((text): Line => ({ text, from }));
      const side = (start: number, count: number): string =>
        `${count === 0 ? start : start + 1}${count === 1 ? "" : `,${count}`}`;
      hunks.push(`@@ -${side(place, removed.length)} +${side(next.length, added.length)} @@`);
      hunks.push(...removed.map(({ text }) => `-${text}`), ...added.map(({ text }) => `+${text}`));
      next.push(...added);
      done = place + removed.length;
    }
    lines = [...next, ...lines.slice(done)];
    return hunks;
  });
  const items = lines.map((line) => line.from);
  if (items.length < 3 || items.length > 24 || new Set(items).size < Math.min(commits, 4)) return null;
  const misses = [
    items.map(() => at(names, 0)),
    items.toReversed(),
    items.map((item) => at(names, Math.max(0, names.indexOf(item) - 1))),
  ];
  return { problem: { first, diffs, names }, items, misses, effort: diffs.flat().length + items.length };
}
