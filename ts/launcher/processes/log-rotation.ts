/** Keeps the logs of a run's processes within their limits: looks at them every ten seconds. */
import { readdir, realpath } from "node:fs/promises";
import { join } from "node:path";

import { ifThere } from "../../files/file-presence.ts";
import { type LogLimits, rotateLog } from "../../files/rotated-log.ts";

const LOOK_MS = 10_000;

/** The limits that a config sets. */
export function logLimits(log: { max_bytes: number; keep: number }): LogLimits {
  return { maxBytes: log.max_bytes, keep: log.keep };
}

export class LogRotation {
  readonly #folder: () => string;
  readonly #limits: LogLimits;
  readonly #onFailure: (error: unknown) => void;
  readonly #timer: NodeJS.Timeout;
  #looking: Promise<void> | null = null;
  #hasFailed = false;

  /**
   * @param folder gives the folder of the logs, at each look
   * @param onFailure is called with the first failure: a log that cannot be rotated must not end the run, and is tried again
   */
  constructor(folder: () => string, limits: LogLimits, onFailure: (error: unknown) => void) {
    this.#folder = folder;
    this.#limits = limits;
    this.#onFailure = onFailure;
    this.#timer = setInterval(() => void this.look(), LOOK_MS);
    this.#timer.unref();
  }

  /** Rotates what is too large; never rejects. A call during another one waits for that. */
  async look(): Promise<void> {
    this.#looking ??= this.#rotateAll().finally(() => {
      this.#looking = null;
    });
    await this.#looking;
  }

  /** Resolves when no log is being rotated any more. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
  }

  async #rotateAll(): Promise<void> {
    const folder = this.#folder();
    try {
      for (const name of (await ifThere(readdir(folder), folder)) ?? []) {
        if (!name.endsWith(".log")) continue;
        // The log of a process that stays is a link into the folder of an earlier attempt.
        const path = join(folder, name);
        const log = await ifThere(realpath(path), path);
        if (log !== null) await rotateLog(log, this.#limits);
      }
    } catch (error) {
      if (!this.#hasFailed) this.#onFailure(error);
      this.#hasFailed = true;
    }
  }
}
