/** text-offsets: positions of a text in code points, UTF-16 units and UTF-8 bytes. */
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

type Unit = "points" | "units" | "bytes";
export interface OffsetProblem {
  /** Code points. */
  points: number[];
  questions: { from: Unit; to: Unit; value: number }[];
}

/** By level: code points, questions. */
const SIZES = [
  [6, 2],
  [9, 3],
  [13, 4],
  [19, 6],
  [28, 8],
] as const;
const KINDS: readonly (readonly number[])[] = [
  [0x61, 0x62, 0x7a, 0x39],
  [0xe9, 0xdf, 0x3a9, 0x416],
  [0x20ac, 0x4e2d, 0x3042, 0xac00],
  [0x1f600, 0x1d11e, 0x10348, 0x1f680],
];
const NAMES: Readonly<Record<Unit, string>> = { points: "code point", units: "UTF-16 unit", bytes: "UTF-8 byte" };

export const textOffsets = itemRow<OffsetProblem>({
  id: "text-offsets",
  asks: "positions of a text converted between code points, UTF-16 units and UTF-8 bytes",
  form: "list",
  tries: 30,
  make,
  prompts: [
    (one) =>
      `A text has these code points (hexadecimal, from index 0): ${text(one)}\n\nOffsets count from 0. ${questions(one)} Give the numbers in order, separated by commas; if the offset is not the beginning of a code point, write "inside".`,
    (one) =>
      `An editor counts in UTF-16 units, a file in UTF-8 bytes, and a user in code points. For the text\n${text(one)}\n(hex code points) convert these offsets:\n${questions(one)}\nAnswer with a comma-separated list; offsets in the middle of a code point are "inside".`,
    (one) =>
      `${questions(one)}\n\nAll of this is about the text with the code points ${text(one)} (hex). Offsets begin at 0; write inside for one that splits a code point. Numbers in order with commas.`,
    (one) =>
      `Language servers mix up offsets. Convert, for the string ${text(one)} (code points in hex, in order):\n${questions(one)}\nEach result is a number, or "inside" when the given offset falls within a code point. Commas between the results.`,
  ],
});

function text({ points }: OffsetProblem): string {
  return points.map((point) => point.toString(16).toUpperCase().padStart(4, "0")).join(" ");
}

function questions({ questions: all }: OffsetProblem): string {
  return all
    .map(
      ({ from, to, value }, index) =>
        `(${index + 1}) Which ${NAMES[to]} offset belongs to ${NAMES[from]} offset ${value}?`,
    )
    .join(" ");
}

function make(rng: Rng, level: Level) {
  const [length, count] = at(SIZES, level - 1);
  const points = range(length).map(() => rng.pick(at(KINDS, rng.pick([0, 0, 1, 2, 3]))));
  const units: readonly Unit[] = ["points", "units", "bytes"];
  const all = offsetsOf(points);
  const made = range(count).map(() => {
    const [from, to] = [rng.pick(units), rng.pick(units)];
    const last = all[from].at(-1) ?? 0;
    return { from, to, value: Math.floor(last / 2) + rng.integer(Math.ceil(last / 2)) };
  });
  const problem = { points, questions: made };
  if (made.some(({ from, to }) => from === to)) return null;
  const items = converted(points, made);
  const insides = items.filter((item) => item === "inside").length;
  if (
    insides > count / 2 ||
    new Set(items).size < Math.min(count, 3) ||
    points.filter((point) => point > 0xffff).length < 2
  )
    return null;
  const bmp = converted(
    points.map((point) => Math.min(point, 0xffff)),
    made,
  );
  const latin = converted(
    points.map((point) => (point > 0x7f && point < 0x800 ? 0x61 : point)),
    made,
  );
  return { problem, items, misses: [bmp, latin, made.map(({ value }) => String(value))], effort: length + count * 5 };
}

/** The offsets of the beginnings of all code points, and of the end. */
function offsetsOf(points: readonly number[]): Readonly<Record<Unit, number[]>> {
  const sums = (size: (point: number) => number): number[] => {
    let sum = 0;
    return [0, ...points.map((point) => (sum += size(point)))];
  };
  return {
    points: sums(() => 1),
    units: sums((point) => (point > 0xffff ? 2 : 1)),
    bytes: sums((point) => (point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4)),
  };
}

function converted(points: readonly number[], all: OffsetProblem["questions"]): string[] {
  const offsets = offsetsOf(points);
  return all.map(({ from, to, value }) => {
    const place = offsets[from].indexOf(value);
    return place < 0 ? "inside" : String(offsets[to][place]);
  });
}
