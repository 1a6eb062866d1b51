/** error-correction: the single errors in received Hamming words, and the data that was sent. */
import { sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

export interface CodeProblem {
  /** Without the parity bit over all. */
  length: number;
  /** Whether a parity bit over all stands at the end. */
  isExtended: boolean;
  isOdd: boolean;
  words: string[];
}

/** By level: length, words, whether extended. */
const SIZES = [
  [7, 1, false],
  [7, 2, false],
  [11, 2, false],
  [15, 2, true],
  [15, 4, true],
] as const;

export const errorCorrection = itemRow<CodeProblem>({
  id: "error-correction",
  asks: "the errors in received Hamming words and the data that was sent",
  form: "lines",
  make,
  prompts: [
    (one) =>
      `${code(one)}\n\nReceived:\n${one.words.join("\n")}\n\nFor every word write one line: the position of the wrong bit (0 if none), a space, and the corrected data bits in order.${double(one)}`,
    (one) =>
      `Decode these words of a Hamming code.\n\n${one.words.join("\n")}\n\n${code(one)}\n\nAnswer line by line with "p d", where p is the position of the flipped bit or 0, and d are the data bits of the repaired word without the check bits.${double(one)}`,
    (one) =>
      `Over a noisy line came\n\n${one.words.join("\n")}\n\n${code(one)}\n\nLocate the error in each word and recover the message. One line per word: error position (0 for an intact word), blank, data bits.${double(one)}`,
    (one) =>
      `${code(one)} At most one bit of a word is wrong${one.isExtended ? ", rarely two" : ""}. What was sent?\n\n${one.words.join("\n")}\n\nState for each word, on a line of its kind, the number of the wrong position or 0, then a space, then the data bits after correction.${double(one)}`,
  ],
});

function code({ length, isExtended, isOdd }: CodeProblem): string {
  const parity = isOdd ? "odd" : "even";
  const all = isExtended
    ? ` One more bit at the end, position ${length + 1}, makes the number of ones in the whole word ${parity}.`
    : "";
  return `A word has the positions 1 to ${length}, written from left to right. The positions 1, 2, 4, 8 (as far as they exist) hold check bits, the others data. The check bit at position 2^k makes the number of ones ${parity} among all positions from 1 to ${length} whose number has the bit 2^k, itself included.${all}`;
}

function double({ isExtended }: CodeProblem): string {
  return isExtended ? ` Where two bits must be wrong, write only the word double.` : "";
}

function make(rng: Rng, level: Level) {
  const [length, count, isExtended] = at(SIZES, level - 1);
  const isOdd = level > 2 && rng.integer(2) === 0;
  const words: string[] = [];
  const items: string[] = [];
  const unchanged: string[] = [];
  for (const _ of range(count)) {
    const bits = encoded(
      range(length + 1).map(() => rng.integer(2)),
      isExtended,
      isOdd,
    );
    const size = bits.length - 1;
    const errors = isExtended && rng.integer(4) === 0 ? 2 : rng.integer(8) === 0 ? 0 : 1;
    const wrong = sample(range(size), errors, rng).map((place) => place + 1);
    const data = dataOf(bits, length);
    items.push(errors === 2 ? "double" : `${wrong[0] ?? 0} ${data}`);
    for (const place of wrong) bits[place] = 1 - at(bits, place);
    words.push(bits.slice(1).join(""));
    unchanged.push(`0 ${dataOf(bits, length)}`);
  }
  // A shown word must need a correction.
  if (items.every((item) => item.startsWith("0"))) return null;
  const misses = [unchanged, items.map((item) => item.replace(/^\d+/u, "0")), items.toReversed()];
  const effort = length * count * (isExtended ? 2 : 1) + Number(isOdd);
  return { problem: { length, isExtended, isOdd, words }, items, misses, effort };
}

/** Bits from position 1 on (0 is unused), with right check bits. */
function encoded(bits: readonly number[], isExtended: boolean, isOdd: boolean): number[] {
  const word = [...bits];
  for (let check = 1; check < word.length; check *= 2) {
    word[check] = 0;
    const ones = word.filter((bit, place) => (place & check) !== 0 && bit === 1).length;
    word[check] = (ones + Number(isOdd)) % 2;
  }
  if (isExtended) word.push((word.slice(1).filter((bit) => bit === 1).length + Number(isOdd)) % 2);
  return word;
}

function dataOf(word: readonly number[], length: number): string {
  return range(length + 1)
    .filter((place) => place > 0 && (place & (place - 1)) !== 0)
    .map((place) => word[place])
    .join("");
}
