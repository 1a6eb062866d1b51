/** snippet-description-match: which of ten descriptions fits each of several functions. */
import { between, sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";
import { drawStep, hasParameter, runSteps, type Step, STEP_KINDS, stepsPython, stepText } from "../list-steps.ts";

interface Problem {
  /** What each function does. */
  functions: Step[][];
  /** In the order of the letters. */
  descriptions: Step[][];
}

/** By level: functions, steps of each, and functions that have a twin. */
const SIZES = [
  [4, 1, 0],
  [6, 2, 0],
  [8, 2, 3],
  [8, 3, 3],
  [8, 4, 4],
] as const;
const LETTERS = "ABCDEFGHIJ";
const INPUTS = 12;
/** A random assignment gets some right. */
const BASE = 0.35;

export const snippetDescriptionMatch = itemRow<Problem>({
  id: "snippet-description-match",
  asks: "the description, among ten, that fits each of several short functions",
  form: "list",
  base: BASE,
  make,
  prompts: [
    (one) =>
      `Match each function with its description. Every description fits at most one function, and ${10 - one.functions.length} of them fit none.\n\n${matchSource(one.functions)}\n\n${texts(one)}\n\nAnswer with the letters for f1, f2, ... in this order, separated by commas.`,
    (one) =>
      `The comments of these Python functions got lost:\n\n${matchSource(one.functions)}\n\nThe lost comments are among the following, together with some that never belonged to any of them:\n\n${texts(one)}\n\nWhich belongs to which? List one letter per function, from f1 to f${one.functions.length}, with commas.`,
    (one) =>
      `Descriptions of list procedures:\n\n${texts(one)}\n\nImplementations:\n\n${matchSource(one.functions)}\n\nFor f1, f2 and so on give the letter of the description that the implementation follows exactly for every list. Comma-separated letters; most of them right earns a part.`,
    (one) =>
      `A reviewer must check which specification every function below meets (each meets exactly one).\n\n${matchSource(one.functions)}\n\nSpecifications:\n\n${texts(one)}\n\nGive ${one.functions.length} letters separated by commas: that of f1 first.`,
  ],
});

function make(rng: Rng, level: Level) {
  const [count, length, twins] = at(SIZES, level - 1);
  const lists: Step[][] = [];
  const inputs = range(INPUTS).map(() => range(between(rng, 8, 14)).map(() => between(rng, -15, 50)));
  const known = new Set<string>();
  const results = (steps: readonly Step[]): string => JSON.stringify(inputs.map((list) => runSteps(steps, list)));
  for (let turn = 0; turn < 200 && lists.length < LETTERS.length; turn++) {
    const other = lists[turn % Math.max(1, lists.length)];
    const steps =
      other !== undefined && lists.length >= LETTERS.length - twins
        ? twinOf(other, rng)
        : sample(STEP_KINDS, length, rng).map((kind) => drawStep(rng, kind));
    const result = results(steps);
    if (known.has(result)) continue;
    known.add(result);
    lists.push(steps);
  }
  if (lists.length < LETTERS.length) return null;
  const descriptions = shuffled(lists, rng);
  const places = sample(range(LETTERS.length), count, rng);
  const items = places.map((place) => LETTERS.charAt(place));
  const misses = [
    items.toReversed(),
    [...items.slice(1), at(items, 0)],
    range(count).map((index) => LETTERS.charAt(index)),
  ];
  const functions = places.map((place) => at(descriptions, place));
  return { problem: { functions, descriptions }, items, misses, effort: count * length * (3 + twins) };
}

/** The same steps with another parameter, or in another order. */
function twinOf(steps: readonly Step[], rng: Rng): Step[] {
  const place = rng.integer(steps.length);
  if (steps.length > 1 && rng.integer(2) === 0) {
    const [first, second, ...rest] = steps;
    return first === undefined || second === undefined ? [...steps] : [second, first, ...rest];
  }
  return steps.map((step, index) => (index === place && hasParameter(step) ? { ...step, by: step.by + 1 } : step));
}

export function matchSource(functions: readonly (readonly Step[])[]): string {
  return functions
    .map((steps, index) => `def f${index + 1}(items):\n${stepsPython(steps)}\n    return items`)
    .join("\n\n");
}

function texts({ descriptions }: Problem): string {
  return descriptions
    .map((steps, index) => `${LETTERS.charAt(index)}: ${steps.map((step) => stepText(step)).join("; then ")}.`)
    .join("\n");
}
