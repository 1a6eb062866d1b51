/**
 * Reads a growing `metrics.jsonl` from where it stopped, one poll at a time.
 *
 * Only whole lines are handed out: what follows the last newline waits for the next poll. A line that is not a JSON object of the
 * expected form is counted and skipped, because a process may have died while it wrote.
 */
import { open, type FileHandle } from "node:fs/promises";

import { PrlError } from "../../errors.ts";
import { isMissing } from "../../files/file-presence.ts";
import type { MetricsLine } from "./metrics.ts";

const CHUNK_BYTES = 64 * 1024;
const NEWLINE = 0x0a;
/** Every line begins so. */
const LINE_START = '{"component":';

export class MetricsTail {
  readonly #path: string;
  #offset = 0;
  #rest: Buffer = Buffer.alloc(0);
  #malformed = 0;

  constructor(path: string) {
    this.#path = path;
  }

  /** Lines so far that were not readable. */
  get malformed(): number {
    return this.#malformed;
  }

  /**
   * Everything appended since the last call, in file order, as it is read; nothing while the file does not exist. Calls must not overlap.
   *
   * @throws PrlError `PRL_IO` when the file exists and cannot be read.
   */
  async *poll(): AsyncGenerator<MetricsLine, void, undefined> {
    let file: FileHandle;
    try {
      file = await open(this.#path, "r");
    } catch (cause) {
      if (isMissing(cause)) return;
      throw new PrlError("PRL_IO", `cannot read ${this.#path}`, { cause });
    }
    try {
      const chunk = Buffer.alloc(CHUNK_BYTES);
      for (let bytesRead = await this.#read(file, chunk); bytesRead > 0; bytesRead = await this.#read(file, chunk)) {
        this.#offset += bytesRead;
        yield* this.#linesOf(Buffer.concat([this.#rest, chunk.subarray(0, bytesRead)]));
      }
    } finally {
      await file.close();
    }
  }

  async #read(file: FileHandle, chunk: Buffer): Promise<number> {
    try {
      return (await file.read(chunk, 0, chunk.length, this.#offset)).bytesRead;
    } catch (cause) {
      throw new PrlError("PRL_IO", `cannot read ${this.#path}`, { cause });
    }
  }

  #linesOf(bytes: Buffer): MetricsLine[] {
    const lines: MetricsLine[] = [];
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
      const text = bytes.toString("utf8", start, end);
      const whole = parseLine(text);
      // A torn line has no end, so that the next process's line follows it at once.
      const line = whole ?? parseLine(text.slice(text.lastIndexOf(LINE_START)));
      if (whole === null) this.#malformed += 1;
      if (line !== null) lines.push(line);
      start = end + 1;
    }
    this.#rest = bytes.subarray(start);
    return lines;
  }
}

function parseLine(text: string): MetricsLine | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // A torn line of a process that died; the caller counts it.
    return null;
  }
  return isMetricsLine(value) ? value : null;
}

function isMetricsLine(value: unknown): value is MetricsLine {
  if (typeof value !== "object" || value === null) return false;
  const line: Partial<Record<string, unknown>> = { ...value };
  return (
    typeof line["component"] === "string" && typeof line["step"] === "number" && typeof line["attempt"] === "number"
  );
}
