/** Programs with faults, and which faults show while others are there. */
import { sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { name, number, type Program } from "../small-python/syntax.ts";
import { compiled } from "./compiled.ts";
import { LIST_STAGES, type Stage, SUM, TOTAL_STAGES } from "./stages.ts";

export interface Fault {
  /** Place of the step. */
  readonly step: number;
  readonly fault: string;
}

export interface Faulty {
  /** Names of the steps, in their order. */
  readonly steps: readonly string[];
  readonly constants: Readonly<Record<string, number>>;
  readonly faults: readonly Fault[];
}

/** By level: list steps, steps on the total, faults, and the least number of rounds until all faults have shown. */
const SHAPES = [
  [2, 1, 2, 2],
  [3, 2, 3, 2],
  [3, 3, 4, 2],
  [4, 3, 4, 3],
  [4, 4, 5, 3],
] as const;
const INPUTS = 60;
const LISTS = ["first", "second", "third", "fourth", "fifth"];

const STAGES = new Map([...LIST_STAGES, SUM, ...TOTAL_STAGES].map((stage) => [stage.id, stage]));

export function stageOf(id: string): Stage {
  const found = STAGES.get(id);
  if (found === undefined) throw new RangeError(`no step ${id}`);
  return found;
}

/** Faults of steps on the total that hide what happens before them. */
const HIDING: readonly (readonly [step: string, fault: string])[] = [
  ["round", "too-coarse"],
  ["least", "too-high"],
  ["few", "too-many"],
];

/** A plan of faults: one that hides all before it, a step that goes past the one before it, and others. */
export function drawFaulty(rng: Rng, level: Level): Faulty {
  const [lists, totals, count, rounds] = at(SHAPES, level - 1);
  const [hider, fault] = rng.pick(HIDING);
  const hides = rounds > 2 || rng.integer(2) === 0;
  const others = TOTAL_STAGES.filter(({ id }) => id !== hider);
  const chosen = hides ? [...sample(others, totals - 1, rng), stageOf(hider)] : sample(TOTAL_STAGES, totals, rng);
  const stages = [...sample(LIST_STAGES, lists, rng), SUM, ...shuffled(chosen, rng)];
  const faults = new Map<number, string>();
  const faultAt = (step: number): void => {
    faults.set(step, rng.pick(at(stages, step).faults.filter((one) => one !== "bypass")));
  };
  if (hides) faults.set(stages.indexOf(stageOf(hider)), fault);
  if (!hides || rounds > 2) {
    const passed = rng.integer(lists);
    faultAt(passed);
    faults.set(passed + 1, "bypass");
  }
  for (const step of shuffled(range(stages.length), rng)) if (faults.size < count && !faults.has(step)) faultAt(step);
  const constants = Object.assign({}, ...stages.map((stage) => stage.constants(rng))) as Record<string, number>;
  return {
    steps: stages.map(({ id }) => id),
    constants,
    faults: [...faults].map(([step, one]) => ({ step, fault: one })).toSorted((a, b) => a.step - b.step),
  };
}

/** The program with these faults. */
export function programOf({ steps, constants }: Faulty, faults: readonly Fault[]): Program {
  const fixed = Object.entries(constants).map(([called, value]) => ({
    do: "set" as const,
    name: called,
    to: number(value),
  }));
  const lists = ["xs", ...LISTS];
  const body = steps.flatMap((id, step) => {
    const last = Math.min(step, steps.indexOf("sum"));
    return stageOf(id).build({
      list: at(lists, last),
      before: at(lists, Math.max(0, last - 1)),
      out: at(lists, last + 1),
      fault: faults.find((one) => one.step === step)?.fault ?? null,
    });
  });
  return [...fixed, ...body, { do: "print", values: [name("total")] }];
}

export type Outputs = readonly number[];

export function outputsOf(program: Program, inputs: readonly (readonly number[])[]): Outputs {
  return inputs.map(compiled(program));
}

/** Lists in which values repeat, and lie near the constants. */
export function drawInputs({ constants }: Faulty, count: number, rng: Rng): number[][] {
  const near = Object.values(constants).filter((value) => value > 4 && value < 100);
  return range(count).map(() => {
    const values: number[] = [];
    const length = 1 + rng.integer(10);
    while (values.length < length) {
      const last = values.at(-1);
      if (last !== undefined && rng.integer(5) === 0) values.push(last);
      else if (rng.integer(3) === 0 && near.length > 0) values.push(rng.pick(near) + rng.integer(3) - 1);
      else values.push(1 + rng.integer(rng.integer(3) === 0 ? 130 : 60));
    }
    return values;
  });
}

export interface Battery {
  readonly inputs: readonly (readonly number[])[];
  readonly right: Outputs;
  /** Of the program with all faults. */
  readonly given: Outputs;
  /** Of the program with this fault alone, in the order of the faults. */
  readonly alone: readonly Outputs[];
  /** Faults by the round in which fixing one of them first changes an output, all of earlier rounds being fixed. */
  readonly rounds: readonly (readonly number[])[];
}

/** Null where a fault never shows, or too many show at once. */
export function batteryOf(faulty: Faulty, rng: Rng, leastRounds = 0): Battery | null {
  const inputs = drawInputs(faulty, INPUTS, rng);
  const outputs = (faults: readonly Fault[]): Outputs => outputsOf(programOf(faulty, faults), inputs);
  const right = outputs([]);
  const given = outputs(faulty.faults);
  const rounds: number[][] = [];
  let left = [...faulty.faults.keys()];
  while (left.length > 0) {
    const now = outputs(left.map((index) => at(faulty.faults, index)));
    const shown = left.filter((index) => {
      const others = left.filter((other) => other !== index).map((other) => at(faulty.faults, other));
      return !isSame(outputs(others), now);
    });
    if (shown.length === 0) return null;
    rounds.push(shown);
    left = left.filter((index) => !shown.includes(index));
  }
  if (rounds.length < leastRounds) return null;
  const alone = faulty.faults.map((fault) => outputs([fault]));
  if (alone.some((some) => isSame(some, right))) return null;
  return { inputs, right, given, alone, rounds };
}

export function leastRoundsOf(level: Level): number {
  return at(SHAPES, level - 1)[3];
}

function isSame(a: Outputs, b: Outputs): boolean {
  return a.every((output, index) => output === b[index]);
}
