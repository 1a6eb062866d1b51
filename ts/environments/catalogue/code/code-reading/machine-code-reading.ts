/** machine-code-reading: registers and memory after a program of a described machine with words of eight bits. */
import { between, sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

type Kind =
  | "set"
  | "move"
  | "add"
  | "sub"
  | "and"
  | "xor"
  | "left"
  | "right"
  | "load"
  | "store"
  | "jump"
  | "zero"
  | "less"
  | "stop";

interface Instruction {
  kind: Kind;
  /** Registers, numbers and lines, in the order of the text. */
  args: number[];
}

interface Problem {
  /** Name of each kind in this machine. */
  names: Partial<Record<Kind, string>>;
  code: Instruction[];
  memory: number[];
  /** Cells that are asked for. */
  cells: number[];
}

/** By level: instructions of the body, rounds, blocks, least and most steps. */
const SIZES = [
  [6, 1, 1, 8, 14],
  [5, 3, 1, 15, 35],
  [6, 5, 1, 36, 70],
  [6, 6, 2, 71, 130],
  [8, 8, 2, 131, 260],
] as const;
const REGISTERS = 4;
/** Counts rounds; bodies leave it alone. */
const COUNTER = 3;
const CELLS = 6;
const WORDS = ["mir", "tal", "vok", "dus", "zen", "pax", "lor", "gim", "fep", "hul", "nas", "bri", "kep", "wod"];
const TEXTS: Readonly<Record<Kind, string>> = {
  set: "rX n: rX becomes n",
  move: "rX rY: rX becomes rY",
  add: "rX rY: rX becomes rX + rY",
  sub: "rX rY: rX becomes rX - rY",
  and: "rX rY: rX becomes the bitwise and of rX and rY",
  xor: "rX rY: rX becomes the bitwise exclusive or of rX and rY",
  left: "rX n: the bits of rX move n places to the left, zeros come in",
  right: "rX n: the bits of rX move n places to the right, zeros come in",
  load: "rX rY: rX becomes the memory cell whose number is rY modulo 6",
  store: "rX rY: the memory cell whose number is rY modulo 6 becomes rX",
  jump: "n: continue at line n",
  zero: "rX n: continue at line n if rX is 0",
  less: "rX rY n: continue at line n if rX is less than rY",
  stop: "the machine stops",
};
const NUMBERED: ReadonlySet<Kind> = new Set(["set", "left", "right"]);
const MOST_STEPS = 400;

export const machineCodeReading = itemRow<Problem>({
  id: "machine-code-reading",
  asks: "registers and memory after the run of a program of a described machine",
  form: "list",
  make,
  prompts: [
    (one) =>
      `A machine has the registers r0 to r3 and the memory cells 0 to 5. All values are whole numbers from 0 to 255; results are taken modulo 256. Its instructions:\n\n${manual(one)}\n\nMemory at first: ${one.memory.join(" ")}. All registers are 0. The program starts at line 0:\n\n${machineSource(one)}\n\nGive ${asked(one)} at the end, in this order, separated by commas.`,
    (one) =>
      `Simulate this program of an 8-bit computer (arithmetic wraps at 256, no signs):\n\n${machineSource(one)}\n\nMeaning of the instructions:\n\n${manual(one)}\n\nThere are four registers, all 0 at the start, and six cells of memory with ${one.memory.join(", ")} in the cells 0 to 5. Execution begins with line 0. What are ${asked(one)} when it stops? Comma-separated numbers in this order.`,
    (one) =>
      `Instruction set of an invented processor:\n\n${manual(one)}\n\nEvery register (r0, r1, r2, r3) and memory cell (six, numbered from 0) holds one byte without sign; overflow and underflow wrap around. Cells initially: ${one.memory.join(", ")}; registers: zero.\n\n${machineSource(one)}\n\nRun it from line 0 and report ${asked(one)}: decimal numbers, commas between, that order.`,
    (one) =>
      `What is left in the machine after this run? State ${asked(one)} as decimal numbers in this order with commas.\n\nCode (first line 0):\n${machineSource(one)}\n\nRAM of six bytes: ${one.memory.join(" ")}\nRegisters r0..r3: 0 each; all arithmetic is modulo 256.\n\nManual:\n${manual(one)}`,
  ],
});

function make(rng: Rng, level: Level) {
  const [length, rounds, blocks, least, most] = at(SIZES, level - 1);
  const kinds = Object.keys(TEXTS) as Kind[];
  const words = shuffled(WORDS, rng);
  const code: Instruction[] = range(3).map((register) => ({ kind: "set", args: [register, between(rng, 3, 250)] }));
  for (const _ of range(blocks)) code.push(...block(rng, code.length, length, rounds));
  code.push({ kind: "stop", args: [] });
  const memory = range(CELLS).map(() => between(rng, 1, 255));
  const run = runMachine(code, memory);
  if (run === null || run.steps < least || run.steps > most) return null;
  const cells = range(CELLS).filter((cell) => run.memory[cell] !== memory[cell]);
  if (cells.length === 0) return null;
  const answer = (one: ReturnType<typeof runMachine>): string[] =>
    one === null ? [] : [...one.registers.slice(0, COUNTER), ...cells.map((cell) => at(one.memory, cell))].map(String);
  const items = answer(run);
  // Small values are what a reader who guesses would say.
  if (new Set(items).size < 3 || items.filter((item) => Number(item) < 2).length > 1) return null;
  const bodies = range(code.length).filter((line) => !["jump", "zero", "less", "stop"].includes(at(code, line).kind));
  const misses = sample(bodies, 4, rng).map((line) =>
    answer(
      runMachine(
        code.map((one, index) => (index === line ? { kind: "move" as const, args: [0, 0] } : one)),
        memory,
      ),
    ),
  );
  const used = new Set(code.map(({ kind }) => kind));
  const names = Object.fromEntries(kinds.flatMap((kind, index) => (used.has(kind) ? [[kind, at(words, index)]] : [])));
  return { problem: { names, code, memory, cells }, items, misses, effort: run.steps };
}

/** A loop of some rounds, perhaps with a branch inside. */
function block(rng: Rng, start: number, length: number, rounds: number): Instruction[] {
  const body: Instruction[] = range(length).map(() => plain(rng));
  if (rounds === 1) return body;
  const top = start + 2;
  const skip = between(rng, 1, length - 2);
  // Line numbers: counter, step, body with a branch, jump back.
  const compared = sample(range(COUNTER), 2, rng);
  const branch: Instruction = { kind: "less", args: [...compared, top + length + 1] };
  const one = rng.integer(COUNTER);
  const lines: Instruction[] = [
    { kind: "set", args: [COUNTER, rounds] },
    { kind: "zero", args: [COUNTER, top + length + 4] },
    ...body.slice(0, skip),
    branch,
    ...body.slice(skip),
  ];
  // A register for the step of the counter is spared by keeping 1 in it for a moment.
  return [
    ...lines,
    { kind: "set", args: [one, 1] },
    { kind: "sub", args: [COUNTER, one] },
    { kind: "jump", args: [start + 1] },
  ];
}

function plain(rng: Rng): Instruction {
  const kind = rng.pick([
    "move",
    "add",
    "add",
    "sub",
    "and",
    "xor",
    "xor",
    "left",
    "right",
    "load",
    "store",
    "store",
  ] as const);
  const [first, second] = sample(range(COUNTER), 2, rng);
  return { kind, args: [first ?? 0, NUMBERED.has(kind) ? between(rng, 1, 3) : (second ?? 1)] };
}

function runMachine(code: readonly Instruction[], start: readonly number[]) {
  const registers = range(REGISTERS).map(() => 0);
  const memory = [...start];
  let [line, steps] = [0, 0];
  const get = (register: number | undefined): number => registers[register ?? 0] ?? 0;
  for (;;) {
    const { kind, args } = at(code, line);
    const [x = 0, y = 0, z = 0] = args;
    if (kind === "stop") return { registers, memory, steps };
    if (++steps > MOST_STEPS) return null;
    line += 1;
    if (kind === "jump") line = x;
    else if (kind === "zero") line = get(x) === 0 ? y : line;
    else if (kind === "less") line = get(x) < get(y) ? z : line;
    else if (kind === "store") memory[get(y) % CELLS] = get(x);
    else {
      const value = {
        set: y,
        move: get(y),
        add: get(x) + get(y),
        sub: get(x) - get(y) + 256,
        and: get(x) & get(y),
        xor: get(x) ^ get(y),
        left: get(x) << y,
        right: get(x) >> y,
        load: at(memory, get(y) % CELLS),
      }[kind];
      registers[x] = value % 256;
    }
  }
}

export function machineSource({ code, names }: Pick<Problem, "code" | "names">): string {
  return code
    .map(({ kind, args }, line) => {
      const shown = args.map((value, index) => {
        const isNumber = kind === "jump" || (index === 1 && (NUMBERED.has(kind) || kind === "zero")) || index === 2;
        return isNumber ? String(value) : `r${value}`;
      });
      return `${line}: ${[names[kind] ?? kind, ...shown].join(" ")}`;
    })
    .join("\n");
}

function manual({ names }: Problem): string {
  return Object.entries(names)
    .map(([kind, word]) => {
      const [form = "", meaning] = TEXTS[kind as Kind].split(": ");
      return meaning === undefined ? `${word}: ${form}` : `${word} ${form}: ${meaning}`;
    })
    .toSorted()
    .join("\n");
}

function asked({ cells }: Problem): string {
  const names = cells.map((cell) => `cell ${cell}`);
  return ["r0", "r1", "r2", ...names.slice(0, -1)].join(", ") + ` and ${names.at(-1) ?? ""}`;
}
