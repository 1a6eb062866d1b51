/** optimal-prefix-code: codewords of which none begins another, with the least total length; some lengths are bounded. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { certificateRow } from "../certificate-row.ts";

interface Problem {
  counts: number[];
  /** Longest codeword that is allowed. */
  longest: number;
  best: number;
}

/** By level: symbols, largest count. */
const SIZES = [
  [5, 30],
  [6, 60],
  [8, 80],
  [11, 150],
  [15, 300],
] as const;

export const optimalPrefixCode = certificateRow<Problem>({
  id: "optimal-prefix-code",
  asks: "binary codewords of bounded length, none the beginning of another, with the least total length",
  draw(rng, level) {
    const [size, most] = at(SIZES, level - 1);
    // Some are much larger than the others, so that the bound matters.
    const counts = range(size).map(() => between(rng, 1, Math.max(2, Math.floor(most / 3 ** rng.integer(4)))));
    const free = lengthsOf(counts, size);
    const longest = Math.max(...free) - 1;
    if (2 ** longest < size) return null;
    const lengths = lengthsOf(counts, longest);
    const best = costOf(counts, lengths);
    if (best === costOf(counts, free)) return null;
    return { problem: { counts, longest, best }, certificate: wordsOf(lengths).join(", "), steps: size ** 2 * longest };
  },
  proves({ counts, longest, best }, answer) {
    const words = answer.trim().split(/\s*,\s*/u);
    if (words.length !== counts.length) return false;
    if (!words.every((word) => /^[01]+$/u.test(word) && word.length <= longest)) return false;
    const isPrefix = words.some((word, index) =>
      words.some((other, place) => place !== index && other.startsWith(word)),
    );
    return (
      !isPrefix &&
      costOf(
        counts,
        words.map((word) => word.length),
      ) <= best
    );
  },
  canonical: ({ counts, longest }) => [counts.toSorted((a, b) => a - b), longest],
  prompts: [
    (one) =>
      `A file holds ${one.counts.length} different symbols; they occur ${one.counts.join(", ")} times. Give every symbol a word of 0s and 1s, at most ${one.longest} bits long, such that no word is the beginning of another one and the coded file is as short as possible. ${FORMAT}`,
    (one) =>
      `Find an optimal length-limited prefix code: frequencies ${one.counts.join(", ")}, longest codeword ${one.longest} bits. (The unrestricted Huffman code is too deep.) ${FORMAT}`,
    (one) =>
      `${FORMAT} The binary words must be prefix-free, none may have more than ${one.longest} digits, and the sum of count times length, for the counts ${one.counts.join(", ")}, has to be minimal.`,
    (one) =>
      `Hang ${one.counts.length} weights (${one.counts.join(", ")}) as leaves into a binary tree of depth ${one.longest} or less so that the sum of weight times depth is least. Describe the way from the root to each leaf by 0 (left) and 1 (right). ${FORMAT}`,
  ],
  slips({ counts, longest }, certificate) {
    const words = certificate.split(", ");
    const bits = Math.ceil(Math.log2(counts.length));
    return [
      wordsOf(lengthsOf(counts, counts.length)).join(", "),
      range(counts.length)
        .map((index) => index.toString(2).padStart(bits, "0"))
        .join(", "),
      words.with(0, `${at(words, 0)}0`.padEnd(longest + 1, "0")).join(", "),
      words.map((_, index) => "1".repeat(Math.min(index, longest - 1) + 1)).join(", "),
      words.slice(1).join(", "),
    ];
  },
  variants: (_, certificate) => [certificate.replaceAll(/[01]/gu, (bit) => (bit === "0" ? "1" : "0"))],
});

const FORMAT = "Answer with the words in the order of the numbers, separated by commas.";

function costOf(counts: readonly number[], lengths: readonly number[]): number {
  return counts.reduce((sum, count, index) => sum + count * at(lengths, index), 0);
}

/** Package-merge (Larmore and Hirschberg): a symbol's length is how many of the chosen packages contain it. */
function lengthsOf(counts: readonly number[], longest: number): number[] {
  const single = counts.map((count, symbol) => ({ count, symbols: [symbol] }));
  const sorted = (list: typeof single): typeof single => list.toSorted((a, b) => a.count - b.count);
  let packages = sorted(single);
  for (const _ of range(longest - 1)) {
    const pairs = range(Math.floor(packages.length / 2)).map((index) => {
      const [a, b] = [at(packages, 2 * index), at(packages, 2 * index + 1)];
      return { count: a.count + b.count, symbols: [...a.symbols, ...b.symbols] };
    });
    packages = sorted([...single, ...pairs]);
  }
  const chosen = packages.slice(0, 2 * counts.length - 2).flatMap(({ symbols }) => symbols);
  return counts.map((_, symbol) => chosen.filter((one) => one === symbol).length);
}

/** Words in order of their length, each the next binary number. */
function wordsOf(lengths: readonly number[]): string[] {
  const words = lengths.map(() => "");
  let [next, last] = [0, 0];
  for (const symbol of range(lengths.length).toSorted((a, b) => at(lengths, a) - at(lengths, b))) {
    const length = at(lengths, symbol);
    next *= 2 ** (length - last);
    last = length;
    words[symbol] = next.toString(2).padStart(length, "0");
    next += 1;
  }
  return words;
}
