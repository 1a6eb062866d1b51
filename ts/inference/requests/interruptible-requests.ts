/** Requests that a client may cut by its own id for them: a cut request is answered with the tokens so far. */

export class InterruptibleRequests {
  readonly #open = new Map<string, Set<AbortController>>();

  /** Runs `work`, whose signal is aborted when the request is cut; without an id it never is. */
  async during<Result>(id: string | null, work: (cut: AbortSignal) => Promise<Result>): Promise<Result> {
    const own = new AbortController();
    if (id === null) return work(own.signal);
    const named = this.#open.get(id) ?? new Set();
    this.#open.set(id, named.add(own));
    try {
      return await work(own.signal);
    } finally {
      named.delete(own);
      if (named.size === 0) this.#open.delete(id);
    }
  }

  /** Unknown ids belong to requests that have ended. */
  cut(ids: readonly string[]): void {
    for (const id of ids) for (const own of this.#open.get(id) ?? []) own.abort();
  }
}
