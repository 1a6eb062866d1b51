/** three-way-merge: a file that keeps the changes of two branches, with a rule for places that both changed. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";
import { changedValue, settings } from "./file-lines.ts";

export interface MergeProblem {
  base: string[];
  ours: string[];
  theirs: string[];
}

/** By level: changed places, and how many of them both branches changed. */
const SIZES = [
  [2, 0],
  [3, 0],
  [4, 1],
  [6, 2],
  [8, 4],
] as const;

export const threeWayMerge = itemRow<MergeProblem>({
  id: "three-way-merge",
  asks: "the merge of two changed versions of a file, with a rule for conflicts",
  form: "lines",
  tries: 20,
  make: draw,
  prompts: [
    (one) =>
      `Merge two branches.\n\nBase:\n${one.base.join("\n")}\n\nOurs:\n${one.ours.join("\n")}\n\nTheirs:\n${one.theirs.join("\n")}\n\n${RULE} Give the merged file.`,
    (one) =>
      `${RULE}\n\nThe common ancestor is\n\n${one.base.join("\n")}\n\nour version is\n\n${one.ours.join("\n")}\n\nand their version is\n\n${one.theirs.join("\n")}\n\nWrite every line of the result of the merge.`,
    (one) =>
      `Version A (ours):\n\n${one.ours.join("\n")}\n\nVersion B (theirs):\n\n${one.theirs.join("\n")}\n\nBoth were made from\n\n${one.base.join("\n")}\n\nProduce the file that a three-way merge of A and B yields. ${RULE}`,
    (one) =>
      `Two people edited a list of settings.\n\nBefore:\n${one.base.join("\n")}\n\nTheir edit (theirs):\n${one.theirs.join("\n")}\n\nOur edit (ours):\n${one.ours.join("\n")}\n\nCombine them line by line. ${RULE} Answer with the combined list.`,
  ],
});

const RULE =
  "A change that only one side made is taken over, also a deletion. Where both made the same change it is taken once. Where both changed the same line in different ways, our new lines for it come first and theirs directly after them (a side that deleted the line has none).";

function draw(rng: Rng, level: Level) {
  const [changes, both] = at(SIZES, level - 1);
  // Four lines and more between changes: programs join conflicts that are closer.
  const gaps = range(changes).map(() => between(rng, 5, 6));
  const length = gaps.reduce((sum, gap) => sum + gap, 0) + 4;
  const all = settings(rng, length + 3 * changes);
  const base = all.slice(0, length);
  const fresh = all.slice(length);
  const [ours, theirs, merged, kept] = [1, 2, 3, 4].map(() => [] as string[]);
  if (ours === undefined || theirs === undefined || merged === undefined || kept === undefined) return null;
  let [next, place] = [gaps[0] ?? 0, 0];
  const edit = (line: string): string[] => {
    const kind = rng.integer(4);
    if (kind === 0) return [];
    if (kind === 1) return [line, fresh.pop() ?? ""];
    return kind === 2 ? [changedValue(line, rng)] : [fresh.pop() ?? ""];
  };
  const replaced = (line: string): string[] => (rng.integer(5) === 0 ? [] : [changedValue(line, rng)]);
  for (const [index, line] of base.entries()) {
    if (index !== next || place >= changes) {
      for (const side of [ours, theirs, merged, kept]) side.push(line);
      continue;
    }
    if (place < both) {
      const [a, b] = [replaced(line), replaced(line)];
      ours.push(...a);
      theirs.push(...b);
      merged.push(...(a.join() === b.join() ? a : [...a, ...b]));
      kept.push(...a);
    } else {
      const made = edit(line);
      const isOurs = rng.integer(2) === 0;
      (isOurs ? ours : theirs).push(...made);
      (isOurs ? theirs : ours).push(line);
      merged.push(...made);
      kept.push(...(isOurs ? made : [line]));
    }
    place += 1;
    next += at(gaps, place % changes);
  }
  if ([ours, theirs, base].some((side) => side.join() === merged.join())) return null;
  const misses = [ours, theirs, base, kept, [...ours, ...theirs]];
  return { problem: { base, ours, theirs }, items: merged, misses, effort: base.length + 4 * both };
}
