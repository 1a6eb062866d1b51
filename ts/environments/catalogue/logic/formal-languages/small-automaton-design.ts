/** small-automaton-design: a least automaton for a described language. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, linesOf, range } from "../../lists.ts";
import { defineRow, type Level } from "../../row.ts";
import { type Automaton, difference, tableOf } from "./automata.ts";

/** The number of a letter modulo m is r; the word contains, or ends with, a pattern. */
type Condition =
  | { kind: "count"; letter: "a" | "b"; m: number; r: number }
  | { kind: "contains" | "ends"; pattern: string; not: boolean };

interface Instance {
  conditions: Condition[];
  /** All conditions, or at least one. */
  all: boolean;
  automaton: Automaton;
}

/** By level: conditions, least and most states. */
const SIZES = [
  [1, 3, 3],
  [2, 4, 6],
  [2, 7, 8],
  [3, 9, 11],
  [3, 12, 20],
] as const;

export const smallAutomatonDesign = defineRow<Instance>({
  id: "small-automaton-design",
  asks: "a deterministic automaton with as few states as possible for a described language",
  place: "answer",
  make,
  effort: ({ automaton }) => automaton.next.length,
  canonical: ({ automaton }) => automaton,
  prompts: [
    (one) =>
      `Design a deterministic automaton over the letters a and b that accepts exactly the words (the empty word included where it qualifies) for which this is true: ${text(one)}. It may have at most ${one.automaton.next.length} states. ${FORM}`,
    (one) =>
      `Language L: all strings over {a, b} such that ${text(one)}.\nGive a complete DFA for L with no more than ${one.automaton.next.length} states. ${FORM}`,
    (one) =>
      `A lock has two keys, a and b, and a lamp that has to be lit exactly while the sequence of keys so far has this property: ${text(one)}. Build the control with at most ${one.automaton.next.length} states (lamp lit: accepting). ${FORM}`,
    (one) =>
      `Construct a transition table. Alphabet: a, b. Accept precisely the words for which it is true that ${text(one)}. Upper bound on the number of states: ${one.automaton.next.length}. ${FORM}`,
  ],
  gold: ({ automaton }) => tableOf(automaton),
  nearMisses: ({ automaton: { next, accepting } }) => {
    const [[a, b] = [0, 0], ...rest] = next;
    return [
      tableOf({ next, accepting: accepting.with(0, accepting[0] === false) }),
      tableOf({ next, accepting: accepting.map((one) => !one) }),
      tableOf({ next: [[b, a], ...rest.map(([p, q]): [number, number] => [q, p])], accepting }),
      tableOf({ next: next.map((): [number, number] => [0, 0]), accepting }),
      tableOf({ next, accepting }).split("\n").slice(1).join("\n"),
    ].filter((table) => {
      const parsed = parsedTable(table);
      return parsed === null || difference(parsed, { next, accepting }) !== null;
    });
  },
  variants: ({ automaton }) => [
    tableOf(automaton).replaceAll(" -> ", "->").toUpperCase(),
    tableOf(automaton).replaceAll(",", ""),
  ],
  score: ({ automaton }, answer) => {
    const parsed = parsedTable(answer);
    if (parsed === null || parsed.next.length > automaton.next.length) return 0;
    return difference(parsed, automaton) === null ? 1 : 0;
  },
});

const FORM =
  "Number the states from 1, where 1 is the start, and write a line for each state in order, such as `1: a -> 9, b -> 8, accepting` (without the last word for states that do not accept).";

/** Null for anything but a complete table. */
function parsedTable(answer: string): Automaton | null {
  const lines = linesOf(answer.toLowerCase());
  if (lines.length === 0 || lines.length > 40) return null;
  const rows = lines.map((line) =>
    /^(\d{1,2})\s*:\s*a\s*->\s*(\d{1,2})[\s,]+b\s*->\s*(\d{1,2})([\s,]+accepting)?$/u.exec(line),
  );
  const next = rows.map((row): [number, number] => [Number(row?.[2] ?? 0) - 1, Number(row?.[3] ?? 0) - 1]);
  const isState = (state: number): boolean => state >= 0 && state < rows.length;
  if (rows.some((row, index) => Number(row?.[1]) !== index + 1) || !next.flat().every(isState)) return null;
  return { next, accepting: rows.map((row) => row?.[4] !== undefined) };
}

function make(rng: Rng, level: Level): Instance | null {
  const [count, least, most] = at(SIZES, level - 1);
  const conditions = range(count).map(() => drawCondition(rng));
  const all = rng.integer(2) === 0;
  if (new Set(conditions.map((one) => JSON.stringify(one))).size < count) return null;
  const automaton = minimised(productOf(conditions, all));
  const size = automaton.next.length;
  return size < least || size > most ? null : { conditions, all, automaton };
}

function drawCondition(rng: Rng): Condition {
  if (rng.integer(2) === 0) {
    const m = between(rng, 2, 5);
    return { kind: "count", letter: rng.pick(["a", "b"] as const), m, r: rng.integer(m) };
  }
  const pattern = range(between(rng, 2, 4))
    .map(() => rng.pick("ab"))
    .join("");
  return { kind: rng.pick(["contains", "ends"] as const), pattern, not: rng.integer(2) === 0 };
}

/** States are the memories of all conditions: a remainder, or how much of the pattern has been read. */
function productOf(conditions: readonly Condition[], all: boolean): Automaton {
  const states: number[][] = [conditions.map(() => 0)];
  const keys = new Map([[String(states[0]), 0]]);
  const next: [number, number][] = [];
  for (const state of states) {
    const arrows = (["a", "b"] as const).map((letter) => {
      const after = conditions.map((condition, index) => step(condition, at(state, index), letter));
      const known = keys.get(String(after)) ?? states.push(after) - 1;
      keys.set(String(after), known);
      return known;
    });
    next.push([at(arrows, 0), at(arrows, 1)]);
  }
  const accepting = states.map((state) => {
    const holds = conditions.map((condition, index) => isMet(condition, at(state, index)));
    return all ? !holds.includes(false) : holds.includes(true);
  });
  return { next, accepting };
}

function step(condition: Condition, memory: number, letter: string): number {
  if (condition.kind === "count") return letter === condition.letter ? (memory + 1) % condition.m : memory;
  const { pattern, kind } = condition;
  if (kind === "contains" && memory === pattern.length) return memory;
  const read = pattern.slice(0, memory) + letter;
  return (
    range(pattern.length + 1)
      .toReversed()
      .find((length) => read.endsWith(pattern.slice(0, length))) ?? 0
  );
}

function isMet(condition: Condition, memory: number): boolean {
  if (condition.kind === "count") return memory === condition.r;
  return (memory === condition.pattern.length) !== condition.not;
}

/** Moore's refinement of the classes of states. */
function minimised({ next, accepting }: Automaton): Automaton {
  let classes = accepting.map(Number);
  for (let count = 0; count !== new Set(classes).size;) {
    count = new Set(classes).size;
    const marks = next.map(([a, b], state) => `${classes[state]},${classes[a]},${classes[b]}`);
    const order = [...new Set(marks)];
    classes = marks.map((mark) => order.indexOf(mark));
  }
  // In the order of their first state, so that the start keeps its place.
  const firsts = range(new Set(classes).size).map((one) => classes.indexOf(one));
  return {
    next: firsts.map((state): [number, number] => {
      const [a, b] = at(next, state);
      return [at(classes, a), at(classes, b)];
    }),
    accepting: firsts.map((state) => at(accepting, state)),
  };
}

function text({ conditions, all }: Instance): string {
  const parts = conditions.map((condition) => {
    if (condition.kind === "count")
      return `the number of ${condition.letter}'s leaves the remainder ${condition.r} when it is divided by ${condition.m}`;
    const verb =
      condition.kind === "contains"
        ? condition.not
          ? "does not contain"
          : "contains"
        : condition.not
          ? "does not end with"
          : "ends with";
    return `the word ${verb} ${condition.pattern}${condition.kind === "contains" ? " as consecutive letters" : ""}`;
  });
  if (parts.length === 1) return at(parts, 0);
  return `${all ? "all of these hold" : "at least one of these holds"}: ${parts.map((part, index) => `(${index + 1}) ${part}`).join("; ")}`;
}
