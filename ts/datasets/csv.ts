/**
 * CSV by RFC 4180, read as it comes: fields in quotes hold delimiters, line ends and doubled quotes.
 *
 * Lines end with CRLF or LF. A quote inside a field that does not begin with one is an ordinary character. An empty line is a record with
 * one empty field; `csvRows` leaves it out where there are several columns. This file knows no file system.
 */
import { PrlError } from "../errors.ts";

export interface CsvRecord {
  readonly fields: readonly string[];
  /** Line on which it begins, from 1. */
  readonly line: number;
}

const LONGEST_FIELD = 64 * 1024 * 1024;

/**
 * The records of a text that comes in pieces, cut anywhere.
 * Errors: PRL_DATA_FORMAT naming the line, for text behind a closing quote and for a quote that is never closed.
 */
export async function* csvRecords(
  pieces: AsyncIterable<string> | Iterable<string>,
  delimiter: string = ",",
): AsyncGenerator<CsvRecord> {
  const reader = new CsvReader(delimiter);
  for await (const piece of pieces) yield* reader.push(piece);
  yield* reader.end();
}

/**
 * Objects of the records after the first, whose fields are the keys; empty lines are left out, except where there is only one column.
 * Errors: PRL_DATA_FORMAT naming the line, for a header that names a column twice and for a record of another length.
 */
export async function* csvRows(
  pieces: AsyncIterable<string> | Iterable<string>,
  delimiter: string = ",",
): AsyncGenerator<{ readonly row: Record<string, string>; readonly line: number }> {
  let header: readonly string[] | null = null;
  for await (const { fields, line } of csvRecords(pieces, delimiter)) {
    if (header === null) {
      header = fields.map((name, index) => (index === 0 ? name.replace(/^\uFEFF/u, "") : name));
      const twice = header.find((name, index) => header?.indexOf(name) !== index);
      if (twice !== undefined) throw malformed(line, `the header names the column "${twice}" twice`);
      continue;
    }
    if (fields.length === 1 && fields[0] === "" && header.length > 1) continue;
    if (fields.length !== header.length)
      throw malformed(line, `${fields.length} fields, and the header has ${header.length}`);
    yield { row: Object.fromEntries(header.map((name, index) => [name, fields[index] ?? ""])), line };
  }
}

type State =
  /** Before the first character of a field. */
  | "start"
  | "plain"
  | "quoted"
  /** After a quote inside quotes: it ends the field, or is the first half of a doubled quote. */
  | "quote";

class CsvReader {
  readonly #delimiter: string;
  #state: State = "start";
  #field = "";
  #fields: string[] = [];
  /** A CR that may belong to a line end. */
  #heldReturn = false;
  #line = 1;
  #recordLine = 1;

  constructor(delimiter: string) {
    this.#delimiter = delimiter;
  }

  *push(piece: string): Generator<CsvRecord> {
    for (let at = 0; at < piece.length;) {
      at = this.#state === "quoted" ? this.#run(piece, at, '"') : this.#run(piece, at, null);
      const character = piece[at];
      if (character === undefined) break;
      at += 1;
      const record = this.#take(character);
      if (record !== null) yield record;
    }
  }

  *end(): Generator<CsvRecord> {
    if (this.#state === "quoted") throw malformed(this.#recordLine, "a quote is never closed");
    this.#releaseReturn();
    if (this.#state === "start" && this.#fields.length === 0) return;
    yield this.#endRecord();
  }

  /** Copies text without special meaning: up to a quote inside quotes, or up to a special character in a plain field. */
  #run(piece: string, from: number, until: string | null): number {
    if (until === null && (this.#state !== "plain" || this.#heldReturn)) return from;
    let to = from;
    while (to < piece.length) {
      const character = piece[to];
      if (
        until === null ? character === this.#delimiter || character === "\n" || character === "\r" : character === until
      )
        break;
      if (character === "\n") this.#line += 1;
      to += 1;
    }
    this.#field += piece.slice(from, to);
    if (this.#field.length > LONGEST_FIELD) throw malformed(this.#recordLine, "a field is longer than 64 MiB");
    return to;
  }

  #take(character: string): CsvRecord | null {
    if (this.#state === "quoted") {
      this.#state = "quote";
      return null;
    }
    if (character === "\n") {
      this.#heldReturn = false;
      this.#line += 1;
      return this.#endRecord();
    }
    this.#releaseReturn();
    if (character === "\r") this.#heldReturn = true;
    else if (character === this.#delimiter) this.#endField();
    else if (character === '"' && this.#state === "start") this.#state = "quoted";
    else if (character === '"' && this.#state === "quote") {
      this.#field += '"';
      this.#state = "quoted";
    } else if (this.#state === "quote")
      throw malformed(this.#line, `${JSON.stringify(character)} behind a closing quote`);
    else {
      this.#field += character;
      this.#state = "plain";
    }
    return null;
  }

  /** A CR that no LF followed is part of the field. */
  #releaseReturn(): void {
    if (!this.#heldReturn) return;
    this.#heldReturn = false;
    if (this.#state === "quote") throw malformed(this.#line, '"\\r" behind a closing quote');
    this.#field += "\r";
    this.#state = "plain";
  }

  #endField(): void {
    this.#fields.push(this.#field);
    this.#field = "";
    this.#state = "start";
  }

  #endRecord(): CsvRecord {
    this.#endField();
    const record = { fields: this.#fields, line: this.#recordLine };
    this.#fields = [];
    this.#recordLine = this.#line;
    return record;
  }
}

function malformed(line: number, problem: string): PrlError {
  return new PrlError("PRL_DATA_FORMAT", `line ${line}: ${problem}`);
}
