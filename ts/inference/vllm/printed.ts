/**
 * What a vLLM printed, as far as a message about its end needs it: the exceptions, whose first is the cause and stands far above the end, and
 * the last lines. Both are bounded.
 */
const TAIL_LINES = 15;
const MOST_ERRORS = 4;
const LONGEST_LINE = 400;
/** An exception as Python prints it, alone on its line or behind the head of a log line; and what argparse says. */
const ERROR =
  /^(?:\(.*?\) ERROR .*?\] )?((?:[a-z_][\w.]*\.)?[A-Z]\w*(?:Error|Exception|Exit)(?:: .*)?|[\w.]+: error: .*)$/u;

export class Printed {
  #rest = "";
  #lines: string[] = [];
  /** In the order of their first appearance. */
  readonly #errors = new Set<string>();

  push(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = (lines.pop() ?? "").slice(-LONGEST_LINE);
    for (const line of lines) this.#add(line.trimEnd());
  }

  /** The exceptions and the last lines, indented. */
  summary(): string {
    const last = this.#rest.trim() === "" ? this.#lines : [...this.#lines, this.#rest].slice(-TAIL_LINES);
    const errors = [...this.#errors];
    return [
      ...(errors.length === 0 ? [] : ["Its errors:", ...errors.map((line) => `  ${line}`)]),
      "The end of what it printed:",
      ...(last.length === 0 ? ["  (nothing)"] : last.map((line) => `  ${line}`)),
    ].join("\n");
  }

  #add(line: string): void {
    const short = line.slice(0, LONGEST_LINE);
    this.#lines = [...this.#lines, short].slice(-TAIL_LINES);
    const error = ERROR.exec(short)?.[1];
    if (error === undefined || this.#errors.has(error)) return;
    this.#errors.add(error);
    const [oldest = ""] = this.#errors;
    if (this.#errors.size > MOST_ERRORS) this.#errors.delete(oldest);
  }
}
