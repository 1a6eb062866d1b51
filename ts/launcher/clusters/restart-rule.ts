/** When a part that serves is started again on its machine by who watches it there: a step of Slurm, or `prl host-part`. */

/** A server that worked for this long was no early death (seconds). */
export const LONG_LIFE_S = 60;
/** Early deaths in a row after which a server is not started again. */
export const MOST_EARLY_DEATHS = 5;

/** How a server ended. */
export interface ServerEnd {
  /** A signal ended it, such as that for lack of memory. */
  readonly isSignaled: boolean;
  readonly livedS: number;
  /** Early deaths before this one, in a row. */
  readonly early: number;
}

/** The number of early deaths in a row with which it is started again; null: it is not. */
export function earlyDeathsAfter({ isSignaled, livedS, early }: ServerEnd): number | null {
  const isLong = livedS >= LONG_LIFE_S;
  if (!isLong && !isSignaled) return null;
  const deaths = (isLong ? 0 : early) + 1;
  return deaths > MOST_EARLY_DEATHS ? null : deaths;
}
