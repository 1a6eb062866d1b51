/** Yielding to the event loop, so that long work does not keep timers and connections waiting. */
import { setImmediate as nextRound } from "node:timers/promises";

/**
 * Turns on the event loop for work that comes in bursts: one turn per round of the loop, so that timers and other connections are served
 * between two of them. Without it, a thousand answers that arrive together are a thousand rollouts scored without a break.
 */
const waiting: (() => void)[] = [];
let head = 0;

/** Resolves in a separate round of the loop, first come, first served. */
export function yieldInTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length - head === 1) setImmediate(next);
  });
}

function next(): void {
  const resolve = waiting[head++];
  if (head === waiting.length) {
    waiting.length = 0;
    head = 0;
  } else setImmediate(next);
  resolve?.();
}

const LONGEST_MS = 2;

/** For a long loop: `if (pause.isDue) await pause.next()` lets the event loop serve others after each 2 ms of work. */
export class Pauses {
  #begun = performance.now();

  get isDue(): boolean {
    return performance.now() - this.#begun > LONGEST_MS;
  }

  /** Resolves when the next turn begins. */
  async next(): Promise<void> {
    await nextRound();
    this.#begun = performance.now();
  }
}
