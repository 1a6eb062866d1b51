/** condition-flags: results and flags of a chain of additions, subtractions, shifts and comparisons in a small word. */
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

interface Step {
  do: "add" | "adc" | "sub" | "sbc" | "cmp" | "lsl" | "lsr" | "asr";
  /** Of shifts: 1. */
  value: number;
}
export interface FlagsProblem {
  bits: number;
  start: number;
  steps: Step[];
}

/** By level: bits of a word, steps. */
const SIZES = [
  [4, 3],
  [6, 4],
  [8, 6],
  [8, 9],
  [12, 14],
] as const;

export const conditionFlags = itemRow<FlagsProblem>({
  id: "condition-flags",
  asks: "register and N, Z, C, V flags after each of a chain of operations on a small word",
  form: "list",
  tries: 20,
  make,
  prompts: [
    (one) =>
      `${program(one)}\n\n${rules(one)} After each line write the value of r (unsigned, decimal) and the flags N Z C V as four digits, in the form value:NZCV. Separate the entries by commas.`,
    (one) =>
      `A processor has one register r of ${one.bits} bits. ${rules(one)}\n\n${program(one)}\n\nGive r and the flags after every instruction as r:NZCV (r unsigned in decimal, a digit 0 or 1 for each flag), comma-separated.`,
    (one) =>
      `Trace the status register.\n\n${program(one)}\n\n${rules(one)} One entry per line of the program: unsigned value of r, a colon, then the digits of N, Z, C and V. Commas between the entries.`,
    (one) =>
      `${rules(one)} Run this:\n${program(one)}\n\nList "value:NZCV" for all ${one.steps.length} instructions in order, such as 12:0010, with commas.`,
  ],
});

function program({ start, steps }: FlagsProblem): string {
  return [
    `r = ${start}, all flags 0`,
    ...steps.map(({ do: what, value }) =>
      what.length === 3 && /^(?:lsl|lsr|asr)$/u.test(what) ? `${what} r` : `${what} r, ${value}`,
    ),
  ].join("\n");
}

function rules({ bits }: FlagsProblem): string {
  return `Words have ${bits} bits. add r, n adds; adc also adds C; sub r, n adds the complement of n and 1; sbc adds the complement of n and C; cmp sets the flags as sub does and leaves r. C is the carry out of these additions, V says that the result is wrong as a signed number. lsl, lsr and asr shift by one place (asr keeps the sign); C becomes the bit that falls out, and V stays. N is the highest bit of the result, Z says that it is 0.`;
}

function make(rng: Rng, level: Level) {
  const [bits, count] = at(SIZES, level - 1);
  const size = 2 ** bits;
  const steps = range(count).map((): Step => {
    const what = rng.pick(["add", "add", "sub", "sub", "adc", "sbc", "cmp", "lsl", "lsr", "asr"] as const);
    return { do: what, value: rng.integer(size) };
  });
  const problem = { bits, start: rng.integer(size), steps };
  const items = flagsOf(problem, "right");
  const kinds = new Set(items.map((item) => item.split(":")[1]));
  if (kinds.size < Math.min(4, count)) return null;
  const misses = (["borrow", "carry", "sign"] as const).map((slip) => flagsOf(problem, slip));
  if (misses.slice(0, 2).every((miss) => miss.join() === items.join())) return null;
  return { problem, items, misses, effort: Math.round((bits * count) / 2) + count };
}

/** Slips: C is the borrow of a subtraction, adc and sbc forget C, or V is the carry. */
function flagsOf({ bits, start, steps }: FlagsProblem, how: "right" | "borrow" | "carry" | "sign"): string[] {
  const size = 2 ** bits;
  let [r, c, v] = [start, 0, 0];
  return steps.map(({ do: what, value }) => {
    let result = r;
    if (what === "lsl") [result, c] = [(2 * r) % size, Math.floor((2 * r) / size)];
    else if (what === "lsr" || what === "asr")
      [result, c] = [Math.floor(r / 2) + (what === "asr" && r >= size / 2 ? size / 2 : 0), r % 2];
    else {
      const isMinus = what === "sub" || what === "sbc" || what === "cmp";
      const other = isMinus ? size - 1 - value : value;
      const plain = isMinus ? 1 : 0;
      const carry = (what === "adc" || what === "sbc") && how !== "carry" ? c : plain;
      const sum = r + other + carry;
      result = sum % size;
      c = Math.floor(sum / size);
      if (isMinus && how === "borrow") c = 1 - c;
      const sign = (one: number): boolean => one >= size / 2;
      v = how === "sign" ? c : Number(sign(r) === sign(other) && sign(result) !== sign(r));
    }
    if (what !== "cmp") r = result;
    return `${r}:${Number(result >= size / 2)}${Number(result === 0)}${c}${v}`;
  });
}
