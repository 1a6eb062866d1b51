/** Changes of inputs that know nothing of their format, except for a dictionary of its words. `crates/fuzz` changes inputs in the same ways. */
import { createRng, type Rng } from "../../../ts/random/rng.ts";

/** Numbers at which sizes, signs and widths change, as texts write them. */
const NUMBERS = [
  "0",
  "1",
  "-1",
  "2",
  "7",
  "16",
  "127",
  "255",
  "65536",
  "2147483647",
  "4294967296",
  "9007199254740991",
  "9007199254740993",
  "18446744073709551616",
  "0.5",
  "-0",
  "00",
  "1e308",
  "-1e999",
  "1e-400",
  "NaN",
];
/** Most changes of one input. */
const MOST_CHANGES = 6;
/** Most copies of a part in one change, as a power of two: they nest what opens and fill what is counted. */
const MOST_DOUBLINGS = 13;
const LONGEST_COPIED = 64;
const OPENS = "([{<";
const CLOSES = ")]}>";

/** Makes inputs out of inputs. The same seed gives the same changes. */
export class Mutator {
  readonly #rng: Rng;
  readonly #words: readonly Buffer[];
  readonly #mostBytes: number;

  constructor(seed: number, words: readonly string[], mostBytes: number) {
    this.#rng = createRng(seed);
    this.#words = words.map((word) => Buffer.from(word));
    this.#mostBytes = mostBytes;
  }

  pick<Item>(items: readonly Item[]): Item {
    return this.#rng.pick(items);
  }

  /** `input` with one to six changes; `other` gives parts that are put in. */
  changed(input: Uint8Array, other: Uint8Array): Uint8Array {
    // Most inputs have few changes, because each one more makes it likelier that the first check already fails.
    const changes = 1 + Math.min(this.#rng.integer(MOST_CHANGES), this.#rng.integer(MOST_CHANGES));
    let bytes: Buffer = Buffer.from(input);
    for (let change = 0; change < changes; change++) {
      bytes = this.#changedOnce(bytes, Buffer.from(other)).subarray(0, this.#mostBytes);
    }
    return bytes;
  }

  #changedOnce(input: Buffer, other: Buffer): Buffer {
    switch (this.#rng.integer(14)) {
      case 0:
        return this.#withByte(input, (byte) => byte ^ (1 << this.#rng.integer(8)));
      case 1:
        return this.#withByte(input, () => this.#rng.integer(256));
      case 2:
      case 3:
        return this.#withNumber(input);
      case 4:
        return input.subarray(0, this.#place(input));
      case 5: {
        const [start, end] = this.#part(input);
        return Buffer.concat([input.subarray(0, start), input.subarray(end)]);
      }
      case 6:
        return this.#inserted(input, input.subarray(...this.#part(input)));
      case 7:
        return this.#repeated(input);
      case 8:
        return this.#inserted(input, other.subarray(...this.#part(other)));
      case 9:
        return Buffer.concat([input.subarray(0, this.#place(input)), other.subarray(this.#place(other))]);
      case 10:
        return this.#withBracket(input, other);
      default:
        return this.#withWord(input);
    }
  }

  /** A position, the end included. */
  #place(bytes: Buffer): number {
    return this.#rng.integer(bytes.length + 1);
  }

  /** Start and end of a part; short ones are as likely as long ones. */
  #part(bytes: Buffer): [start: number, end: number] {
    const start = this.#place(bytes);
    const most = Math.min(this.#rng.integer(2) === 0 ? 16 : bytes.length, bytes.length - start);
    return [start, start + this.#rng.integer(most + 1)];
  }

  #withByte(input: Buffer, change: (byte: number) => number): Buffer {
    if (input.length === 0) return input;
    const at = this.#rng.integer(input.length);
    input[at] = change(input[at] ?? 0);
    return input;
  }

  /** Puts another number in the place of one. */
  #withNumber(input: Buffer): Buffer {
    const number = Buffer.from(this.#rng.pick(NUMBERS));
    const from = this.#place(input);
    const length = input.subarray(from).findIndex((byte) => isDigit(byte));
    if (length < 0) return this.#inserted(input, number);
    const start = from + length;
    const rest = input.subarray(start);
    const digits = rest.findIndex((byte) => !isDigit(byte));
    return Buffer.concat([input.subarray(0, start), number, digits < 0 ? Buffer.alloc(0) : rest.subarray(digits)]);
  }

  #repeated(input: Buffer): Buffer {
    const [start, end] = this.#part(input);
    const copied = input.subarray(start, Math.min(end, start + LONGEST_COPIED));
    const isWord = this.#words.length > 0 && this.#rng.integer(2) === 0;
    const piece = isWord ? this.#rng.pick(this.#words) : copied;
    if (piece.length === 0) return input;
    const copies = Math.min(2 ** this.#rng.integer(MOST_DOUBLINGS + 1), Math.ceil(this.#mostBytes / piece.length));
    return this.#inserted(input, Buffer.alloc(copies * piece.length, piece));
  }

  /** Puts what is between two brackets of `other` in the place of what is between two of `input`. */
  #withBracket(input: Buffer, other: Buffer): Buffer {
    const [start, end] = this.#bracket(input);
    const [otherStart, otherEnd] = this.#bracket(other);
    return Buffer.concat([input.subarray(0, start), other.subarray(otherStart, otherEnd), input.subarray(end)]);
  }

  /** Start and end of a bracket with what is in it; any part where there is none. */
  #bracket(bytes: Buffer): [start: number, end: number] {
    const from = this.#place(bytes);
    const length = bytes.subarray(from).findIndex((byte) => OPENS.includes(String.fromCharCode(byte)));
    if (length < 0) return this.#part(bytes);
    const start = from + length;
    let depth = 0;
    for (let at = start; at < bytes.length; at++) {
      const sign = String.fromCharCode(bytes[at] ?? 0);
      if (OPENS.includes(sign)) depth += 1;
      else if (CLOSES.includes(sign)) depth -= 1;
      if (depth === 0) return [start, at + 1];
    }
    return [start, bytes.length];
  }

  /** A word of the format, put in or written over what is there. */
  #withWord(input: Buffer): Buffer {
    if (this.#words.length === 0) return this.#withByte(input, () => this.#rng.integer(256));
    const word = this.#rng.pick(this.#words);
    const at = this.#place(input);
    const end = this.#rng.integer(2) === 0 ? at : at + word.length;
    return Buffer.concat([input.subarray(0, at), word, input.subarray(end)]);
  }

  #inserted(input: Buffer, piece: Buffer): Buffer {
    const at = this.#place(input);
    return Buffer.concat([input.subarray(0, at), piece, input.subarray(at)]);
  }
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}
