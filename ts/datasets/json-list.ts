/**
 * The rows of a `.json` text, read as it comes: the elements of one list, or objects one after the other (JSON lines that are named
 * `.json`).
 *
 * Only brackets, strings and commas decide where a row ends; each row is then parsed as JSON, which finds malformed text.
 * At most one row is held. This file knows no file system.
 */
import { PrlError } from "../errors.ts";

export interface JsonRow {
  readonly row: unknown;
  /** Line on which it begins, from 1. */
  readonly line: number;
}

const LONGEST_ROW = 64 * 1024 * 1024;
const SPACE = /\s/u;

/** Errors: PRL_DATA_FORMAT naming the line. */
export async function* jsonRows(pieces: AsyncIterable<string> | Iterable<string>): AsyncGenerator<JsonRow> {
  const reader = new RowReader();
  for await (const piece of pieces) yield* reader.push(piece);
  reader.end();
}

type Form =
  /** Only spaces so far. */
  | "unknown"
  | "list"
  | "objects"
  /** Behind the list. */
  | "ended";

class RowReader {
  #form: Form = "unknown";
  /** Text of the row that is being read. */
  #text = "";
  #rowLine = 1;
  #hasBegun = false;
  #depth = 0;
  #isString = false;
  #isEscaped = false;
  #line = 1;
  /** A list's comma was read and nothing after it. */
  #isOwed = false;

  *push(piece: string): Generator<JsonRow> {
    /** Start of the part of the row that is not in `#text` yet. */
    let from = 0;
    for (let at = 0; at < piece.length; at++) {
      const character = piece[at] as string;
      if (character === "\n") this.#line += 1;
      if (this.#isString) this.#inString(character);
      else if (this.#depth > 0 || (this.#form === "list" && character !== "," && character !== "]")) {
        this.#inRow(character);
        if (this.#form === "objects" && this.#depth === 0) {
          yield this.#rowWith(piece.slice(from, at + 1));
          from = at + 1;
        }
      } else {
        const row = this.#between(character, piece.slice(from, at));
        if (row !== null) yield row;
        from = this.#depth > 0 ? at : at + 1;
      }
      if (at - from + this.#text.length > LONGEST_ROW) throw malformed(this.#rowLine, "a row is longer than 64 MiB");
    }
    this.#text += piece.slice(from);
  }

  end(): void {
    if (this.#form === "list") throw malformed(this.#line, "the list is never closed");
    if (this.#form === "objects" && this.#depth > 0) throw malformed(this.#rowLine, "the row is never closed");
  }

  #inString(character: string): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (character === "\\") this.#isEscaped = true;
    else if (character === '"') this.#isString = false;
  }

  #inRow(character: string): void {
    if (!this.#hasBegun && !SPACE.test(character)) this.#begin();
    if (character === '"') this.#isString = true;
    else if (character === "{" || character === "[") this.#depth += 1;
    else if (character === "}" || character === "]") this.#depth -= 1;
  }

  /** Handles a character between rows; in a list it ends the row before it, if there is one. */
  #between(character: string, before: string): JsonRow | null {
    if (this.#form === "list") {
      const isEmpty = `${this.#text}${before}`.trim() === "";
      const isEnd = character === "]";
      if (isEmpty && (!isEnd || this.#isOwed)) throw malformed(this.#line, `a row is missing before "${character}"`);
      if (isEnd) this.#form = "ended";
      this.#isOwed = !isEnd;
      return isEmpty ? null : this.#rowWith(before);
    }
    if (SPACE.test(character)) return null;
    if (this.#form === "unknown" && character === "[") this.#form = "list";
    else if (this.#form !== "ended" && character === "{") {
      this.#form = "objects";
      this.#begin();
      this.#depth = 1;
    } else throw malformed(this.#line, `"${character}" is neither in a list nor the beginning of a row`);
    return null;
  }

  #begin(): void {
    this.#hasBegun = true;
    this.#rowLine = this.#line;
  }

  #rowWith(rest: string): JsonRow {
    const text = this.#text + rest;
    this.#text = "";
    this.#hasBegun = false;
    try {
      return { row: JSON.parse(text) as unknown, line: this.#rowLine };
    } catch (cause) {
      throw malformed(this.#rowLine, "the row is no JSON", cause);
    }
  }
}

function malformed(line: number, problem: string, cause?: unknown): PrlError {
  return new PrlError("PRL_DATA_FORMAT", `line ${line}: ${problem}`, cause === undefined ? undefined : { cause });
}
