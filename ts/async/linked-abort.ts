/**
 * An abort controller that also follows another signal, until it is released.
 *
 * AbortSignal.any does the same, but only the garbage collector releases it: for work that lasts a millisecond under a signal that lasts
 * as long as the run, that costs more than the work.
 */
import { setMaxListeners } from "node:events";

/** Node fires a timer of a longer time at once. */
const LONGEST_MS = 2 ** 31 - 1;

export class LinkedAbort {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal;
  readonly #follow: () => void;
  #timer: NodeJS.Timeout | undefined;
  #isLate = false;

  constructor(outer: AbortSignal) {
    this.#outer = outer;
    this.#follow = () => this.#controller.abort(outer.reason);
    // Many listeners on one signal are expected here and are not a leak.
    setMaxListeners(0, outer);
    if (outer.aborted) this.#follow();
    else outer.addEventListener("abort", this.#follow, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The time of `abortAfter` passed before any other abort. */
  get isLate(): boolean {
    return this.#isLate;
  }

  abort(reason: unknown): void {
    this.#controller.abort(reason);
  }

  /** Times beyond 24 days, `Infinity` among them, count as 24 days. */
  abortAfter(ms: number, reason: () => unknown): this {
    this.#timer = setTimeout(
      () => {
        this.#isLate = !this.signal.aborted;
        this.abort(reason());
      },
      Math.min(ms, LONGEST_MS),
    );
    return this;
  }

  /** Stops the clock and stops following the other signal. */
  release(): void {
    clearTimeout(this.#timer);
    this.#outer.removeEventListener("abort", this.#follow);
  }
}
