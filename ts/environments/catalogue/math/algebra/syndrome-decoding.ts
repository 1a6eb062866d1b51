/** syndrome-decoding: few columns of a binary matrix whose sum is given. */
import { sample } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { certificateRow } from "../certificate-row.ts";
import { integersIn } from "../certificate-text.ts";
import { binomial } from "../number-theory.ts";

interface Problem {
  /** Columns of the check matrix as texts of bits. */
  columns: string[];
  syndrome: string;
  weight: number;
}

/** By level: columns, bits, columns in the sum. */
const SIZES = [
  [7, 4, 2],
  [10, 6, 2],
  [14, 8, 3],
  [20, 11, 4],
  [28, 14, 5],
] as const;

export const syndromeDecoding = certificateRow<Problem>({
  id: "syndrome-decoding",
  asks: "few columns of a binary matrix whose sum is a given syndrome",
  draw(rng, level) {
    const [count, bits, weight] = at(SIZES, level - 1);
    const columns = range(count).map(() =>
      range(bits)
        .map(() => rng.integer(2))
        .join(""),
    );
    const places = sample(range(count), weight, rng).toSorted((a, b) => a - b);
    const syndrome = sumOf(columns, places);
    const isTrivial = [...columns, "0".repeat(bits)].includes(syndrome) || new Set(columns).size < count;
    if (isTrivial || columns.includes("0".repeat(bits))) return null;
    const certificate = places.map((place) => place + 1).join(", ");
    return { problem: { columns, syndrome, weight }, certificate, steps: Number(binomial(count, weight)) };
  },
  proves({ columns, syndrome, weight }, answer) {
    const list = integersIn(answer);
    if (list === null || list.length > weight || new Set(list).size < list.length) return false;
    if (list.some((place) => place < 1 || place > columns.length)) return false;
    return (
      sumOf(
        columns,
        list.map((place) => place - 1),
      ) === syndrome
    );
  },
  prompts: [
    (one) =>
      `A binary code of length ${one.columns.length} has the parity-check matrix whose columns 1, 2, ... are\n${columnsText(one)}\nA received word has the syndrome ${one.syndrome}. Find an error pattern with at most ${one.weight} wrong bits. ${FORMAT}`,
    (one) =>
      `Switch number i flips the lamps that are marked 1 in line i:\n${columnsText(one)}\nAll lamps are off. Which at most ${one.weight} switches light exactly the lamps marked in ${one.syndrome}? ${FORMAT}`,
    (one) =>
      `${FORMAT} The bitwise sums modulo 2 of the chosen ones must be ${one.syndrome}; at most ${one.weight} may be chosen from\n${columnsText(one)}`,
    (one) =>
      `Over the field with two elements, write the vector ${one.syndrome} as a sum of at most ${one.weight} different vectors of this numbered list:\n${columnsText(one)}\n${FORMAT}`,
  ],
  slips({ columns, weight }, certificate) {
    const list = certificate.split(", ").map(Number);
    const other = range(columns.length).find((index) => !list.includes(index + 1)) ?? 0;
    return [
      list.slice(1).join(", "),
      [...list.slice(1), other + 1].join(", "),
      [...list, other + 1].join(", "),
      range(weight)
        .map((index) => index + 1)
        .join(", "),
    ];
  },
  variants: (_, certificate) => [certificate.split(", ").toReversed().join(" ")],
});

const FORMAT = "Answer with their numbers, separated by commas, in any order.";

function columnsText({ columns }: Problem): string {
  return columns.map((column, index) => `${index + 1}: ${column}`).join("\n");
}

function sumOf(columns: readonly string[], places: readonly number[]): string {
  return range(at(columns, 0).length)
    .map((bit) => places.filter((place) => at(columns, place)[bit] === "1").length % 2)
    .join("");
}
