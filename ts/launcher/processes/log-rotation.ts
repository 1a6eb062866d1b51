/**
 * Keeps the logs of a run's processes and its `events.jsonl` within their limits, and removes the logs of old attempts: looks at them every ten seconds.
 */
import { readdir, realpath, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

import { ifThere } from "../../files/file-presence.ts";
import { type LogLimits, rotateLog } from "../../files/rotated-log.ts";
import { EVENTS_FILE } from "../../monitors/index.ts";

const LOOK_MS = 10_000;
const ATTEMPT = /^attempt_(\d+)$/u;

export interface LogRules extends LogLimits {
  /** Number of newest attempts whose logs stay. */
  readonly attempts: number;
}

interface LogBlock {
  max_bytes: number;
  keep: number;
  keep_attempts: number;
}

/** The limits of each log that a config sets. */
export function logLimits({ max_bytes: maxBytes, keep }: Pick<LogBlock, "max_bytes" | "keep">): LogLimits {
  return { maxBytes, keep };
}

export function logRules(log: LogBlock): LogRules {
  return { ...logLimits(log), attempts: log.keep_attempts };
}

export class LogRotation {
  readonly #runDir: string;
  readonly #folder: () => string;
  readonly #rules: LogRules;
  readonly #onFailure: (error: unknown) => void;
  readonly #timer: NodeJS.Timeout;
  #looking: Promise<void> | null = null;
  #hasFailed = false;

  /**
   * @param folder gives the folder of the attempt's logs in the run directory, at each look
   * @param onFailure is called with the first failure: a log that cannot be rotated must not end the run, and is tried again
   */
  constructor(runDir: string, folder: () => string, rules: LogRules, onFailure: (error: unknown) => void) {
    this.#runDir = runDir;
    this.#folder = folder;
    this.#rules = rules;
    this.#onFailure = onFailure;
    this.#timer = setInterval(() => void this.look(), LOOK_MS);
    this.#timer.unref();
  }

  /** Rotates what is too large, and removes what is too old; never rejects. A call during another one waits for that. */
  async look(): Promise<void> {
    this.#looking ??= this.#keepLimits().finally(() => {
      this.#looking = null;
    });
    await this.#looking;
  }

  /** Resolves when no log is being rotated any more. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
  }

  async #keepLimits(): Promise<void> {
    const folder = this.#folder();
    try {
      for (const log of await logsIn(folder)) await rotateLog(log, this.#rules);
      await rotateLog(join(this.#runDir, EVENTS_FILE), this.#rules);
      await removeOldAttempts(dirname(folder), this.#rules.attempts);
    } catch (error) {
      if (!this.#hasFailed) this.#onFailure(error);
      this.#hasFailed = true;
    }
  }
}

/** The files of the logs in a folder. The log of a process that stays is a link into the folder of an earlier attempt. */
async function logsIn(folder: string): Promise<string[]> {
  const names = ((await ifThere(readdir(folder), folder)) ?? []).filter((name) => name.endsWith(".log"));
  const paths = await Promise.all(names.map((name) => ifThere(realpath(join(folder, name)), folder)));
  return paths.filter((path) => path !== null);
}

/** Removes the folders of all but the newest attempts and of those to which links of these lead. */
async function removeOldAttempts(logs: string, attempts: number): Promise<void> {
  const names = ((await ifThere(readdir(logs), logs)) ?? [])
    .filter((name) => ATTEMPT.test(name))
    .toSorted((a, b) => Number(ATTEMPT.exec(b)?.[1]) - Number(ATTEMPT.exec(a)?.[1]));
  const old = names.slice(attempts);
  if (old.length === 0) return;
  const linked = new Set<string>();
  for (const name of names.slice(0, attempts))
    for (const log of await logsIn(join(logs, name))) linked.add(basename(dirname(log)));
  for (const name of old) if (!linked.has(name)) await rm(join(logs, name), { recursive: true, force: true });
}
