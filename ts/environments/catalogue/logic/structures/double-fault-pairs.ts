/** double-fault-pairs: which pairs of gates, both inverted, explain the outputs of a circuit for several inputs. */
import { sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { fieldRow, marked, marksOf, type Solution } from "../../field-row.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";

interface Gate {
  kind: string;
  /** Places of wires: inputs first, then gates. */
  from: [number, number];
}

interface Given {
  inputs: number;
  gates: Gate[];
  outputs: number[];
  /** Values of the inputs and the values seen at the outputs. */
  tests: { inputs: boolean[]; seen: boolean[] }[];
}

const KINDS = ["AND", "OR", "XOR", "NAND", "NOR"];
/** By level: inputs, gates, outputs, tests. */
const SIZES = [
  [3, 5, 2, 2],
  [4, 7, 2, 3],
  [4, 10, 3, 3],
  [5, 14, 3, 4],
  [6, 19, 4, 4],
] as const;
const MOST_PAIRS = 8;

export const doubleFaultPairs = fieldRow<Given>({
  id: "double-fault-pairs",
  asks: "which pairs of inverted gates explain the measured outputs of a circuit",
  draw,
  solve,
  isShared: true,
  values: () => "the list of all pairs of gates that explain everything, each with a hyphen, such as G1-G4, G2-G3",
  wordings: [
    (one) => `${circuit(one)}\n\nMeasurements:\n${tests(one)}\n\n${RULE} Which pairs are possible?`,
    (one) =>
      `${RULE}\n\nThe circuit:\n${circuit(one)}\n\nWhat a technician read:\n${tests(one)}\n\nFind all diagnoses.`,
    (one) =>
      `These readings of a board are partly wrong:\n${tests(one)}\nIts plan is\n${circuit(one)}\n${RULE} Report every pair that accounts for all readings.`,
    (one) => `Diagnose two faults. ${RULE}\n${tests(one)}\nNetlist:\n${circuit(one)}`,
  ],
});

const RULE =
  "Exactly two gates are broken. A broken gate always gives the opposite of what it should give for what arrives at it; all other gates and all wires work.";

function valuesOf(
  { inputs, gates, outputs }: Omit<Given, "tests">,
  given: readonly boolean[],
  broken: readonly number[],
): boolean[] {
  const wires = [...given];
  for (const [index, { kind, from }] of gates.entries()) {
    const [a, b] = [at(wires, from[0]), at(wires, from[1])];
    const value = kind === "XOR" ? a !== b : kind === "AND" || kind === "NAND" ? a && b : a || b;
    wires.push((value !== kind.startsWith("N")) !== broken.includes(index));
  }
  return outputs.map((gate) => at(wires, inputs + gate));
}

function draw(rng: Rng, level: Level): Given | null {
  const [inputs, count, outputCount, testCount] = at(SIZES, level - 1);
  const gates = range(count).map((gate): Gate => {
    const recent = range(inputs + gate).slice(-inputs - 3);
    return { kind: rng.pick(KINDS), from: sample(recent, 2, rng) as [number, number] };
  });
  const board = { inputs, gates, outputs: range(count).slice(-outputCount) };
  const broken = sample(range(count), 2, rng);
  const numbers = sample(range(2 ** inputs), testCount, rng);
  const drawn = numbers.map((number) => {
    const values = range(inputs).map((bit) => ((number >> bit) & 1) === 1);
    return { inputs: values, seen: valuesOf(board, values, broken) };
  });
  return { ...board, tests: drawn };
}

function solve(given: Given): Solution | null {
  const { gates, tests: known } = given;
  const all = range(gates.length);
  const isExplained = (broken: readonly number[]): boolean =>
    known.every(({ inputs, seen }) => valuesOf(given, inputs, broken).join() === seen.join());
  // Without a visible fault, or with one that a single gate explains, the task would be another one.
  if (isExplained([]) || all.some((one) => isExplained([one]))) return null;
  const pairs = all.flatMap((b) => range(b).map((a) => [a, b]));
  const order = pairs.toSorted(([a = 0, b = 0], [c = 0, d = 0]) => a - c || b - d);
  const right = order.filter(isExplained);
  if (right.length === 0 || right.length > Math.min(MOST_PAIRS, order.length / 4)) return null;
  const partly = order.filter((pair) => {
    const [first] = known;
    return first !== undefined && valuesOf(given, first.inputs, pair).join() === first.seen.join();
  });
  const named = (some: readonly (readonly number[])[]): string =>
    marked(some.map((pair) => pair.map((gate) => `G${gate + 1}`).join("-")));
  return {
    fields: [{ name: "pairs", kind: "pairs", value: named(right), options: marksOf("G", gates.length) }],
    slips: [[named(partly)], [named(order)]],
    steps: order.length * known.length * gates.length,
  };
}

function circuit({ inputs, gates, outputs }: Given): string {
  const wire = (place: number): string => (place < inputs ? `x${place + 1}` : `G${place - inputs + 1}`);
  const lines = gates.map(({ kind, from: [a, b] }, index) => `G${index + 1} = ${wire(a)} ${kind} ${wire(b)}`);
  return `${lines.join("\n")}\nOutputs: ${outputs.map((gate) => `G${gate + 1}`).join(", ")}`;
}

function tests({ tests: known, outputs }: Given): string {
  const bit = (value: boolean): string => (value ? "1" : "0");
  return known
    .map(({ inputs, seen }) => {
      const given = inputs.map((value, index) => `x${index + 1}=${bit(value)}`).join(" ");
      return `${given} gave ${seen.map((value, index) => `G${at(outputs, index) + 1}=${bit(value)}`).join(" ")}`;
    })
    .join("\n");
}
