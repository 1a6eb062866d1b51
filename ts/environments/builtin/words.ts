/** Names and words for generated tasks, built from syllables, without any word list. */
import type { Rng } from "../../random/rng.ts";

const ONSETS = ["b", "br", "d", "dr", "f", "g", "k", "l", "m", "n", "p", "r", "s", "st", "t", "tr", "v", "z"];
const VOWELS = ["a", "e", "i", "o", "u", "ai", "ea"];
const ENDS = ["", "n", "r", "s", "l", "x", "th"];

/** A pronounceable word of `syllables` syllables, in lower case. */
export function word(rng: Rng, syllables = 2): string {
  let text = "";
  for (let i = 0; i < syllables; i++) text += rng.pick(ONSETS) + rng.pick(VOWELS);
  return text + rng.pick(ENDS);
}

/** A word with a capital letter. */
export function name(rng: Rng): string {
  const text = word(rng, 2);
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** This many different words. */
export function distinct(count: number, make: () => string): string[] {
  const found = new Set<string>();
  while (found.size < count) found.add(make());
  return [...found];
}
