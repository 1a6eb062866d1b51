/** canonical-codes: the text behind bits of a canonical prefix code that is given by its code lengths. */
import { between, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

export interface CodesProblem {
  lengths: { letter: string; length: number }[];
  bits: string;
}

/** By level: letters of the alphabet, letters of the text. */
const SIZES = [
  [3, 5],
  [5, 8],
  [7, 12],
  [9, 18],
  [12, 28],
] as const;

export const canonicalCodes = itemRow<CodesProblem>({
  id: "canonical-codes",
  asks: "the text behind the bits of a canonical prefix code that is given by code lengths",
  form: "lines",
  tries: 20,
  make,
  prompts: [
    (one) => `${RULES}\n\nLengths: ${table(one)}\nBits: ${one.bits}\n\nDecode them completely. Answer with the text.`,
    (one) =>
      `Decode ${one.bits}. The code is canonical with the lengths ${table(one)}. ${RULES} Write the letters without spaces.`,
    (one) =>
      `A deflate-like block has the code lengths ${table(one)} and the data ${one.bits}\n\n${RULES} Which letters were sent? Give them as one word.`,
    (one) =>
      `Reconstruct the code words from their lengths (${table(one)}): ${RULES}\n\nThen read the stream ${one.bits} from the left and give the decoded text only.`,
  ],
});

const RULES =
  "The code words of a canonical code are numbered in order: shorter ones first, among equal lengths by alphabet. The first is all zeros; each next one is the one before plus 1, and where the length grows, zeros are added at its right end.";

function table({ lengths }: CodesProblem): string {
  return lengths.map(({ letter, length }) => `${letter} ${length}`).join(", ");
}

function make(rng: Rng, level: Level) {
  const [size, count] = at(SIZES, level - 1);
  // Splits leaves until there are enough, which gives a complete code.
  let depths = [1, 1];
  while (depths.length < size) {
    const index = rng.integer(depths.length);
    const depth = at(depths, index);
    if (depth < 6) depths = [...depths.slice(0, index), depth + 1, depth + 1, ...depths.slice(index + 1)];
  }
  const letters = shuffled("abcdefghijklmnopqrstuvwxyz", rng).slice(0, size).toSorted();
  const order = shuffled(depths, rng);
  const lengths = letters.map((letter, index) => ({ letter, length: at(order, index) }));
  const words = codeWords(lengths, (a, b) => a.length - b.length || (a.letter < b.letter ? -1 : 1));
  const text = range(count + between(rng, 0, 1))
    .map(() => rng.pick(letters))
    .join("");
  const bits = text
    .split("")
    .map((letter) => words.get(letter))
    .join("");
  const decode = (code: ReadonlyMap<string, string>): string => {
    const back = new Map([...code].map(([letter, word]) => [word, letter]));
    let [out, word] = ["", ""];
    for (const bit of bits) {
      word += bit;
      const letter = back.get(word);
      if (letter === undefined) continue;
      out += letter;
      word = "";
    }
    return out || "?";
  };
  const byList = decode(codeWords(lengths, (a, b) => a.length - b.length || (a.letter > b.letter ? -1 : 1)));
  if (new Set(text).size < Math.min(3, size) || new Set(depths).size < 2 || byList === text) return null;
  const ones = decode(
    new Map(
      [...words].map(([letter, word]) => [letter, word.replaceAll(/[01]/gu, (bit) => (bit === "0" ? "1" : "0"))]),
    ),
  );
  return {
    problem: { lengths, bits },
    items: [text],
    misses: [[byList], [ones], [text.slice(1)]],
    effort: bits.length + size,
  };
}

function codeWords(
  lengths: CodesProblem["lengths"],
  order: (a: CodesProblem["lengths"][number], b: CodesProblem["lengths"][number]) => number,
): Map<string, string> {
  let code = 0;
  let before = 0;
  return new Map(
    lengths.toSorted(order).map(({ letter, length }) => {
      code = before === 0 ? 0 : (code + 1) * 2 ** (length - before);
      before = length;
      return [letter, code.toString(2).padStart(length, "0")];
    }),
  );
}
