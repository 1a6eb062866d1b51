/** object-lifetimes: when objects of a Python program are finalised by reference counts, and which cycles stay. */
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

type Step =
  | { readonly kind: "new" | "drop" | "cut"; readonly name: string }
  | { readonly kind: "copy" | "follow" | "link"; readonly name: string; readonly from: string }
  | { readonly kind: "mark"; readonly number: number };
export interface LifeProblem {
  source: string[];
}

/** By level: statements, variables, least and most finalised objects. */
const SIZES = [
  [6, 2, 1, 1],
  [9, 3, 2, 2],
  [13, 3, 3, 3],
  [18, 4, 4, 5],
  [26, 5, 6, 12],
] as const;
const NAMES = ["a", "b", "c", "d", "e"];

export const objectLifetimes = itemRow<LifeProblem>({
  id: "object-lifetimes",
  asks: "when reference counts of Python finalise objects, and which objects stay alive in cycles",
  form: "lines",
  tries: 60,
  make,
  prompts: [
    ({ source }) =>
      `CPython runs this with the cycle collector switched off. What is printed?\n\n${source.join("\n")}\n\nGive all lines.`,
    ({ source }) =>
      `${source.join("\n")}\n\nReference counting alone frees objects here (gc is disabled). Write down the output of this CPython program line by line.`,
    ({ source }) =>
      `Follow the reference counts in CPython:\n\n${source.join("\n")}\n\n__del__ runs as soon as the last reference is gone, and never for what the last line calls alive. List the printed lines.`,
    ({ source }) =>
      `Python program (CPython, gc off):\n\n${source.join("\n")}\n\nPredict its output: which object dies where, and which are left.`,
  ],
});

const CLASS = [
  "import gc",
  "gc.disable()",
  "alive = set()",
  "class Node:",
  "    def __init__(self, name):",
  "        self.name, self.next = name, None",
  "        alive.add(name)",
  "    def __del__(self):",
  "        alive.discard(self.name)",
  '        print("end", self.name)',
];

function lineOf(step: Step, number: number): string {
  if (step.kind === "mark") return `print("mark", ${step.number})`;
  if (step.kind === "new") return `${step.name} = Node("n${number}")`;
  if (step.kind === "drop") return `${step.name} = None`;
  if (step.kind === "cut") return `${step.name}.next = None`;
  if (!("from" in step)) throw new RangeError("a step without a source");
  if (step.kind === "copy") return `${step.name} = ${step.from}`;
  return step.kind === "follow" ? `${step.name} = ${step.from}.next` : `${step.name}.next = ${step.from}`;
}

interface Heap {
  readonly names: Map<string, number | null>;
  /** Link and count of each object. */
  readonly next: (number | null)[];
  readonly counts: number[];
  readonly out: string[];
  deaths: number;
}

function hold(heap: Heap, object: number | null): void {
  if (object !== null) heap.counts[object] = at(heap.counts, object) + 1;
}

function release(heap: Heap, object: number | null): void {
  if (object === null) return;
  heap.counts[object] = at(heap.counts, object) - 1;
  if (heap.counts[object] > 0) return;
  heap.out.push(`end n${object + 1}`);
  heap.deaths += 1;
  release(heap, heap.next[object] ?? null);
}

/** Whether the step is one: false where it would fail in Python, or change nothing. */
function apply(heap: Heap, step: Step): boolean {
  if (step.kind === "mark") {
    heap.out.push(`mark ${step.number}`);
    return true;
  }
  const { name } = step;
  const bind = (object: number | null): boolean => {
    hold(heap, object);
    const old = heap.names.get(name) ?? null;
    heap.names.set(name, object);
    release(heap, old);
    return true;
  };
  if (step.kind === "new") {
    heap.next.push(null);
    heap.counts.push(0);
    return bind(heap.counts.length - 1);
  }
  if (step.kind === "drop") return (heap.names.get(name) ?? null) !== null && bind(null);
  if (step.kind === "copy")
    return (
      (heap.names.get(step.from) ?? null) !== null && step.from !== name && bind(heap.names.get(step.from) ?? null)
    );
  const owner = heap.names.get(step.kind === "follow" ? step.from : name) ?? null;
  if (owner === null) return false;
  const link = heap.next[owner] ?? null;
  if (step.kind === "follow") return bind(link);
  const target = step.kind === "link" ? (heap.names.get(step.from) ?? null) : null;
  if (link === target) return false;
  hold(heap, target);
  heap.next[owner] = target;
  release(heap, link);
  return true;
}

function make(rng: Rng, level: Level) {
  const [count, variables, least, most] = at(SIZES, level - 1);
  const names = NAMES.slice(0, variables);
  const heap: Heap = { names: new Map(), next: [], counts: [], out: [], deaths: 0 };
  const lines: string[] = [];
  const marks = count / 6;
  for (let draw = 0; draw < 20 * count && lines.length < count; draw++) {
    const [name, from] = [rng.pick(names), rng.pick(names)];
    const kind =
      lines.length < variables
        ? "new"
        : rng.pick(["new", "new", "drop", "cut", "copy", "copy", "follow", "link", "link", "link"] as const);
    const step: Step = kind === "new" || kind === "drop" || kind === "cut" ? { kind, name } : { kind, name, from };
    if (lines.length < variables && heap.names.has(name)) continue;
    if (!apply(heap, step)) continue;
    lines.push(lineOf(step, heap.counts.length));
    const isMarked = lines.length % Math.ceil(count / marks) === 0;
    if (!isMarked) continue;
    const mark: Step = { kind: "mark", number: lines.length };
    apply(heap, mark);
    lines.push(lineOf(mark, 0));
  }
  for (const name of names) {
    if ((heap.names.get(name) ?? null) === null) continue;
    apply(heap, { kind: "drop", name });
    lines.push(`${name} = None`);
  }
  const alive = heap.counts.flatMap((one, index) => (one > 0 ? [`n${index + 1}`] : [])).toSorted();
  const items = [...heap.out, ["alive", ...alive].join(" ")];
  const early = heap.out.findIndex((line) => line.startsWith("mark"));
  if (heap.deaths < least || heap.deaths > most || (level > 1 && alive.length === 0) || early < 0) return null;
  const all = heap.counts.map((_, index) => `end n${index + 1}`);
  const only = heap.out.filter((line) => line.startsWith("mark"));
  const misses = [
    [...only, ...all, "alive"],
    [...heap.out, "alive"],
    [...only, ["alive", ...range(heap.counts.length).map((index) => `n${index + 1}`)].join(" ")],
    [...heap.out.filter((line) => !line.startsWith("mark")), ...only, items.at(-1) ?? ""],
  ];
  const source = [...CLASS, ...lines, 'print("alive", *sorted(alive))', "Node.__del__ = lambda self: None"];
  return { problem: { source }, items, misses, effort: lines.length + 2 * heap.deaths };
}
