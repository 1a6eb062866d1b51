/** Whether the wordings of a row are different texts: the same instance is put into each of them, and their words are compared. */
import { createRng } from "../../../random/rng.ts";
import type { RowCore } from "../row.ts";
import { wordsOf } from "./near-duplicates.ts";

/** Words that one of two wordings has and the other has not, of both together. Below it they differ in their order, their punctuation or a phrase. */
const LEAST_DIFFERENT = 6;
/** Wordings that draw, such as the order of records, draw the same in each. */
const SEED = 1;

/** Each names two wordings that are one, by their places in the row's list. */
export function equalWordings(row: RowCore, instance: object): string[] {
  const counted = row.prompts.map((prompt) => countsOf(wordsOf(prompt(instance, createRng(SEED)))));
  return counted.flatMap((one, place) =>
    counted.slice(0, place).flatMap((other, earlier) => {
      const different = missing(one, other) + missing(other, one);
      return different < LEAST_DIFFERENT
        ? [`wordings ${earlier} and ${place} differ in ${different} words; at least ${LEAST_DIFFERENT}`]
        : [];
    }),
  );
}

function countsOf(words: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

/** Number of words of the first text that the second one lacks. */
function missing(first: ReadonlyMap<string, number>, second: ReadonlyMap<string, number>): number {
  return [...first].reduce((sum, [word, count]) => sum + Math.max(0, count - (second.get(word) ?? 0)), 0);
}
