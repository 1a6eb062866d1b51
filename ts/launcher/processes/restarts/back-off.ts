/**
 * The pause before a process is started again: none after the first loss, then one that doubles with each further loss in a row, up to 10 s.
 *
 * Losses are in a row until the process has done something again. This class knows nothing of processes, steps and clocks: who uses it says whether
 * something was done since the loss before.
 */
export const FIRST_PAUSE_MS = 250;
export const LONGEST_PAUSE_MS = 10_000;

export class BackOff {
  readonly #firstPauseMs: number;
  #inARow = 0;

  /** `firstPauseMs`: the pause after the second loss in a row. */
  constructor(firstPauseMs: number = FIRST_PAUSE_MS) {
    this.#firstPauseMs = firstPauseMs;
  }

  /** Losses in a row. */
  get inARow(): number {
    return this.#inARow;
  }

  /** Counts a loss and returns the pause before the next start; `wasUseful`: the process has done something since the loss before. */
  lost(wasUseful: boolean): number {
    this.#inARow = wasUseful ? 1 : this.#inARow + 1;
    if (this.#inARow === 1) return 0;
    return Math.min(LONGEST_PAUSE_MS, this.#firstPauseMs * 2 ** (this.#inARow - 2));
  }
}
