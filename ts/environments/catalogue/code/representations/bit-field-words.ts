/** bit-field-words: the 32-bit words behind C bit-fields, and what signed fields read back, after assignments. */
import { between, sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

interface Field {
  name: string;
  width: number;
  signed: boolean;
}
export interface BitFieldProblem {
  fields: Field[];
  writes: { name: string; value: number }[];
}

/** By level: fields, most bits of a field. */
const SIZES = [
  [3, 6],
  [4, 10],
  [5, 14],
  [7, 17],
  [9, 21],
] as const;
const NAMES = ["mode", "size", "kind", "prio", "flag", "rate", "slot", "tick", "zone"];

export const bitFieldWords = itemRow<BitFieldProblem>({
  id: "bit-field-words",
  asks: "the words in memory behind C bit-fields, and the values that fields read back, after assignments",
  form: "list",
  tries: 30,
  make,
  prompts: [
    (one) =>
      `${bitFieldSource(one)}\n\n${RULES} The structure is all zero at first. Give its 32-bit words in order as 0x and eight lower-case hex digits, then the values of ${names(one)} as they are read (decimal). Separate all by commas.`,
    (one) =>
      `Bits of a device register, on a little-endian machine with gcc:\n\n${bitFieldSource(one)}\n\nStarting from zeros, what do the words hold (0x%08x), and what do ${names(one)} read as? ${RULES} One list with commas: the words, then the values in the order of declaration.`,
    (one) =>
      `${RULES}\n\n${bitFieldSource(one)}\n\nAll bits were 0 before. List, comma-separated, every 32-bit word of the structure (as 0x with 8 digits, lower case), followed by the numbers that reading ${names(one)} gives.`,
    (one) =>
      `After these assignments to a zeroed structure, dump it.\n\n${bitFieldSource(one)}\n\n${RULES} First the words (format 0x%08x), then the fields ${names(one)} as decimal numbers; commas between.`,
  ],
});

const RULES =
  "Fields fill each 32-bit word from its lowest bit upwards in the order of declaration; a field that does not fit into the rest of a word begins the next one. An assignment keeps the lowest bits of the value; a signed field reads as two's complement of its width.";

export function bitFieldSource({ fields, writes }: BitFieldProblem): string {
  const members = fields.map(
    ({ name, width, signed }) => `    ${signed ? "signed int" : "unsigned int"} ${name} : ${width};`,
  );
  return `struct S {\n${members.join("\n")}\n} s;\n${writes.map(({ name, value }) => `s.${name} = ${value};`).join("\n")}`;
}

function names({ fields }: BitFieldProblem): string {
  return fields.map(({ name }) => name).join(", ");
}

function make(rng: Rng, level: Level) {
  const [count, most] = at(SIZES, level - 1);
  const fields = sample(NAMES, count, rng).map((name): Field => ({
    name,
    width: between(rng, 2, most),
    signed: rng.integer(2) === 0,
  }));
  const writes = range(count + level).map(() => {
    const { name, width } = rng.pick(fields);
    return { name, value: between(rng, rng.integer(2) === 0 ? 0 : -(2 ** (width - 1)), 2 ** (width + 1)) };
  });
  const problem = { fields, writes };
  const items = dump(problem, "right");
  const misses = (["packed", "unsigned", "high"] as const).map((slip) => dump(problem, slip));
  const bits = fields.reduce((sum, { width }) => sum + width, 0);
  if (new Set(items).size < Math.min(5, items.length) || misses[1]?.join() === items.join()) return null;
  return { problem, items, misses, effort: bits + 2 * writes.length };
}

/** Slips: fields cross words, signed fields read as unsigned, or fields fill from the highest bit. */
function dump({ fields, writes }: BitFieldProblem, how: "right" | "packed" | "unsigned" | "high"): string[] {
  const places: { word: number; bit: number }[] = [];
  let [word, bit] = [0, 0];
  for (const { width } of fields) {
    if (bit + width > 32 && how !== "packed") [word, bit] = [word + 1, 0];
    places.push({ word, bit });
    bit += width;
    if (bit >= 32) [word, bit] = [word + 1, bit - 32];
  }
  const values = new Map(fields.map(({ name }) => [name, 0n]));
  for (const { name, value } of writes)
    values.set(name, BigInt.asUintN(fields.find((one) => one.name === name)?.width ?? 1, BigInt(value)));
  const last = Math.max(
    ...places.map((place, index) => place.word + (place.bit + at(fields, index).width > 32 ? 1 : 0)),
  );
  let whole = 0n;
  for (const [index, { name, width }] of fields.entries()) {
    const place = at(places, index);
    const shift = how === "high" ? 32 * place.word + Math.max(0, 32 - place.bit - width) : 32 * place.word + place.bit;
    whole |= (values.get(name) ?? 0n) << BigInt(shift);
  }
  const words = range(last + 1).map(
    (index) =>
      `0x${BigInt.asUintN(32, whole >> BigInt(32 * index))
        .toString(16)
        .padStart(8, "0")}`,
  );
  return [
    ...words,
    ...fields.map(({ name, width, signed }) =>
      String(signed && how !== "unsigned" ? BigInt.asIntN(width, values.get(name) ?? 0n) : values.get(name)),
    ),
  ];
}
