/** array-method-chain: the arrays that JavaScript methods return and leave behind, with negative places and default sorting. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

interface Step {
  /** Name of the method, and its numbers. */
  method:
    | "splice"
    | "slice"
    | "copyWithin"
    | "fill"
    | "sort"
    | "reverse"
    | "push"
    | "unshift"
    | "shift"
    | "pop"
    | "concat"
    | "indexOf"
    | "at";
  numbers: number[];
}
export interface ArrayProblem {
  start: number[];
  steps: Step[];
}

/** By level: elements, steps. */
const SIZES = [
  [5, 3],
  [6, 5],
  [7, 8],
  [8, 12],
  [9, 18],
] as const;

export const arrayMethodChain = itemRow<ArrayProblem>({
  id: "array-method-chain",
  asks: "what JavaScript array methods return and leave behind, with negative places and default sorting",
  form: "lines",
  tries: 40,
  make,
  prompts: [
    (one) => `${arraySource(one)}\n\nWrite what this JavaScript program logs, one line for each call of log.`,
    (one) =>
      `log prints arrays with commas between the elements. Trace the array and write all logged lines.\n\n${arraySource(one)}`,
    (one) =>
      `Which methods change a, and what do they return?\n\n${arraySource(one)}\n\nGive the output, line by line (JavaScript).`,
    (one) => `Output of the following JavaScript, each log on its line:\n\n${arraySource(one)}`,
  ],
});

export function arraySource({ start, steps }: ArrayProblem): string {
  const lines = steps.map(
    ({ method, numbers }) =>
      `log(a.${method}(${method === "concat" ? `[${numbers.join(", ")}]` : numbers.join(", ")}));`,
  );
  return `const log = (value) => console.log(String(value));\nconst a = [${start.join(", ")}];\n${lines.join("\n")}\nlog(a);`;
}

function make(rng: Rng, level: Level) {
  const [length, count] = at(SIZES, level - 1);
  const start = range(length).map(() => rng.pick([between(rng, 1, 9), between(rng, 10, 120)]));
  const place = (): number => between(rng, -4, 6);
  const value = (): number => between(rng, 1, 120);
  const steps = range(count).map((): Step => {
    const method = rng.pick([
      "splice",
      "splice",
      "splice",
      "slice",
      "copyWithin",
      "fill",
      "sort",
      "reverse",
      "push",
      "unshift",
      "shift",
      "pop",
      "concat",
      "indexOf",
      "at",
    ] as const);
    switch (method) {
      case "splice":
        return { method, numbers: [place(), between(rng, 0, 3), ...range(rng.integer(3)).map(value)] };
      case "slice":
        return { method, numbers: [place(), place()] };
      case "copyWithin":
        return { method, numbers: [between(rng, -3, 3), between(rng, -3, 4), place()] };
      case "fill":
        return { method, numbers: [value(), between(rng, -3, 4), place()] };
      case "push":
      case "unshift":
      case "concat":
        return { method, numbers: range(between(rng, 1, 2)).map(value) };
      case "indexOf":
        return { method, numbers: [rng.pick(start)] };
      case "at":
        return { method, numbers: [place()] };
      default:
        return { method, numbers: [] };
    }
  });
  const problem = { start, steps };
  const items = run(problem, "right");
  if (items.some((item) => item === "") || items.length < count + 1 || (items.at(-1) ?? "").split(",").length < 3)
    return null;
  const misses = (["numeric", "ends", "pure"] as const).map((slip) => run(problem, slip));
  if (level > 1 && misses.some((miss, index) => index === 2 && miss.join("|") === items.join("|"))) return null;
  return { problem, items, misses, effort: length + 2 * count + items.join(",").split(",").length };
}

/** Slips: sort compares numbers, splice takes an end instead of a count, or nothing changes the array. */
function run({ start, steps }: ArrayProblem, how: Slip): string[] {
  const array = [...start];
  // What a call returns is logged before the next one changes it.
  const logs = steps.map((step) => String(returned(how === "pure" ? [...array] : array, step, how)));
  return [...logs, String(array)];
}

type Slip = "right" | "numeric" | "ends" | "pure";

function returned(list: number[], { method, numbers }: Step, how: Slip): number | readonly number[] | undefined {
  const [first = 0, second = 0, third = 0] = numbers;
  switch (method) {
    case "splice":
      return list.splice(first, how === "ends" ? Math.max(0, second - first) : second, ...numbers.slice(2));
    case "slice":
      return list.slice(first, second);
    case "copyWithin":
      return list.copyWithin(first, second, third);
    case "fill":
      return list.fill(first, second, third);
    case "sort":
      // The default order is that of the texts, by UTF-16 units.
      return list.sort((a, b) =>
        how === "numeric" ? a - b : String(a) < String(b) ? -1 : Number(String(a) > String(b)),
      );
    case "reverse":
      return list.reverse();
    case "push":
      return list.push(...numbers);
    case "unshift":
      return list.unshift(...numbers);
    case "shift":
      return list.shift();
    case "pop":
      return list.pop();
    case "concat":
      return [...list, ...numbers];
    case "indexOf":
      return list.indexOf(first);
    case "at":
      return list.at(first);
  }
}
