/**
 * numeric-edge-reading: values of expressions whose numbers do not behave like those of school: rounding, signs of remainders, shifts, wrap
 * around, coercion.
 */
import { between, sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

type Language = "Python" | "JavaScript" | "C";

interface Problem {
  language: Language;
  expressions: string[];
}

/** An expression, its value, and the value that schoolbook arithmetic gives. */
interface Piece {
  text: string;
  value: number;
  naive: number;
}
type Maker = (rng: Rng) => Piece;

/** By level: expressions, kinds among which they are drawn, and operations around each. */
const SIZES = [
  [4, 3, 0],
  [5, 5, 0],
  [6, 8, 1],
  [7, 12, 1],
  [8, 12, 2],
] as const;
const BASE = 0.4;

const negative = (rng: Rng): number => -between(rng, 7, 60);
const small = (rng: Rng): number => between(rng, 2, 6);
const floorMod = (a: number, b: number): number => a - b * Math.floor(a / b);
const piece = (text: string, value: number, naive: number): Piece => ({ text, value, naive });
/** To the nearest whole number, halves to the even one. */
const halfEven = (value: number): number => {
  const low = Math.floor(value);
  if (value - low !== 0.5) return Math.round(value);
  return low % 2 === 0 ? low : low + 1;
};

function two(rng: Rng): [number, number] {
  const by = small(rng);
  const value = negative(rng);
  return value % by === 0 ? [value - 1, by] : [value, by];
}

const PYTHON: readonly Maker[] = [
  (rng) => {
    const [a, b] = two(rng);
    return piece(`${a} // ${b}`, Math.floor(a / b), Math.trunc(a / b));
  },
  (rng) => {
    const [a, b] = two(rng);
    return piece(`${a} % ${b}`, floorMod(a, b), a % b);
  },
  (rng) => {
    const [a, b] = two(rng);
    return piece(`${-a} % -${b}`, floorMod(-a, -b), -a % b);
  },
  (rng) => {
    const [a, b] = two(rng);
    return piece(`int(${a} / ${b})`, Math.trunc(a / b), Math.floor(a / b));
  },
  (rng) => {
    const half = between(rng, 2, 40) + 0.5;
    return piece(`round(${half})`, halfEven(half), Math.ceil(half));
  },
  (rng) => {
    const a = small(rng) + 1;
    return piece(`-${a} ** 2`, -(a ** 2), a ** 2);
  },
  (rng) => {
    const [a, b] = two(rng);
    return piece(`${a} >> ${Math.min(b, 4)}`, a >> Math.min(b, 4), Math.trunc(a / 2 ** Math.min(b, 4)));
  },
  (rng) => {
    const [a, b] = [between(rng, 20, 90), negative(rng)];
    return piece(`${a} & ${b}`, a & b, a & -b);
  },
  (rng) => {
    const a = between(rng, 5, 80);
    return piece(`~${a}`, ~a, -a);
  },
  (rng) => {
    const [a, b] = [between(rng, 3, 9), between(rng, 3, 9)];
    return piece(`(${a} < ${b} < ${b + 1}) + (${a} == ${a}.0) + ${b}`, Number(a < b) + 1 + b, b);
  },
  (rng) => {
    const [a, b] = [between(rng, 20, 90), between(rng, 20, 90)];
    return piece(`${a} ^ ${b}`, a ^ b, a + b);
  },
  (rng) => {
    const [a, b] = two(rng);
    return piece(`divmod(${a}, ${b})[0]`, Math.floor(a / b), Math.trunc(a / b));
  },
];

const JAVASCRIPT: readonly Maker[] = [
  (rng) => {
    const [a, b] = two(rng);
    return piece(`${a} % ${b}`, a % b, floorMod(a, b));
  },
  (rng) => {
    const half = -(between(rng, 2, 40) + 0.5);
    return piece(`Math.round(${half})`, Math.round(half), Math.floor(half));
  },
  (rng) => {
    const by = between(rng, 24, 29);
    const a = -between(rng, 1, 40);
    return piece(`${a} >>> ${by}`, a >>> by, Math.trunc(a / 2 ** by));
  },
  (rng) => {
    const [a, b] = [between(rng, 3, 9), between(rng, 31, 36)];
    return piece(`${a} << ${b}`, a << b, a * 2 ** b);
  },
  (rng) => {
    const [a, b] = [between(rng, 2, 9), between(rng, 11, 60)];
    return piece(`"${b}" - ${a} + 1`, b - a + 1, b);
  },
  (rng) => {
    const [a, b] = [between(rng, 2, 9), between(rng, 11, 60)];
    return piece(`("${b}" + ${a}) * 1`, Number(`${b}${a}`), b + a);
  },
  (rng) => {
    const [a, b] = two(rng);
    return piece(`${a} / ${b} | 0`, Math.trunc(a / b), Math.floor(a / b));
  },
  (rng) => {
    const a = between(rng, 12, 99);
    return piece(`parseInt("${a}px7") + true`, a + 1, a * 10 + 7);
  },
  (rng) => {
    const a = between(rng, 10, 60);
    return piece(`Number("0x${a}") + null`, Number.parseInt(String(a), 16), a);
  },
  (rng) => {
    const a = between(rng, 2, 9);
    return piece(`(2 ** 32 + ${a}) | 0`, a, 2 ** 32 + a);
  },
  (rng) => {
    const a = between(rng, 5, 80);
    return piece(`~~-${a}.7 + ~${a}`, -a + ~a, -a - 1 - a);
  },
  (rng) => {
    const [a, b, c] = [between(rng, 11, 90), between(rng, 100, 900), between(rng, 2, 9)];
    const sorted = [a, b, c].map(String).toSorted();
    return piece(`[${a}, ${b}, ${c}].sort()[0] * 1`, Number(sorted[0]), Math.min(a, b, c));
  },
];

const C: readonly Maker[] = [
  (rng) => {
    const [a, b] = two(rng);
    return piece(`${a} / ${b}`, Math.trunc(a / b), Math.floor(a / b));
  },
  (rng) => {
    const [a, b] = two(rng);
    return piece(`${a} % ${b}`, a % b, floorMod(a, b));
  },
  (rng) => {
    const [a, b] = [between(rng, 130, 250), between(rng, 130, 250)];
    return piece(`(uint8_t)(${a} + ${b})`, (a + b) % 256, a + b);
  },
  (rng) => {
    const a = between(rng, 130, 250);
    return piece(`(int8_t)${a}`, a - 256, a);
  },
  (rng) => {
    const a = between(rng, 3, 90);
    return piece(`(uint16_t)-${a}`, 65536 - a, -a);
  },
  (rng) => {
    const a = between(rng, 200, 250);
    const b = between(rng, 60, 200);
    return piece(`(uint8_t)${a} + (uint8_t)${b}`, a + b, (a + b) % 256);
  },
  (rng) => {
    const [a, b] = [between(rng, 20, 90), between(rng, 2, 5)];
    return piece(`(${a} + 0.9) / ${b} > ${Math.floor((a + 0.9) / b)} ? ${a} : ${b}`, a, b);
  },
  (rng) => {
    const a = between(rng, 2, 9);
    return piece(`(-1 < ${a}u) + ${a}`, a, a + 1);
  },
  (rng) => {
    const a = between(rng, 200, 255);
    return piece(`(uint8_t)~${a}`, 255 - a, ~a);
  },
  (rng) => {
    const a = between(rng, 10, 77);
    const octal = a.toString(8);
    return piece(`0${octal} + 1`, a + 1, Number(octal) + 1);
  },
  (rng) => {
    const letter = rng.integer(20);
    const by = between(rng, 1, 5);
    return piece(`'${"abcdefghijklmnopqrst".charAt(letter)}' - 'a' + ${by}`, letter + by, by);
  },
  (rng) => {
    const [a, b, c] = [between(rng, 5, 30), between(rng, 2, 7), between(rng, 1, 4)];
    return piece(`${a} & ${b} == ${c}`, a & Number(b === c), Number((a & b) === c));
  },
];

const MAKERS: Readonly<Record<Language, readonly Maker[]>> = { Python: PYTHON, JavaScript: JAVASCRIPT, C };
const NOTES: Readonly<Record<Language, string>> = {
  Python: "",
  JavaScript: "",
  C: " int has 32 bits in two's complement, conversions to narrower signed types wrap, and the letters are ASCII.",
};

export const numericEdgeReading = itemRow<Problem>({
  id: "numeric-edge-reading",
  asks: "values of expressions with odd rounding, signs, shifts, wrap around and coercion",
  form: "list",
  base: BASE,
  make,
  prompts: [
    (one) =>
      `Evaluate these ${one.language} expressions.${NOTES[one.language]}\n\n${lines(one)}\n\nGive the values as decimal whole numbers in order, separated by commas. Most of them right earns a part.`,
    (one) =>
      `What is the value of each expression in ${one.language}?${NOTES[one.language]} Careful: several are not what they look like.\n\n${lines(one)}\n\nAnswer with ${one.expressions.length} whole numbers, commas between.`,
    (one) =>
      `${lines(one)}\n\nA test prints the numbers above, computed by ${one.language}, one after the other.${NOTES[one.language]} Predict them: decimal integers in a comma-separated list. A part is credited when most are right.`,
    (one) =>
      `Quiz about the number semantics of ${one.language}.${NOTES[one.language]} Every expression below has a whole number as its value; write the values from the first to the last, with commas.\n\n${lines(one)}`,
  ],
});

function make(rng: Rng, level: Level) {
  const [count, kinds, depth] = at(SIZES, level - 1);
  const language = rng.pick(["Python", "JavaScript", "C"] as const);
  const makers = sample(MAKERS[language].slice(0, kinds), count, rng);
  const pieces = range(count).map((index) => wrapped(at(makers, index % makers.length)(rng), depth, rng));
  const items = pieces.map(({ value }) => String(value));
  const naive = pieces.map((one) => String(one.naive));
  if (naive.filter((value, index) => value !== items[index]).length < count - 1) return null;
  if (pieces.some(({ value }) => !Number.isSafeInteger(value) || Object.is(value, -0) || Math.abs(value) < 2))
    return null;
  const misses = [
    naive,
    ...range(2).map((place) => items.map((item, index) => (index % 2 === place ? (naive[index] ?? "0") : item))),
  ];
  return {
    problem: { language, expressions: pieces.map(({ text }) => text) },
    items,
    misses,
    effort: count * 4 + kinds + count * depth * 2,
  };
}

/** The expression in brackets, with further operations. */
function wrapped(inner: Piece, depth: number, rng: Rng): Piece {
  let made = inner;
  for (const _ of range(depth)) {
    const by = between(rng, 2, 5);
    const [a, b] = rng.integer(2) === 0 ? (["+", 1] as const) : (["-", -1] as const);
    made = {
      text: `(${made.text}) * ${by} ${a} ${by + 1}`,
      value: made.value * by + b * (by + 1),
      naive: made.naive * by + b * (by + 1),
    };
  }
  return made;
}

function lines({ expressions }: Problem): string {
  return expressions.map((text, index) => `${index + 1}) ${text}`).join("\n");
}
