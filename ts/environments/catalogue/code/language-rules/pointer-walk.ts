/** pointer-walk: values that a C program prints after it moves pointers, and pointers to pointers, through an array. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

export interface PointerProblem {
  source: string[];
}
/** Pointers are places in the array; `to` is the pointer that pp points to. */
interface Memory {
  array: number[];
  places: { p: number; q: number };
  to: "p" | "q";
  readonly out: string[];
}
type Pointer = "p" | "q";
interface Action {
  readonly text: string;
  /** False where it leaves the array, or reads and writes in an order that C leaves open. */
  readonly run: (memory: Memory) => boolean;
}

/** By level: statements, elements, kinds of statements from the front of the list. */
const SIZES = [
  [4, 5, 5],
  [6, 6, 7],
  [9, 7, 9],
  [12, 8, 11],
  [18, 9, 12],
] as const;

export const pointerWalk = itemRow<PointerProblem>({
  id: "pointer-walk",
  asks: "what a C program prints after it moves pointers and pointers to pointers through an array",
  form: "lines",
  tries: 20,
  make,
  prompts: [
    ({ source }) => `What does this C program print?\n\n${source.join("\n")}\n\nGive all lines.`,
    ({ source }) =>
      `${source.join("\n")}\n\nFollow the pointers and write down the output line by line (C99, nothing here is undefined).`,
    ({ source }) =>
      `A program in C:\n\n${source.join("\n")}\n\nEvery access stays inside of the array. Predict the printed lines.`,
    ({ source }) => `Trace p, q, pp and the array, then state what is printed:\n\n${source.join("\n")}`,
  ],
});

function drawAction(kinds: number, size: number, rng: Rng): Action {
  const [one, other] = rng.pick([
    ["p", "q"],
    ["q", "p"],
  ] as const);
  const [value, by, place] = [between(rng, 10, 99), between(rng, 1, 2), rng.integer(size)];
  const inside = (index: number): boolean => index >= 0 && index < size;
  const print = (memory: Memory, number: number): boolean => memory.out.push(String(number)) > 0;
  const moved = (memory: Memory, name: Pointer, to: number): boolean => {
    memory.places[name] = to;
    return inside(to);
  };
  const write = (memory: Memory, index: number, number: number): boolean => {
    if (inside(index)) memory.array[index] = number;
    return inside(index);
  };
  const read = ({ array }: Memory, index: number): number => array[index] ?? 0;
  const actions: readonly Action[] = [
    { text: `${one} += ${by};`, run: (m) => moved(m, one, m.places[one] + by) },
    { text: `*${one} = ${value};`, run: (m) => write(m, m.places[one], value) },
    { text: `printf("%d\\n", *${one});`, run: (m) => print(m, read(m, m.places[one])) },
    { text: `${one} = &a[${place}];`, run: (m) => moved(m, one, place) },
    {
      text: `printf("%d\\n", *${one}++);`,
      run: (m) => print(m, read(m, m.places[one])) && moved(m, one, m.places[one] + 1),
    },
    { text: `*--${one} = ${value};`, run: (m) => moved(m, one, m.places[one] - 1) && write(m, m.places[one], value) },
    { text: `printf("%d\\n", (int)(${one} - ${other}));`, run: (m) => print(m, m.places[one] - m.places[other]) },
    {
      text: `${one}[${by}] = ${other}[-1] + *${one};`,
      run: (m) =>
        inside(m.places[other] - 1) &&
        write(m, m.places[one] + by, read(m, m.places[other] - 1) + read(m, m.places[one])),
    },
    { text: `(*${one})++;`, run: (m) => write(m, m.places[one], read(m, m.places[one]) + 1) },
    {
      text: `pp = &${one};`,
      run: (m) => {
        m.to = one;
        return true;
      },
    },
    { text: `**pp += ${by};`, run: (m) => write(m, m.places[m.to], read(m, m.places[m.to]) + by) },
    {
      text: `swap(pp, &${one});`,
      run: (m) => {
        [m.places[m.to], m.places[one]] = [m.places[one], m.places[m.to]];
        return true;
      },
    },
    { text: `(*pp)--;`, run: (m) => moved(m, m.to, m.places[m.to] - 1) },
  ];
  return rng.pick(actions.slice(0, kinds === 12 ? actions.length : kinds));
}

function make(rng: Rng, level: Level) {
  const [count, size, kinds] = at(SIZES, level - 1);
  const array = range(size).map(() => between(rng, 1, 9));
  const [p, q] = [rng.integer(size), rng.integer(size)];
  const fresh = (): Memory => ({ array: [...array], places: { p, q }, to: "p", out: [] });
  const actions: Action[] = [];
  let memory = fresh();
  for (let draw = 0; draw < 20 * count && actions.length < count; draw++) {
    const action = drawAction(kinds, size, rng);
    const next: Memory = {
      array: [...memory.array],
      places: { ...memory.places },
      to: memory.to,
      out: [...memory.out],
    };
    if (!action.run(next) || actions.at(-1)?.text === action.text) continue;
    actions.push(action);
    memory = next;
  }
  const outputOf = (some: readonly Action[]): string[] => {
    const now = fresh();
    for (const { run } of some) run(now);
    return [...now.out, now.array.join(" "), `${now.places.p} ${now.places.q}`];
  };
  const items = outputOf(actions);
  if (actions.length < count || items.length < Math.min(4, level + 2) || memory.array.join() === array.join())
    return null;
  const others = range(count).map((without) => outputOf(actions.filter((_, index) => index !== without)));
  const misses = others.filter((other) => other.join("\n") !== items.join("\n"));
  // Most statements matter for what is printed.
  if (misses.length < 0.7 * count) return null;
  const source = [
    "#include <stdio.h>",
    "static void swap(int **x, int **y) { int *t = *x; *x = *y; *y = t; }",
    "int main(void) {",
    `  int a[${size}] = {${array.join(", ")}};`,
    `  int *p = a + ${p}, *q = &a[${q}], **pp = &p;`,
    ...actions.map(({ text }) => `  ${text}`),
    `  for (int i = 0; i < ${size}; i++) printf("%d%c", a[i], i < ${size - 1} ? ' ' : '\\n');`,
    '  printf("%d %d\\n", (int)(p - a), (int)(q - a));',
    "  return pp == 0;",
    "}",
  ].filter((line) => kinds > 11 || !line.startsWith("static"));
  return { problem: { source }, items, misses: misses.slice(0, 6), effort: 3 * count + items.length };
}
