/** apply-patch: a file after a unified diff whose line numbers no longer fit. */
import { between, sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";
import { changedValue, settings } from "./file-lines.ts";

export interface PatchProblem {
  file: string[];
  patch: string[];
}

/** By level: lines of the file that the diff was made for, changes, lines that were added to the file since. */
const SIZES = [
  [8, 1, 1],
  [12, 2, 2],
  [17, 4, 4],
  [22, 6, 6],
  [32, 9, 9],
] as const;
const CONTEXT = 2;

interface Tagged {
  tag: " " | "-" | "+";
  line: string;
}

export const applyPatch = itemRow<PatchProblem>({
  id: "apply-patch",
  asks: "a file after a unified diff whose line numbers have drifted",
  form: "lines",
  tries: 20,
  make: draw,
  prompts: [
    ({ file, patch }) =>
      `File:\n\n${file.join("\n")}\n\nPatch:\n\n${patch.join("\n")}\n\nApply the patch. The file has got further lines since the patch was made, so a hunk belongs where its lines stand, not where its numbers say. Give all lines of the new file.`,
    ({ file, patch }) =>
      `The unified diff\n\n${patch.join("\n")}\n\nwas made for an earlier version of this file:\n\n${file.join("\n")}\n\nAll its context still exists, but at other line numbers. Write down the whole file after the diff has been applied.`,
    ({ file, patch }) =>
      `Do the work of the program patch. Input:\n\n${file.join("\n")}\n\nDiff (line numbers may be off; locate the hunks by their lines):\n\n${patch.join("\n")}\n\nOutput: the complete resulting file, line by line.`,
    ({ file, patch }) =>
      `A colleague mails this change:\n\n${patch.join("\n")}\n\nYour copy of the file is\n\n${file.join("\n")}\n\nand contains lines that the colleague did not have. Merge the change into your copy, keep your lines, and answer with the full text of the file.`,
  ],
});

function draw(rng: Rng, level: Level) {
  const [length, changes, added] = at(SIZES, level - 1);
  const all = settings(rng, length + changes + added);
  const original = all.slice(0, length);
  const fresh = all.slice(length, length + changes);
  // Programs take a hunk without full context for the beginning or the end of the file.
  const inner = range(length).slice(CONTEXT + 1, -CONTEXT - 1);
  const changed = new Set(sample(inner, changes, rng));
  const tagged = original.flatMap((line, index): Tagged[] => {
    if (!changed.has(index)) return [{ tag: " ", line }];
    const insert = fresh.pop() ?? "";
    const kind = rng.integer(4);
    if (kind === 0) return [{ tag: "-", line }];
    if (kind === 1)
      return [
        { tag: " ", line },
        { tag: "+", line: insert },
      ];
    return [
      { tag: "-", line },
      { tag: "+", line: kind === 2 ? changedValue(line, rng) : insert },
    ];
  });
  const hunks = hunksOf(tagged);
  // New lines stand where no hunk is.
  const free = [0, ...range(tagged.length).slice(1), tagged.length].filter(
    (place) => !hunks.some(([from, to]) => place > from && place < to),
  );
  const places = range(added).map((index) => (index === 0 ? 0 : rng.pick(free)));
  const now = range(tagged.length + 1).flatMap((place): Tagged[] => [
    ...all
      .slice(length + changes)
      .flatMap((line, index): Tagged[] => (places[index] === place ? [{ tag: " ", line }] : [])),
    ...tagged.slice(place, place + 1),
  ]);
  const without = (tag: Tagged["tag"], some: readonly Tagged[]): string[] =>
    some.filter((one) => one.tag !== tag).map(({ line }) => line);
  const file = without("+", now);
  const items = without("-", now);
  const byNumber = [...items];
  const [first = ""] = byNumber.splice(1, 1);
  byNumber.splice(between(rng, 2, Math.max(2, items.length - 2)), 0, first);
  const misses = [file, byNumber, now.map(({ line }) => line), without("-", tagged)];
  return { problem: { file, patch: patchText(tagged, hunks) }, items, misses, effort: file.length + 4 * changes };
}

/** Ranges of the tagged lines that belong to one hunk: changes with their context. */
function hunksOf(tagged: readonly Tagged[]): [from: number, to: number][] {
  const hunks: [number, number][] = [];
  for (const [index, { tag }] of tagged.entries()) {
    if (tag === " ") continue;
    const [from, to] = [Math.max(0, index - CONTEXT), Math.min(tagged.length, index + CONTEXT + 1)];
    const last = hunks.at(-1);
    if (last !== undefined && from <= last[1]) last[1] = to;
    else hunks.push([from, to]);
  }
  return hunks;
}

function patchText(tagged: readonly Tagged[], hunks: readonly (readonly [number, number])[]): string[] {
  const count = (tag: Tagged["tag"], some: readonly Tagged[]): number => some.filter((one) => one.tag !== tag).length;
  return hunks.flatMap(([from, to]) => {
    const [before, inside] = [tagged.slice(0, from), tagged.slice(from, to)];
    const [old, fresh] = (["+", "-"] as const).map((tag) => `${count(tag, before) + 1},${count(tag, inside)}`);
    return [`@@ -${old} +${fresh} @@`, ...inside.map(({ tag, line }) => `${tag}${line}`)];
  });
}
