/** match-arm-counts: how many values of a finite type each arm of a match takes, and how many none takes. */
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

/** A pattern: anything, one of some words, or a pair. */
type Pattern = { is: "any" } | { is: "words"; words: string[] } | { is: "pair"; left: Pattern; right: Pattern };
/** A type: words, pairs, or one of both. */
type Shape =
  | { is: "words"; words: string[] }
  | { is: "pair"; left: Shape; right: Shape }
  | { is: "either"; left: Shape; right: Shape };

export interface MatchProblem {
  shape: Shape;
  arms: Pattern[];
}

/** By level: arms, depth of pairs, least and most values. */
const SIZES = [
  [3, 1, 4, 9],
  [4, 1, 9, 16],
  [5, 2, 16, 40],
  [6, 2, 40, 90],
  [8, 3, 90, 400],
] as const;
const WORDS = ["red", "green", "blue", "north", "south", "up", "down", "open", "shut", "cold", "warm"];
const TRIES = 200;

export const matchArmCounts = itemRow<MatchProblem>({
  id: "match-arm-counts",
  asks: "how many values each arm of a pattern match takes, and how many fall through",
  form: "list",
  tries: TRIES,
  make: draw,
  prompts: [
    (one) =>
      `v takes every value of the type\n\nT = ${shapeText(one.shape)}\n\nonce (a | b is a choice, (a, b) a pair). The code is\n\n${matchSource(one.arms)}\n\nHow many values does each case take (the first one that fits), from the top? Add the number of values that no case takes. Numbers separated by commas.`,
    (one) =>
      `Pattern matching in Python:\n\n${matchSource(one.arms)}\n\nApplied to all values of T = ${shapeText(one.shape)} (words are strings, (x, y) are pairs, | separates alternatives). State how often each of the ${one.arms.length} arms is chosen, in their order, and finally how many values fall through all of them. Use commas.`,
    (one) =>
      `Is this match exhaustive, and which arms are dead? Quantify it.\n\nType of v: ${shapeText(one.shape)} where | means or and brackets with a comma mean a pair.\n\n${matchSource(one.arms)}\n\nAnswer: the count of values handled by each arm in order (0 for a dead one), followed by the count of unhandled values, comma-separated.`,
    (one) =>
      `Count the cases. A value v is built as ${shapeText(one.shape)} (a vertical bar is a choice, a comma in brackets makes a pair); each possible value is tested once:\n\n${matchSource(one.arms)}\n\nFor arm 1, arm 2 and so on write how many values end there; the last number is how many match nothing. Separate by commas.`,
  ],
});

function shapeText(shape: Shape, isInner = false): string {
  if (shape.is === "words")
    return isInner && shape.words.length > 1 ? `(${shape.words.join(" | ")})` : shape.words.join(" | ");
  if (shape.is === "pair") return `(${shapeText(shape.left)}, ${shapeText(shape.right)})`;
  const text = `${shapeText(shape.left)} | ${shapeText(shape.right)}`;
  return isInner ? `(${text})` : text;
}

export function matchSource(arms: readonly Pattern[]): string {
  return ["match v:", ...arms.map((arm, index) => `    case ${patternText(arm)}:\n        arm = ${index + 1}`)].join(
    "\n",
  );
}

function patternText(pattern: Pattern): string {
  if (pattern.is === "any") return "_";
  if (pattern.is === "words") return pattern.words.map((word) => `"${word}"`).join(" | ");
  return `(${patternText(pattern.left)}, ${patternText(pattern.right)})`;
}

export type Value = string | readonly [Value, Value];

export function valuesOf(shape: Shape): Value[] {
  if (shape.is === "words") return [...shape.words];
  const [left, right] = [valuesOf(shape.left), valuesOf(shape.right)];
  return shape.is === "either" ? [...left, ...right] : left.flatMap((a) => right.map((b): Value => [a, b]));
}

function draw(rng: Rng, level: Level) {
  const [count, depth, least, most] = at(SIZES, level - 1);
  const words = [...WORDS];
  const drawWords = (): Shape => {
    const start = rng.integer(words.length - 3);
    return { is: "words", words: words.slice(start, start + 2 + rng.integer(2)) };
  };
  const drawShape = (left: number): Shape => {
    if (left === 0) return drawWords();
    const pair: Shape = { is: "pair", left: drawShape(left - 1), right: drawShape(rng.integer(left)) };
    return rng.integer(3) === 0 ? { is: "either", left: drawWords(), right: pair } : pair;
  };
  const shape = drawShape(depth);
  const drawPattern = (of: Shape, left: number): Pattern => {
    if (rng.integer(4) === 0 && left < depth) return { is: "any" };
    if (of.is === "words") {
      const some = of.words.filter(() => rng.integer(2) === 0);
      return { is: "words", words: some.length === 0 ? [rng.pick(of.words)] : some };
    }
    if (of.is === "either") return drawPattern(rng.integer(3) === 0 ? of.left : of.right, left);
    return { is: "pair", left: drawPattern(of.left, left - 1), right: drawPattern(of.right, left - 1) };
  };
  const arms = range(count).map(() => drawPattern(shape, depth));
  const values = valuesOf(shape);
  // A choice between equal words would give a value twice.
  if (
    values.length < least ||
    values.length > most ||
    new Set(values.map((value) => JSON.stringify(value))).size < values.length
  )
    return null;
  const items = countsOf(arms, values);
  if (items.filter((item) => item === "0").length > count / 3 || new Set(items).size < 3) return null;
  const alone = arms.map((arm) => String(values.filter((value) => fits(arm, value)).length));
  const misses = [[...alone, at(items, count)], [...items.slice(0, -1), "0"], countsOf(arms.toReversed(), values)];
  // Who counts each arm alone must be wrong.
  if (misses[0]?.join() === items.join()) return null;
  return { problem: { shape, arms }, items, misses, effort: count * values.length };
}

function countsOf(arms: readonly Pattern[], values: readonly Value[]): string[] {
  const counts = range(arms.length + 1).map(() => 0);
  for (const value of values) {
    const found = arms.findIndex((arm) => fits(arm, value));
    const place = found < 0 ? arms.length : found;
    counts[place] = at(counts, place) + 1;
  }
  return counts.map(String);
}

function fits(pattern: Pattern, value: Value): boolean {
  if (pattern.is === "any") return true;
  if (pattern.is === "words") return typeof value === "string" && pattern.words.includes(value);
  return typeof value !== "string" && fits(pattern.left, value[0]) && fits(pattern.right, value[1]);
}
