/** heap-list: the list behind a binary heap after pushes, pops and replacements. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

type Step = { do: "push" | "replace" | "pushpop"; value: number } | { do: "pop" };
export interface HeapProblem {
  start: number[];
  steps: Step[];
}

/** By level: numbers at first, steps. */
const SIZES = [
  [5, 2],
  [7, 4],
  [9, 6],
  [12, 9],
  [16, 14],
] as const;

export const heapList = itemRow<HeapProblem>({
  id: "heap-list",
  asks: "the list behind Python's heapq after heapify, pushes, pops and replacements",
  form: "list",
  tries: 20,
  make,
  prompts: [
    (one) =>
      `${heapSource(one)}\n\nWhich list does this Python program print? Write its elements in order, separated by commas.`,
    (one) =>
      `Follow the array of a binary min-heap as heapq keeps it:\n\n${heapSource(one)}\n\nGive the final list h, element by element, with commas.`,
    (one) =>
      `heapq is a heap in a list: the children of place i are 2i + 1 and 2i + 2. What is left in h, place by place?\n\n${heapSource(one)}\n\nAnswer with comma-separated numbers.`,
    (one) =>
      `Not the sorted order, but the exact layout of the list is wanted.\n\n${heapSource(one)}\n\nList the printed elements (commas between).`,
  ],
});

export function heapSource({ start, steps }: HeapProblem): string {
  const lines = steps.map((step) =>
    step.do === "pop" ? "heapq.heappop(h)" : `heapq.heap${step.do}(h, ${step.value})`,
  );
  return `import heapq\nh = [${start.join(", ")}]\nheapq.heapify(h)\n${lines.join("\n")}\nprint(h)`;
}

function make(rng: Rng, level: Level) {
  const [length, count] = at(SIZES, level - 1);
  const start = range(length).map(() => between(rng, 1, 60));
  const steps = range(count).map((): Step => {
    const kind = rng.pick(["push", "push", "pop", "pop", "replace", "pushpop"] as const);
    return kind === "pop" ? { do: "pop" } : { do: kind, value: between(rng, 1, 70) };
  });
  const { list, moves } = run({ start, steps });
  const items = list.map(String);
  const sorted = list.toSorted((a, b) => a - b).map(String);
  if (list.length < 4 || sorted.join() === items.join()) return null;
  const alone = run({ start: start.toSorted((a, b) => a - b), steps }).list.map(String);
  return {
    problem: { start, steps },
    items,
    misses: [sorted, alone, start.map(String)],
    effort: moves + length + 2 * count,
  };
}

/** As heapq: a sifted-down element first goes to the bottom along the smaller children, and then up again. */
function run({ start, steps }: HeapProblem): { list: number[]; moves: number } {
  const heap = [...start];
  let moves = 0;
  const rise = (from: number, top: number): void => {
    let place = from;
    while (place > top) {
      const parent = (place - 1) >> 1;
      if (at(heap, place) >= at(heap, parent)) return;
      [heap[place], heap[parent]] = [at(heap, parent), at(heap, place)];
      place = parent;
      moves += 1;
    }
  };
  const sink = (from: number): void => {
    let place = from;
    for (let child = 2 * place + 1; child < heap.length; child = 2 * place + 1) {
      const right = heap[child + 1];
      // Of equal children the right one goes up.
      const next = right !== undefined && right <= at(heap, child) ? child + 1 : child;
      [heap[place], heap[next]] = [at(heap, next), at(heap, place)];
      place = next;
      moves += 1;
    }
    rise(place, from);
  };
  for (const place of range(heap.length >> 1).toReversed()) sink(place);
  for (const step of steps) {
    if (step.do === "push") {
      heap.push(step.value);
      rise(heap.length - 1, 0);
    } else if (step.do === "pop") {
      const last = heap.pop();
      if (heap.length === 0 || last === undefined) continue;
      heap[0] = last;
      sink(0);
    } else if (heap.length > 0 && (step.do === "replace" || at(heap, 0) < step.value)) {
      heap[0] = step.value;
      sink(0);
    }
  }
  return { list: heap, moves };
}
