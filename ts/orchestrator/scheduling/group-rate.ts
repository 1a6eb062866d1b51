/**
 * Limits how many groups (tasks) are begun per minute: a token bucket that fills steadily and holds a second's worth, at least one.
 *
 * Its methods answer at once, so that nothing else stands still; `onReady` is called when a group that had to wait may begin.
 */
const MINUTE_MS = 60_000;
const BURST_MS = 1_000;

export class GroupRate {
  readonly #perMs: number;
  readonly #burst: number;
  readonly #onReady: () => void;
  readonly #now: () => number;
  #tokens: number;
  #filledAt: number;
  #timer: NodeJS.Timeout | undefined;

  /** `tasksPerMinute` null: any number. */
  constructor(tasksPerMinute: number | null, onReady: () => void, now: () => number = () => performance.now()) {
    this.#perMs = tasksPerMinute === null ? Infinity : tasksPerMinute / MINUTE_MS;
    this.#burst = Math.max(1, this.#perMs * BURST_MS);
    this.#tokens = this.#burst;
    this.#onReady = onReady;
    this.#now = now;
    this.#filledAt = now();
  }

  /** Takes a group's token; false when there is none, and `onReady` will be called. */
  take(): boolean {
    if (this.#perMs === Infinity) return true;
    const now = this.#now();
    this.#tokens = Math.min(this.#burst, this.#tokens + (now - this.#filledAt) * this.#perMs);
    this.#filledAt = now;
    if (this.#tokens >= 1) {
      this.#tokens -= 1;
      return true;
    }
    this.#timer ??= setTimeout(
      () => {
        this.#timer = undefined;
        this.#onReady();
      },
      (1 - this.#tokens) / this.#perMs,
    );
    return false;
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
