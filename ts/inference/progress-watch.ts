/** Notices when requests wait for the engine and it makes no progress: then the server is not healthy, whatever else it answers. */

export interface WatchedEngine {
  /** A number that differs as soon as the engine has computed anything. */
  progress(): number;
  /** Whether it stands still because it is paused. */
  isPaused(): boolean;
}

export class ProgressWatch {
  readonly #engine: WatchedEngine;
  #waiting = 0;
  #progress = -1;
  /** Time since which the engine has computed nothing for waiting requests. */
  #since = 0;

  constructor(engine: WatchedEngine) {
    this.#engine = engine;
  }

  /** Requests that wait for the engine now. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Checks the engine's progress. The interval of the calls limits the precision of `stalledMs`. */
  look(nowMs: number): void {
    const progress = this.#engine.progress();
    if (this.#waiting > 0 && !this.#engine.isPaused() && progress === this.#progress) return;
    this.#progress = progress;
    this.#since = nowMs;
  }

  /** For how long requests have waited while the engine computed nothing; 0 when none waits. */
  stalledMs(nowMs: number): number {
    this.look(nowMs);
    return nowMs - this.#since;
  }

  /** The increments as they come; a request waits for the engine only while it is asked for the next one. */
  async *over<Increment>(increments: AsyncIterable<Increment>): AsyncGenerator<Increment> {
    this.#waiting += 1;
    try {
      for await (const increment of increments) {
        this.#waiting -= 1;
        try {
          yield increment;
        } finally {
          this.#waiting += 1;
        }
      }
    } finally {
      this.#waiting -= 1;
    }
  }
}
