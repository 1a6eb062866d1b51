/** liveness: which variables may still be read, before given lines of a program with jumps. */
import { sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

type Instruction =
  | { do: "set"; name: string; reads: string[] }
  | { do: "branch"; reads: string[]; to: number }
  | { do: "jump"; to: number }
  | { do: "return"; reads: string[] };
export interface LivenessProblem {
  code: Instruction[];
  /** Lines from 1 whose beginning is asked for. */
  lines: number[];
}

/** By level: instructions, variables, lines that are asked for. */
const SIZES = [
  [6, 3, 2],
  [9, 4, 3],
  [12, 5, 3],
  [16, 5, 4],
  [22, 6, 5],
] as const;
const NAMES = "abcdef";

export const liveness = itemRow<LivenessProblem>({
  id: "liveness",
  asks: "the variables that may still be read before given lines of a program with jumps",
  form: "lines",
  make,
  prompts: [
    (one) =>
      `${livenessSource(one.code)}\n\nA variable is live before a line if some path from there reads it before it is assigned. Both outcomes of every if are possible. Which variables are live before ${list(one)}? One line for each, in this order: the letters in alphabetical order, separated by spaces, or - for none.`,
    (one) =>
      `Do a liveness analysis for register allocation.\n\n${livenessSource(one.code)}\n\nGive the live-in sets of ${list(one)}, each on its line of the answer, as letters in alphabetical order with spaces between (an empty set is -). Conditions may go either way.`,
    (one) =>
      `Which values must be kept in this program when control stands before ${list(one)}?\n\n${livenessSource(one.code)}\n\nA value must be kept if it may be read later on along the jumps, without an assignment in between. Answer with ${one.lines.length} lines of sorted, space-separated variable names; write - where nothing has to be kept.`,
    (one) =>
      `Backward data flow. For the control flow graph of\n\n${livenessSource(one.code)}\n\nstate IN of ${list(one)} in this order, where IN(line) = reads(line) united with (OUT(line) without the assigned variable), and OUT is the union over all successors. One set per line, letters sorted, spaces between, - if empty.`,
  ],
});

export function livenessSource(code: readonly Instruction[]): string {
  return code
    .map((one, index) => {
      const text = {
        set: () => (one.do === "set" ? `${one.name} = f(${one.reads.join(", ")})` : ""),
        branch: () => (one.do === "branch" ? `if p(${one.reads.join(", ")}) goto ${one.to}` : ""),
        jump: () => (one.do === "jump" ? `goto ${one.to}` : ""),
        return: () => (one.do === "return" ? `return ${one.reads.join(" + ")}` : ""),
      }[one.do]();
      return `${index + 1}: ${text}`;
    })
    .join("\n");
}

function list({ lines }: LivenessProblem): string {
  return `the lines ${lines.slice(0, -1).join(", ")} and ${lines.at(-1) ?? ""}`;
}

function make(rng: Rng, level: Level) {
  const [length, count, wanted] = at(SIZES, level - 1);
  const names = NAMES.slice(0, count).split("");
  const code = range(length).map((index): Instruction => {
    const to = (): number => 1 + ((index + 2 + rng.integer(length - 3)) % length);
    if (index === length - 1) return { do: "return", reads: sample(names, 1 + rng.integer(2), rng) };
    const kind = rng.integer(8);
    if (kind < 2 && index > 0) return { do: "branch", reads: sample(names, 1, rng), to: to() };
    if (kind === 2 && index > 1 && index < length - 2) return { do: "jump", to: to() };
    return { do: "set", name: rng.pick(names), reads: sample(names, rng.integer(3), rng) };
  });
  const { sets, rounds } = liveSets(code);
  const branches = code.filter((one) => one.do === "branch" || one.do === "jump").length;
  if (branches < level) return null;
  const lines = sample(range(length), wanted, rng)
    .toSorted((a, b) => a - b)
    .map((index) => index + 1);
  const textOf = (all: readonly ReadonlySet<string>[]): string[] =>
    lines.map((line) => [...at(all, line - 1)].toSorted().join(" ") || "-");
  const items = textOf(sets);
  if (new Set(items).size < Math.min(3, wanted) || items.includes("-")) return null;
  const straight = liveSets(
    code.map((one): Instruction => (one.do === "branch" ? { do: "set", name: "", reads: one.reads } : one)),
  ).sets;
  const misses = [
    textOf(straight),
    textOf(code.map((one) => new Set("reads" in one ? one.reads : []))),
    lines.map(() => names.join(" ")),
  ];
  // Who overlooks the jumps of the ifs must be wrong.
  if (level > 1 && misses[0]?.join("\n") === items.join("\n")) return null;
  return { problem: { code, lines }, items, misses, effort: rounds * length + 3 * branches + count };
}

/** The fixpoint from empty sets, line by line from the end, and how many rounds it took. */
function liveSets(code: readonly Instruction[]): { sets: Set<string>[]; rounds: number } {
  const sets = code.map(() => new Set<string>());
  for (let rounds = 1; ; rounds++) {
    let isStable = true;
    for (const [index, one] of [...code.entries()].reverse()) {
      const out = new Set<string>();
      if (one.do !== "jump" && one.do !== "return") for (const name of sets[index + 1] ?? []) out.add(name);
      if ("to" in one) for (const name of at(sets, one.to - 1)) out.add(name);
      if (one.do === "set") out.delete(one.name);
      if ("reads" in one) for (const name of one.reads) out.add(name);
      const known = at(sets, index);
      if (out.size !== known.size) isStable = false;
      sets[index] = out;
    }
    if (isStable) return { sets, rounds };
  }
}
