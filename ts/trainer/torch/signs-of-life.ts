/**
 * Which ranks of the torch trainer are alive, and where each is at work. A rank writes a line every two seconds while it computes and while it waits
 * for the others (`python/prl_torch/connection.py`); one that is stopped, or stuck outside of Python, writes none.
 *
 * Silence is counted in looks at the ranks and not in seconds, so that a machine that was suspended, or a launcher that was busy, blames no rank:
 * between two looks the lines that have come are read.
 */

/** Looks until a silent rank is named. */
const LOOKS = 6;

export class SignsOfLife {
  readonly #looks = new Map<number, number>();
  readonly #places = new Map<number, string>();
  readonly #timer: NodeJS.Timeout;

  /** @param onSilent gets the ranks that have written nothing for so long, once */
  constructor(timeoutMs: number, onSilent: (ranks: readonly number[]) => void) {
    this.#timer = setInterval(() => {
      const silent = this.#look();
      if (silent.length === 0) return;
      this.stop();
      onSilent(silent);
    }, timeoutMs / LOOKS);
    this.#timer.unref();
  }

  /** A line of a rank came; `place`: where in the Python code it is at work, null when the line does not say. */
  heard(rank: number, place: string | null): void {
    this.#looks.set(rank, 0);
    if (place !== null) this.#places.set(rank, place);
  }

  /** Where a rank was at work when it last said so. */
  placeOf(rank: number): string | null {
    return this.#places.get(rank) ?? null;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): number[] {
    for (const [rank, looks] of this.#looks) this.#looks.set(rank, looks + 1);
    const silent = [...this.#looks].filter(([, looks]) => looks > LOOKS).map(([rank]) => rank);
    return silent.toSorted((a, b) => a - b);
  }
}
