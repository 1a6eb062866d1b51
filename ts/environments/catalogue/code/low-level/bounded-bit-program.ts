/** bounded-bit-program: a straight-line program of few operations on bytes that does a described sequence of bit changes. */
import { between, firstDrawn } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import { defineRow, type Level } from "../../row.ts";
import { numbered } from "../prose.ts";

type Step =
  | { do: "rotate" | "shift"; by: number }
  | { do: "invert" | "clear" | "set"; places: number[] }
  | { do: "drop-lowest" | "keep-lowest" | "fill-below" | "swap-pairs" };

interface Instance {
  steps: Step[];
  /** Most lines of an answer. */
  most: number;
  gold: string;
}

/** By level: steps, least and most operations of the gold program, lines above it. */
const SIZES = [
  [1, 1, 3, 2],
  [2, 3, 4, 2],
  [3, 5, 6, 1],
  [4, 7, 9, 1],
  [5, 10, 14, 0],
] as const;
const BYTE = 256;
const TRIES = 60;

export const boundedBitProgram = defineRow<Instance>({
  id: "bounded-bit-program",
  asks: "a straight-line program of few byte operations for described changes of bits",
  place: "answer",
  make: (rng, level) => firstDrawn(TRIES, () => draw(rng, level)),
  effort: ({ gold }) => gold.split("\n").length,
  canonical: ({ steps }) => steps,
  prompts: [
    (one) =>
      `x is a byte. Change it in these steps:\n\n${described(one)}\n\nWrite a program for this with at most ${one.most} lines. ${LANGUAGE}`,
    (one) =>
      `${LANGUAGE}\n\nWith no more than ${one.most} such lines, compute from the byte x the result of:\n\n${described(one)}\n\nBit 0 is the lowest. All 256 inputs are tried.`,
    (one) =>
      `Bit fiddling under a budget of ${one.most} operations. Starting from x (8 bits, bit 0 has the value 1):\n\n${described(one)}\n\n${LANGUAGE} It must be right for every x.`,
    (one) =>
      `A device without branches has to do this to the byte x:\n\n${described(one)}\n\nIts programs look like this: ${LANGUAGE} Give one of at most ${one.most} lines that works for all bytes.`,
  ],
  gold: ({ gold }) => gold,
  nearMisses: (one) => {
    const lines = one.gold.split("\n");
    const last = lines.at(-1) ?? "";
    return [
      lines.slice(0, -1).join("\n"),
      one.gold.replace("&", "|"),
      one.gold.replace("|", "&"),
      one.gold.replace("^", "&"),
      one.gold.replace(/(\d+)$/u, (digits) => String((Number(digits) + 1) % BYTE)),
      [...lines, last.replace(/^\w+ = .*$/u, "z = x + 1")].join("\n"),
      "z = x + 0",
      "z = x ^ x",
    ].filter((text) => text !== "" && scoreOf(one, text) < 1);
  },
  variants: ({ gold }) => [gold.replaceAll(" ", ""), `\n${gold}\n`],
  score: scoreOf,
});

const LANGUAGE =
  "Every line is name = a op b, where op is one of & | ^ + - << >> and a, b are x, numbers from 0 to 255 or names of earlier lines; or name = ~a. Results are taken modulo 256. The last line gives the result.";

function described({ steps }: Instance): string {
  const listed = (places: readonly number[]): string => `${places.length === 1 ? "bit" : "bits"} ${places.join(", ")}`;
  return numbered(
    steps.map((step) => {
      switch (step.do) {
        case "rotate":
          return `Rotate the byte left by ${step.by}: bits that leave at the top come in at the bottom.`;
        case "shift":
          return `Move all bits ${step.by} places to the right; zeros come in.`;
        case "invert":
          return `Flip ${listed(step.places)}.`;
        case "clear":
          return `Make ${listed(step.places)} 0.`;
        case "set":
          return `Make ${listed(step.places)} 1.`;
        case "drop-lowest":
          return "Make the lowest bit that is 1 a 0 (0 stays 0).";
        case "keep-lowest":
          return "Keep only the lowest bit that is 1 (0 stays 0).";
        case "fill-below":
          return "Make all bits below the lowest 1 also 1 (0 becomes 255).";
        case "swap-pairs":
          return "Exchange bits 0 and 1, bits 2 and 3, bits 4 and 5, bits 6 and 7.";
      }
    }),
  );
}

function draw(rng: Rng, level: Level): Instance | null {
  const [count, least, most, slack] = at(SIZES, level - 1);
  const steps = range(count).map((): Step => {
    const places = range(8).filter(() => rng.integer(3) === 0);
    const kind = rng.integer(9);
    if (kind <= 3)
      return {
        do: rng.pick(["invert", "clear", "set"] as const),
        places: places.length === 0 ? [rng.integer(8)] : places,
      };
    if (kind === 4) return { do: "rotate", by: between(rng, 1, 7) };
    if (kind === 5) return { do: "shift", by: between(rng, 1, 3) };
    return { do: rng.pick(["drop-lowest", "keep-lowest", "fill-below", "swap-pairs"] as const) };
  });
  const lines = programOf(steps);
  if (lines.length < least || lines.length > most) return null;
  const results = (some: readonly Step[]): string =>
    range(BYTE)
      .map((x) => changed(some, x))
      .join();
  const right = results(steps);
  // Every step matters, and the result keeps something of x.
  const isIdle = steps.some((_, index) => results(steps.filter((_step, place) => place !== index)) === right);
  if (isIdle || new Set(right.split(",")).size < (level < 3 ? 8 : 16)) return null;
  return { steps, most: lines.length + slack, gold: lines.join("\n") };
}

/** The byte after the steps, bit by bit as they are described. */
function changed(steps: readonly Step[], x: number): number {
  let bits = range(8).map((place) => Math.floor(x / 2 ** place) % 2);
  for (const step of steps) {
    const lowest = bits.indexOf(1);
    const old = bits;
    bits = old.map((bit, place) => {
      switch (step.do) {
        case "rotate":
          return at(old, (place + 8 - step.by) % 8);
        case "shift":
          return old[place + step.by] ?? 0;
        case "invert":
          return step.places.includes(place) ? 1 - bit : bit;
        case "clear":
          return step.places.includes(place) ? 0 : bit;
        case "set":
          return step.places.includes(place) ? 1 : bit;
        case "drop-lowest":
          return place === lowest ? 0 : bit;
        case "keep-lowest":
          return place === lowest ? 1 : 0;
        case "fill-below":
          return lowest < 0 || place < lowest ? 1 : bit;
        case "swap-pairs":
          return at(old, place % 2 === 0 ? place + 1 : place - 1);
      }
    });
  }
  return bits.reduce((sum, bit, place) => sum + bit * 2 ** place, 0);
}

/** The shortest known lines of each step, one after the other. */
function programOf(steps: readonly Step[]): string[] {
  const lines: string[] = [];
  let now = "x";
  const line = (text: string): string => {
    const name = `t${lines.length + 1}`;
    lines.push(`${name} = ${text}`);
    return name;
  };
  for (const step of steps) {
    const mask = "places" in step ? step.places.reduce((sum, place) => sum + 2 ** place, 0) : 0;
    switch (step.do) {
      case "rotate":
        now = line(`${line(`${now} << ${step.by}`)} | ${line(`${now} >> ${8 - step.by}`)}`);
        break;
      case "shift":
        now = line(`${now} >> ${step.by}`);
        break;
      case "invert":
        now = line(`${now} ^ ${mask}`);
        break;
      case "clear":
        now = line(`${now} & ${255 - mask}`);
        break;
      case "set":
        now = line(`${now} | ${mask}`);
        break;
      case "drop-lowest":
        now = line(`${now} & ${line(`${now} - 1`)}`);
        break;
      case "keep-lowest":
        now = line(`${now} & ${line(`0 - ${now}`)}`);
        break;
      case "fill-below":
        now = line(`${now} | ${line(`${now} - 1`)}`);
        break;
      case "swap-pairs":
        now = line(`${line(`${line(`${now} & 85`)} << 1`)} | ${line(`${line(`${now} >> 1`)} & 85`)}`);
        break;
    }
  }
  return lines;
}

interface Line {
  name: string;
  op: string;
  a: string;
  b: string;
}

function scoreOf({ steps, most }: Instance, answer: string): number {
  const lines = answer.split("\n").filter((line) => line.trim() !== "");
  if (lines.length === 0 || lines.length > most) return 0;
  const parsed = lines.map(parsedLine);
  const known = new Set(["x"]);
  const code: Line[] = [];
  for (const line of parsed) {
    if (line === null || line.name === "x") return 0;
    if (![line.a, line.b].every((operand) => (/^\d+$/u.test(operand) ? Number(operand) < BYTE : known.has(operand))))
      return 0;
    known.add(line.name);
    code.push(line);
  }
  return range(BYTE).every((x) => result(code, x) === changed(steps, x)) ? 1 : 0;
}

function parsedLine(line: string): Line | null {
  const binary =
    /^\s*([a-z][a-z0-9]{0,9})\s*=\s*([a-z0-9]{1,10})\s*(&|\||\^|\+|-|<<|>>)\s*([a-z0-9]{1,10})\s*;?\s*$/u.exec(line);
  if (binary !== null) return { name: binary[1] ?? "", a: binary[2] ?? "", op: binary[3] ?? "", b: binary[4] ?? "" };
  const inverted = /^\s*([a-z][a-z0-9]{0,9})\s*=\s*~\s*([a-z0-9]{1,10})\s*;?\s*$/u.exec(line);
  return inverted === null ? null : { name: inverted[1] ?? "", a: inverted[2] ?? "", op: "^", b: "255" };
}

function result(code: readonly Line[], x: number): number {
  const values = new Map([["x", x]]);
  const of = (operand: string): number => values.get(operand) ?? Number(operand);
  let last = 0;
  for (const { name, op, a, b } of code) {
    const [left, right] = [of(a), of(b)];
    if (op === "&") last = left & right;
    else if (op === "|") last = left | right;
    else if (op === "^") last = left ^ right;
    else if (op === "+") last = left + right;
    else if (op === "-") last = left - right + BYTE;
    // A shift by eight or more leaves nothing.
    else if (op === "<<") last = right > 7 ? 0 : left << right;
    else last = right > 7 ? 0 : left >> right;
    last %= BYTE;
    values.set(name, last);
  }
  return last;
}
