/** Shows the progress of an evaluation: one line that is rewritten on a terminal, a line every few seconds elsewhere. */
import type { EvaluationProgress } from "../evals/index.ts";
import { formatNumber, formatSeconds } from "../monitors/index.ts";

const REDRAW_MS = 100;
const LINE_MS = 5_000;

export class EvaluationProgressView {
  readonly #write: (text: string) => void;
  readonly #columns: number | null;
  #name: string | null = null;
  #begun = 0;
  #shownAt = -Infinity;

  /** @param columns of the terminal; null: no terminal. */
  constructor(write: (text: string) => void, columns: number | null) {
    this.#write = write;
    this.#columns = columns;
  }

  show(progress: EvaluationProgress): void {
    const now = performance.now();
    if (progress.name !== this.#name) {
      [this.#name, this.#begun, this.#shownAt] = [progress.name, now, this.#columns === null ? now : -Infinity];
    }
    const isLast = progress.done === progress.total;
    if (!isLast && now - this.#shownAt < (this.#columns === null ? LINE_MS : REDRAW_MS)) return;
    this.#shownAt = now;
    const line = progressLine(progress, (now - this.#begun) / 1000);
    if (this.#columns === null) this.#write(`${line}\n`);
    else this.#write(`\r\u001b[2K${line.slice(0, this.#columns - 1)}${isLast ? "\n" : ""}`);
  }
}

/** `gsm8k 12/40 | Reward 0.6312 | Errors 0 | 12.3s` */
export function progressLine({ name, done, total, errors, meanReward }: EvaluationProgress, seconds: number): string {
  const reward = formatNumber(Number.isNaN(meanReward) ? undefined : meanReward);
  return [`${name} ${done}/${total}`, `Reward ${reward}`, `Errors ${errors}`, formatSeconds(seconds)].join(" | ");
}
