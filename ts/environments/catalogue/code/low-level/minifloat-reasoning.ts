/** minifloat-reasoning: values and sums in a small floating-point format with subnormal numbers, rounded to nearest, ties to even. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

export interface FloatProblem {
  exponentBits: number;
  fractionBits: number;
  bias: number;
  questions: (
    | { kind: "decode"; bits: string }
    | { kind: "encode"; value: string }
    | { kind: "sum" | "product"; a: string; b: string }
  )[];
}

/** By level: exponent bits, fraction bits, questions, and the kinds among which they are drawn. */
const SIZES = [
  [3, 2, 2, ["decode"]],
  [3, 3, 3, ["decode", "encode"]],
  [4, 3, 4, ["decode", "encode", "sum"]],
  [4, 4, 5, ["encode", "sum", "sum", "product"]],
  [5, 5, 6, ["encode", "sum", "product", "product"]],
] as const;

export const minifloatReasoning = itemRow<FloatProblem>({
  id: "minifloat-reasoning",
  asks: "values, encodings, sums and products in a small floating-point format",
  form: "list",
  make,
  prompts: [
    (one) =>
      `${format(one)}\n\n${questions(one)}\n\nGive the answers in order, separated by commas: values as fractions in lowest terms or whole numbers, results in the format as bit strings.`,
    (one) =>
      `Questions about an invented number format:\n\n${questions(one)}\n\nThe format: ${format(one)}\n\nAnswer them with a comma-separated list. A bit string is written without spaces, a value as a whole number or reduced fraction like -3/16.`,
    (one) =>
      `A chip computes with tiny floats. ${format(one)}\n\nWork out:\n${questions(one)}\n\nList the results with commas. Decoded values: exact, as an integer or a fraction in lowest terms. Everything else: all bits of the result.`,
    (one) =>
      `${format(one)} Using this and nothing else, determine\n\n${questions(one)}\n\nThe answer is one line with ${one.questions.length} entries and commas between them; fractions are reduced, encodings show every bit.`,
  ],
});

function format({ exponentBits, fractionBits, bias }: FloatProblem): string {
  return `A number has ${1 + exponentBits + fractionBits} bits: a sign, ${exponentBits} exponent bits and ${fractionBits} fraction bits, from left to right. With exponent field e > 0 and fraction field f the value is (1 + f/${2 ** fractionBits}) * 2^(e - ${bias}); with e = 0 it is (f/${2 ** fractionBits}) * 2^(${1 - bias}). A sign bit of 1 makes it negative. There are no infinities: all exponents are ordinary. Results are rounded to the nearest number, in the middle to the one with an even fraction field.`;
}

function questions({ questions: all }: FloatProblem): string {
  return all
    .map((one, index) => {
      const text =
        one.kind === "decode"
          ? `the value of ${one.bits}`
          : one.kind === "encode"
            ? `the bits of ${one.value}, rounded`
            : `the bits of ${one.a} ${one.kind === "sum" ? "plus" : "times"} ${one.b}, rounded`;
      return `(${index + 1}) ${text}`;
    })
    .join("\n");
}

function make(rng: Rng, level: Level) {
  const [exponentBits, fractionBits, count, kinds] = at(SIZES, level - 1);
  const shape = { exponentBits, fractionBits, bias: 2 ** (exponentBits - 1) - between(rng, 0, 1) };
  const largest = valueOf(`0${"1".repeat(exponentBits + fractionBits)}`, shape);
  const bits = (): string => {
    // Small exponents are frequent: subnormal numbers are the trap.
    const exponent = rng.integer(3) === 0 ? 0 : between(rng, 1, 2 ** exponentBits - 2);
    const fields = [
      exponent.toString(2).padStart(exponentBits, "0"),
      rng
        .integer(2 ** fractionBits)
        .toString(2)
        .padStart(fractionBits, "0"),
    ];
    return `${rng.integer(2)}${fields.join("")}`;
  };
  const items: string[] = [];
  const all: FloatProblem["questions"] = [];
  let hard = 0;
  for (const _ of range(count)) {
    const kind = rng.pick(kinds);
    const [a, b] = [bits(), bits()];
    if (kind === "decode") {
      all.push({ kind, bits: a });
      items.push(fractionOf(valueOf(a, shape)));
      continue;
    }
    const [x, y] = [valueOf(a, shape), valueOf(b, shape)];
    // Values between two numbers of the format.
    const value =
      kind === "encode"
        ? x + (y === 0 ? 0 : (x * between(rng, 1, 7)) / 2 ** (fractionBits + 4))
        : kind === "sum"
          ? x + y
          : x * y;
    if (value === 0 || Math.abs(value) > largest) return null;
    const encoded = encodingOf(value, shape);
    if (/^.0+$/u.test(encoded)) return null;
    hard += Number(valueOf(encoded, shape) !== value);
    all.push(kind === "encode" ? { kind, value: fractionOf(value) } : { kind, a, b });
    items.push(encoded);
  }
  // Somewhere something has to be rounded.
  if (
    (level > 1 && hard === 0 && kinds.some((kind) => kind !== "decode")) ||
    items.includes("0") ||
    new Set(items).size < items.length
  )
    return null;
  const weights = { decode: 1, encode: 2, sum: 3, product: 3 };
  const effort = all.reduce((sum, { kind }) => sum + weights[kind] * (exponentBits + fractionBits), 0);
  const misses = [
    items.map((item) => (/^[01]+$/u.test(item) ? `${item.slice(0, -1)}${item.endsWith("1") ? "0" : "1"}` : `-${item}`)),
    items.toReversed(),
  ];
  return { problem: { ...shape, questions: all }, items, misses, effort };
}

type Shape = Pick<FloatProblem, "exponentBits" | "fractionBits" | "bias">;

/** Exact: the formats are much smaller than that of a double. */
function valueOf(bits: string, { exponentBits, fractionBits, bias }: Shape): number {
  const exponent = Number.parseInt(bits.slice(1, 1 + exponentBits), 2);
  const fraction = Number.parseInt(bits.slice(1 + exponentBits), 2) / 2 ** fractionBits;
  const value = exponent === 0 ? fraction * 2 ** (1 - bias) : (1 + fraction) * 2 ** (exponent - bias);
  return bits.startsWith("1") && value !== 0 ? -value : value;
}

/** The bits of a value, which is not above the largest number. */
function encodingOf(value: number, { exponentBits, fractionBits, bias }: Shape): string {
  const size = Math.abs(value);
  let exponent = 1;
  while (size >= 2 ** (exponent + 1 - bias)) exponent += 1;
  // In units of the last place; a carry moves into the exponent field without further work.
  const units = size / 2 ** (exponent - bias - fractionBits);
  const low = Math.floor(units);
  const rounded = units - low > 0.5 || (units - low === 0.5 && low % 2 === 1) ? low + 1 : low;
  const field = rounded + (exponent - 1) * 2 ** fractionBits;
  return `${value < 0 ? 1 : 0}${field.toString(2).padStart(exponentBits + fractionBits, "0")}`;
}

/** A finite binary fraction as a quotient of integers in lowest terms. */
function fractionOf(value: number): string {
  let [top, bottom] = [value, 1];
  while (!Number.isInteger(top)) [top, bottom] = [top * 2, bottom * 2];
  return bottom === 1 ? String(top) : `${top}/${bottom}`;
}
