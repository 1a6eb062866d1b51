/** linearisation-witness: an order of overlapping operations that explains their results. */
import { between, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { witnessRow } from "../witness-row.ts";

interface Operation {
  from: number;
  to: number;
  /** `write` and `push` have a value, `read` and `pop` a result. */
  do: "write" | "read" | "push" | "pop";
  value: number;
}
interface Problem {
  object: "register" | "queue" | "stack";
  operations: Operation[];
}

/** By level: operations, and how far their times may reach. */
const SIZES = [
  [4, 12],
  [6, 25],
  [8, 35],
  [11, 45],
  [15, 55],
] as const;
const RULES = {
  register: "a register that holds 0 at first; read returns the last written value",
  queue: "a queue that is empty at first; pop returns the value that was pushed first, or 0 if there is none",
  stack: "a stack that is empty at first; pop returns the value that was pushed last, or 0 if there is none",
} as const;

export const linearisationWitness = witnessRow<Problem>({
  id: "linearisation-witness",
  asks: "an order of concurrent operations that respects their times and explains their results",
  form: "list",
  tries: 60,
  make,
  isRight: (problem, items) =>
    explains(
      problem,
      items.map((item) => (/^o\d{1,2}$/u.test(item) ? Number(item.slice(1)) - 1 : -1)),
    ),
  prompts: [
    (one) =>
      `The object is ${RULES[one.object]}. History (call time, return time):\n${text(one)}\n\nFind a linearisation: an order of all operations in which each result is right, and an operation that returned before another was called stands before it. Write the names in order, separated by commas.`,
    (one) =>
      `${text(one)}\n\nThese calls of several threads went to ${RULES[one.object]}. Prove that the history is linearisable by an order of all operations that fits the results and the real times (who returns before another starts comes first). Comma-separated names.`,
    (one) =>
      `At which order of effects did this run work? Object: ${RULES[one.object]}.\n\n${text(one)}\n\nEvery operation took effect at one moment between its call and its return. List the operations by these moments, with commas; any order that is possible is right.`,
    (one) =>
      `A checker is given\n\n${text(one)}\n\nand must output a legal sequential history of ${RULES[one.object]}, keeping the order of operations that do not overlap. What could it output? Names with commas between.`,
  ],
});

function text({ operations }: Problem): string {
  return operations
    .map((one, index) => {
      const call = one.do === "write" || one.do === "push" ? `${one.do}(${one.value})` : `${one.do}() = ${one.value}`;
      return `o${index + 1} [${one.from}, ${one.to}] ${call}`;
    })
    .join("\n");
}

function make(rng: Rng, level: Level) {
  const [count, reach] = at(SIZES, level - 1);
  const object = rng.pick(["register", "queue", "stack"] as const);
  const verbs = object === "register" ? (["write", "read"] as const) : (["push", "pop"] as const);
  const used = new Set<number>();
  const fresh = (): number => {
    for (;;) {
      const time = between(rng, 1, 20 * count);
      if (!used.has(time)) {
        used.add(time);
        return time;
      }
    }
  };
  const points = range(count)
    .map(fresh)
    .toSorted((a, b) => a - b);
  const held: number[] = [];
  const order = points.map((point): Operation => {
    let [from, to] = [point - between(rng, 0, reach), point + between(rng, 0, reach)];
    // Calls and returns have times of their own.
    while (used.has(from)) from -= 1;
    used.add(from);
    while (used.has(to)) to += 1;
    used.add(to);
    const isWrite = rng.integer(2) === 0;
    const value = isWrite ? between(rng, 1, object === "register" ? 4 : 9) : take(object, held);
    if (isWrite) give(object, held, value);
    return { from, to, do: verbs[isWrite ? 0 : 1], value };
  });
  const least = Math.min(...order.map(({ from }) => from));
  const places = shuffled(range(count), rng);
  const operations = places.map((place) => {
    const one = at(order, place);
    return { ...one, from: one.from - least, to: one.to - least };
  });
  const problem = { object, operations };
  const by = (key: (one: Operation) => number): number[] =>
    range(count).toSorted((a, b) => key(at(operations, a)) - key(at(operations, b)));
  const naive = [by(({ from }) => from), by(({ to }) => to), by(({ from, to }) => from + to), range(count)];
  if (naive.some((one) => explains(problem, one))) return null;
  const label = (some: readonly number[]): string[] => some.map((place) => `o${place + 1}`);
  const overlaps = operations.reduce(
    (sum, one, index) =>
      sum + operations.slice(index + 1).filter((other) => one.from < other.to && other.from < one.to).length,
    0,
  );
  return {
    problem,
    witness: label(range(count).map((index) => places.indexOf(index))),
    misses: naive.map(label),
    effort: overlaps + count * 4,
  };
}

function give(object: Problem["object"], held: number[], value: number): void {
  if (object === "register") held.length = 0;
  held.push(value);
}

function take(object: Problem["object"], held: number[]): number {
  if (object === "register") return held[0] ?? 0;
  return (object === "queue" ? held.shift() : held.pop()) ?? 0;
}

function explains({ object, operations }: Problem, order: readonly number[]): boolean {
  if (order.length !== operations.length || new Set(order).size < order.length) return false;
  const held: number[] = [];
  let latestCall = -Infinity;
  return order.every((place) => {
    const one = operations[place];
    // Whatever stands earlier must have been called before this one returned.
    if (one === undefined || one.to < latestCall) return false;
    latestCall = Math.max(latestCall, one.from);
    if (one.do === "read" || one.do === "pop") return take(object, held) === one.value;
    give(object, held, one.value);
    return true;
  });
}
