/** register-assignment: registers for the values of straight-line code, with pairs that instructions want in one register. */
import { sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { witnessRow } from "../witness-row.ts";

interface Line {
  target: string;
  sources: string[];
  /** A copy, which vanishes if both have one register. */
  isMove: boolean;
}
interface Problem {
  inputs: string[];
  lines: Line[];
  outputs: string[];
  registers: number;
  /** Values with a register that the calling convention fixes. */
  fixed: { name: string; register: number }[];
  /** Copies that have to vanish. */
  moves: number;
}

/** By level: lines, registers, fixed values. */
const SIZES = [
  [4, 2, 1],
  [7, 3, 2],
  [10, 3, 2],
  [14, 4, 3],
  [20, 4, 3],
] as const;

export const registerAssignment = witnessRow<Problem>({
  id: "register-assignment",
  asks: "registers for the values of straight-line code such that live values differ and enough copies vanish",
  form: "list",
  tries: 80,
  make,
  isRight: (problem, items) => {
    const names = namesOf(problem);
    const pairs = items.map((item) => /^([a-z]\d?)[=:](?:r)(\d)$/iu.exec(item));
    if (pairs.includes(null) || pairs.length !== names.length) return false;
    const chosen = new Map(pairs.map((pair) => [pair?.[1]?.toLowerCase() ?? "", Number(pair?.[2])]));
    return names.every((name) => chosen.has(name)) && isValid(problem, chosen);
  },
  prompts: [
    (one) =>
      `${text(one)}\n\n${rules(one)} Give a register for every value in the form ${namesOf(one)[0]}=r1, separated by commas.`,
    (one) =>
      `Allocate registers without spilling. ${rules(one)}\n\n${text(one)}\n\nWrite value=register for all of ${namesOf(one).join(", ")}, comma-separated.`,
    (one) =>
      `Colour the interference graph of this block and coalesce its copies:\n\n${text(one)}\n\n${rules(one)} List name=rN for each of the ${namesOf(one).length} values, with commas.`,
    (one) =>
      `${rules(one)}\n\nCode:\n${text(one)}\n\nAny allocation that keeps to this is right. Answer with entries like ${namesOf(one).at(-1)}=r2 for every value, commas between them.`,
  ],
});

function text({ inputs, lines, outputs }: Problem): string {
  const body = lines.map(({ target, sources, isMove }) =>
    isMove ? `${target} = ${sources[0]}` : `${target} = op(${sources.join(", ")})`,
  );
  return `live at the beginning: ${inputs.join(", ")}\n${body.join("\n")}\nlive at the end: ${outputs.join(", ")}`;
}

function rules({ registers, fixed, moves }: Problem): string {
  const pins = fixed.map(({ name, register }) => `${name} must be in r${register}`).join(" and ");
  return `There are the registers r1 to r${registers}; ${pins}. A value is live from the line after its assignment (or from the beginning) to its last use; a value that is assigned in a line conflicts with all values that are live after the line, except the source of a copy with its target, and values that are live at the beginning conflict with each other. Conflicting values need different registers. At least ${moves} of the copies must have one register for source and target.`;
}

function namesOf({ inputs, lines }: Problem): string[] {
  return [...inputs, ...lines.map(({ target }) => target)];
}

function conflictsOf({ inputs, lines, outputs }: Problem): [string, string][] {
  let live = new Set(outputs);
  const pairs: [string, string][] = [];
  for (const { target, sources, isMove } of lines.toReversed()) {
    for (const other of live) if (other !== target && !(isMove && other === sources[0])) pairs.push([target, other]);
    live = new Set([...live].filter((one) => one !== target).concat(sources));
  }
  // Inputs are all there at the beginning.
  for (const [index, one] of inputs.entries()) for (const other of inputs.slice(index + 1)) pairs.push([one, other]);
  return pairs;
}

function isValid(problem: Problem, chosen: ReadonlyMap<string, number>): boolean {
  const { registers, fixed, lines, moves } = problem;
  if ([...chosen.values()].some((register) => !(register >= 1 && register <= registers))) return false;
  if (fixed.some(({ name, register }) => chosen.get(name) !== register)) return false;
  if (conflictsOf(problem).some(([a, b]) => chosen.get(a) === chosen.get(b))) return false;
  return (
    lines.filter(({ target, sources, isMove }) => isMove && chosen.get(target) === chosen.get(sources[0] ?? ""))
      .length >= moves
  );
}

function make(rng: Rng, level: Level) {
  const [count, registers, pins] = at(SIZES, level - 1);
  const names = range(count + registers).map(
    (index) => `${"abcdefghijklmnopqstuvwxyz".charAt(index % 25)}${index < 25 ? "" : "2"}`,
  );
  const inputs = names.slice(0, registers - Number(rng.integer(2) === 0));
  // Values are drawn with the registers that hold them, so that the block fits.
  const homes = new Map(inputs.map((name, index) => [name, index + 1]));
  let held = new Map(inputs.map((name, index) => [index + 1, name]));
  const lines = range(count).map((index): Line => {
    const target = at(names, inputs.length + index);
    const isMove = rng.integer(3) === 0;
    const sources = sample(held.values(), isMove ? 1 : 2, rng);
    const source = homes.get(sources[0] ?? "") ?? 1;
    const register = isMove && rng.integer(3) > 0 ? source : 1 + rng.integer(registers);
    homes.set(target, register);
    held = new Map([...held, [register, target]]);
    return { target, sources, isMove };
  });
  const base = { inputs, lines, outputs: [...held.values()].slice(0, registers), registers, fixed: [], moves: 0 };
  const order = shuffled(range(registers), rng);
  const chosen = new Map([...homes].map(([name, register]) => [name, at(order, register - 1) + 1]));
  const moves = lines.filter(
    ({ target, sources, isMove }) => isMove && chosen.get(target) === chosen.get(sources[0] ?? ""),
  ).length;
  const fixed = sample(namesOf(base), pins, rng).map((name) => ({ name, register: chosen.get(name) ?? 1 }));
  const problem: Problem = { ...base, fixed, moves };
  if (!isValid(problem, chosen) || moves < Number(level > 1)) return null;
  const pairs = conflictsOf(problem);
  const label = (some: ReadonlyMap<string, number>): string[] =>
    namesOf(problem).map((name) => `${name}=r${some.get(name)}`);
  const naive = new Map(namesOf(problem).map((name, index) => [name, (index % registers) + 1]));
  const turned = new Map([...chosen].map(([name, register]) => [name, (register % registers) + 1]));
  return { problem, witness: label(chosen), misses: [naive, turned].map(label), effort: pairs.length + 2 * count };
}
