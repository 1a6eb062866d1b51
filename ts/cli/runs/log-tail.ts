/** Lines of a growing log, from where the last call stopped. Its memory is one chunk and one line; a longer line comes in pieces. */
import { type FileHandle, open } from "node:fs/promises";

import { PrlError } from "../../errors.ts";
import { isMissing } from "../../files/file-presence.ts";

const CHUNK_BYTES = 64 * 1024;
const LONGEST_LINE_BYTES = 64 * 1024;
const NEWLINE = 0x0a;

export class LogTail {
  readonly #path: string;
  #offset = 0;
  #rest: Buffer = Buffer.alloc(0);

  constructor(path: string) {
    this.#path = path;
  }

  /**
   * Hands out every whole line that was appended; none while the file is missing. Calls must not overlap.
   *
   * @throws PrlError `PRL_IO` when the file is there and cannot be read
   */
  async poll(onLine: (line: string) => void): Promise<void> {
    let file: FileHandle | undefined;
    try {
      file = await open(this.#path, "r");
      const chunk = Buffer.alloc(CHUNK_BYTES);
      for (;;) {
        const { bytesRead } = await file.read(chunk, 0, chunk.length, this.#offset);
        if (bytesRead === 0) return;
        this.#offset += bytesRead;
        this.#take(Buffer.concat([this.#rest, chunk.subarray(0, bytesRead)]), onLine);
      }
    } catch (cause) {
      if (isMissing(cause)) return;
      throw new PrlError("PRL_IO", `cannot read ${this.#path}`, { cause });
    } finally {
      await file?.close();
    }
  }

  /** Hands out what follows the last newline, when the writer has ended. */
  end(onLine: (line: string) => void): void {
    if (this.#rest.length > 0) onLine(this.#rest.toString("utf8"));
    this.#rest = Buffer.alloc(0);
  }

  #take(bytes: Buffer, onLine: (line: string) => void): void {
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
      onLine(bytes.toString("utf8", start, end));
      start = end + 1;
    }
    this.#rest = bytes.subarray(start);
    if (this.#rest.length > LONGEST_LINE_BYTES) this.end(onLine);
  }
}
