/** generator-interleaving: the output of generators that print, share a list, delegate to each other and are advanced by turns. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

type Part =
  | { do: "print"; text: string }
  | { do: "yield"; value: Source }
  | { do: "push"; value: Source }
  /** The rest of another generator with this argument. */
  | { do: "delegate"; to: number; by: number }
  | { do: "loop"; rounds: number; body: Part[] };

/** A value: a constant, the parameter plus something, the counter of the loop, or the length of the shared list. */
type Source = { kind: "number" | "parameter" | "counter" | "length"; by: number };

type Act = { do: "next"; of: number } | { do: "take"; of: number; count: number } | { do: "length" };

interface Problem {
  /** Bodies of the generator functions. */
  functions: Part[][];
  /** Objects: function and argument. */
  objects: { of: number; argument: number }[];
  acts: Act[];
}

/** By level: functions, parts of each, objects, acts, least and most lines. */
const SIZES = [
  [1, 3, 1, 3, 3, 8],
  [1, 4, 2, 5, 5, 12],
  [2, 4, 2, 7, 8, 16],
  [2, 5, 3, 9, 11, 22],
  [3, 5, 4, 12, 15, 30],
] as const;
const OBJECTS = "abcd";
const TRIES = 100;
const LONGEST = 40;

export const generatorInterleaving = itemRow<Problem>({
  id: "generator-interleaving",
  asks: "the output of Python generators that are advanced by turns and share a list",
  form: "lines",
  tries: TRIES,
  make: draw,
  prompts: [
    (one) =>
      `The following Python 3 script uses generators. Write everything that it prints, one line below the other.\n\n${generatorSource(one)}`,
    (one) =>
      `Generators run only when they are asked for a value. With this in mind, trace\n\n${generatorSource(one)}\n\nand give the complete output. Each printed line is a line of the answer.`,
    (one) =>
      `${generatorSource(one)}\n\nIn which order do the messages and values appear on the screen, and which are they? Answer with the lines of the output of this Python program, nothing left out.`,
    (one) =>
      `What is the standard output of this program? (next(g, "end") gives "end" when g is finished.)\n\n${generatorSource(one)}\n\nKeep the lines in order; all of them have to be right.`,
  ],
});

export function generatorSource({ functions, objects, acts }: Problem): string {
  const defined = functions.map((body, index) => `def g${index + 1}(p):\n${partsText(body, 1, 0)}\n`);
  const made = objects.map(({ of, argument }, index) => `${OBJECTS.charAt(index)} = g${of + 1}(${argument})`);
  const acted = acts.map((act) => {
    if (act.do === "length") return "print(len(log))";
    const object = OBJECTS.charAt(act.of);
    if (act.do === "next") return `print(next(${object}, "end"))`;
    return `print([v for v, _ in zip(${object}, range(${act.count}))])`;
  });
  return ["log = []", "", ...defined, ...made, ...acted].join("\n");
}

function partsText(parts: readonly Part[], depth: number, loops: number): string {
  const pad = "    ".repeat(depth);
  return parts
    .map((part) => {
      switch (part.do) {
        case "print":
          return `${pad}print("${part.text}", p)`;
        case "yield":
          return `${pad}yield ${sourceText(part.value)}`;
        case "push":
          return `${pad}log.append(${sourceText(part.value)})`;
        case "delegate":
          return `${pad}yield from g${part.to + 1}(p + ${part.by})`;
        case "loop":
          return `${pad}for i in range(${part.rounds}):\n${partsText(part.body, depth + 1, loops + 1)}`;
      }
    })
    .join("\n");
}

function sourceText({ kind, by }: Source): string {
  return { number: String(by), parameter: `p + ${by}`, counter: `i + ${by}`, length: `len(log) + ${by}` }[kind];
}

/** Whether Python takes the function for a generator: it has a `yield`, as every loop does. */
const isGenerator = (body: readonly Part[]): boolean =>
  body.some(({ do: kind }) => kind === "yield" || kind === "delegate" || kind === "loop");

function draw(rng: Rng, level: Level) {
  const [functionCount, length, objectCount, actCount, least, most] = at(SIZES, level - 1);
  const value = (isLoop: boolean): Source => ({
    kind: rng.pick(
      isLoop ? (["counter", "counter", "parameter", "length"] as const) : (["number", "parameter", "length"] as const),
    ),
    by: between(rng, 1, 20),
  });
  const part = (index: number, isLoop: boolean): Part => {
    const kind = rng.integer(isLoop ? 5 : 8);
    if (kind === 0) return { do: "print", text: `${rng.pick(["go", "at", "in", "up"])}${between(rng, 1, 9)}` };
    if (kind === 1) return { do: "push", value: value(isLoop) };
    if (kind >= 6)
      return {
        do: "loop",
        rounds: between(rng, 2, 3),
        body: [
          ...range(between(rng, 0, 1)).map(() => part(index, true)),
          { do: "yield", value: value(true) },
          ...range(between(rng, 0, 1)).map(() => part(index, true)),
        ],
      };
    // Delegation goes to functions before this one, so nothing runs without end.
    if (kind === 5 && index > 0) return { do: "delegate", to: rng.integer(index), by: between(rng, 1, 5) };
    return { do: "yield", value: value(isLoop) };
  };
  const functions = range(functionCount).map((index) => range(length).map(() => part(index, false)));
  if (!functions.every(isGenerator)) return null;
  const objects = range(objectCount).map((index) => ({
    of: index === 0 ? functionCount - 1 : rng.integer(functionCount),
    argument: between(rng, 10, 60),
  }));
  const acts = range(actCount).map((): Act => {
    const kind = rng.integer(6);
    if (kind === 0) return { do: "length" };
    return kind === 1
      ? { do: "take", of: rng.integer(objectCount), count: between(rng, 1, 3) }
      : { do: "next", of: rng.integer(objectCount) };
  });
  const problem = { functions, objects, acts };
  const items = linesOf(problem, false);
  if (items.length < least || items.length > most || items.some((line) => line.length > LONGEST)) return null;
  const eager = linesOf(problem, true);
  if (eager.join("\n") === items.join("\n") || new Set(items).size < 3) return null;
  const misses = [
    eager,
    linesOf({ ...problem, acts: acts.slice(1) }, false),
    linesOf({ ...problem, objects: objects.map((one) => ({ ...one, argument: one.argument + 1 })) }, false),
  ];
  return { problem, items, misses, effort: items.length * (1 + objectCount) };
}

/** The printed lines. `isEager`: what who thinks that bodies run when they are called expects. */
function linesOf({ functions, objects, acts }: Problem, isEager: boolean): string[] {
  const lines: string[] = [];
  const log: number[] = [];
  function* body(parts: readonly Part[], p: number, counter: number): Generator<number, void> {
    const value = ({ kind, by }: Source): number => by + { number: 0, parameter: p, counter, length: log.length }[kind];
    for (const part of parts) {
      if (part.do === "print") lines.push(`${part.text} ${p}`);
      else if (part.do === "push") log.push(value(part.value));
      else if (part.do === "yield") yield value(part.value);
      else if (part.do === "delegate") yield* body(at(functions, part.to), p + part.by, 0);
      else for (const round of range(part.rounds)) yield* body(part.body, p, round);
    }
  }
  const made = objects.map(({ of, argument }): Iterator<number> => {
    const lazy = body(at(functions, of), argument, 0);
    return isEager ? [...lazy].values() : lazy;
  });
  for (const act of acts) {
    if (act.do === "length") lines.push(String(log.length));
    else {
      const object = at(made, act.of);
      if (act.do === "next") {
        const { done, value } = object.next();
        lines.push(done === true ? "end" : String(value));
      } else {
        // zip asks its first argument once more before it sees that the range is at its end.
        const taken: number[] = [];
        for (let asked = 0; asked <= act.count; asked++) {
          const { done, value } = object.next();
          if (done === true) break;
          if (asked < act.count) taken.push(value);
        }
        lines.push(`[${taken.join(", ")}]`);
      }
    }
  }
  return lines;
}
