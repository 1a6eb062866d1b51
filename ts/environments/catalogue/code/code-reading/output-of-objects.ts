/**
 * output-of-objects: the output of methods that are overridden and call super under multiple inheritance.
 *
 * The order of classes is Python's C3 linearisation (Barrett et al., 1996).
 */
import { between, sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

interface Method {
  name: string;
  /** Whether the method calls the next one of this name, before or after its print. */
  next: "no" | "first" | "last";
  /** A method of the object that is called at the end; it comes later in the alphabet. */
  calls: string | null;
}

interface Class {
  name: string;
  bases: number[];
  /** Class attribute. */
  tag: number | null;
  methods: Method[];
}

interface Problem {
  classes: Class[];
  uses: { of: number; method: string }[];
}

/** By level: classes, methods, uses, least and most lines, least length of an order. */
const SIZES = [
  [2, 1, 2, 2, 6, 2],
  [4, 2, 2, 5, 9, 3],
  [5, 2, 3, 8, 14, 4],
  [6, 3, 3, 12, 20, 5],
  [8, 3, 4, 18, 36, 5],
] as const;
const METHODS = ["draw", "load", "move"];
const NAMES = "ABCDEFGHKLMNPQRSTUVW";
const TRIES = 400;
const MOST_LINES = 60;

export const outputOfObjects = itemRow<Problem>({
  id: "output-of-objects",
  asks: "the output of overridden methods and super calls under multiple inheritance",
  form: "lines",
  tries: TRIES,
  make: draw,
  prompts: [
    (one) =>
      `Find the output of this object-oriented Python program. Mind the method resolution order.\n\n${objectsSource(one)}\n\nState the printed lines one below the other.`,
    (one) =>
      `${objectsSource(one)}\n\nPython 3 runs the classes and calls above. What appears on the console? Write line after line.`,
    (one) =>
      `Someone inherited an inheritance puzzle:\n\n${objectsSource(one)}\n\nResolve every call of super() by the linearisation of the object's class, and give the text that the program prints, all lines in their order.`,
    (one) =>
      `Which methods and attributes are found, and when? Answer with the exact printed lines of\n\n${objectsSource(one)}`,
  ],
});

export function objectsSource({ classes, uses }: Problem): string {
  const defined = classes.map(({ name, bases, tag, methods }) => {
    const head = `class ${name}${bases.length === 0 ? "" : `(${bases.map((base) => at(classes, base).name).join(", ")})`}:`;
    const own = tag === null ? [] : [`    tag = ${tag}`];
    const bodies = methods.map((method) => {
      const next = `        super().${method.name}()`;
      const print = `        print("${name}.${method.name}", self.tag)`;
      const lines = { no: [print], first: [next, print], last: [print, next] }[method.next];
      return [
        `    def ${method.name}(self):`,
        ...lines,
        ...(method.calls === null ? [] : [`        self.${method.calls}()`]),
      ].join("\n");
    });
    const body = [...own, ...bodies];
    return `${head}\n${body.length === 0 ? "    pass" : body.join("\n")}\n`;
  });
  return [...defined, ...uses.map(({ of, method }) => `${at(classes, of).name}().${method}()`)].join("\n");
}

function draw(rng: Rng, level: Level) {
  const [count, methodCount, useCount, least, most, deepest] = at(SIZES, level - 1);
  const names = sample(NAMES, count, rng);
  const available = METHODS.slice(0, methodCount);
  const classes = names.map((name, index): Class => {
    const isRoot = index === 0;
    const bases = isRoot ? [] : sample(range(index), Math.min(index, between(rng, 1, index > 2 ? 3 : 2)), rng);
    const methods = available.flatMap((method, place): Method[] => {
      if (!isRoot && rng.integer(3) === 0) return [];
      const calls = place + 1 < available.length && rng.integer(4) === 0 ? at(available, place + 1) : null;
      return [
        { name: method, next: isRoot ? "no" : rng.pick(["no", "first", "last", "last", "first"] as const), calls },
      ];
    });
    return { name, bases, tag: isRoot || rng.integer(3) === 0 ? between(rng, 1, 99) : null, methods };
  });
  const orders = linearisations(classes);
  if (orders === null || Math.max(...orders.map((order) => order.length)) < deepest) return null;
  const uses = range(useCount).map((index) => ({
    of: index === 0 ? count - 1 : between(rng, Math.floor(count / 2), count - 1),
    method: rng.pick(available),
  }));
  const problem = { classes, uses };
  const items = linesOf(problem, orders);
  if (items === null || items.length < least || items.length > most) return null;
  const naive = depthFirst(classes);
  const byDepth = linesOf(problem, naive) ?? [];
  // From level 2 on, the order of the textbook's tree walk must be wrong.
  if (level > 1 && byDepth.join("\n") === items.join("\n")) return null;
  const misses = [
    byDepth,
    linesOf(
      {
        classes: classes.map((one) => ({
          ...one,
          methods: one.methods.map((method) => ({ ...method, next: "no" as const })),
        })),
        uses,
      },
      orders,
    ) ?? [],
    items.toReversed(),
    [...new Set(items)],
  ];
  return { problem, items, misses, effort: items.length + 2 * count };
}

/** Of each class, itself first; null where a class has none. */
function linearisations(classes: readonly Class[]): number[][] | null {
  const orders: number[][] = [];
  for (const [index, { bases }] of classes.entries()) {
    const rest = [...bases.map((base) => [...at(orders, base)]), [...bases]];
    const order = [index];
    for (;;) {
      const open = rest.filter((list) => list.length > 0);
      if (open.length === 0) break;
      const next = open.map((list) => at(list, 0)).find((head) => open.every((list) => list.indexOf(head) <= 0));
      if (next === undefined) return null;
      order.push(next);
      for (const list of rest) if (list[0] === next) list.shift();
    }
    orders.push(order);
  }
  return orders;
}

/** The walk of a reader who goes up the first base first. */
function depthFirst(classes: readonly Class[]): number[][] {
  const walk = (index: number): number[] => [index, ...at(classes, index).bases.flatMap(walk)];
  return classes.map((_, index) => [...new Set(walk(index))]);
}

/** Null where a method is missing, or too much is printed. */
function linesOf({ classes, uses }: Problem, orders: readonly (readonly number[])[]): string[] | null {
  const lines: string[] = [];
  const isDone = (order: readonly number[], method: string, from: number): boolean => {
    const place = order.findIndex(
      (index, rank) => rank >= from && at(classes, index).methods.some(({ name }) => name === method),
    );
    if (place < 0 || lines.length > MOST_LINES) return false;
    const { name, methods } = at(classes, at(order, place));
    const { next, calls } = methods.find((one) => one.name === method) ?? { next: "no", calls: null };
    const tag = order.map((index) => at(classes, index).tag).find((one) => one !== null);
    const goOn = (): boolean => isDone(order, method, place + 1);
    if (next === "first" && !goOn()) return false;
    lines.push(`${name}.${method} ${tag ?? ""}`);
    if (next === "last" && !goOn()) return false;
    return calls === null || isDone(order, calls, 0);
  };
  return uses.every(({ of, method }) => isDone(at(orders, of), method, 0)) ? lines : null;
}
