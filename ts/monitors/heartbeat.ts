/**
 * A heartbeat on the lifeline of a process says that its main loop runs, by the line itself, and which native work has not got on for how
 * long, by the text of the line: `<milliseconds> <work>`, or nothing.
 */

/** Native work of a process that does not get on. */
export interface Standstill {
  /** Name of the work. */
  work: string;
  /** Milliseconds since it last got on. */
  ms: number;
}

/** Nearly all work gets on many times a second: a shorter standstill is not worth a word. */
const LEAST_MS = 1_000;
/** A heartbeat has far fewer characters. */
const LONGEST_LINE = 1_024;
const LINE = /^(?<ms>\d{1,15}) (?<work>.+)$/u;

export function heartbeatLine(standstill: Standstill | null): string {
  if (standstill === null || standstill.ms < LEAST_MS) return "\n";
  // A visible character of ASCII is one byte, so that lines can be cut anywhere on their way.
  const work = standstill.work.replaceAll(/[^\u0021-\u007e]/gu, " ").slice(0, LONGEST_LINE / 2);
  return `${Math.round(standstill.ms)} ${work}\n`;
}

/** Reads the heartbeats of one process. */
export class HeartbeatReader {
  #rest = "";
  #last: Standstill | null = null;
  #before: Standstill | null = null;

  push(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = (lines.pop() ?? "").slice(0, LONGEST_LINE);
    for (const line of lines) {
      const { ms, work } = LINE.exec(line)?.groups ?? {};
      this.#before = this.#last;
      this.#last = ms === undefined || work === undefined ? null : { work, ms: Number(ms) };
    }
  }

  /**
   * The standstill that the last two heartbeats named, as the earlier one had it; null when one of them named none. A process that stood still as a
   * whole names a long one when it goes on, and its work then gets on before the next heartbeat.
   */
  get standstill(): Standstill | null {
    return this.#last === null || this.#before === null || this.#last.ms < this.#before.ms ? null : this.#before;
  }
}
