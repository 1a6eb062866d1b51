/** A long piece of work in turns: after each turn it waits for a round of the event loop, so that other work is served in between. */
import { setImmediate } from "node:timers/promises";

const LONGEST_MS = 2;

export class Turns {
  #begun = performance.now();

  get isOver(): boolean {
    return performance.now() - this.#begun > LONGEST_MS;
  }

  /** Resolves when the next turn begins. */
  async next(): Promise<void> {
    await setImmediate();
    this.#begun = performance.now();
  }
}
