/** Writes `launcher.log` in the logs of a run: what the launcher shows on a terminal, as lines, so that a run without a terminal can be followed. */
import { closeSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";

import { PrlError } from "../../errors.ts";
import { plainLine, type RunEvent } from "../../monitors/index.ts";

export class ProgressLog {
  readonly #path: string;
  #fd: number | null;

  /** @throws PrlError `PRL_IO` when the file cannot be made */
  constructor(logs: string) {
    this.#path = join(logs, "launcher.log");
    try {
      this.#fd = openSync(this.#path, "a");
    } catch (cause) {
      throw new PrlError("PRL_IO", `cannot open ${this.#path} for appending`, { cause });
    }
  }

  /** Returns the first error, once: a log that cannot be written must not end the run. */
  add(event: RunEvent): PrlError | null {
    const line = plainLine(event);
    if (line === null || this.#fd === null) return null;
    try {
      writeSync(this.#fd, `${line}\n`);
      return null;
    } catch (cause) {
      this.close();
      return new PrlError("PRL_IO", `cannot append to ${this.#path}; the run goes on without it`, { cause });
    }
  }

  close(): void {
    if (this.#fd !== null) closeSync(this.#fd);
    this.#fd = null;
  }
}
