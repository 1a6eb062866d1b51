/** Waits for the next change of something, with a limit. */
export class Changes {
  readonly #waiters = new Set<() => void>();

  /** Number of waits under way. */
  get waiting(): number {
    return this.#waiters.size;
  }

  /** Resolves at the next change, after `ms`, or when the signal is aborted; never rejects. */
  async next(ms: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#waiters.delete(done);
        signal.removeEventListener("abort", done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      this.#waiters.add(done);
      signal.addEventListener("abort", done, { once: true });
    });
  }

  announce(): void {
    for (const waiter of this.#waiters) waiter();
  }
}
