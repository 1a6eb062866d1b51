/** utf8-decoding: the code points of a byte string with broken sequences, each replaced as the encoding standard says. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

export interface DecodingProblem {
  bytes: number[];
}

/** By level: pieces, longest sequence, and broken pieces in ten. */
const SIZES = [
  [3, 2, 0],
  [4, 3, 2],
  [6, 4, 3],
  [8, 4, 5],
  [12, 4, 6],
] as const;
const REPLACED = "FFFD";
const LEAST = [0, 0x80, 0x800, 0x1_0000];
const RULES =
  "A broken sequence gives U+FFFD once for each longest beginning of a valid sequence, and once for each byte with which none can begin; then decoding goes on with the next byte. Overlong forms, surrogates and values above 10FFFF are not valid.";

export const utf8Decoding = itemRow<DecodingProblem>({
  id: "utf8-decoding",
  asks: "the code points of bytes that are UTF-8 with broken sequences",
  form: "list",
  tries: 10,
  make,
  prompts: [
    (one) =>
      `Decode as UTF-8:\n\n${hex(one)}\n\n${RULES} List the code points in hexadecimal with four digits or more (as in 0041), separated by commas.`,
    (one) =>
      `${RULES}\n\nBytes: ${hex(one)}\n\nWhich code points does a UTF-8 decoder of the web give? Hexadecimal, at least four digits each, comma-separated.`,
    (one) =>
      `A damaged text in UTF-8 (hex dump):\n${hex(one)}\n\nWrite the sequence of its characters as code points such as 00E4, 1F600 or ${REPLACED}, with commas. ${RULES}`,
    (one) =>
      `Hex: ${hex(one)}\n\nNo decoder is at hand. Find the code points of this UTF-8 string. ${RULES} Format: four or more hexadecimal digits for each, in order, with commas between.`,
  ],
});

function hex({ bytes }: DecodingProblem): string {
  return bytes.map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
}

function encoded(code: number): number[] {
  const length = LEAST.filter((least) => code >= least).length;
  const tail = range(length - 1).map((index) => 0x80 + (Math.floor(code / 64 ** index) % 64));
  return [at([0, 0xc0, 0xe0, 0xf0], length - 1) + Math.floor(code / 64 ** (length - 1)), ...tail.reverse()];
}

/** Bounds of the second byte keep overlong forms, surrogates and values above 10FFFF out. */
function secondBounds(first: number): readonly [number, number] {
  if (first === 0xe0) return [0xa0, 0xbf];
  if (first === 0xed) return [0x80, 0x9f];
  if (first === 0xf0) return [0x90, 0xbf];
  return first === 0xf4 ? [0x80, 0x8f] : [0x80, 0xbf];
}

function lengthOf(first: number): number {
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return 2;
  if (first >= 0xe0 && first <= 0xef) return 3;
  return first >= 0xf0 && first <= 0xf4 ? 4 : 0;
}

/** `perByte`: of a reader who replaces every byte of a broken sequence. */
function decoded(bytes: readonly number[], perByte = false): { items: string[]; broken: number } {
  const items: string[] = [];
  let broken = 0;
  for (let place = 0; place < bytes.length;) {
    const first = at(bytes, place);
    const length = lengthOf(first);
    let [code, read] = [length === 1 ? first : first % at([1, 1, 32, 16, 8], length), 1];
    while (read < length) {
      const [low, high] = read === 1 ? secondBounds(first) : ([0x80, 0xbf] as const);
      const next = bytes[place + read];
      if (next === undefined || next < low || next > high) break;
      code = code * 64 + (next % 64);
      read += 1;
    }
    if (read === length) items.push(code.toString(16).toUpperCase().padStart(4, "0"));
    else {
      items.push(...range(perByte ? read : 1).map(() => REPLACED));
      broken += 1;
    }
    place += read;
  }
  return { items, broken };
}

function make(rng: Rng, level: Level) {
  const [count, longest, damage] = at(SIZES, level - 1);
  const bytes = range(count).flatMap((): number[] => {
    const length = between(rng, level === 1 ? 1 : 2, longest);
    const most = at([0x7e, 0x7ff, 0xd7ff, 0x1_ffff], length - 1);
    const good = encoded(between(rng, Math.max(0x30, at(LEAST, length - 1)), most));
    if (rng.integer(10) >= damage) return good;
    return rng.pick([
      good.slice(0, -1),
      good.slice(1),
      [...good, between(rng, 0x80, 0xbf)],
      [rng.pick([0xc0, 0xc1, 0xf5, 0xff]), between(rng, 0x80, 0xbf)],
      [0xed, between(rng, 0xa0, 0xbf), between(rng, 0x80, 0xbf)],
      [0xe0, between(rng, 0x80, 0x9f), between(rng, 0x80, 0xbf)],
      [0xf4, between(rng, 0x90, 0xbf), 0x80, 0x80],
    ]);
  });
  const { items, broken } = decoded(bytes);
  const perByte = decoded(bytes, true).items;
  if (items.length < 2 || (level > 1 && broken === 0) || (level > 2 && perByte.join() === items.join())) return null;
  const latin = bytes.map((byte) => byte.toString(16).toUpperCase().padStart(4, "0"));
  const misses = [perByte, items.filter((item) => item !== REPLACED), latin];
  return {
    problem: { bytes },
    items,
    misses: misses.filter((miss) => miss.length > 0),
    effort: bytes.length + 3 * broken,
  };
}
