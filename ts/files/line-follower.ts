/**
 * Reads a growing text file from a byte on, in pieces of whole lines. What follows the last line end waits, until the file is said to be whole. A
 * line longer than a piece is cut. It holds one piece in memory. A piece has as many bytes of UTF-8 as were read, so that a reader can count them.
 *
 * A file that has lost what was read was rotated: what was not read yet is at the end of its newest rotated file.
 */
import { isUtf8 } from "node:buffer";
import { type FileHandle, open } from "node:fs/promises";

import { PrlError } from "../errors.ts";
import { ifThere } from "./file-presence.ts";
import { rotatedPath } from "./rotated-log.ts";

const NEWLINE = 0x0a;
/** Bytes of UTF-8 that continue a character. */
const CONTINUATION = 0b1000_0000;
const CONTINUATION_MASK = 0b1100_0000;

export class LineFollower {
  readonly #path: string;
  readonly #buffer: Buffer;
  #offset: number;
  /** Size of the file at the last look. */
  #seen = 0;

  constructor(path: string, offset: number, pieceBytes: number) {
    this.#path = path;
    this.#offset = offset;
    this.#buffer = Buffer.alloc(pieceBytes);
  }

  /**
   * Reads the lines that were appended since the last call; none while the file does not exist. Calls must not overlap. `isWhole`: the file grows no more.
   * Errors: PRL_IO.
   */
  async *poll(isWhole = false): AsyncGenerator<string> {
    const file = await ifThere(open(this.#path, "r"), this.#path);
    if (file === null) return;
    let before: number;
    try {
      const { size } = await file.stat();
      // The bytes beyond the offset are a torn line, which may have been removed.
      if (size < Math.min(this.#seen, this.#offset)) {
        const rotated = rotatedPath(this.#path, 1);
        const older = await ifThere(open(rotated, "r"), rotated);
        if (older !== null) yield* this.#pieces(older, true);
        this.#offset = 0;
      }
      this.#seen = size;
      before = this.#offset;
    } catch (error) {
      await file.close();
      throw error;
    }
    yield* this.#pieces(file, isWhole);
    if (this.#offset > before) this.#seen = Math.max(this.#seen, this.#offset);
  }

  /** Closes the file at the end. */
  async *#pieces(file: FileHandle, isWhole: boolean): AsyncGenerator<string> {
    try {
      for (let piece = await this.#next(file, isWhole); piece !== ""; piece = await this.#next(file, isWhole))
        yield piece;
    } finally {
      await file.close();
    }
  }

  async #next(file: FileHandle, isWhole: boolean): Promise<string> {
    const { bytesRead } = await file
      .read(this.#buffer, 0, this.#buffer.length, this.#offset)
      .catch((cause: unknown) => {
        throw new PrlError("PRL_IO", `cannot read ${this.#path}`, { cause });
      });
    const lines = this.#buffer.subarray(0, bytesRead).lastIndexOf(NEWLINE) + 1;
    const isFull = bytesRead === this.#buffer.length;
    const all = isWhole && !isFull ? bytesRead : 0;
    const taken = Math.max(lines, all, lines === 0 && isFull ? this.#wholeCharacters() : 0);
    this.#offset += taken;
    return textOf(this.#buffer.subarray(0, taken));
  }

  /** Where the last character of a full buffer begins: it may be incomplete. A buffer without a beginning of a character is taken as it is. */
  #wholeCharacters(): number {
    const begins = this.#buffer.findLastIndex((byte) => (byte & CONTINUATION_MASK) !== CONTINUATION);
    return begins > 0 ? begins : this.#buffer.length;
  }
}

/** A line that is no UTF-8, such as one of a process that died within a character, keeps only its ASCII. */
function textOf(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString("utf8");
  const lines = bytes.toString("latin1").split(/(?<=\n)/u);
  const texts = lines.map((line) => {
    const own = Buffer.from(line, "latin1");
    return isUtf8(own) ? own.toString("utf8") : line.replaceAll(/[\u0080-\u00ff]/gu, "?");
  });
  return texts.join("");
}
