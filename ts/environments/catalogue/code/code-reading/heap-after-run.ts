/** heap-after-run: the lists that names hold after assignments, copies and changes, and which names hold the same one. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

type Step =
  | { do: "new"; name: string; values: number[] }
  | { do: "same"; name: string; other: string }
  | { do: "copy"; name: string; other: string; how: "slice" | "list" }
  | { do: "pair"; name: string; other: string; second: string }
  | { do: "append"; name: string; value: number }
  | { do: "extend"; name: string; value: number }
  | { do: "rebind"; name: string; value: number }
  | { do: "inner"; name: string; value: number }
  | { do: "put"; name: string; value: number };

interface Problem {
  steps: Step[];
}

/** A list of numbers and other lists; names share it. */
type Box = (number | Box)[];

/** By level: names, steps after the first lists, and whether lists hold lists. */
const SIZES = [
  [3, 3, false],
  [3, 6, false],
  [4, 8, true],
  [5, 12, true],
  [6, 18, true],
] as const;
const LONGEST = 40;

export const heapAfterRun = itemRow<Problem>({
  id: "heap-after-run",
  asks: "the lists behind names after aliasing and copies, and which names share one",
  form: "lines",
  make,
  prompts: [
    ({ steps }) =>
      `After this Python code, what does each name hold?\n\n${heapSource(steps)}\n\nWrite one line per name in alphabetical order, such as a = [1, 2], and a last line with the names grouped by object: names of one and the same list stand together, groups are separated by a space and are in alphabetical order (such as ac b).`,
    ({ steps }) =>
      `Draw the memory after running\n\n${heapSource(steps)}\n\nReport it so: first, for every name in alphabetical order, a line like b = [3, [1]]; then a final line which joins the letters of names that refer to the same object and leaves a space between different objects, e.g. "ab c". Letters and groups are in alphabetical order.`,
    ({ steps }) =>
      `${heapSource(steps)}\n\nWhich names are the same list now, and what is inside? Answer: lines of the form c = [5, 6] for all names from a on, followed by one line of groups (letters of names that are identical by "is" written together; groups alphabetical, one space between, for example a bd c).`,
    ({ steps }) =>
      `Aliasing exercise. The statements\n\n${heapSource(steps)}\n\nare executed. List the final contents, one name a line and in alphabetical order, as name = contents (Python's notation). End with the partition of the names into objects: names bound to one object form one word, words are sorted and separated by spaces.`,
  ],
});

function make(rng: Rng, level: Level) {
  const [count, length, isNested] = at(SIZES, level - 1);
  const names = "abcdef".slice(0, count).split("");
  const steps: Step[] = names.slice(0, 2).map((name) => ({ do: "new", name, values: numbers(rng) }));
  const bound = names.slice(0, 2);
  for (const unbound of names.slice(2)) {
    steps.push(binding(rng, unbound, bound, isNested));
    bound.push(unbound);
  }
  for (const _ of range(length)) steps.push(change(rng, names, isNested));
  const items = linesAfter(steps);
  const groups = items?.at(-1)?.split(" ").length ?? 0;
  if (items === null || items.some((line) => line.length > LONGEST) || groups === count || groups < 2) return null;
  const last = steps.at(-1);
  const misses = [
    // Every assignment copies.
    steps.map((step): Step => (step.do === "same" ? { ...step, do: "copy", how: "list" } : step)),
    // A sum changes the list in place.
    steps.map((step): Step => (step.do === "rebind" ? { ...step, do: "extend" } : step)),
    // A copy is the same list.
    steps.map((step): Step => (step.do === "copy" ? { do: "same", name: step.name, other: step.other } : step)),
    steps.filter((step) => step !== last),
  ].flatMap((other) => {
    const lines = linesAfter(other);
    return lines === null ? [] : [lines];
  });
  // Who takes every assignment for a copy must be wrong.
  if (misses[0]?.join("\n") === items.join("\n")) return null;
  const shared = steps.filter((step) => step.do !== "new").length;
  return { problem: { steps }, items, misses, effort: shared * (count - groups + 1) + 3 * shared };
}

function binding(rng: Rng, name: string, bound: readonly string[], isNested: boolean): Step {
  const other = rng.pick(bound);
  if (isNested && rng.integer(2) === 0) return { do: "pair", name, other, second: rng.pick(bound) };
  return rng.integer(3) === 0 ? { do: "copy", name, other, how: "slice" } : { do: "same", name, other };
}

function change(rng: Rng, names: readonly string[], isNested: boolean): Step {
  const [name, other] = [rng.pick(names), rng.pick(names)];
  const value = between(rng, 1, 9);
  switch (rng.integer(isNested ? 9 : 8)) {
    case 0:
      return { do: "rebind", name, value };
    case 1:
      return { do: "extend", name, value };
    case 2:
      return { do: "put", name, value };
    case 3:
    case 4:
      return name === other ? { do: "append", name, value } : { do: "same", name, other };
    case 5:
      return { do: "copy", name, other, how: rng.pick(["slice", "list"] as const) };
    case 8:
      return { do: "inner", name, value };
    default:
      return { do: "append", name, value };
  }
}

function numbers(rng: Rng): number[] {
  return range(between(rng, 1, 3)).map(() => between(rng, 1, 9));
}

/** Null where a step is impossible, or a list would hold itself. */
function linesAfter(steps: readonly Step[]): string[] | null {
  const boxes = new Map<string, Box>();
  for (const step of steps) if (!isDone(step, boxes)) return null;
  const names = [...boxes.keys()].toSorted();
  const lines = names.map((name) => `${name} = ${shown(boxes.get(name) ?? [])}`);
  const groups = new Map<Box, string>();
  for (const name of names) {
    const box = boxes.get(name) ?? [];
    groups.set(box, (groups.get(box) ?? "") + name);
  }
  return [...lines, [...groups.values()].join(" ")];
}

function isDone(step: Step, boxes: Map<string, Box>): boolean {
  const own = boxes.get(step.name) ?? [];
  switch (step.do) {
    case "new":
      boxes.set(step.name, [...step.values]);
      return true;
    case "same":
      boxes.set(step.name, boxes.get(step.other) ?? []);
      return true;
    case "copy":
      boxes.set(step.name, [...(boxes.get(step.other) ?? [])]);
      return true;
    case "pair":
      boxes.set(step.name, [boxes.get(step.other) ?? [], boxes.get(step.second) ?? []]);
      return true;
    case "append":
    case "extend":
      own.push(step.value);
      return true;
    case "rebind":
      boxes.set(step.name, [...own, step.value]);
      return true;
    case "put":
      if (own.length === 0) return false;
      own[0] = step.value;
      return true;
    case "inner": {
      const [first] = own;
      if (!Array.isArray(first)) return false;
      first.push(step.value);
      return true;
    }
  }
}

function shown(box: Box): string {
  return `[${box.map((item) => (Array.isArray(item) ? shown(item) : String(item))).join(", ")}]`;
}

export function heapSource(steps: readonly Step[]): string {
  return steps
    .map((step) => {
      const { name } = step;
      switch (step.do) {
        case "new":
          return `${name} = [${step.values.join(", ")}]`;
        case "same":
          return `${name} = ${step.other}`;
        case "copy":
          return step.how === "slice" ? `${name} = ${step.other}[:]` : `${name} = list(${step.other})`;
        case "pair":
          return `${name} = [${step.other}, ${step.second}]`;
        case "append":
          return `${name}.append(${step.value})`;
        case "extend":
          return `${name} += [${step.value}]`;
        case "rebind":
          return `${name} = ${name} + [${step.value}]`;
        case "inner":
          return `${name}[0].append(${step.value})`;
        case "put":
          return `${name}[0] = ${step.value}`;
      }
    })
    .join("\n");
}
