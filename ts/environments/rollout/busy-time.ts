/** Measures how long something was busy: calls at the same time count once. */
export class BusyTime {
  #atWork = 0;
  #since = 0;
  #ms = 0;

  /** Milliseconds so far. */
  get ms(): number {
    return this.#ms + (this.#atWork > 0 ? performance.now() - this.#since : 0);
  }

  async during<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#atWork++ === 0) this.#since = performance.now();
    try {
      return await work();
    } finally {
      if (--this.#atWork === 0) this.#ms += performance.now() - this.#since;
    }
  }
}
