/** pipeline-cycles: the cycle in which each instruction of a loop-free program leaves decoding in a pipeline with hazards. */
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

interface Instruction {
  do: "add" | "mul" | "load" | "store" | "branch";
  target: string | null;
  sources: string[];
  taken: boolean;
}
export interface PipelineProblem {
  forwards: boolean;
  /** Cycles of multiplication in the execute stage; the unit takes one at a time. */
  mulCycles: number;
  instructions: Instruction[];
}

/** By level: instructions, registers. */
const SIZES = [
  [4, 4],
  [6, 4],
  [9, 5],
  [13, 5],
  [19, 6],
] as const;

export const pipelineCycles = itemRow<PipelineProblem>({
  id: "pipeline-cycles",
  asks: "the cycles in which instructions begin to execute in a pipeline with data, structure and control hazards",
  form: "list",
  tries: 40,
  make,
  prompts: [
    (one) =>
      `${text(one)}\n\n${rules(one)} In which cycle does each instruction begin EX? Numbers in order, separated by commas.`,
    (one) =>
      `${rules(one)}\n\nProgram (fetched in this order):\n${text(one)}\n\nGive the first EX cycle of every instruction, comma-separated.`,
    (one) =>
      `Fill in the EX column of a pipeline diagram.\n\n${text(one)}\n\n${rules(one)} List the cycles at which the instructions enter EX, from the first to the last, with commas.`,
    (one) =>
      `How does this code flow through a five-stage pipeline?\n\n${text(one)}\n\nModel: ${rules(one)} For each instruction state the cycle in which it enters EX (commas between).`,
  ],
});

function text({ instructions }: PipelineProblem): string {
  return instructions
    .map(({ do: what, target, sources, taken }, index) => {
      const [a = "", b = ""] = sources;
      const body = {
        add: `add ${target}, ${a}, ${b}`,
        mul: `mul ${target}, ${a}, ${b}`,
        load: `load ${target}, 0(${a})`,
        store: `store ${a}, 0(${b})`,
        branch: `branch ${a}, ${b}  (${taken ? "taken, to the next line" : "not taken"})`,
      }[what];
      return `${index + 1}: ${body}`;
    })
    .join("\n");
}

function rules({ forwards, mulCycles }: PipelineProblem): string {
  const data = forwards
    ? "A result of add or mul can be used in EX in the cycle after its last EX cycle, that of a load in the cycle after its MEM cycle"
    : "A result is written in WB, and an instruction that reads it can be in ID in that same cycle at the earliest, so its EX begins at least one cycle after that WB";
  return `Stages IF, ID, EX, MEM, WB, one cycle each, but mul stays ${mulCycles} cycles in EX. The first instruction is in EX in cycle 3. Instructions enter EX in order, at least one cycle after the one before, and not before that one has left EX. ${data}. MEM follows the last EX cycle, WB follows MEM. All sources are needed at the beginning of EX. Behind a taken branch the next instruction enters EX 3 cycles after the branch at the earliest.`;
}

function make(rng: Rng, level: Level) {
  const [count, registers] = at(SIZES, level - 1);
  const names = range(registers).map((index) => `r${index + 1}`);
  const instructions = range(count).map((index): Instruction => {
    const kind = rng.pick(["add", "add", "load", "load", "mul", "store", "branch"] as const);
    const what = kind === "branch" && (index === count - 1 || level === 1) ? "add" : kind;
    const sources = what === "load" ? [rng.pick(names)] : [rng.pick(names), rng.pick(names)];
    return {
      do: what,
      target: what === "store" || what === "branch" ? null : rng.pick(names),
      sources,
      taken: rng.integer(2) === 0,
    };
  });
  const problem: PipelineProblem = { forwards: rng.integer(2) === 0, mulCycles: 2 + rng.integer(3), instructions };
  const { items, stalls, checks } = cyclesOf(problem);
  if (stalls < Math.max(2, level)) return null;
  const ideal = range(count).map((index) => String(index + 3));
  const misses = [
    cyclesOf({ ...problem, forwards: !problem.forwards }).items,
    cyclesOf({ ...problem, mulCycles: 1 }).items,
    ideal,
  ];
  return { problem, items, misses, effort: checks + stalls + 2 * count };
}

function cyclesOf({ forwards, mulCycles, instructions }: PipelineProblem) {
  const ready = new Map<string, number>();
  let previous = { first: 2, last: 2, taken: false };
  let stalls = 0;
  let checks = 0;
  const items = instructions.map(({ do: what, target, sources, taken }) => {
    let first = Math.max(previous.last + 1, previous.first + (previous.taken ? 3 : 1));
    for (const source of sources) {
      checks += 1;
      first = Math.max(first, ready.get(source) ?? 0);
    }
    stalls += first - previous.first - 1;
    const last = first + (what === "mul" ? mulCycles : 1) - 1;
    // Without forwarding: MEM at last + 1, WB at last + 2, and the reader's EX one cycle later.
    if (target !== null) ready.set(target, forwards ? last + (what === "load" ? 2 : 1) : last + 3);
    previous = { first, last, taken: what === "branch" && taken };
    return String(first);
  });
  return { items, stalls, checks };
}
