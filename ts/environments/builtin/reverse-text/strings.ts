/**
 * Random strings, each of which belongs to exactly one use.
 *
 * Which use is decided by a hash of the string itself, so no seed, run or worker can make two uses share one: of 8
 * residue classes, `eval` has one, `train` three and `demonstrations` four. None is its own reverse: it would be its own answer.
 */
import { PrlError } from "../../../errors.ts";
import type { Rng } from "../../../random/rng.ts";

export type Use = "train" | "eval" | "demonstrations";

const CLASSES = 8;
const USE_OF_CLASS: readonly Use[] = ["eval", "train", "train", "train"];

/** When this many draws in a row do not hit a use, it most likely has no string at all. */
const MAX_DRAWS = 100_000;

export interface StringOptions {
  min_len: number;
  max_len: number;
  alphabet: string;
}

/**
 * Endless: the length uniform in [min_len, max_len], then each letter uniform; strings of other uses and palindromes are drawn again.
 */
export function* strings({ min_len, max_len, alphabet }: StringOptions, rng: Rng, use: Use): Generator<string, never> {
  for (;;) {
    let text = draw(min_len, max_len, alphabet, rng);
    for (let draws = 1; useOf(text) !== use || isPalindrome(text); draws += 1) {
      if (draws === MAX_DRAWS) {
        const kind = `${min_len} to ${max_len} letters from "${alphabet}"`;
        const message = `reverse-text: no string of ${kind} is left for ${use}; allow more`;
        throw new PrlError("PRL_ENVIRONMENT_INVALID", message);
      }
      text = draw(min_len, max_len, alphabet, rng);
    }
    yield text;
  }
}

/** The one use that a string may serve. */
export function useOf(text: string): Use {
  return USE_OF_CLASS[hash(text) % CLASSES] ?? "demonstrations";
}

function isPalindrome(text: string): boolean {
  return text === Array.from(text).reverse().join("");
}

function draw(min: number, max: number, alphabet: string, rng: Rng): string {
  const length = min + rng.integer(max - min + 1);
  let text = "";
  for (let i = 0; i < length; i += 1) text += rng.pick(alphabet);
  return text;
}

/** FNV-1a over the letters, then MurmurHash3's 32-bit finaliser, so that the low bits depend on all of them. */
function hash(text: string): number {
  let state = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) state = Math.imul(state ^ text.charCodeAt(i), 0x01000193);
  state = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
  state = Math.imul(state ^ (state >>> 13), 0xc2b2ae35);
  return (state ^ (state >>> 16)) >>> 0;
}
