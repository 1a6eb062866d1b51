/**
 * Virtual time: actions that are due at a time, taken in the order of their times, those of one time in the order in which they were added.
 *
 * The clock stands still while anything else happens; only `step` moves it. It knows nothing of the actions.
 */
import { MinHeap } from "./min-heap.ts";

export class VirtualClock {
  readonly #due = new MinHeap<() => void>();
  #now = 0;
  #visible = 0;

  /** Seconds since the beginning. */
  get now(): number {
    return this.#now;
  }

  /** Grows whenever an action changed something that others than the simulation see. */
  get visible(): number {
    return this.#visible;
  }

  /** Marks that parts outside of the simulation see what happens now. */
  seen(): void {
    this.#visible += 1;
  }

  /** Calls the action at that time (seconds), or at once in the order of times when it is over. */
  at(seconds: number, action: () => void): void {
    this.#due.push(Math.max(seconds, this.#now), action);
  }

  /** Resolves at that time, or when the signal is aborted. */
  async until(seconds: number, signal?: AbortSignal): Promise<void> {
    await new Promise<void>((resolve) => {
      const done = (): void => {
        signal?.removeEventListener("abort", done);
        this.seen();
        resolve();
      };
      signal?.addEventListener("abort", done, { once: true });
      this.at(seconds, done);
    });
  }

  /** Moves to the next time at which something is due and does all of it. False when nothing is due. */
  step(): boolean {
    const next = this.#due.leastKey;
    if (next === undefined) return false;
    this.#now = next;
    while (this.#due.leastKey === next) this.#due.pop()?.();
    return true;
  }
}
