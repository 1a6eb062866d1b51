/** Which parts of the readers' code have run, by the counters that `instrument.mjs` puts into it. */

/** More than the code has. They are in `globalThis.prlFuzzCounters` before the code is loaded. */
export const MOST_COUNTERS = 2 ** 17;
const COUNTERS_PER_WORD = BigUint64Array.BYTES_PER_ELEMENT;

declare global {
  // oxlint-disable-next-line no-var -- only `var` declares a property of the global object
  var prlFuzzCounters: Uint8Array;
}

export class Coverage {
  readonly #counters = globalThis.prlFuzzCounters;
  readonly #words = new BigUint64Array(this.#counters.buffer);
  /** For each part how often it ran in one input, as bits: once, twice, up to seven times, more often. */
  readonly #seen = new Uint8Array(MOST_COUNTERS);
  #parts = 0;

  /** Parts of the code that have run. */
  get parts(): number {
    return this.#parts;
  }

  /** Counts from zero. */
  begin(): void {
    this.#counters.fill(0);
  }

  /** Whether since `begin` a part ran that had not run before, or one ran more often than in any input before. */
  hasGrown(): boolean {
    let hasGrown = false;
    for (let word = 0; word < this.#words.length; word++) {
      // Nearly all counters are zero.
      if (this.#words[word] === 0n) continue;
      for (let at = word * COUNTERS_PER_WORD; at < (word + 1) * COUNTERS_PER_WORD; at++) {
        const count = this.#counters[at] ?? 0;
        if (count > 0 && this.#add(at, count)) hasGrown = true;
      }
    }
    return hasGrown;
  }

  #add(at: number, count: number): boolean {
    const bit = count <= 2 ? count : count < 8 ? 4 : 8;
    const seen = this.#seen[at] ?? 0;
    if (seen === 0) this.#parts += 1;
    this.#seen[at] = seen | bit;
    return (seen & bit) === 0;
  }
}
